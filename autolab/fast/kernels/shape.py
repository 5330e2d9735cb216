"""Views without NumPy's wrappers, which take longer than the views themselves."""

from typing import Any

import numpy as np

from autolab.fast.kernel import kernel
from autolab.rules import shape as rows


def expand(x: Any, *, shape: Any) -> Any:
    if x.size and x.flags.c_contiguous and x.flags.writeable and x.dtype.isbuiltin == 1:
        steps = (*(0,) * (len(shape) - x.ndim), *[0 if n == 1 else step for n, step in zip(x.shape, x.strides)])
        return np.ndarray(shape, x.dtype, x, 0, steps)
    return rows.stretched_view(x, shape)


kernel(rows.t, x=lambda g: g.T)
kernel(rows.transpose, x=lambda g, axes: g.transpose(rows.inverse(axes)))
kernel(rows.expand, expand)
