"""One slip in one line of the right rule, whatever it calls: an operation that is left out, turned round or given another value.

The rule may be a closed function, or the way back through many rows, some of them factorisations; its tape knows each operation. Those of
one line in a loop slip together. Nothing is known of the mathematics: a slip is what comes of the tape if these operations give
something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, takewhile
from typing import Any

import numpy as np

from ...run.observation import Observation, close
from ...run.reference import Reference
from ..diagnosis import Mistake
from ..family import Family
from ..formulas.mutants import step_in_words, value_in_words
from ..formulas.textbook import TEXTBOOKS
from ..quiet import quiet
from ..replay import Call, Node, Tape
from ..step_names import row_in_words
from . import triangles
from .chains import as_arrays
from .few_rounds import of_few_rounds
from .lines import Lines, Slip, arrives
from .loop_slips import loop_slips
from .other_values import of_first_step, of_next_step, other_values, parts
from .traces import Trace
from .ways import Taped

MOST_WORK = 6000  # operations on small arrays in a check, some microseconds each
LEAST_WORK = 1500  # for each input
LESS_LIKELY = ("variable", "places")  # than what is left out
LAST_ROWS = 3  # of forward, among which its rounds are put together


def _only(possible: bool, value: Any) -> Any:
    if not possible:
        raise LookupError("this slip cannot be made here")
    return value


def _source(k: int) -> Slip:
    """What the operation would be without all of its sources but one."""
    return lambda t, n, s, v: np.broadcast_to(_only(len(s) > k, s)[k], np.shape(v))


def _turned(*which: int) -> Slip:
    def slip(tape: Tape, node: Node, s: list[Any], value: Any) -> Any:
        a, b = (np.swapaxes(v, -1, -2) if k in which else v for k, v in enumerate(_only(len(s) == 2, s)))
        return a @ b

    return slip


def _separate_sums(tape: Tape, node: Node, s: list[Any], value: Any) -> Any:
    made = tape.nodes[node.sources[0]]
    while made.name == "incoming_of_row":
        made = tape.nodes[made.sources[0]]
    factors = _only(made.name == "multiply" and len(made.sources) == 2 and node.make is not None, made.sources)
    call = node.make(s[0])  # type: ignore[misc]
    one, other = (call.run(_only(call.kind == "along", call.axis), np.broadcast_to(tape.values[k], np.shape(s[0]))) for k in factors)
    return one * other


def _call(node: Node, s: Sequence[Any]) -> Call:
    if node.make is None:
        raise LookupError("it goes along no axis")
    return node.make(s[0])


def _function(f: Callable[..., Any]) -> Slip:
    """Another function of the same sources."""
    return lambda t, n, s, v: f(*s)


def _cut(tape: Tape, node: Node, s: list[Any], value: Any, cut: Callable[..., Any]) -> Any:
    return cut(_call(node, s))


def _constant(node: Node, s: Sequence[Any]) -> Any:
    """What a number that is added to a source, or from which it is taken, is."""
    return node.function(np.zeros_like(s[0]))


def _entry(value: Any, k: int) -> Any:
    """One entry along the last axis, and 0 elsewhere."""
    kept = np.zeros_like(_only(np.ndim(value) > 0, value))
    kept[..., k] = value[..., k]
    return kept


SEPARATELY = "adds up the two factors of a matrix product by themselves"
PARTNERS = ": each entry has its own partner, and is multiplied by that before anything is added up"


def _reduced(s: Sequence[Any], one: Callable, other: Callable) -> Any:
    """Both factors of a matrix product without the axis that is summed."""
    return one(_only(np.ndim(s[0]) > 1 and np.ndim(s[1]) > 1, s)[0], -1, keepdims=True) * other(s[1], -2, keepdims=True)


def _sums_of_parts(tape: Tape, node: Node, s: list[Any], value: Any) -> Any:
    """An einsum of factors that are each added up along the first axes, which it sums."""
    axes = _first_axes(s)
    n = np.prod(np.shape(s[0])[: len(axes)])
    return node.function(*(np.broadcast_to(np.sum(a, axes, keepdims=True), np.shape(a)) for a in s)) / n


def _sum_of_part(k: int) -> Slip:
    """An einsum of which one factor is added up along the first axes before it is multiplied."""

    def slip(tape: Tape, node: Node, s: list[Any], value: Any) -> Any:
        total = np.sum(s[k], _first_axes(s), keepdims=True)
        return node.function(*s[:k], np.broadcast_to(total, np.shape(s[k])), *s[k + 1 :])

    return slip


def _first_axes(s: list[Any]) -> tuple[int, ...]:
    """Those that all factors have in common, before the last."""
    shapes = [np.shape(a)[:-1] for a in s]
    alike = takewhile(lambda sizes: len(set(sizes)) == 1, zip(*shapes, strict=False))
    axes = tuple(range(len(list(alike))))
    return _only(len(s) > 1 and len(axes) > 0, axes)


def _axes_exchanged(k: int, i: int, j: int) -> Slip:
    def slip(tape: Tape, node: Node, s: list[Any], value: Any) -> Any:
        a = _only(k < len(s) and np.ndim(s[k]) >= -i, s)[k]
        return node.function(*s[:k], np.swapaxes(a, i, j), *s[k + 1 :])

    return slip


WITHOUT = "is the right one without one of its factors{where}"
TERM = "misses one of its terms{where}"
MULTIPLES = [("constant", f"has one of its terms {said} as large as it should be{{where}}", c) for said, c in (("twice", 2), ("half", 0.5))]
SLIPS: dict[str, list[tuple[str, str, Slip]]] = {
    "multiply": [
        ("factor", WITHOUT, _source(0)),
        ("factor", WITHOUT, _source(1)),
        ("operation", "has a plus where a times belongs{where}", lambda t, n, s, v: s[0] + s[1]),
        ("division", "is divided where it should be multiplied{where}", lambda t, n, s, v: s[0] / s[1]),
        ("division", "is divided where it should be multiplied{where}", lambda t, n, s, v: s[1] / s[0]),
        ("power", "has one of its factors once too often{where}", lambda t, n, s, v: v * s[0]),
        ("power", "has one of its factors once too often{where}", lambda t, n, s, v: v * s[1]),
    ],
    "divide": [
        ("factor", "is the right one without one of its divisions{where}", _source(0)),
        ("division", "is multiplied where it should be divided{where}", lambda t, n, s, v: s[0] * s[1]),
        ("factor", "is the right one without the size of one of its divisors{where}", lambda t, n, s, v: s[0] * np.sign(s[1])),
        ("division", "has a quotient upside down{where}", lambda t, n, s, v: s[1] / s[0]),
        ("power", "is divided once more than it should be{where}", lambda t, n, s, v: v / s[1]),
        (
            "factor",
            "is the right one without one of its factors, the one that is divided{where}",
            lambda t, n, s, v: 1 / _only(len(s) == 2, s)[1],
        ),
        (
            "power",
            "is divided by the root of its divisor{where}: a root too many, or a square is missing",
            lambda t, n, s, v: s[0] / np.sqrt(s[1]),
        ),
    ],
    "add": [
        ("term", TERM, _source(0)),
        ("term", TERM, _source(1)),
        ("term sign", "has the wrong sign on one of its terms{where}", lambda t, n, s, v: s[0] - s[1]),
        ("term sign", "has the wrong sign on one of its terms{where}", lambda t, n, s, v: s[1] - s[0]),
        ("term", TERM, lambda t, n, s, v: _only(len(s) == 1, -_constant(n, s)) + v),
        *((constant, text, lambda t, n, s, v, c=c, k=k: v + (c - 1) * s[k]) for constant, text, c in MULTIPLES for k in (0, 1)),
    ],
    "subtract": [
        ("term", TERM, _source(0)),
        ("term", TERM, lambda t, n, s, v: -_source(1)(t, n, s, v)),
        ("term", TERM, _source(1)),
        ("term sign", "has the wrong sign on one of its terms{where}", lambda t, n, s, v: s[0] + s[1]),
        ("term sign", "has a difference the wrong way round{where}", lambda t, n, s, v: -v),
        ("term sign", "has the wrong sign on one of its terms{where}", lambda t, n, s, v: 2 * _only(len(s) == 1, _constant(n, s)) - v),
        *(
            (constant, text, lambda t, n, s, v, c=c, k=k: v + (1 - 2 * k) * (c - 1) * s[k])
            for constant, text, c in MULTIPLES
            for k in (0, 1)
        ),
    ],
    "negative": [("term sign", "is the right one with a minus sign left out{where}", _source(0))],
    "matmul": [
        ("transposed", "has one factor of a matrix product transposed the wrong way{where}", _turned(0)),
        ("transposed", "has one factor of a matrix product transposed the wrong way{where}", _turned(1)),
        ("transposed", "has both factors of a matrix product transposed the wrong way{where}", _turned(0, 1)),
        ("order", "has the factors of a matrix product in the other order{where}", lambda t, n, s, v: s[1] @ s[0]),
        ("factor", WITHOUT, _source(0)),
        ("factor", WITHOUT, _source(1)),
        ("operation", "multiplies entry by entry where a matrix product belongs{where}", lambda t, n, s, v: s[0] * s[1]),
        ("upstream collapsed", f"{SEPARATELY}, and multiplies the sums{{where}}{PARTNERS}", lambda t, n, s, v: _reduced(s, np.sum, np.sum)),
        (
            "upstream collapsed",
            f"{SEPARATELY}, and multiplies a sum by a mean{{where}}{PARTNERS}",
            lambda t, n, s, v: _reduced(s, np.sum, np.mean),
        ),
    ],
    "swapaxes": [("transposed", "lacks one of its transposes{where}", _source(0))],
    "where": [
        ("mask", "is the right one without a mask{where}", lambda t, n, s, v: _source(len(s) - 1)(t, n, s, v)),
        ("mask", "is the right one without a mask{where}", lambda t, n, s, v: _source(max(len(s) - 2, 0))(t, n, s, v)),
    ],
}
SLIPS["incoming_of_row"] = [
    ("factor", "has the result as a factor too many{where}", lambda t, n, s, v: s[0] * s[1]),
    ("factor", "is divided by the result once too often{where}", lambda t, n, s, v: s[0] / s[1]),
    ("factor", "has 2 times the result as a factor too many{where}", lambda t, n, s, v: 2 * s[0] * s[1]),
    ("factor", "has the square of the result as a factor too many{where}", lambda t, n, s, v: s[0] * s[1] ** 2),
    ("factor", "has the exponential of the result as a factor too many{where}", lambda t, n, s, v: s[0] * np.exp(s[1])),
    ("one of many", "uses the first entry alone of what comes back{where}", lambda t, n, s, v: _entry(v, 0)),
    ("one of many", "uses the last entry alone of what comes back{where}", lambda t, n, s, v: _entry(v, -1)),
    ("sign", "has the wrong sign in a part of it{where}", lambda t, n, s, v: -v),
]
SLIPS["part"] = [  # one of the results of a factorisation
    ("transposed", "takes the rows of a factor for its columns{where}", lambda t, n, s, v: np.swapaxes(v, -1, -2) if np.ndim(v) > 1 else v)
]
for _name in triangles.OTHER:
    SLIPS[_name] = [("mask", f"{text}{{where}}", partial(_cut, cut=cut)) for text, cut in triangles.WAYS.items()]
SLIPS["half_diagonal"] = [
    ("mask", "leaves the diagonal of a triangle whole, where half of it belongs{where}", _source(0)),
    ("mask", "halves a whole triangle, where its diagonal alone is halved{where}", lambda t, n, s, v: s[0] / 2),
    ("mask", "leaves the diagonal out, where half of it belongs{where}", lambda t, n, s, v: 2 * v - s[0]),
]
SLIPS["einsum"] = [
    ("upstream collapsed", f"adds up the factors of an einsum by themselves, and multiplies the sums{{where}}{PARTNERS}", _sums_of_parts),
    *(("early sum", f"adds up one factor of an einsum by itself{{where}}{PARTNERS}", _sum_of_part(k)) for k in range(3)),
    *(
        ("transposed", "has two axes of a factor in an einsum exchanged{where}", _axes_exchanged(k, i, j))
        for k in range(3)
        for i, j in ((-2, -1), (-3, -1), (-3, -2))
    ),
]
SLIPS["without_diagonal"] = [("mask", "does not set the diagonal to 0 where it belongs{where}", _source(0))]
SLIPS["differences"] = [
    ("term sign", "has the differences of the eigenvalues the wrong way round{where}", lambda t, n, s, v: np.swapaxes(v, -1, -2)),
    ("operation", "has sums of the eigenvalues where their differences belong{where}", lambda t, n, s, v: s[0][:, None] + s[0]),
    ("factor", "is not divided by the differences of the eigenvalues{where}", lambda t, n, s, v: np.ones_like(v)),
    ("power", "is divided by the squares of the differences of the eigenvalues{where}", lambda t, n, s, v: v * v),
    ("factor", "lacks the signs of the differences of the eigenvalues{where}", lambda t, n, s, v: np.abs(v)),
]
SLIPS |= {"true_divide": SLIPS["divide"], "transpose": SLIPS["swapaxes"], "division": [("factor", SLIPS["divide"][0][1], _source(0))]}
SLIPS["conjugate"] = [("conjugate", "has a value where its conjugate belongs{where}", _source(0))]
SLIPS["real"] = [
    ("real part", "has an imaginary part where a real part belongs{where}", lambda t, n, s, v: np.imag(s[0])),
    ("real part", "lacks a real part: the whole complex number is there{where}", _source(0)),
    ("real part", "has a modulus where a real part belongs{where}", lambda t, n, s, v: np.abs(s[0])),
]
OTHERS: Mapping[str, Callable[..., Any]] = {"floor": np.ceil, "ceil": np.floor, "maximum": np.minimum, "minimum": np.maximum,
                                            "sin": np.cos, "cos": np.sin, "fft": np.fft.ifft, "ifft": np.fft.fft}  # fmt: skip
for _name, _other in OTHERS.items():
    SLIPS[_name] = [
        ("transform" if "fft" in _name else "function", f"has {_other.__name__} where {_name} belongs{{where}}", _function(_other)),
        ("transform" if "fft" in _name else "step", f"is the right one without its {_name}{{where}}", _source(0)),
    ]
CONJUGATED = ("conjugate", "has the conjugate of a value where the value itself belongs{where}", lambda t, n, s, v: np.conj(v))
SPREADS = {"forward var": ("variance", 1.0), "forward std": ("standard deviation", 0.5)}
TRIANGLES = {*triangles.OTHER, "half_diagonal"}
POWERS = {"square": "its square", "power": "its power", "sqrt": "its root", "reciprocal": "its inverse"}
SOLVERS = {"inv": "inverse", "solve": "solution", "pinv": "inverse"}


def _part_of_axis(tape: Tape, node: Node, s: list[Any], value: Any, k: int) -> Any:
    """A sum along one of the axes of an input that lie along one here."""
    a, call = s[0], _call(node, s)
    shape = next(np.shape(v) for v in tape.values if np.size(v) == np.size(a) and np.ndim(v) > np.ndim(a))
    before = a.shape[: _only(isinstance(call.axis, int) and call.keepdims, call.axis) % a.ndim]
    first = next(i for i in range(len(shape)) if np.prod(shape[:i]) == np.prod(before))
    parts = shape[first : next(j for j in range(first, len(shape) + 1) if np.prod(shape[first:j]) == a.shape[call.axis])]
    part = np.broadcast_to(call.run(first + _only(k < len(parts) > 1, k), a.reshape(shape)), shape)
    return part.reshape(a.shape)


def _bessel(a: Any, reduced: Any) -> float:
    """n / (n - 1), for the number of entries that go into one."""
    n = np.size(a) / np.size(reduced)
    return _only(n > 1, n) / (n - 1)


def _along(axis: Any) -> Slip:
    def slip(tape: Tape, node: Node, s: list[Any], value: Any) -> Any:
        call = _call(node, s)
        result = np.asarray(call.run(_only(call.kind == "along", axis)))
        return result if call.keepdims or result.shape == np.shape(value) else np.expand_dims(result, axis)

    return slip


ALONG = [("axis", f"takes its {{name}} along {said}{{where}}", _along(axis))
         for said, axis in (("axis 0", 0), ("the last axis", -1), ("axis 1", 1))] + [
    ("axis", f"takes its {{name}} along {said} of several axes that lie along one{{where}}", partial(_part_of_axis, k=k))
    for k, said in enumerate(("the first", "the second", "the third"))]  # fmt: skip


def _slips(node: Node) -> Iterator[tuple[str, str, Slip]]:
    """What may go wrong in one operation by itself."""
    yield from SLIPS.get(node.name, ())
    if node.name in SPREADS:
        said, power = SPREADS[node.name]
        text = f"divides by n - 1 in the {said} of forward, where n belongs"
        yield "constant", text, lambda t, n, s, v: v * _bessel(s[0], v) ** power
    elif node.name in POWERS:
        yield "power", f"has a value where {POWERS[node.name]} belongs{{where}}", _source(0)
    elif node.name in SOLVERS:
        yield "function", f"has a matrix where {SOLVERS[node.name]} belongs{{where}}", _source(0)
        if node.name == "solve":
            text = "has the matrix of a system of equations transposed{where}"
            yield "transposed", text, lambda t, n, s, v: np.linalg.solve(np.swapaxes(_only(len(s) == 2, s)[0], -1, -2), s[1])
            yield "factor", "is the right one without solving a system of equations{where}", _source(1)
            yield (
                "factor",
                "solves a system of equations once too often{where}",
                lambda t, n, s, v: np.linalg.solve(_only(len(s) == 2, s)[0], v),
            )
            yield "operation", "multiplies by a matrix where a system of equations is solved{where}", lambda t, n, s, v: s[0] @ s[1]
    elif node.make and node.name in ("sum", "add"):
        yield "upstream collapsed", "adds up the two factors of a product by themselves, and multiplies the sums{where}", _separate_sums
        yield from ((family, text.replace("{name}", "sum"), slip) for family, text, slip in ALONG)
        yield "averaged", "has a mean where a sum belongs{where}", lambda t, n, s, v: v * (np.size(v) / np.size(s[0]))
    elif node.make and node.name == "mean":
        yield from ((family, text.replace("{name}", "mean"), slip) for family, text, slip in ALONG)
        yield "averaged", "has a sum where a mean belongs{where}", lambda t, n, s, v: v * (np.size(s[0]) / np.size(v))
        yield "constant", "divides by n - 1 where n belongs{where}", lambda t, n, s, v: v * _bessel(s[0], v)
        yield "term", "is without one of its means{where}", lambda t, n, s, v: 0 * v
    elif node.make and node.name in ("var", "std"):
        power = 1.0 if node.name == "var" else 0.5
        yield "constant", "divides by n - 1 where n belongs{where}", lambda t, n, s, v: v * _bessel(s[0], v) ** power
        yield "power", "has a standard deviation and a variance exchanged{where}", lambda t, n, s, v: v ** (1.5 - power)
    elif len(node.sources) == 1 and node.make is None and node.name not in SLIPS and node.name.isidentifier():
        yield "step", f"is the right one without {step_in_words(node.name)}{{where}}", _source(0)


# ---------- the tapes


class Whole(Taped):
    """A function on tensors: forward through its rows, and back; `rules`: other rules for some of them."""

    def __init__(self, trace: Trace, rules: Mapping[tuple[str, str], Any] | None = None):
        self.trace, self.rules = trace, rules or {}
        self.key = "whole", *((row, rule.__name__) for (row, _), (rule, _) in self.rules.items())

    def gradient(self, o: Observation, x: str, names: Mapping[str, Any], g: Any) -> Any:
        """On arrays that note what is done; on plain ones by the engine."""
        if not hasattr(g, "tape"):
            return o.reference.gradient(x, g, names)
        values, at = [names[y] for y in o.reference.inputs], o.reference.inputs.index(x)
        return self.trace.gradient(g.tape, values, at, g, rules=self.rules, without_zeros=not np.all(o.g))


def lines(o: Observation, x: str, number: int = 0) -> Lines | None:
    """The tape of the right rule of an observation, or another way to work it out, by number; None if none can be noted."""
    if ("lines", x, number) not in o.about_right:
        try:
            o.about_right["lines", x, number] = _lines(o, x, number)
        except Exception:  # a rule may do anything
            o.about_right["lines", x, number] = None
    return o.about_right["lines", x, number]


TAPES = 1 + len(TEXTBOOKS)  # the rules of the table, then those of textbooks


def _traced(reference: Reference, inputs: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Trace:
    """The rows of forward, of what passes for arrays if it writes into some."""
    try:
        return Trace(reference.function, inputs, settings)  # type: ignore[arg-type]
    except Exception:  # it does something in place
        if (written := as_arrays(reference)) is None:
            raise
        return Trace(written, inputs, settings)


def _lines(o: Observation, x: str, number: int) -> Lines | None:
    reference = o.reference
    way: Taped = Taped()
    if reference.function:
        trace = _traced(reference, dict(zip(reference.inputs, o.inputs, strict=True)), o.settings)
        rules = TEXTBOOKS[number - 1] if number else {}
        if number and not any(run.row.name == row for run in trace.rows for row, _ in rules):
            return None
        way = Whole(trace, rules)
    elif number:
        return None
    tape, at = way.tape(o, x)
    if not close(np.broadcast_to(tape.result({}), o.want[x].shape), o.want[x]):
        return None
    by_line: dict[Any, list[int]] = {}
    for k in tape.counting:
        if tape.nodes[k].sources:
            (tag, caller), name = tape.nodes[k].tag, tape.nodes[k].name
            line = (tag, caller), name
            if arrives(line):  # by the line that it comes from, and by that which made the value it comes to
                by_line.setdefault(((tag[:-1], caller), name), []).append(k)
            by_line.setdefault(line, []).append(k)
    by_line = {line: nodes for line, nodes in by_line.items() if not (arrives(line) and len(line[0][0]) > WHOLE_LINE
               and nodes == by_line[((line[0][0][:-1], line[0][1]), line[1])])}  # fmt: skip
    names = [n for n, v in o.names.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"]
    words = dict(enumerate(map(value_in_words, names)))
    words[at] = "g"
    rows = way.trace.rows if isinstance(way, Whole) else []
    joins = any(run.row.variadic or run.row.name == "index_put" for run in rows[-LAST_ROWS:])
    return Lines(tape, by_line, words, Counter(run.line for run in rows), joins)


@quiet
def find_tape_slip(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The slips in one line that explain all these calls, at most two of them. What all others give is kept: see `two_slips.py`."""
    found: dict[str, Family] = {}
    few = of_few_rounds(wrong[0], x, lambda o: _length(o, x))
    first, *others = [few, *wrong] if few else wrong
    for family, value in chain.from_iterable(_tried(first, x, number) for number in (*range(1, TAPES), 0)):
        if first.gave(x, value) and all(_fits(family, o, x) for o in others):
            found.setdefault(family.name, family)
    if not found:
        return None
    for o in wrong:
        o.memo.setdefault("slips", []).extend(found.values())
    likely, *also = sorted(found.values(), key=lambda family: family.name in LESS_LIKELY)[:2]
    return Mistake(likely.name, likely.text, predict=likely.predict, also=tuple(also), hint=likely.hint)


def _length(o: Observation, x: str) -> int:
    known = lines(o, x)
    return len(known.tape.counting) if known and known.joins else 0


@quiet
def find_same_slip(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The slip that was found in the gradient for another input, if it explains this one as well."""
    same = [family for family in wrong[0].memo.get("slips", ()) if all(_fits(family, o, x) for o in wrong)][:2]
    return Mistake(same[0].name, same[0].text, predict=same[0].predict, also=tuple(same[1:]), hint=same[0].hint) if same else None


def _tried(o: Observation, x: str, number: int) -> Iterator[tuple[Family, np.ndarray]]:
    """Each slip and what it gives, those that are cheap to try first."""
    known = lines(o, x, number)
    if known is None:
        return
    kept = o.memo.setdefault(("predicted", x), [])
    spent = o.memo.get("tape work", 0)
    most = max(MOST_WORK, spent + LEAST_WORK)
    costs = {line: len(known.tape.after(tuple(nodes))) for line, nodes in known.by_line.items()}
    in_order = sorted(costs, key=costs.__getitem__)
    in_rounds = ((line, loop_slips(o, known, line)) for line in sorted(in_order, key=arrives))
    in_loops = (
        (line, chain(of_first_step(known, nodes), of_next_step(known, nodes))) for line in in_order if (nodes := known.by_line[line])
    )
    by_themselves = [(line, _slips(known.tape.nodes[known.by_line[line][0]])) for line in sorted(in_order, key=_is_incoming)]
    few = sum(not _is_incoming(line) for line in in_order)
    pieces = ((line, parts(known, line)) for line in in_order)
    exchanged = ((line, other_values(known, line)) for line in in_order)  # which are many
    for line, several in chain(in_rounds, by_themselves[:few], in_loops, pieces, by_themselves[few:], exchanged):
        nodes, where = known.by_line[line], _where(known, line)
        for name, text, slip in several:
            o.memo["tape work"] = spent = spent + costs[line]
            if spent > most:
                return
            predict = partial(_slipped, line=line, slip=slip, number=number)
            try:
                value = predict(o, x)
            except Exception:  # the shapes do not allow it
                continue
            if known.is_in_loop(line) and name == "term" and arrives(line):
                continue  # said with what is lost
            hint = "triangle" if known.tape.nodes[nodes[0]].name in TRIANGLES else ""
            said = text.replace("{where}", where or _which_term(known, nodes[0], text, slip))
            family = Family(name, said, predict, exact=False, hint=hint)
            kept.append((family, value))
            yield family, value


def _which_term(known: Lines, node: int, text: str, slip: Slip) -> str:
    """Of two contributions that arrive somewhere, through which row the one comes that is said to be wrong."""
    sources = known.tape.nodes[node].sources
    kept = next((k for k, (_, words, other) in enumerate(SLIPS["add"][:2]) if words == text and other is slip), None)
    if kept is None or len(sources) != 2 or (way := known.tape.through.get(sources[1 - kept])) is None:
        return ""
    return f": what comes back through {way[0]}"


def _is_incoming(line: Any) -> bool:
    """A value that should not be there at all is less likely than one that is lost."""
    return bool(line[1] == "incoming_of_row")


WHOLE_LINE = 3  # parts of the tag of such a line, without what made the value


def _fits(family: Family, o: Observation, x: str) -> bool:
    try:
        return o.gave(x, family.predict(o, x))
    except Exception:  # it cannot be made here
        return False


def slips_of(node: Node, value: Any) -> Iterator[tuple[str, str, Slip]]:
    """What may go wrong in one operation of any computation, that of complex numbers too."""
    yield from _slips(node)
    if np.iscomplexobj(value) and node.sources:
        yield CONJUGATED
        yield (
            "variable",
            "has a direction, a value divided by its modulus, where the value itself belongs",
            lambda t, n, s, v: v / np.abs(v),
        )


def _where(known: Lines, line: Any) -> str:
    (tag, _), _ = line
    if isinstance(tag, tuple) and tag[0] in ("back", "incoming"):
        tape, nodes = known.tape, known.by_line[line]
        row = tape.nodes[nodes[0]].row
        name = tape.names.name(row, known.is_in_loop(line)) if row >= 0 and tape.names else row_in_words(tag[-1])
        return f", in the derivative of {name}"
    return ""


def _slipped(o: Observation, x: str, line: Any, slip: Slip, number: int) -> np.ndarray:
    known = lines(o, x, number)
    if known is None or line not in known.by_line:
        raise LookupError("there is no such line")
    return np.broadcast_to(known.tape.result(known.tape.with_slip(known.by_line[line], slip)), o.want[x].shape)
