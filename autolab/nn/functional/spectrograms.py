"""PyTorch's `torch.stft` and `torch.istft`: the Fourier transforms of short pieces of a signal, and the signal that has them.

Both are built of operations that have gradients, so they have them, too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import autolab as torch
from autolab import fft as transforms
from autolab.engine.tensor import Tensor
from autolab.nn.functional.padding import pad
from autolab.torch_api.dims import require_tensor

LEAST = 1e-11  # a sum of squared windows that is smaller is taken for 0


def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Short-time Fourier transform: the spectrum of each frame of n_fft entries, a frame every hop_length (n_fft // 4).

    Shapes: input (B, L) or (L,), real or complex; window (win_length,), ones by default, zeros around it up to n_fft;
    result (B, N, T) complex, N = n_fft // 2 + 1 if onesided (the default for real numbers), else n_fft. With `center` the signal is padded
    by n_fft // 2 at both ends, so that frame t is around entry t * hop_length. return_complex=False gives pairs, (B, N, T, 2).
    Raises RuntimeError for lengths that do not fit, and for real input without `return_complex`.

    >>> x = torch.cos(torch.arange(16.) * torch.pi / 2)   # a period of 4 entries: the third of 5 frequencies
    >>> torch.stft(x, n_fft=8, hop_length=4, return_complex=True).abs().round().int()[:, 2]
    tensor([0, 0, 4, 0, 0], dtype=torch.int32)
    """
    x = require_tensor(input, "stft")
    if align_to_window:
        if center:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        raise NotImplementedError("stft: align_to_window=True is not supported; pad the signal by (n_fft - win_length) // 2 first.")
    if return_complex is None:
        if not (x.is_complex() or (window is not None and window.is_complex())):
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if x.ndim not in (1, 2) or not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor of floating point or complex values; it is {x.dtype} of {x.ndim}D")
    hop, width = _lengths("stft", n_fft, hop_length, win_length, window)
    if center:
        x = pad(x.reshape(1, -1, x.shape[-1]), [n_fft // 2, n_fft // 2], pad_mode).reshape(*x.shape[:-1], -1)
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    taps = _whole_window(x, n_fft, width, window)
    halved = not (x.is_complex() or taps.is_complex())
    if onesided and not halved:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    transform = transforms.rfft if halved and onesided in (None, True) else transforms.fft
    frames = x.unfold(-1, n_fft, hop) * taps
    out = transform(frames, norm="ortho" if normalized else "backward").transpose(-1, -2)
    return out if return_complex else torch.view_as_real(out)


def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose short-time Fourier transform is nearest to `input`, by least squares: the inverse of `stft`.

    Shapes: input (B, N, T) or (N, T), complex; result (B, L) or (L,), real unless `return_complex`. `length` cuts the result, or
    puts zeros behind it. Raises RuntimeError where the windows leave an entry without weight.
    Source: Griffin and Lim, Signal estimation from modified short-time Fourier transform, 1984.

    >>> x, window = torch.arange(12.), torch.hann_window(8)
    >>> spectrum = torch.stft(x, 8, window=window, return_complex=True)
    >>> torch.allclose(torch.istft(spectrum, 8, window=window, length=12), x, atol=1e-5)
    True
    """
    X = require_tensor(input, "istft")
    if not X.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True. "
            "Of pairs: torch.view_as_complex(input)."
        )
    if X.ndim not in (2, 3) or not X.numel():
        raise RuntimeError(f"istft: expected a non-empty tensor with 2 or 3 dimensions, but got shape {list(X.shape)}")
    hop, width = _lengths("istft", n_fft, hop_length, win_length, window)
    onesided = X.shape[-2] != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if X.shape[-2] != expected:
        raise RuntimeError(f"istft: expected the frequency dimension (2nd to the last) of the input tensor to match n_fft: {expected}; "
                           f"it is {X.shape[-2]}")  # fmt: skip
    if return_complex and onesided:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    norm, spectra = "ortho" if normalized else "backward", X.transpose(-1, -2)
    if return_complex:
        frames = transforms.ifft(spectra, norm=norm)
    else:  # of a real signal the other half of the spectrum says nothing new, and is not read
        frames = transforms.irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    taps = _whole_window(frames, n_fft, width, window)
    count = frames.shape[-2]
    total = n_fft + hop * (count - 1)
    y = _overlapping(frames * taps, hop, total)
    weights = _overlapping((taps * taps).expand(count, n_fft), hop, total)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    y, weights = y[..., start:end], weights[..., start:end]
    least = float(np.abs(weights.detach().numpy()).min(initial=np.inf))
    if least <= LEAST:
        raise RuntimeError(f"istft(...) window overlap add min: {least:g}. The windows leave an entry without weight: overlap them more.")
    y, missing = y / weights, end - start - y.shape[-1]
    if missing <= 0:
        return y
    warnings.warn(
        "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
        "Please check your center and hop_length settings.",
        stacklevel=2,
    )
    return pad(y, [0, missing])


def _lengths(name: str, n_fft: int, hop: int | None, width: int | None, window: Tensor | None) -> tuple[int, int]:
    """hop_length and win_length, looked at."""
    hop, width = n_fft // 4 if hop is None else hop, n_fft if width is None else width
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got window with size {list(window.shape)}"
        )
    return hop, width


def _whole_window(x: Any, n_fft: int, width: int, window: Tensor | None) -> Tensor:
    """The window with zeros at both sides, as long as a frame."""
    taps = torch.ones(width, dtype=x.real.dtype if x.is_complex() else x.dtype) if window is None else window
    left = (n_fft - width) // 2
    return pad(taps, [left, n_fft - width - left]) if width < n_fft else taps


def _overlapping(frames: Tensor, hop: int, total: int) -> Tensor:
    """Frames (..., T, n) laid over each other, hop entries apart, and added up."""
    lead, (count, n) = frames.shape[:-2], frames.shape[-2:]
    columns = frames.transpose(-1, -2).reshape(-1, n, count)
    return torch.nn.functional.fold(columns, (1, total), (1, n), stride=(1, hop)).reshape(*lead, total)
