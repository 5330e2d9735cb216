"""The changes of what einsum is given: other letters, and one operand more, less or another one."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .schema import Site, as_written
from .values import Edit, short


def einsums(site: Site, quote: str) -> Iterator[Edit]:
    """Those of a call whose first argument is its letters."""
    text = f"other letters in {quote}"
    left, _, out = site.args[0].replace(" ", "").partition("->")
    parts = left.split(",")
    said = [",".join((*parts[:i], part[::-1], *parts[i + 1 :])) + "->" + out for i, part in enumerate(parts)]
    said += [left + "->" + "".join(order) for order in itertools.islice(itertools.permutations(out), 24)]
    said += [left + "->" + out.translate(str.maketrans(a, b)) for a in set(out) for b in set(left) - set(out) - {","}]
    said += [left.translate(str.maketrans(a + b, b + a)) + "->" + out for a, b in itertools.combinations(sorted(set(left) - {",", "."}), 2)]
    for other in dict.fromkeys(said):
        if other != site.args[0]:
            change = lambda do, a, k, n, other=other: do(other, *a[1:], **k)
            yield Edit(1, "transposed", text, ("einsum", site.args[0], other), change)
    yield from _operands(site, quote, parts, out)


def _operands(site: Site, quote: str, parts: Sequence[str], out: str) -> Iterator[Edit]:
    """With the letters that an operand has elsewhere in the rule."""
    node: Any = site.node
    if len(node.args) != len(parts) + 1 or not isinstance(site.parents[-1], ast.FunctionDef):
        return
    written = [short(site.text(a)) for a in node.args[1:]]
    known = [(name, letters) for name, letters in sorted(_letters(site.parents[-1])) if name in site.names]
    for i, name in enumerate(written):
        rest = [k for k in range(len(parts)) if k != i]
        if rest and set(out) <= set("".join(parts[k] for k in rest)):
            yield _with(f"one operand less in {quote}", "factor", ("operand", "less", name), [(k, parts[k]) for k in rest], out)
        for other, letters in known:
            operands = [(other, letters) if k == i else (k, part) for k, part in enumerate(parts)]
            if other != name and set(out) <= set("".join(part for _, part in operands)):
                text = f"another operand in the place of `{name}` in {quote}"
                yield _with(text, "variable", ("operand", name, other), operands, out)
    for other, letters in known:
        if other not in written:
            operands = [*enumerate(parts), (other, letters)]
            yield _with(f"one more operand in {quote}", "factor", ("operand", "more", other), operands, out)


def _with(text: str, family: str, key: Any, operands: Sequence[tuple[int | str, str]], out: str) -> Edit:
    """The call with these operands, by their places in it or by their names."""
    said = ",".join(letters for _, letters in operands) + "->" + out

    def change(do: Any, args: tuple, kwargs: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
        return do(said, *(names[which] if isinstance(which, str) else args[1 + which] for which, _ in operands), **kwargs)

    return Edit(1.25 if family == "variable" else 1.2, family, text, key, change)


def _letters(function: Any) -> set[tuple[str, str]]:
    """The names that einsum is given anywhere in a function, with their letters there."""
    if not hasattr(function, "letters"):
        function.letters = set()
        for call in _written(function):
            if isinstance(call, ast.Call) and getattr(as_written(call.func), "attr", "") == "einsum" and call.args:
                letters, *operands = map(as_written, call.args)
                parts = str(getattr(letters, "value", "")).replace(" ", "").partition("->")[0].split(",")
                function.letters |= {(a.id, part) for a, part in zip(operands, parts, strict=False) if isinstance(a, ast.Name)}
    return function.letters


def _written(node: ast.AST) -> Iterator[Any]:
    """A node and all in it, without the questions."""
    yield (node := as_written(node))
    for child in ast.iter_child_nodes(node):
        yield from _written(child)
