"""CUDA is not there. Its switches can be set, and change nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

__all__ = [
    "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled",
    "is_built", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "preferred_linalg_library", "sdp_kernel",
]  # fmt: skip

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True)


def is_built() -> bool:
    """False."""
    return False


# -- kernels of attention: all mean the same sums ------------------------------------------------------

_attention = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def _switch(kernel: str) -> tuple[Any, Any]:
    def enable(enabled: bool) -> None:
        _attention[kernel] = bool(enabled)

    def enabled() -> bool:
        return _attention[kernel]

    enable.__name__ = enable.__qualname__ = f"enable_{kernel}_sdp"
    enable.__doc__ = "Remember a choice of kernel, which changes nothing."
    enabled.__name__ = enabled.__qualname__ = f"{kernel}_sdp_enabled"
    enabled.__doc__ = "What was chosen last, True at first."
    return enable, enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Choices of kernel for a block; the old name of `nn.attention.sdpa_kernel`."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)


def preferred_linalg_library(backend: Any = None) -> str:
    """LAPACK, whatever is preferred."""
    return "default"
