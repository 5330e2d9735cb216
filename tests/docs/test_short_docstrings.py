"""No docstring of a public name has three words or fewer."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "autolab"
ROOMS = "amp autograd datasets distributions func linalg nn optim serialization torch_api utils".split()


def short(path):
    """The public classes and functions of a file whose docstring says too little."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
            text = ast.get_docstring(node)
            if text is not None and len(text.split()) <= 3:
                yield f"{path.relative_to(PACKAGE)} {node.name}: {text}"


def test_no_docstring_has_three_words():
    files = [path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")]
    assert len(files) > 100 and [found for path in files for found in short(path)] == []
