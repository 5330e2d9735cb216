"""What gradcheck raises."""

from __future__ import annotations

from typing import Any

import numpy as np

Jacobian = np.ndarray[Any, Any]  # (entries of the input, entries of the output)


class GradcheckError(RuntimeError):
    """Raised by gradcheck and gradgradcheck when derivatives are wrong.

    After a mismatch, `numerical` and `analytical` are the two Jacobians, as arrays (entries of the input, entries of the output).

    >>> class Wrong(torch.autograd.Function):  # of x * x
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * ctx.saved_tensors[0]
    >>> try:
    ...     torch.autograd.gradcheck(Wrong.apply, tensor([3.0], dtype=torch.float64, requires_grad=True))
    ... except GradcheckError as error:
    ...     error.analytical, error.numerical.round(3)
    (array([[3.]]), array([[6.]]))
    """

    numerical: Jacobian | None = None
    analytical: Jacobian | None = None
