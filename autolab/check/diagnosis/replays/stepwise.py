"""A function on tensors as the chain of rows it ran through, and one slip in its chain rule.

Nobody differentiates `(x @ w + b).tanh()` by heart: a rule for it is put together from the rules of its steps. So the mistakes
are those of a step (its own formula, another value in it), of a link (left out, added with the wrong sign) or of a
value taken for a constant. One slip changes what one link passes on; what that does to the gradient is linear in the change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from autolab.autograd import no_grad
from autolab.engine.apply import dispatch
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor
from autolab.rules.index import gather, select
from autolab.torch_api.creation import from_numpy

from ...run.observation import close
from ..formulas.equivalent_formulas import NamedFormula, equivalent_formulas
from ..formulas.expressions import Values, Wrong
from ..formulas.mutants import mutants
from ..step_names import StepNames, frames_up_to, row_in_words
from .rounding import Noise
from .row_call import RowCall

MOST_STEPS = 44
SORTS = {"sort", "topk"}
NUDGE = 1e-6


class CannotTrace(Exception):
    """Something on the way is not a row of the table with one result."""


class Chain:
    """A function as its steps on some inputs, and what one slip in them makes of the gradient for one input."""

    def __init__(self, function: Callable, inputs: Mapping[str, np.ndarray], settings: Mapping[str, Any], g: np.ndarray):
        self.inputs = tuple(inputs)
        self.values: list[Any] = [np.asarray(a) for a in inputs.values()]
        self.steps: list[RowCall] = []
        self._sigmoids: dict[int, int | None] = {}  # of 1 / (1 + exp(-z)), where z is, if it is anywhere
        self.memo: dict[Any, Any] = {}
        self.constant: set[int | None] = set()  # what nothing comes back to, such as a largest entry that is taken off: a rule has it so
        self.received: np.ndarray | None = None  # a gradient that slips have to explain
        self.off: tuple[float, float] | None = None  # how far it is off along the nudge, and without regard to signs
        tensors = [from_numpy(np.array(a)) if np.asarray(a).dtype.kind == "f" else a for a in inputs.values()]
        self._places = {id(t): k for k, t in enumerate(tensors) if isinstance(t, Tensor)}
        self._kept = list(tensors)
        result = self._watched(lambda: function(*tensors, **settings))
        if not isinstance(result, Tensor) or id(result) not in self._places or not self.steps:
            raise CannotTrace("the result comes from elsewhere")
        self.last = self._places[id(result)]
        self.g = np.broadcast_to(g, self.values[self.last].shape)
        self._back(self.g)

    def _watched(self, run: Callable) -> Any:
        before, modes.tracer = modes.tracer, self
        modes.settle()
        try:
            with no_grad():
                return run()
        finally:
            modes.tracer = before
            modes.settle()

    def _note_sigmoid(self, op: Any, sources: Sequence[int | None], place: int) -> None:
        """Is it 1 / (1 + exp(-z)), which is a product of a reciprocal and 1?"""
        out, path = self.values[place], [p for p in sources if p is not None]
        if op.name == "mul" and len(path) == 1 and path[0] in self._sigmoids and np.array_equal(out, self.values[path[0]]):
            self._sigmoids[place] = self._sigmoids[path[0]]
        for expected in ("reciprocal", "add", "exp", "neg"):
            if op.name != expected or len(path) != 1:
                if expected != "neg":
                    return
                break  # of exp(-a / b) the minus is further inside
            at = path[0]
            if expected != "neg":
                if at < len(self.inputs):
                    return
                step = self.steps[at - len(self.inputs)]
                op, path = step.row, [p for p in step.sources if p is not None]
        if np.allclose(out, 1 / (1 + np.exp(-self.values[at])), rtol=1e-12, atol=0):
            self._sigmoids[place] = at
        elif np.allclose(out, 1 / (1 + np.exp(self.values[at])), rtol=1e-12, atol=0):
            self._sigmoids[place] = None

    @cached_property
    def layout(self) -> tuple[Any, ...]:
        """Which steps there are, and what goes into each."""
        return tuple((step.row.name, step.sources) for step in self.steps)

    @cached_property
    def names(self) -> StepNames:
        """What each step is called."""
        return StepNames([step.word for step in self.steps], [step.frames for step in self.steps], self._role)

    @cached_property
    def words(self) -> list[str]:
        """What each value is called."""
        words = list(self.inputs)
        for i, step in enumerate(self.steps):
            if step.place in self._sigmoids:
                z = self._sigmoids[step.place]
                words.append(SIGMOID + ("" if z is None else f"({words[z]})" if z < len(self.inputs) else f" of {words[z]}"))
            else:
                words.append(f"the result of {self.names[i]}")
        words[self.last] = "the result of forward"
        return words

    def _role(self, i: int) -> str:
        """Where a step is in the formula, by what is made of it, as far as that goes one way."""
        place, roles = self.steps[i].place, dict[str, None]()
        if place == self.last:
            return "outermost in forward"
        while place != self.last:
            uses = [(step, k) for step in self.steps for k, source in enumerate(step.sources) if source == place]
            if len(uses) != 1:
                break
            step, k = uses[0]
            if role := ROLES.get((step.row.name, k if step.row.name == "div" else 0)):
                roles[role] = None
            place = step.place
        return " ".join([*roles][:2])

    def looked(self, *about: Any) -> None:
        """The engine says that numbers are looked at: no harm, since the chain is one of these numbers."""

    def created(self, tensor: Tensor) -> None:
        """The engine says that a tensor is made of numbers: a constant, which no step gives."""

    def overwritten(self, target: Tensor, result: Tensor) -> None:
        """The engine says that one value is about to be written into the memory of another: from then on that name means this value."""
        if target.view_info is not None or target.payload.dtype != result.payload.dtype or id(result) not in self._places:
            raise CannotTrace("a part of an array is written into")
        old = target.payload
        kept = np.array(old)
        self.values = [kept if value is old else value for value in self.values]
        for step in self.steps:
            step.names = {name: kept if value is old else value for name, value in step.names.items()}
            step.names["raw"] = [kept if value is old else value for value in step.names["raw"]]
        self._places[id(target)] = self._places[id(result)]
        self._kept.append(target)

    def leave(self, why: str) -> None:
        """The engine says that what comes next is not made of rows alone."""
        raise CannotTrace(why)

    def operation(self, op: Any, args: Any, settings: Mapping[str, Any]) -> Any:
        """Run one row, and note it: the engine calls this for each."""
        result = dispatch(op, args, dict(settings))
        if op.name == "unbind":
            axis = settings["axis"] % np.ndim(args[0].payload)
            keys = [(slice(None),) * axis + (i,) for i in range(len(result))]
            return tuple(self._noted(select, args, {"key": key}, part, "select") for key, part in zip(keys, result, strict=True))
        if op.name in SORTS:  # the entries at the places that it gives
            return self._noted(gather, (args[0], result[1]), {"axis": settings["axis"]}, result[0], op.name), result[1]
        return self._noted(op, args, settings, result, op.name)

    def _noted(self, op: Any, args: Any, settings: Mapping[str, Any], result: Any, word: str) -> Any:
        if not isinstance(result, Tensor) or len(self.steps) >= MOST_STEPS:
            raise CannotTrace(f"{op.name} has several results, or there are too many steps")
        raw = [np.asarray(a.payload if isinstance(a, Tensor) else a) for a in args]
        sources = tuple(self._places.get(id(a)) if isinstance(a, Tensor) else None for a in args)
        names: dict[str, Any] = {**op.settings, **settings, "raw": raw, "out": np.asarray(result.payload)}
        if op.variadic:
            names |= {op.inputs[0]: raw, f"{op.inputs[0]}_shape": tuple(a.shape for a in raw)}
        else:
            names |= dict(zip(op.inputs, raw, strict=False))
            names |= {f"{x}_shape": a.shape for x, a in zip(op.inputs, raw, strict=False)}
        place = self._places[id(result)] = len(self.values)
        self.values.append(names["out"])
        self._note_sigmoid(op, sources, place)
        self._kept.append(result)  # kept alive, so that no other tensor gets its id
        self.steps.append(RowCall(op, sources, names, place, frames=frames_up_to(Chain._watched.__code__), word=row_in_words(word)))
        return result

    def _back(self, g: np.ndarray) -> None:
        self.gradients = self.sent({self.last: g}, len(self.steps), keep=True)
        parts = [(s, step, k) for step in self.steps for k, s in enumerate(step.sources) if k in step.passed]
        noise = Noise(self.steps)
        moved: set[int | None] = set()
        for s, step, k in parts:
            if s not in moved and noise.is_less_than(step, k):
                moved.add(s)
        self.constant = {s for s, _, _ in parts} - moved - set(range(len(self.inputs)))

    def sent(self, pending: dict[int, np.ndarray], below: int, keep: bool = False) -> dict[int, np.ndarray]:
        """What arrives at each place if this is sent back through the steps before number `below`."""
        arrived = dict(pending)
        for step in reversed(self.steps[:below]):
            g = arrived.get(step.place)
            if g is None or step.place in self.constant:
                continue
            if keep:
                step.incoming = g
            for k, source in enumerate(step.sources):
                if source is None or not step.has_rule(k):
                    continue
                value = step.fit(k, step.rule(k, g))
                if keep:
                    step.passed[k] = value
                arrived[source] = arrived[source] + value if source in arrived else value
        return arrived

    def reaches(self, x: str) -> set[int]:
        """The places that depend on an input."""
        found = {self.inputs.index(x)}
        for step in self.steps:
            if found & set(step.sources):
                found.add(step.place)
        return found

    def leads_to(self, i: int, j: int) -> bool:
        """Does what step i gives go into step j?"""
        found = {self.steps[i].place}
        for step in self.steps[i + 1 : j + 1]:
            if not found.isdisjoint(step.sources):
                found.add(step.place)
        return self.steps[j].place in found

    def _may_give(self, x: str, differences: Mapping[tuple[int, int], np.ndarray]) -> bool:
        """Can these slips explain what was received? How far a nudge of x moves each place is asked, which is a product for each slip."""
        if ("nudge", x) not in self.memo:
            self.memo["nudge", x] = self._nudge(x)
        if self.memo["nudge", x] is None:
            return True
        direction, moved = self.memo["nudge", x]
        if self.off is None:
            off = direction * (self.received - self.gradients[self.inputs.index(x)])
            self.off = float(off.sum()), float(np.abs(off).sum())
        total, size = -self.off[0], self.off[1]
        for (i, k), d in differences.items():
            if (source := self.steps[i].sources[k]) is not None:
                along, d = moved[source].ravel(), d.ravel()
                total += along @ d
                size += math.sqrt((along @ along) * (d @ d))  # no less than the sum of the products without their signs
        return abs(total) <= 1e-5 * size

    def _nudge(self, x: str) -> tuple[np.ndarray, list[np.ndarray]] | None:
        """A direction for x, and how fast each place then moves; None if that is not what the gradient says."""
        at = self.inputs.index(x)
        direction = np.random.default_rng(4).uniform(0.5, 1.5, self.values[at].shape)
        try:
            up, down = (self.values_with(at, self.values[at] + h * direction) for h in (NUDGE, -NUDGE))
        except Exception:  # numbers that a step does not take
            return None
        moved = [(np.asarray(up.get(p, value), float) - down.get(p, value)) / (2 * NUDGE) for p, value in enumerate(self.values)]
        last, gradient = moved[self.last] * self.g, direction * self.gradients[at]
        close_enough = np.abs(last.sum() - gradient.sum()) <= 1e-6 * (np.abs(last).sum() + np.abs(gradient).sum())
        return (direction, moved) if close_enough else None

    def values_with(self, at: int, value: np.ndarray) -> dict[int, Any]:
        """Another value at one place, and what the steps after it then give."""
        values = {at: value}
        for step in self.steps:
            if step.place in self.constant or step.place <= at or values.keys().isdisjoint(step.sources):
                continue
            raw = step.names["raw"]
            raw = [values.get(s, raw[k]) if s is not None and step.has_rule(k) else raw[k] for k, s in enumerate(step.sources)]
            values[step.place] = np.asarray(step.row.forward(*raw, **{k: step.names[k] for k in step.row.settings}))
        return values

    def changed(self, x: str, changes: Mapping[tuple[int, int], np.ndarray]) -> np.ndarray:
        """The gradient for x if each link (step, argument) passes on this instead of the right value."""
        at = self.inputs.index(x)
        total = self.gradients[at]
        differences = {}
        for (i, k), value in changes.items():
            differences[i, k] = np.asarray(value) - self.steps[i].passed[k]
            if differences[i, k].shape != self.steps[i].shape(k):
                raise ValueError("a slip that changes the shape stops there")
        if self.received is not None and not self._may_give(x, differences):
            raise LookupError("it gives another gradient")
        for (i, k), difference in differences.items():
            step = self.steps[i]
            sent = self.sent({source: difference}, i) if (source := step.sources[k]) is not None else {}
            if at in sent:
                total = total + sent[at]
        return total

    def sent_from(self, i: int, k: int, value: np.ndarray) -> dict[int, np.ndarray]:
        """What arrives at each place if step i passes this on to its argument k, and nothing else comes back."""
        source = self.steps[i].sources[k]
        return self.sent({source: value}, i) if source is not None else {}

    def sent_to(self, at: int, place: int, value: np.ndarray) -> np.ndarray:
        """What arrives at one place if this comes back to another one that was made of it, or to itself."""
        return value if at == place else self.sent({place: value}, place - len(self.inputs) + 1)[at]

    def skipping(self, x: str, i: int, k: int, j: int, at: int) -> np.ndarray:
        """The gradient for x if what step i passes on to its argument k arrives at place `at`, before step j that made this argument."""
        passed, place = self.steps[i].passed[k], self.steps[j].place
        here = self.inputs.index(x)
        total = self.gradients[here]
        for sent, sign in ((self.sent({at: passed}, j), 1), (self.sent({place: passed}, j + 1), -1)):
            if here in sent:
                total = total + sign * sent[here]
        return total


@dataclass(frozen=True)
class ChainSlip:
    """One thing wrong in a chain: the family, a sentence about the gradient, and what it then is."""

    family: str
    text: str
    predict: Callable[..., np.ndarray]
    step: str = ""  # what the step is called in the sentence, if the same slip may happen in others
    at: int = -1  # and its number
    complete: bool = False  # is no other one said beside it?

    @property
    def kind(self) -> str:
        """The sentence without the step."""
        return self.text.replace(self.step, "{}", 1)


def _at(x: str, family: str, text: str, i: int, k: int, change: Callable[..., Any], step: str = "") -> ChainSlip:
    """A slip that changes what step i passes on to its argument k."""

    def predict(chain: Chain) -> np.ndarray:
        passed = change(chain, chain.steps[i])
        if family in ("function", "mask") and not np.any(passed):
            raise LookupError("nothing is left of it: a term is missing, which is simpler to say")
        return chain.changed(x, {(i, k): passed})

    return ChainSlip(family, text, predict, step, i)


SIGMOID = "sigmoid"
ROLES = {("div", 0): "in the numerator", ("div", 1): "in the denominator", ("reciprocal", 0): "in the denominator",
         ("sqrt", 0): "inside the root", ("exp", 0): "inside exp", ("log", 0): "inside log", ("tanh", 0): "inside tanh",
         ("pow_scalar", 0): "inside the power", ("pow", 0): "inside the power"}  # fmt: skip


def slips(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """Everything that one slip may make of the gradient for x, the plainest first."""
    depends = chain.reaches(x)
    links = links_to(chain, x)
    sources = {chain.steps[i].sources[k] for i, k in links}
    if len(links) > len({i for i, _ in links}) or len(links) > len(sources):  # branches
        yield from _links(chain, x, links)
        yield from _constants(chain, x, depends, links)
        yield from _skipped(chain, x, links)
    for step in chain.steps:
        alike = step.names["out"].shape == chain.values[chain.inputs.index(x)].shape
        alike &= step.row.name not in ("add", "sub", "rsub")  # whose derivative is 1: nothing is missing there
        alike &= ("orders", x, step.place) not in chain.memo  # where only the order is another one: `other_entries.py` says so
        if alike and step.place in depends and step.place != chain.last and step.incoming is not None:
            text = f"is the gradient for {chain.words[step.place]}, and not yet for {x}: the derivative of what is inside is missing"
            yield ChainSlip("factor", text, lambda chain, place=step.place: chain.gradients[place])
    for i, k in links:
        yield from _values(chain, x, i, k)
    for i, k in links:
        yield from _local(chain, x, i, k)


def links_to(chain: Chain, x: str) -> list[tuple[int, int]]:
    """The steps and their arguments through which something comes back to an input."""
    depends = chain.reaches(x) - chain.constant
    return [(i, k) for i, step in enumerate(chain.steps) for k, source in enumerate(step.sources)
            if source in depends and k in step.passed and step.incoming is not None and step.place not in chain.constant]  # fmt: skip


def moves(step: RowCall) -> bool:
    """Does a row only cut, move and put together?"""
    return bool(step.row.view or step.row.variadic or step.row.name in ("slice", "select", "index", "index_put", "gather"))


def _links(chain: Chain, x: str, links: list[tuple[int, int]]) -> Iterator[ChainSlip]:
    for i, k in links:
        step = chain.steps[i]
        through = chain.names[i] + (_to(chain, i, k) if len(step.sources) > 1 else "")
        twice = [j for at, j in links if at == i and step.sources[j] == step.sources[k]]  # x * x: one of two equal parts is a factor
        for c, family, words in _scaled(step):
            if k == twice[0]:
                yield ChainSlip(family, f"{words}: what comes back through {through}", lambda chain, c=c, i=i, twice=tuple(twice): (
                    chain.changed(x, {(i, j): c * chain.steps[i].passed[j] for j in twice})), through, i)  # fmt: skip
    for i, k in links:
        step = chain.steps[i]
        if len({step.sources[j] for at, j in links if at == i}) < len([j for at, j in links if at == i]) and not _are_equal(step):
            through = chain.names[i] + _to(chain, i, k)
            for c, family, words in _scaled(step):
                yield _at(x, family, f"{words}: what comes back through {through}", i, k,
                          lambda _, step, c=c, k=k: c * step.passed[k], through)  # fmt: skip


def _skipped(chain: Chain, x: str, links: list[tuple[int, int]]) -> Iterator[ChainSlip]:
    """A derivative that is left out in one of several terms: what comes back through one link misses the step before it."""
    made = {step.place: j for j, step in enumerate(chain.steps)}
    for i, k in links:
        place = chain.steps[i].sources[k]
        j = made.get(place) if place is not None else None
        if place is None or j is None or len([1 for at, m in links if chain.steps[at].sources[m] == place]) < 2:
            continue
        before = chain.steps[j]
        at = next((s for s in before.sources if s is not None and chain.values[s].shape == chain.values[place].shape), None)
        if before.row.kind != "elementwise" or at is None or len([s for s in before.sources if s is not None]) != 1:
            continue
        name, through = chain.names[j], chain.names[i]
        text = f"is without the derivative of {name} in one of its terms: what comes back through {through}"
        yield ChainSlip("factor", text, lambda chain, i=i, k=k, j=j, at=at: chain.skipping(x, i, k, j, at))


def _scaled(step: RowCall) -> Iterator[tuple[float, str, str]]:
    for c, family, words in SCALED:
        if c or not moves(step):  # a piece that is missing is named by its place
            yield c, family, words


def _are_equal(step: RowCall) -> bool:
    """Does a step that takes one value twice pass on the same to both?"""
    parts = list(step.passed.values())
    return all(part.shape == parts[0].shape and close(part, parts[0]) for part in parts)


A_TERM = "misses one of its terms"
SCALED = ((0.5, "constant", "has one of its terms half as large as it should be"), (0, "term", A_TERM),
          (-1, "term sign", "has one of its terms with the wrong sign"),
          (2, "constant", "has one of its terms twice as large as it should be"))  # fmt: skip


def _constants(chain: Chain, x: str, depends: set[int], links: list[tuple[int, int]]) -> Iterator[ChainSlip]:
    inner = [i for i, step in enumerate(chain.steps) if step.place in depends and step.place != chain.last and not moves(step)]
    for count in (1, 2):
        for some in combinations(inner, count):
            cut = [(i, k) for i, k in links if i in some]
            names = " and ".join(chain.names[i] for i in some)
            text = f"takes {names} for {'a constant' if count == 1 else 'constants'}: a term of the derivative is missing"
            yield ChainSlip("term", text, lambda chain, cut=cut: chain.changed(x, {(i, k): 0 * chain.steps[i].passed[k] for i, k in cut}))


def _local(chain: Chain, x: str, i: int, k: int) -> Iterator[ChainSlip]:
    """What may go wrong in the formula of one step."""
    step = chain.steps[i]
    row, name = step.row, chain.names[i]
    elementwise = row.kind == "elementwise"
    if elementwise and len(step.sources) == 1:
        said = f"{name}, which is the sign of what is in it" if row.name == "abs" else name
        yield _at(x, "factor", f"is the right one without the derivative of {said}", i, k, lambda _, step: step.incoming, name)
        yield _at(x, "forward", f"has {name} where its derivative belongs", i, k, lambda _, step: step.incoming * step.names["out"], name)
        text = f"asks g where {name} let something through: the mask belongs to the forward values"
        yield _at(x, "mask from g", text, i, k, lambda _, step: np.where(step.incoming > 0, step.incoming, 0))
        for other, slope in SLOPES.items() if row.name in CURVES else ():
            if other != row.name:
                text = f"has the slope of {other} where that of {name} belongs"
                text = f"has {name} itself where its slope belongs, as is right for exp alone" if other == "exp" else text
                yield _at(x, "function", text, i, k, lambda _, step, slope=slope: _some_slope(
                    step, step.incoming * slope(step.names["raw"][0], step.names["out"])))  # fmt: skip
    text = f"does not use what comes back from after {name}: it starts there with 1"
    if np.array_equal(step.incoming, chain.g):
        text = f"is without g in what goes back through {name}: g is taken for 1 there"
    yield _at(x, "upstream ignored", text, i, k, lambda _, step: _again(step, k, np.ones_like(step.incoming)))
    if row.variadic:
        return
    argument, where = row.inputs[k], f", in the derivative of {name}"
    if len(step.sources) == 1 and not chain.names.is_plain(i) and name == step.word:  # its code is not known
        where += f" of {_word(chain, i, 0)}"
    words = partial(_in_words, chain, step)
    for mutant, wrong in mutants(row.formula(argument), (*row.inputs, "out", "g")):
        if mutant.family != "variable":  # that is said in the words of the whole chain: see _values
            yield _at(x, mutant.family, f"is {words(mutant.text)}{where}", i, k, lambda _, step, wrong=wrong: _evaluated(step, k, wrong))
    for formula in equivalent_formulas(row.name, argument, tuple(row.inputs)):
        for mutant, *slip in formula.mutants():
            if mutant.family != "variable":
                text = f"is {words(mutant.text)}{where}"
                yield _at(x, mutant.family, text, i, k, lambda chain, _, f=formula, slip=slip: _by_formula(chain, i, k, f, *slip))
    if isinstance(step.names.get("axis"), (int, tuple)):
        for axis in (None, 0, -1, 1):
            text = f"takes {name} along another axis than forward did"
            yield _at(x, "axis", text, i, k, lambda _, step, axis=axis: _again(step, k, step.incoming, axis=axis))


CURVES = {"relu", "sigmoid", "tanh", "exp", "log", "sin", "cos", "silu", "softplus", "erf", "sinh", "cosh", "atan"}
# What people multiply by, of the input and the result of a step: the slope of one function is taken for that of another.
SLOPES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "relu": lambda x, out: x > 0, "sigmoid": lambda x, out: out * (1 - out), "tanh": lambda x, out: 1 - out * out,
    "exp": lambda x, out: out, "log": lambda x, out: 1 / x, "sin": lambda x, out: np.cos(x),
}  # fmt: skip


def _in_words(chain: Chain, step: RowCall, text: str) -> str:
    """A slip in the formula of a row, with what the letters of that row are in this chain."""
    if step.place != chain.last:
        text = text.replace("the result of forward", f"the result of {chain.names[step.place - len(chain.inputs)]}")
        text = text.replace("the incoming gradient", "what comes back to it")
    constant = "the exponent" if step.row.name.startswith("pow") else "a constant"
    said = {name: chain.words[s] if s is not None else constant for name, s in zip(step.row.inputs, step.sources, strict=False)}
    return re.sub(r"(?<![\w'])[b-z](?![\w'])", lambda letter: said.get(letter[0], letter[0]), text)


def _again(step: RowCall, k: int, g: np.ndarray, **other: Any) -> np.ndarray:
    return step.fit(k, step.rule(k, g, **other))


def _evaluated(step: RowCall, k: int, wrong: Wrong) -> np.ndarray:
    if k not in step.memo:
        names = {name: step.value(name, step.names) for name in {*step.names, *step.row.shared}}
        step.memo[k] = Values({**step.row.rules[step.row.inputs[k]].function.__globals__, **names, "g": step.incoming})
    value = np.asarray(wrong.value(step.memo[k]))
    return _some_slope(step, step.fit(k, step.stretch(value)))


def _some_slope(step: RowCall, value: np.ndarray) -> np.ndarray:
    """A slip that leaves no derivative at all is called that, and nothing else."""
    if len(step.sources) == 1 and close(value, step.incoming):
        raise LookupError("the derivative is left out")
    return value


def _by_formula(chain: Chain, i: int, k: int, formula: NamedFormula, slip: Wrong, letter: str) -> np.ndarray:
    step = chain.steps[i]
    seen = chain.memo.setdefault(i, StepObservation({**step.names, "axis": _one(step.names.get("axis"))}, step.incoming))
    if (key := (i, k, formula.text)) not in chain.memo:
        right = step.fit(k, step.stretch(formula.evaluate(seen)))
        chain.memo[key] = right.shape == step.shape(k) and np.allclose(right, step.passed[k], rtol=1e-9, atol=1e-12)
    if not chain.memo[key]:
        raise LookupError("this formula is not right for these inputs")
    return _some_slope(step, step.fit(k, step.stretch(formula.evaluate(seen, slip, letter))))


def _one(axis: Any) -> Any:
    return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis


@dataclass(eq=False)
class StepObservation:
    """As much of an observation as a formula looks at."""

    names: dict[str, Any]
    g: np.ndarray


def _values(chain: Chain, x: str, i: int, k: int) -> Iterator[ChainSlip]:
    """Another value of the same shape where one that forward saved belongs."""
    step = chain.steps[i]
    if step.row.variadic:
        return
    for name in step.row.rules[step.argument(k)].needs:
        if name != "out" and name not in step.row.inputs:
            continue
        own = step.place if name == "out" else step.sources[step.row.inputs.index(name)]
        for place, value in enumerate(chain.values):
            if place == own or value.shape != np.shape(step.names[name]) or value.dtype.kind != "f":
                continue
            right = chain.words[own] if own is not None else "a constant"
            wrong = chain.words[place]
            if right == wrong:
                continue
            yield _at(x, "variable", f"uses {wrong} where {right} belongs", i, k, lambda chain, step, name=name, place=place: _again(
                step, k, step.incoming, **{name: chain.values[place]}))  # fmt: skip


def _word(chain: Chain, i: int, k: int) -> str:
    source = chain.steps[i].sources[k]
    return chain.words[source] if source is not None else "a constant"


def _to(chain: Chain, i: int, k: int) -> str:
    """Which argument of a step is meant."""
    return f" {'of' if chain.names.is_plain(i) else 'to'} {_word(chain, i, k)}"
