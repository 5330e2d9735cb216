"""The bank of variants, proven and counted: `python -m docs.make.variants > docs/variants.md`. It takes a few minutes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autolab.course.variants.bank import Bank, read_bank
from autolab.course.variants.make import problem_text
from autolab.course.variants.proof import Proof, originals, proofs

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
HEAD = r"""# Variants of the problem sets

Written by `python -m docs.make.variants`, which proves every entry.

A problem set that is public has public solutions. `autolab course variant` draws its exercises anew from a bank of others, of the
same kind and difficulty, and writes them as an assignment:

    autolab course variant ps2 --year 2027                             # one for the class: ps2-2027
    autolab course variant ps2 --year 2027 --per-student roster.csv    # one for each student
    autolab course variant ps2 --prove                                 # after an entry was added

Problem sets 1 to 9 have a bank; of set 9 two exercises are varied. An entry is a formula, and what is proven of it rests on its formula.
The other sets have none, for most of their exercises are programs:

| set | why it has no bank |
|---|---|
| 10 | a rule follows from the equation that the text derives: another equation is another derivation |
| 11, 12, 14 | algorithms: schedules, brackets, rings, levels; the checks draw other graphs, sizes and numbers in each grading |
| 13 | each formula is one estimator that has a name: a variant is another estimator to learn first |
| 15 | slips and differences are made for real formulas, and its checks are programs |
| 16 | each program has one fault: another fault is another program to write, with a check of its own |
| 17 | passes of a compiler; the check writes other programs for each |
| capstone | an engine has the parts that it has; the report is about a student's own |

Give them as they are, knowing that their solutions are public, or write exercises of your own (`autolab course add`).

**For the class** the assignment is like any other: `text/ps2-2027/` to edit, `source/`, wrong answers in `wrong/`, the rubric, and
`autolab course check ps2-2027`. Points, ids of cells and the questions in words are those of the original, so that years can
be compared.

**For each student** the draw depends on the key of the course (`variants/key`, made once, never handed out), the year and the
student's login, so that it is the same each time and no two draws have to do with each other. `variants/ps2-2027/drawn.csv` says
who has what; `variants/ps2-2027/release/STUDENT/` is what to hand out, with the learning management system or into the home folder:
nbgrader's exchange has one release for all. The roster is a CSV file with a column `id`, `login` or `username`; run the command again
when somebody joins, and nobody's exercises change. `autolab course grade`, `--regrade`, `nbgrader autograde` and the feedback
take the exercises that the course recorded for the student, whatever the notebook says. An answer to another student's exercise is
judged as an answer to one's own; the feedback says so, and `autolab course report` lists it. A student whom nothing was drawn
for is graded by the exercises of the class, and `grade`, the report and the feedback say so: run the same command again with them in
the roster, hand out, and grade.

## An entry

An entry is a paragraph of `bank/SET.toml`:

    [[variant]]
    pool = "squash"                                # the exercises it can stand in for
    name = "softsign"
    title = "softsign"
    math = 'y_i = \frac{x_i}{1 + |x_i|}'
    forward = "x / (1 + np.abs(x))"
    rules = { x = "g / (1 + np.abs(x)) ** 2" }
    options = 'extreme={"x": (-800.0, 900.0)}'     # of the Spec: domain, shapes, settings, kink, extreme, second
    example = { x = 3, g = 4 }                     # the worked number is computed
    text = "Look at positive $x$ and negative $x$ separately; both sides come to the same formula."

The statement, the visible check, the hidden check, the solution and a wrong answer are written from it. With `settings` the
forward has keywords, with `inputs` several arrays, and `kind` is "elementwise", "linear", "bilinear" or "general". An operation that
`check` knows already is `known` by that name. `answer` is the solution where it cannot be written from the formulas, and `wrong` lists
wrong answers to an exercise on behaviour. What `[[exercise]]` says holds for all entries of its pools.

The check in the student's notebook has the forward only: the engine differentiates it. It names fewer mistakes than a check that
knows the rule, and catches as many.

`--prove` compares each rule with differences of eighth order of its forward, in every shape, setting and way to broadcast that is
checked; gives the solution all points and the blank none; puts every slip of the pen in the rule to the check; and looks for
the rule in the release.

**Difficulty** counts what there is to find: one for each input that has a gradient, one for each operation in the rules, one for what
overflows. An entry may differ by 4, or by 40 %, from an exercise that it stands in for; where the original has no
formula, from another entry of its pool.
"""


def text() -> Iterator[str]:
    """The page, piece by piece."""
    yield HEAD
    banks = [read_bank(EXERCISES, path.stem) for path in sorted((EXERCISES / "bank").glob("ps*.toml"))]
    yield f"\n## The {sum(len(bank.variants) for bank in banks)} entries\n"
    for bank in banks:
        source = problem_text(EXERCISES, bank.set).read_text("utf-8")
        yield f"\n### {bank.set}\n\n| stands in for | entry | difficulty | wrong rules caught | named |\n|---|---|---|---|---|\n"
        for proof in proofs(bank, source):
            yield from (f"PROBLEM {problem}\n" for problem in proof.problems)
            yield row(proof, bank, source)
        yield f"\nNot varied: {'; '.join(f'`{name}`, since {why}' for name, why in bank.unvaried.items())}.\n"


def row(proof: Proof, bank: Bank, source: str) -> str:
    """One entry."""
    names = ", ".join(f"`{name}`" for name in originals(proof.pool, bank, source))
    level = f"{proof.difficulty} ({', '.join(map(str, proof.original))})" if proof.difficulty else ""
    return f"| {names} | `{proof.name}` | {level} | {proof.caught} of {proof.of} | {proof.named} |\n"


if __name__ == "__main__":
    for part in text():
        print(part, end="", flush=True)
