"""The verdict on an exercise on behaviour: each scene is played on two draws and compared with what it must give."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..behaviour.relations import loose_relation, numbers_of, relation, said_of
from ..behaviour.scenes import Behaviour, Data, Outcome, Player, Scene, Slip, WrongWay, plain
from ..diagnosis.diagnosis import Diagnosis
from ..diagnosis.hints import HINTS
from ..diagnosis.replays.scene_slips import find_scene_slip
from ..run.candidate import Fault
from .report import Report, Verdict

RETURNED = "A function that ends without `return` gives None."
POWER = "In Python a power is written **; ^ means something else."
MISSPELT = "Is that name misspelt, or made in a cell that has not been run?"
IN_PLACE = "`.{}()` changes the list itself, and gives None."
IN_LINE = "In the line that is named: which name holds something else than you think?"
SYNTAX = "Python cannot read that line, or the one before it."
FORM = "Compare what came with what the exercise asks for: which kind of thing, and with which parts?"
MANY = 6  # numbers that are shown one by one


def judge_behaviour(behaviour: Behaviour, player: Player, *, seed: int = 0, points: float | None = None) -> Report:
    """The verdict on what a player does, wherever it runs: it is asked only for numbers and words.

    `points` is what the exercise is worth; as its scenes say if not given.

    >>> from autolab.check import Behaviour, LocalPlayer, Scene
    >>> doubling = Behaviour("doubling", (
    ...     Scene("a number", lambda f: {"result": f(3)}, lambda: {"result": 6}, "twice 3 is 6", "Try it with 3."),))
    >>> judge_behaviour(doubling, LocalPlayer(doubling, lambda n: 2 * n), points=4).points
    4.0
    """
    start = time.perf_counter()
    played = [_play(scene, player, inputs) for scene, inputs in zip(behaviour.scenes, draws(behaviour, seed), strict=True)]
    judged = [_judge_scene(scene, one) for scene, one in zip(behaviour.scenes, played, strict=True)]
    verdicts = [verdict for verdict, _ in judged]
    diagnoses = _in_all_scenes(behaviour, played, verdicts) if not all(v.passed for v in verdicts) else []
    if not diagnoses:
        diagnoses = _grouped([(scene.name, found) for scene, (_, found) in zip(behaviour.scenes, judged, strict=True) if found])
    weighed = tuple(_weighed(behaviour.scenes, verdicts))
    report = Report(behaviour.name, weighed, tuple(diagnoses), seed, time.perf_counter() - start)
    return report if points is None else report.worth(points)


def draws(behaviour: Behaviour, seed: int) -> list[list[tuple]]:
    """For each scene the inputs of its two draws."""
    rng = np.random.default_rng(seed)
    return [[scene.inputs(rng) for _ in range(2)] for scene in behaviour.scenes]


def _cause(found: Diagnosis) -> str:
    """What is the same for one mistake, in whichever scene it shows: a loop, the line that failed, else what is said of it."""
    message, _, line = found.text.partition(" (your line ")
    return "time" if found.family == "time" else line.partition(":")[0] or message


def _grouped(found: Sequence[tuple[str, Diagnosis]]) -> list[Diagnosis]:
    """Each cause once, with the scenes that show it; what may only follow from one of them in a sentence at the end."""
    causes: dict[str, list[Diagnosis]] = {}
    places: dict[str, list[str]] = {}
    following: list[tuple[str, Diagnosis]] = []
    for scene, one in found:
        if one.certainty == "unknown" and causes:
            following.append((scene, one))
            continue
        causes.setdefault(_cause(one), []).append(one)
        places.setdefault(_cause(one), []).append(scene)
    told = [_named(several[0], places[cause]) for cause, several in causes.items()]
    return told + _follows(following, "a mistake" if len(told) > 1 else "the mistake")


def _named(found: Diagnosis, scenes: Sequence[str]) -> Diagnosis:
    """A cause with the scenes besides the first that show it."""
    if found.certainty == "unknown" and found.family != "behaviour":
        found = replace(found, certainty="likely")
    if len(scenes) == 1 or found.family == "blank":
        return found
    return replace(found, where=f"{found.where}, and {len(scenes) - 1} more: {', '.join(scenes[1:])}")


def _follows(found: Sequence[tuple[str, Diagnosis]], cause: str) -> list[Diagnosis]:
    """What may come of a cause that was told already: one sentence, however many scenes there are."""
    if not found:
        return []
    (_, first), scenes = found[0], ", ".join(scene for scene, _ in found)
    text = f"{len(found)} more checks fail: {scenes}" if len(found) > 1 else first.where or first.text
    return [Diagnosis("follows", "likely", f"{text}. This may come of {cause} above", "Mend that first, then check again.")]


def _weighed(scenes: Sequence[Scene], verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """What comes besides earns the part of its points that the other scenes earn of theirs."""
    main = [v for scene, v in zip(scenes, verdicts, strict=True) if not scene.side]
    share = sum(v.points for v in main) / sum(v.max_points for v in main)
    for scene, verdict in zip(scenes, verdicts, strict=True):
        if not scene.side or not verdict.passed or share == 1:
            yield verdict
        else:
            reason = verdict.reason if share else "nothing against it so far"
            reason += "; its points wait for the rest to be right"
            yield replace(verdict, passed=bool(share) or None, reason=reason, points=round(verdict.points * share, 2))


@dataclass(frozen=True)
class Played:
    """What a scene gave, for each draw, beside what it should give; or the first outcome without anything."""

    seen: list[tuple[tuple, Data, Data]]
    failed: Outcome | None = None
    inputs: tuple = ()  # with which it failed


def _play(scene: Scene, player: Player, draws: Sequence[tuple]) -> Played:
    seen: list[tuple[tuple, Data, Data]] = []
    for inputs in draws:
        outcome = player.play(scene.name, inputs)
        if outcome.data is None:
            return Played(seen, outcome, inputs)
        seen.append((inputs, outcome.data, plain(scene.expect(*inputs))))
        if not inputs:
            break
    return Played(seen)


def _in_all_scenes(behaviour: Behaviour, played: Sequence[Played], verdicts: Sequence[Verdict]) -> list[Diagnosis]:
    """The mistake, or the two, that give what was seen in every scene: what fails in a later one is the same mistake."""
    faults = [p.failed.fault for p in played if p.failed]
    if not behaviour.wrong_ways or any(f is None or (f.kind not in ("type", "recursion") and "NoneType" not in f.text) for f in faults):
        return []
    fitting = [way for way in behaviour.wrong_ways if not way.several and _gives(way, behaviour, played)]
    sure = "certain" if len({way.family for way in fitting}) == 1 and not faults else "likely"
    fitting = fitting or [way for way in behaviour.wrong_ways if way.several and _gives(way, behaviour, played)]
    sure = "likely" if fitting and fitting[0].several else sure
    first = next(v for v in verdicts if not v.passed)
    return [Diagnosis(way.family, sure, way.text, way.hint, where=first.reason) for way in fitting[:1]]


def _gives(way: WrongWay, behaviour: Behaviour, played: Sequence[Played]) -> bool:
    """Does this mistake give the same in each scene, and an error where there is one?"""
    for scene, one in zip(behaviour.scenes, played, strict=True):
        calls: list[tuple[tuple, Data | None]] = [(inputs, data) for inputs, data, _ in one.seen]
        for inputs, data in calls + [(one.inputs, None)] * bool(one.failed):
            try:
                with np.errstate(all="ignore"):
                    given = plain(scene.play(way.candidate, *(np.array(a) for a in inputs)))
            except Exception:  # this mistake ends in an error here
                given = None
            if given is None or data is None:
                if given is not data:
                    return False
            elif not all(_same(data.get(key), value, scene) for key, value in given.items()):
                return False
    return True


def _judge_scene(scene: Scene, played: Played) -> tuple[Verdict, Diagnosis | None]:
    seen = played.seen
    if played.failed:
        fault = played.failed.fault or Fault("call", "exception", "gave nothing")
        key, _, rest = fault.text.partition(" ")
        text = f"{scene.says.get(key, key)} {rest}" if fault.kind == "type" else fault.text
        text += f" (your {fault.line})" if fault.line else ""
        found = Diagnosis(fault.kind, "certain", text, _hint(fault, scene.hint), where=f"{scene.name!r}")
        return Verdict(scene.name, False, text, 0.0, scene.points), found
    wrong = [(inputs, data, want, key) for inputs, data, want in seen for key in want if not _same(data.get(key), want[key], scene)]
    if not wrong:
        return Verdict(scene.name, True, scene.passed, scene.points, scene.points), None
    tried, data, want, key = wrong[0]
    fact = _fact(scene, data, want, key)
    if scene.context:
        fact += f"; your {scene.context} is {_show(data[scene.context])}"
    if scene.shows:
        fact += f", for {', '.join(f'{name} = {_show(value)}' for name, value in zip(scene.shows, tried, strict=False))}"
    for slip in scene.slips:
        if all(_fits(slip, scene, inputs, data) for inputs, data, _ in seen):
            # The same on two draws of random numbers is a fact about the code; the same without any is a good guess.
            sure = "certain" if slip.sure and len(seen) > 1 else "likely"
            found = Diagnosis(slip.family, sure, slip.text, slip.hint, where=fact)
            return Verdict(scene.name, False, fact, 0.0, scene.points), found
    keys = dict.fromkeys(key for *_, key in wrong)
    told = _related(scene, seen, key, fact, relation) or _replayed(scene, seen, keys, fact)
    told = told or _related(scene, seen, key, fact, loose_relation)
    told = told or Diagnosis("behaviour", "unknown", f"{scene.name}: {fact}", scene.hint)
    return Verdict(scene.name, False, fact, 0.0, scene.points), told


def _hint(fault: Fault, scene_hint: str) -> str:
    """What to look at, by the kind of fault: that of the scene is about numbers, which there are none of."""
    if fault.kind == "time":
        return HINTS["time"]
    if fault.kind == "type":
        return RETURNED if " is None, " in fault.text else FORM if "expected " in fault.text else scene_hint
    if fault.kind != "exception":
        return scene_hint
    if " raised NameError" in fault.text:
        return MISSPELT
    if " raised SyntaxError" in fault.text or " raised IndentationError" in fault.text:
        return SYNTAX
    if "for ^: " in fault.text:
        return POWER
    if "NoneType" in fault.text and (method := re.search(r"\.(append|extend|insert|reverse|sort)\(", fault.line or "")):
        return IN_PLACE.format(method[1])
    return f"{IN_LINE} {scene_hint}" if fault.line else scene_hint


def _related(scene: Scene, seen: Sequence[tuple[tuple, Data, Data]], key: str, fact: str, look: Callable) -> Diagnosis | None:
    """How the numbers that are wrong are related to the right ones; not where those would be the answer."""
    pairs = [(numbers_of(data.get(key)), numbers_of(want[key]), inputs) for inputs, data, want in seen]
    if all(
        np.size(want[key]) == 1 and np.asarray(want[key]).dtype.kind in "iu" for _, _, want in seen
    ):  # a count: 2 for 1 is not "2 times what it should be"
        return None
    known = [(got, want, inputs) for got, want, inputs in pairs if got is not None and want is not None]
    found = look(known) if scene.tells and len(known) == len(pairs) else None
    if not found or not np.size(known[0][1]) or (len(known) == 1 and known[0][1].size < 2):
        return None
    return Diagnosis(found[0], "unknown", said_of(scene.says.get(key, key), found), scene.hint, where=f"{scene.name}: {fact}")


def _replayed(scene: Scene, seen: Sequence[tuple[tuple, Data, Data]], keys: Iterable[str], fact: str) -> Diagnosis | None:
    """One operation of the right answer that is another one, if that explains what came."""
    for key in keys:
        if found := find_scene_slip(scene.expect, seen, key):
            said = scene.says.get(key, key)
            text = f"{said[:1].upper()}{said[1:]} {found[1]}"
            return Diagnosis(found[0], "unknown", text, HINTS.get(found[0], scene.hint), where=f"{scene.name}: {fact}")
    return None


def _fits(slip: Slip, scene: Scene, inputs: tuple, data: Data) -> bool:
    return all(_same(data.get(key), value, scene) for key, value in plain(slip.expect(*inputs)).items())


def _same(got: Any, want: Any, scene: Scene) -> bool:
    if isinstance(want, str) or isinstance(got, str) or got is None:
        return isinstance(want, str) and isinstance(got, str) and got == want
    got = np.asarray(got)
    return got.shape == want.shape and bool(np.allclose(got, want, rtol=scene.rtol, atol=1e-12, equal_nan=True))


def _fact(scene: Scene, data: Data, want: Data, key: str) -> str:
    name, got, expected = scene.says.get(key, key), data.get(key), want[key]
    if not scene.tells:
        return f"{name}: received {_beginning(got)}, which is not right"
    if got is None:
        return f"{name}: received nothing, expected {_show(expected)}"
    if all(np.asarray(flag).dtype == bool and not np.ndim(flag) for flag in (got, expected)):
        return f"{name}: {'this is so, and should not be' if got else 'this is not so, and should be'}"
    if not isinstance(got, str) and not isinstance(expected, str):
        got = np.asarray(got)
        if got.shape != expected.shape:
            return f"{name}: received shape {got.shape}, expected shape {expected.shape}"
        if got.ndim and got.size > MANY:
            off = np.abs(np.where(np.isfinite(got), got, np.inf) - np.multiply(expected, 1.0))
            at = np.unravel_index(np.argmax(off), got.shape)
            place = f"[{', '.join(str(int(i)) for i in at)}]"
            return f"{name}{place}: received {_show(got[at])}, expected {_show(expected[at])}"
    return f"{name}: received {_show(got)}, expected {_show(expected)}"


def _show(value: Any) -> str:
    if isinstance(value, str):
        return value or "nothing"
    a = np.asarray(value)
    if a.dtype.kind == "b":
        return str(a.tolist())
    return _number(a[()]) if not a.ndim else "[" + ", ".join(map(_number, a.ravel())) + "]"


def _beginning(value: Any) -> str:
    """The first numbers of many, where there are none to compare them with."""
    if isinstance(value, str) or np.size(value) <= MANY:
        return _show(value)
    return f"{_show(np.ravel(value)[:MANY])[:-1]}, ...] ({np.size(value)} numbers)"


def _number(value: Any) -> str:
    return f"{value.real:.6g}{value.imag:+.6g}j" if np.iscomplexobj(value) else f"{float(value):.6g}"
