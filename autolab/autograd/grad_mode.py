"""The gradient modes under the name where PyTorch keeps them, and switches for what is always so here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autolab.engine.modes import (
    enable_grad,
    inference_mode,
    is_inference_mode_enabled,
    modes,
    no_grad,
    set_grad_enabled,
)
from autolab.engine.tensor import Tensor

__all__ = [
    "enable_grad", "inference_mode", "is_inference", "is_inference_mode_enabled", "is_multithreading_enabled", "no_grad",
    "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


def is_inference(input: Tensor) -> bool:
    """True for a tensor made in inference mode."""
    return input.is_inference()


def is_multithreading_enabled() -> bool:
    """What set_multithreading_enabled said. A backward pass always runs in the thread that asked for it."""
    return modes.multithreading


class set_multithreading_enabled:
    """Whether a backward pass may use several threads; here it never does, so that this changes nothing but the answer."""

    def __init__(self, mode: bool) -> None:
        self.before = modes.multithreading
        self.mode = modes.multithreading = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.multithreading = self.before


@contextmanager
def _unsafe_preserve_version_counter(tensors: Tensor | Sequence[Tensor]) -> Iterator[Any]:
    """Within it, writes to these tensors are not noticed by graphs that saved them: for those who know what they do."""
    several = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    before = [t._version for t in several]
    try:
        yield
    finally:
        for t, version in zip(several, before):
            t.version[0] = version
