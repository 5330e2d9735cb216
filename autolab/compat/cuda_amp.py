"""The older names for mixed precision, with "cuda" said by the module."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from autolab import amp, dtypes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def warn(module: str, device: str, name: str) -> None:
    """Warn that `amp` has the newer name."""
    warnings.warn(
        f"`torch.{module}.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """`amp.autocast` for "cuda", with a FutureWarning."""

    def __init__(self, enabled: bool = True, dtype: Any = dtypes.float16, cache_enabled: bool = True) -> None:
        warn("cuda.amp", "cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`amp.GradScaler` for "cuda", with a FutureWarning."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn("cuda.amp", "cuda", "GradScaler")
        super().__init__("cuda", *args, **kwargs)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`amp.custom_fwd` for "cuda", with a FutureWarning."""
    warn("cuda.amp", "cuda", "custom_fwd")
    return functools.partial(amp.custom_fwd, device_type="cuda", cast_inputs=cast_inputs)(fwd)


def custom_bwd(bwd: Any) -> Any:
    """`amp.custom_bwd` for "cuda", with a FutureWarning."""
    warn("cuda.amp", "cuda", "custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")
