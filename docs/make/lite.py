"""The lite part of the site: notebooks that run in the browser itself, by JupyterLite and Pyodide. docs/make/site.py calls it.

It holds Pyodide, as npm has it, with a lock file of its own, in which autolab, what it needs, and a package `torch` stand: so
`import autolab` and `import torch` load what they need, and no cell installs anything. NumPy and ml_dtypes for WebAssembly are taken
from a folder if there is one (tests/wasm/lane.py says where); else the pages ask the host of Pyodide's own distribution for them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import nbformat

from tests.wasm.lane import PYODIDE, wheels

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "lite"  # what is fetched stays there
CODE = "https://github.com/autolab-grad/autolab/blob/main"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
HOST = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/"
COMPILED = "numpy", "ml-dtypes"
KERNEL = "micropip", "packaging", "ipython", "comm", "jedi", "traitlets"  # what the kernel begins with
# What Pyodide does not have. Each with what it depends on.
OTHERS = {
    "anywidget": ["psygnal", "typing-extensions", "ipywidgets"], "psygnal": [], "graphviz": [], "tqdm": [], "comm": ["traitlets"],
    "ipywidgets": ["traitlets", "comm", "ipython", "jupyterlab-widgets", "widgetsnbextension"], "jupyterlab-widgets": [],
}  # fmt: skip
AUTOLAB = [*COMPILED, "anywidget", "ipywidgets", "graphviz", "tqdm"]
BLANK = "pytorch.ipynb"
SOLUTIONS = "autolab/course/problem-sets.zip"  # in the wheel, for instructors


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
    asked = "\n".join([*pinned, *OTHERS])
    folder, done = PLACE / "wheels", PLACE / "wheels.txt"
    if not done.exists() or done.read_text("utf-8") != asked:
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", folder]
        run(*pip, "--no-deps", "--only-binary=:all:", "--platform=any", "--python-version=3.14", *pinned, *OTHERS)
        done.write_text(asked, "utf-8")
    return pyodide


def pure(packages: dict) -> list[str]:
    """The packages of Pyodide that the kernel and autolab need, in Python alone."""
    needed: list[str] = []

    def add(names: Iterable[str]) -> None:
        for name in names:
            name = name.lower().replace("_", "-")
            if name in packages and name not in (*needed, *OTHERS, *COMPILED):
                needed.append(name)
                add(packages[name]["depends"])

    add(KERNEL)
    for depends in OTHERS.values():
        add(depends)
    return sorted(needed)


def autolab_wheel(folder: Path) -> Path:
    """The checkout as a wheel, without the problem sets' solutions; named after its contents, so that no browser keeps an old one."""
    shutil.rmtree(PLACE / "wheel", ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", PLACE / "wheel")
    (built,) = (PLACE / "wheel").glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        files = {name: wheel.read(name) for name in sorted(wheel.namelist()) if name != SOLUTIONS}
    return write_wheel(folder, built.name, files)


def torch_wheel(folder: Path) -> Path:
    """A package `torch`, which is autolab: so `import torch` works in any notebook."""
    files = {
        "torch/__init__.py": b'"""PyTorch does not exist in a browser: this is autolab."""\n'
        b"import sys\n\ndel sys.modules[__name__]\nfrom autolab import compat\n\ncompat.install()\nimport torch\n",
        "torch-2.13.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\nSummary: autolab, under PyTorch's name\n",
        "torch-2.13.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: autolab\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "torch-2.13.0.dist-info/RECORD": b"",
    }
    return write_wheel(folder, "torch-2.13.0-py3-none-any.whl", files)


def write_wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    record = next(file for file in files if file.endswith(".dist-info/RECORD"))
    lines = [f"{file},sha256={_base64(text)},{len(text)}" for file, text in files.items() if file != record]
    files = {**files, record: "\n".join([*lines, f"{record},,", ""]).encode()}
    digest = int(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:10], 16)
    package, version, rest = name.split("-", 2)
    path = folder / f"{package}-{version}-{digest}-{rest}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, text in files.items():
            wheel.writestr(zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return path


def _base64(text: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


def distribution(pyodide: Path, folder: Path, local: list[Path]) -> None:
    """Pyodide with the packages, and one lock file that names them all. local: the compiled wheels, or none."""
    folder.mkdir(parents=True)
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"):
        shutil.copy(pyodide / name, folder)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))
    known, entries = lock["packages"], {}

    def add(name: str, path: Path, imports: list[str], depends: list[str]) -> None:
        if path.parent != folder:
            shutil.copy(path, folder)
        entry = {**known["micropip"], "name": name, "version": path.name.split("-")[1], "imports": imports, "depends": depends}
        entries[name] = {**entry, "file_name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}

    fetched = {path.name.split("-")[0].lower().replace("_", "-"): path for path in sorted((PLACE / "wheels").glob("*.whl"))}
    for name in pure(known):
        add(name, fetched[name], known[name]["imports"], known[name]["depends"])
    for name, depends in OTHERS.items():
        add(name, fetched[name], [name.replace("-", "_")], depends)
    for name in COMPILED:
        path = next((path for path in local if path.name.startswith(name.replace("-", "_"))), None)
        if path is None:
            entries[name] = {**known[name], "file_name": HOST + known[name]["file_name"]}
        else:
            add(name, path, known[name]["imports"], known[name]["depends"])
    for path in kernel_wheels():
        name = path.name.split("-")[0].replace("_", "-")
        add(name, path, [name.replace("-", "_")], {"pyodide-kernel": ["comm", "ipython"], "piplite": ["micropip"]}.get(name, []))
    add("autolab-grad", autolab_wheel(folder), ["autolab"], AUTOLAB)
    add("torch", torch_wheel(folder), ["torch"], ["autolab-grad"])
    lock["packages"] = entries
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")


def kernel_wheels() -> list[Path]:
    """The wheels that come with JupyterLite's kernel, the newest of each."""
    folder = Path(sys.prefix, "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi")
    newest = {path.name.split("-")[0]: path for path in sorted(folder.glob("*.whl"))}
    return list(newest.values())


def contents(folder: Path) -> None:
    """The notebooks that are there to be opened. They are where the repository has them, so links between them hold."""
    for path in [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "exercises" / "handout").glob("*/*.ipynb")]:
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        notebook = nbformat.read(path, as_version=4)  # lines joined, which JupyterLite leaves to others
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = LINK.sub(lambda m, at=path: elsewhere(m, at), cell.source)
            else:
                cell.metadata["trusted"] = True  # pictures that were saved are shown at once
        copy.write_text(json.dumps(notebook, ensure_ascii=False), "utf-8")
    shutil.copy(ROOT / "docs" / "site" / BLANK, folder / BLANK)


def elsewhere(link: re.Match, source: Path) -> str:
    """A link to what the lite part does not have leads to the repository."""
    path = (source.parent / link[2]).resolve()
    if "://" in link[2] or path.suffix == ".ipynb" or not path.is_relative_to(ROOT):
        return link[0]
    return f"{link[1]}{CODE}/{path.relative_to(ROOT).as_posix()}{link[3] or ''}{link[4]}"


LAB = "@jupyter-notebook/lab-extension:interface-switcher"  # a button that opens JupyterLab, which is not there
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # an explorable out of sight stays as it is
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
    told = {"appName": "autolab", "appUrl": "./tree", "enableMemoryStorage": True, "litePluginSettings": plugins, "disabledExtensions": [LAB]}
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
    options = [f"--lite-dir={source}", f"--output-dir={target}", f"--contents={source / 'files'}", "--apps=tree", "--apps=notebooks"]
    trims = ["--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive"]
    run(sys.executable, "-m", "jupyterlite_core", "build", *options, *trims, "--force", cwd=source)
