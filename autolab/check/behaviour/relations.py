"""How numbers that are wrong are related to those that are right, where no known mistake in an exercise on behaviour gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..run.observation import close, number

Pair = tuple[np.ndarray, np.ndarray, tuple]  # what was received and expected, and the arrays of the scene
POWERS = {1: "times {}", -1: "divided by {}", 2: "times the square of {}", -2: "divided by the square of {}"}


def relation(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """The kind of mistake and a clause that continues "it is ..."; None if the numbers show nothing that holds in all draws."""
    if any(got.shape != want.shape or not got.size or not np.all(np.isfinite(got)) or not want.any() for got, want, _ in pairs):
        return None
    if not all(got.any() for got, _, _ in pairs):
        return ("zero", "0 everywhere") if not any(got.any() for got, _, _ in pairs) else None
    return _factor(pairs) or _moved(pairs)


def loose_relation(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """The same, of what says less about the cause."""
    if any(got.shape != want.shape or not np.all(np.isfinite(got)) for got, want, _ in pairs):
        return None
    return _transformed(pairs) or _by_entry(pairs) or _places(pairs)


def _transformed(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """The Fourier transform of what it should be, or the inverse one, times a number."""
    if not all(want.ndim == 1 and np.iscomplexobj(want) and want.size > 2 for _, want, _ in pairs):
        return None
    for transform in (np.fft.fft, np.fft.ifft):
        if _factor([(got, transform(want), inputs) for got, want, inputs in pairs]):
            return "transform", "a Fourier transform of what it should be: there is one too many, or one is missing"
    return None


def _by_entry(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """What it should be, times or divided by an array that it was given, entry by entry."""
    if not all(want.ndim and want.size > 2 and want.all() and got.all() for got, want, _ in pairs):
        return None
    for k in range(len(pairs[0][2])):
        every = [np.asarray(inputs[k]) for _, _, inputs in pairs]
        if any(a.shape != want.shape or a.dtype.kind not in "fc" or not a.all() for a, (_, want, _) in zip(every, pairs, strict=True)):
            continue
        for power, words in POWERS.items():
            for a, conj in ((every, ""), ([np.conj(b) for b in every], " conjugated")):
                if _factor([(got, want * b ** float(power), ()) for b, (got, want, _) in zip(a, pairs, strict=True)]):
                    return "factor", f"what it should be, {words.format(f'the {ORDINALS[k]} array{conj}')}, entry by entry"
    return None


def _factor(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    ratios = [complex(np.vdot(want, got) / np.vdot(want, want)) for got, want, _ in pairs]
    if not all(close(got, ratio * want) for ratio, (got, want, _) in zip(ratios, pairs, strict=True)) or any(
        abs(r.imag) > 1e-9 * abs(r) for r in ratios
    ):
        return None
    real = np.array([r.real for r in ratios])
    if np.ptp(real) <= 1e-9 * np.abs(real).max():
        c = float(real[0])
        return ("sign", "minus what it should be") if np.isclose(c, -1, rtol=1e-9) else ("constant", f"{number(c)} times what it should be")
    for said, values in _numbers(pairs):
        for power, words in POWERS.items():
            if np.all(np.abs(real - values**power) <= 1e-9 * np.abs(real)):
                return "factor", f"what it should be, {words.format(said)}"
    if all(want.size == 1 for _, want, _ in pairs):  # one number is always a multiple of another
        return None
    return "constant", f"a multiple of what it should be, another one for other numbers ({' and '.join(map(number, real[:2]))})"


ORDINALS = ("first", "second", "third", "fourth")


def _numbers(pairs: Sequence[Pair]) -> Iterator[tuple[str, np.ndarray]]:
    """What is one number for the arrays of each draw."""
    for k, a in enumerate(pairs[0][2]):
        every = [np.asarray(inputs[k]) for _, _, inputs in pairs]
        if np.asarray(a).dtype.kind not in "fi" or not np.asarray(a).size:
            continue
        alike = [
            j for j, b in enumerate(pairs[0][2]) if np.asarray(b).dtype.kind in "fi" and np.size(b) and bool(np.ndim(b)) == bool(np.ndim(a))
        ]
        place = f"{ORDINALS[alike.index(k)]} " if 1 < len(alike) <= len(ORDINALS) else ""
        if len(alike) > len(ORDINALS):
            continue
        if np.ndim(a):
            yield f"the length of the {place}array", np.array([np.sqrt((b * b).sum()) for b in every], float)
            yield f"the sum of the {place}array", np.array([b.sum() for b in every], float)
            yield f"the number of entries of the {place}array", np.array([b.size for b in every], float)
        else:
            yield f"the {place}number that it was given", np.array(every, float)
    yield "the number of entries", np.array([want.size for _, want, _ in pairs], float)


def _moved(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    if all(want.ndim and want.shape[0] > 1 and close(got, want[::-1]) for got, want, _ in pairs):
        return "flipped", "what it should be, in the opposite order"
    if all(want.ndim == 2 and got.shape == want.T.shape and close(got, want.T) for got, want, _ in pairs):
        return "transposed", "what it should be, transposed"
    if all(want.ndim and want.size > 2 and close(np.sort(got, axis=None), np.sort(want, axis=None)) for got, want, _ in pairs):
        return "permutation", "made of the right numbers in other places"
    if all(np.iscomplexobj(want) and close(got, np.conj(want)) for got, want, _ in pairs):
        return "conjugate", "the conjugate of what it should be"
    return None


def _places(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """Right at some places, and at which it is not, if they are the same in all draws."""
    if any(want.ndim != 1 or want.shape != pairs[0][1].shape for _, want, _ in pairs) or len(pairs) < 2:
        return None
    wrong = [~np.isclose(got, want, rtol=1e-9, atol=1e-12) for got, want, _ in pairs]
    if not all(np.array_equal(w, wrong[0]) for w in wrong) or wrong[0].all() or not wrong[0].any():
        return None
    at = np.flatnonzero(wrong[0]).tolist()
    where, right = f"[{at[0]}]" if len(at) == 1 else f"{at}", int((~wrong[0]).sum())
    return "places", f"wrong at {where} alone, and right at the other {f'{right} places' if right > 1 else 'place'}"


def said_of(name: str, found: tuple[str, str]) -> str:
    """The sentence. A name that is code stays as it is.

    >>> said_of("a - b", ("sign", "minus what it should be")), said_of("slope", ("sign", "minus what it should be"))
    ('a - b is minus what it should be', 'Slope is minus what it should be')
    """
    words = name.replace(" ", "").isalpha()
    return f"{name[:1].upper() if words else name[:1]}{name[1:]} is {found[1]}"


def numbers_of(data: Any) -> np.ndarray | None:
    """An array of numbers, or None."""
    a = np.asarray(data)
    return a.astype(complex if a.dtype.kind == "c" else float) if a.dtype.kind in "fiuc" else None
