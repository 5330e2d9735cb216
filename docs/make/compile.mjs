// node compile.mjs PYODIDE SOURCE TARGET [with-source]: the wheels of one folder, with bytecode for Pyodide's Python, in another.
// To compile its imports takes a browser longer than to fetch them. Without with-source, bytecode takes the place of the text.
// What no notebook in a browser asks for is left out.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, source, target, withSource] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide();
python.mountNodeFS("/source", path.resolve(source));
python.mountNodeFS("/target", path.resolve(target));
python.globals.set("with_source", Boolean(withSource));
python.runPython(`
import importlib.util, marshal, pathlib, re, sys, warnings, zipfile

warnings.simplefilter("ignore")
unused = re.compile(r"""
    [^/]*\\.data/ | anywidget/(lab|nb)extension/             # JupyterLab's parts of widgets, which the page has
    | jedi/third_party/django-stubs/                         # types of packages that are not there
    | jedi/third_party/typeshed/(stdlib/2/|third_party/(2/|2and3/|3/(?!six)))  # jedi lists this folder, so something stays in it
    | jedi/third_party/typeshed/stdlib/\\w+/(curses|distutils|ensurepip|lib2to3|msilib|multiprocessing|sqlite3|tkinter|venv|xmlrpc)/
    | .*/(tests|sphinxext)/
    | IPython/(testing/plugin/|lib/demo\\.|extensions/(autoreload|deduperreload))  # of pytest, of talks, and of files that change
    | pygments/(cmdline|sphinxext)\\.                         # of a shell, and of documentation
    | prompt_toolkit/(contrib/|.*(win32|conemu))             # of terminals
    | tqdm/(contrib/|(completion|dask|keras|rich|tk|tqdm)\\.) # of other libraries and of terminals
    | pygments/formatters/(bbcode|groff|img|irc|pangomarkup|rtf|svg)
    | pygments/styles/(abap|algol|arduino|borland|igor|lilypond|paraiso|perldoc|rainbow|rrt|sas|staroffice|stata|trac)
    | pygments/lexers/(?!__init__|_mapping|python|special)   # other languages
""", re.X)
# Parts of autolab that few notebooks load, a little at a time: the text alone is a third as large.
seldom = re.compile(r"""
    autolab/(amp|check/behaviour|compat|compiler|distributions|fft|linalg|masked|profiler|serialization|signal|testing|utils)\\b
    | autolab/questions/lesson                               # each lesson asks those of its own file
    | autolab/widgets/(?!__init__|base|panel|stepper|questions|explorer|functions)
""", re.X)
place = f"/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/"
header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)  # by a hash that is not looked at
def put(archive, name, data):
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)

for path in sorted(pathlib.Path("/source").glob("*.whl")):
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(pathlib.Path("/target", path.name), "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if unused.match(name):
                continue
            text, code = old.read(name), None
            if name.endswith(".dist-info/RECORD"):
                text = b"".join(line for line in text.splitlines(True) if not unused.match(line.decode()))
            if name.endswith(".py") and not (with_source and seldom.match(name)):
                try:
                    code = compile(text, place + name, "exec", dont_inherit=True)
                except SyntaxError:
                    pass  # a template, or for another Python
            if code is None or with_source:
                put(new, name, text)
            if code is not None:
                folder, _, file = name.rpartition("/")
                cached = f"{folder}/__pycache__/{file[:-3]}.{sys.implementation.cache_tag}.pyc"
                put(new, cached if with_source else f"{name}c", header + marshal.dumps(code))
`);
