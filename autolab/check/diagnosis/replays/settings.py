"""A setting that backward takes for another one, leaves out, or changes: the right gradient for other settings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...run.candidate import LocalCandidate
from ...run.observation import Observation, number
from ...run.reference import parameters
from ..family import Family
from .loops import LIMIT, MANY, counts_turns

POSITIONS = ("axis", "dim", "axes", "shape", "source", "destination", "axis1", "axis2", "reduction")  # which have explanations of their own


NUMBERS: Mapping[str, Callable[[Any], Any]] = {
    "minus {}": lambda s: -s,
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


def may_not_use(o: Observation, name: str) -> bool:
    """Does the rule give the same for another value of a setting, with the same result of forward? True where that cannot be asked."""
    if ("may not use", name) not in o.memo:
        o.memo["may not use", name] = _gives_the_same(o, name)
    return o.memo["may not use", name]


def _gives_the_same(o: Observation, name: str) -> bool:
    candidate = getattr(o.ask, "candidate", None)
    value: Any = o.settings.get(name)
    if not isinstance(candidate, LocalCandidate) or candidate.judges_forward or type(value) not in (int, float):
        return True
    if name not in parameters(candidate.methods["backward"]):
        return True
    o.reference.count(o.reference.weight)
    settings = {**o.settings, name: value + 1 if isinstance(value, int) else 1.0625 * value + 0.03125}
    answers = candidate.attempt(tuple(o.inputs), settings, o.g, np.array(o.out))
    return answers is None or all(_alike(got, o.got[y]) for y, got in zip(o.reference.inputs, answers[1], strict=False))


def _alike(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))


def other_settings(first: Observation, x: str) -> Iterator[Family]:
    """Every way to take another value of a setting that explains the first call."""
    for name, given in first.settings.items():
        if name in POSITIONS:
            continue
        for predict, besides in ((_as_if, ""), (_in_backward, BACKWARD)):
            tried: list[tuple[Any, bool]] = []
            for text, source, to in _values(first, name, given):
                is_unused = source != name or text.startswith(NOT_USED.format(name))
                if is_unused and predict is _as_if and not may_not_use(first, name):
                    continue
                try:
                    value = to(first.settings[source])
                    fits = next((fit for seen, fit in tried if type(seen) is type(value) and seen == value), None)
                    if fits is None:
                        fits = first.gave(x, predict(first, x, name, source, to))
                        tried.append((value, fits))
                except Exception:  # forward refuses this value
                    continue
                if fits and (limit := _never_reached(first, x, name, given, predict)):
                    text = f"does not use {name}: it is what would be right if {name} were a limit that is never reached"
                    yield Family("setting", text + besides, partial(predict, name=name, source=name, to=_always(limit)), exact=False)
                    break
                if fits:
                    family = "term sign" if isinstance(value, float) and value == -given else "setting"
                    yield Family(family, text + besides, partial(predict, name=name, source=source, to=to), exact=False)
    yield from _other_call(first, x)


def _never_reached(first: Observation, x: str, name: str, given: Any, predict: Callable[..., np.ndarray]) -> float:
    """A number so large, or so far below 0, that explains the first call as well, where another value of a setting does; 0 if none."""
    for limit in (1e9, -1e9) if isinstance(given, float) else ():
        with contextlib.suppress(Exception):  # forward refuses this value
            if first.gave(x, predict(first, x, name, name, _always(limit))):
                return limit
    return 0.0


NOT_USED = "does not use {}"
BACKWARD = ", though the result of forward that it uses is right"


def _other_call(first: Observation, x: str) -> Iterator[Family]:
    """All settings at once as another call has them: numbers that were written into the rule."""
    for settings in first.memo.get(("settings", "all"), ()):
        changed = [name for name, value in settings.items() if name in first.settings and first.settings[name] != value]
        if len(changed) < 2 or any(name in POSITIONS or not may_not_use(first, name) for name in changed):
            continue
        said = " and ".join(f"{name} were {number_or(settings[name])}" for name in changed)
        text = f"does not use {' and '.join(changed)}: it is what would be right if {said} in every call"
        predict = partial(_with_settings, settings=settings)
        try:
            fits = first.gave(x, predict(first, x))
        except Exception:  # forward refuses these values
            continue
        if fits:
            yield Family("setting", text, predict, exact=False)


def _with_settings(o: Observation, x: str, settings: Mapping[str, Any]) -> np.ndarray:
    names = o.reference.environment(o.inputs, settings)
    return o.reference.gradient(x, o.g, names) if names["out"].shape == o.out.shape else _impossible()


def _impossible() -> Any:
    raise LookupError("the result has another shape")


def _in_backward(o: Observation, x: str, name: str, source: str, to: Callable[[Any], Any]) -> np.ndarray:
    """The rule with another value of a setting, and the right result of forward."""
    if "out" not in o.reference.rules[x][1] or source not in o.settings or name not in o.settings:
        raise LookupError("it does not ask what forward gave")
    return o.reference.gradient(x, o.g, {**o.names, name: to(o.settings[source])})


def _values(first: Observation, name: str, given: Any) -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    """What may be taken instead: a sentence, the setting that it is made of, and how, so that it holds for every call."""
    yield from _whole_numbers(name, given)
    if type(given) is int and given < MANY and counts_turns(first.reference):
        yield LIMIT.format(name), name, _always(MANY)
    for other in first.settings:
        if other != name and type(first.settings[other]) is type(given):
            yield f"uses {other} where {name} belongs", other, _as_it_is
    others = [v for v in first.memo.get(("settings", name), ()) if type(v) is type(given) and v != given]
    for value in {repr(v): v for v in others}.values():  # a list is one as well
        yield WRITTEN_IN.format(name, number_or(value)), name, _always(value)
    if isinstance(given, bool):
        for said, to in CHOICES.items():
            yield said.replace("{}", name), name, to
    elif isinstance(given, (int, float)):
        for said, to in NUMBERS.items():
            text = f"does not use {name}: it is what would be right if {name} were {said}"
            if not said.isdigit():
                text = f"uses {said.replace('{}', name)} where {name} belongs"
            yield text, name, to
        if isinstance(given, float):
            text = f"does not use {name}: it is what would be right if {name} were 0, but where that would divide 0 by 0"
            yield text, name, _always(ALMOST_0)
    elif isinstance(given, tuple) and len(given) > 1 and all(isinstance(v, (int, float)) for v in given):
        for said, to in SEVERAL.items():
            yield f"takes {name} {said}", name, to


ALMOST_0 = 1e-12
WRITTEN_IN = "does not use {0}: it is what would be right if {0} were {1} in every call"


def number_or(value: Any) -> str:
    """A value as it is said."""
    return number(value) if isinstance(value, float) else repr(value)


def _whole_numbers(name: str, given: Any) -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    """Of steps, gaps and the like for each axis: those that do nothing, which is what a rule takes that does not know them."""
    if isinstance(given, tuple) and given and all(isinstance(v, int) and not isinstance(v, bool) for v in given):
        for value in (1, 0):
            if any(v != value for v in given):
                text = f"does not use {name}: it is what would be right if {name} were {value}"
                yield text, name, _all_of(value)


def _as_it_is(setting: Any) -> Any:
    return setting


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda setting: value


def _all_of(value: int) -> Callable[[Any], Any]:
    return lambda setting: (value,) * len(setting)


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
