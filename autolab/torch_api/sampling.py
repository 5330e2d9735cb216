"""What random functions do inside vmap, where one call stands for all samples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.modes import modes
from autolab.engine.tensor import TABLE, new_tensor
from autolab.torch_api.inplace import copy_
from autolab.transforms.batched import Batch, loops
from autolab.transforms.boxes import created
from autolab.transforms.level import TransformTensor


def sampled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws random numbers: under randomness="different" each sample gets those that a loop would give it.

    Drawing goes sample by sample, the outer batch first, so that `vmap(f, randomness="different")` after a seed is the loop over f after
    the same seed.
    Under "same" the numbers are drawn once, so they cannot depend on what differs between samples.
    """
    writes, only_shape = function.__name__.endswith("_"), function.__name__.endswith("_like")

    @functools.wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        batches = [level for level in modes.levels if isinstance(level, Batch)]
        if not batches:
            return function(*args, **kwargs)
        for level in batches:
            level.before_random()
        given = [laid_open(a) for a in (*args, *kwargs.values())]
        for level in batches:
            own = [level in homes for _, homes in given]
            if level.randomness == "same":
                if any(own[1 if writes or only_shape else 0 :]):
                    raise RuntimeError(
                        "Vmap does not currently support same randomness with a batched tensor input: what "
                        f"{function.__name__} draws from differs between the samples. Use randomness='different'."
                    )
            elif writes and not own[0]:
                if any(own):
                    raise RuntimeError(level.cannot_be_written_into(args[0]))
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
                    "If this is necessary for your usage, make the tensor for each sample: x.new_zeros(...)."
                )
        apart = [level for level in batches if level.randomness == "different"]
        made = []
        with modes.levels[0].lowered():
            for at in np.ndindex(*[level.size for level in apart]):
                one = [sample(a, homes, dict(zip(apart, at))) for a, homes in given]
                if writes:
                    one[0] = new_tensor(np.array(one[0].payload))
                made.append(function(*one[: len(args)], **dict(zip(kwargs, one[len(args) :]))).payload)
        found = new_tensor(np.reshape(np.stack(made), (*[level.size for level in apart], *np.shape(made[0])))[()])
        for level in modes.levels:
            found = level.put(found) if level in apart else level.constant(found)
        return copy_(args[0], found) if writes else found

    return draw


def laid_open(a: Any) -> tuple[Any, list[Batch]]:
    """What is in all boxes of a tensor, and whose samples its leading axes run over: numbers are drawn without regard to derivatives."""
    homes: list[Batch] = []
    while isinstance(a, TransformTensor):
        if isinstance(a.home, Batch):
            homes.insert(0, a.home)
        a = a.value
    return a, homes


def sample(a: Any, homes: list[Batch], at: dict[Batch, int]) -> Any:
    """One sample of what `laid_open` gave; the first where all draw the same."""
    return new_tensor(a.payload[tuple([at.get(level, 0) for level in homes])]) if homes else a


def one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that looks at numbers and has no derivative: inside vmap it runs for each sample, and is counted as a loop."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        top = max((a for a in given if isinstance(a, TransformTensor)), key=lambda a: a.level, default=None) if modes.levels else None
        if top is None:
            return function(*args, **kwargs)
        level = top.home
        with level.lowered():
            if not isinstance(level, Batch):
                made = run(*[level.take(a) for a in args], **{name: level.take(a) for name, a in kwargs.items()})
                return created(made)
            loops[function.__name__] += 1
            each = [
                run(*[pick(level, a, k) for a in args], **{name: pick(level, a, k) for name, a in kwargs.items()})
                for k in range(level.size)
            ]
        if isinstance(each[0], tuple):
            made = [level.put(TABLE["stack"](*parts, axis=-parts[0].ndim - 1)) for parts in zip(*each)]
            return type(each[0])(*made) if hasattr(each[0], "_fields") else tuple(made)
        return level.put(TABLE["stack"](*each, axis=-each[0].ndim - 1))

    return run


def pick(level: Batch, a: Any, k: int) -> Any:
    """Sample k of an argument."""
    return a.value[k] if level.owns(a) else a
