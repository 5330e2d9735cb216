"""A forward written in NumPy's words, without a rule: the engine differentiates it as arrays mean it, and slips in it are named."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.check.diagnosis.budget import begin_check
from autolab.check.run.numpy_tensor import NotFollowed, on_tensors
from autolab.check.run.reference import Reference
from autolab.engine.op import GENERAL, Op
from autolab.torch_api.creation import from_numpy

X = np.random.default_rng(3).uniform(0.3, 1.7, (4, 4))
INDEX = np.array([2, 0, 2])


def filled(x):
    out = np.empty_like(x)
    for t in range(len(x)):
        out[t] = 2 * x[t] + (out[t - 1] if t else 0)
    return out


def averaged(x):
    total, count = np.zeros(3), np.full(3, 1.0)
    np.add.at(total, INDEX, x[:3, 0] * x[1:, 1])
    np.add.at(count, INDEX, 1.0)
    return np.array([total[0] / count[0], total[1], 2.0, total[2] / count[2]])


def written(x):
    out = np.zeros((4, 4))
    for i in range(4):
        for j in range(i):
            out[i, j] = helper(x[i] - x[j])
    return out + out.T


def helper(d):
    return np.asarray([np.sum(d * d), np.ones(2)[0]])[0]


def between(x):
    at = 2 * x.ravel()
    i = np.clip(np.floor(at).astype(int), 0, 2)
    f = at - i
    table = np.array([1.0, 3.0, 2.0, 5.0])
    return (1 - f) * table[i] + f * table[i + 1] + x[0][np.argsort(x[1])][np.searchsorted(np.arange(3.0), x[2, 0])]


WORDS = [
    lambda x: np.cross(x[:, :3], x[:, 1:]) + np.cross(np.broadcast_to(x[0, :3], (4, 3)), x[:, 1:]),
    lambda x: np.pad(x, ((1, 1), (0, 2))) ** 2 + np.pad(x, ((2, 0), (1, 1)), constant_values=2.0),
    lambda x: np.pad(x, 1, mode="reflect") * np.pad(x, 1, mode="edge"),
    lambda x: np.convolve(x[0], x[1]) + np.convolve(x[2], x[3, :3], "same").sum() + np.convolve(x[0, :2], x[1], "valid").sum(),
    lambda x: np.convolve(x[0], [1.0, 2.0], "valid") + np.correlate(x[0], x[1, :2]),
    lambda x: np.kron(x[:2], x) + np.add.outer(x[0], x[1]).sum() + np.multiply.outer(np.arange(3.0), x[0]).sum(),
    lambda x: np.average(x, axis=1, weights=x * x) + np.average(x, axis=0, weights=np.arange(1.0, 5.0)) + np.average(x),
    lambda x: np.ptp(x, 1) * np.amax(x, axis=0) - np.amin(x) + np.prod(x, axis=(0, 1)) + x.prod(axis=(0,), keepdims=True)[0],
    lambda x: np.rot90(x) * np.fliplr(x) + np.delete(x, 1, 0).sum() + np.atleast_2d(x[0]) + x.flat[3],
    lambda x: np.column_stack([x, x[0] ** 2])[:, 3:] + np.append(x, x)[:2] + np.append(x[0], 1.0)[-2:],
    lambda x: np.inner(x, x) * np.vdot(x, x) + np.partition(x, 1, axis=1)[:, :2].sum(),
    lambda x: np.bincount([0, 1, 1, 2], weights=x[0]) * np.logaddexp.reduce(x, axis=1)[:3],
    lambda x: np.multiply.accumulate(x, 1) + np.add.accumulate(x, 0) * np.maximum.accumulate(x, 0) + np.cumsum(x)[-1],
    lambda x: np.trapezoid(x) + np.trapezoid(x, np.cumsum(x[0]), axis=0) + np.trapezoid(x, dx=0.5, axis=0),
    lambda x: np.cbrt(x) * np.radians(x) + np.degrees(x) * np.heaviside(x - 1, 0.5),
]

FORWARDS = [
    *WORDS,
    averaged,
    written,
    between,
    lambda x: np.full((2, 4), x.sum(0)) * np.full_like(x[:2], 2.0),
    lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True),
    lambda x: x / x.var(0, ddof=1),
    lambda x: np.std(x, 0) + np.var(x, axis=1, ddof=1) + np.var(x),
    lambda x: (x - x.min(-1, keepdims=True)) / (np.max(x, -1, keepdims=True) - x.min()),
    lambda x: np.log(np.diag(np.exp(x) / np.exp(x).sum(-1, keepdims=True))).mean(),
    lambda x: np.einsum("ij,kj->ik", x, x) + np.trace(x) * np.outer(x[0], x[:, 1]),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=-1)[..., ::2, :].max(-1),
    lambda x: np.median(x, -1) + np.median(x[:, :3], axis=-1),
    lambda x: np.linalg.norm(x, axis=-1) + np.linalg.norm(x) * np.linalg.norm(x, "nuc"),
    lambda x: np.linalg.svd(x, compute_uv=False).sum() + np.linalg.slogdet(x @ x.T)[1],
    lambda x: np.linalg.cholesky(x @ x.T + np.eye(4)) + np.linalg.solve(x, x.T[0]),
    lambda x: np.abs(np.fft.rfft(x)) ** 2,
    lambda x: np.diff(x, axis=0) ** 2 + np.square(x)[1:].T.transpose(1, 0),
    lambda x: x.repeat(2, 0)[INDEX] + np.repeat(x, 3, axis=1)[INDEX, ::3] + x.take(INDEX, axis=0),
    lambda x: x.reshape(2, -1).cumsum(1).prod(1) + np.sort(x.ravel())[:2] + np.clip(x, 0.5, 1).sum(),
    lambda x: np.add.reduce(x, axis=1) + np.maximum.reduce(x, 1) + np.dot(x, x[0]) + abs(-x)[0] ** 1.5 / 2**x,
    lambda x: x[::-1] * x[..., 3:0:-2, None][:, ::-1].sum() + x[INDEX, ::-1].sum() + x[1, None, ::-3] @ x[-1:0:-2, :2].sum(0),
    filled,
]


@pytest.mark.parametrize("forward", FORWARDS)
def test_the_engine_gives_the_derivative_of_what_arrays_do(forward):
    right = Reference.of(Op("forward", forward, GENERAL, x=derivative_of_forward))
    names = right.environment([X], {})
    g = np.random.default_rng(1).normal(size=names["out"].shape)
    steps = [X + s * 1e-6 * d for d in np.eye(16).reshape(16, 4, 4) for s in (1, -1)]
    up, down = (np.stack([np.sum(g * forward(a)) for a in steps[k::2]]) for k in (0, 1))
    np.testing.assert_allclose(right.gradient("x", g, names).ravel(), (up - down) / 2e-6, rtol=1e-5, atol=1e-6)
    assert right.on_tensors and right.precision == 1e-12


@pytest.mark.parametrize("escape", [np.asarray, float, lambda x: x.tobytes(), lambda x: x if x.sum() > 0 else -x])
def test_what_would_take_numbers_out_is_not_followed(escape):
    with pytest.raises(NotFollowed):
        on_tensors(lambda x: x * escape(x.sum()))(from_numpy(X))


def test_an_array_that_forward_fills_without_the_input_stays_an_array():
    def forward(x):
        weights = np.zeros(3)
        weights[1] = 2.0
        return x * np.convolve(weights, [1.0, 1.0], "same")[1]  # which knows no tensors

    right = Reference.of(Op("forward", forward, GENERAL, x=derivative_of_forward))
    np.testing.assert_array_equal(right.gradient("x", np.ones_like(X), right.environment([X], {})), 2 * np.ones_like(X))
    assert right.on_tensors and right.precision == 1e-12


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def margin(x, y):
    return np.log(np.diag(softmax(x @ y.T))).sum()


def groups(x, *, eps):
    h = x.reshape(len(x), 2, -1)
    return ((h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + eps)).reshape(x.shape)


def groups_rule(g, x, eps, mean=True, var=True):
    h, d = x.reshape(len(x), 2, -1), g.reshape(len(x), 2, -1)
    s = np.sqrt(h.var(-1, keepdims=True) + eps)
    n = (h - h.mean(-1, keepdims=True)) / s
    return ((d - mean * d.mean(-1, keepdims=True) - var * n * (d * n).mean(-1, keepdims=True)) / s).reshape(x.shape)


GROUPS = Spec("groups", Op("groups", groups, GENERAL, x=derivative_of_forward), shapes=(((3, 6),), ((4, 4),)), settings=({"eps": 0.1},))
MARGIN = Spec("margin", Op("margin", margin, GENERAL, x=derivative_of_forward, y=derivative_of_forward), shapes=(((5, 3), (5, 3)), ((4, 4), (4, 4))))  # fmt: skip


def margin_rule(g, x, y, axis=-1, turned=True):
    d = g * (np.eye(len(x)) - softmax(x @ y.T, axis))
    return d @ y, (d.T if turned else d) @ x


@pytest.mark.parametrize(
    ("spec", "rule", "words"),
    [
        (GROUPS, lambda g, x, eps: groups_rule(g, x, eps, mean=False), "through mean"),
        (GROUPS, lambda g, x, eps: groups_rule(g, x, eps, var=False), "through var"),
        (MARGIN, lambda g, x, y: margin_rule(g, x, y, axis=0), "another axis"),
        (MARGIN, lambda g, x, y: margin_rule(g, x, y, turned=False), "transposed"),
    ],
)
def test_a_slip_in_such_a_forward_is_named(spec, rule, words):
    found = check(spec, rule).diagnoses
    assert words in found[0].text and "Or it" not in found[0].text


@pytest.mark.parametrize("spec", [GROUPS, MARGIN])
def test_a_right_rule_for_it_passes(spec):
    assert check(spec, groups_rule if spec is GROUPS else margin_rule).passed


def picky(x):
    """Of positive numbers a function on tensors; of others one that only arrays go through."""
    return np.log(x) if np.all(np.asarray(x) > 0) else np.asarray(np.asarray(x).tolist(), dtype=float) ** 2


@pytest.mark.parametrize("is_tried", [True, False])
def test_a_call_that_no_check_makes_decides_nothing_for_those_it_makes(is_tried):
    reference = Reference.of(Op("picky", picky, GENERAL, x=derivative_of_forward))
    x, g = -X, np.ones_like(X)
    with reference.trying(is_tried):
        np.testing.assert_allclose(reference.gradient("x", g, reference.environment([x], {})), 2 * x, rtol=1e-6)
    assert (reference.on_tensors, reference.precision < 1e-10) == (is_tried, is_tried)
    begin_check(reference)  # as a grader does for the next submission
    assert reference.precision < 1e-10
