"""PyTorch's `_foreach_` functions: one function of each tensor in a list, which optimizers there call once for all parameters.

Here they save no time; they are here so that such optimizers run. A further argument is a list with one for each tensor, or one
value for all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.torch_api.public import entitle

ONE_EACH = (
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp lgamma log log10 "
    "log1p log2 mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc"
)
WITH_FACTOR = "addcdiv addcmul"  # whose third argument is `value`
RENAMED = {"maximum": "clamp_min", "minimum": "clamp_max"}  # which take a number too
WRITING = f"{ONE_EACH} copy zero"


def for_each(name: str, writes: bool) -> Callable[..., Any]:
    """The `_foreach_` form of a method of Tensor."""

    def foreach(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        lengths = [len(arg) for arg in args if isinstance(arg, list | tuple)]
        if any(length != len(self) for length in lengths):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(self)} and {lengths}")
        columns = [arg if isinstance(arg, list | tuple) else itertools.repeat(arg) for arg in args]
        method = getattr(Tensor, name)
        if name.rstrip("_") in WITH_FACTOR.split() and len(args) == 3:
            *columns, values = columns
            results = tuple(method(t, *row, value=value) for t, value, *row in zip(self, values, *columns))
        else:
            results = tuple(method(t, *row, **kwargs) for t, *row in zip(self, *columns))
        return self if writes else results

    return entitle(foreach, f"_foreach_{name}", f"`{name}` of each tensor of a list{'' if writes else ', in a tuple'}.")


def norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of each tensor of a list."""
    return tuple(t.norm(ord, dtype=dtype) for t in self)


TABLE: dict[str, Callable[..., Any]] = {"_foreach_norm": norm}
TABLE |= {f"_foreach_{name}": for_each(name, False) for name in f"{ONE_EACH} clone max".split()}
TABLE |= {f"_foreach_{name}_": for_each(f"{name}_", True) for name in WRITING.split()}
for _name, _ours in RENAMED.items():
    TABLE |= {f"_foreach_{_name}": for_each(_ours, False), f"_foreach_{_name}_": for_each(f"{_ours}_", True)}
