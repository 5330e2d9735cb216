"""A Function that PyTorch keeps for old code, under its old name."""

from __future__ import annotations

import math
from typing import Any

from autolab.autograd.function import Function


class Resize(Function):
    """Resize.apply(x, sizes): x in another shape with as many entries."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: Any) -> Any:
        """Return the tensor in its new shape. Raises RuntimeError for another number of entries."""
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but the given tensor has a size "
                f"of {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements). autograd's resize can only change the shape of a "
                "given tensor, while preserving the number of elements. "
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """Return the gradient in the old shape."""
        return grad_output.contiguous().view(ctx.input_sizes), None
