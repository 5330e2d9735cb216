"""Submissions made by chance from a right one: its JSON, metadata, ids, bytes, code, and what lies beside it."""

import copy
import json
import os
import random
import string
from urllib.parse import quote

from .engine_users import HONEST, NUMERIC, USERS
from .hostile import SUITE
from .hostile_system import MORE

CODE = [*SUITE.values(), *(s for group in MORE.values() for s in group.values()), *USERS.values(), *HONEST.values(), *NUMERIC.values()]
MAGIC = [
    "%reset -f",
    "!ls",
    "%%bash\nexit 3",
    "%%writefile a.py\nx = 1",
    "%run n.ipynb",
    "??",
    "%time 1",
    "%%time\n1",
    "%autoawait on",
    "!pip install x",
]
TEXT = [
    "",
    "\x00",
    "\ud800",
    "\u202e",
    "<script>alert(1)</script>",
    "a" * 70_000,
    "\n" * 5000,
    "'" * 999,
    "nan",
    "-1",
    "\U0001f600",
    "ｃheck",
]
VALUES = [None, True, -1, 0, 10**400, 1e308, float("nan"), [], {}, [[]], [None] * 50, {"": 0}, "x", *TEXT]
NAMES = [
    "a.py",
    "autolab.py",
    "numpy.py",
    "data.csv",
    ".hidden",
    "nbgrader_config.py",
    "conftest.py",
    "sitecustomize.py",
    "ünï.txt",
    "a b.json",
]


def places(data, path=()):
    """The path of every value in JSON data."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def at(data, path):
    """The value at a path."""
    for key in path:
        data = data[key]
    return data


def structure(rng, notebook):
    """Delete, double, exchange or replace values anywhere."""
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        *path, key = rng.choice([p for p in places(notebook) if p])
        parent, kind = at(notebook, path), rng.randrange(4)
        if kind == 0:
            del parent[key]
        elif kind == 1 and isinstance(parent, list):
            parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(parent[key]))
        elif kind == 2 and isinstance(parent, list):
            rng.shuffle(parent)
        else:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
        if not notebook:
            return


def cells_of(notebook):
    """What still looks like cells."""
    cells = notebook.get("cells")
    return [c for c in cells if isinstance(c, dict)] if isinstance(cells, list) else []


def metadata(rng, notebook):
    """What nbgrader goes by: ids, points, locks, kinds."""
    for cell in rng.sample(cells := cells_of(notebook), min(len(cells), rng.choice((1, 3, 20)))):
        facts = cell.get("metadata", {}).get("nbgrader") if isinstance(cell.get("metadata"), dict) else None
        change = rng.randrange(6)
        if change == 0:
            cell["id"] = rng.choice([*TEXT, "square", "exp-check", None, 7])
        elif change == 1:
            cell["cell_type"] = rng.choice(["code", "markdown", "raw", "heading", None, []])
        elif change == 2:
            cell["metadata"] = rng.choice(
                [None, [], {}, {"nbgrader": None}, {"nbgrader": {"grade_id": []}}, {"nbgrader": {"grade_id": "square"}}]
            )
        elif isinstance(facts, dict):
            facts[rng.choice(["points", "locked", "grade", "solution", "grade_id", "checksum", "schema_version", "cell_type", "task"])] = (
                rng.choice([*VALUES, "square", "exp-check", 1e9])
            )


def code(rng, notebook):
    """Hostile code, two pieces of it, magics or slips of the pen, in the first answer."""
    for cell in cells_of(notebook):
        if cell.get("id") == "square":
            kind, source = rng.randrange(5), str(cell.get("source", " "))
            if kind == 0:
                cell["source"] = rng.choice(CODE)
            elif kind == 1:
                cell["source"] = rng.choice(CODE) + "\n" + rng.choice(CODE)
            elif kind == 2:
                cell["source"] = rng.choice(MAGIC) + "\n" + source
            elif kind == 3:
                text = list(source or " ")
                for _ in range(rng.choice((1, 3, 30))):
                    text[rng.randrange(len(text))] = rng.choice(string.printable)
                cell["source"] = "".join(text)
            else:
                cell["source"] = source.splitlines(keepends=True) + [rng.choice([1, None, "\n", []])]


PICTURES = [
    {"image/png": "iVBORw0KGgo="}, {"image/png": ["iVBO\n", "Rw=="]}, {"image/svg+xml": "PHN2Zz4="}, {"image/png": '"><script>alert(1)</script>'},
    {"image/jpeg": "A" * 4_000_000}, {"image/gif": "=", "image/webp": "UklGRg=="}, {"text/html": "<b>"}, {}, [], None, "iVBORw==", 7,
]  # fmt: skip
PICTURE_NAMES = [
    "a.png",
    "my photo.png",
    'x"onerror="alert(1)',
    "javascript:alert(1)",
    "../a.png",
    "\ud800.png",
    "<script>.png",
    "",
    "ü\u202e.png",
]


def pasted(rng, notebook):
    """Pictures, or what claims to be one, in cells of text and of code, with links to them."""
    for cell in rng.sample(cells := cells_of(notebook), min(len(cells), rng.choice((1, 5)))):
        names = rng.sample(PICTURE_NAMES, rng.randrange(1, len(PICTURE_NAMES)))
        cell["attachments"] = {name: rng.choice(PICTURES) for name in names} if rng.random() < 0.9 else rng.choice(VALUES)
        if cell.get("cell_type") != "code":
            links = (f"![a](attachment:{quote(name, safe=rng.choice(('', name)), errors='replace')})" for name in names)
            source = cell.get("source") or ""
            cell["source"] = ("".join(map(str, source)) if isinstance(source, (str, list)) else str(source)) + "\n".join(links)


def halves(rng, notebook):
    """Halves of characters, in texts and in names."""
    for _ in range(rng.choice((1, 4)) if notebook else 0):
        *path, key = rng.choice([p for p in places(notebook) if p])
        parent, half = at(notebook, path), rng.choice(("\ud800", "\udfff", "\ud83d x \ude00"))
        if isinstance(parent, dict) and rng.random() < 0.5:
            parent[half + key] = parent.pop(key)
        else:
            parent[key] = half + str(parent[key])[:1000]


def size(rng, notebook):
    """Too many, too long, too deep."""
    kind, cells = rng.randrange(5), cells_of(notebook)
    if kind == 0 and cells:
        notebook["cells"] = cells * rng.choice((3, 400))
    elif kind == 1 and cells:
        rng.choice(cells)["source"] = rng.choice(["x", "(", "# ", "a = 1\n", "[](", "<b>", "1"]) * 60_000
    elif kind == 2:
        deep = rng.choice(VALUES)
        for _ in range(rng.choice((50, 400))):
            deep = [deep] if rng.random() < 0.5 else {"a": deep}
        notebook[rng.choice(["cells", "metadata", "x", "worksheets"])] = deep
    elif kind == 3 and cells:
        deep = [1] if rng.random() < 0.5 else [[[[[["]"]]]]]]
        one = {"output_type": "display_data", "data": {"x": deep}, "metadata": {}}
        rng.choice(cells)["outputs"] = [one] * rng.choice((3, 30_000))
    else:
        notebook["nbformat"] = rng.choice([2, 3, 5, 99, "4", None, -1])
        notebook["worksheets"] = [{"cells": notebook.pop("cells", [])}]


def encode(rng, notebook):
    """The bytes of the file, perhaps in a code that JSON does not have, cut, or with bytes changed."""
    text = json.dumps(notebook, ensure_ascii=rng.random() < 0.7)
    data = text.encode(
        rng.choice(["utf-8"] * 6 + ["utf-16", "utf-8-sig", "utf-32", "latin-1"]), "replace" if rng.random() < 0.5 else "ignore"
    )
    kind = rng.randrange(8)
    if kind == 0:
        data = data[: rng.randrange(len(data) + 1)]
    elif kind == 1:
        spoiled = bytearray(data)
        for _ in range(rng.choice((1, 5, 200)) if spoiled else 0):
            spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
        data = bytes(spoiled)
    elif kind == 2:
        data = data * 2
    return data


def beside(rng, folder):
    """What else lies in the folder, and what the notebook itself is."""
    for name in rng.sample(NAMES, rng.choice((0, 0, 0, 1, 4))):
        (folder / name).write_bytes(rng.choice([b"", b"raise SystemExit", b"\xff" * 999, b"import os; os._exit(1)", b"x" * (9 << 20)]))
    for i in range(rng.choice((0, 0, 0, 300))):
        (folder / f"d{i}.csv").mkdir()
    path, kind = folder / "n.ipynb", rng.randrange(40)
    if kind < 5:
        path.unlink()
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        path.symlink_to("/etc/passwd")
    elif kind == 2:
        os.mkfifo(path)
    elif kind == 3:
        (folder / "n (1).ipynb").write_text("{}")


def mutant(rng, right, folder):
    """Write a submission made from a right one; whether its second answer is as it was."""
    notebook, kinds = json.loads(right), rng.sample([code, code, code, structure, metadata, pasted, halves, size], rng.choice((1, 1, 2, 3)))
    for kind in sorted(kinds, key=lambda kind: kind is size):  # what is deep is not gone through again
        kind(rng, notebook)
    only_code = set(kinds) == {code}
    folder.mkdir(parents=True)
    (folder / "n.ipynb").write_bytes(json.dumps(notebook).encode() if only_code else encode(rng, notebook))
    if not only_code:
        beside(rng, folder)
    return only_code


def generator(seed, number):
    """The same submission for the same two numbers."""
    return random.Random(f"{seed}:{number}")
