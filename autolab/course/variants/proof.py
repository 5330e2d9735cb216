"""What is proven of an entry of the bank before anybody has it as an exercise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import nbformat

from autolab.check import BEHAVIOURS, Reference, Report, Spec, judge
from autolab.check import prove as prove_rules
from autolab.check.api.check import reference_of
from autolab.check.api.score import RowCandidate, mutation_score
from autolab.check.run.specs import spec_for
from autolab.course.notebook import from_markdown
from autolab.course.release import release_of
from autolab.course.solutions import blank, solve

from .bank import Bank, Variant
from .text import SECTION, Place, checks, fence, places, solution, statement

TOLERANCE = 4, 0.4  # by how much the difficulty may differ: so much, or this part of it
WRONG = ("0 * g", "-g", "2 * g")
COUNTED = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare, ast.Subscript, ast.IfExp)


@dataclass
class Proof:
    """What was found out about one entry; it holds if there are no `problems`."""

    name: str
    pool: str
    difficulty: int = 0
    original: tuple[int, ...] = ()  # of the exercises it can stand in for
    caught: int = 0
    of: int = 0
    named: int = 0
    problems: list[str] = field(default_factory=list)


def prove(variant: Variant, bank: Bank, text: str, naming: bool = True) -> Proof:
    """Prove one entry: its rules by differences, its solution, its blank, its mutants, its release. `text`: of the problem set.

    Without `naming` mutants are caught and not named, which takes a fraction of the time.
    """
    original = originals(variant.pool, bank, text)
    place = next(iter(original.values()))
    found = Proof(variant.name, variant.pool)
    if variant.is_rule:
        found.difficulty = difficulty(variant.spec)
        rules = [name for name in original if name not in BEHAVIOURS]
        found.original = tuple(sorted({difficulty(exercise) for exercise in rules or [v.spec for v in bank.pool(variant.pool)]}))
        if all(abs(found.difficulty - d) > max(TOLERANCE[0], TOLERANCE[1] * d) for d in found.original):
            found.problems.append(f"its difficulty is {found.difficulty}, and that of what it stands in for {found.original}")
        found.problems += prove_rules(variant.spec)
        found.problems += shown(variant)
        score = mutation_score(replace(variant.spec, second=False), named=naming)
        missed = [*score.missed, *([] if score.caught else wrong_anywhere(variant))]
        found.caught, found.named = (score.caught, score.named) if score.caught else (len(WRONG) - len(missed),) * 2
        found.of = found.caught + len(missed)
        found.problems += [f"this wrong rule passes: {formula}" for formula in missed]
    else:
        found.of, found.caught, wrong = wrong_answers(variant, bank, place)
        found.named = found.caught
        found.problems += wrong
    found.problems += notebook_problems(variant, bank, place)
    found.problems = [f"{bank.set}, variant {variant.name}: {problem}" for problem in found.problems]
    return found


def originals(pool: str, bank: Bank, text: str) -> dict[str, Place]:
    """The exercises that draw from a pool, by what `check` calls them, and where they stand."""
    where = {id_: place for section in SECTION.findall(text) for id_, place in places(section).items()}
    return {where[slot.answer].name: where[slot.answer] for slot in bank.slots() if slot.pool == pool}


def difficulty(exercise: str | Spec) -> int:
    """How much there is to find: one for each input that has a gradient, one for each operation in the rules, one for what overflows.

    >>> difficulty("exp"), difficulty("tanh")
    (2, 5)
    """
    spec = exercise if isinstance(exercise, Spec) else spec_for(exercise)
    reference = reference_of(spec)
    nodes = [node for formula in reference.formulas.values() for node in ast.walk(ast.parse(formula, mode="eval"))]
    return len(reference.rules) + sum(isinstance(node, COUNTED) for node in nodes) + bool(spec.extreme)


def wrong_anywhere(variant: Variant) -> list[str]:
    """Of a rule that is too short for a slip of the pen: wrong rules that nevertheless pass."""
    reference = Reference.of(variant.spec)
    candidates = ((f"{x}: {formula}", RowCandidate(reference, x, compile(formula, "<wrong>", "eval")))
                  for x in reference.differentiable() for formula in WRONG)  # fmt: skip
    return [text for text, candidate in candidates if judge(variant.spec, reference, candidate, seed=1).passed]


def shown(variant: Variant) -> list[str]:
    """The check that students see takes the right rule for right, and shows none of it."""
    if variant.known or variant.pretends:
        return []
    full, seen = Reference.of(variant.spec), variant.shown_spec
    report = judge(replace(seen, second=False), reference_of(seen), RowCandidate(full))
    return [] if report.passed else [f"the visible check refuses the right rule: {d.text}" for d in report.diagnoses[:2]]


def notebook_problems(variant: Variant, bank: Bank, place: Place) -> list[str]:
    """The solution has all points, the blank none, and the release contains no part of the solution."""
    source, problems = exercise_notebook(variant, bank, place), []
    for what, answers, right in (("solution", {}, True), ("blank answer", blank(source), False)):
        for cell, value in solve(source, answers).items():
            if not cell.endswith(("-check", "-hidden")):
                if right and isinstance(value, Exception):
                    problems.append(f"cell {cell} of the {what} raises {type(value).__name__}: {value}")
                continue
            of = float(place.points if cell.endswith("-check") else place.hidden)
            points = value.worth(of).points if isinstance(value, Report) else 0.0
            if points != (of if right else 0):
                why = "; ".join(d.text for d in value.diagnoses[:2]) if isinstance(value, Report) else repr(value)
                problems.append(f"cell {cell}: the {what} has {points:g} of {of:g} points ({why})")
    released = nbformat.writes(release_of(source))
    if re.search("(BEGIN|END) (SOLUTION|HIDDEN TESTS)", released):
        problems.append("a marker is left in the release")
    rules = [] if variant.known or variant.pretends else [rule for x, rule in variant.rules.items() if len(rule) > len("2 * g")]
    problems += [f"the release shows the rule {rule!r}" for rule in rules if rule in released or rule.replace("np.", "torch.") in released]
    return problems


def exercise_notebook(variant: Variant, bank: Bank, place: Place, answer: str = "") -> nbformat.NotebookNode:
    """One entry as a notebook of its own; `answer` in place of its solution."""
    modules = "import math\n\nimport numpy as np\n\nimport autolab as torch"
    setup = f"{modules}\nfrom autolab.autograd import Function\nfrom autolab.check import check"
    earlier = [bank.helpers, *(slot.prelude for section in bank.sections for slot in section.slots)]
    earlier = [re.sub(r"[ \t]*### (BEGIN|END) SOLUTION\n?", "", code).strip() for code in earlier if code]
    parts = [fence("locked setup", "\n\n\n".join([setup, *earlier])), *statement(variant),
             fence("answer answer", answer or solution(variant)), *checks(variant, place)]  # fmt: skip
    return from_markdown("\n\n".join(part for part in parts if part), f"variant {variant.name}")


def wrong_answers(variant: Variant, bank: Bank, place: Place) -> tuple[int, int, list[str]]:
    """Of an exercise on behaviour, which has no formula to make slips in: the wrong answers that its entry lists."""
    caught, problems = 0, []
    for number, answer in enumerate(variant.wrong):
        found = solve(exercise_notebook(variant, bank, place, answer))
        if any(isinstance(value, Report) and not value.passed for value in found.values()):
            caught += 1
        else:
            problems.append(f"wrong answer {number + 1} gets all points")
    return len(variant.wrong), caught, problems or ([] if variant.wrong else ["it lists no wrong answers"])


def proofs(bank: Bank, text: str, naming: bool = True) -> Iterator[Proof]:
    """All entries of a bank, one after the other."""
    for variant in bank.variants.values():
        yield prove(variant, bank, text, naming)
