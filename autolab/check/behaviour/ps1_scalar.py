"""Problem set 1: the chain rule on paper, and a scalar engine in pieces.

Each piece is judged on nodes that appear here, so that it shows which piece is at fault.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, kind_of
from .wrong_passes import SCALAR_PASSES, scalar_backward


class ScalarNode:
    """A value with its parents and, for each of them, the derivative of this value with respect to that one."""

    def __init__(self, data: float, parents: tuple = (), local: tuple = (), name: str = ""):
        self.data, self.parents, self.local, self.name, self.grad = data, parents, local, name, 0.0


def _numbers(n: int, low: float = 0.3, high: float = 1.7):
    return lambda rng: tuple(draw(rng, (), low, high) for _ in range(n))


ENTRIES = ("u", "y", "dy_du", "du_dx", "dy_dx")


def table_of(candidate, x) -> Data:
    """The entries of a student's table at x."""
    table = candidate(float(x))
    if not isinstance(table, Mapping):
        raise UnexpectedResult(f"result is {kind_of(table)}, expected a dict with the entries of the table")
    missing = [name for name in ENTRIES if name not in table]
    if missing:
        said = ", ".join(map(repr, table)) or "none"
        raise UnexpectedResult(f"the entries of the table are {said}, expected {missing[0]!r} as well")
    return {name: table[name] for name in ENTRIES}


def _right_trace(x) -> Data:
    u = 3 * x + 2
    return {"u": u, "y": u**2, "dy_du": 2 * u, "du_dx": 3, "dy_dx": 6 * u}


TRACE = Behaviour("trace_table", (
    Scene("values", lambda f, x: {k: v for k, v in table_of(f, x).items() if k in "uy"},
          lambda x: {k: v for k, v in _right_trace(x).items() if k in "uy"},
          "u and y are right", "Compute y at x = 1 by hand: u is 5.", 1, _numbers(1), shows="x"),
    Scene("local derivatives", lambda f, x: {k: v for k, v in table_of(f, x).items() if k in ("dy_du", "du_dx")},
          lambda x: {k: v for k, v in _right_trace(x).items() if k in ("dy_du", "du_dx")},
          "each step has its derivative", "Differentiate each line of the table for itself, as if the others were not there.",
          2, _numbers(1), shows="x", slips=[
              Slip("variable", "dy/du is computed at x and not at u", "At which number does the square work: x or u?",
                   lambda x: {"dy_du": 2 * x}),
              Slip("power", "dy/du is the square itself, not its derivative", "What is the derivative of u * u for u?",
                   lambda x: {"dy_du": (3 * x + 2) ** 2})]),
    Scene("chain rule", lambda f, x: {"dy_dx": table_of(f, x)["dy_dx"]}, lambda x: {"dy_dx": 6 * (3 * x + 2)},
          "dy/dx is the product", "Nudge x by 0.01: how far does u move, and how far does y move for that?",
          2, _numbers(1), shows="x", slips=[
              Slip("term", "The local derivatives are added; the chain rule multiplies them",
                   "u moves three times as far as x, and y moves 2u times as far as u. How far does y move?",
                   lambda x: {"dy_dx": 2 * (3 * x + 2) + 3}),
              Slip("factor", "The inner derivative is missing", "y depends on u; how does u depend on x?",
                   lambda x: {"dy_dx": 2 * (3 * x + 2)})]),
))  # fmt: skip


OPERATIONS: dict[str, tuple] = {
    # name: what a learner's class is asked, the right value, the right local derivatives
    "add": (lambda a, b: a + b, lambda x, y: x + y, lambda x, y: (1, 1)),
    "mul": (lambda a, b: a * b, lambda x, y: x * y, lambda x, y: (y, x)),
    "pow": (lambda a, b: a**3, lambda x, y: x**3, lambda x, y: (3 * x**2,)),
    "exp": (lambda a, b: a.exp(), lambda x, y: np.exp(x), lambda x, y: (np.exp(x),)),
    "tanh": (lambda a, b: a.tanh(), lambda x, y: np.tanh(x), lambda x, y: (1 - np.tanh(x) ** 2,)),
    "relu": (lambda a, b: a.relu(), lambda x, y: np.maximum(x, 0), lambda x, y: (float(x > 0),)),
}
SLIPS: dict[str, list[tuple]] = {
    "add": [("term", "The local derivatives of a sum are the other summand; they should say how the sum moves",
             "Nudge one summand by 0.01: how far does the sum move?", lambda x, y: (y, x))],
    "mul": [("swapped", "Each factor has its own value as its derivative", "Nudge a by 0.01: how far does a * b move?",
             lambda x, y: (x, y)),
            ("term", "The local derivatives are those of a sum", "Nudge a by 0.01: how far does a * b move?", lambda x, y: (1, 1))],
    "pow": [("factor", "The exponent does not come down", "What is the derivative of a ** 3?", lambda x, y: (x**2,)),
            ("power", "The exponent stays as it was", "What is the derivative of a ** 3?", lambda x, y: (3 * x**3,)),
            ("power", "1 is taken from the power, not from the exponent", "Python reads n * a ** n - 1 as (n * a ** n) - 1.",
             lambda x, y: (3 * x**3 - 1,))],
    "exp": [("forward", "The derivative of exp is taken at the result", "exp has been applied once already.",
             lambda x, y: (np.exp(np.exp(x)),)),
            ("variable", "The derivative of exp is that of a power",
             "In a power the exponent is fixed and comes down; here it is the exponent that moves.", lambda x, y: (x * np.exp(x - 1),))],
    "tanh": [("power", "The result is not squared in the derivative of tanh", "1 minus what?",
              lambda x, y: (1 - np.tanh(x),)),
             ("variable", "The derivative of tanh uses the operand where the result belongs", "1 minus the square of what?",
              lambda x, y: (1 - x**2,))],
    "relu": [("mask", "The derivative of relu is the operand where it should be 1", "Nudge a positive a by 0.01: how far does relu move?",
              lambda x, y: (np.maximum(x, 0),)),
             ("mask", "The derivative of relu is 1 everywhere", "Nudge a negative a by 0.01: does relu move?",
              lambda x, y: (1.0,))],
}  # fmt: skip


def _node(made: Any) -> Data:
    for name in ("data", "parents", "local"):
        if not hasattr(made, name):
            raise UnexpectedResult(f"the result is {kind_of(made)}, expected a Value with data, parents and local")
    for name in ("parents", "local"):
        if not hasattr(getattr(made, name), "__len__"):
            said = kind_of(getattr(made, name))
            raise UnexpectedResult(f"the result's {name} is {said}, expected a tuple; with one entry it needs a comma: (x,)")
    for slope in made.local:
        if not isinstance(slope, numbers.Real):
            raise UnexpectedResult(f"the result's local has {kind_of(slope)} in it, expected numbers")
    return {"value": made.data, "local": [float(d) for d in made.local]}


def _family(made: Any, operands: Mapping[str, Any]) -> None:
    """Does a result name its operands as its parents, in their order, and leave them as they were?"""
    if not len(made.parents):
        raise UnexpectedResult("the result has no parents, expected the values that it was computed from")
    kind = type(next(iter(operands.values())))
    others = ["another Value" if isinstance(parent, kind) else kind_of(parent) for parent in made.parents]
    names = [next((name for name, v in operands.items() if v is parent), other) for parent, other in zip(made.parents, others, strict=True)]
    if names != [*operands]:
        said = f"({', '.join(names)}{',' * (len(names) == 1)})"
        raise UnexpectedResult(f"the result's parents are {said}, expected ({', '.join(operands)}{',' * (len(operands) == 1)})")
    touched = [name for name, v in operands.items() if getattr(v, "grad", 0.0) != 0.0]
    if touched:
        raise UnexpectedResult(f"the operation changes {touched[0]}.grad, which stays 0 until derivatives are asked for")


EXPONENTS = (-1, 0.5)  # besides 3: an exponent is any number


def _power(made: Any) -> tuple:
    seen = _node(made)
    return (seen["value"], *seen["local"])


def _operation(name: str) -> Scene:
    ask, value, local = OPERATIONS[name]

    operands = ("a", "b")[: len(local(1.0, 1.0))]

    def play(cls, x, y):
        a, b = cls(float(x)), cls(float(y))
        made = ask(a, b)
        seen = _node(made)
        _family(made, dict(zip(operands, (a, b), strict=False)))
        if name != "pow":
            return seen
        return {**seen, **{f"a ** {n}": _power(cls(float(x)) ** n) for n in EXPONENTS}}

    def expect(x, y):
        right = {"value": value(x, y), "local": local(x, y)}
        return right if name != "pow" else {**right, **{f"a ** {n}": (x**n, n * x ** (n - 1)) for n in EXPONENTS}}

    def draws(rng):
        x, y = draw(rng, (), 0.3, 1.7), draw(rng, (), -1.7, 1.7)
        return (x if name != "relu" or rng.random() < 0.5 else -x), y

    slips = [Slip(family, text, hint, lambda x, y, f=f: {"local": f(x, y)}) for family, text, hint, f in SLIPS[name]]
    return Scene(name, play, expect, f"{name} knows its value, its parents and its local derivatives",
                 "A result needs three things: its number, whom it came from, and how it moves with each of them.",
                 0 if name == "add" else 1.8, draws, slips, shows=operands,
                 says={"local": ".local"} | {f"a ** {n}": f".data and .local of a ** {n}" for n in EXPONENTS})  # fmt: skip


VALUE_OPS = Behaviour("value_ops", tuple(_operation(name) for name in OPERATIONS))


def graph(kind: str) -> ScalarNode:
    """Small graphs by name; the root comes back."""
    a, b = ScalarNode(2.0, name="a"), ScalarNode(3.0, name="b")
    if kind == "chain":  # its numbers neither grow nor fall, so sorting them gives no order
        c = ScalarNode(-6.0, (a,), (-3.0,), "c")
        return ScalarNode(36.0, (c,), (-12.0,), "d")
    if kind in ("diamond", "mirrored"):  # d = e * c or c * e, where e comes from a and c; a and b are equal numbers
        x = 2.0 if kind == "diamond" else 0.5
        a, b = ScalarNode(x, name="a"), ScalarNode(x, name="b")
        c = ScalarNode(x * x, (a, b), (x, x), "c")
        e = ScalarNode(x + x * x, (a, c), (1.0, 1.0), "e")
        d = e.data * c.data
        return ScalarNode(d, (e, c), (c.data, e.data), "d") if kind == "diamond" else ScalarNode(d, (c, e), (e.data, c.data), "d")
    if kind == "twice":
        return ScalarNode(4.0, (a, a), (2.0, 2.0), "c")
    node = a
    for i in range(5000):
        node = ScalarNode(node.data, (node,), (1.0,), f"n{i}")
    return node


def _nodes_of(root: ScalarNode) -> set[int]:
    """The identities of all nodes from which the root was made, and its own."""
    known = {id(root)}
    waiting = [root]
    while waiting:
        for parent in waiting.pop().parents:
            if id(parent) not in known:
                known.add(id(parent))
                waiting.append(parent)
    return known


def _order(*kinds: str):
    def walk(f, kind):
        root, found = graph(kind), None
        found = f(root)
        if not isinstance(found, Iterable):
            raise UnexpectedResult(f"result is {kind_of(found)}, expected a list of nodes")
        if isinstance(found, (set, frozenset)):
            raise UnexpectedResult("result is a set, which has no order; expected a list of nodes")
        nodes: list[Any] = [n if isinstance(n, ScalarNode) else getattr(n, "node", n) for n in found]
        if strange := [n for n in nodes if not isinstance(n, ScalarNode)]:
            raise UnexpectedResult(f"the list has {kind_of(strange[0])} in it, expected the nodes themselves")
        known = _nodes_of(root)
        if any(id(n) not in known for n in nodes):
            raise UnexpectedResult("the list has a node in it that is not of this graph, such as one from an earlier call")
        place = {id(n): i for i, n in enumerate(nodes)}
        ahead = all(place.get(id(p), -1) < place[id(n)] for n in nodes for p in n.parents)
        behind = all(place.get(id(p), -1) > place[id(n)] for n in nodes for p in n.parents)
        return {"count": len(nodes), "different": len(place), "parents first": ahead, "reversed": behind, "root": id(root) in place,
                "list": f"[{', '.join(n.name for n in nodes)}]"}  # fmt: skip

    def play(f, *_):
        seen = [walk(f, kind) for kind in kinds]
        return next((s for s in seen if s["count"] != s["different"] or not s["parents first"]), seen[-1])

    return play


def _order_scene(name, kinds, count, passed, hint, points, slips=()):
    says = {"count": "length of the list", "different": "different nodes in it", "parents first": "every node after its parents"}
    return Scene(name, _order(*kinds), lambda: {"count": count, "different": count, "parents first": True}, passed, hint,
                 points, slips=[*slips, EMPTY, *[rootless(count)][: count > 2]], context="list", says=says)  # fmt: skip


BACKWARDS = Slip("order", "The list runs from the root to the inputs", "The inputs come first, the root last.",
                 lambda: {"parents first": False, "reversed": True})  # fmt: skip
EMPTY = Slip("missing", "The list is empty", "If a function inside yours does the walk: is it called?", lambda: {"count": 0})


def rootless(count: int) -> Slip:
    """Everything is on the list but the node that the function was given."""
    return Slip("missing", "The root is not on the list", "Which node puts the root on the list, if each node puts its parents there?",
                lambda: {"count": count - 1, "different": count - 1, "parents first": True, "root": False})  # fmt: skip


ORDER = Behaviour("topological_order", (
    _order_scene("a chain", ["chain"], 3, "inputs first, the root last", "Put a node on the list after its parents.", 2, [BACKWARDS]),
    _order_scene("shared nodes", ["diamond", "mirrored"], 5, "each node once, after all its parents",
                 "Remember which nodes you have been to.", 3, [
                     BACKWARDS,
                     Slip("visited", "Some nodes are in the list more than once", "Remember which nodes you have been to.",
                          lambda: {"count": 9, "different": 5}),
                     Slip("visited", "Two nodes with equal numbers are taken for one",
                          "a and b may both be 2 and are still two nodes: compare them by `is`, not their data.",
                          lambda: {"count": 4, "different": 4, "root": True}),
                     Slip("order", "A node appears before one of its parents: it was put on the list when it was first seen",
                          "A node may go on the list when all its parents are there, not earlier.",
                          lambda: {"count": 5, "different": 5, "parents first": False})]),
    _order_scene("the same parent twice", ["twice"], 2, "x * x counts x once", "Remember which nodes you have been to.", 1,
                 [BACKWARDS]),
))  # fmt: skip


def _three(x, y) -> tuple[ScalarNode, ScalarNode, ScalarNode]:
    a, b = ScalarNode(float(x), name="a"), ScalarNode(float(y), name="b")
    c = ScalarNode(a.data * b.data, (a, b), (b.data, a.data), "c")
    return a, b, ScalarNode(c.data**2, (c,), (2 * c.data,), "d")


def _shared(x, y) -> tuple[ScalarNode, ScalarNode, ScalarNode]:
    # d = (a * b) * (a * b + a): c is used twice, a three times
    a, b = ScalarNode(float(x), name="a"), ScalarNode(float(y), name="b")
    c = ScalarNode(a.data * b.data, (a, b), (b.data, a.data), "c")
    e = ScalarNode(c.data + a.data, (c, a), (1.0, 1.0), "e")
    return a, b, ScalarNode(c.data * e.data, (c, e), (e.data, c.data), "d")


def _square(x, y) -> tuple[ScalarNode, ScalarNode, ScalarNode]:
    # d = a * a + b: both parents of the product are a
    a, b = ScalarNode(float(x), name="a"), ScalarNode(float(y), name="b")
    c = ScalarNode(a.data**2, (a, a), (a.data, a.data), "c")
    return a, b, ScalarNode(c.data + b.data, (c, b), (1.0, 1.0), "d")


def _backward(build):
    def play(f, x, y):
        a, b, d = build(x, y)
        made = f(d)
        if made is not None and not (a.grad or b.grad or d.grad):
            raise UnexpectedResult(
                f"backward returns {kind_of(made)}, and every .grad is 0 still; expected the gradients in .grad of the nodes"
            )
        return {"root": d.grad, "a": a.grad, "b": b.grad}

    return play


def _twice_backward(f, x, y) -> Data:
    a, _, d = _three(x, y)
    f(d)
    first = float(a.grad)
    for n in (d, *d.parents):
        n.grad = 0.0
    f(d)
    return {"first": first, "second": a.grad}


SAYS = {"root": "gradient of the root", "a": "gradient of a", "b": "gradient of b"}
BACKWARD = Behaviour("value_backward", (
    Scene("the root", lambda f, a, b: {"root": _backward(_three)(f, a, b)["root"]}, lambda a, b: {"root": 1.0},
          "the root's own gradient is 1", "How much does d change when d changes by 0.01?", 1, _numbers(2), says=SAYS),
    Scene("a chain", _backward(_three), lambda a, b: {"root": 1.0, "a": 2 * a * b * b, "b": 2 * a * a * b},
          "gradients are multiplied on the way", "Each parent receives the node's gradient times the local derivative.",
          3, _numbers(2), says=SAYS, slips=[
              Slip("upstream ignored", "Parents receive the local derivative alone; the gradient of the node is not multiplied in",
                   "The chain rule has two factors.", lambda a, b: {"a": b, "b": a}),
              Slip("order", "Some gradient was sent on before it was there", "Walk from the root to the inputs.",
                   lambda a, b: {"root": 1.0, "a": 0.0, "b": 0.0})]),
    Scene("shared nodes", _backward(_shared),
          lambda a, b: {"root": 1.0, "a": 2 * a * b * b + 2 * a * b, "b": 2 * a * a * b + a * a},
          "contributions add up, and each node waits for all of them", "A node may pass its gradient on when it is complete.",
          2, _numbers(2), says=SAYS, slips=[
              Slip("overwritten", "A later contribution overwrites an earlier one", "A value that is used twice has two "
                   "contributions to its gradient; what does the chain rule do with them?",
                   lambda a, b: {"root": 1.0, "a": a * b, "b": a * a * b}),
              Slip("overwritten", "A later contribution overwrites an earlier one", "A value that is used twice has two "
                   "contributions to its gradient; what does the chain rule do with them?",
                   lambda a, b: {"root": 1.0, "a": b * (a * b + a)})]),
    Scene("a square", _backward(_square), lambda a, b: {"root": 1.0, "a": 2 * a, "b": 1.0}, "both factors of a * a count",
          "a is the first parent of a * a, and the second: each place has a derivative of its own.", 1, _numbers(2), says=SAYS, slips=[
              Slip("overwritten", "Of the two factors of a * a only one counts", "zip(node.parents, node.local) has two pairs for a * a.",
                   lambda a, b: {"a": a})]),
    Scene("two backward calls", _twice_backward, lambda a, b: {"first": 2 * a * b * b, "second": 4 * a * b * b},
          "a leaf adds up what several calls send", "An input's gradient is added to what is there.", 1, _numbers(2), slips=[
              Slip("overwritten", "The second call replaces the gradient of an input instead of adding to it",
                   "x.grad of PyTorch grows from call to call; who empties it?",
                   lambda a, b: {"first": 2 * a * b * b, "second": 2 * a * b * b})]),
), SCALAR_PASSES)  # fmt: skip


def _training(steps: int):
    def expect(w, b, x, t):
        w, b = float(w), float(b)
        losses = []
        for _ in range(steps):
            out = math.tanh(w * float(x) + b)
            losses.append((out - float(t)) ** 2)
            slope = 2 * (out - float(t)) * (1 - out**2)
            w, b = w - 0.1 * slope * float(x), b - 0.1 * slope
        return {"w": w, "b": b, "losses": losses}

    return expect


def _forgets_to_zero(w, b, x, t) -> Data:
    w, b, gw, gb = float(w), float(b), 0.0, 0.0
    for _ in range(5):
        out = math.tanh(w * float(x) + b)
        slope = 2 * (out - float(t)) * (1 - out**2)
        gw, gb = gw + slope * float(x), gb + slope
        w, b = w - 0.1 * gw, b - 0.1 * gb
    return {"w": w, "b": b}


def _neuron(steps: int):
    def play(f, w, b, x, t):
        result = f(float(w), float(b), float(x), float(t), 0.1, steps)
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            raise UnexpectedResult(f"result is {kind_of(result)}, expected w, b and the list of losses")
        w, b, losses = result
        if isinstance(w, (tuple, list)) and not isinstance(losses, (tuple, list)):
            raise UnexpectedResult("result begins with a list, expected w, b and the list of losses, in this order")
        return {"w": w, "b": b, "losses": losses}

    return play


def _trained(steps: int, *, target=1.0, bias="b", late=False, squashed=True) -> Callable[..., Data]:
    """What a training loop with one of these mistakes returns."""

    def expect(w, b, x, t):
        w, b, x, t = (float(number) for number in (w, b, x, t))
        losses = []

        def forward():
            out = math.tanh(w * x + b) if squashed else w * x + b
            return out - target * t, 1 - out**2 if squashed else 1.0

        for _ in range(steps):
            error, slope = forward()
            before, by_b = error**2, 2 * error * slope
            w, b = w - 0.1 * by_b * x, b - 0.1 * {"b": by_b, "w": by_b * x, "none": 0.0}[bias]
            losses.append(forward()[0] ** 2 if late else before)
        return {"w": w, "b": b, "losses": losses}

    return expect


def _built_once(steps: int, *mistake: str) -> Callable[..., Data]:
    """What training gives on a graph that is built before the first step; nodes inside it may keep their gradients from step to step."""

    def expect(w, b, x, t):
        weight, bias = ScalarNode(float(w)), ScalarNode(float(b))
        product = ScalarNode(0.0, (weight,), (float(x),))
        out = math.tanh(float(w) * float(x) + float(b))
        result = ScalarNode(out, (ScalarNode(0.0, (product, bias), (1.0, 1.0)),), (1 - out**2,))
        error = ScalarNode(out - float(t), (result,), (1.0,))
        loss = ScalarNode(error.data**2, (error,), (2 * error.data,))
        for _ in range(steps):
            weight.grad = bias.grad = 0.0
            scalar_backward(*mistake)(loss)
            weight.data, bias.data = weight.data - 0.1 * weight.grad, bias.data - 0.1 * bias.grad
        return {"w": weight.data, "b": bias.data, "losses": [loss.data] * steps}

    return expect


def _neuron_slips(steps: int) -> list[Slip]:
    return [
        Slip("parameter", "b stays as it is: only w takes a step", "How many parameters move in a step?", _trained(steps, bias="none")),
        *[Slip("stale", "The graph is built once, so every step uses the numbers with which it began",
               "A node keeps the numbers that it was made with. When does the next step get nodes of its own?",
               _built_once(steps, *mistake)) for mistake in ((), ("kept inside",)) if steps > 1],
        Slip("variable", "b moves by the gradient of w", "Each parameter has a gradient of its own.", _trained(steps, bias="w")),
        Slip("order", "Each loss is computed after its step, and should be that before it", "What is the first loss in the step by hand?",
             _trained(steps, late=True)),
        Slip("term sign", "The target is added to the output; the error is their difference", "What is the loss if o and t are equal?",
             _trained(steps, target=-1.0)),
        Slip("term", "The tanh is missing: the output is w * x + b", "What is the output in the step by hand?",
             _trained(steps, squashed=False)),
    ]  # fmt: skip


NEURON = Behaviour("neuron", (
    Scene("one step", _neuron(1), _training(1), "one step downhill", "Loss, gradient, step: compare each with paper.", 3,
          _numbers(4), rtol=1e-7, shows="wbxt", slips=[
              *_neuron_slips(1),
              Slip("sign", "The step goes uphill", "The gradient points uphill; where do we want to go?",
                   lambda w, b, x, t: {"w": 2 * w - _training(1)(w, b, x, t)["w"]})]),
    Scene("five steps", _neuron(5), _training(5), "five steps, each with its own gradient",
          "What is in .grad when the second step begins?", 3, _numbers(4), rtol=1e-7, shows="wbxt", slips=[
              *_neuron_slips(5),
              Slip("early return", "There is one loss, and should be five: the function returns in its first step",
                   "How far is `return` indented?", _training(1)),
              Slip("accumulation", "Old gradients are still in .grad when the next step begins",
                   "What is in .grad when the second step begins?", _forgets_to_zero)]),
))  # fmt: skip

VALUE = (TRACE, VALUE_OPS, ORDER, BACKWARD, NEURON)
