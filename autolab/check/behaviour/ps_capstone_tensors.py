"""The capstone, milestone 2: an engine for arrays that broadcast."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np

from .live_module import numbers
from .ps6_engine import usual_limit
from .ps_capstone_scalars import DOUBLINGS, LONG
from .ps_capstone_scene import program_scene, send, upstream, written
from .scenes import Behaviour, Data, Slip, UnexpectedResult, arrays, error_name


def _operations(engine, x, y, m) -> dict[str, Any]:
    return {
        "x + y": lambda: x + y, "x * y": lambda: x * y, "x - y": lambda: x - y, "x / y": lambda: x / y, "x ** 3": lambda: x**3,
        "x @ m": lambda: x @ m, "x.sum(0)": lambda: x.sum(0), "x.sum(1, True)": lambda: x.sum(1, True), "x.mean(1)": lambda: x.mean(1),
        "x.reshape(5, 3)": lambda: x.reshape(5, 3), "x.transpose(0, 1)": lambda: x.transpose(0, 1), "x[1]": lambda: x[1],
        "x[:, 1:3]": lambda: x[:, 1:3], "y.exp()": lambda: y.exp(), "y.log()": lambda: y.log(), "x.tanh()": lambda: x.tanh(),
        "x.relu()": lambda: x.relu(),
    }  # fmt: skip


def _three(engine, x, y, m) -> tuple:
    return tuple(engine.Tensor(array, requires_grad=True) for array in (x, np.abs(y) + 0.3, m))


def _values(engine, x, y, m) -> Data:
    return {name: numbers(written(name, f)) for name, f in _operations(engine, *_three(engine, x, y, m)).items()}


def _gradients(engine, x, y, m) -> Data:
    found = {}
    for name in _operations(engine, None, None, None):
        leaves = _three(engine, x, y, m)
        send(engine, written(name, _operations(engine, *leaves)[name]))
        for label, leaf in zip("xym", leaves, strict=True):
            if leaf.grad is not None:
                found[f"{name}, {label}"] = numbers(leaf.grad)
    return found


def _broadcast(engine, x, row, column) -> Data:
    found = {}
    for name, f in {"x + row": lambda a, b: a + b, "x * row": lambda a, b: a * b, "x / row": lambda a, b: a / b}.items():
        a, b = engine.Tensor(x, requires_grad=True), engine.Tensor(np.abs(row) + 0.3, requires_grad=True)
        send(engine, f(a, b))
        found[f"{name}, row"], found[f"{name}, x"] = numbers(b.grad), numbers(a.grad)
    a, b = engine.Tensor(row, requires_grad=True), engine.Tensor(column, requires_grad=True)
    send(engine, a * b)
    found["row * column, row"], found["row * column, column"] = numbers(a.grad), numbers(b.grad)
    one = engine.Tensor(1.5, requires_grad=True)
    send(engine, engine.Tensor(x) * one)
    found["x * number, number"] = numbers(one.grad)
    return found


def _plain_operands(engine, x) -> Data:
    found = {}
    for name, f in {"2 - a": lambda a: 2 - a, "2 / a": lambda a: 2 / a, "array * a": lambda a: np.array([1.0, 2.0, 4.0]) * a,
                    "a - array": lambda a: a - np.array([1.0, 2.0, 4.0]), "-a": lambda a: -a}.items():  # fmt: skip
        a = engine.Tensor(np.abs(x) + 0.3, requires_grad=True)
        out = f(a)
        if isinstance(out, np.ndarray):
            raise UnexpectedResult(f"{name} is an array, expected a tensor: the array was asked first")
        send(engine, out)
        found[name], found[f"{name}, a"] = numbers(out), numbers(a.grad)
    return found


def _batched(engine, x, m, n) -> Data:
    found = {}
    for name, right in {"shared": m, "batched": n}.items():
        a, b = engine.Tensor(x, requires_grad=True), engine.Tensor(right, requires_grad=True)
        out = a @ b
        send(engine, out)
        found[f"{name} product"], found[f"{name}, left"], found[f"{name}, right"] = numbers(out), numbers(a.grad), numbers(b.grad)
    return found


INDEX = np.array([2, 0, 2, 2])


def _rows(engine, x) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    send(engine, a[INDEX])
    b = engine.Tensor(x, requires_grad=True)
    send(engine, b[np.arange(3), np.array([1, 1, 0])])
    return {"rows": numbers(a.grad), "entries": numbers(b.grad)}


def _rows_once(x) -> Data:
    g = np.zeros(x.shape)
    g[INDEX] = upstream((4, x.shape[1]))
    return {"rows": g}


def _reuse(engine, x) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    c = a * a
    e = a + c
    (e * c).sum().backward()
    return {"a": numbers(a.grad)}


def _two_passes(engine, x, y) -> Data:
    a, b = engine.Tensor(x, requires_grad=True), engine.Tensor(y, requires_grad=True)
    (a + b).sum().backward()
    first = np.array(numbers(b.grad))
    (a * a).sum().backward()
    return {"a": numbers(a.grad), "b": numbers(b.grad), "b before": first, "changed": bool(np.any(numbers(a) != x))}


def _no_grad(engine, x) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    with engine.no_grad():
        inside = a * 2
    try:
        with engine.no_grad():
            raise KeyError("on purpose")
    except KeyError:
        outside = (a * 3).sum()
    if outside.requires_grad:
        outside.backward()
    constant = engine.Tensor(x)
    return {"inside": bool(inside.requires_grad), "after an error": bool(outside.requires_grad), "constant": (constant * 2).requires_grad,
            "no gradient": constant.grad is None, "a": 0 * x if a.grad is None else numbers(a.grad)}  # fmt: skip


def _long(engine, x) -> Data:
    with usual_limit():
        a = engine.Tensor(x, requires_grad=True)
        out = a
        for _ in range(LONG):
            out = out * 1.0
        for _ in range(DOUBLINGS):
            out = (out + out) * 0.5
        out.sum().backward()
    return {"a": numbers(a.grad)}


def _let_go(engine, x) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    middle = a.exp()
    out = middle.sum()
    watched = weakref.ref(middle)
    del middle
    out.backward()
    gc.collect()
    return {"held": watched() is not None, "again": error_name(out.backward)}


def _one_number(engine, x, g) -> Data:
    a = engine.Tensor(x, requires_grad=True)
    raised = error_name((a * 2).backward)
    b = engine.Tensor(x, requires_grad=True)
    (b * 2).backward(engine.Tensor(g))
    return {"raises": raised, "b": numbers(b.grad)}


SUMMED = "The gradient has the shape of the result: it is not summed over the axes along which the operand was stretched"
TENSORS = Behaviour(
    "capstone_tensors",
    (
        program_scene("values", _values, "every operation has its result", "Compare with NumPy.", 1, arrays((3, 5), (3, 5), (5, 2))),
        program_scene(
            "gradients",
            _gradients,
            "every operation has its gradients",
            "Which formula gives each entry? Check one with a nudge of 0.01.",
            4,
            arrays((3, 5), (3, 5), (5, 2)),
            slips=[
                Slip(
                    "upstream ignored",
                    "The gradient that comes in is not passed on",
                    "What does the rule get as g?",
                    lambda x, y, m: {"x * y, x": np.abs(y) + 0.3},
                ),
                Slip(
                    "swapped",
                    "Each factor of a product receives its own value; it should receive the other's",
                    "Nudge one factor.",
                    lambda x, y, m: {"x * y, x": upstream(x.shape) * x},
                ),
                Slip(
                    "sign",
                    "The second operand of a difference has the wrong sign",
                    "Nudge y: where does x - y move?",
                    lambda x, y, m: {"x - y, y": upstream(x.shape)},
                ),
                Slip(
                    "not spread",
                    "The gradient of a sum does not have the shape of what was summed",
                    "Each summand moves the sum as far as it moves itself.",
                    lambda x, y, m: {"x.sum(0), x": upstream((5,))},
                ),
                Slip(
                    "constant",
                    "A mean sends back what a sum sends",
                    "How far does the mean of 5 numbers move if one of them moves by 0.01?",
                    lambda x, y, m: {"x.mean(1), x": np.broadcast_to(upstream((3,))[:, None], (3, 5))},
                ),
                Slip(
                    "power",
                    "The result is not squared in the derivative of tanh",
                    "1 minus what?",
                    lambda x, y, m: {"x.tanh(), x": upstream(x.shape) * (1 - np.tanh(x))},
                ),
                Slip(
                    "mask",
                    "The derivative of relu lets everything through",
                    "Nudge a negative number: how far does its relu move?",
                    lambda x, y, m: {"x.relu(), x": upstream(x.shape)},
                ),
                Slip(
                    "forward",
                    "The derivative of exp is taken at the result",
                    "exp has been applied once already.",
                    lambda x, y, m: {"y.exp(), y": upstream(y.shape) * np.exp(np.exp(np.abs(y) + 0.3))},
                ),
            ],
        ),
        program_scene(
            "broadcasting",
            _broadcast,
            "what was stretched is summed",
            "Every copy of a stretched operand has a gradient of its own: what happens to them?",
            3,
            arrays((3, 5), (5,), (3, 1)),
            slips=[
                Slip(
                    "not summed",
                    SUMMED,
                    "Every copy of a stretched operand has a gradient of its own.",
                    lambda x, row, column: {"x + row, row": upstream((3, 5))},
                ),
                Slip(
                    "not summed",
                    "An axis of size 1 that was stretched is not summed",
                    "(3, 1) is stretched along its second axis.",
                    lambda x, row, column: {"row * column, column": upstream((3, 5)) * row},
                ),
                Slip(
                    "averaged",
                    "The gradients of the copies are averaged; they add up",
                    "Nudge one entry of row: it moves 3 entries of the result.",
                    lambda x, row, column: {"x + row, row": upstream((3, 5)).mean(axis=0)},
                ),
                Slip(
                    "one of many",
                    "Of the gradients of the copies only one is taken",
                    "Nudge one entry of row: it moves 3 entries of the result.",
                    lambda x, row, column: {"x + row, row": upstream((3, 5))[0]},
                ),
            ],
        ),
        program_scene(
            "plain operands",
            _plain_operands,
            "numbers and arrays may be operands",
            "array * tensor asks the array first, unless the class has __array_ufunc__ = None.",
            1,
            arrays((3,)),
        ),
        program_scene(
            "matrices in batches",
            _batched,
            "products of batches",
            "g @ other.T for matrices; which axes does .T swap in a batch, and which were stretched?",
            1.5,
            arrays((2, 3, 4), (4, 5), (2, 4, 5)),
            slips=[
                Slip(
                    "not summed",
                    "A matrix that all of a batch shares receives a gradient for each; they are not summed",
                    "The matrix was stretched along the batch.",
                    lambda x, m, n: {"shared, right": np.swapaxes(x, 1, 2) @ upstream((2, 3, 5))},
                )
            ],
        ),
        program_scene(
            "rows picked more than once",
            _rows,
            "what is picked twice receives both",
            "Row 2 is there three times: np.add.at adds, assignment does not.",
            1,
            arrays((3, 4)),
            slips=[
                Slip(
                    "overwritten",
                    "A row that is picked several times receives one of its gradients only",
                    "g[index] += ... adds once for each row; np.add.at adds for each place.",
                    _rows_once,
                )
            ],
        ),
        program_scene(
            "a tensor that has to wait",
            _reuse,
            "contributions add up, and are complete before they are passed on",
            "c is used by e and by the product: the newest tensor first is an order that works.",
            1,
            arrays((4,)),
            says={"a": "a.grad"},
            slips=[
                Slip(
                    "order",
                    "A tensor passes its gradient on before all of it has arrived",
                    "The newest tensor first is an order that works.",
                    lambda x, k=k: {"a": k(x)},
                )
                for k in (
                    lambda x: x**2 + 2 * x * (x + x**2),
                    lambda x: 2 * x * (x + x**2),
                    lambda x: x**2 + 2 * x * (x + 2 * x**2) + 2 * x * (x + x**2),
                )
            ],
        ),
        program_scene(
            "two passes",
            _two_passes,
            "leaves collect, and nothing else is written into",
            "leaf.grad = leaf.grad + g makes a new array; += writes into one that another leaf may hold.",
            1,
            arrays((4,), (4,)),
            says={"a": "a.grad", "b": "b.grad", "b before": "b.grad before the second pass", "changed": "the numbers of a changed"},
            slips=[
                Slip(
                    "overwritten",
                    "The second pass replaces the gradient of a leaf instead of adding to it",
                    "Who empties x.grad in PyTorch?",
                    lambda x, y: {"a": 2 * x},
                ),
                Slip(
                    "mutation",
                    "The second pass adds into an array that another leaf holds as well",
                    "leaf.grad = leaf.grad + g makes a new array.",
                    lambda x, y: {"b": 1 + 2 * x},
                ),
            ],
        ),
        program_scene(
            "no_grad",
            _no_grad,
            "nothing is recorded in the block, and everything after it",
            "A try with finally restores what was there before, also after an error.",
            1,
            arrays((3,)),
            says={
                "inside": "requires_grad inside the block",
                "after an error": "requires_grad after a block that an error ended",
                "a": "a.grad",
            },
            slips=[
                Slip(
                    "missing", "The block records", "What does the operation ask before it keeps its parents?", lambda x: {"inside": True}
                ),
                Slip(
                    "missing",
                    "After a block that an error ended nothing is recorded any more",
                    "try: yield; finally: restore.",
                    lambda x: {"after an error": False},
                ),
            ],
        ),
        program_scene(
            "the graph is let go",
            _let_go,
            "what backward has used is free",
            "After the pass, forget parents and rules; a rule that says so can take their place.",
            1,
            says={"held": "the tensor in the middle is still held", "again": "a second backward raises"},
            inputs=arrays((3,)),
            slips=[
                Slip(
                    "missing",
                    "After backward the graph is still held: arrays of a whole step stay in memory with the loss",
                    "Forget parents and rules of each tensor when its rule has run.",
                    lambda x: {"held": True},
                )
            ],
        ),
        program_scene(
            "more than one entry",
            _one_number,
            "backward asks for a gradient where it cannot know it",
            "For which outputs is 1 the gradient of the output?",
            0.5,
            arrays((3,), (3,)),
            says={"raises": "backward of three numbers raises", "b": "b.grad"},
        ),
        program_scene(
            "long and wide",
            _long,
            "each tensor is visited once, and nothing calls itself for each",
            "Keep a list of what is still to do, and a set of what has been seen.",
            1,
            arrays((3,)),
            says={"a": "a.grad"},
        ),
    ),
)
