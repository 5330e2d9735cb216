"""A row is a formula, to be read: what makes it fast is a kernel (autolab/fast/kernels)."""

import ast
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "autolab" / "rules"
# Of these, two look into memory by strides, and into keys and transforms for a batch.
NO_ROWS = {"__init__", "batch", "input_checks", "numpy_dispatch", "strided"}
FILES = sorted(path for path in RULES.glob("*.py") if path.stem not in NO_ROWS)


def spellings(tree):
    """The lines, and what there is for speed and not for the mathematics."""
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=ast.Name()):  # to add where places overlap, `out[key] += g`, is what is computed
                yield node.lineno, "writes into something"
            case ast.keyword(arg="out"):
                yield node.value.lineno, "out="
            case ast.Call(func=ast.Attribute(attr="dot")):
                yield node.lineno, ".dot("
            case ast.Call(func=ast.Name("isinstance"), args=[_, ast.Name("int")]):  # of a setting: one axis or several
                pass
            case ast.Call(func=ast.Name("isinstance")) | ast.Compare(left=ast.Call(func=ast.Name("type"))):
                yield node.lineno, "asks for a type"
            case ast.Compare(left=left, comparators=others) if any(getattr(x, "attr", "") in ("size", "nbytes") for x in (left, *others)):
                yield node.lineno, "asks for a size"
            case ast.ImportFrom(module=str(module)) if module.startswith("autolab.fast"):
                yield node.lineno, "knows what is fast"


def without(tree, name):
    """A file without one of its functions."""
    return ast.Module([node for node in tree.body if getattr(node, "name", "") != name], [])


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_rule_says_what_is_computed_and_not_how(path):
    assert list(spellings(without(ast.parse(path.read_text()), "is_number"))) == []


def test_what_is_looked_for_is_found():
    text = "x += 1\nf(x, out=y)\nx.dot(y)\ntype(x) is int\nisinstance(x, float)\nx.size > MANY\nfrom autolab.fast.kernel import kernel"
    assert sorted(line for line, _ in spellings(ast.parse(text))) == [1, 2, 3, 4, 5, 6, 7]
