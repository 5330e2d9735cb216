"""8. Convolutions of the numba backend: sums over the taps in registers, with no columns laid out.

Each sample is copied with its zeros around it, once for each remainder of a place by the stride. Then what a tap sees is a run of
memory for all places of the result at once, `offset` after the first (the places between two rows of the result mean nothing). A tile
of ROWS channels and WIDE vectors of places is summed over all taps before it is written. The gradient in the input is the same sum with
the weights in reverse, one for each remainder; the gradient in the weights sums a tile of channels and taps over all places.
Only float32, one group, and up to two axes; the rest is left to NumPy.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from autolab.compiler.lanes import machine_code
from autolab.fast.kernels import conv as columns
from autolab.rules import conv as rows
from autolab.rules.conv import places

# Numbers in a vector, channels and vectors of a tile, channels and taps of one of weights: as many as the registers hold.
LANES, ROWS, WIDE, SIDE, TAPS = (16, 8, 3, 4, 6) if binding.get_host_cpu_features().get("avx512f") else (8, 4, 3, 3, 4)
SLACK = LANES * WIDE  # numbers that a tile may read after the last
AT_ONCE = 1 << 11  # places of several samples for a gradient in the weights: a few channels of them stay in the first-level cache
NUMBER, VECTOR, WHOLE = ir.FloatType(), ir.VectorType(ir.FloatType(), LANES), ir.IntType(64)


def pointer(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def vector(builder: Any, at: Any) -> Any:
    return builder.load(builder.bitcast(at, VECTOR.as_pointer()), align=4)


def splat(builder: Any, number: Any) -> Any:
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def accumulators(builder: Any, count: int) -> list[Any]:
    made = [cgutils.alloca_once(builder, VECTOR) for _ in range(count)]
    for a in made:
        builder.store(ir.Constant(VECTOR, [0.0] * LANES), a)
    return made


def add_product(builder: Any, total: Any, a: Any, b: Any) -> None:
    fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(VECTOR, [VECTOR] * 3), f"llvm.fmuladd.v{LANES}f32")
    builder.store(builder.call(fma, [a, b, builder.load(total)]), total)


def tile(wide: int) -> Any:
    """out[row, place] = sum over k of w[k, row] * x[offsets[k] + place], for ROWS rows and `wide` vectors of places."""

    @intrinsic
    def run(context: Any, x: Any, at: Any, w: Any, first: Any, offsets: Any, out: Any, to: Any, step: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            start, weights, target = (pointer(context, builder, kinds[i], args[i], args[i + 1]) for i in (0, 2, 5))
            table = context.make_array(kinds[4])(context, builder, args[4])
            count = builder.extract_value(table.shape, 0)
            total = accumulators(builder, ROWS * wide)
            with cgutils.for_range(builder, count) as loop:
                seen = builder.gep(start, [builder.load(builder.gep(table.data, [loop.index]))])
                xs = [vector(builder, builder.gep(seen, [WHOLE(j * LANES)])) for j in range(wide)]
                beside = builder.gep(weights, [builder.mul(loop.index, WHOLE(ROWS))])
                for i in range(ROWS):
                    weight = splat(builder, builder.load(builder.gep(beside, [WHOLE(i)])))
                    for j in range(wide):
                        add_product(builder, total[i * wide + j], weight, xs[j])
            for i in range(ROWS):
                row = builder.gep(target, [builder.mul(args[7], WHOLE(i))])
                for j in range(wide):
                    place = builder.bitcast(builder.gep(row, [WHOLE(j * LANES)]), VECTOR.as_pointer())
                    builder.store(builder.load(total[i * wide + j]), place, align=4)
            return context.get_dummy_value()

        return types.void(x, types.int64, w, types.int64, offsets, out, types.int64, types.int64), generate

    return run


@intrinsic
def tile_of_weights(context: Any, samples: Any, g: Any, at: Any, row: Any, g_each: Any, x: Any, x_each: Any, offsets: Any, first: Any,
                    out: Any) -> Any:  # fmt: skip
    """out[i, k] = sum over samples and places of g[at + i * row + place] * x[offsets[first + k] + place], for SIDE rows and TAPS taps.

    row: numbers of a row, whole vectors. g_each, x_each: how far the next sample is.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        start, data = pointer(context, builder, kinds[1], args[1], args[2]), pointer(context, builder, kinds[5], args[5], WHOLE(0))
        table = pointer(context, builder, kinds[7], args[7], args[8])
        seen = [builder.gep(data, [builder.load(builder.gep(table, [WHOLE(k)]))]) for k in range(TAPS)]
        rows = [builder.gep(start, [builder.mul(args[3], WHOLE(i))]) for i in range(SIDE)]
        total = accumulators(builder, SIDE * TAPS)
        with cgutils.for_range(builder, args[0]) as sample:
            own = [builder.gep(r, [builder.mul(sample.index, args[4])]) for r in rows]
            beside = [builder.gep(s, [builder.mul(sample.index, args[6])]) for s in seen]
            with cgutils.for_range(builder, builder.udiv(args[3], WHOLE(LANES))) as loop:
                place = builder.mul(loop.index, WHOLE(LANES))
                xs = [vector(builder, builder.gep(s, [place])) for s in beside]
                for i in range(SIDE):
                    one = vector(builder, builder.gep(own[i], [place]))
                    for k in range(TAPS):
                        add_product(builder, total[i * TAPS + k], one, xs[k])
        add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(NUMBER, [NUMBER, VECTOR]), f"llvm.vector.reduce.fadd.v{LANES}f32"
        )
        target = pointer(context, builder, kinds[9], args[9], WHOLE(0))
        for n, t in enumerate(total):
            builder.store(builder.call(add, [NUMBER(0.0), builder.load(t)], fastmath=("reassoc",)), builder.gep(target, [WHOLE(n)]))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(whole, g, whole, whole, whole, x, whole, offsets, whole, out), generate


tile_1, tile_2, tile_3 = tile(1), tile(2), tile(3)


@intrinsic
def get(context: Any, x: Any, at: Any) -> Any:
    """x[at] for at >= 0, where numba would look whether it is."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(pointer(context, builder, signature.args[0], *args))

    return types.float32(x, types.int64), generate


@intrinsic
def put(context: Any, out: Any, at: Any, number: Any) -> Any:
    """out[at] = number for at >= 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], pointer(context, builder, signature.args[0], *args[:2]))
        return context.get_dummy_value()

    return types.void(out, types.int64, types.float32), generate


@machine_code
def lay_out(x, at, shape, phases, stride, pad, out, to, size):
    """A sample (C, H, W) as (C, phases, rows, width), where row y of a phase is row y * stride + phase - pad of x."""
    for c in range(shape[0]):
        for k in range(phases.shape[0]):
            shift = phases[k, 1] - pad[1]
            low = max(0, -(shift // stride[1]))
            count = min(size[1], (shape[2] - 1 - shift) // stride[1] + 1) - low
            for y in range(size[0]):
                row = y * stride[0] + phases[k, 0] - pad[0]
                if 0 <= row < shape[1]:
                    source = at + (c * shape[1] + row) * shape[2] + low * stride[1] + shift
                    target = to + ((c * phases.shape[0] + k) * size[0] + y) * size[1] + low
                    if stride[1] == 1:
                        for i in range(count):
                            put(out, target + i, get(x, source + i))
                    elif stride[1] == 2:
                        for i in range(count):
                            put(out, target + i, get(x, source + 2 * i))
                    else:
                        for i in range(count):
                            put(out, target + i, get(x, source + i * stride[1]))


@machine_code
def correlate(x, phases, stride, pad, size, w, offsets, shape, out, first, step, bias):
    """out[:, o, first + place * step] = bias[o] + sum over k of w[o, k] * (what tap k sees there), for places of `shape`."""
    n, channels, width = x.shape[0], w.shape[0], size[1]
    blocks = -(-channels // ROWS)
    packed = np.zeros((blocks, w.shape[1], ROWS), np.float32)
    for o in range(channels):
        for k in range(w.shape[1]):
            packed[o // ROWS, k, o % ROWS] = w[o, k]
    weights = packed.reshape(-1)
    whole = x.shape[1] * phases.shape[0] * size[0] * width
    memory = np.zeros(whole + SLACK, np.float32)
    flat, target = x.reshape(-1), out.reshape(-1)
    vectors = ((shape[0] - 1) * width + shape[1] + LANES - 1) // LANES
    run = vectors * LANES
    made = np.empty(ROWS * run, np.float32)
    for s in range(n):
        lay_out(flat, s * x.shape[1] * x.shape[2] * x.shape[3], x.shape[1:], phases, stride, pad, memory, 0, size)
        for b in range(blocks):
            at = b * w.shape[1] * ROWS
            for v in range(0, vectors - 2, 3):
                tile_3(memory, v * LANES, weights, at, offsets, made, v * LANES, run)
            v = vectors // 3 * 3
            if vectors - v == 2:
                tile_2(memory, v * LANES, weights, at, offsets, made, v * LANES, run)
            elif vectors - v == 1:
                tile_1(memory, v * LANES, weights, at, offsets, made, v * LANES, run)
            for i in range(min(ROWS, channels - b * ROWS)):
                o = b * ROWS + i
                for y in range(shape[0]):
                    to = ((s * channels + o) * out.shape[2] + first[0] + y * step[0]) * out.shape[3] + first[1]
                    if step[1] == 1:
                        for k in range(shape[1]):
                            put(target, to + k, get(made, i * run + y * width + k) + bias[o])
                    else:
                        for k in range(shape[1]):
                            put(target, to + k * step[1], get(made, i * run + y * width + k) + bias[o])


@machine_code
def correlate_weights(g, x, phases, stride, pad, size, offsets, taps, out):
    """out[o, k] = sum over samples and places of g[:, o] * (what tap k sees)."""
    width, rows = size[1], -(-g.shape[1] // SIDE) * SIDE
    run = -(-(g.shape[2] * width) // LANES) * LANES
    some = max(1, min(g.shape[0], AT_ONCE // run))
    plane = x.shape[1] * phases.shape[0] * size[0] * width
    memory = np.zeros(some * plane + run + SLACK, np.float32)
    flat, own = x.reshape(-1), g.reshape(-1)
    beside = np.zeros(some * rows * run, np.float32)
    part = np.empty(SIDE * TAPS, np.float32)
    for s in range(0, g.shape[0], some):
        now = min(some, g.shape[0] - s)
        for r in range(now):
            lay_out(flat, (s + r) * x.shape[1] * x.shape[2] * x.shape[3], x.shape[1:], phases, stride, pad, memory, r * plane, size)
            for o in range(g.shape[1]):
                for y in range(g.shape[2]):
                    at = (((s + r) * g.shape[1] + o) * g.shape[2] + y) * g.shape[3]
                    to = (r * rows + o) * run + y * width
                    for i in range(g.shape[3]):
                        put(beside, to + i, get(own, at + i))
        for o in range(0, rows, SIDE):
            for k in range(0, offsets.shape[0], TAPS):
                tile_of_weights(now, beside, o * run, run, rows * run, memory, plane, offsets, k, part)
                for i in range(min(SIDE, g.shape[1] - o)):
                    for j in range(min(TAPS, taps - k)):
                        out[o + i, k + j] += part[i * TAPS + j]


class Layout(NamedTuple):
    """How a sample is laid out: remainders by the stride, its rows and width; and where each tap of a kernel looks."""

    phases: Any
    size: tuple[int, int]
    taps: Any


@functools.lru_cache(256)
def layout(kernel: Any, stride: Any, dilation: Any, shape: Any, channels: int) -> Layout:
    reach = [[d * k for k in range(n)] for n, d in zip(kernel, dilation)]
    left = [sorted({r % s for r in rs}) for rs, s in zip(reach, stride)]
    rows, width = (n + rs[-1] // s for n, rs, s in zip(shape, reach, stride))
    phases = np.array([(y, x) for y in left[0] for x in left[1]])
    number = {tuple(p): k for k, p in enumerate(phases.tolist())}
    taps = [
        (number[y % stride[0], x % stride[1]] * rows + y // stride[0]) * width + x // stride[1] for y in reach[0] for x in reach[1]
    ]  # fmt: skip
    return Layout(phases, (rows, width), (np.arange(channels)[:, None] * (len(phases) * rows * width) + taps).reshape(-1))


class Remainder(NamedTuple):
    """The places of an input that a stride gives one remainder: the first, how many, and the taps that add to them."""

    first: tuple[int, int]
    shape: tuple[int, int]
    taps: tuple[Any, ...]  # slices of the last two axes of the weights
    offsets: Any


@functools.lru_cache(256)
def remainders(kernel: Any, stride: Any, padding: Any, dilation: Any, shape: Any, channels: int) -> Any:
    """How g is laid out for a gradient in the input: zeros before it, rows and width, and the remainders."""
    axes = []
    for n, s, p, d, length in zip(kernel, stride, padding, dilation, shape):
        found = []
        for r in range(s):
            q = -((r - p) // s)  # the first place of g, were it long enough, whose window begins in the input
            first = q * s + r - p
            taps = [k for k in range(n) if d * k % s == r]
            every = slice(taps[0], None, s // math.gcd(s, d)) if taps else slice(0)
            found.append((first, len(range(first, length, s)), every, [q - d * k // s for k in taps]))
        before = -min((a for one in found for a in one[3]), default=0)
        before = max(before, 0)
        most = max([a + before + one[1] for one in found for a in one[3]], default=1)
        axes.append((before, most, found))
    (top, rows, down), (left, width, across) = axes
    made = []
    for fy, ny, ky, ay in down:
        for fx, nx, kx, ax in across:
            taps = [(a + top) * width + b + left for a in ay for b in ax]
            offsets = (np.arange(channels)[:, None] * (rows * width) + np.array(taps, int)).reshape(-1)
            made.append(Remainder((fy, fx), (ny, nx), (..., ky, kx), offsets))
    return (top, left), (rows, width), made


def flat_axes(x: Any) -> Any:
    """(N, C, W) -> (N, C, 1, W)."""
    return x if x.ndim == 4 else x[:, :, None]


def two(numbers: Any, other: int) -> tuple[int, int]:
    """A setting for two axes."""
    return (other, *map(int, numbers))[-2:]  # type: ignore[return-value]


def suits(arrays: Any, groups: Any) -> bool:
    return groups == 1 and all(a.dtype == np.float32 and a.ndim in (3, 4) and a.size for a in arrays)


def direct_conv(x: Any, weight: Any, bias: Any, *, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    if not suits((x, weight), groups) or (bias is not None and bias.dtype != np.float32):
        return columns.conv(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    size = tuple(places(*one) for one in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation))
    out = np.empty((x.shape[0], weight.shape[0], *size), np.float32)
    steps, shape = two(stride, 1), two(size, 1)
    how = layout(two(weight.shape[2:], 1), steps, two(dilation, 1), shape, x.shape[1])
    bias = np.zeros(weight.shape[0], np.float32) if bias is None else bias
    w = np.ascontiguousarray(weight).reshape(len(weight), -1)
    inside, whole = np.ascontiguousarray(flat_axes(x)), flat_axes(out)
    correlate(inside, how.phases, steps, two(padding, 0), how.size, w, how.taps, shape, whole, (0, 0), (1, 1), bias)
    return out


ONLY = np.zeros((1, 2), np.int64)


def direct_conv_input(g: Any, weight: Any, *, shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    if not suits((g, weight), groups):
        return columns.conv_input(g, weight, shape=shape, stride=stride, padding=padding, dilation=dilation, groups=groups)
    out = np.empty((g.shape[0], weight.shape[1], *shape), np.float32)
    w, steps, whole = flat_axes(weight).swapaxes(0, 1), two(stride, 1), flat_axes(out)
    how = two(weight.shape[2:], 1), steps, two(padding, 0), two(dilation, 1), whole.shape[2:], g.shape[1]
    before, size, found = remainders(*how)
    g = np.ascontiguousarray(flat_axes(g))
    for one in found:
        if not all(one.shape):
            continue
        if not len(one.offsets):
            whole[:, :, one.first[0] :: steps[0], one.first[1] :: steps[1]] = 0
            continue
        some = np.ascontiguousarray(w[one.taps].reshape(w.shape[0], -1))
        correlate(g, ONLY, (1, 1), before, size, some, one.offsets, one.shape, whole, one.first, steps, np.zeros(w.shape[0], np.float32))
    return out


def direct_conv_weight(g: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    def by_columns() -> Any:
        return columns.conv_weight(g, x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, groups=groups)

    if not suits((g, x), groups):
        return by_columns()
    beside, inside = (np.ascontiguousarray(flat_axes(a)) for a in (g, x))
    steps = two(stride, 1)
    how = layout(two(kernel, 1), steps, two(dilation, 1), beside.shape[2:], x.shape[1])
    taps = len(how.taps)
    out = np.zeros((g.shape[1], taps), np.float32)
    offsets = np.concatenate([how.taps, np.zeros(-taps % TAPS, int)])
    correlate_weights(beside, inside, how.phases, steps, two(padding, 0), how.size, offsets, taps, out)
    if not np.isfinite(out).all():  # the places between two rows count with a factor of 0, and 0 * inf is no 0
        return by_columns()
    return out.reshape(g.shape[1], x.shape[1], *kernel)


def direct_to_input(g: Any, weight: Any, x_shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    return direct_conv_input(g, weight, shape=x_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def direct_to_weight(g: Any, x: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    return direct_conv_weight(g, x, kernel=weight_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


# By what a program calls.
DIRECT: dict[Any, Any] = {
    columns.conv: direct_conv, columns.conv_input: direct_conv_input, columns.conv_weight: direct_conv_weight,
    rows.to_input: direct_to_input, rows.to_weight: direct_to_weight,
}  # fmt: skip
