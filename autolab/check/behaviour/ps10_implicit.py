"""Problem set 10: backward through a fixed point, by a linear system and by products alone, and back along a path of many steps."""

from __future__ import annotations

import numpy as np

from autolab.autograd import grad
from autolab.torch_api.creation import from_numpy

from .scenes import Behaviour, Data, Scene, Slip, arrays, leaf_tensor


def _gradients(cls, inputs, g, *settings) -> list:
    """The gradients of the sum of g times the result of cls, for each of two inputs."""
    leaves = [leaf_tensor(a) for a in inputs]
    out = (cls.apply(*leaves, *settings) * from_numpy(g)).sum()
    return [
        np.zeros(a.shape) if d is None else d.detach().numpy() for a, d in zip(inputs, grad(out, leaves, allow_unused=True), strict=True)
    ]


# -- a fixed point -----------------------------------------------------------------------------------


def _contracting(w, b) -> tuple:
    """Such a matrix and a vector, from any."""
    return 0.7 * w / np.linalg.norm(w, 2), 0.3 * b


def _solution(w, b) -> np.ndarray:
    x = np.zeros_like(b)
    for _ in range(400):
        x = np.tanh(w @ x + b)
    return x


def _fixed(w, b, g, way="") -> dict:
    """Both gradients, right or with a mistake."""
    w, b = _contracting(w, b)
    x = _solution(w, b)
    s = 1 - x * x
    j, eye = s[:, None] * w, np.eye(len(b))
    if way == "columns":
        j = s * w
    system = {"transposed": eye - j, "unsolved": eye, "sign": (eye + j).T, "no slope": (eye - w).T}.get(way, (eye - j).T)
    u = np.linalg.solve(system, g)
    b_bar = u if way == "factor" else s * u
    return {"w": np.outer(x, b_bar) if way == "turned" else np.outer(b_bar, x), "b": b_bar}


def _fixed_slips(x):
    return [
        Slip(family, text, hint, lambda w, b, g, way=way: {x: _fixed(w, b, g, way)[x]}) for family, way, text, hint in (
            ("transposed", "transposed", "The system is solved without a transpose", "In backward, the Jacobian's transpose takes g back."),
            ("term", "unsolved", "Only the last iteration is differentiated: no system is solved", "x is on both sides."),
            ("factor", "factor", "The slope s of tanh is missing after the system", "Both dW x and db are inside the tanh."),
            ("factor", "no slope", "The slope s of tanh is missing in the system", "W dx is inside the tanh."),
            ("sign", "sign", "The system has I + J, where the equation gives I - J", "Bring dx to one side: what is its sign there?"),
            ("axis", "columns", "The slope multiplies the columns of W, not its rows", "Entry i of W x is multiplied by s[i]."),
            ("transposed", "turned", "The gradient for w is transposed", "W[i, j] multiplies x[j] and goes into entry i."),
        ) if x == "w" or way != "turned"
    ]  # fmt: skip


def _fixed_scene(x, points):
    return Scene(
        f"gradient for {x}", lambda cls, w, b, g: {x: dict(zip("wb", _gradients(cls, _contracting(w, b), g), strict=True))[x]},
        lambda w, b, g: {x: _fixed(w, b, g)[x]}, "by one linear system", "Take the differential of the equation at the result.",
        points, arrays((4, 4), (4,), (4,)), slips=_fixed_slips(x), rtol=1e-7,
    )  # fmt: skip


FIXED = Behaviour("fixed_point", (
    Scene("forward", lambda cls, w, b: {"x": cls.apply(*map(from_numpy, _contracting(w, b)))},
          lambda w, b: {"x": _solution(*_contracting(w, b))},
          "a fixed point", "Call iterate, and return what it gives.", 1, arrays((4, 4), (4,)), rtol=1e-7),
    _fixed_scene("b", 4), _fixed_scene("w", 3),
))  # fmt: skip


# -- a path ------------------------------------------------------------------------------------------

STEPS, H = 4, 0.3


def _states(a, y) -> list:
    states = [y]
    for _ in range(STEPS):
        states.append(states[-1] + H * np.tanh(a @ states[-1]))
    return states


def _swept(a, y, g, way="") -> dict:
    """Both gradients by one sweep back, right or with a mistake."""
    a_bar, states = np.zeros_like(a), _states(a, y)
    for state in {"order": states[:-1], "late": states[:0:-1]}.get(way, states[-2::-1]):
        d = (1 if way == "scale" else H) * (1 if way == "slope" else 1 - np.tanh(a @ state) ** 2) * g
        a_bar = np.outer(d, state) + (0 if way == "one of many" else a_bar)
        g = (0 if way == "term" else g) + (a if way == "transposed" else a.T) @ d
    return {"a": a_bar.T if way == "turned" else a_bar, "y": g}


def _sweep_slips(x):
    return [
        Slip(family, text, hint, lambda a, y, g, way=way: {x: _swept(a, y, g, way)[x]}) for family, way, text, hint in (
            ("one of many", "one of many", "Each step replaces what the others gave to a", "A takes part in every step."),
            ("term", "term", "The gradient goes back through tanh only", "How many times is y_k used in its step?"),
            ("transposed", "transposed", "The gradient is sent back by A and not by its transpose", "Forward multiplies by A; backward?"),
            ("scale", "scale", "The step length h is missing", "By what is tanh multiplied in a step?"),
            ("factor", "slope", "The slope of tanh is missing", "What is the derivative of tanh?"),
            ("order", "order", "The steps are taken in the order of forward", "Which step does the gradient reach first?"),
            ("variable", "late", "Each step uses the state after it, not the state before it", "Which state went into the tanh?"),
            ("transposed", "turned", "The gradient for a is transposed", "A[i, j] multiplies y[j] and goes into entry i."),
        ) if x == "a" or way not in ("turned", "one of many")
    ]  # fmt: skip


def _sweep_scene(x, points):
    return Scene(
        f"gradient for {x}", lambda cls, a, y, g: {x: dict(zip("ay", _gradients(cls, (a, y), g, STEPS, H), strict=True))[x]},
        lambda a, y, g: {x: _swept(a, y, g)[x]}, "by one sweep back", "Write the sweep for one step, then for two.",
        points, arrays((4, 4), (4,), (4,)), slips=_sweep_slips(x),
    )  # fmt: skip


EULER = Behaviour("euler", (
    Scene("forward", lambda cls, a, y: {"y": cls.apply(from_numpy(a), from_numpy(y), STEPS, H)}, lambda a, y: {"y": _states(a, y)[-1]},
          "the last state", "Take two steps by hand.", 1, arrays((4, 4), (4,)), slips=[
              Slip("count", "There is one step too few", "Four steps, five states.", lambda a, y: {"y": _states(a, y)[-2]})]),
    _sweep_scene("y", 3), _sweep_scene("a", 4),
))  # fmt: skip


# -- a series ----------------------------------------------------------------------------------------


class _Product:
    """u -> Jᵀ u, which counts its calls."""

    def __init__(self, j):
        self.j, self.calls = 0.3 * j, 0

    def __call__(self, u):
        self.calls += 1
        return self.j.T @ u


def _sum(j, g, terms, first=0) -> np.ndarray:
    total, power = np.zeros_like(g), g
    for k in range(terms + first):
        total = total + power * (k >= first)
        power = 0.3 * j.T @ power
    return total


def _value(terms):
    return lambda f, j, g: {"sum": f(_Product(j), g, terms)}


def _calls(f, j, g) -> Data:
    product = _Product(j)
    f(product, g, 5)
    return {"calls": product.calls}


def _closes(f, j, g) -> Data:
    j = j / np.linalg.norm(j, 2)
    u = np.asarray(f(_Product(j), g, 60))
    return {"rest": u - 0.3 * j.T @ u}


FEW = [
    Slip("term", "The first term, g itself, is missing", "Write the sum for two terms by hand.", lambda j, g: {"sum": _sum(j, g, 4, 1)}),
    Slip("accumulation", "Only the last term is returned; the terms before it are lost", "A sum needs a place to add up in.",
         lambda j, g: {"sum": _sum(j, g, 1, 3)}),
    Slip("term", "Only the first and the last term are there", "Keep the last term and the sum apart.",
         lambda j, g: {"sum": g + _sum(j, g, 1, 3)}),
    Slip("count", "There is one term too many", "One term is g, without any product.", lambda j, g: {"sum": _sum(j, g, 5)}),
    Slip("count", "There is one term too few", "The terms are numbered from 0.", lambda j, g: {"sum": _sum(j, g, 3)}),
    Slip("sign", "The terms have alternating signs: that is the series of the inverse of I + J", "The system has I - J.",
         lambda j, g: {"sum": g - 0.3 * j.T @ g + 0.09 * j.T @ (j.T @ g) - 0.027 * j.T @ (j.T @ (j.T @ g))}),
    Slip("upstream only", "No product was taken: this is g", "Each later term comes from the one before.", lambda j, g: {"sum": g}),
    Slip("averaged", "The terms are averaged", "The terms add up.", lambda j, g: {"sum": _sum(j, g, 4) / 4}),
    Slip("constant", "Every term is g itself: the product is not used", "Follow two terms by hand.", lambda j, g: {"sum": 4 * g}),
]  # fmt: skip
NEUMANN = Behaviour("neumann", (
    Scene("four terms", _value(4), lambda j, g: {"sum": _sum(j, g, 4)}, "g and three products", "Each term is made from the one before.",
          3, arrays((4, 4), (4,)), slips=FEW),
    Scene("one term", _value(1), lambda j, g: {"sum": g}, "one term is g alone", "The first needs no product.", 1, arrays((4, 4), (4,)),
          slips=[Slip("term", "One term gives 0, or a product; it is g", "The first term needs no product.", lambda j, g: {"sum": 0 * g})]),
    Scene("calls", _calls, lambda j, g: {"calls": 4}, "one product for each further term", "Each costs one product: keep it.",
          1, arrays((4, 4), (4,)), slips=[
              Slip("count", "Every term is computed from the beginning", "Keep the last term, and multiply it once more.",
                   lambda j, g: {"calls": 10}),
              Slip("count", "One product is not used", "Count the terms: the first needs no product.", lambda j, g: {"calls": 5})]),
    Scene("many terms", _closes, lambda j, g: {"rest": g}, "sixty terms solve the system", "u - Jᵀ u should be g.", 2, arrays((4, 4), (4,)),
          rtol=1e-8),
))  # fmt: skip

IMPLICIT = (FIXED, NEUMANN, EULER)
