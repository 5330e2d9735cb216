"""The gradients of convolutions as functions of their own: by the input, by the weight.

A backward asks for them by itself; these are for a Function's backward that is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor
from autolab.nn.functional.conv import check_operands, check_positive, per_dim
from autolab.rules import conv as rows
from autolab.torch_api.creation import zeros
from autolab.torch_api.shape import expand

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _settings(
    n: int, function: str, input: Tensor, weight: Tensor, g: Tensor, stride: Any, padding: Any, dilation: Any, groups: int
) -> dict[str, Any]:
    """One number for each dim out of each setting. Raises RuntimeError where a shape does not fit the others."""
    made = per_dim(n, function, stride=stride, padding=padding, dilation=dilation)
    check_positive(made["stride"], made["dilation"], made["padding"])
    if input.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 2}-dimensional input for {n + 2}-dimensional weight {list(weight.shape)}, but got {input.ndim}-dimensional "
            f"input of size {list(input.shape)} instead: add a batch dim of one"
        )
    check_operands(function, input, weight, None, n, groups, False)
    each = zip(input.shape[2:], weight.shape[2:], made["stride"], made["padding"], made["dilation"])
    out = [input.shape[0], weight.shape[0], *(rows.places(*one) for one in each)]
    if list(g.shape) != out:
        raise RuntimeError(
            f"Expected grad_output to have the shape of the convolution's result, {out}, but got {list(g.shape)}: input "
            f"{list(input.shape)}, weight {list(weight.shape)}, stride {list(made['stride'])}, padding {list(made['padding'])}, "
            f"dilation {list(made['dilation'])}"
        )
    return {**made, "groups": groups}


def _shape_of(size: Sequence[int], like: Tensor) -> Tensor:
    """A tensor of this shape and of one number in memory, to check against others."""
    return expand(zeros((), dtype=like.dtype), tuple(size))


def _to_input(n: int, letters: str) -> Any:
    function = f"conv{n}d_input"

    def conv_input(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        input = _shape_of(input_size, grad_output)
        settings = _settings(n, f"conv{n}d", input, weight, grad_output, stride, padding, dilation, groups)
        return apply(rows.conv_input, (grad_output, weight), {"shape": tuple(input.shape[2:]), **settings})

    conv_input.__name__ = conv_input.__qualname__ = function
    conv_input.__doc__ = f"""The gradient of conv{n}d by its input: what backward gives it, given the gradient of the result.

    Shapes: input_size (N, C, {letters}), as several inputs have results of one length; weight (O, C / groups, k...);
    grad_output (N, O, ...); result input_size. Differentiable. Raises RuntimeError for what does not fit together.

    >>> x, w = {_ones(1, 1, *(3,) * n)}.requires_grad_(), {_ones(1, 1, *(2,) * n)}
    >>> y = nn.functional.conv{n}d(x, w)
    >>> y.sum().backward()
    >>> equal(nn.grad.{function}(x.shape, w, ones_like(y)), x.grad)
    True
    """
    return conv_input


def _to_weight(n: int, letters: str) -> Any:
    function = f"conv{n}d_weight"

    def conv_weight(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        weight = _shape_of(weight_size, grad_output)
        settings = _settings(n, f"conv{n}d", input, weight, grad_output, stride, padding, dilation, groups)
        return apply(rows.conv_weight, (grad_output, input), {"kernel": tuple(weight.shape[2:]), **settings})

    conv_weight.__name__ = conv_weight.__qualname__ = function
    conv_weight.__doc__ = f"""The gradient of conv{n}d by its weight: what backward gives it, given the gradient of the result.

    Shapes: input (N, C, {letters}), weight_size (O, C / groups, k...), as a stride leaves several that fit; grad_output (N, O, ...);
    result weight_size. Differentiable. Raises RuntimeError for what does not fit together.

    >>> x, w = {_ones(1, 1, *(3,) * n)}, {_ones(1, 1, *(2,) * n)}.requires_grad_()
    >>> y = nn.functional.conv{n}d(x, w)
    >>> y.sum().backward()
    >>> equal(nn.grad.{function}(x, w.shape, ones_like(y)), w.grad)
    True
    """
    return conv_weight


def _ones(*shape: int) -> str:
    """A call of `ones`, for the examples."""
    return f"ones({', '.join(map(str, shape))})"


conv1d_input, conv1d_weight = _to_input(1, "L"), _to_weight(1, "L")
conv2d_input, conv2d_weight = _to_input(2, "H, W"), _to_weight(2, "H, W")
conv3d_input, conv3d_weight = _to_input(3, "D, H, W"), _to_weight(3, "D, H, W")
