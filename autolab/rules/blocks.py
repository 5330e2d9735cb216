"""A long formula over large arrays, a block at a time: its intermediate results stay in the cache, and no memory is asked for them."""

import numpy as np

clip = getattr(np._core.umath, "clip", np.clip)  # what np.clip calls, without its wrapper
BLOCK = 32768  # entries: what a formula works on stays in the cache, and a call costs little beside it


def in_blocks(formula, first, *others, into=None):
    """formula(first, *others), entry by entry; in blocks for large arrays of one shape; as it is for all else.

    That is for Tensors, and for 0-d results; others may be numbers. into(first, *others, out) does the same for arrays of at least
    one axis, in the memory of `out`; without it the results of the formula are copied there.
    """
    if type(first) is not np.ndarray or first.size <= (BLOCK if into is None else 0) or not first.flags.c_contiguous:
        return formula(first, *others)
    for other in others:
        if type(other) in (int, float):
            continue
        if type(other) is not np.ndarray or other.shape != first.shape or other.dtype != first.dtype or not other.flags.c_contiguous:
            return formula(first, *others)
    out = np.empty(first.shape, first.dtype)
    flat, *arrays = (a.reshape(-1) if type(a) is np.ndarray else a for a in (out, first, *others))
    for start in range(0, flat.size, BLOCK):
        some = slice(start, start + BLOCK)
        if into is None:
            flat[some] = formula(*[a[some] if type(a) is np.ndarray else a for a in arrays])
        else:
            into(*[a[some] if type(a) is np.ndarray else a for a in arrays], flat[some])
    return out


def horner(coefficients, x, out):
    """c0 + c1 x + c2 x**2 + ... in the memory of `out`: by Horner's scheme, the last coefficient first."""
    np.multiply(x, coefficients[-1], out)
    for c in coefficients[-2:0:-1]:
        out += c
        out *= x
    out += coefficients[0]
