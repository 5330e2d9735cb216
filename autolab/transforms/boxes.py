"""What is asked of a tensor that may be in a box. The levels and their boxes are loaded with the first transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor


def created(t: Tensor) -> Tensor:
    """A tensor made inside transforms, in a box of each that is above it, so that results may be written into it.

    Only vmap leaves it as it is: all samples share it.
    """
    for level in modes.levels[t.level :]:
        t = level.constant(t)
    return t


def shaped(like: Any, size: tuple[int, ...], make: Callable[..., Tensor]) -> Any:
    """make(*size) in boxes as `like` is: inside vmap each sample gets its own."""
    if not like.level:
        return make(*size)
    with like.home.lowered():
        inner = shaped(like.value, like.home.size_below(size), make)
    return created(like.home.put(inner))


def in_vmap(t: Any) -> bool:
    """Whether a tensor stands for the samples of a batch, at any level."""
    while t.level:
        if t.home.batches:
            return True
        t = t.value
    return False


def first_sample(t: Any) -> Any:
    """The array of a tensor; inside vmap that of the first sample."""
    return t.payload.first() if in_vmap(t) else t.payload


def memory_owner(t: Any) -> Any:
    """The tensor outside of all transforms whose memory a tensor looks into."""
    while t.level or t.view_info is not None:
        link = getattr(t, "view_source", None)  # inside vmap a view knows its source this way
        t = link[1] if link is not None else t.view_info.base if t.view_info is not None else t.value
    return t
