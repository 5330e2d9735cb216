"""Rules with their numbers filled in, and the sentence that says what happens at a step."""

import ast
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from autolab.trace.model import GradUpdate, HookEvent, TraceNode
from autolab.trace.values import INLINE, TraceValue, number, shape_text

SYMBOLS = {
    "add": "+", "sub": "−", "mul": "×", "div": "÷", "neg": "−", "pow": "xʸ", "pow_scalar": "xʸ",
    "square": "x²", "sqrt": "√", "sum": "Σ",
    "matmul": "@", "mm": "@", "bmm": "@", "mv": "@", "dot": "·", "outer": "⊗", "prod": "Π", "sigmoid": "σ",
    "abs": "|x|", "exp": "eˣ", "log": "ln",
}  # fmt: skip

SUMMED = ", summed over "
SPOKEN = 60  # a longer rule is left to the eye; the sentence says its result

NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w)(?!\s*=(?!=))")
NUMBERS = np.floating, float, int, np.integer, np.bool_, complex, np.complexfloating


def symbol(op: str) -> str:
    """The sign of an operation, as a formula would print it; "" if it has none."""
    return SYMBOLS.get(op.removesuffix("_complex"), "")


def fill(formula: str, values: Mapping[str, Any]) -> str:
    """The formula with its names replaced by their values.

    A number replaces a name as it is, a small tensor as a list, a large one as its dtype and shape.

    >>> fill("g * y", {"g": np.float32(10), "y": np.float32(-3)})
    '10 * (-3)'
    >>> fill("g @ mT(y)", {"g": np.ones((64, 10)), "y": np.ones((30, 10))})
    'float64[64, 10] @ mT(float64[30, 10])'
    """
    pieces, end = _pieces(formula)
    told = []
    for before, name, alone, enclosed in pieces:
        text = _value_text(values[name]) if name in values else name
        bare = enclosed if name in values and text[-1] == "j" else alone or text[0] != "-"
        told += before, text if bare else f"({text})"
    return "".join(told) + end


@lru_cache(1024)
def _pieces(formula):
    """A formula in pieces, and its end: what is before a name, the name, whether a minus needs no brackets there, and whether a sum."""
    found, at = [], 0
    for match in NAME.finditer(formula):
        found.append((formula[at : match.start()], match.group(), _stands_alone(formula, match), _is_enclosed(formula, match)))
        at = match.end()
    return found, formula[at:]


def select_branches(formula: str, values: Mapping[str, Any]) -> str:
    """The formula without the branches that this call does not take: `a if exponent == 0 else b` becomes a or b.

    >>> select_branches("g * 0 if exponent == 0 else g * exponent", {"exponent": 2})
    'g * exponent'
    """
    if " if " not in formula:
        return formula
    return _resolve(formula, tuple(_holds(test, {"np": np, **values}) for test in _tests(formula)))


def _conditions(formula):
    tree = ast.parse(formula, mode="eval")
    return tree, [node for node in ast.walk(tree) if isinstance(node, ast.IfExp)]


@lru_cache(1024)
def _tests(formula):
    return [compile(ast.Expression(node.test), "<rule>", "eval") for node in _conditions(formula)[1]]


def _holds(test, values):
    try:  # the text is a row's own, so to evaluate it is to run the row
        return bool(eval(test, {"__builtins__": {}}, values))
    except Exception:
        return None


@lru_cache(1024)
def _resolve(formula, holds):
    tree, conditions = _conditions(formula)
    return ast.unparse(_Branches(dict(zip(conditions, holds))).visit(tree))


class _Branches(ast.NodeTransformer):
    def __init__(self, holds):
        self.holds = holds

    def visit_IfExp(self, node):
        self.generic_visit(node)
        holds = self.holds[node]
        return node if holds is None else node.body if holds else node.orelse


def first_order(formula: str | None) -> str | None:
    """The formula without what matters only where the gradient of a straight piece is differentiated again.

    >>> first_order("keep_at(g, out > 0, out)")
    'keep(g, out > 0)'
    >>> first_order("straight_at(np.where(x > 0, g, g * slope), x, of='PreluKernel')")
    'np.where(x > 0, g, g * slope)'
    """
    if formula is None or "_at(" not in formula:
        return formula
    return ast.unparse(_FirstOrder().visit(ast.parse(formula, mode="eval")))


class _FirstOrder(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        match getattr(node.func, "id", None):
            case "keep_at":
                return ast.Call(ast.Name("keep"), node.args[:2], [])
            case "straight_at":
                return node.args[0]
        return node


def _stands_alone(formula, match):
    before, after = formula[: match.start()].rstrip(), formula[match.end() :].lstrip()
    return (not before or before[-1] in "(,[=") and not after.startswith("**")


def _is_enclosed(formula, match):
    before, after = formula[: match.start()].rstrip(), formula[match.end() :].lstrip()
    return (not before or before[-1] in "(,[=") and (not after or after[0] in "),]")


def conjugated(formula: str | None, gradient: str) -> str | None:
    """The rule as a node of complex numbers runs it: between two conjugates.

    >>> conjugated("g * y", "g"), conjugated("g", "g")
    ('conj(conj(g) * y)', 'g')
    """
    if formula is None or formula == gradient:
        return formula
    inner = re.sub(rf"(?<![\w.]){gradient}(?!\w)", f"conj({gradient})", formula)
    return f"conj({inner})"


def _value_text(value):
    if isinstance(value, NUMBERS):
        return number(value)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return repr(value) if not isinstance(value, list) else "[...]"
    if value.ndim == 0:
        return number(value[()])
    if value.size <= INLINE and value.ndim == 1:
        return "[" + ", ".join(number(item) for item in value) + "]"
    return f"{dtype.name}{shape_text(value.shape)}"


def equation(formula: str, values: Mapping[str, Any], sent: TraceValue, axes: tuple[int, ...] = ()) -> str:
    """The rule with its numbers and what comes out: "10 * 3 = 30".

    `sent` is the TraceValue that goes along the edge; `axes` are the broadcast ones, which were summed on the way.
    """
    left = fill(select_branches(formula, values), values)
    end = SUMMED + axes_text(axes) if axes else ""
    size = f"{sent.dtype}{shape_text(sent.shape)}"
    result = sent.text if sent.complete and len(sent.text) <= 40 else size
    if left in (result, size):  # passed on as it came
        return result + end
    return f"{left}{end} = {result}" if not end else f"{left} -> {result}{end}"


def broadcast_axes(shape: tuple[int, ...], to: tuple[int, ...]) -> tuple[int, ...]:
    """The axes along which an array of `shape` was stretched to the shape `to`, counted in `to`.

    >>> broadcast_axes((3, 1), (2, 3, 4))
    (0, 2)
    """
    if shape == to:
        return ()
    extra = len(to) - len(shape)
    return tuple(i for i, n in enumerate(to) if i < extra or shape[i - extra] != n)


def axes_text(axes: tuple[int, ...]) -> str:
    """Axes in words: "axis 0", "axes 0, 1 and 2"."""
    *others, last = map(str, axes)
    return f"axes {', '.join(others)} and {last}" if others else f"axis {last}"


def step_sentence(node: TraceNode, incoming: list, sent: list, grad: GradUpdate | None, hooks: Sequence[HookEvent] = ()) -> str:
    """What is said of a step: one sentence, with one before or after it for each hook that ran.

    `node` the node that fires; `incoming` the TraceValues it receives; `sent` a list of (receiver's name, TraceValue or None,
    filled rule or None); `grad` a GradUpdate for a leaf, else None; `hooks` the HookEvents that ran.
    """
    told = _node_sentence(node, incoming, sent, grad)
    if not hooks:
        return told
    earlier = [_hook_sentence(hook) for hook in hooks if hook.kind != "after"]
    return " ".join([*earlier, told, *[_hook_sentence(hook) for hook in hooks if hook.kind == "after"]])


def _hook_sentence(hook):
    name = f"Hook {hook.name}" if hook.name.isidentifier() else "A hook"
    sees, gives = [" and ".join("nothing" if v is None else v.phrase for v in vs) for vs in (hook.sees, hook.gives or ())]
    return f"{name} sees {sees}." if hook.gives is None else f"{name} changes {sees} to {gives}."


def _node_sentence(node, incoming, sent, grad):
    received = " and ".join([v.phrase for v in incoming if v is not None]) or "nothing"
    if grad is not None:
        name = node.label
        if received == "nothing":
            return f"{node.title} receives nothing; {name}.grad stays {grad.after.phrase if grad.after else 'None'}."
        if grad.before is None:
            return f"{node.title} receives {received}; {name}.grad becomes {grad.after.phrase}."
        return f"{node.title} receives {received}; {name}.grad was {grad.before.phrase}, and becomes {grad.after.phrase}."
    parts = [f"{name} gets {_gradient_words(value, rule)}" for name, value, rule in sent] or ["nothing before it needs a gradient"]
    return f"{node.title} receives {received}; {'; '.join(parts)}."


def _gradient_words(value, rule):
    if value is None:
        return "no gradient"
    if rule is None:
        return value.phrase
    rule = rule.replace(" * ", " × ").replace("np.", "")
    if value.data is not None and len(rule) <= SPOKEN and rule != value.text:
        return rule
    return value.phrase + sum_of(rule)


def sum_of(rule: str) -> str:
    """The end of a filled rule that says over which axes was summed; "" if over none."""
    _, summed, axes = rule.partition(SUMMED)
    return summed + axes
