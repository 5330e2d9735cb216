"""Other sizes of the same picture: interpolation, sampling along a grid, channels for pixels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.functional.common import is_floating, not_implemented, several, warn
from autolab.nn.functional.pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from autolab.rules import activations, resize
from autolab.rules import index as index_rows
from autolab.torch_api import creation, pointwise
from autolab.torch_api.dims import INTEGERS, refuse
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.linalg import matmul

MODES = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,),
    "trilinear": (3,),
}  # fmt: skip
CORNERS = ("linear", "bilinear", "bicubic", "trilinear")


# -- interpolation -----------------------------------------------------------------------------------


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """The input with other lengths of its last dims: give their `size`, or a `scale_factor`.

    Shapes: (N, C, L), (N, C, H, W) or (N, C, D, H, W). mode: "nearest", "nearest-exact", "area" in any number of dims, "linear" in one,
    "bilinear" and "bicubic" in two, "trilinear" in three. align_corners: the outermost entries keep their values, instead of the
    edges of the picture. antialias: shrinking averages over all that a new entry covers ("bilinear", "bicubic").
    Raises ValueError or NotImplementedError for what does not fit together.

    >>> interpolate(tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    >>> interpolate(tensor([[[1., 2.]]]), size=3, mode="linear", align_corners=True)
    tensor([[[1.0000, 1.5000, 2.0000]]])
    """
    n = input.ndim - 2
    if mode not in MODES:
        raise NotImplementedError(f"Input Error: unknown mode {mode!r}; the modes are {', '.join(MODES)}")
    if mode not in CORNERS and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    if n not in (1, 2, 3):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D)")
    lengths = tuple(input.shape[2:])
    size, scales = _wanted(lengths, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and n == 2):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    if n not in MODES[mode]:
        names = {1: "3D", 2: "4D", 3: "5D"}
        raise NotImplementedError(f"Got {names[n]} input, but {mode} mode needs {names[MODES[mode][0]]} input")
    if any(m < 1 for m in size) or 0 in input.shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (N: {', '.join(map(str, lengths))}) output "
            f"({', '.join(map(str, size))}): non-empty {input.ndim}D data tensor expected"
        )
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1](input, size)
    bytes_are_taken = mode != "linear" and mode != "trilinear"
    if not is_floating(input) and not (bytes_are_taken and input.dtype.name == "uint8"):
        raise not_implemented("compute_indices_weights_" + mode, input)
    out: Any = input
    for a, (m, k, scale) in enumerate(zip(lengths, size, scales)):
        axis = a - n
        if mode.startswith("nearest"):
            index = nearest(m, k, scale, 0.5 if mode == "nearest-exact" else 0.0)
            out = apply(index_rows.index_select, (out, new_tensor(index)), {"axis": axis})
        else:
            matrix = weights(m, k, scale, mode, bool(align_corners), antialias)
            out = apply(resize.resample, (out,), {"matrix": matrix, "axis": axis})
    return out


def _wanted(lengths: tuple[int, ...], size: Any, scale_factor: Any, recompute: Any) -> tuple[Any, Any]:
    """The lengths asked for, and the scale along each dim if it is used as given."""
    n = len(lengths)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    name, given = ("size", size) if size is not None else ("scale_factor", scale_factor)
    if isinstance(given, list | tuple) and len(given) != n:
        what = {
            "size": "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(lengths)} and output size of {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in "
            "(o1, o2, ...,oK) format.",
            "scale_factor": "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(lengths)} and scale_factor of shape {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format.",
        }
        raise ValueError(what[name])
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return tuple(int(m) for m in several(size, n)), (None,) * n
    scales = tuple(float(s) for s in several(scale_factor, n))
    wanted = tuple(math.floor(m * s) for m, s in zip(lengths, scales))
    return wanted, (None,) * n if recompute else scales


def _step(n: int, size: int, scale: float | None) -> float:
    return 1 / scale if scale else n / size


def nearest(n: int, size: int, scale: float | None, shift: float) -> Any:
    """For each of `size` entries the nearest of n, in float32 as PyTorch computes it."""
    step = np.float32(_step(n, size, scale))
    return np.minimum(np.floor((np.arange(size, dtype=np.float32) + np.float32(shift)) * step).astype(np.int64), n - 1)


def weights(n: int, size: int, scale: float | None, mode: str, align_corners: bool, antialias: bool) -> Any:
    """The matrix (size, n) of what each of the n entries counts for each new one."""
    cubic = mode == "bicubic"
    if align_corners:
        step = (n - 1) / (size - 1) if size > 1 else 0.0
    else:
        step = _step(n, size, scale)
    k = np.arange(size)
    if antialias:
        return _covering(n, size, step, cubic)
    at = k * step if align_corners else (k + 0.5) * step - 0.5
    if not cubic:
        at = np.maximum(at, 0)
    low = np.floor(at).astype(np.int64)
    t = at - low
    counts = cubic_weights(t, -0.75) if cubic else [1 - t, t]
    matrix = np.zeros((size, n))
    for j, w in enumerate(counts, -1 if cubic else 0):
        np.add.at(matrix, (k, np.clip(low + j, 0, n - 1)), w)
    return matrix


def cubic_weights(t: Any, a: float) -> list[Any]:
    """What the four entries around a point count, t behind the second. Source: Keys 1981, with his a."""
    far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _covering(n: int, size: int, step: float, cubic: bool) -> Any:
    """Weights of a filter as wide as a new entry, where that is wider than an old one."""
    reach = (2.0 if cubic else 1.0) * max(step, 1.0)
    center = (np.arange(size) + 0.5) * step
    first = np.maximum((center - reach + 0.5).astype(np.int64), 0)[:, None]
    last = np.minimum((center + reach + 0.5).astype(np.int64), n)[:, None]
    j = np.arange(n)
    x = np.abs((j - center[:, None] + 0.5) / max(step, 1.0))
    if cubic:
        a = -0.5
        inner, outer = ((a + 2) * x - (a + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * a
        w = np.where(x < 1, inner, np.where(x < 2, outer, 0))
    else:
        w = np.maximum(1 - x, 0)
    w = np.where((j >= first) & (j < last), w, 0)
    return w / w.sum(1, keepdims=True)


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """`interpolate`, under its old name."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode="nearest", under its old name."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode="bilinear" and align_corners=True, under its old name."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -- along a grid ------------------------------------------------------------------------------------


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Where `grid_sample` has to look to see the picture through an affine map.

    Shapes: theta (N, 2, 3) and size (N, C, H, W), result (N, H, W, 2); or (N, 3, 4) and (N, C, D, H, W), result (N, D, H, W, 3).
    Coordinates run from -1 to 1: between the centres of the outermost entries with align_corners, between the edges otherwise.

    >>> affine_grid(tensor([[[-1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), align_corners=True)  # x mirrored: right, then left
    tensor([[[[ 1.,  0.],
              [-1.,  0.]]]])
    """
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
             "align_corners=True if the old behavior is desired.")  # fmt: skip
    if not is_floating(theta):
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (1, 2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {list(size)}"
        )
    if n == 1 or theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {list(size)}. Got {list(theta.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    lines = []
    for m in reversed(size[2:]):
        line = creation._spaced("linspace", -1, 1, m, theta.payload.dtype) if m > 1 else np.zeros(1, theta.payload.dtype)
        lines.append(line if align_corners else line * (m - 1) / m)
    mesh = np.meshgrid(*reversed(lines), indexing="ij")[::-1]
    base = np.stack([*mesh, np.ones(mesh[0].shape)], -1).reshape(-1, n + 1).astype(theta.payload.dtype)
    out = matmul(new_tensor(base), theta.transpose(1, 2))
    return out.reshape(size[0], *size[2:], n)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The input at the points that grid names, interpolated.

    Shapes: input (N, C, H, W), grid (N, h, w, 2) with (x, y) in [-1, 1], result (N, C, h, w); with one dim more in each for pictures of
    three dims. mode: "bilinear", "nearest" or "bicubic" (two dims). padding_mode: what lies outside, "zeros", "border" (the nearest entry)
    or "reflection". align_corners: -1 and 1 mean the centres of the outermost entries, not the edges. Source: Jaderberg et al. 2015.

    >>> picture = tensor([[[[1., 3.]]]])
    >>> grid_sample(picture, tensor([[[[-1., 0.], [0., 0.], [1., 0.]]]]), align_corners=True)  # left, middle, right
    tensor([[[[1., 2., 3.]]]])
    """
    n = input.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
             "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")  # fmt: skip
    _check_grid(input, grid, n, mode)
    lead, lengths, points = tuple(input.shape[:2]), tuple(input.shape[2:]), tuple(grid.shape[1:-1])
    flat = input.reshape(*lead, math.prod(lengths))
    axes = [_looked_up(grid[..., n - 1 - a], m, mode, padding_mode, bool(align_corners)) for a, m in enumerate(lengths)]
    total: Any = None
    for chosen in itertools.product(*axes):
        index: Any = 0
        weight: Any = None
        for m, (place, w) in zip(lengths, chosen):
            index = place + index * m
            weight = w if weight is None else weight * w
        index = index.reshape(lead[0], 1, -1).expand(*lead, math.prod(points))
        part = apply(index_rows.gather, (flat, index), {"axis": -1}) * weight.reshape(lead[0], 1, -1)
        total = part if total is None else total + part
    return total.reshape(*lead, *points)


def _check_grid(input: Tensor, grid: Tensor, n: int, mode: str) -> None:
    name = "grid_sampler()"
    if grid.dtype != input.dtype:
        raise RuntimeError(f"{name}: expected input and grid to have same dtype, but input has {input.dtype} and grid has {grid.dtype}")
    refuse(input, f"grid_sampler_{n}d_cpu_kernel_impl", INTEGERS)
    if n not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"{name}: expected 4D or 5D input and grid with same number of dimensions, but got input with sizes {list(input.shape)} and "
            f"grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"{name}: expected grid and input to have same batch size, but got input with sizes {list(input.shape)} and grid with sizes "
            f"{list(grid.shape)}"
        )
    if grid.shape[-1] != n:
        raise RuntimeError(f"{name}: expected grid to have size {n} in last dimension, but got grid with sizes {list(grid.shape)}")
    for d, m in enumerate(input.shape[2:], 2):
        if m <= 0:
            raise RuntimeError(
                f"{name}: expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)} with dimension {d} "
                "being empty"
            )
    if mode == "bicubic" and n != 2:
        raise RuntimeError(f"{name}: bicubic interpolation only supports 4D input")


def _looked_up(x: Any, n: int, mode: str, padding_mode: str, align_corners: bool) -> list[tuple[Any, Any]]:
    """For coordinates along one axis of length n: the entries to look up, and what each counts (nothing outside, with zeros there)."""
    x = (x + 1) * ((n - 1) / 2) if align_corners else (x + 1) * (n / 2) - 0.5
    if mode != "bicubic":
        x = _inside(x, n, padding_mode, align_corners)
    if mode == "nearest":
        near = pointwise.round(x).detach()
        return [_entry(near, x.detach() * 0 + 1, n, padding_mode)]
    low = pointwise.floor(x).detach()
    t = x - low
    if mode == "bilinear":
        return [_entry(low, 1 - t, n, padding_mode), _entry(low + 1, t, n, padding_mode)]
    taps = []
    for j, w in enumerate(cubic_weights(t, -0.75), -1):
        at = _inside(low + j, n, padding_mode, align_corners)
        taps.append(_entry(pointwise.round(at) if padding_mode == "reflection" else at, w, n, padding_mode))
    return taps


def _inside(x: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    """Coordinates brought into the picture; where it has an end, the gradient is 0."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span == 0:
            x = x * 0
        else:
            x = pointwise.abs(x - low)
            flips = pointwise.floor(x / span).detach()
            rest = x - flips * span
            x = pointwise.where(flips % 2 == 0, rest, span - rest) + low
    return apply(activations.hardtanh, (x,), {"low": 0.0, "high": n - 1.0})


def _entry(place: Any, weight: Any, n: int, padding_mode: str) -> tuple[Any, Any]:
    """A place as an index, and its weight."""
    inside = (place >= 0) & (place <= n - 1)
    index = pointwise.clamp(pointwise.where(inside, place, 0.0), 0, n - 1).long()
    return index, inside.to(place.dtype) * weight if padding_mode == "zeros" else weight


# -- channels for pixels -----------------------------------------------------------------------------


@returns_fresh_memory
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels become pixels: (..., C * r * r, H, W) -> (..., C, H * r, W * r). Source: Shi et al. 2016.

    >>> pixel_shuffle(arange(4.).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    >>> pixel_shuffle(ones(1, 12, 5, 5), 2).shape
    torch.Size([1, 3, 10, 10])
    """
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={c} "
            f"is not divisible by {r * r}"
        )
    n = len(lead)
    out = input.reshape(*lead, c // (r * r), r, r, h, w).permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return out.reshape(*lead, c // (r * r), h * r, w * r)


@returns_fresh_memory
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels become channels: (..., C, H * r, W * r) -> (..., C * r * r, H, W).

    >>> pixel_unshuffle(tensor([[[0., 1.], [2., 3.]]]), 2).flatten()
    tensor([0., 1., 2., 3.])
    >>> pixel_unshuffle(ones(1, 3, 10, 10), 2).shape
    torch.Size([1, 12, 5, 5])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for name, m in (("height", h), ("width", w)):
        if m % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({-2 if name == 'height' else -1})={m} is "
                f"not divisible by {r}"
            )
    n = len(lead)
    out = input.reshape(*lead, c, h // r, r, w // r, r).permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return out.reshape(*lead, c * r * r, h // r, w // r)


@returns_fresh_memory
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `groups` groups, dealt out in turn: (N, g * c, ...) with channel (a, b) at place (b, a).

    Source: Zhang et al. 2018.

    >>> channel_shuffle(arange(6).reshape(1, 6, 1, 1), 2).flatten()  # (0, 1, 2) and (3, 4, 5)
    tensor([0, 3, 1, 4, 2, 5])
    """
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(n, c, *rest)


native_channel_shuffle = channel_shuffle
