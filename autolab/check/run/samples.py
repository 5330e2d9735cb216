"""For each row of the table that has a derivative, numbers to run it on.

An exercise has them in its `Spec`. Here are those of the rows that no exercise knows, and of some whose exercises are too small to count
operations on. A row that is in neither list is tried on plain shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autolab.engine.inplace import Part
from autolab.engine.op import Op
from autolab.rules import TABLE
from autolab.transforms.dual import rule_arguments

from .spec import Spec
from .specs import SPECS

RANGES = ((0.25, 0.75), (1.25, 1.75))  # where nearly all functions are defined, and where the others are
PLAIN = ((10, 10), (6, 6), (2, 3, 3))
SQUARE = (2, 8, 8)
WINDOW = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0)}
POOL = WINDOW | {"dilation": (1, 1), "size": (4, 4)}
MEAN = WINDOW | {"size": (4, 4), "count_padding": True, "divisor": None}
CONV = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
CTC = {"blank": 0, "zero_infinity": False}


class FirstRow:
    """How a view looks at its base, as a write through a view has it: the first row."""

    def through(self, x: Any) -> Any:
        return TABLE["select"](x, key=(0,))


def uniform(rng: np.random.Generator, shape: tuple[int, ...], low: float = 0.25, high: float = 0.75) -> np.ndarray:
    return np.asarray(rng.uniform(low, high, shape))


def squares(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """A matrix far from singular, symmetric, with eigenvalues apart; then what else is asked for."""
    first, *rest = (uniform(rng, shape) for shape in shapes)
    m, n = first.shape[-2:]
    first = first + 4 * np.eye(m, n) * (1 + np.arange(n)) + (np.swapaxes(first, -1, -2) if m == n else 0)
    return first, *rest


def complex_squares(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """A Hermitian one."""
    (x,), (y,) = squares(rng, shapes, settings), squares(rng, shapes, settings)
    return (x + 0.1j * (np.triu(y) - np.swapaxes(np.triu(y), -1, -2)) if x.shape[-1] == x.shape[-2] else x + 0.1j * y,)


def with_index(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """Numbers, then places in the first axis, then what is put there."""
    first, index, *rest = shapes
    places = np.arange(np.prod(index, dtype=int)).reshape(index) % 4
    return uniform(rng, first), places, *(uniform(rng, shape) for shape in rest)


def with_classes(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """The class of each sample stands where the shape has one axis less than the scores; a shape () before them is g."""
    made = [uniform(rng, shape) for shape in shapes]
    at = 1 + next(i for i, shape in enumerate(shapes) if len(shape) == 2)
    made[at] = rng.integers(0, 4, shapes[at])
    return tuple(made)


def with_labels(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """What ctc_loss takes, after what else comes first: log-probabilities, labels, and the two lengths."""
    *first, steps = shapes
    x = np.log(uniform(rng, steps))
    n = steps[1]
    labels = (np.tile([1, 2, 3], (n, 1)), np.full(n, steps[0]), np.full(n, 3))
    made = [*(uniform(rng, shape) for shape in first), x, *labels]
    return tuple(made)


def with_condition(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """A condition for the second of them."""
    made = [uniform(rng, shape) for shape in shapes]
    made[1] = made[1] > 0.5
    return tuple(made)


def with_condition_first(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """A condition for the first of them."""
    x, condition, *rest = with_condition(rng, shapes, settings)
    return condition, x, *rest


def with_pivots(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    """A factor, pivots that exchange no rows, and a right-hand side."""
    factor, pivots, side = shapes
    return uniform(rng, factor), np.arange(1, pivots[0] + 1), uniform(rng, side)


def real_and_imaginary(rng: np.random.Generator, shapes: Any, settings: Any) -> tuple[np.ndarray, ...]:
    return tuple(uniform(rng, shape) + 1j * uniform(rng, shape) for shape in shapes)


def _samples() -> Iterator[Spec]:
    def one(name: str, *shapes: tuple[int, ...], make: Any = None, **settings: Any) -> Spec:
        return Spec(name, shapes=[shapes], settings=[settings], make=make)

    x, long, lines = (8, 10), (8, 50), {"axis": -1}
    # Products of matrices, large enough that sums where gradients meet are few.
    yield from (one(name, (32, 32), (32, 32)) for name in ("mm", "matmul", "outer_sum"))
    yield from (one("bmm", (2, 32, 32), (2, 32, 32)), one("mv", (32, 32), (32,)), one("vm", (32,), (32, 32)))
    yield from (one("dot", (100,), (100,)), one("outer", (10,), (10,)), one("linear", (32, 32), (32, 32), (32,)))
    yield from (one("addmm", (32,), (32, 32), (32, 32)), one("einsum", (32, 32), (32, 32), equation="ij,jk->ik"))
    # One array and settings.
    yield from (one(name, long, **lines) for name in "max_along min_along sort median_along nanmedian_along mode cummax cummin".split())
    yield from (one(name, long, **lines) for name in "cumprod cumsum logcumsumexp unbind nansum var_mean std_mean".split())
    yield from (one(name, long, **lines) for name in "sum mean prod amax amin var std norm logsumexp softmax log_softmax".split())
    yield from (one("topk", long, k=3, **lines), one("kthvalue", long, k=3, **lines), one("split", x, sizes=(5, 5), **lines))
    yield from (one("split_with_sizes", x, sizes=(4, 6), **lines), one("moveaxis", x, source=0, destination=1))
    yield one("roll", x, shift=(1,), axis=(0,))
    yield from (one("round", x), one("straight_at", x, x, of="LeakyRelu"), one("to", x, dtype=np.float64, source=np.float64))
    yield from (one("huber_loss", x, x, delta=0.3), one("threshold", x, threshold=0.5, value=1.0), one("polygamma", x, n=2))
    yield one("elu", x, alpha=1.3, scale=1.0, rate=1.0)
    yield from (one("clamp", x, min=0.3, max=0.6), one("to_complex", x, dtype=np.complex128, source=np.float64))
    yield from (one("nan_to_num", x, nan=0.0, posinf=1.0, neginf=-1.0), one("constant_pad_nd", x, widths=((1, 1), (1, 1))))
    # Conditions, and scores with classes.
    yield from (one("keep", x, x, make=with_condition), one("keep_at", x, x, x, make=with_condition))
    yield one("where", x, x, x, make=with_condition_first)
    yield from (
        one("nll_loss", (8, 5), (8,), (5,), make=with_classes, reduction="mean"),
        one("attention_weights", x, x, scale=0.5, causal=False),
        one("attention", (1, 2, 5, 4), (1, 2, 5, 4), (1, 2, 5, 4), scale=0.5, causal=False),
    )
    yield one("cross_entropy", (8, 5), (8,), make=with_classes, reduction="mean")
    yield one("cross_entropy_back", (), (8, 5), (8,), make=with_classes, reduction="mean")
    yield from (one("binary_cross_entropy_with_logits", x, x, x, (10,), reduction="mean"), one("batch_norm", x, (10,), (10,), eps=1e-5))
    yield from (one("layer_norm", x, (10,), (10,), axes=(-1,), eps=1e-5), one("rms_norm", x, (10,), axes=(-1,), eps=1e-5))
    yield from (one("ctc_loss", (8, 2, 5), make=with_labels, **CTC), one("ctc_loss_back", (2,), (8, 2, 5), make=with_labels, **CTC))
    yield one("ldl_solve", (8, 8), (8,), (8, 2), make=with_pivots, hermitian=False)
    # Moving numbers about.
    rows = np.array([0, 2, 2, 1])
    yield from (one("select", x, key=(0,)), one("slice", x, key=(slice(1, 7),)), one("index", x, key=(rows,)))
    yield from (one("place", (6, 10), key=(slice(1, 7),), shape=x), one("add_at", (4, 10), key=(rows,), shape=x))
    yield one("index_put", x, (3, 10), key=(np.array([0, 2, 1]),))
    yield from (
        one(name, x, (5, 10), (5, 10), make=with_index, axis=0) for name in "scatter_add scatter_max scatter_min scatter_prod".split()
    )
    yield from (one("scatter", x, (4, 10), (4, 10), make=with_index, axis=0), one("index_add", x, (5,), (5, 10), make=with_index, axis=0))
    yield from (one("embedding", x, (5,), make=with_index), one("embedding_back", (5, 10), (5,), make=with_index, rows=8))
    yield one("put_along_axis", (8, 1), (8, 1), make=with_index, shape=x, axis=-1)
    yield from (one("cat", x, x, axis=0), one("stack", x, x, axis=0), one("put", x, (10,), look=FirstRow()))
    yield one("diagonal_scatter", (8,), shape=x, offset=0, axis1=-2, axis2=-1)
    part = Part((2, 3), (1, 1), 0, (10, 1))
    yield from (one("as_strided", x, part=part), one("as_strided_back", (2, 3), x_shape=x, part=part))
    yield one("as_strided_scatter", x, (2, 3), part=Part((2, 3), (10, 1), 0, (10, 1)))
    yield from (one("unfold", x, axis=-1, size=3, step=1), one("unfold_back", (8, 8, 3), x_shape=x, axis=-1, size=3, step=1))
    # Windows.
    image, small = (2, 3, 8, 8), (2, 3, 4, 4)
    yield from (one("conv", image, (4, 3, 3, 3), (4,), **CONV), one("conv_input", (2, 4, 8, 8), (4, 3, 3, 3), shape=(8, 8), **CONV))
    yield one("conv_weight", (2, 4, 8, 8), image, kernel=(3, 3), **CONV)
    yield from (one("max_pool", image, **POOL), one("avg_pool", image, **MEAN), one("avg_pool_back", small, shape=(8, 8), **MEAN))
    yield from (one("max_pool_back", small, image, small, **POOL), one("max_pool_pick", image, image, small, **POOL))
    yield from (one("im2col", image, **WINDOW, dilation=(1, 1)), one("col2im", (2, 12, 16), shape=(8, 8), **WINDOW, dilation=(1, 1)))
    yield one("resample", image, matrix=np.full((4, 8), 0.125), axis=-1)
    # Recurrent layers: five steps, two sequences, four units.
    yield from (one("lstm", (5, 2, 16), (16, 4), (2, 4), (2, 4)), one("gru", (5, 2, 12), (12, 4), (12,), (2, 4)))
    # Matrices.
    yield from (one(name, SQUARE, make=squares) for name in "inv cofactor det slogdet cholesky eigh lu pinv matrix_exp".split())
    yield from (one(name, (2, 12, 8), make=squares) for name in ("svd", "qr"))
    yield from (one("solve", SQUARE, SQUARE, make=squares), one("solve_triangular", SQUARE, SQUARE, make=squares, upper=True))
    yield from (one(name, SQUARE, make=complex_squares) for name in "slogdet_complex cholesky_complex eigh_complex pinv_complex".split())
    yield from (one(name, (2, 12, 8), make=complex_squares) for name in ("svd_complex", "qr_complex"))
    yield one("distances", (8, 5), (6, 5), by_products=True)
    # Complex numbers.
    yield one("pow_complex", x, x, make=real_and_imaginary)
    yield from (one(name, x, make=real_and_imaginary) for name in ("sgn_complex", "abs_complex", "acosh_complex", "angle_complex"))
    yield from (one(name, x, make=real_and_imaginary) for name in "view_as_real real imag conj conj_physical".split())
    spread = "norm_complex var_complex std_complex var_mean_complex std_mean_complex"
    yield from (one(name, x, make=real_and_imaginary, **lines) for name in spread.split())
    yield one("logcumsumexp_complex", (8, 16), make=real_and_imaginary, axis=-1)
    yield from (one(name, (8, 16), make=real_and_imaginary, axes=(-1,), norm="backward") for name in ("fft", "ifft"))
    yield from (
        one("rfft", (8, 16), axis=-1, norm="backward"),
        one("irfft", (8, 9), make=real_and_imaginary, n=16, axis=-1, norm="backward"),
    )
    yield from (one("view_as_complex", (8, 2)), one("eig", SQUARE, make=squares))


SAMPLES = {spec.name: spec for spec in _samples()}


def sample(row: Op) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Inputs and settings on which the row and all its rules run.

    Raises LookupError if there are none, or if a rule says that there is no derivative.

    >>> arrays, settings = sample(TABLE["sum"])
    >>> [a.shape for a in arrays], settings["axis"]
    ([(8, 50)], -1)
    """
    spec = SAMPLES.get(row.name) or SPECS.get(row.name) or Spec(row.name)
    error: Exception | None = None
    for arrays, settings in tries(row, spec, np.random.default_rng(0)):
        try:
            with np.errstate(all="ignore", invalid="ignore" if spec.make else "raise"):
                rules(row, arrays, settings)
        except (TypeError, ValueError, LookupError, FloatingPointError, RuntimeError) as problem:
            error = problem
            continue
        return arrays, settings
    raise LookupError(f"no sample in autolab/check/run/samples.py fits {row.name!r}: {error}") from error


def tries(row: Op, spec: Spec, rng: np.random.Generator) -> Iterator[tuple[list[np.ndarray], dict[str, Any]]]:
    """The inputs of the spec, or plain shapes in turn."""
    settings = row.settings | dict(spec.settings[0])
    for shapes in spec.shapes or [(shape,) * len(row.inputs) for shape in PLAIN]:
        if spec.make:
            yield [np.asarray(a) for a in spec.make(rng, shapes, settings)], settings
        for low, high in () if spec.make else RANGES:
            yield [uniform(rng, shape, low, high) for shape in shapes], settings


def rules(row: Op, arrays: list[np.ndarray], settings: Mapping[str, Any], count: Any = lambda run: run()) -> tuple[Any, list[Any]]:
    """The results of the row, and the gradient of each of its rules for incoming gradients of 0, which do not change what is computed.

    count: runs the row and then the rules, each as a function without arguments.
    """
    result = count(lambda: row.forward(*arrays, **settings))
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    zeros = tuple(np.zeros_like(out) * 1.0 for out in outputs)
    g = zeros if isinstance(result, (tuple, list)) else zeros[0]

    def backward() -> list[Any]:
        names = rule_arguments(row, arrays, tuple(outputs), dict(settings))
        return [rule.function(g, *[names[n] for n in rule.needs]) for rule in row.rules.values()]

    return result, count(backward)
