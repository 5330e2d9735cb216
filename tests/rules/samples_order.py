"""Samples for the rows of rules/order.py, and for those of rules/reduce.py that run along a line."""

import numpy as np

from .samples import Sample, integers, normal


def distinct(rng, shape):
    """No two alike, so that each entry has its rank."""
    return rng.permutation(int(np.prod(shape, dtype=int))).reshape(shape) - 4.5


LINES = "34; 232; 5"
SAMPLES = [
    *(Sample("sort", lambda T, x, d=d: x.sort(descending=d)[0], LINES, (distinct,)) for d in (False, True)),
    Sample("sort", lambda T, x: x.sort(0).values, "34; 232; 03", (distinct,)),
    Sample("argsort", lambda T, x: x.argsort(0, descending=True), LINES, (distinct,)),
    Sample("topk", lambda T, x: x.topk(2)[0], "34; 232; 5; 03", (distinct,)),
    Sample("topk", lambda T, x: x.topk(1, 0, largest=False)[0], LINES, (distinct,)),
    Sample("kthvalue", lambda T, x: x.kthvalue(2)[0], "34; 232; 5", (distinct,)),
    Sample("kthvalue", lambda T, x: x.kthvalue(1, 0, keepdim=True)[0], "34; 232", (distinct,)),
    Sample("median", lambda T, x: x.median(), "34; 232; .", (distinct,)),
    Sample("nanmedian", lambda T, x: x.nanmedian(), "34; 232; .", (distinct,)),
    Sample("median_along", lambda T, x: x.median(-1)[0], LINES, (distinct,)),
    Sample("nanmedian_along", lambda T, x: x.nanmedian(0, keepdim=True)[0], LINES, (distinct,)),
    Sample("mode", lambda T, x: x.mode(-1)[0], LINES, (distinct,)),
    Sample("mode", lambda T, x: x.mode(0)[0], LINES, (integers,)),
    Sample("cummax", lambda T, x: x.cummax(-1)[0], "34; 232; 5; 03", (normal,)),
    Sample("cummin", lambda T, x: x.cummin(0)[0], "34; 232; 5; 03", (normal,)),
    Sample("cumprod", lambda T, x: x.cumprod(-1), "34; 232; 7; 20; 31"),
    Sample("cumprod", lambda T, x: x.cumprod(0), "34; 232; 7; 03"),
    Sample("logcumsumexp", lambda T, x: x.logcumsumexp(-1), "34; 232; 7; 20"),
    Sample("logcumsumexp", lambda T, x: x.logcumsumexp(0), "34; 232"),
    Sample("nansum", lambda T, x: x.nansum(), "34; 5; ."),
    Sample("nansum", lambda T, x: x.nansum((0, -1), keepdim=True), "34; 232"),
]
