"""Samples for the rows of the special functions: rules/error_functions.py, gamma.py, bessel.py, polynomials.py."""

from autolab.rules import TABLE, bessel, error_functions, gamma, polynomials

from .samples import BINARY, POSITIVE, UNARY, Sample, integers, positive, weights


def inside(rng, shape):
    """Within (-1, 1)."""
    return rng.uniform(-0.9, 0.9, shape)


def probability(rng, shape):
    return rng.uniform(0.05, 0.95, shape)


def above_one(rng, shape):
    return positive(rng, shape) + 1


def special(name):
    return lambda T, x, *more: getattr(T.special, name)(x, *more)


LOADED = (error_functions, gamma, bessel, polynomials)  # by being imported: their rows enter the table
SAMPLES = [
    Sample("ndtr", special("ndtr"), UNARY, named="PyTorch's is made of erf"),
    *(Sample(name, special(name), UNARY) for name in "erfc erfcx log_ndtr i0 i0e i1 i1e".split()),
    Sample("erfinv", special("erfinv"), UNARY, (inside,)),
    Sample("ndtri", special("ndtri"), UNARY, (probability,)),
    Sample("entr", special("entr"), UNARY, POSITIVE),
    Sample("lgamma", special("gammaln"), UNARY, POSITIVE),
    Sample("lgamma", special("gammaln"), "34", (inside,)),
    Sample("digamma", special("digamma"), UNARY, POSITIVE),
    Sample("polygamma", lambda T, x: T.polygamma(1, x), UNARY, (above_one,)),
    Sample("polygamma", lambda T, x: T.polygamma(3, x), "34", POSITIVE),
    Sample("zeta", lambda T, q: T.special.zeta(2.5, q), UNARY, POSITIVE),
    Sample("igamma", lambda T, x: T.igamma(T.tensor(1.7, dtype=x.dtype), x), UNARY, (positive,)),
    Sample("igammac", lambda T, x: T.igammac(T.tensor(1.7, dtype=x.dtype), x), UNARY, (positive,)),
    *(Sample(name, special(name), UNARY, (weights,)) for name in TABLE if name in vars(bessel) and not TABLE[name].rules),
    *(Sample(name, special(name), BINARY, (weights, integers)) for name in TABLE if name in vars(polynomials)),
]
