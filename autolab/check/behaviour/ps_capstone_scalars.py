"""The capstone, milestone 1: an engine for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..run.inputs import draw
from .live_module import numbers
from .ps6_engine import usual_limit
from .ps_capstone_scene import program_scene, written
from .scenes import Behaviour, Data, Slip, arrays

LONG = 1500  # operations in a row; Python's own limit of calls within calls is 1000
DOUBLINGS = 60  # 2 ** 60 ways lead back from the last one


def _floats(n: int, low: float = 0.3, high: float = 1.7):
    return lambda rng: tuple(draw(rng, (), low, high) for _ in range(n))


def _number(value: Any) -> Any:
    """What a gradient of one number is; 0 where nothing has arrived, in a tensor of autolab's."""
    return 0.0 if value is None else numbers(value)


def _scalar_operations(a: Any, b: Any) -> dict[str, Callable[[], Any]]:
    return {
        "a + b": lambda: a + b, "a * b": lambda: a * b, "a - b": lambda: a - b, "a ** 3": lambda: a**3, "a / b": lambda: a / b,
        "a.exp()": lambda: a.exp(), "a.log()": lambda: a.log(), "a.tanh()": lambda: a.tanh(), "a.relu()": lambda: a.relu(),
        "(-a).relu()": lambda: (-a).relu(),
    }  # fmt: skip


def _scalar_values(engine, x, y) -> Data:
    operations = _scalar_operations(engine.Value(float(x)), engine.Value(float(y)))
    return {name: numbers(written(name, f).data) for name, f in operations.items()}


def _scalar_gradients(engine, x, y) -> Data:
    found = {}
    for name in _scalar_operations(None, None):
        a, b = engine.Value(float(x)), engine.Value(float(y))
        out = written(name, _scalar_operations(a, b)[name])
        out.backward()
        found[name] = [_number(a.grad), _number(b.grad)]
    zero = engine.Value(0.0)
    written("a.relu()", zero.relu).backward()
    return {**found, "a.relu() at 0": [_number(zero.grad)]}


def _scalar_mixed(engine, x) -> Data:
    found = {}
    for name, f in {"2 + a": lambda a: 2 + a, "3 * a": lambda a: 3 * a, "2 - a": lambda a: 2 - a, "2 / a": lambda a: 2 / a,
                    "a - 2": lambda a: a - 2, "a / 4": lambda a: a / 4}.items():  # fmt: skip
        a = engine.Value(float(x))
        out = f(a)
        out.backward()
        found[name] = [numbers(out.data), numbers(a.grad)]
    return found


def _scalar_reuse(engine, x, y) -> Data:
    a, b = engine.Value(float(x)), engine.Value(float(y))
    (a * a + a * b + a).backward()
    return {"a": numbers(a.grad), "b": numbers(b.grad)}


def _scalar_late(engine, x, y) -> Data:
    a, b = engine.Value(float(x)), engine.Value(float(y))
    c = a * b
    e = a + c
    (e * c).backward()
    return {"a": numbers(a.grad), "b": numbers(b.grad)}


def _scalar_twice(engine, x) -> Data:
    a = engine.Value(float(x))
    (a * 3).backward()
    (a * a).backward()
    b = engine.Value(float(x))
    shared = b + 3
    (shared * 2).backward()
    (shared * shared).backward()
    return {"a": numbers(a.grad), "b": numbers(b.grad)}


def _scalar_long(engine) -> Data:
    with usual_limit():
        a = engine.Value(1.0)
        out = a
        for _ in range(LONG):
            out = out + 1.0
        out.backward()
    return {"a": numbers(a.grad)}


def _scalar_many_ways(engine) -> Data:
    a = engine.Value(1.0)
    out = a
    for _ in range(DOUBLINGS):
        out = out + out
    (out * 2.0**-DOUBLINGS).backward()
    return {"a": numbers(a.grad)}


def _perceptron(engine, points, w) -> Data:
    """Rosenblatt's rule is a step downhill on relu(-side * score)."""
    weights, mistakes = [engine.Value(float(number)) for number in w], []
    for _ in range(4):
        mistakes.append(0)
        for x, y in points:
            side = 1.0 if x + 2 * y > 0.5 else -1.0
            score = weights[0] * float(x) + weights[1] * float(y) + weights[2]
            loss = (score * -side).relu()
            loss.backward()
            mistakes[-1] += float(numbers(loss.data)) > 0
            weights = [engine.Value(float(numbers(v.data)) - 0.5 * float(_number(v.grad))) for v in weights]
    return {"weights": [numbers(v.data) for v in weights], "mistakes": mistakes}


GRADS = {"a": "a.grad", "b": "b.grad"}
SCALARS = Behaviour(
    "capstone_scalars",
    (
        program_scene(
            "values",
            _scalar_values,
            "every operation has its result",
            "Compare one line with a pocket calculator. -a is a * -1, so * has to take a plain number, too.",
            1,
            _floats(2),
        ),
        program_scene(
            "one operation",
            _scalar_gradients,
            "every operation has its derivatives",
            "Nudge one operand by 0.01: how far does the result move?",
            2,
            _floats(2),
            slips=[
                Slip(
                    "swapped",
                    "Each factor of a product receives its own value; it should receive the other's",
                    "Nudge a by 0.01: how far does a * b move?",
                    lambda x, y: {"a * b": [x, y]},
                ),
                Slip("factor", "The exponent does not come down", "What is the derivative of a ** 3?", lambda x, y: {"a ** 3": [x**2, 0]}),
                Slip("power", "The exponent stays as it was", "What is the derivative of a ** 3?", lambda x, y: {"a ** 3": [3 * x**3, 0]}),
                Slip(
                    "forward",
                    "The derivative of exp is taken at the result",
                    "exp has been applied once already.",
                    lambda x, y: {"a.exp()": [np.exp(np.exp(x)), 0]},
                ),
                Slip(
                    "forward",
                    "The derivative of log is the logarithm",
                    "How fast does log grow at a = 1, and at a = 10?",
                    lambda x, y: {"a.log()": [np.log(x), 0]},
                ),
                Slip(
                    "power",
                    "The result is not squared in the derivative of tanh",
                    "1 minus what?",
                    lambda x, y: {"a.tanh()": [1 - np.tanh(x), 0]},
                ),
                Slip(
                    "variable",
                    "The derivative of tanh uses a where the result belongs",
                    "1 minus the square of what?",
                    lambda x, y: {"a.tanh()": [1 - x**2, 0]},
                ),
                Slip(
                    "upstream ignored",
                    "Operands receive the local derivative alone; the gradient of the result is not multiplied in",
                    "The chain rule has two factors.",
                    lambda x, y: {"a / b": [1 / y, -1 / y**2], "(-a).relu()": [-1, 0]},
                ),
                Slip(
                    "order",
                    "Gradients do not get past the last operation: backward goes through the values from the wrong end",
                    "A value can pass on only what it has received: which value has received its gradient when backward begins?",
                    lambda x, y: {"a + b": [1, 1], "a - b": [1, 0], "a / b": [1 / y, 0]},
                ),
                Slip(
                    "mask",
                    "The derivative of relu lets everything through",
                    "Nudge a negative number: how far does its relu move?",
                    lambda x, y: {"(-a).relu()": [-1, 0]},
                ),
                Slip(
                    "mask",
                    "The derivative of relu at 0 is 1, and should be 0",
                    "On which side of the comparison is 0?",
                    lambda x, y: {"(-a).relu()": [0, 0], "a.relu() at 0": [1]},
                ),
                Slip(
                    "upstream ignored",
                    "backward starts with something other than 1, or sends nothing back",
                    "How far does a result move if it moves by 0.01 itself?",
                    lambda x, y: {"a + b": [0, 0]},
                ),
            ],
        ),
        program_scene(
            "numbers on either side",
            _scalar_mixed,
            "a plain number may be an operand",
            "Make a Value of a number when it comes in; 2 - a calls a.__rsub__(2).",
            1,
            _floats(1),
            slips=[
                Slip("sign", "2 - a gives a - 2", "a.__rsub__(2) is 2 - a: which of them is self?", lambda x: {"2 - a": [x - 2, 1]}),
                Slip(
                    "swapped", "2 / a gives a / 2", "a.__rtruediv__(2) is 2 / a: which of them is self?", lambda x: {"2 / a": [x / 2, 0.5]}
                ),
            ],
        ),
        program_scene(
            "a value used several times",
            _scalar_reuse,
            "contributions add up",
            "a is used by a * a twice, by a * b, and by the last sum.",
            1.25,
            _floats(2),
            says=GRADS,
            slips=[
                Slip(
                    "overwritten",
                    "Of several contributions to one value only the last counts: it is assigned (=) and not added (+=)",
                    "What does the chain rule do with a value that has two users?",
                    lambda x, y, k=k: {"a": k(x, y)},
                )
                for k in (lambda x, y: x, lambda x, y: y, lambda x, y: 1.0 + 0 * x)
            ],
        ),
        program_scene(
            "a value that has to wait",
            _scalar_late,
            "a value passes its gradient on when all of it has arrived",
            "c = a * b is used by e = a + c and by e * c: it has to wait for e.",
            1.25,
            _floats(2),
            says=GRADS,
            slips=[
                Slip(
                    "order",
                    "c passes its gradient on before that from e has arrived",
                    "Every value comes after all that use it: a topological order.",
                    lambda x, y, k=k: {"b": k(x, y)},
                )
                for k in (lambda x, y: x * (x + x * y), lambda x, y: x * (2 * x * y + x) + x * (x + x * y), lambda x, y: x * x * y)
            ],
        ),
        program_scene(
            "two backward calls",
            _scalar_twice,
            "an input adds up what several calls send",
            "Who empties x.grad in PyTorch?",
            0.75,
            _floats(1),
            says=GRADS,
            slips=[
                Slip(
                    "overwritten",
                    "The second call replaces the gradient of an input instead of adding to it",
                    "Who empties x.grad in PyTorch?",
                    lambda x: {"a": 2 * x},
                ),
                Slip(
                    "accumulation",
                    "A value that two results share still has the gradient of the first call, and sends it on again in the second",
                    "An input collects from call to call. Should a value in the middle?",
                    lambda x: {"a": 3 + 2 * x, "b": 4 + 2 * (x + 3)},
                ),
            ],
        ),
        program_scene(
            "a long chain",
            _scalar_long,
            f"{LONG} operations in a row are no problem",
            "A function that calls itself for each value stops at Python's limit; keep a list of what is still to do.",
            1.25,
            says=GRADS,
        ),
        program_scene(
            "a perceptron",
            _perceptron,
            "a perceptron learns with it, as in 1958",
            "One step is w - 0.5 * w.grad, on new values each time.",
            1,
            arrays((8, 2), (3,)),
        ),
        program_scene(
            "many ways",
            _scalar_many_ways,
            "each value is visited once, however many ways lead to it",
            "Remember which values you have been to.",
            0.5,
            says=GRADS,
        ),
    ),
)
