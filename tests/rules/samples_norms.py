"""Samples for the row of batch norm, the numbers of PyTorch's beside it."""

from autolab.rules import TABLE

from .samples import Sample


def normed(T, x, w, b):
    out = T.nn.functional.batch_norm(x, None, None, w, b, True, 0.1, 1e-3)
    dims = [0, *range(2, x.ndim)]
    return T.cat([out.flatten(), x.mean(dims), x.var(dims, correction=0)])


def row(T, x, w, b):
    out, mean, var = TABLE["batch_norm"](x, w, b, eps=1e-3)
    return T.cat([out.flatten(), mean, var])


SAMPLES = [
    Sample("batch_norm", normed, "32 2 2; 323 2 2; 2223 2 2; 123 2 2", ours=row, named="statistics are results too"),
    Sample("batch_norm", lambda T, x, w, b: T.nn.functional.batch_norm(x, None, None, w, b, True), "43 3 3; 234 3 3; 3234 2 2"),
    Sample("batch_norm", lambda T, x: T.nn.functional.batch_norm(x, None, None, training=True), "323"),
]
