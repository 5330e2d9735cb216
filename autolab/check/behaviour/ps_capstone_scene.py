"""A scene of the capstone is a program: it runs on the learner's engine and on autolab's, and both must come to the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .autolab_engine import AUTOLAB
from .live_module import engine_of, numbers
from .scenes import Data, Scene, Slip, UnexpectedResult


def program_scene(
    name: str, program: Callable[..., Data], passed: str, hint: str, points: float, inputs: Any = lambda rng: (),
    slips: Sequence[Slip] = (), says: Mapping[str, str] | None = None, rtol: float = 1e-9,
) -> Scene:  # fmt: skip
    """A scene whose expected result is that of autolab's own engine."""
    return Scene(
        name, lambda candidate, *arrays: program(engine_of(candidate), *arrays), lambda *arrays: program(AUTOLAB, *arrays),
        passed, hint, points, inputs, slips, says or {}, rtol,
    )  # fmt: skip


def weighted(engine, out) -> Any:
    """One number from a tensor, such that each entry has another gradient."""
    return (out * engine.Tensor(np.random.default_rng(3).uniform(0.5, 2, np.shape(numbers(out))))).sum()


def send(engine, out) -> None:
    """Call backward with another gradient for each entry, that of `upstream`."""
    out.backward(engine.Tensor(upstream(np.shape(numbers(out)))))


def written(name: str, operation: Callable[[], Any]) -> Any:
    """What an operation gives. While some are written and others are not, the first that is not is named."""
    try:
        return operation()
    except NotImplementedError:
        raise UnexpectedResult(f"{name} is not written yet") from None


def parameters_of(model, count: int) -> list:
    """The parameters of a model, of which there are so many."""
    found = list(model.parameters())
    if len(found) != count:
        raise UnexpectedResult(f"parameters() has {len(found)} entries, expected {count}: weight and bias of each layer that has them")
    return found


def upstream(shape: tuple[int, ...]) -> np.ndarray:
    """The gradient that `send` and `weighted` give a tensor of this shape."""
    return np.random.default_rng(3).uniform(0.5, 2, shape)
