"""The older order of arguments, numbers before tensors: `x.add_(2, y)`, `x.addcmul_(2, a, b)`, `torch.addmm(2, x, 3, a, b)`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor


def numbers_last(name: str, args: tuple[Any, ...], tensors: int, newer: str) -> tuple[list[Any], list[Any]]:
    """The tensors of such a call, and its numbers. Warns, as PyTorch does, and says how it is written now.

    Raises TypeError for a call with another number of tensors, or with what is neither.
    """
    ours = [a for a in args if isinstance(a, Tensor)]
    numbers = [a for a in args if isinstance(a, (*dtypes.NUMBERS, np.generic))]
    if len(ours) != tensors or not numbers or len(ours) + len(numbers) != len(args) or isinstance(args[-1], (*dtypes.NUMBERS, np.generic)):
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds}), but expected {newer}")
    warnings.warn(
        f"This overload of {name} is deprecated: the numbers come last, and by name. "
        f"Consider using one of the following signatures instead:\n\t{newer}",
        stacklevel=4,
    )
    return ours, numbers
