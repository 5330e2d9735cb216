"""Where `func.functional_call` was before."""

from __future__ import annotations

import warnings
from typing import Any

from autolab import func

__all__ = ["functional_call"]


def functional_call(
    module: Any, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    """`func.functional_call` under its older name."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return func.functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
