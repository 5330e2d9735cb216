"""The lite part of the site: notebooks that run in the browser itself, by JupyterLite and Pyodide. docs/make/site.py calls it.

It holds Pyodide, as npm has it, with a lock file of its own, in which autolab, what it needs, and a package `torch` stand: so
`import autolab` and `import torch` load what they need, and no cell installs anything. NumPy and ml_dtypes for WebAssembly are taken
from a folder if there is one (tests/wasm/lane.py says where); else the pages ask the host of Pyodide's own distribution for them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import nbformat

from autolab.utils.lessons import ASKED
from docs.make import choice
from tests.wasm.lane import PYODIDE as TESTED
from tests.wasm.lane import wheels

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "lite"  # what is fetched stays there
CODE = "https://github.com/autolab-grad/autolab/blob/main"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
PYODIDE = os.environ.get("AUTOLAB_PYODIDE", TESTED)
HOST = re.compile(r"(https://[\w./-]+/v)\$\{\w+\}/full/")  # in Pyodide's own script
PYTHON = "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"  # what Python is made of
COMPILED = "numpy", "ml-dtypes"
KERNEL = "micropip", "packaging", "ipython", "comm", "jedi", "traitlets"  # what the kernel begins with
# What Pyodide does not have. Each with what it depends on.
OTHERS = {
    "anywidget": ["psygnal", "typing-extensions", "ipywidgets"], "psygnal": [], "tqdm": [], "comm": ["traitlets"],
    "ipywidgets": ["traitlets", "comm", "ipython", "jupyterlab-widgets", "widgetsnbextension"], "jupyterlab-widgets": [],
}  # fmt: skip
AUTOLAB = [*COMPILED, "anywidget", "ipywidgets", "tqdm"]
# What else programs import, with what it depends on: fetched from Pyodide's distribution then.
IMPORTED = "imageio matplotlib networkx pandas pillow requests scikit-image scikit-learn scipy statsmodels sympy".split()
APPS = "tree", "notebooks"
# A course's notebook may lack it, or name a kernel of its author: a dialog would ask. A file that is downloaded with it opens anywhere.
KERNEL_OF_NOTEBOOKS = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
BLANK = "pytorch.ipynb"
NOT_THERE = "autolab/course/", "autolab/cli/"  # grading, with the solutions; what a terminal needs


def address(path: str, root: str = "") -> str:
    """The page on which a notebook of the lite part is open, seen from a page of the site. root: "../" for each folder it is in."""
    return f"{root}lite/notebooks/index.html?path={quote(path)}"


def lacks() -> str:
    """Why the lite part cannot be built on this machine, as a sentence; empty if it can."""
    if not shutil.which("npm"):
        return "npm is not installed."
    try:
        fetch()
    except RuntimeError as error:
        return f"Their parts could not be fetched:\n{error}"
    return ""


def host() -> str:
    """Where Pyodide's own distribution is served from, as Pyodide says it."""
    script = (PLACE / "node_modules" / "pyodide" / "pyodide.mjs").read_text("utf-8")
    return f"{HOST.search(script)[1]}{PYODIDE}/full/"


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-3000:]}")


def fetch() -> Path:
    """Pyodide and the packages written in Python, once for each version."""
    PLACE.mkdir(parents=True, exist_ok=True)
    pyodide = PLACE / "node_modules" / "pyodide"
    if not pyodide.exists() or json.loads((pyodide / "package.json").read_text("utf-8"))["version"] != PYODIDE:
        run("npm", "install", "--no-audit", "--no-fund", "--prefix", PLACE, f"pyodide@{PYODIDE}")
    packages = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))["packages"]
    pinned = [f"{name}=={packages[name]['version']}" for name in pure(packages)]
    how = (ROOT / "docs/make/compile.mjs").read_text("utf-8")
    asked = "\n".join([PYODIDE, how, *pinned, *OTHERS, *(wheel.name for wheel in kernel_wheels())])
    folder, compiled, done = PLACE / "wheels", PLACE / "compiled", PLACE / "compiled.txt"
    if not done.exists() or done.read_text("utf-8") != asked:
        for place in (folder, compiled):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", folder]
        run(*pip, "--no-deps", "--only-binary=:all:", "--platform=any", "--python-version=3.14", *pinned, *OTHERS)
        for wheel in kernel_wheels():
            shutil.copy(wheel, folder)
        run("node", ROOT / "docs/make/compile.mjs", pyodide, folder, compiled)
        done.write_text(asked, "utf-8")
    return pyodide


def pure(packages: dict) -> list[str]:
    """The packages of Pyodide that the kernel and autolab need, in Python alone."""
    return sorted(with_dependencies(packages, [*KERNEL, *(name for depends in OTHERS.values() for name in depends)]))


def with_dependencies(packages: dict, names: Iterable[str]) -> list[str]:
    """These packages of Pyodide, and those that they need, without what is here in another form."""
    needed: list[str] = []

    def add(names: Iterable[str]) -> None:
        for name in names:
            name = name.lower().replace("_", "-")
            if name in packages and name not in (*needed, *OTHERS, *COMPILED):
                needed.append(name)
                add(packages[name]["depends"])

    add(names)
    return needed


def autolab_wheel(pyodide: Path, folder: Path) -> Path:
    """The checkout as a wheel, without the problem sets' solutions."""
    built, stripped = (PLACE / name for name in ("built", "stripped"))
    for place in (built, stripped):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built)
    (whole,) = built.glob("*.whl")
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(stripped / whole.name, "w") as new:
        for name in sorted(old.namelist()):
            if not name.startswith(NOT_THERE) and not name.endswith(".pyi"):
                data = old.read(name)
                if name.endswith(".ipynb"):
                    data = what_is_asked(data) if name.startswith("autolab/notebooks/") else without_outputs(data)
                new.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    run("node", ROOT / "docs/make/compile.mjs", pyodide, stripped, built, "with-source")  # lessons show the text of functions
    return named_by_contents(shutil.copy(built / whole.name, folder))


def what_is_asked(lesson: bytes) -> bytes:
    """A lesson as `progress()` reads it, its title and its questions: the lessons to run lie beside the wheel."""
    content = json.loads(lesson)
    first, *cells = content["cells"]
    content["cells"] = [first, *(cell for cell in cells if cell["cell_type"] == "code" and ASKED.fullmatch("".join(cell["source"])))]
    return without_outputs(json.dumps(content).encode())


def without_outputs(notebook: bytes) -> bytes:
    """A notebook to work in, smaller."""
    content = json.loads(notebook)
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
    return json.dumps(content).encode()


TORCH = """\
\"\"\"PyTorch does not exist in a browser: this is autolab.\"\"\"
import sys

del sys.modules[__name__]
from autolab import compat

compat.install()
import torch
"""


def torch_wheel(folder: Path) -> Path:
    """A package `torch`, which is autolab: so `import torch` works in any notebook."""
    path = folder / "torch-2.13.0-py3-none-any.whl"
    facts = {"METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n", "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"}
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {"torch/__init__.py": TORCH, **{f"torch-2.13.0.dist-info/{k}": v for k, v in facts.items()}}.items():
            wheel.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return named_by_contents(path)


def named_by_contents(wheel: Path) -> Path:
    """With a build number, so that no browser takes an old one for it."""
    package, version, rest = Path(wheel).name.split("-", 2)
    number = int(hashlib.sha256(Path(wheel).read_bytes()).hexdigest()[:10], 16)
    return Path(wheel).rename(Path(wheel).with_name(f"{package}-{version}-{number}-{rest}"))


def distribution(pyodide: Path, folder: Path, local: list[Path]) -> None:
    """Pyodide with the packages, and one lock file that names them all. local: the compiled wheels, or none."""
    folder.mkdir(parents=True)
    for name in PYTHON:
        shutil.copy(pyodide / name, folder)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))
    known, entries = lock["packages"], {}

    def add(name: str, path: Path, imports: list[str], depends: list[str]) -> None:
        if path.parent != folder:
            shutil.copy(path, folder)
        entry = {**known["micropip"], "name": name, "version": path.name.split("-")[1], "imports": imports, "depends": depends}
        entries[name] = {**entry, "file_name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}

    fetched = {path.name.split("-")[0].lower().replace("_", "-"): path for path in sorted((PLACE / "compiled").glob("*.whl"))}
    for name in pure(known):
        add(name, fetched[name], known[name]["imports"], known[name]["depends"])
    for name, depends in OTHERS.items():
        add(name, fetched[name], [name.replace("-", "_")], depends)
    for name in COMPILED:
        path = next((path for path in local if path.name.startswith(name.replace("-", "_"))), None)
        if path is None:
            entries[name] = {**known[name], "file_name": host() + known[name]["file_name"]}
        else:
            add(name, path, known[name]["imports"], known[name]["depends"])
    for path in kernel_wheels():
        name = path.name.split("-")[0].replace("_", "-")
        add(name, fetched[name], [name.replace("-", "_")], {"pyodide-kernel": ["comm", "ipython"], "piplite": ["micropip"]}.get(name, []))
    add("autolab-grad", autolab_wheel(pyodide, folder), ["autolab"], AUTOLAB)
    add("torch", torch_wheel(folder), ["torch"], ["autolab-grad"])
    asked = {name: {**known[name], "file_name": host() + known[name]["file_name"]} for name in with_dependencies(known, IMPORTED)}
    lock["packages"] = asked | entries
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")


def kernel_wheels() -> list[Path]:
    """The wheels that come with JupyterLite's kernel, the newest of each."""
    folder = Path(sys.prefix, "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi")
    newest = {path.name.split("-")[0]: path for path in sorted(folder.glob("*.whl"))}
    return list(newest.values())


def contents(folder: Path) -> None:
    """The notebooks that are there to be opened. They are where the repository has them, so links between them hold."""
    for inside, path in choice.notebooks().items():
        copy = folder / inside
        copy.parent.mkdir(parents=True, exist_ok=True)
        notebook = nbformat.read(path, as_version=4)  # lines joined, which JupyterLite leaves to others
        notebook.metadata |= {"kernelspec": KERNEL_OF_NOTEBOOKS, "language_info": {"name": "python"}}
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = LINK.sub(lambda m, at=ROOT / inside: elsewhere(m, at), cell.source)
            else:
                cell.metadata["trusted"] = True  # pictures that were saved are shown at once
        copy.write_text(json.dumps(notebook, ensure_ascii=False), "utf-8")
        for module in path.parent.glob("*.py") if inside in choice.problem_sets() else ():
            shutil.copy(module, copy.parent)
    shutil.copy(ROOT / "docs" / "site" / BLANK, folder / BLANK)


def elsewhere(link: re.Match, source: Path) -> str:
    """A link to what the lite part does not have leads to the repository."""
    path = (source.parent / link[2]).resolve()
    if "://" in link[2] or not path.is_relative_to(ROOT) or path.relative_to(ROOT) in choice.notebooks():
        return link[0]
    return f"{link[1]}{CODE}/{path.relative_to(ROOT).as_posix()}{link[3] or ''}{link[4]}"


# A button that opens JupyterLab, which is not there, and the menu of an nbgrader that is installed where the site is built.
NOT_OFFERED = ["@jupyter-notebook/lab-extension:interface-switcher", "@jupyter/nbgrader"]
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # an explorable out of sight stays as it is
    "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 10},  # seconds
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/apputils-extension:themes": {"adaptive-theme": True},  # light or dark, as the system is
}


def configuration(lock: Path) -> dict:
    """What jupyter-lite.json says: which Pyodide, and with what it begins."""
    version = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    kernel = {
        "pyodideUrl": "./static/pyodide/pyodide.mjs",
        "disablePyPIFallback": False,
        "loadPyodideOptions": {
            "lockFileURL": f"./static/pyodide/pyodide-lock.json?{version}",
            "packages": [*KERNEL, "piplite", "ipykernel", "pyodide-kernel"],
            "env": {"HOME": "/home/pyodide", "AUTOLAB_HOME": "/drive/progress"},  # with the notebooks, which the browser keeps
        },
    }
    plugins = {"@jupyterlite/pyodide-kernel-extension:kernel": kernel}
    told = {
        "appName": choice.title(), "appUrl": "./tree", "faviconUrl": "../_static/favicon.svg", "enableMemoryStorage": True,
        "litePluginSettings": plugins, "disabledExtensions": NOT_OFFERED,
    }  # fmt: skip
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": told}


def build(target: Path, local: list[Path] | None = None) -> None:
    """Build the lite part in a folder. local: NumPy and ml_dtypes for WebAssembly as files; those of this machine if not given."""
    source = target.with_name("lite-source")
    for folder in (source, target):
        shutil.rmtree(folder, ignore_errors=True)
    distribution(fetch(), source / "static" / "pyodide", wheels() if local is None else local)
    contents(source / "files")
    for name, told in {"jupyter-lite": configuration(source / "static/pyodide/pyodide-lock.json"), "overrides": SETTINGS}.items():
        (source / f"{name}.json").write_text(json.dumps(told, indent=1), "utf-8")
    options = [f"--lite-dir={source}", f"--output-dir={target}", f"--contents={source / 'files'}", *(f"--apps={app}" for app in APPS)]
    trims = ["--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive"]
    run(sys.executable, "-m", "jupyterlite_core", "build", *options, *trims, "--force", cwd=source)
    shutil.copy(ROOT / "docs" / "site" / "lite.js", target)
    numpy = json.loads((source / "static/pyodide/pyodide-lock.json").read_text("utf-8"))["packages"]["numpy"]["file_name"]
    python = " ".join(f"../static/pyodide/{name}" for name in PYTHON)
    numpy = numpy if "://" in numpy else f"../static/pyodide/{numpy}"
    script = f'<script src="../lite.js" data-python="{python}" data-numpy="{numpy}"></script>'
    for app in APPS:
        page = target / app / "index.html"
        text = page.read_text("utf-8")
        assert text.count("<head>") == 1, f"{page} has changed"
        page.write_text(text.replace("<head>", f"<head>\n    {script}"), "utf-8")
