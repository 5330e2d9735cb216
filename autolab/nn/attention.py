"""Which kernel computes attention: there is one here, and a choice is taken and changes nothing."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """The kernels of scaled_dot_product_attention that PyTorch has. All mean the same sums.

    >>> [kernel.name for kernel in SDPBackend if kernel >= 0]
    ['MATH', 'FLASH_ATTENTION', 'EFFICIENT_ATTENTION', 'CUDNN_ATTENTION', 'OVERRIDEABLE']
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[Any]:
    """For a block (or a function, as decorator): use one of these kernels. Raises AssertionError unless they are SDPBackends.

    >>> x = ones(3, 2)
    >>> with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
    ...     out = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    >>> out.shape
    torch.Size([3, 2])
    """
    wanted = [backends] if isinstance(backends, SDPBackend) else backends
    assert isinstance(wanted, list | tuple) and all(isinstance(b, SDPBackend) for b in wanted), (
        "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
    )
    yield {}
