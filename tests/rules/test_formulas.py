"""A row is a formula, to be read: what makes it fast is a kernel (autolab/fast/kernels)."""

import ast
from pathlib import Path

import pytest

from autolab.formula import functions_at

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


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_the_functions_on_a_line_are_those_of_the_whole_file(path):
    whole = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Lambda | ast.FunctionDef)]
    first = {n: min(d.lineno for d in (*getattr(n, "decorator_list", ()), n)) for n in whole}  # as a code object counts
    for line in set(first.values()):
        expected = [ast.dump(n, include_attributes=True) for n in whole if first[n] == line]
        assert [ast.dump(n, include_attributes=True) for n in functions_at(str(path), line)] == expected


def test_a_function_is_found_in_a_statement_that_has_lines_without_indent(tmp_path):
    file = tmp_path / "odd.py"
    file.write_text('if True:\n    text = """\nflush left\n"""\n    f = lambda x: x\nelse:\n    f = lambda y: y\n')
    assert [ast.unparse(f) for line in (5, 7) for f in functions_at(str(file), line)] == ["lambda x: x", "lambda y: y"]
