"""The capstone, milestones 5 and 6: second derivatives and checkpoints."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .live_module import numbers
from .ps_capstone_scene import program_scene, upstream, weighted
from .scenes import Behaviour, Data, Slip, arrays, error_name

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "x * y * x": lambda x, y: x * y * x, "x / y": lambda x, y: x / y, "x ** 3": lambda x, y: x**3, "x.exp()": lambda x, y: x.exp(),
    "y.log()": lambda x, y: y.log(), "x.tanh()": lambda x, y: x.tanh(), "(x * x).relu()": lambda x, y: (x * x).relu(),
    "x @ y.T": lambda x, y: x @ y.transpose(0, 1) @ x, "x.sum(1) ** 2": lambda x, y: x.sum(1, True) ** 2 * y,
    "x.mean(0) ** 2": lambda x, y: x.mean(0) ** 2 * y, "x.reshape() ** 2": lambda x, y: x.reshape(y.shape[0] * y.shape[1]) ** 2,
    "x[1:] ** 2": lambda x, y: x[1:] ** 2, "x[rows] ** 2": lambda x, y: x[np.array([1, 1, 0])] ** 2,
}  # fmt: skip


def _leaves(engine, x, y) -> tuple:
    return engine.Tensor(x, requires_grad=True), engine.Tensor(np.abs(y) + 0.3, requires_grad=True)


def _first(engine, x, y) -> Data:
    a, b = _leaves(engine, x, y)
    out = weighted(engine, a * b + a.tanh())
    found = engine.grad(out, [b, a])
    return {"of y": numbers(found[0]), "of x": numbers(found[1]), "grad stays": a.grad is None and b.grad is None}


def _middle(engine, x, y) -> Data:
    a, b = _leaves(engine, x, y)
    c = a * b
    return {"of x * y": numbers(engine.grad((c * c).sum(), [c])[0]), "unused": error_name(lambda: engine.grad((a * a).sum(), [b]))}


def _again(engine, g, x) -> Any:
    """The derivative of a gradient; 0 where it does not depend on x."""
    try:
        return numbers(engine.grad(weighted(engine, g), [x])[0])
    except RuntimeError:
        return np.zeros(np.shape(numbers(x)))


def _second(engine, x, y) -> Data:
    found = {}
    for name, f in FUNCTIONS.items():
        a, b = _leaves(engine, x, y)
        used = [b] if name in ("y.log()", "x / y") else [a]
        (g,) = engine.grad(weighted(engine, f(a, b)), used, create_graph=True)
        found[name] = _again(engine, g, used[0])
    return found


def _mixed(engine, x, y) -> Data:
    a, b = _leaves(engine, x, y)
    (g,) = engine.grad(weighted(engine, a * b * b), [a], create_graph=True)
    return {"by y": _again(engine, g, b)}


def _third(engine, x) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    found, out = {}, (a**5).sum()
    for order in (1, 2, 3):
        (g,) = engine.grad(out, [a], create_graph=True)
        found[f"order {order}"], out = numbers(g), g.sum()
    return found


def _stretched(engine, x, row) -> Data:
    a, b = engine.Tensor(x), engine.Tensor(row, requires_grad=True)
    (g,) = engine.grad(weighted(engine, (a * b) ** 2), [b], create_graph=True)
    return {"row": _again(engine, g, b)}


def _hessian_product(engine, x, w, v) -> Data:
    a = engine.Tensor(w, requires_grad=True)
    (g,) = engine.grad((engine.Tensor(x) @ a).tanh().sum(), [a], create_graph=True)
    return {"H v": numbers(engine.grad((g * engine.Tensor(v)).sum(), [a])[0])}


def _penalty(engine, x, w, v) -> Data:
    """A loss that contains a gradient, and is trained on by backward."""
    a, b = engine.Tensor(w, requires_grad=True), engine.Tensor(x, requires_grad=True)
    (g,) = engine.grad((b @ a).tanh().sum(), [b], create_graph=True)
    ((g * g).sum() + (a * engine.Tensor(v)).sum()).backward()
    return {"weight.grad": numbers(a.grad)}


def _kept(engine, x) -> Data:
    """What is asked for without create_graph belongs to no graph."""
    a = engine.Tensor(x, requires_grad=True)
    plain = engine.grad((a * a + a**3 + a.exp()).sum(), [a])[0]
    recorded = engine.grad((a * a + a**3 + a.exp()).sum(), [a], create_graph=True)[0]
    return {"without": bool(plain.requires_grad), "with": bool(recorded.requires_grad)}


MATRICES = arrays((3, 3), (3, 3))
SECOND = Behaviour(
    "capstone_second",
    (
        program_scene(
            "first derivatives",
            _first,
            "grad returns what backward would store",
            "The order of the list is that of the inputs.",
            2,
            MATRICES,
            says={"grad stays": "x.grad and y.grad stay None"},
            slips=[
                Slip(
                    "order",
                    "The gradients are not in the order of the inputs",
                    "[y, x] was asked for.",
                    lambda x, y: {"of y": upstream(x.shape) * (np.abs(y) + 0.3 + 1 - np.tanh(x) ** 2)},
                ),
                Slip(
                    "mutation",
                    "grad leaves its gradients in .grad as well",
                    "The next backward would add to them.",
                    lambda x, y: {"grad stays": False},
                ),
            ],
        ),
        program_scene(
            "a tensor in the middle",
            _middle,
            "of any tensor, and an error where there is no way",
            "Keep what arrives at a tensor that was asked for.",
            1,
            MATRICES,
            says={"unused": "the gradient of a tensor that was not used raises"},
        ),
        program_scene(
            "recorded or not",
            _kept,
            "create_graph decides",
            "Under which flag do the rules run?",
            1,
            arrays((3,)),
            says={"without": "requires_grad without create_graph", "with": "requires_grad with create_graph"},
            slips=[
                Slip(
                    "missing",
                    "With create_graph the gradients are not recorded: the rules work on arrays, or nothing is recorded while they run",
                    "A rule that is made of operations on tensors can be differentiated.",
                    lambda x: {"with": False},
                )
            ],
        ),
        program_scene(
            "second derivatives",
            _second,
            "every operation twice",
            "The derivative of each rule for what it remembers: does the rule use a tensor, or only its array?",
            3,
            MATRICES,
            slips=[
                Slip(
                    "term",
                    "What a product remembers counts as a constant",
                    "The rule of x * y uses y: as a tensor, or as an array?",
                    lambda x, y: {"x * y * x": 0 * x},
                ),
                Slip(
                    "term",
                    "What a power remembers counts as a constant",
                    "The rule of x ** 3 uses x: as a tensor, or as an array?",
                    lambda x, y: {"x ** 3": 0 * x},
                ),
                Slip(
                    "term",
                    "What exp remembers counts as a constant",
                    "The rule of exp uses its result: as a tensor, or as an array?",
                    lambda x, y: {"x.exp()": 0 * x},
                ),
                Slip(
                    "term",
                    "What tanh remembers counts as a constant",
                    "The rule of tanh uses its result: as a tensor, or as an array?",
                    lambda x, y: {"x.tanh()": 0 * x},
                ),
                Slip(
                    "term",
                    "What a product of matrices remembers counts as a constant",
                    "Its rule uses both matrices: as tensors, or as arrays?",
                    lambda x, y: {"x @ y.T": 0 * x},
                ),
            ],
        ),
        program_scene("by another input", _mixed, "mixed derivatives", "g depends on y as well as on x.", 1, MATRICES),
        program_scene(
            "stretched operands",
            _stretched,
            "broadcasting twice",
            "The sum over stretched axes is an operation, too: is it recorded?",
            1,
            arrays((3, 4), (4,)),
            slips=[
                Slip(
                    "term",
                    "The sum over stretched axes is not recorded",
                    "Sum with your own sum, and not on the array.",
                    lambda x, row: {"row": 0 * row},
                )
            ],
        ),
        program_scene(
            "third derivatives", _third, "as often as you like", "What is the second derivative of the rule of **?", 1, arrays((3,))
        ),
        program_scene(
            "Hessian times vector",
            _hessian_product,
            "a Hessian times a vector, without the Hessian",
            "The gradient of g * v.",
            1,
            arrays((5, 3), (3, 2), (3, 2)),
        ),
        program_scene(
            "a penalty",
            _penalty,
            "backward through a gradient",
            "grad with create_graph, then backward.",
            1,
            arrays((5, 3), (3, 2), (3, 2)),
        ),
    ),
)


def _checkpointed(engine, x, w, count: list | None = None, watched: list | None = None) -> tuple:
    weight = engine.Tensor(w, requires_grad=True)

    def f(z):
        if count is not None:
            count.append(1)
        middle = (z @ weight).tanh()
        if watched is not None:
            watched.append(weakref.ref(middle))
        return middle * middle + z

    return f, weight


def _same(engine, x, w) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    f, weight = _checkpointed(engine, x, w)
    out = engine.checkpoint(f, a)
    weighted(engine, out).backward()
    return {"result": numbers(out), "x.grad": numbers(a.grad), "weight.grad": numbers(weight.grad)}


def _calls(engine, x, w) -> Data:
    a, count = engine.Tensor(x, requires_grad=True), list[int]()
    f, _ = _checkpointed(engine, x, w, count)
    out = engine.checkpoint(f, a)
    before = len(count)
    out.sum().backward()
    return {"before": before, "after": len(count)}


def _held(engine, x, w) -> Data:
    a, watched = engine.Tensor(x, requires_grad=True), list[Any]()
    f, _ = _checkpointed(engine, x, w, watched=watched)
    out = engine.checkpoint(f, a)
    gc.collect()
    held = sum(ref() is not None for ref in watched)
    out.sum().backward()
    return {"held": held}


def _weights_only(engine, x, w) -> Data:
    """The first layer of a network: its input needs no gradient, its weights do."""
    a = engine.Tensor(x)
    f, weight = _checkpointed(engine, x, w)
    out = engine.checkpoint(f, a)
    if out.requires_grad:
        weighted(engine, out).backward()
    return {"weight.grad": np.zeros(w.shape) if weight.grad is None else numbers(weight.grad), "x.grad": a.grad is None}


def _chain(engine, x, w) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    f, weight = _checkpointed(engine, x, w)
    out = engine.checkpoint(f, engine.checkpoint(f, engine.checkpoint(f, a)))
    weighted(engine, out * a).backward()
    return {"x.grad": numbers(a.grad), "weight.grad": numbers(weight.grad)}


def _nested(engine, x, w) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    f, weight = _checkpointed(engine, x, w)
    weighted(engine, engine.checkpoint(lambda z: engine.checkpoint(f, z) * z, a)).backward()
    return {"x.grad": numbers(a.grad), "weight.grad": numbers(weight.grad)}


def _two_inputs(engine, x, w) -> Data:
    a, b, c = engine.Tensor(x, requires_grad=True), engine.Tensor(w, requires_grad=True), engine.Tensor(x)
    weighted(engine, engine.checkpoint(lambda p, q, r: (p @ q) * r, a, b, c)).backward()
    return {"x.grad": numbers(a.grad), "y.grad": numbers(b.grad), "constant": c.grad is None}


def _unrecorded(engine, x, w) -> Data:
    a, count = engine.Tensor(x, requires_grad=True), list[int]()
    f, _ = _checkpointed(engine, x, w, count)
    with engine.no_grad():
        out = engine.checkpoint(f, a)
    return {"recorded": bool(out.requires_grad), "calls": len(count)}


def _weight_gradient(x, w, z=None) -> np.ndarray:
    t = np.tanh(x @ w)
    return x.T @ (upstream(x.shape) * 2 * t * (1 - t**2))


SQUARE = arrays((4, 3), (3, 3))
CHECKPOINT = Behaviour(
    "capstone_checkpoint",
    (
        program_scene(
            "same numbers",
            _same,
            "the numbers of f",
            "backward calls f again, recorded, and sends the gradient through.",
            2,
            SQUARE,
            slips=[
                Slip(
                    "upstream ignored",
                    "Inside, the gradient starts with ones and not with what came in",
                    "again.backward(g)",
                    lambda x, w: {"x.grad": _ones_back(x, w)},
                ),
                Slip(
                    "twice",
                    "The weights that f uses receive their gradient twice",
                    "How often is it sent through?",
                    lambda x, w: {"weight.grad": 2 * _weight_gradient(x, w)},
                ),
            ],
        ),
        program_scene(
            "two calls",
            _calls,
            "f runs once forward, and once more in backward",
            "Not before gradients are wanted.",
            1,
            SQUARE,
            says={"before": "calls of f before backward", "after": "calls of f after backward"},
            slips=[
                Slip(
                    "missing",
                    "f is not called again: everything is kept",
                    "no_grad() around the first call.",
                    lambda x, w: {"before": 1, "after": 1},
                ),
                Slip("twice", "f is called again at once", "The second call belongs into the rule.", lambda x, w: {"before": 2}),
            ],
        ),
        program_scene(
            "nothing is held",
            _held,
            "what f computes on the way is free",
            "no_grad() around the first call; the rule may hold inputs, and not results.",
            2,
            SQUARE,
            says={"held": "tensors of the way that are held before backward"},
            slips=[
                Slip("missing", "What f computes on the way is still held", "no_grad() around the first call.", lambda x, w: {"held": 1})
            ],
        ),
        program_scene(
            "only weights learn",
            _weights_only,
            "an input without gradient stops nothing",
            "The result requires a gradient whenever something is recorded: f may use weights.",
            1,
            SQUARE,
            slips=[
                Slip(
                    "missing",
                    "Where no input needs a gradient nothing is recorded, and the weights that f uses receive none",
                    "Something is recorded whenever no_grad is not in force.",
                    lambda x, w: {"weight.grad": 0 * w},
                )
            ],
        ),
        program_scene(
            "several in a row", _chain, "one after the other", "Copies of the inputs are leaves: backward inside stops there.", 0.5, SQUARE
        ),
        program_scene(
            "one in another",
            _nested,
            "one within another",
            "While f runs again something must be recorded, also inside of backward.",
            0.5,
            SQUARE,
        ),
        program_scene(
            "several inputs",
            _two_inputs,
            "each input has its own gradient",
            "One gradient for each input, in their order.",
            0.5,
            SQUARE,
            says={"constant": "a constant has no grad"},
        ),
        program_scene(
            "no_grad",
            _unrecorded,
            "under no_grad it is f alone",
            "What does the result remember where nothing is recorded?",
            0.5,
            SQUARE,
            says={"recorded": "requires_grad of the result", "calls": "calls of f"},
            slips=[
                Slip(
                    "recorded",
                    "Under no_grad the result requires a gradient",
                    "Is anything being recorded? Ask before you set it.",
                    lambda x, w: {"recorded": True},
                )
            ],
        ),
    ),
)


def _ones_back(x, w) -> np.ndarray:
    t = np.tanh(x @ w)
    return (2 * t * (1 - t**2)) @ w.T + 1
