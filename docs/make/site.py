"""Build the site: `make site`, or `python -m docs.make.site [--serve]`; it is then in docs/_build/html.

Each lesson is run, and becomes a page on which its explorables work without a kernel; so do the pages of docs/, the API and the code.
The pages ask no other host for anything, keep answers to quizzes in the browser, and set no cookies. Under lite/ the
notebooks run in the browser itself (docs/make/lite.py); where that cannot be built, this is said, and no link leads to it.
The site of a course has the lessons and problem sets alone, unless it asks for the rest (docs/make/choice.py).
"""

from __future__ import annotations

import argparse
import functools
import html
import http.server
import inspect
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

from docs.make import choice, lite
from docs.make.choice import lessons
from docs.make.run_links import offered, problem_set_pages

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("AUTOLAB_SITE_BUILD", ROOT / "docs" / "_build"))
SOURCE, PAGES = BUILD / "source", BUILD / "html"
DATA = SOURCE / "_static" / "explorables"  # of explorables, where they are long
CODE = "https://github.com/autolab-grad/autolab/blob/main"

GUIDES = (
    "reading-path glossary rules levels differences-from-pytorch checker instructors cheat-sheet students variants problem-set-format "
    "speed trace-format syllabus-8 syllabus-12 misconceptions"
).split()
OTHER = "exercises/README benchmarks/README CONTRIBUTING CHANGELOG".split()
NAMESPACES = """
autolab autolab.nn autolab.nn.functional autolab.nn.init autolab.nn.utils autolab.optim autolab.optim.lr_scheduler autolab.func
autolab.autograd autolab.autograd.functional autolab.autograd.forward_ad autolab.autograd.graph autolab.linalg autolab.fft autolab.special
autolab.amp
autolab.distributions autolab.utils.data autolab.utils.checkpoint autolab.datasets autolab.draw autolab.trace autolab.check
autolab.check.diagnosis autolab.widgets autolab.compiler autolab.serialization autolab.testing
""".split()
# Code that has a page of its own, beside every file that a lesson or a document links to.
READ = "engine", "transforms", "rules", "fast", "fast/kernels"
RUN = "[Run PyTorch programs in the browser](run.md)"
PROBLEM_SETS = """
To study alone: read the page, and do the work where its links lead. The locked cells check each answer and say what kind of mistake
it is. There are no solutions on this site.
"""
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def run_lesson(path: Path) -> None:
    """Run a lesson for the site, in a process of its own, and put it among the sources."""
    environment = {**os.environ, "AUTOLAB_SITE": str(DATA), "AUTOLAB_HOME": "off", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "docs.make.lesson_page", str(path), str(SOURCE / "notebooks" / path.name)],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{path.name} did not run:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def copy_documents() -> None:
    for name in GUIDES:
        wide = "---\nhide-toc: true\n---\n\n" if name == "rules" else ""  # room for its tables
        write(f"docs/{name}.md", wide + (ROOT / "docs" / f"{name}.md").read_text("utf-8"))
    for page in (ROOT / "docs" / "decisions").glob("*.md"):
        write(f"docs/decisions/{page.name}", page.read_text("utf-8"))
    for name in OTHER:
        write(f"{name}.md", (ROOT / f"{name}.md").read_text("utf-8"))


def write(name: str, text: str) -> None:
    path = SOURCE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(resolved(text, Path(name).parent), "utf-8")


def resolved(text: str, folder: Path) -> str:
    """Links between files of the repository, as links between pages; to what has no page, as links to the repository."""
    return LINK.sub(lambda m: m[1] + target(m[2], folder) + (m[3] or "") + m[4], text)


def target(link: str, folder: Path) -> str:
    if "://" in link or link.startswith("mailto:"):
        return link
    path = (ROOT / folder / link).resolve()
    try:
        inside = path.relative_to(ROOT)
    except ValueError:
        return link
    if path.suffix in (".png", ".svg") or inside in choice.notebooks() or (path.suffix == ".md" and inside in documents()):
        return link
    if path.suffix == ".py" and path.exists() and choice.has_reference():
        code_page(inside)
        return link.removesuffix(".py") + ".md"
    if path.is_dir() and (inside / "README.md") in documents():
        return f"{link.rstrip('/')}/README.md"
    return f"{CODE}/{inside.as_posix()}"


@functools.cache
def documents() -> frozenset[Path]:
    if not choice.has_reference():
        return frozenset()
    fixed = [Path(f"docs/{name}.md") for name in GUIDES] + [Path(f"{name}.md") for name in OTHER]
    return frozenset(fixed + [p.relative_to(ROOT) for p in (ROOT / "docs" / "decisions").glob("*.md")])


def code_page(path: Path) -> None:
    """A page with the text of one file."""
    page = SOURCE / path.with_suffix(".md")
    if page.exists():
        return
    page.parent.mkdir(parents=True, exist_ok=True)
    text = os.path.relpath(ROOT / path, page.parent)
    fence = f"```{{literalinclude}} {text}\n:language: python\n:linenos:\n```"
    page.write_text(f"---\norphan: true\n---\n\n# {path.as_posix()}\n\n{fence}\n", "utf-8")


def api_pages() -> None:
    """A page for each namespace, with the docstring of each public name."""
    documented: list[object] = []  # a name that stands on several pages is found on the first
    for namespace in NAMESPACES:
        module = import_module(namespace)
        names = getattr(module, "__all__", None) or [n for n, v in vars(module).items() if getattr(v, "__module__", "") == namespace]
        lines = [f"# {namespace.replace('autolab', 'torch', 1)}", "", inspect.getdoc(module) or "", ""]
        lines += ["```{eval-rst}", f".. py:currentmodule:: {namespace}", ""]
        for name in sorted(names, key=str.lower):
            value = getattr(module, name, None)
            if name.startswith("_") or isinstance(value, ModuleType) or not callable(value):
                continue
            kind = "autoclass" if inspect.isclass(value) else "autofunction"
            lines += [f".. {kind}:: {namespace}.{name}"]
            if value in documented:
                lines += ["   :no-index:"]
            documented.append(value)
            if inspect.isclass(value) and name == "Tensor":
                lines += ["   :members:"]
            lines += [""]
        lines += ["```", ""]
        (SOURCE / "api").mkdir(exist_ok=True)
        (SOURCE / "api" / f"{namespace}.md").write_text("\n".join(lines), "utf-8")


def index_pages() -> None:
    def tree(title: str, text: str, names: list[str]) -> str:
        return f"# {title}\n\n{text}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"

    numbered = [f"notebooks/{p.stem}" for p in lessons()]
    sets = tree("Problem sets", PROBLEM_SETS, problem_set_pages(SOURCE, resolved))
    (SOURCE / "problem-sets.md").write_text(sets, "utf-8")
    (SOURCE / "lessons.md").write_text(tree("Lessons", "Every picture, slider and question works on the page.", numbered), "utf-8")
    if choice.has_reference():
        pages = [*(f"docs/{name}" for name in GUIDES), *OTHER, "docs/decisions/README", "privacy"]
        (SOURCE / "guide.md").write_text(tree("Guide", "", pages), "utf-8")
        (SOURCE / "api.md").write_text(tree("Reference", "`import autolab as torch`", [f"api/{n}" for n in NAMESPACES]), "utf-8")
        decisions = sorted(p.stem for p in (SOURCE / "docs" / "decisions").glob("*.md") if p.stem != "README")
        readme = SOURCE / "docs" / "decisions" / "README.md"
        readme.write_text(readme.read_text("utf-8") + contents_of(decisions), "utf-8")
    landing = (ROOT / "docs" / "site" / "landing.md").read_text("utf-8").replace("../../", "").replace("STEPPER", stepper())
    landing = landing.replace("RUN", RUN if offered() else "")
    if choice.own() or choice.title() != "autolab":
        landing = f"# {choice.title()}\n\n[Lessons](lessons.md) · [Problem sets](problem-sets.md)\n\n```{{raw}} html\n{stepper()}\n```\n"
    top = ["lessons", "problem-sets", *(["run"] if offered() else []), *(["guide", "api"] if choice.has_reference() else ["privacy"])]
    (SOURCE / "index.md").write_text(landing + contents_of(top), "utf-8")
    for name in ("privacy", *(["run"] if offered() else [])):
        page = resolved((ROOT / "docs" / "site" / f"{name}.md").read_text("utf-8"), Path("docs/site"))
        served_by = urlsplit(lite.host()).hostname if offered() else "its own"
        (SOURCE / f"{name}.md").write_text(page.replace("](../", "](docs/").replace("PYODIDE_HOST", served_by), "utf-8")


def contents_of(names: list[str]) -> str:
    """A table of contents that a page does not show itself."""
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def stepper() -> str:
    """The explorable of the landing page."""
    import autolab as torch

    w, b, x = (torch.tensor(value, requires_grad=True) for value in (2.0, 0.5, 3.0))
    loss = (w * x + b - 8) ** 2
    return torch.Stepper(loss).output()


def static_files() -> None:
    from autolab.widgets import base

    static = SOURCE / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "autolab.mjs").write_text(base.MODULE + (ROOT / "docs" / "site" / "site.mjs").read_text("utf-8"), "utf-8")
    shutil.copy(ROOT / "docs" / "site" / "old.js", static)
    shutil.copy(ROOT / "docs" / "images" / "stepper.png", static / "preview.png")  # for previews of links
    dark = base.CSS.replace("[data-jp-theme-light=false] .al-root", "body[data-theme=dark] .al-root,[data-jp-theme-light=false] .al-root")
    auto = re.search(r"@media \(prefers-color-scheme:dark\)\{\.al-page \.al-root(\{.*?\})\}", base.CSS, re.S)
    assert auto, "the style of pages has changed"
    system = f"@media (prefers-color-scheme:dark){{body[data-theme=auto] .al-root{auto[1]}}}"
    own = (ROOT / "docs" / "site" / "site.css").read_text("utf-8")
    (static / "autolab.css").write_text("\n".join([dark, system, own]), "utf-8")


def build() -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    (SOURCE / "notebooks").mkdir(parents=True)
    DATA.mkdir(parents=True)
    notebooks = PAGES.with_name("lite")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(run_lesson, path) for path in lessons()]
        runs += [pool.submit(lite.build, notebooks)] * offered()
        static_files()
        shutil.copytree(ROOT / "docs" / "images", SOURCE / "docs" / "images")
        if choice.has_reference():
            copy_documents()
            for folder in READ:
                for path in sorted((ROOT / "autolab" / folder).glob("*.py")):
                    code_page(path.relative_to(ROOT))
            api_pages()
        index_pages()
        for run in runs:
            run.result()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "sphinx", "-q", "-j", "auto", "-b", "html", "-c", str(ROOT / "docs"), str(SOURCE), str(PAGES)]
    shutil.rmtree(PAGES, ignore_errors=True)
    subprocess.run(command, check=True, env=environment)
    shutil.rmtree(PAGES / ".doctrees", ignore_errors=True)
    if offered():
        notebooks.rename(PAGES / "lite")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files as a static host serves them."""

    def guess_type(self, path):
        return {".mjs": "text/javascript", ".wasm": "application/wasm"}.get(Path(path).suffix) or super().guess_type(path)


def serve(port: int) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=str(PAGES)))
    print(f"The site is at http://127.0.0.1:{server.server_port}/ (Ctrl+C ends it)")
    server.serve_forever()


def main() -> None:
    os.environ["AUTOLAB_SITE"] = str(DATA)
    parser = argparse.ArgumentParser(description=html.unescape(__doc__ or ""))
    parser.add_argument("--serve", action="store_true", help="show it at an address of this machine, once it is built")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--lessons", help='the lessons that are in it, as "00 04 gallery"; all if not given')
    parser.add_argument("--title")
    parser.add_argument("--address", help="where it will be served, which previews of links need")
    parser.add_argument("--release", type=Path, help="a course's folder release/, instead of the problem sets of this repository")
    parser.add_argument("--reference", action="store_true", help="with --release: also the guide, the API and the code")
    options = parser.parse_args()
    try:
        choice.choose(options.title, options.lessons, options.release, options.address, options.reference)
    except LookupError as error:
        parser.error(error.args[0])
    lacks = lite.lacks()
    if lacks:
        os.environ["AUTOLAB_LITE"] = "off"
        print(f"Left out: the notebooks that run in the browser. {lacks}")
    build()
    print(f"The site is in {os.path.relpath(PAGES)}.")
    if options.serve:
        serve(options.port)


if __name__ == "__main__":
    main()
