"""Layers that multiply: linear, bilinear, convolutions and their transposes, and the patches that convolutions see."""

from __future__ import annotations

import math
from typing import Any

from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor
from autolab.nn.functional.common import same_dtype, several
from autolab.nn.functional.padding import constant
from autolab.rules import conv as rows
from autolab.rules import linalg
from autolab.torch_api.dims import BOOLS, INTEGERS, SHORT_INTEGERS, evened_out, refuse, require_tensor
from autolab.torch_api.linalg import einsum, matmul
from autolab.torch_api.shape import expand, reshape


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias. Shapes: input (..., n), weight (m, n), bias (m,); result (..., m).

    >>> linear(tensor([1., 2.]), tensor([[1., 0.], [0., 1.], [1., 1.]]), tensor([0., 0., 10.]))
    tensor([ 1.,  2., 13.])
    """
    try:
        matrix = weight.payload
        alike = input.payload.dtype is matrix.dtype
    except AttributeError:
        require_tensor(input, "linear")
        raise
    if not alike and bias is not None and input.dtype != weight.dtype and not evened_out("linear", input, weight):
        if bias.dtype != weight.dtype:
            raise RuntimeError(f"self and mat2 must have the same dtype, but got {bias.dtype.title} and {weight.dtype.title}")
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {input.dtype.title} and {weight.dtype.title}: convert the input with "
            f".to({weight.dtype}), or the layer with .to({input.dtype})."
        )
    if bias is None:
        check_dims(input, weight)
        return matmul(input, weight.t())
    if matrix.ndim < 2:
        check_dims(input, weight)
        if input.ndim == 2:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        return matmul(input, weight) + bias
    if bias.payload.shape != matrix.shape[:1]:  # a bias that is stretched
        out = matmul(input, weight.t())
        return out + expand(bias, out.shape)
    shape = input.payload.shape
    try:
        if len(shape) == 2 or not modes.grad or input.level + weight.level + bias.level:
            return linalg.linear.run(input, weight, bias)
        out = linalg.linear.run(reshape(input, (math.prod(shape[:-1]), shape[-1])), weight, bias)  # the nodes that PyTorch has
        return reshape(out, (*shape[:-1], len(matrix)))
    except (ValueError, IndexError):
        check_dims(input, weight)
        a, w = list(input.shape), list(weight.shape)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({math.prod(a[:-1])}x{a[-1]} and {w[1]}x{w[0]}): the layer takes {w[1]} features, "
            f"the input of shape {a} has {a[-1]}."
        ) from None


def check_dims(input: Tensor, weight: Tensor) -> None:
    if not input.ndim or not weight.ndim:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D")


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """out[k] = input1 @ weight[k] @ input2 + bias[k]. Shapes: (..., n), (..., m), weight (o, n, m), bias (o,); result (..., o).

    >>> bilinear(tensor([[1., 2.]]), tensor([[3., 4.]]), tensor([[[1., 0.], [0., 1.]]]))  # 1 * 3 + 2 * 4
    tensor([[11.]])
    """
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}")
    for k, (x, place) in enumerate(((input1, 1), (input2, 2)), 1):
        if x.shape[-1] != weight.shape[place]:
            raise RuntimeError(
                f"bilinear(): input{k} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[place]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}")
    first = einsum("...i,kij->...kj", input1, weight)
    out = einsum("...kj,...j->...k", first, input2)
    return out if bias is None else out + bias


# -- convolutions ----------------------------------------------------------------------------------


def check_operands(function: str, input: Tensor, weight: Tensor, bias: Any, n: int, groups: int, transposed: bool) -> None:
    """Raise PyTorch's errors for what does not fit together."""
    same_dtype(function, input=input, weight=weight, bias=bias)
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if weight.ndim < 3:
        raise RuntimeError(f"weight should have at least three dimensions, but got weight of size {list(weight.shape)}")
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{input.ndim}-dimensional "
            f"input of size {list(input.shape)} instead: {function} wants weights of {n + 2} dims"
        )
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {function}, but got input of size: {list(input.shape)}"
        )
    if transposed:
        refuse(input, f"slow_conv_transpose{max(n, 2)}d_out_cpu", SHORT_INTEGERS)
    else:
        refuse(input, f"slow_conv{max(n, 2)}d_cpu", BOOLS)
    shape, channels = list(weight.shape), input.shape[-n - 1]
    if shape[0] % groups or shape[0] < groups:
        rule = f"at least {groups}" if shape[0] < groups else f"divisible by {groups}"
        raise RuntimeError(f"Given groups={groups}, expected weight to be {rule} at dimension 0, but got weight of size {shape} instead")
    wanted = shape[0] if transposed else shape[1] * groups
    if channels != wanted:
        what = "Given transposed=True" if transposed else f"Given groups={groups}"
        raise RuntimeError(
            f"{what}, weight of size {shape}, expected input{list(input.shape)} to have {wanted} channels, but got {channels} channels "
            "instead"
        )
    out = shape[1] * groups if transposed else shape[0]
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != out):
        raise RuntimeError(
            f"Given {'transposed=True, ' if transposed else ''}weight of size {shape}, expected bias to be 1-dimensional with {out} "
            f"elements, but got bias of size {list(bias.shape)} instead"
        )


def check_positive(stride: Any, dilation: Any, padding: Any) -> None:
    if not isinstance(padding, str) and any(p < 0 for p in several(padding, 1)):
        raise RuntimeError("negative padding is not supported")
    for name, values in (("stride", stride), ("dilation", dilation)):
        if any(v <= 0 for v in values):
            if name == "stride":
                raise RuntimeError("non-positive stride is not supported")
            raise RuntimeError("dilation should be greater than zero")


def per_dim(n: int, function: str, **given: Any) -> dict[str, tuple[int, ...]]:
    """One number for each of the n dims, out of each argument."""
    made = {}
    for name, value in given.items():
        if isinstance(value, list | tuple) and len(value) not in (1, n):
            raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, "
                               f"but got {name}={list(value)}")  # fmt: skip
        made[name] = several(value, n, name, function)
    return made


def _ones(*shape: int) -> str:
    """A call of `ones`, for the examples below."""
    return f"ones({', '.join(map(str, shape))})"


def _convolution(n: int, letters: str) -> Any:
    function = f"conv{n}d"

    def conv(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Tensor:
        made = per_dim(n, function, stride=stride, dilation=dilation)
        stride, dilation = made["stride"], made["dilation"]
        check_positive(stride, dilation, padding)
        check_operands(function, input, weight, bias, n, groups, False)
        kernel = tuple(weight.shape[2:])
        if isinstance(padding, str):
            input, padding = _named_padding(padding, input, kernel, stride, dilation)
        padding = per_dim(n, function, padding=padding)["padding"]
        if max(dilation) > 1:
            refuse(input, "slow_conv_dilated<>", SHORT_INTEGERS)
        _fits(input.shape[-n:], kernel, padding, dilation)
        alone = input.ndim == n + 1
        x = input[None] if alone else input
        out = apply(rows.conv, (x, weight, bias), {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups})
        return out.squeeze(0) if alone else out

    conv.__name__ = conv.__qualname__ = function
    conv.__doc__ = f"""Cross-correlation of the input with the kernels in weight: each place sums what it sees, times the kernel.

    Shapes: input (N, C, {letters}) or (C, {letters}), weight (O, C / groups, k...), bias (O,); result (N, O, ...).
    padding: zeros on both sides, "same" (the result keeps its lengths; stride 1) or "valid" (none).
    groups: the channels in so many parts, each with kernels of its own. Raises RuntimeError for what does not fit together.

    >>> {function}({_ones(2, 3, *(5,) * n)}, {_ones(4, 3, *(3,) * n)}, stride=2).shape  # (5 - 3) // 2 + 1 places
    torch.Size({[2, 4, *(2,) * n]})
    >>> {function}({_ones(1, 3, *(5,) * n)}, {_ones(1, 3, *(3,) * n)}).unique()  # each place sums {" * ".join("3" * (n + 1))} products
    tensor([{3 ** (n + 1)}.])
    """
    return conv


def _named_padding(padding: str, input: Tensor, kernel: Any, stride: Any, dilation: Any) -> tuple[Any, Any]:
    """'same' and 'valid' in numbers; the odd zero of 'same' goes behind, before the convolution."""
    if padding == "valid":
        return input, (0,) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'. It is 'same', 'valid', or a number of zeros.")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    odd = [t % 2 for t in total]
    if any(odd):
        input = constant(input, [side for o in reversed(odd) for side in (0, o)], 0)
    return input, tuple(t // 2 for t in total)


def _fits(size: Any, kernel: Any, padding: Any, dilation: Any) -> None:
    padded = [n + 2 * p for n, p in zip(size, padding)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    if any(n < r for n, r in zip(padded, reach)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )


conv1d = _convolution(1, "L")
conv2d = _convolution(2, "H, W")
conv3d = _convolution(3, "D, H, W")


def _transposed(n: int, letters: str) -> Any:
    function = f"conv_transpose{n}d"

    def conv_transpose(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        made = per_dim(n, function, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation)
        stride, padding, extra, dilation = made.values()
        check_positive(stride, dilation, padding)
        check_operands(function, input, weight, bias, n, groups, True)
        if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got output_padding={list(extra)}, "
                f"stride={list(stride)}, dilation={list(dilation)}"
            )
        alone = input.ndim == n + 1
        x = input[None] if alone else input
        each = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, extra)
        shape = tuple((m - 1) * s - 2 * p + d * (k - 1) + e + 1 for m, k, s, p, d, e in each)
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        out = apply(rows.conv_input, (x, weight), {"shape": shape, **settings})
        if bias is not None:
            out = out + bias.reshape(-1, *(1,) * n)
        return out.squeeze(0) if alone else out

    conv_transpose.__name__ = conv_transpose.__qualname__ = function
    conv_transpose.__doc__ = f"""The transpose of conv{n}d: each entry of the input adds its kernel to the result, `stride` apart.

    Shapes: input (N, C, {letters}) or (C, {letters}), weight (C, O / groups, k...), bias (O,).
    output_padding: that much longer at one side. Raises RuntimeError for what does not fit together.

    >>> {function}({_ones(2, 4, *(2,) * n)}, {_ones(4, 3, *(3,) * n)}, stride=2).shape  # (2 - 1) * 2 + 3 places
    torch.Size({[2, 3, *(5,) * n]})
    """
    return conv_transpose


conv_transpose1d = _transposed(1, "L")
conv_transpose2d = _transposed(2, "H, W")
conv_transpose3d = _transposed(3, "D, H, W")


# -- patches ---------------------------------------------------------------------------------------


def _patches(function: str, input: Tensor, given: dict[str, Any]) -> Any:
    made = {name: several(value, 2, name, function) for name, value in given.items()}
    for name, values in made.items():
        if any(v < 0 if name == "padding" else v <= 0 for v in values):
            many = "kernel size" if name == "kernel_size" else name
            raise RuntimeError(
                f"{many} should be {'non-negative' if name == 'padding' else 'greater than zero'}, but got {name}={list(values)}"
            )
    return made


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The patches that a kernel sees, as columns. Shapes: (N, C, H, W) -> (N, C * k * k, places); (C, H, W) without the N.

    >>> unfold(tensor([[[1., 2., 3.], [4., 5., 6.]]]), 2)  # two patches, from left to right
    tensor([[1., 2.],
            [2., 3.],
            [4., 5.],
            [5., 6.]])
    """
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    kernel, dilation, padding, stride = _patches("unfold", input, given).values()
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    refuse(input, "im2col_out_cpu", INTEGERS - BOOLS)
    each = zip(input.shape[-2:], kernel, stride, padding, dilation)
    size = [rows.places(*one) for one in each]
    if any(n < 1 for n in size):
        raise RuntimeError(
            f"Given input with spatial size ({input.shape[-2]}, {input.shape[-1]}), kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as ({size[0]}, {size[1]}), but its components must be at "
            "least one."
        )
    return apply(rows.unfold, (input,), {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation})


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Patches put back where `unfold` took them from; where they overlap they add. Shapes: (N, C * k * k, places) -> (N, C, H, W).

    >>> fold(ones(1, 4, 4), output_size=3, kernel_size=2)  # the middle lies in all four patches
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    given = {"output_size": output_size, "kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    shape, kernel, dilation, padding, stride = _patches("fold", input, given).values()
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    taps = math.prod(kernel)
    if input.shape[-2] % taps:
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={input.shape[-2]} "
            f"and kernel_size={kernel}."
        )
    size = [rows.places(*one) for one in zip(shape, kernel, stride, padding, dilation)]
    if any(n < 1 for n in size) or math.prod(size) != input.shape[-1]:
        raise RuntimeError(
            f"Given output_size={shape}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected size of "
            f"input's dimension 2 to match the calculated number of sliding blocks {size[0]} * {size[1]} = {math.prod(size)}, but got "
            f"input.size(2)={input.shape[-1]}."
        )
    return apply(rows.fold, (input,), {"shape": shape, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation})
