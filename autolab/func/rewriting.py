"""functionalize: for programs that ask for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that computes what func computes, and writes to its arguments what func writes.

    In PyTorch its operations are others, free of in-place writes (and with remove="mutations_and_views" of views), for tracers that
    can record nothing else. Nothing here records operations for another machine: `compile` and the transforms follow writes and views
    as they are. So there is nothing to rewrite, and func runs as it is. Raises RuntimeError for another `remove`.

    >>> func.functionalize(lambda x: x.clone().add_(1))(torch.tensor([1.]))
    tensor([2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
            "remove='mutations', remove='mutations_and_views'"
        )

    @functools.wraps(func)
    def as_it_is(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return as_it_is
