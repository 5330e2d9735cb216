"""What a sentence names has to be there: of a mask nobody speaks where neither the rule nor forward has one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import FunctionType

from autolab.formula import definition

from ..run.observation import Observation
from ..run.reference import Reference
from .diagnosis import Mistake

MOST = 12  # functions that are read

CHOOSING = {
    "<", "abs", "absolute", "amax", "amin", "argmax", "argmin", "argsort", "ceil", "choose", "clamp", "clip", "eye", "floor", "fmax",
    "fmin", "heaviside", "isclose", "isnan", "leaky_relu", "logical_and", "logical_not", "logical_or", "mask", "masked_fill", "max",
    "maximum", "median", "min", "minimum", "nonzero", "piecewise", "relu", "round", "select", "sign", "sort", "take", "take_along_axis",
    "topk", "tril", "triu", "where",
}  # fmt: skip
# What is named, and what has to be there for it.
NAMED: list[tuple[str, set[str]]] = [(r"\b(?:mask|choice)\b", CHOOSING), (r"\brelu\b", {"relu", "maximum", "clip", "clamp", "fmax"})]
OF_ABS, ABS_FOR = re.compile(r"derivative of (?:the )?abs\b"), re.compile(r"uses the result of (?:the )?abs\b.* where ")
PERHAPS = ": a mask or a choice is missing"
OPEN = ("another number in the formula", "where another value belongs")


def only_what_is_there(found: Mistake, o: Observation, x: str) -> Mistake:
    """Without the explanations that name what neither the rule nor forward has, and without those that leave open what is wrong."""
    families = found.every()
    if any(OF_ABS.search(f.text) for f in families):  # abs(x) for x, which gives the same, is a way to say it that explains less
        families = [f for f in families if not ABS_FOR.match(f.text)]
    absent = [words for words, needs in NAMED if any(re.search(words, f.text) for f in families)]
    there = _words(o) if absent else None
    if there is not None:
        absent = [words for words, needs in NAMED if not needs & there]
        if not CHOOSING & there:
            families[0].text = families[0].text.replace(PERHAPS, "")
        families = [f for f in families if not any(re.search(words, f.text) for words in absent)] or families[:1]
    first, *others = families
    also = tuple(f for f in others if not any(words in f.text for words in OPEN))
    return replace(found, family=first.name, text=first.text.format(x=x), also=also, hint=first.hint)


def _words(o: Observation) -> set[str] | None:
    """The names in the sources of the rule and of forward, and "<" for a comparison; None if one of them cannot be read."""
    candidate = getattr(o.ask, "candidate", None)
    methods = getattr(candidate, "methods", None)
    if not methods:
        return None
    return read([*methods.values(), *_of_reference(o.reference)])


def written_numbers(o: Observation) -> set[float] | None:
    """The numbers in the sources of the rule and of what it calls in the same file; None if one of them cannot be read."""
    methods = getattr(getattr(o.ask, "candidate", None), "methods", None)
    found: set[float] = set()
    return found if methods and read(methods.values(), found) is not None else None


def _of_reference(reference: Reference) -> Iterator[Callable]:
    function = reference.function or reference.forward
    yield getattr(function, "forward", function)
    yield from filter(None, [reference.backward])


def read(functions: Iterable[Callable], numbers: set[float] | None = None) -> set[str] | None:
    """The names in these functions and in those of the same files that they call; `numbers` is given their numbers, and those named."""
    found: set[str] = set()
    todo, seen = list(functions), set[int]()
    while todo and len(seen) < MOST:
        function = todo.pop(0)
        if id(function) in seen:
            continue
        seen.add(id(function))
        if not isinstance(function, FunctionType):  # NumPy's
            found.add(getattr(function, "__name__", ""))
            continue
        node = definition(function)
        if node is None:
            return None
        for part in ast.walk(node):
            name = getattr(part, "attr", None) or getattr(part, "id", None)
            if name:
                found.add(name)
                helper = function.__globals__.get(name)
                if isinstance(helper, FunctionType) and helper.__code__.co_filename == function.__code__.co_filename:
                    todo.append(helper)
                elif numbers is not None and isinstance(helper, (int, float)):
                    numbers.add(float(helper))
            elif numbers is not None and isinstance(part, ast.Constant) and isinstance(part.value, (int, float)):
                numbers.add(float(part.value))
            elif isinstance(part, (ast.Compare, ast.IfExp)):
                found.add("<")
    return found
