"""Functions of matrices, statistics over several axes, choices, layouts and inputs that change places: each with its usual mistakes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import autolab
import autolab.nn.functional as F

from .generated import right, wrong

R = np.random.default_rng(11)


def fill() -> None:
    """All of them."""
    for some in (spectra, choleskys, normalisations, choices, layouts, exchanges, shifts):
        some()


def symmetric(a):
    return (a + a.T) / 2


def positive(n: int) -> np.ndarray:
    a = R.normal(size=(n, n))
    return a @ a.T + n * np.eye(n) + 0.3 * R.normal(size=(n, n))


def numbers(*shape: int) -> np.ndarray:
    return R.uniform(0.25, 1.75, shape) * R.choice([-1, 1], shape)


# --- functions of the eigenvalues of a symmetric matrix
SPECTRA: dict[str, tuple[Callable, Callable, Callable]] = {  # on tensors, on arrays, the derivative
    "exp": (lambda w: (0.2 * w).exp(), lambda w: np.exp(0.2 * w), lambda w: 0.2 * np.exp(0.2 * w)),
    "root": (lambda w: w.sqrt(), np.sqrt, lambda w: 0.5 / np.sqrt(w)),
    "log": (lambda w: w.log(), np.log, lambda w: 1 / w),
    "inverse root": (lambda w: w**-0.5, lambda w: w**-0.5, lambda w: -0.5 * w**-1.5),
}
OFF: dict[str, tuple[str, Callable]] = {  # of the quotients off the diagonal, f[i] - f[j], w[i] - w[j], and the diagonal
    "diagonal 0": ("term", lambda rise, gap, slope: rise / gap),
    "eigenvectors constant": ("diagonal only", lambda rise, gap, slope: np.diag(slope)),
    "gaps turned": ("term sign", lambda rise, gap, slope: np.diag(slope) - rise / gap),
    "not divided": ("factor|diagonal only", lambda rise, gap, slope: rise + np.diag(slope)),
    "only divided": ("factor|diagonal only", lambda rise, gap, slope: (1 / gap) * (rise != 0) + np.diag(slope)),
    "as numbers": ("function|step", lambda rise, gap, slope: slope[:, None] + 0 * rise),
}


def spectra() -> None:
    for name, (on_tensors, f, d) in SPECTRA.items():

        def function(x, on_tensors=on_tensors):
            w, v = autolab.linalg.eigh((x + x.mT) / 2)
            return (v * on_tensors(w)) @ v.mT

        def rule(table, rows=False, turned=True, f=f, d=d):
            def back(g, x):
                w, v = np.linalg.eigh(symmetric(x))
                rise, gap = f(w)[:, None] - f(w), w[:, None] - w + np.eye(len(w))
                k = table(rise, gap, d(w)) if table else rise / gap + np.diag(d(w))
                v = v.T if rows else v
                inner = k * (v.T @ symmetric(g) @ v)
                return symmetric(v @ inner @ v.T) if turned else inner

            return back

        x = (positive(4),)
        right(f"spectrum {name}", function, rule(None), x)
        for family, (kinds, table) in OFF.items():
            wrong(f"spectrum: {family}", f"spectrum {name}", function, rule(table), kinds, (), x)
        wrong("spectrum: rows for columns", f"spectrum {name}", function, rule(None, rows=True), "transposed", (), x)
        wrong("spectrum: not turned back", f"spectrum {name}", function, rule(None, turned=False), "factor", ("turned back",), x)


# --- through a Cholesky factor
CUTS: dict[str, tuple[str, dict]] = {
    "diagonal whole": ("mask", {"cut": np.tril}),
    "other triangle": ("mask", {"cut": lambda a: np.triu(a) - np.diag(np.diag(a)) / 2}),
    "whole matrix": ("mask|triangle", {"cut": lambda a: a - np.diag(np.diag(a)) / 2}),
    "first inverse not transposed": ("transposed", {"left": np.linalg.inv}),
    "last inverse transposed": ("transposed", {"last": lambda low: np.linalg.inv(low).T}),
    "factor not transposed": ("transposed", {"inner": lambda low, g: low @ g}),
    "not symmetrised": ("transposed", {"last_step": lambda a: a}),
}


def back_of_cholesky(low, g, cut=lambda a: np.tril(a) - np.diag(np.diag(a)) / 2, inner=lambda low, g: low.T @ g,
                     left=lambda low: np.linalg.inv(low).T, last=np.linalg.inv, last_step=symmetric):  # fmt: skip
    return last_step(left(low) @ cut(inner(low, np.tril(g))) @ last(low))


def choleskys() -> None:
    s, b = positive(4), numbers(4, 2)

    def factor(s):
        return autolab.linalg.cholesky((s + s.mT) / 2)

    def whiten(s, b):
        return autolab.linalg.solve_triangular(factor(s), b, upper=False)

    def of_factor(**how):
        return lambda g, s: back_of_cholesky(np.linalg.cholesky(symmetric(s)), g, **how)

    def of_whiten(**how):
        def back(g, s, b):
            low = np.linalg.cholesky(symmetric(s))
            of_b = np.linalg.solve(low.T, g)
            return back_of_cholesky(low, -of_b @ np.linalg.solve(low, b).T, **how), of_b

        return back

    for name, function, rule, given in (("cholesky", factor, of_factor, (s,)), ("whiten", whiten, of_whiten, (s, b))):
        right(name, function, rule(), given)
        for family, (kinds, how) in CUTS.items():
            if name == "whiten" and family == "not symmetrised":
                kinds += "|places"
            wrong(f"cholesky: {family}", name, function, rule(**how), kinds, (), given)


# --- statistics over several axes
AXES = ((0,), (2,), (0, 2), (1, 2), (0, 1, 2))


def scaled(kind: str, axes: tuple[int, ...]) -> Callable:
    """On tensors."""
    if kind == "softmax":
        return lambda x: (e := x.exp()) / e.sum(axes, keepdim=True)
    if kind == "unit":
        return lambda x: x / (x * x).sum(axes, keepdim=True).sqrt()
    if kind == "rms":
        return lambda x: x / ((x * x).mean(axes, keepdim=True) + 1e-5).sqrt()
    less = int(kind == "sample")
    return lambda x: (x - x.mean(axes, keepdim=True)) / x.var(axes, keepdim=True, correction=less).sqrt()


def scaled_back(kind: str, axes: tuple[int, ...], other=None, first: float = 1, second: float = 1, off: int = 0) -> Callable:
    """`other`: the axes of the sums over g; first, second: what its terms are multiplied by; off: added to n."""

    def back(g, x):
        along, n = other or axes, np.prod([x.shape[a] for a in axes])
        if kind == "softmax":
            p = np.exp(x) / np.exp(x).sum(axes, keepdims=True)
            return p * (g - second * (g * p).sum(along, keepdims=True))
        if kind in ("unit", "rms"):
            size = np.sqrt((x * x).sum(axes, keepdims=True)) if kind == "unit" else np.sqrt((x * x).mean(axes, keepdims=True) + 1e-5)
            share = (g * x / size).sum(along, keepdims=True) / (1 if kind == "unit" else n + off)
            return (g - second * x / size * share) / size
        less = int(kind == "sample")
        size = np.sqrt(x.var(axes, keepdims=True, ddof=less))
        z = (x - x.mean(axes, keepdims=True)) / size
        share = (g * z).mean(along, keepdims=True) * n / (n - less + off)
        return (g - first * g.mean(along, keepdims=True) - second * z * share) / size

    return back


def normalisations() -> None:
    x = (numbers(3, 4, 5),)
    for kind in ("softmax", "unit", "rms", "score", "sample"):
        for axes in AXES:
            name, function = f"{kind} over {axes}", scaled(kind, axes)
            right(name, function, scaled_back(kind, axes), x)
            for other in ((1,), (2,), (0, 1)):
                if other != axes:
                    wrong("statistics: other axes", name, function, scaled_back(kind, axes, other), "axis|wrong axis", (), x)
            wrong("statistics: a term missing", name, function, scaled_back(kind, axes, second=0), "term|upstream only", (), x)
            wrong("statistics: a sign", name, function, scaled_back(kind, axes, second=-1), "term sign", (), x)
            if kind in ("score", "sample"):
                wrong("statistics: the mean's share missing", name, function, scaled_back(kind, axes, first=0), "term", (), x)
            if kind == "sample":
                wrong("statistics: n for n - 1", name, function, scaled_back(kind, axes, off=1), "constant|number|size", (), x)
            if kind in ("rms", "score"):
                wrong("statistics: n - 1 for n", name, function, scaled_back(kind, axes, off=-1), "constant|number|size", (), x)


# --- choices along an axis
CHOICES: dict[str, tuple[Callable, Callable]] = {  # on tensors, and the order of which some are taken
    "sort": (lambda x, axis: x.sort(axis)[0], lambda x, axis: np.argsort(x, axis)),
    "sort down": (lambda x, axis: x.sort(axis, descending=True)[0], lambda x, axis: np.argsort(-x, axis)),
    "topk": (lambda x, axis: x.topk(2, axis)[0], lambda x, axis: np.take(np.argsort(-x, axis), [0, 1], axis)),
    "kthvalue": (lambda x, axis: x.kthvalue(2, axis, True)[0], lambda x, axis: np.take(np.argsort(x, axis), [1], axis)),
    "median": (lambda x, axis: x.median(axis, True)[0], lambda x, axis: np.take(np.argsort(x, axis), [(x.shape[axis] - 1) // 2], axis)),
}


def put(x, order, g, axis):
    out = np.zeros_like(x)
    np.put_along_axis(out, order, g, axis)
    return out


def choices() -> None:
    x = (numbers(5, 6),)
    for name, (function, order) in CHOICES.items():
        for axis in (0, 1):
            operation, on_tensors = f"{name} along {axis}", lambda x, f=function, axis=axis: f(x, axis)
            right(operation, on_tensors, lambda g, x, order=order, axis=axis: put(x, order(x, axis), g, axis), x)
            ranked = lambda x, order, axis, move: np.take_along_axis(  # noqa: E731  (another rank than the one that was taken)
                np.argsort(x, axis), move(np.take_along_axis(np.argsort(np.argsort(x, axis), axis), order(x, axis), axis), x.shape[axis]), axis)  # fmt: skip

            def moved(move, order=order, axis=axis, ranked=ranked):
                return lambda g, x: put(x, ranked(x, order, axis, move), g, axis)

            if name != "median" or axis:  # of five, the middle one is that of either end
                wrong("choice: the other end", operation, on_tensors, moved(lambda r, n: n - 1 - r), "mask|flipped", ("size", "larger"), x)
            if name in ("kthvalue", "median"):
                wrong("choice: the next larger", operation, on_tensors, moved(lambda r, n: r + 1), "mask", ("next larger",), x)
            if name.startswith("sort"):
                wrong("choice: forward's order", operation, on_tensors,
                      lambda g, x, order=order, axis=axis: np.take_along_axis(g, order(x, axis), axis), "permutation", (), x)  # fmt: skip
            if name == "topk":
                wrong("choice: not brought back", operation, on_tensors,
                      lambda g, x, axis=axis: put(x, np.indices(g.shape)[axis], g, axis), "permutation|mask", ("brought back",), x)  # fmt: skip


# --- layouts: an array is cut into axes that change places
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {  # shape, cut, order, shape of the result
    "pixel shuffle": ((1, 8, 2, 3), (1, 2, 2, 2, 2, 3), (0, 1, 4, 2, 5, 3), (1, 2, 4, 6)),
    "pixel unshuffle": ((1, 2, 4, 6), (1, 2, 2, 2, 3, 2), (0, 1, 3, 5, 2, 4), (1, 8, 2, 3)),
    "patches": ((1, 4, 6, 2), (1, 2, 2, 3, 2, 2), (0, 1, 3, 2, 4, 5), (1, 6, 8)),
    "heads": ((2, 4, 6), (2, 4, 3, 2), (0, 2, 1, 3), (2, 3, 4, 2)),
    "channel shuffle": ((2, 6, 3), (2, 2, 3, 3), (0, 2, 1, 3), (2, 6, 3)),
}


def layouts() -> None:
    for name, (shape, cut, order, after) in LAYOUTS.items():
        x = (numbers(*shape),)
        function = lambda x, cut=cut, order=order, after=after: x.reshape(cut).permute(order).reshape(after)  # noqa: E731

        def back(g, x, order=order, cut=cut):
            taken = [cut[k] for k in order]
            return g.reshape(taken).transpose(np.argsort(order)).reshape(x.shape)

        right(name, function, back, x)
        for one, two in ((k, k + 1) for k in range(1, len(order) - 1)):
            swapped = list(order)
            swapped[one], swapped[two] = swapped[two], swapped[one]

            def slip(g, x, swapped=tuple(swapped), cut=cut, back=back):
                return back(g, x, swapped, cut)

            got, want = slip(np.arange(x[0].size), x[0]), back(np.arange(x[0].size), x[0])
            if not np.array_equal(got, want):
                wrong(
                    "layout: two axes exchanged", name, function, slip, "permutation|forward|axis|flattened|transposed|upstream only", (), x
                )
        wrong("layout: reshape only", name, function, lambda g, x: g.reshape(x.shape), "permutation|upstream only|axis", (), x)


# --- inputs that change places
EXCHANGED: dict[str, tuple[Callable, Callable]] = {  # on tensors, and the two gradients on arrays
    "product with exp": (lambda a, b: a * b.exp(), lambda g, a, b: (g * np.exp(b), g * a * np.exp(b))),
    "divergence": (lambda a, b: (a * (a / b).log()).sum(1), lambda g, a, b: (g[:, None] * (np.log(a / b) + 1), -g[:, None] * a / b)),
    "power": (lambda a, b: a**b, lambda g, a, b: (g * b * a ** (b - 1), g * a**b * np.log(a))),
    "scores": (lambda a, b: (a @ b.mT).tanh(), lambda g, a, b: ((h := g * (1 - np.tanh(a @ b.T) ** 2)) @ b, h.T @ a)),
}


def exchanges() -> None:
    given = (R.uniform(0.3, 2.7, (4, 4)), R.uniform(0.3, 2.7, (4, 4)))
    for name, (function, back) in EXCHANGED.items():
        right(f"two inputs: {name}", function, two(back), given)
        wrong("exchanged: the gradients", name, function, two(lambda *a, back=back: back(*a)[::-1]), "swapped", (), given)
        wrong("exchanged: the inputs", name, function, two(lambda g, a, b, back=back: back(g, b, a)),
              "swapped|variable|transposed|order", (), given)  # fmt: skip


def two(back: Callable) -> Callable:
    """A rule with two arguments besides g, whatever its function calls them."""
    made = {"back": back}
    exec("def rule(g, a, b): return back(g, a, b)", made)
    return made["rule"]


# --- an index that is off by one
def shifts() -> None:
    x, index = numbers(5, 4), np.array([2, 0, 1, 2])
    rows = {"rows": (lambda x, i: x[i], 0), "columns": (lambda x, i: x[:, i], 1), "embedding": (lambda x, i: F.embedding(i, x), 0)}
    for name, (function, axis) in rows.items():

        def back(g, x, i, axis=axis, by=0, added=True):
            out = np.zeros_like(x)
            at = ((i + by) % x.shape[axis],) if axis == 0 else (slice(None), (i + by) % x.shape[axis])
            if added:
                np.add.at(out, at, g)
            else:
                out[at] = g
            return out, None

        right(f"index: {name}", function, back, (x, index))
        for by in (1, -1):
            wrong(
                "index: off by one",
                name,
                function,
                lambda g, x, i, back=back, by=by: back(g, x, i, by=by),
                "places|permutation",
                (),
                (x, index),
            )
        wrong("index: not added", name, function, lambda g, x, i, back=back: back(g, x, i, added=False), "overwritten", (), (x, index))
