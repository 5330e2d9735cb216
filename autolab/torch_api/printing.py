"""How a tensor prints: as PyTorch prints it, so that what a student reads here reads the same there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor


class Options:
    """How tensors are printed: what `set_printoptions` sets."""

    precision = 4
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """How many digits (4), from how many entries on to summarise (1000), how many to show at each end (3), how wide (80).

    profile: "default", "short" or "full"; sci_mode: True, False, or None for as the numbers are.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3])
    tensor([0.33])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        Options.precision, Options.threshold, Options.edgeitems, Options.linewidth = {
            "default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, 10**12, 3, 80),
        }[profile]  # fmt: skip
    for name, value in dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth).items():
        if value is not None:
            setattr(Options, name, value)
    Options.sci_mode = sci_mode


class Formatter:
    """One format for all numbers of a tensor: integers with a point, fixed decimals, or scientific, all of one width.

    As in PyTorch, the format follows from the entries that are finite and not 0; `inf`, `nan` and `-0.` may stick out.
    """

    def __init__(self, values: Any) -> None:
        self.floating = values.dtype in dtypes.FLOATING
        self.whole, self.scientific, self.width = True, False, 1
        self.parts: tuple[Formatter, Formatter] | None = None
        values = values.reshape(-1)
        if values.dtype in dtypes.COMPLEX:
            self.parts = Formatter(values.real), Formatter(values.imag)
            self.width = self.parts[0].width + self.parts[1].width + 1
            return
        if self.floating:
            values = values.astype(np.float64)
            values = values[np.isfinite(values) & (values != 0)]
            if values.size:
                sizes = np.abs(values)
                low, high = float(sizes.min()), float(sizes.max())
                self.whole = bool(np.all(sizes == np.ceil(sizes)))
                self.scientific = high / low > 1000 or high > 1e8 or (low < 1e-4 and not self.whole)
                if Options.sci_mode is not None:
                    self.scientific = Options.sci_mode
        self.width = max((len(self.text(v)) for v in values.tolist()), default=1)

    def text(self, v: Any) -> str:
        if not self.floating:
            return str(v)
        if self.scientific:
            return f"{v:.{Options.precision}e}"
        if self.whole:
            return f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
        return f"{v:.{Options.precision}f}"

    def __call__(self, v: Any) -> str:
        if self.parts is not None:  # the real parts in a column, the imaginary ones behind them with their signs
            imag = self.parts[1].text(v.imag)
            return f"{self.parts[0](v.real)}{'' if imag.startswith('-') else '+'}{imag}j"
        return self.text(v).rjust(self.width)


def _vector(a: Any, indent: int, summarise: bool, form: Formatter) -> str:
    per_line = max(1, (Options.linewidth - indent) // (form.width + 2))
    edge = Options.edgeitems
    if summarise and len(a) > 2 * edge:
        words = [form(v) for v in a[:edge].tolist()] + [" ..."] + [form(v) for v in a[-edge:].tolist()]
    else:
        words = [form(v) for v in a.tolist()]
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(a: Any, indent: int, summarise: bool, form: Formatter) -> str:
    if a.ndim == 0:
        return form(a.item())
    if a.ndim == 1:
        return _vector(a, indent, summarise, form)
    edge = Options.edgeitems
    if summarise and len(a) > 2 * edge:
        parts = [_nested(x, indent + 1, summarise, form) for x in a[:edge]]
        parts += ["..."] + [_nested(x, indent + 1, summarise, form) for x in a[-edge:]]
    else:
        parts = [_nested(x, indent + 1, summarise, form) for x in a]
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _ends(a: Any) -> Any:
    """The entries that a summary shows, for choosing the format."""
    edge = Options.edgeitems
    for axis in range(a.ndim):
        if a.shape[axis] > 2 * edge:
            n = a.shape[axis]
            a = np.take(a, [*range(edge), *range(n - edge, n)], axis)
    return a


def numbers(array: Any, indent: int) -> str:
    """The entries of an array, as they stand inside tensor(...)."""
    array = np.asarray(array)
    if array.dtype in dtypes.NARROW and array.dtype != np.float16:  # bfloat16
        array = array.astype(np.float32)
    summarise = array.size > Options.threshold
    return _nested(array, indent, summarise, Formatter(_ends(array) if summarise else array))


def tensor_repr(self: Tensor) -> str:
    """PyTorch's text for a tensor: `tensor([1., 2.], grad_fn=<MulBackward0>)`."""
    cls = type(self)
    prefix = "tensor(" if cls is Tensor or cls.__module__.startswith("autolab.") else f"{cls.__name__}("
    array = np.asarray(self.payload)
    suffixes = []
    usual = array.dtype in (dtypes.default.floating, dtypes.complex_of(dtypes.default.floating), np.int64, np.bool_)
    if array.size == 0:
        text = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        usual = array.dtype == dtypes.default.floating
    else:
        text = numbers(array, len(prefix))
    if not usual:
        suffixes.append(f"dtype={self.dtype}")
    try:
        node = self.grad_fn
    except RuntimeError:  # a view whose history cannot be told
        suffixes.append("grad_fn=<Invalid>")
        return _join(prefix + text, suffixes)
    if node is not None:
        suffixes.append(f"grad_fn=<{type(node).__name__}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    return _join(prefix + text, suffixes)


def _join(text: str, suffixes: list[str]) -> str:
    """Put what is said about a tensor behind its numbers, on a new line where it does not fit."""
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > Options.linewidth:
            text, last = text + ",\n" + " " * 7 + suffix, 7 + len(suffix)
        else:
            text, last = f"{text}, {suffix}", last + len(suffix) + 2
    return text + ")"
