"""What random functions do inside vmap, where one call stands for all samples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.batched import Batch
from autolab.engine.levels import Box, created
from autolab.engine.modes import modes
from autolab.engine.tensor import TABLE, fresh
from autolab.surface.inplace import copy_


def sampled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws random numbers: under randomness="different" each sample gets those that a loop would give it.

    Drawing goes sample by sample, so that `vmap(f, randomness="different")` after a seed is the loop over f after the same seed.
    Under "same" the numbers are drawn once, so they cannot depend on what differs between samples.
    """
    writes, only_shape = function.__name__.endswith("_"), function.__name__.endswith("_like")

    @functools.wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if not modes.levels:
            return function(*args, **kwargs)
        level = next((level for level in reversed(modes.levels) if isinstance(level, Batch)), None)
        if level is None:
            return function(*args, **kwargs)
        level.before_random()
        args, given = tuple(below(level, a) for a in args), args
        kwargs = {name: below(level, a) for name, a in kwargs.items()}
        own = [level.owns(a) for a in (*args, *kwargs.values())]
        if level.randomness == "same":
            if any(own[1 if writes or only_shape else 0 :]):
                raise RuntimeError(
                    f"vmap: Cannot ask for same randomness for {function.__name__} when what it draws from differs between the samples. "
                    "Use randomness='different'."
                )
            return function(*given, **kwargs)
        if writes and not own[0]:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
                "If this is necessary for your usage, make the tensor for each sample: x.new_zeros(...)."
            )
        made = []
        with level.lowered():
            for k in range(level.size):
                first, *rest = [a.value[k] if level.owns(a) else a for a in args] or [None]
                one = [fresh(np.array(first.payload)) if writes else first, *rest] if args else []
                made.append(draw(*one, **{name: a.value[k] if level.owns(a) else a for name, a in kwargs.items()}))
        found = created(level.put(TABLE["stack"](*made, axis=-made[0].ndim - 1)))
        return copy_(given[0], found) if writes else found

    return draw


def below(level: Batch, a: Any) -> Any:
    """The value of a tensor for this level: numbers are drawn without regard to what is differentiated."""
    while isinstance(a, Box) and a.level > level.number:
        a = a.value
    return a
