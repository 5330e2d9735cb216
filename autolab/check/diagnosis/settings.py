"""A setting that backward takes for another one, leaves out, or changes: the right gradient for other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..run.observation import Observation
from .family import Family

POSITIONS = ("axis", "dim", "axes", "shape", "source", "destination", "axis1", "axis2", "reduction")  # which have explanations of their own


NUMBERS: Mapping[str, Callable[[Any], Any]] = {
    "{} + 1": lambda s: s + 1,
    "{} - 1": lambda s: s - 1,
    "{} - 2": lambda s: s - 2,
    "{} + 2": lambda s: s + 2,
    "2 times {}": lambda s: 2 * s,
    "half of {}": lambda s: s // 2 if isinstance(s, int) else s / 2,
    "the square of {}": lambda s: s * s,
    "1 - {}": lambda s: 1 - s,
    "1 / {}": lambda s: 1 / s if isinstance(s, float) else None,
    "the root of {}": lambda s: s**0.5 if isinstance(s, float) and s > 0 else None,
    "0": lambda s: type(s)(0),
    "1": lambda s: type(s)(1),
    "2": lambda s: type(s)(2),
    "3": lambda s: type(s)(3),
}
CHOICES: Mapping[str, Callable[[Any], Any]] = {
    "takes {} the other way round": lambda s: not s,
    "does not use {}: it is as if that were False": lambda s: False,
    "does not use {}: it is as if that were True": lambda s: True,
}
SEVERAL: Mapping[str, Callable[[Any], Any]] = {
    "in the other order": lambda s: s[::-1],
    "the first for all of them": lambda s: (s[0],) * len(s),
    "the last for all of them": lambda s: (s[-1],) * len(s),
    "of the other sign in the first": lambda s: (-s[0], *s[1:]),
    "of the other sign in the last": lambda s: (*s[:-1], -s[-1]),
    "0 in the first": lambda s: (0, *s[1:]),
    "0 in the last": lambda s: (*s[:-1], 0),
}


def other_settings(first: Observation, x: str) -> Iterator[Family]:
    """Every way to take another value of a setting that explains the first call."""
    for name, given in first.settings.items():
        if name in POSITIONS:
            continue
        tried: list[tuple[Any, bool]] = []
        for text, source, to in _values(first, name, given):
            try:
                value = to(first.settings[source])
                fits = next((fit for seen, fit in tried if type(seen) is type(value) and seen == value), None)
                if fits is None:
                    fits = first.gave(x, _as_if(first, x, name, source, to))
                    tried.append((value, fits))
            except Exception:  # forward refuses this value
                continue
            if fits:
                yield Family("setting", text, partial(_as_if, name=name, source=source, to=to), exact=False)


def _values(first: Observation, name: str, given: Any) -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    """What may be taken instead: a sentence, the setting that it is made of, and how, so that it holds for every call."""
    for other in first.settings:
        if other != name and type(first.settings[other]) is type(given):
            yield f"uses {other} where {name} belongs", other, lambda s: s
    if isinstance(given, bool):
        for said, to in CHOICES.items():
            yield said.replace("{}", name), name, to
    elif isinstance(given, (int, float)):
        for said, to in NUMBERS.items():
            text = f"does not use {name}: it is what would be right if {name} were {said}"
            if not said.isdigit():
                text = f"uses {said.replace('{}', name)} where {name} belongs"
            yield text, name, to
    elif isinstance(given, tuple) and len(given) > 1 and all(isinstance(v, (int, float)) for v in given):
        for said, to in SEVERAL.items():
            yield f"takes {name} {said}", name, to


def _as_if(o: Observation, x: str, name: str, source: str, to: Callable[[Any], Any]) -> np.ndarray:
    """What would be right if a setting were another; of a result of another length, as far as g goes."""
    value = to(o.settings[source]) if source in o.settings else None
    if value is None or name not in o.settings:
        raise LookupError("there is no such setting")
    if o.settings[name] == value:
        return o.want[x]
    names = o.reference.environment(o.inputs, {**o.settings, name: value})
    if names["out"].ndim != o.out.ndim:
        raise LookupError("the result has other axes")
    g = np.zeros_like(names["out"])
    both = tuple(slice(min(n, m)) for n, m in zip(g.shape, o.g.shape, strict=True))
    g[both] = o.g[both]
    value = o.reference.gradient(x, g, names)
    other = value != o.want[x]
    if o.reference.elementwise and not np.any(value[other] * o.want[x][other]):
        raise LookupError("a bound is elsewhere: that is a mask, and a few numbers do not say where")
    return value
