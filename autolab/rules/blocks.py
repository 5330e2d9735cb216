"""A long formula over large arrays, a block at a time: its intermediate results stay in the cache, and no memory is asked for them."""

import numpy as np

BLOCK = 16384  # entries: some ten intermediate results of a block fit into the cache beside each other


def in_blocks(formula, first, *others):
    """formula(first, *others), entry by entry; in blocks for large arrays of one shape; as it is for all else.

    That is for Tensors, and for 0-d results.
    """
    if type(first) is not np.ndarray or first.size <= BLOCK or not first.flags.c_contiguous:
        return formula(first, *others)
    for other in others:
        if type(other) is not np.ndarray or other.shape != first.shape or not other.flags.c_contiguous:
            return formula(first, *others)
    out = np.empty(first.shape, first.dtype)
    flat, *arrays = (a.reshape(-1) for a in (out, first, *others))
    for start in range(0, flat.size, BLOCK):
        some = slice(start, start + BLOCK)
        flat[some] = formula(*[a[some] for a in arrays])
    return out
