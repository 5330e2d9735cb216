"""The law of kernels: each gives what the formula of its row gives, on the samples of its row, whatever their size, layout and dtype."""

import math
import os
from importlib import import_module

import ml_dtypes
import numpy as np
import pytest

import autolab
from autolab.autograd import grad
from autolab.engine.apply import dispatch, promote_operands
from autolab.engine.modes import modes
from autolab.rules import TABLE

from ..rules.samples import SAMPLES

if os.environ.get("AUTOLAB_FAST") == "0":
    pytest.skip("without kernels there is nothing to compare", allow_module_level=True)

from autolab.fast.kernel import BLOCK_KERNELS, KERNELS
from autolab.fast.kernels import FAMILIES

for family in sorted(FAMILIES):
    import_module(f"autolab.fast.kernels.{family}")

pytestmark = [pytest.mark.speed, pytest.mark.filterwarnings(r"ignore::RuntimeWarning")]
LARGE = {"elementwise": 40_000}  # entries: more than one block; for other kinds:
LONG = 70_000
ENDS = [0, -0.0, 1e-30, -1e-30, -1e-4, 1, -1, 30, -30, 1000, -1000, 1e9, np.inf, -np.inf, np.nan]
ROWS = {k.row.name: k.row for k in KERNELS.values()}
PARTS = [(name, "forward") for name in ROWS if ROWS[name].forward in KERNELS]
PARTS += [(name, x) for name in ROWS for x, rule in ROWS[name].rules.items() if rule.function in KERNELS]
# Beside those of the samples.
SETTINGS = {
    "leaky_relu": ({"negative_slope": 0.01}, {"negative_slope": -2.0}, {"negative_slope": 0.0}),
    "softplus": ({"beta": 1.0, "threshold": 20.0}, {"beta": -2.0, "threshold": 1.0}),
    "pow_scalar": ({"exponent": 2}, {"exponent": 3}, {"exponent": 3.0}, {"exponent": 4}, {"exponent": 0}, {"exponent": 0.5}, {"exponent": -1}),
    "polygamma": ({"n": 0}, {"n": 1}),
    "threshold": ({"threshold": 0.1, "value": -3.0}, {"threshold": -1.0, "value": math.inf}),
    "hardtanh": ({"low": -1.0, "high": 1.0}, {"low": 0.5, "high": 0.5}),
    "nan_to_num": ({"nan": 0.0, "posinf": 9.0, "neginf": -9.0}, {"nan": 7.0, "posinf": 1.0, "neginf": -2.0}),
    "elu": ({"alpha": 1.0, "scale": 1.0, "rate": 1.0}, {"alpha": 1.5, "scale": 2.0, "rate": 0.5}),
    "huber_loss": ({"delta": 0.5}, {"delta": 3.0}),
}  # fmt: skip
# Where 1 + erf(x) cancels, the formula itself has no more digits.
NEAR_ZERO = {"gelu": 5e-7, "gelu_tanh": 5e-7, "lerp": 1e-6, "logaddexp": 3e-7}
# What a rounding becomes over many steps.
AMPLIFY = {"lstm": 1000, "gru": 1000}
# What is exact in every dtype, each in its own way.
EXACT = {"fmod", "remainder", "floor_divide", "softshrink", "nan_to_num"}


class Calls:
    """What rows are called with."""

    def __init__(self):
        self.seen = []

    def operation(self, op, args, settings):
        self.seen.append((op, args, {**op.settings, **settings}))
        return dispatch(op, args, settings)

    def __getattr__(self, name):
        """Of other things that happen it is told too."""
        return lambda *args, **kwargs: None


def grown(shape, entries):
    """A shape of so many entries; what is 1 stays 1, and so do axes along which another is repeated."""
    free = [n for n in shape if n > 1]
    factor = math.ceil((entries / math.prod(free)) ** (1 / len(free))) if free else 1
    return tuple(n * factor if n > 1 else n for n in shape)


def calls_of(sample, case, size="small", dtype=np.float64):
    """(inputs, settings) of each call of the row of a sample; () if the expression wants another size or dtype."""
    shapes = [tuple(map(int, digits.strip("."))) for digits in case.split()]
    if size == "large":
        if 0 in shapes[0] or not shapes[0]:
            return []
        whole = np.broadcast_shapes(*shapes) if TABLE[sample.row].kind == "elementwise" else max(shapes, key=math.prod)
        factor = dict(zip(whole, grown(whole, LARGE.get(TABLE[sample.row].kind, LONG))))
        shapes = [tuple(factor.get(n, n) if n > 1 else n for n in shape) for shape in shapes]
    calls = Calls()
    arrays = sample.draws(shapes, dtype=dtype)
    tensors = [autolab.tensor(a) for a in arrays]
    try:
        modes.tracer = calls
        modes.settle()
        sample.here(autolab, *tensors)
    except (RuntimeError, ValueError, IndexError, TypeError, OverflowError):
        if size == "small":
            raise
        return []
    finally:
        modes.tracer = None
        modes.settle()
    return [call for call in of_row(TABLE[sample.row], calls.seen) if size == "small" or is_possible(sample.row, *call)]


def of_row(row, seen):
    for op, args, settings in seen:
        if op is row:
            raw = [a.payload if isinstance(a, autolab.Tensor) else a for a in args]
            for further in (settings, *SETTINGS.get(op.name, ())):
                yield promote_operands(op, raw) if op.promote else raw, further


def is_possible(name, inputs, settings):
    """Whether settings that are sizes still fit."""
    try:
        TABLE[name].forward(*inputs, **settings)
    except ValueError:
        return False
    return True


def is_float(a):
    return getattr(a, "dtype", np.dtype(int)).kind == "f"


def with_ends(inputs):
    """Large inputs of an entrywise row with what is special in front, each beside each."""
    changed = list(inputs)
    for k, a in enumerate(inputs):
        if is_float(a) and a.size >= LARGE["elementwise"]:
            changed[k] = np.array(a)
            first = np.tile(ENDS, len(ENDS)) if k % 2 else np.repeat(ENDS, len(ENDS))
            changed[k].reshape(-1)[: len(first)] = first
    return changed


def other_layouts(inputs):
    """The same entries: transposed in memory, and apart from each other."""
    yield [np.array(a, order="F") if isinstance(a, np.ndarray) else a for a in inputs]
    yield [np.repeat(a, 2, -1)[..., ::2] if isinstance(a, np.ndarray) and a.ndim else a for a in inputs]


def wide(value):
    """The same in float64; what several rules ask for may be several arrays."""
    if isinstance(value, tuple):
        return tuple(map(wide, value))
    return value.astype(np.float64) if is_float(value) else value


def agree(row, found, exact, dtype, part):
    """A kernel may give other last digits. Where inf * 0 may be avoided in a gradient, it may be."""
    found, exact = (outs if isinstance(outs, tuple | list) else (outs,) for outs in (found, exact))
    for a, b in zip(found, exact, strict=True):
        if not is_float(a):
            np.testing.assert_array_equal(a, b)
            continue
        assert a.shape == np.shape(b) and a.dtype == dtype
        b = np.asarray(b).astype(dtype)
        rtol, atol = (2e-6, 1e-30) if dtype == np.float32 else (1e-12, 1e-30)
        if part != "forward":
            rtol, atol = rtol * 4, 1e-6 if dtype == np.float32 else 1e-13
            sure = np.isfinite(b)
            a, b = np.where(sure, a, 0), np.where(sure, b, 0)
        if row.kind != "elementwise":  # sums: what they are made of counts
            atol = (
                AMPLIFY.get(row.name, 1)
                * (1e-5 if dtype == np.float32 else 1e-12)
                * np.abs(b, where=np.isfinite(b), out=np.zeros(b.shape)).max(initial=1)
            )
        elif dtype == np.float32 or part != "forward":
            atol = max(atol, NEAR_ZERO.get(row.name, 0))
        np.testing.assert_allclose(a, b, rtol, max(atol, NEAR_ZERO.get(row.name, 0) * 1e-8))


def values_for(row, part, inputs, settings, out):
    """What a rule asks for."""
    known = {**dict(zip(row.inputs, [inputs] if row.variadic else inputs)), **settings}
    known |= {f"{x}_shape": np.shape(a) for x, a in zip(row.inputs, inputs)}
    known |= {"out": out[0], **{f"out_{k}": o for k, o in enumerate(out)}}
    known |= {name: function(*[known[n] for n in asks]) for name, (function, asks) in row.shared.items() if set(asks) <= known.keys()}
    return [known[n] for n in row.rules[part].needs]


def check(row, part, inputs, settings, dtype):
    with np.errstate(all="ignore"):
        out = row.forward(*(inputs if row.name in EXACT else map(wide, inputs)), **settings)
        if part == "forward":
            agree(row, KERNELS[row.forward].function(*inputs, **settings), out, dtype, part)
            return
        rule, rng = row.rules[part].function, np.random.default_rng(5)
        outs = out if row.outputs > 1 else (out,)
        gs = [rng.standard_normal(np.shape(o)).astype(dtype)[()] for o in outs]
        rounded = [o.astype(dtype)[()] if is_float(o) else o for o in outs]
        values = values_for(row, part, inputs, settings, rounded)
        if row.outputs > 1:
            agree(row, KERNELS[rule].function(tuple(gs), *values), rule(tuple(map(wide, gs)), *map(wide, values)), dtype, part)
            return
        g = gs[0]
        exact = rule(wide(g), *map(wide, values))
        agree(row, KERNELS[rule].function(g, *values), exact, dtype, part)
        if rule not in BLOCK_KERNELS:
            return
        beside = [v for v in values if isinstance(v, np.ndarray) and (v.shape != g.shape or not v.flags.c_contiguous)]
        if g.ndim and not beside:
            over = np.array(g)
            BLOCK_KERNELS[rule](over, *values, over)
            agree(row, over, exact, dtype, part)
            one = np.broadcast_to(g.flat[0], g.shape) if g.size else g
            agree(row, KERNELS[rule].function(one, *values), rule(wide(one), *map(wide, values)), dtype, part)


def samples_of(name):
    return [(s, case) for s in SAMPLES if s.row == name for case in s.cases.split("; ")]


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_a_kernel_has_samples(name, part):
    calls = [call for sample, case in samples_of(name) for call in calls_of(sample, case)]
    assert calls
    if TABLE[name].kind == "elementwise":
        assert [call for sample, case in samples_of(name) for call in calls_of(sample, case, "large")]


@pytest.mark.parametrize(("name", "part"), PARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_gives_what_the_formula_gives(name, part, dtype):
    for sample, case in samples_of(name):
        for inputs, settings in calls_of(sample, case, dtype=dtype):
            check(TABLE[name], part, inputs, settings, dtype)
            for others in other_layouts(inputs):
                check(TABLE[name], part, others, settings, dtype)


@pytest.mark.parametrize(("name", "part"), PARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_gives_what_the_formula_gives_of_large_arrays(name, part, dtype):
    row = TABLE[name]
    if name == "gru" and dtype is np.float32:
        return  # many steps multiply what is rounded
    for sample, case in samples_of(name):
        for inputs, settings in calls_of(sample, case, "large", dtype):
            try:
                row.forward(*inputs, **settings)
            except (ValueError, IndexError):  # grown shapes that do not fit each other
                continue
            slow = settings.get("n", 0) > 1  # a sum of as many terms as a negative number is long
            inputs = with_ends(inputs) if row.kind == "elementwise" and not slow else inputs
            check(row, part, inputs, settings, dtype)
            check(row, part, [np.array(a, order="F") if isinstance(a, np.ndarray) else a for a in inputs], settings, dtype)


@pytest.mark.parametrize(("name", "part"), [p for p in PARTS if p[1] == "forward"])
@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", ml_dtypes.bfloat16])
def test_a_kernel_takes_what_the_formula_takes(name, part, dtype):
    row = TABLE[name]
    if row.kind != "elementwise" and dtype != "int64":
        return  # 16-bit floats are computed with in float32; bools are refused
    for sample, case in samples_of(name):
        for inputs, settings in calls_of(sample, case, *(() if row.kind == "elementwise" else ("any", dtype))):
            inputs = [a.astype(dtype) if is_float(a) else a for a in inputs]
            try:
                right = row.forward(*inputs, **settings)
            except (TypeError, ValueError, AttributeError, OverflowError):
                continue
            found = KERNELS[row.forward].function(*inputs, **settings)
            for a, b in zip(*(outs if isinstance(outs, tuple) else (outs,) for outs in (found, right)), strict=True):
                assert np.result_type(a) == np.result_type(b)
                (np.testing.assert_array_equal if row.kind == "elementwise" else np.testing.assert_allclose)(a, b)


@pytest.mark.parametrize("name", [name for name in ROWS if TABLE[name].rules])
def test_recorded_gradients_are_those_of_kernels_and_can_be_differentiated_again(name):
    sample, case = samples_of(name)[0]
    shapes = [tuple(map(int, digits.strip("."))) for digits in case.split()]
    if TABLE[name].kind == "elementwise":
        shapes = [grown(shape, 5000) for shape in shapes]
    seconds = []
    for dtype in (np.float32, np.float64):
        inputs = sample.tensors(autolab, [a.astype(dtype) if is_float(a) else a for a in sample.draws(shapes)])
        asked = [t for t in inputs if t.requires_grad]
        outs = sample.here(autolab, *inputs)
        out = sum((o * o).sum() for o in (outs if isinstance(outs, tuple) else (outs,)) if o.requires_grad)
        if not isinstance(out, autolab.Tensor):  # floor_divide, say
            return
        plain = grad(out, asked, retain_graph=True)
        recorded = grad(out, asked, create_graph=True)
        for a, b in zip(plain, recorded, strict=True):
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), *((3e-5, 3e-5) if dtype is np.float32 else (1e-11, 1e-12)))
        again = [g.sum() for g in recorded if g.requires_grad]
        seconds.append([g.numpy() for g in grad(sum(again), asked, allow_unused=True) if g is not None] if again else [])
    for a, b in zip(*seconds, strict=True):
        np.testing.assert_allclose(a, b, 2e-3, 1e-3 * np.abs(b).max(initial=1e-1))


@pytest.mark.parametrize("wide", [1, 15, 17, 80, 1000, np.inf])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_is_exact_however_far_scores_lie_apart(wide, reduction):
    x = np.random.default_rng(0).uniform(-1, 1, (6, 5)).astype(np.float32)
    x[0, 1], x[2, 3], x[4] = wide, -wide, x[4] - (wide if wide < np.inf else 5)
    target, g = np.array([0, 1, 2, 3, 4, 1]), np.float32(2) if reduction != "none" else np.arange(6, dtype=np.float32)
    for row, args in ((TABLE["cross_entropy"], (x, target)), (TABLE["cross_entropy_back"], (g, x, target))):
        exact = row.forward(*[a.astype(np.float64) if a.dtype == np.float32 else a for a in args], reduction=reduction)
        np.testing.assert_allclose(row.compute(*args, reduction=reduction), exact, rtol=3e-6, atol=2e-6)
