"""The older names for mixed precision, with "cpu" said by the module."""

from __future__ import annotations

from typing import Any

from autolab import amp, dtypes
from autolab.compat.cuda_amp import warn

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """`amp.autocast` for "cpu", with a FutureWarning."""

    def __init__(self, enabled: bool = True, dtype: Any = dtypes.bfloat16, cache_enabled: bool = True) -> None:
        warn("cpu.amp", "cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`amp.GradScaler` for "cpu", with a FutureWarning."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn("cpu.amp", "cpu", "GradScaler")
        super().__init__("cpu", *args, **kwargs)
