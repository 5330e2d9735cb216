"""Samples for rules/matrix.py. Where a factor is known only up to a sign or a rotation, the expression is of what is not."""

import numpy as np

import autolab.linalg  # its rows are loaded with it
from autolab.rules import TABLE

from .samples import Sample, normal

assert "det" in TABLE, autolab.linalg


def regular(rng, shape):
    """Far from singular."""
    return rng.standard_normal(shape) + (4 * np.eye(*shape[-2:]) if len(shape) > 1 else 0)


def spread(rng, shape):
    """With singular values far apart."""
    return rng.standard_normal(shape) * 0.1 + np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1)


def covariance(T, x):
    return x @ x.mT + T.eye(x.shape[-1], dtype=x.dtype)


def of_svd(T, x, full):
    u, s, vh = T.linalg.svd(x, full_matrices=full)
    k = s.shape[-1]
    return (u[..., :k] * s.sin()[..., None, :]) @ vh[..., :k, :]


def of_eigh(T, x):
    w, v = T.linalg.eigh(x + x.mT)
    return (v * w.exp()[..., None, :]) @ v.mT


SQUARE = "33; 233; 11"
SOLVES = "33 32; 233 232; 33 232; 11 12"

SAMPLES = [
    Sample("inv", lambda T, x: T.linalg.inv(x), SQUARE, (regular,)),
    Sample("solve", lambda T, a, b: T.linalg.solve(a, b), SOLVES, (regular, normal)),
    Sample("solve", lambda T, a, b: T.linalg.solve(a, b), "33 3; 233 23", (regular, normal), named="PyTorch does without squeezing"),
    *(
        Sample("solve_triangular", lambda T, a, b, u=u, i=i: T.linalg.solve_triangular(a, b, upper=u, unitriangular=i), SOLVES,
               (regular, normal))
        for u in (True, False)
        for i in (True, False)
    ),
    Sample("pinv", lambda T, x: T.linalg.pinv(x), "33; 24; 42; 232", (regular,)),
    Sample("det", lambda T, x: T.linalg.det(x), SQUARE, (regular,)),
    Sample("cofactor", lambda T, x: T.linalg.det(x)[..., None, None] * T.linalg.inv(x).mT, SQUARE, (regular,),
           ours=lambda T, x: TABLE["cofactor"](x), named="PyTorch has none"),
    Sample("slogdet", lambda T, x: T.linalg.slogdet(x)[1], SQUARE, (regular,)),
    Sample("cholesky", lambda T, x: T.linalg.cholesky(covariance(T, x)), SQUARE),
    Sample("eigh", of_eigh, SQUARE, (spread,), named="several nodes"),
    Sample("eigh", lambda T, x: T.linalg.eigvalsh(x + x.mT), SQUARE, (spread,), named="one output of several"),
    *(Sample("svd", lambda T, x, full=full: of_svd(T, x, full), "33; 24; 42; 232", (spread,), named="several nodes") for full in (False, True)),
    Sample("svd", lambda T, x: T.linalg.svdvals(x), "33; 24", (spread,), named="one output of several"),
    Sample("qr", lambda T, x: T.linalg.qr(x)[0] @ T.linalg.qr(x)[1].sin(), "33; 42; 232", (regular,), named="several nodes"),
    Sample("lu", lambda T, x: T.linalg.lu_factor(x, pivot=True)[0], "33; 233", (regular,), named="triangles put together"),
    Sample("lu_pivots", lambda T, x: T.linalg.lu_factor(x)[1], "33; 24; 243"),
    Sample("lu_order", lambda T, x: T.linalg.lu(x)[0], "33; 42; 243"),
    *(Sample("distances", lambda T, x, y: (x[..., :, None, :] - y[..., None, :, :]).norm(dim=-1), "34 24; 234 24; 34 234; 253 233",
             ours=lambda T, x, y, mode=mode: T.cdist(x, y, compute_mode=mode), named="PyTorch's cdist has no second derivative")
      for mode in ("donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist")),
    Sample("matrix_exp", lambda T, x: T.linalg.matrix_exp(x), SQUARE),
]  # fmt: skip
