"""Rows of Fourier transforms. All are linear, and the matrix of a transform is symmetric, so each is its own transpose.

Axes are negative. `norm` is NumPy's: where the division by the number of points is, "backward" (in the inverse), "ortho" (its root in
both) or "forward".
"""

import numpy as np

from autolab.engine.op import ADJOINT, HOLOMORPHIC, LINEAR, op

L = LINEAR

# The inverse transform of the same norm divides by what is left.
OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}

fft = op(
    "fft", lambda x, *, axes, norm: np.fft.fftn(x, axes=axes, norm=norm), L, node="FftC2CBackward0", complex=HOLOMORPHIC,
    x=lambda g, axes, norm: fft(g, axes=axes, norm=norm),
)  # fmt: skip
ifft = op(
    "ifft", lambda x, *, axes, norm: np.fft.ifftn(x, axes=axes, norm=norm), L, node="FftC2CBackward0", complex=HOLOMORPHIC,
    x=lambda g, axes, norm: ifft(g, axes=axes, norm=norm),
)  # fmt: skip


def along(axis, values):
    """Values along one axis, to be multiplied with an array."""
    return np.reshape(values, (-1,) + (1,) * (-axis - 1))


def lengthened(g, n, axis):
    """g with zeros behind it along an axis, up to n entries."""
    shape = list(g.shape)
    shape[axis] = n - g.shape[axis]
    return np.concatenate([g, np.zeros(shape, g.dtype)], axis=axis)


def twice(count, n, dtype):
    """How often each of the first `count` numbers of a spectrum of n is in the whole: all but the first, and the middle one, twice."""
    k = np.arange(count)
    return np.where((k == 0) | (2 * k == n), 1, 2).astype(dtype)


# Of real numbers, half of the spectrum: the other half are its conjugates. Each number has its share in the real part alone.
rfft = op(
    "rfft", lambda x, *, axis, norm: np.fft.rfft(x, axis=axis, norm=norm), L, node="FftR2CBackward0", complex=ADJOINT,
    x=lambda g, x_shape, axis, norm: np.real(ifft(lengthened(g, x_shape[axis], axis), axes=(axis,), norm=OTHER[norm])),
)  # fmt: skip
# The n real numbers that half a spectrum stands for.
irfft = op(
    "irfft", lambda x, *, n, axis, norm: np.fft.irfft(x, n, axis=axis, norm=norm), L, node="FftC2RBackward0", complex=ADJOINT,
    x=lambda g, x_shape, n, axis, norm: rfft(g, axis=axis, norm=OTHER[norm]) * along(axis, twice(x_shape[axis], n, g.dtype)),
)  # fmt: skip
