"""What a rule that raises tells: the kind of thing that fails, what it was given, and in which calls it fails.

Python's message is kept; what is added is read from its numbers, from which calls fail and which do not, and from the slips
that raise the same error with the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..run.candidate import Fault
from ..run.observation import RIGHT, Observation, error_of
from ..run.runs import CaseRun
from .diagnosis import Diagnosis, fault
from .families import families
from .family import Family
from .hints import HINTS
from .quiet import quiet
from .repairs.beside import in_full
from .repairs.search import find_repair


class Failure(NamedTuple):
    """A kind of failure: how its message begins, the kinds of mistake behind it, and a sentence with the parts of the message."""

    message: str
    families: tuple[str, ...]
    text: str


PRODUCT = ("order", "transposed")
PRODUCT_SAID = "A matrix product needs as many columns on the left as rows on the right; here they are {} and {}: a factor is " \
               "transposed the wrong way, or the factors appear in the wrong order"  # fmt: skip
STRETCHED = ("keepdims", "not spread", "wrong axis")
NOT_PUT_BACK = (
    "{} and {} do not fit: an axis that forward removed was not put back, or one is summed that should stay, or the other way round"
)
STRETCHED_SAID = "Shapes are compared from the right, and two lengths fit if they are equal or one of them is 1; {} and {} do not: an " \
                 "axis that forward removed was not put back, or one is summed that should stay, or the other way round"  # fmt: skip
AXIS_SAID = "There is no axis {}: the array has only {}"
SIZE_SAID = "{} entries do not fit into {}: one of the lengths is another than it should be, or it is a fixed number"
INDEX_SAID = "Place {} does not exist, there are {}: a loop or an index runs past the end of this array"
SQUARE_SAID = "This needs a square matrix, and here it is none: an inverse or a determinant of another matrix belongs there, or none"

FAILURES = (
    Failure(r"matmul: Input operand 1 has a mismatch.*\(size (\d+) is different from (\d+)\)", PRODUCT,
            PRODUCT_SAID.replace("{} and {}", "{1} and {0}")),
    Failure(r"shapes \(.*\) and \(.*\) not aligned: (\d+) \(dim \d+\) != (\d+)", PRODUCT, PRODUCT_SAID),
    Failure(r"mat1 and mat2 shapes cannot be multiplied.*are (\d+) and (\d+)\.", PRODUCT, PRODUCT_SAID),
    Failure(r"(?:Expected size for first two|size mismatch|vector \+ matrix|batch\d must be|self must be|mat\d must be)", PRODUCT,
            "The factors of a matrix product do not fit: one is transposed the wrong way, or they appear in the wrong order"),
    Failure(r"matmul: Input operand (\d) does not have enough dimensions", ("elementwise", *PRODUCT),
            "A matrix product has a single number as a factor: either it is not a matrix product, or a sum was taken too early"),
    Failure(r"operands could not be broadcast together with remapped shapes.*->\(\d.*(\(.*\)->.*) (\(.*\)->.*)",
            ("order", "transposed", "axis"),
            "A letter of the einsum stands for two lengths: {} and {}. Its letters are not those of the "
            "arrays"),
    Failure(r"einsum\(\): subscript (\w) has size (\d+) for operand \d+ which does not broadcast with previously seen size (\d+)",
            ("order", "transposed", "axis"),
            "The letter {} of the einsum stands for two lengths, {} and {}: it is not the same axis in "
            "both"),
    Failure(r"(?:einstein sum subscripts string contains|operand has more dimensions than subscripts|einsum\(\): the number of subscripts)",
            ("axis",),
            "An operand of the einsum has not as many axes as "
            "letters"),
    Failure(r"output subscript '(\w)' which never appeared", ("axis", "term"),
            "The result of the einsum has an axis {} that none of its operands has"),
    Failure(r"operands could not be broadcast together with remapped shapes.*?: (\(.*?\)).*requested shape (\(.*?\))", STRETCHED,
            STRETCHED_SAID),
    Failure(r"operands could not be broadcast together with shapes (\(.*?\)) (\(.*?\))", STRETCHED, STRETCHED_SAID),
    Failure(r"could not broadcast input array from shape (\(.*?\)) into shape (\(.*?\))", ("pieces", "places", *STRETCHED),
            "What is written, {0}, and the place it is written to, {1}, have not the same shape: a slice is too long or "
            "too short, or an axis is missing"),
    Failure(r"non-broadcastable output operand with shape (\(.*?\)) doesn't match the broadcast shape (\(.*?\))", STRETCHED,
            "An array of shape {} cannot hold {}: what is added to it is larger; a sum over the stretched axes is missing"),
    Failure(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\).* compared from the right", STRETCHED, NOT_PUT_BACK),
    Failure(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", STRETCHED, STRETCHED_SAID),
    Failure(r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)", STRETCHED, STRETCHED_SAID),
    Failure(r"(?:axis\d?: )?axis (-?\d+) is out of bounds for array of dimension (\d+)", ("axis", "2-D only"), AXIS_SAID),
    Failure(r"Dimension out of range \(expected to be in range of \[-?\d+, (\d+)\], but got (-?\d+)\)", ("axis", "2-D only"),
            "There is no axis {1}: the last one is {0}"),
    Failure(r"(?:axes don't match array|permute\()", ("axis", "2-D only", "permutation"),
            "The axes that are named are not as many as the array has"),
    Failure(r"cannot reshape array of size (\d+) into shape (\(.*\))", ("flattened", "number", "setting"), SIZE_SAID),
    Failure(r"shape '(\[.*?\])' is invalid for input of size (\d+)", ("flattened", "number", "setting"),
            SIZE_SAID.replace("{} entries do not fit into {}", "{1} entries do not fit into {0}")),
    Failure(r"index (-?\d+) is out of bounds for (?:axis|dimension) \d+ with size (\d+)", ("places", "number", "setting"), INDEX_SAID),
    Failure(r"too many indices for array: array is (\d+)-dimensional, but (\d+) were indexed", ("2-D only", "axis", "places"),
            "The array has {} axes, and {} are asked for"),
    Failure(r"(\d+)-dimensional array given\. Array must be at least two", ("square only", "2-D only", "variable"),
            "This needs a square matrix, and the array has {} axes"),
    Failure(r"tuple index out of range.*saved_tensors\[", ("none",),
            "backward takes more of what forward saved than there is: does it call `ctx.save_for_backward`, with all of them?"),
    Failure(r"(?:list|tuple) index out of range", ("places", "number", "2-D only"),
            "An index runs past the end: there are fewer axes, or entries, than it assumes"),
    Failure(r"cannot select an axis to squeeze out", ("axis", "keepdims"), "Only an axis of size 1 can be squeezed out"),
    Failure(r"(?:all the input array dimensions|all the input arrays must have|all input arrays must have|Sizes of tensors must match)",
            ("pieces", "axis"),
            "What is put together has not the same lengths along the other axes: a piece is cut in the wrong place, or "
            "along the wrong axis"),
    Failure(r"array split does not result in an equal division", ("pieces", "number"), "The pieces would not be equally long"),
    Failure(r"(?:Last 2 dimensions of the array must be square|linalg\.\w+: A must be batches of square)", ("square only", "variable"),
            SQUARE_SAID),
    Failure(r"(?:Singular matrix|linalg\.\w+:.*singular)", ("variable",),
            "The matrix that is inverted has no inverse: it is another one than forward's"),
    Failure(r"not enough values to unpack \(expected (\d+), got 0\).*saved_tensors", ("none",),
            "backward takes {} of what forward saved, and forward saved nothing: does it call `ctx.save_for_backward`?"),
    Failure(r"not enough values to unpack \(expected (\d+), got (\d+)\).*saved_tensors", ("none",),
            "backward takes {} of what forward saved, and forward saved {}"),
    Failure(r"too many values to unpack \(expected (\d+).*saved_tensors", ("unpack",),
            "backward takes {} of what forward saved, and forward saved more"),
    Failure(r"too many values to unpack \(expected (\d+)", ("2-D only",), "The line expects {} axes, and the array has more"),
    Failure(r"not enough values to unpack \(expected (\d+), got (\d+)", ("2-D only",), "The line expects {} axes, and the array has {}"),
    Failure(r"Cannot cast ufunc '\w+' output from dtype\('(\w+)'\) to dtype\('(\w+)'\)", ("integer", "dtype"),
            "An array of {1} cannot take numbers of {0}: it was made from whole numbers"),
    Failure(r"The truth value of an array with more than one element|Boolean value of Tensor with more than one", ("one answer", "mask"),
            "`if`, `and`, `or` and max ask for one answer, and an array has one for each entry"),
    Failure(r"(?:unsupported operand type\(s\) for .*'tuple'|'tuple' object has no attribute|can't multiply sequence)", ("unpack",),
            "A tuple is where an array should be"),
    Failure(r"only (?:0-dimensional|length-1|size-1) arrays can be converted|only integer scalar arrays", ("not spread",),
            "A single number is asked for, and the array has many"),
    Failure(r"(?:diag requires an array of|Input must be 1- or 2-d)", ("2-D only",),
            "This function takes matrices only, and the array has another number of axes"),
    Failure(r"(?:matrix transpose with ndim < 2|tensor\.mT is only supported)", ("2-D only", "transposed"),
            "A vector has no transpose: it has one axis"),
    Failure(r"(?:arrays used as indices must be|`indices` must be an integer)", ("places",),
            "An index has to be whole numbers, and these are none"),
    Failure(r"name '(\w+)' is not defined", ("name",),
            "Nothing is called {}: backward knows g, what it asks for by name, and what appears in its own lines"),
    Failure(r"'([\w.]+)' object has no attribute '(\w+)'", ("name",),
            "A {} has no {}: it is another kind of thing than the line expects, or the name is misspelt"),
    Failure(r"unsupported operand type\(s\) for .*'NoneType'", ("none",), "A value is None: it was not computed, or not returned"),
    Failure(r"NoneType", ("none",), "A value is None: it was not computed, or not returned"),
    Failure(r"assignment destination is read-only", ("mutation",), "The array belongs to somebody else, and may not be written into"),
)  # fmt: skip


def failure(answer: Any, where: str = "") -> Diagnosis:
    """The diagnosis of a call that raised: Python's words, and what kind of thing fails."""
    found = fault(answer, where)
    if found.family != "exception":
        return found
    said = f"{answer.fault.text} {answer.fault.line or ''}"
    known = next(((f, m) for f in FAILURES if (m := re.search(f.message, said, re.DOTALL))), None)
    if known is None:
        return found
    kind, match = known
    said = kind.text.format(*match.groups())
    return replace(found, text=f"{found.text}. {said}", alternatives=kind.families, hint=HINTS.get(kind.families[0], found.hint))


@quiet
def explain_failures(runs: Sequence[CaseRun], inputs: Sequence[str]) -> Diagnosis:
    """What is said of a rule that raises in some of these calls, or in all: the first one that does, and what they have in common."""
    failed = [run for run in runs if not run.first]
    found = failure(failed[0].answer, failed[0].where)
    if found.family != "exception":
        return found
    if repair := find_repair([o for run in runs for o in run.observations], inputs[0], every=True):
        kinds = (repair.family, *found.alternatives)
        found = replace(
            found, text=f"{found.text}. The rule {in_full(repair).text}", alternatives=kinds, hint=HINTS.get(repair.family, found.hint)
        )
    elif slip := _same_error(failed, inputs):
        x, family = slip
        text = f"{found.text}. That is what happens if the gradient for {x} {family.text.format(x=x)}"
        found = replace(found, text=text, alternatives=(family.name, *found.alternatives), hint=HINTS.get(family.name, found.hint))
    if said := pattern(runs):
        family_name, text = said
        if family_name == "2-D only":
            found = fault(failed[0].answer, failed[0].where)
        right = all(run.first is None or not _is_wrong(run.first, inputs) for run in runs)
        start = "The rule is right" if right else "The rule gives an answer"
        kinds = tuple(dict.fromkeys((family_name, *found.alternatives)))
        found = replace(
            found, text=f"{start} {text}: there {_lower(found.text)}", alternatives=kinds, hint=HINTS.get(family_name, found.hint)
        )
        if family_name == "2-D only" and right:
            found = replace(found, family=family_name)
    if FIXED not in found.text and (n := _written_size(runs)):
        text = f"{found.text}. The line says {n}, which is a size in another call and none in this one: {FIXED}"
        found = replace(found, text=text, alternatives=tuple(dict.fromkeys(("number", *found.alternatives))), hint=HINTS["fixed size"])
    return found


def _written_size(runs: Sequence[CaseRun]) -> int:
    """A number in each line that fails, or in the head of its loop, which is a size in other calls and in none of those that fail; or 0."""
    sizes = [{n for name, value in run.names.items() if isinstance(value, np.ndarray) for n in np.shape(value)} for run in runs]
    failed = [k for k, run in enumerate(runs) if not run.first]
    inside = set.union(*(sizes[k] for k in failed))
    elsewhere = set.union(*sizes) - inside
    written = set.intersection(*(_numbers_in(runs[k].answer.fault) for k in failed))
    return min((n for n in written & elsewhere if n > 1), default=0)


def _numbers_in(fault: Fault | None) -> set[int]:
    """The whole numbers in the line of code, not those of the shapes that are said beside it."""
    code, _, rest = ((fault and fault.line) or "").partition(": ")[2].partition(", with ")
    code += rest.partition("`")[2]
    return {int(n) for n in re.findall(r"(?<![\w.])\d{1,6}(?![\w.])", code)}


FIXED = "a size seems to be a fixed number"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _is_wrong(o: Observation, inputs: Sequence[str]) -> bool:
    return any(error_of(o, x) > RIGHT for x in inputs)


MOST_TRIED = 400  # slips; each is a formula on a small array


def _same_error(failed: Sequence[CaseRun], inputs: Sequence[str]) -> tuple[str, Family] | None:
    """The slip in a rule that raises the very same error, with the same numbers, in all these calls; None if there are several."""
    calls = [(run.failure, _words(run)) for run in failed if run.failure]
    if not all(re.search(r"\d", words) for _, words in calls):  # a message without numbers proves nothing
        return None
    found: list[tuple[str, Family]] = []
    for x in inputs:
        first = calls[0][0]
        for _, family in zip(range(MOST_TRIED), families(first, x, calls=False), strict=False):
            if all(_error(family, o, x) == words for o, words in calls):
                if any(f.name == family.name and y == x for y, f in found):
                    continue
                found.append((x, family))
                if len(found) > 1:
                    return None
    return found[0] if found else None


def _words(run: CaseRun) -> str:
    fault = run.answer.fault
    return fault.text.partition(" raised ")[2].strip() if fault else ""


def _error(family: Family, o: Observation, x: str) -> str:
    try:
        family.predict(o, x)
    except Exception as error:  # which one is the question
        return f"{type(error).__name__}: {error}".strip()
    return ""


# ---------- which calls fail


Answer = tuple[str, str, list[bool]]  # a kind of mistake, where it works and fails in words, and of each call whether it should fail


def pattern(runs: Sequence[CaseRun]) -> tuple[str, str] | None:
    """What all calls that fail have in common and no other has: the kind of mistake, and where it works and where it fails."""
    failed = [not run.first for run in runs]
    if all(failed):
        return None
    every = _patterns([run.names for run in runs], [run.case.settings for run in runs])
    return next(((family, text) for family, text, expected in every if expected == failed), None)


def setting_of_wrong_calls(calls: Sequence[Observation], wrong: Sequence[bool]) -> str:
    """With which value of which setting a rule is wrong, and with no other; nothing if there is none. Several may change together."""
    names = sorted({name for o in calls for name in o.settings}, key=lambda name: (name in ("axis", "dim"), name))  # an axis is seldom why
    if all(wrong) or not all(name in o.names for o in calls for name in names):
        return ""
    fits = [[text for _, text, expected in _of_setting(name, [o.names[name] for o in calls]) if expected == [*wrong]] for name in names]
    first = next((texts[0] for texts in fits if texts), "")
    start = first.partition(" where ")[0]
    alike = [next((text for text in texts if text.startswith(start)), "") for texts in fits]
    others = [text.partition(" where ")[2] for text in alike if text and text != first]
    return " and ".join([first, *others]) if first else ""


def _patterns(names: Sequence[Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]) -> Iterator[Answer]:
    shapes = {x: [np.shape(one[x]) for one in names] for x in names[0] if f"{x}_shape" in names[0]}
    results = [np.shape(one["out"]) for one in names]
    for x, some in shapes.items():
        counts = sorted({len(shape) for shape in some})
        for n in counts[:-1]:
            more = f"{counts[-1]}" if len(counts) == 2 else f"more than {n}"
            yield "2-D only", f"where {x} has {_axes(n)} and fails where it has {more}", [len(shape) > n for shape in some]
    for x, some in shapes.items():
        yield "square only", f"where {x} is square and fails where it is not", [shape[-1:] != shape[-2:-1] for shape in some]
    sizes = [{n for some in shapes.values() for n in some[k]} for k in range(len(names))]
    yield "square only", "where all sizes are the same and fails where they differ", [len(one) > 1 for one in sizes]
    for x, some in shapes.items():
        text = f"where {x} has the shape of the result and fails where forward stretches it"
        yield "not summed", text, [shape != out for shape, out in zip(some, results, strict=True)]
    text = "where no input is stretched and fails where forward stretches one"
    yield "not summed", text, [any(some[k] != out for some in shapes.values()) for k, out in enumerate(results)]
    for name in sorted({name for one in settings for name in one}):
        yield from _of_setting(name, [one.get(name) for one in settings])
    for shape in dict.fromkeys(results):
        text = f"only where the result has shape {shape}: a shape or {FIXED}"
        yield "number", text, [out != shape for out in results]
    for x, some in shapes.items():
        for n in sorted({len(shape) for shape in some})[:-1]:
            yield "axis", f"where {x} has more than {_axes(n)} and fails where it has {n}", [len(shape) <= n for shape in some]
    for x, some in shapes.items():
        for axis in range(min(map(len, some))):
            yield from _of_size(f"axis {axis} of {x}", [shape[axis] for shape in some])


def of_the_wrong_calls(text: str, where: str) -> str:
    """What is "the other way round" in the calls that are wrong alone is one way in all.

    >>> of_the_wrong_calls("takes swap the other way round", "except where swap is True")
    'is what would be right if swap were False'
    """
    if (turned := re.fullmatch(r"takes (\w+) the other way round", text)) and turned[1] in where.split():
        return f"is what would be right if {turned[1]} were {where.startswith('except') != where.endswith('True')}"
    return text


def _of_size(words: str, sizes: list[int]) -> Iterator[Answer]:
    for n in sorted(set(sizes)):
        text = f"where {words} has size {n} and fails where it has another: {FIXED}"
        yield "number", text, [size != n for size in sizes]
        yield "number", f"where {words} has a size of at most {n} and fails where it is larger", [size > n for size in sizes]
        text = f"where {words} has a size of more than {n} and fails where it is smaller: a bound seems to be a fixed number"
        yield "number", text, [size <= n for size in sizes]


def _of_setting(name: str, given: list[Any]) -> Iterator[Answer]:
    kinds = {
        "None": [v is None for v in given], "a tuple": [isinstance(v, tuple) for v in given], "True": [v is True for v in given],
        "negative": [isinstance(v, (int, float)) and v < 0 for v in given],
    }  # fmt: skip
    kinds |= {repr(value): [repr(v) == repr(value) for v in given] for value in given}
    for words, holds in kinds.items():
        yield "setting", f"except where {name} is {words}", holds
        yield "setting", f"only where {name} is {words}", [not h for h in holds]


def _axes(n: int) -> str:
    return "1 axis" if n == 1 else f"{n} axes"
