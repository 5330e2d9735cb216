"""The text of a problem set with other exercises in it: statement, worked number, answer, and checks of each."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from autolab.check import Reference

from .bank import Bank, Section, Variant, names_in

SECTION = re.compile(r"^## .*?(?=^## |^---$|\Z)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"## ([^\n:]+): [^\n]*?( \(\d+ points?\))?\n")
FENCE = re.compile(r"^```(python|check) ?([^\n`]*)\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
COMMENT = "# The hidden test is the same check on other numbers."
# What NumPy and the library call by the same name: a solution is written in the words of the notebook.
SAME_NAMES = re.compile(
    r"\bnp\.(?=(exp|log|log1p|expm1|sqrt|tanh|sinh|cosh|sin|cos|tan|abs|where|sign|arctan|floor|ceil|round|trunc|clip"
    r"|zeros_like|ones_like|einsum|roll|flip)\b)"
)


ROW = re.compile(r"TABLE\['(\w+)'\]\((.*?), axis=axis\)")  # of a row of the table: the library's function of the same name


class Place(NamedTuple):
    """An answer of the original text: its fence, those of its checks, what they are called, and what they are worth."""

    answer: str
    checks: str
    name: str
    points: str
    hidden: str


def places(section: str) -> dict[str, Place]:
    """The answers of a section, by the ids of their cells, each with the checks that follow it."""
    found: dict[str, Place] = {}
    answer, parts = None, []
    for fence in FENCE.finditer(section):
        words = fence[2].split()
        if words[:1] == ["answer"]:
            answer, parts = (words[1], fence[0]), []
        elif answer and fence[1] == "check" and len(words) == 4:
            found[answer[0]] = Place(answer[1], fence[0], words[0], words[2], words[3])
        elif answer and words[:1] == ["check"] and len(words) == 3:
            parts.append((fence, words))
            if len(parts) == 2:
                (first, one), (second, two) = parts
                found[answer[0]] = Place(answer[1], f"{first[0]}\n{second[0]}", one[1].removesuffix("-check"), one[2], two[2])
    return found


def with_variants(text: str, bank: Bank, chosen: Mapping[str, Variant]) -> str:
    """The text of a problem set with `chosen` in its places, by the id of the answer. Raises ValueError if the two do not fit."""
    for section in bank.sections:
        original = next((s[0] for s in SECTION.finditer(text) if s[0].startswith(f"## {section.heading}:")), None)
        if original is None:
            raise ValueError(f"the text of {bank.set} has no section {section.heading!r}, which the bank varies")
        text = text.replace(original, written(section, original, chosen), 1)
    for old, new in bank.changes:
        if old not in text:
            raise ValueError(f"the text of {bank.set} does not say {old!r} any more, which the bank changes")
        text = text.replace(old, new)
    return text


def written(section: Section, original: str, chosen: Mapping[str, Variant]) -> str:
    """A section of the text with other exercises."""
    head, where = HEADING.match(original), places(original)
    assert head is not None
    titles, parts = [], [section.text] if len(section.slots) > 1 else []
    for slot in section.slots:
        if slot.answer not in where:
            raise ValueError(f"{section.heading} has no answer {slot.answer!r} with a check and a hidden check below it")
        place = where[slot.answer]
        if not slot.pool:
            parts += [place.answer, place.checks]
            continue
        variant = chosen[slot.answer]
        titles.append(variant.title)
        formula, *rest = statement(variant)
        answer = (slot.prelude.strip() + "\n\n\n" if slot.prelude else "") + solution(variant)
        parts += [formula, section.text if len(section.slots) == 1 else "", *rest]
        parts += [fence(f"answer {slot.answer}", answer), *checks(variant, place)]
    title = " and ".join(filter(None, [", ".join(titles[:-1]), titles[-1]]))
    return f"## {section.heading}: {title}{head[2] or ''}\n\n" + "\n\n".join(
        part.strip() for part in parts if part.strip()
    ) + "\n\n"  # fmt: skip


def fence(words: str, code: str) -> str:
    """A fence of the text."""
    return f"```python {words}\n{code.strip()}\n```"


def statement(variant: Variant) -> list[str]:
    """What is asked, and one number worked out."""
    name = f"Write it as `{variant.class_name}`." if variant.is_rule else ""
    return [f"$$\n{variant.math.strip()}\n$$" if variant.math else "", f"{variant.text.strip()} {name}".strip(), worked(variant)]


def checks(variant: Variant, place: Place) -> list[str]:
    """The visible check and the hidden one, under the names and for the points of the original."""
    seed = zlib.crc32(variant.name.encode()) % 1000
    told = f'"{variant.known}"' if variant.known else "SPEC"

    def call(hidden: bool) -> str:
        points = place.hidden if hidden else place.points
        lines = "from autolab.check import check" if variant.known else variant.definition(hidden=hidden or variant.pretends)
        return f"{lines}\n\ncheck({told}, {variant.class_name}{f', seed={seed}' if hidden else ''}, points={points})"

    return [
        fence(f"check {place.name}-check {place.points}", call(hidden=False)),
        fence(f"check {place.name}-hidden {place.hidden}", f"{COMMENT}\n### BEGIN HIDDEN TESTS\n{call(hidden=True)}\n### END HIDDEN TESTS"),
    ]


# --- the solution


def solution(variant: Variant) -> str:
    """The model answer, from the formulas: what the rules need is saved, and nothing else."""
    if variant.answer:
        return variant.answer.strip()
    rules, inputs, settings = variant.rules, list(variant.inputs), list(variant.settings)
    wanted = {name for rule in rules.values() for name in names_in(rule)}
    stretched = variant.kind == "elementwise" and len(inputs) > 1
    saved = [x for x in (*inputs, "out") if x in wanted]
    shapes = [x for x in inputs if f"{x}_shape" in wanted or (stretched and x in rules and x not in saved)]
    kept = {s: s for s in settings if s in wanted} | {f"{x}_shape": f"{x}.shape" for x in shapes}

    forward = [f"ctx.save_for_backward({', '.join(saved)})"] if saved else []
    forward += [f"ctx.{name} = {value}" for name, value in kept.items()]
    forward = [f"out = {variant.forward}", *forward, "return out"] if "out" in saved else [*forward, f"return {variant.forward}"]

    backward = [f"({saved[0]},) = ctx.saved_tensors"] if len(saved) == 1 else [f"{', '.join(saved)} = ctx.saved_tensors"] if saved else []
    backward += [f"{name} = ctx.{name}" for name in kept if name in wanted]
    for x in rules if len(rules) > 1 else ():
        value = rules[x]
        if stretched:
            value = f"sum_to({value}, {f'{x}.shape' if x in saved else f'ctx.{x}_shape'})"
        backward.append(f"d{x} = {value}")
    values = [(f"d{x}" if len(rules) > 1 else rules[x]) if x in rules else "None" for x in inputs]
    backward.append(f"return {', '.join([*values, *['None'] * len(settings)])}")

    helpers = f"### BEGIN SOLUTION\n{variant.helpers.strip()}\n### END SOLUTION\n\n\n" if variant.helpers else ""
    methods = [*_method(f"forward(ctx, {', '.join([*inputs, *settings])})", forward), "", *_method("backward(ctx, g)", backward)]
    code = "\n".join([f"class {variant.class_name}(Function):", *methods])
    return helpers + ROW.sub(r"torch.\1(\2, axis)", SAME_NAMES.sub("torch.", code))


def _method(signature: str, body: list[str]) -> list[str]:
    lines = ["### BEGIN SOLUTION", *(line for part in body for line in part.splitlines()), "### END SOLUTION"]
    return ["    @staticmethod", f"    def {signature}:", *(f"        {line}" for line in lines)]


# --- the worked number


def worked(variant: Variant) -> str:
    """One example by hand: the result is computed, and so are the gradients."""
    if not variant.example:
        return ""
    reference = Reference.of(variant.spec.row or variant.spec)  # an example may lie outside of what the check draws
    given = {k: v for k, v in variant.example.items() if k != "g"}
    inputs = [_array(given[x]) for x in reference.inputs]
    settings = {k: v for k, v in given.items() if k not in reference.inputs}
    names = reference.environment(inputs, settings)
    g = np.broadcast_to(_array(variant.example.get("g", 1.0)), names["out"].shape)
    at = ", ".join(f"${k} = {latex(v)}$" if len(k) == 1 else f"`{k}` = ${latex(v)}$" for k, v in zip(reference.inputs, inputs, strict=True))
    at += "".join(f", `{k}={v!r}`" for k, v in settings.items())
    said = [f"the gradient for {_symbol(x)} is ${latex(reference.gradient(x, g, names))}$" for x in reference.differentiable()]
    kind = "One number" if all(np.ndim(a) == 0 for a in inputs) else "One example"
    return f"**{kind} by hand.** For {at} the result is ${latex(names['out'])}$. With $g = {latex(g)}$ {' and '.join(said)}."


def _array(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(float) if array.dtype.kind == "i" and array.ndim == 0 else array


def _symbol(name: str) -> str:
    return f"${name}$" if len(name) == 1 else f"`{name}`"


def latex(array: Any) -> str:
    r"""Numbers as mathematics: a number, a row, or a matrix.

    >>> latex(np.array(0.5)), latex(np.array([1.0, 2.25])), latex(np.eye(2))
    ('0.5', '(1,\\ 2.25)', '\\begin{pmatrix} 1 & 0 \\\\ 0 & 1 \\end{pmatrix}')
    """
    array = np.asarray(array)
    if array.ndim == 0:
        return _number(array)
    if array.ndim == 1:
        return "(" + r",\ ".join(map(_number, array)) + ")"
    if array.ndim == 2:
        return r"\begin{pmatrix} " + r" \\ ".join(" & ".join(map(_number, row)) for row in array) + r" \end{pmatrix}"
    return r",\ ".join(map(latex, array))


def _number(value: Any) -> str:
    if value.dtype.kind == "b":
        return r"\text{true}" if value else r"\text{false}"
    if not math.isfinite(value):
        return r"\infty" if value > 0 else r"-\infty" if value < 0 else r"\text{nan}"
    return f"{float(value) + 0.0:.4f}".rstrip("0").rstrip(".") if abs(value) >= 5e-5 or value == 0 else f"{value:.1e}"
