"""A long formula over large arrays, a block at a time: its intermediate results stay in the cache, and no memory is asked for them."""

import numpy as np

clip = getattr(np._core.umath, "clip", np.clip)  # what np.clip calls, without its wrapper
BLOCK = 32768  # entries: what a formula works on stays in the cache, and a call costs little beside it


def in_blocks(formula, first, *others, into=None):
    """formula(first, *others), entry by entry; in blocks for large arrays of one shape; as it is for all else.

    That is for Tensors, and for 0-d results. into(first, *others, out) does the same for arrays of at least one axis, in the memory
    of `out`; without it the results of the formula are copied there.
    """
    if type(first) is not np.ndarray or first.size <= (BLOCK if into is None else 0) or not first.flags.c_contiguous:
        return formula(first, *others)
    for other in others:
        if type(other) is not np.ndarray or other.shape != first.shape or other.dtype != first.dtype or not other.flags.c_contiguous:
            return formula(first, *others)
    out = np.empty(first.shape, first.dtype)
    flat, *arrays = (a.reshape(-1) for a in (out, first, *others))
    for start in range(0, flat.size, BLOCK):
        some = slice(start, start + BLOCK)
        if into is None:
            flat[some] = formula(*[a[some] for a in arrays])
        else:
            into(*[a[some] for a in arrays], flat[some])
    return out
