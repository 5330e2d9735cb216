"""Numbers as a reader sees them, and large tensors as a summary that says so."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

COMPLETE = 64  # a tensor up to this many elements is written out in full
INLINE = 6  # a tensor up to this many elements is shown as numbers inside a sentence
HEAT = 12, 24  # rows and columns of the heat map beside it
BINS = 20  # of the histogram beside it
CHUNK = 1 << 16  # elements that are counted at a time
CORNER = 4  # rows and columns of the corner that stands for a larger one
FLOATS = float, np.floating


def number(x: complex | np.generic, digits: int = 6) -> str:
    """One number as text, with at most `digits` significant digits; a zero has no sign.

    >>> number(30.0), number(-0.1234567), number(float("nan")), number(True), number(1.5 - 2j), number(-0.0)
    ('30', '-0.123457', 'nan', 'True', '1.5-2j', '0')
    """
    if isinstance(x, FLOATS):
        return format(float(x), "z.6g" if digits == 6 else f"z.{digits}g")  # z: no minus before a zero
    if isinstance(x, (complex, np.complexfloating)):
        return f"{x.real:z.{digits}g}{x.imag:+z.{digits}g}j"
    if isinstance(x, (bool, np.bool_)):
        return str(bool(x))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    return f"{float(x):.{digits}g}"


def narrow(x: complex, width: int = 8) -> str:
    """One number in at most `width` characters, for a label on an edge; a complex one needs a few more in the worst case.

    >>> narrow(30.0), narrow(-0.000123456), narrow(12345678901.0), narrow(3.14159 - 2j)
    ('30', '-0.00012', '1.23e+10', '3.142-2j')
    """
    text = number(x, width)
    digits = width - 1
    while len(text) > width and digits:
        text = number(x, digits)
        digits -= 1
    return text


def shape_text(shape: Iterable[int]) -> str:
    """A shape in PyTorch's notation: [2, 3]."""
    return f"[{', '.join(map(str, shape))}]"


def _plain(x):
    # JSON has no nan and no infinity; everything finite is exact, because every dtype here fits into a double.
    if isinstance(x, list):
        return [_plain(item) for item in x]
    if isinstance(x, float) and not math.isfinite(x):
        return number(x)
    return x


def _nested_list(array):
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind == "c":
        return _written(array.tolist())
    return _plain(array.astype(np.float64).tolist())


def _written(x):
    # JSON has no complex numbers either: text, with all digits.
    if isinstance(x, list):
        return [_written(item) for item in x]
    return str(x).strip("()") if x.real else f"0{x.imag + 0.0:+}j"


def _read(item):
    if not isinstance(item, str):
        return item
    return complex(item) if item.endswith("j") else float(item)


def sizes(data: Any) -> np.ndarray:
    """The numbers of `TraceValue.data` as floats: of complex ones the magnitudes.

    >>> sizes([1.0, "nan"]), sizes(["3+4j", "0-2j"])
    (array([ 1., nan]), array([5., 2.]))
    """
    array = np.asarray(data)
    if array.dtype.kind == "U" and any(text.endswith("j") for text in array.flat):
        return np.abs(array.astype(complex))
    return np.asarray(data, float)


def _inline(array):
    if array.ndim == 0:
        return number(array[()])
    return f"[{', '.join(_inline(item) for item in array)}]"


@dataclass(slots=True)
class TraceValue:
    """A tensor in a trace.

    Up to 64 elements, `data` holds every number exactly, complex ones as text ("3+4j"). Beyond that `data` is None and the summary
    stands for it: `low`, `high` and `mean` of the finite elements, how many are not finite, a `corner` of at most 4 by 4, a small
    map of its `heat`, the `counts` of a histogram (None in a trace of version 2), and a `fingerprint` of the bytes, so that two
    runs can be compared. Of complex numbers all but the corner and the fingerprint speak of magnitudes.

    >>> from autolab.trace import graph
    >>> small, large = (graph(torch.ones(n, requires_grad=True) * 2).nodes[0].value for n in (2, 1000))
    >>> small.data, small.text
    ([2.0, 2.0], '[2, 2]')
    >>> large.data, large.mean, large.text
    (None, 2.0, '[1000], all 2')
    """

    shape: tuple[int, ...]
    dtype: str
    text: str
    data: Any = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    nonfinite: int | None = None
    corner: Any = None
    fingerprint: str | None = None
    heat: list[str] | None = None
    counts: list[int] | None = None

    @property
    def complete(self) -> bool:
        """Whether every element is in the trace."""
        return self.data is not None

    @property
    def label(self) -> str:
        """At most eight characters: the number, the shape, or how many dimensions: "30", "[64,10]", "[4-d]"."""
        if not self.shape and self.data is not None:
            return narrow(_read(self.data))
        size = f"[{','.join(map(str, self.shape))}]"
        return size if len(size) <= 8 else f"[{len(self.shape)}-d]"

    @property
    def phrase(self) -> str:
        """The value inside a sentence: its numbers if they are few, else its shape and range."""
        return self.text if self.data is not None and math.prod(self.shape) <= INLINE else f"a tensor {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; members that say nothing are left out."""
        d = {"shape": list(self.shape), "dtype": self.dtype, "text": self.text}
        if self.data is not None:
            d["data"] = self.data
            return d
        d["summary"] = {
            "low": _plain(self.low), "high": _plain(self.high), "mean": _plain(self.mean),
            "nonfinite": self.nonfinite, "corner": self.corner, "fingerprint": self.fingerprint,
            "heat": self.heat, "counts": self.counts,
        }  # fmt: skip
        return d

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> "TraceValue":
        """The inverse of `to_dict`."""
        return cls(tuple(d["shape"]), d["dtype"], d["text"], data=d.get("data"), **d.get("summary", {}))


@cache
def _name(dtype):
    return dtype.name  # which NumPy works out anew each time


def value_of(raw: ArrayLike) -> TraceValue:
    """Summarise an ndarray or a NumPy scalar.

    >>> value_of(np.float32(30)).text
    '30'
    >>> value_of(np.zeros((64, 10), np.float32)).text
    '[64, 10], all 0'
    >>> value_of(np.array([3 + 4j, -1j])).text, value_of(np.full(100, 3 + 4j)).text
    ('[3+4j, 0-1j]', '[100], magnitudes all 5')
    """
    array = raw if isinstance(raw, np.generic) else np.asarray(raw)
    dtype = _name(array.dtype)
    if array.ndim == 0:
        if array.dtype.kind == "c":
            return TraceValue((), dtype, number(array[()]), _written(array.item()))
        item = array.item() if array.dtype.kind in "biu" else float(array)
        text = number(item)
        return TraceValue((), dtype, text, item if math.isfinite(item) else text)
    if not array.size:
        return TraceValue(array.shape, dtype, f"{shape_text(array.shape)}, empty", data=_nested_list(array))
    if array.size <= COMPLETE:
        text = _inline(array) if array.size <= INLINE else f"{shape_text(array.shape)}, {_range(array)[3]}"
        return TraceValue(array.shape, dtype, text, data=_nested_list(array))
    low, high, mean, phrase, bad = _range(array)
    whole, array = array, _magnitudes(array)
    corner = whole[(0,) * (array.ndim - 2) + (slice(CORNER),) * min(array.ndim, 2)]
    digest = hashlib.blake2b(np.ascontiguousarray(whole).tobytes(), digest_size=8).hexdigest()
    summary = {"low": low, "high": high, "mean": mean, "nonfinite": bad, "corner": _nested_list(corner), "fingerprint": digest}
    summary |= {"heat": _heat(array, low, high), "counts": histogram(array, low, high)}
    return TraceValue(array.shape, dtype, f"{shape_text(array.shape)}, {phrase}", **summary)


def histogram(array: np.ndarray, low: float | None, high: float | None) -> list[int]:
    """How many finite elements each twentieth of `low` to `high` has; one count if all are equal, none if nothing is finite.

    >>> histogram(np.array([0.0, 0.1, 1.0]), 0.0, 1.0)
    [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    if low is None or high is None:
        return []
    flat, counts = array.reshape(-1), np.zeros(BINS if high > low else 1, np.int64)
    half = high / 2 - low / 2  # high - low may be more than a float64 holds
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK].astype(np.float64)
        part = part[np.isfinite(part)]
        place = (part / 2 - low / 2) / (half or 1.0) * counts.size
        counts += np.bincount(np.clip(place, 0, counts.size - 1).astype(np.int64), minlength=counts.size)
    return counts.tolist()


def _heat(array, low, high):
    """A small picture: for each block of the last two axes its mean, from 0 (`low`) to 9 (`high`); x has nothing finite.

    Leading axes are laid out one below the other.
    """
    flat = array.reshape(-1, array.shape[-1])
    starts = [np.unique(np.arange(most) * n // most) for most, n in zip(HEAT, flat.shape)]
    if low is None:
        return ["x" * len(starts[1])] * len(starts[0])
    with np.errstate(invalid="ignore", over="ignore"):
        sums = _blocks(flat, starts)
        counts = np.outer(*[np.diff([*s, n]) for s, n in zip(starts, flat.shape)])
        if not np.isfinite(sums).all():
            finite = np.isfinite(flat)
            sums, counts = _blocks(np.where(finite, flat, 0), starts), _blocks(finite, starts)
        level = (sums / counts - low) / ((high - low) or 1.0)
    digits = np.clip(np.nan_to_num(level, nan=0.0) * 10, 0, 9).astype(int)
    return ["".join("x" if not n else str(d) for d, n in zip(*row)) for row in zip(digits.tolist(), counts.tolist())]


def _blocks(array, starts):
    rows = np.add.reduceat(array, starts[0], axis=0, dtype=np.float64)
    return np.add.reduceat(rows, starts[1], axis=1)


def _magnitudes(array):
    return np.abs(array) if array.dtype.kind == "c" else array


def _range(array):
    of = "magnitudes " if array.dtype.kind == "c" else ""
    array = _magnitudes(array)
    wide = array if array.dtype.kind in "fiu" and array.dtype.itemsize >= 4 else array.astype(np.float64)
    with np.errstate(invalid="ignore"):
        low, high = float(wide.min()), float(wide.max())
    bad = 0
    if not (math.isfinite(low) and math.isfinite(high)):
        finite = wide[np.isfinite(wide)]
        bad = wide.size - finite.size
        if not finite.size:
            return None, None, None, "nothing finite", bad
        wide, low, high = finite, float(finite.min()), float(finite.max())
    phrase = f"{of}all {number(low)}" if low == high else f"{of}{number(low)} to {number(high)}"
    if bad:
        phrase += f", {bad} not finite"
    return low, high, float(wide.mean(dtype=np.float64)), phrase, bad
