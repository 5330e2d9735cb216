"""The bank of a problem set, `bank/SET.toml`: entries of which everything else is made. `docs/variants.md` lists them.

An entry has the forward formula and the backward rules in NumPy's words; from these the checks and the solution are written,
and its worked number is computed. An entry with `known` is checked by that name, which the checker knows already.
"""

from __future__ import annotations

import ast
import linecache
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from autolab.check import BEHAVIOURS, Spec
from autolab.check.run import exercises
from autolab.check.run.specs import load_rows, spec_for
from autolab.course.own_spec import LEFT_OUT

# What the formulas of an entry and the options of its spec may use; the same lines are in the checks that are written from it.
HEAD = "import numpy as np\n\nfrom autolab.check import {names}\nfrom autolab.engine.op import Op"
TOOLS = {name for name, value in vars(exercises).items() if callable(value) and value.__module__ == exercises.__name__} | {"draw", "erf"}


@dataclass(frozen=True)
class Variant:
    """One entry: an exercise that can stand in for those of its pool."""

    name: str
    pool: str
    title: str
    math: str = ""  # the formula, as LaTeX; in `text` if it needs more than a line
    text: str = ""
    inputs: Sequence[str] = ("x",)
    forward: str = ""
    rules: Mapping[str, str] = field(default_factory=dict)  # for each input that has a gradient
    kind: str = "elementwise"
    options: str = ""  # of the Spec, as in specs.py: `domain={"x": (0.1, 3.0)}`
    settings: Sequence[str] = ()  # the keywords of forward
    example: Mapping[str, Any] = field(default_factory=dict)  # values of inputs, settings and g
    known: str = ""  # what `check` calls it, if it does
    helpers: str = ""  # functions that the formulas use, before the class in the solution as well
    answer: str = ""  # the solution, where it cannot be written from the formulas
    cls: str = ""  # what the student's class is called, if not after the name
    pretends: bool = False  # the rule is not the derivative, on purpose
    wrong: Sequence[str] = ()  # wrong answers to an exercise on behaviour: it has no formula to make slips in

    @property
    def class_name(self) -> str:
        """What the student defines."""
        return self.cls or "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def checked(self) -> str:
        """The name that is in its check."""
        return self.known or self.name

    @property
    def is_rule(self) -> bool:
        """Is it an operation with a rule, and no exercise on behaviour?"""
        return self.known not in BEHAVIOURS

    @cached_property
    def spec(self) -> Spec:
        """What is judged when it is graded. Raises ValueError if the formulas are not formulas."""
        if self.known:
            load_rows()
            return spec_for(self.known)
        return self._run(self.definition(hidden=True))

    @cached_property
    def shown_spec(self) -> Spec:
        """The same as it is in the student's notebook: without the rules, unless the statement says what the rule is."""
        return self.spec if self.known or self.pretends else self._run(self.definition(hidden=False))

    def _run(self, source: str) -> Spec:
        file = f"<variant {self.name} {hash(source)}>"  # slips are made from the text of a rule, which is looked up here
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        names: dict[str, Any] = {"__name__": "variant"}
        try:
            exec(compile(source, file, "exec"), names)
        except Exception as error:
            raise ValueError(f"variant {self.name!r} is not an exercise: {type(error).__name__}: {error}") from None
        return names["SPEC"]

    def definition(self, *, hidden: bool) -> str:
        """The lines of a check that define SPEC: with the rules, or without."""
        written = [self.forward, self.options, *(self.rules.values() if hidden else ())]
        own = {name for name in re.findall(r"^def (\w+)", self.helpers, re.MULTILINE) if any(name in code for code in written)}
        written += [self.helpers] if own else []
        tools = sorted(TOOLS & {word for code in written for word in re.findall(r"\w+", code)})
        offered = [*(["Kink"] if "Kink(" in self.options else []), "Spec", "check", *([] if hidden else [LEFT_OUT])]
        head = HEAD.format(names=", ".join(offered))
        head += f"\nfrom autolab.check.run.exercises import {', '.join(tools)}" if tools else ""
        head += "\nfrom autolab.rules import TABLE" if any("TABLE[" in code for code in written) else ""
        arguments = ", ".join([*self.inputs, *(["*", *self.settings] if self.settings else [])])
        lines = [f'    "{self.name}", lambda {arguments}: {self.forward}, "{self.kind}",']
        if hidden:
            for x, rule in self.rules.items():
                wanted = [n for n in self.names_for_rules() if n in names_in(rule)]
                lines.append(f"    {x}=lambda {', '.join(['g', *wanted])}: {rule},")
        else:
            lines.append(f"    {', '.join(f'{x}={LEFT_OUT}' for x in self.rules)},")
        helpers = f"\n\n\n{self.helpers.strip()}\n" if own else ""
        more = "".join(f", {option}" for option in (self.options, "surrogate=True" if self.pretends else "") if option)
        return f"{head}{helpers}\n\nROW = Op(\n" + "\n".join(lines) + f'\n)\nSPEC = Spec("{self.name}", ROW{more})'

    def names_for_rules(self) -> list[str]:
        """What a rule may ask for besides g."""
        return [*self.inputs, *(f"{x}_shape" for x in self.inputs), *self.settings, "out"]


@dataclass(frozen=True)
class Slot:
    """A place in a problem set: the answer cell, and the pool it is drawn from; without a pool the original stays."""

    answer: str
    pool: str = ""
    prelude: str = ""  # what is before the class in the answer: a helper that later exercises use


@dataclass(frozen=True)
class Section:
    """One exercise of the text, by its heading, with what is said before its slots."""

    heading: str
    slots: Sequence[Slot]
    text: str = ""


@dataclass(frozen=True)
class Bank:
    """What can be drawn for a problem set."""

    set: str
    sections: Sequence[Section]
    variants: Mapping[str, Variant]
    unvaried: Mapping[str, str]  # exercises that stay, and why
    changes: Sequence[tuple[str, str]] = ()  # sentences elsewhere that speak of what is drawn
    helpers: str = ""  # what the solutions of earlier exercises define, and these use

    def pool(self, name: str) -> list[Variant]:
        """The entries of a pool, in the order of their names: a draw does not depend on the order of the file."""
        return sorted((v for v in self.variants.values() if v.pool == name), key=lambda v: v.name)

    def slots(self) -> Iterator[Slot]:
        """The places that something is drawn for."""
        return (slot for section in self.sections for slot in section.slots if slot.pool)


def read_bank(course: Path, problem_set: str) -> Bank:
    """The bank of a problem set. Raises LookupError if there is none, ValueError for an entry that is none."""
    path = course / "bank" / f"{problem_set}.toml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.toml"))) or "none"
        raise LookupError(f"no bank for {problem_set!r}: there is no file {path}; banks are there for {known}")
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    sections = [
        Section(s["heading"], tuple(_made(Slot, slot, path) for slot in s["slot"]), s.get("text", "").strip())
        for s in data.get("exercise", ())
    ]
    entries = [_made(Variant, v, path) for v in data.get("variant", ())]
    bank = Bank(problem_set, sections, {v.name: v for v in entries}, data.get("unvaried", {}),
                tuple((old, new) for old, new in data.get("changes", ())), data.get("helpers", ""))  # fmt: skip
    pools = {slot.pool for slot in bank.slots()}
    for v in entries:
        if v.pool not in pools:
            raise ValueError(f"{path}: variant {v.name!r} is for the pool {v.pool!r}; exercises draw from {', '.join(sorted(pools))}")
        if sum(v.name == other.name for other in entries) > 1:
            raise ValueError(f"{path}: two variants are called {v.name!r}")
        if not v.known and not (v.forward and v.rules):
            raise ValueError(f"{path}: variant {v.name!r} needs `forward` and `rules`, or the name it is `known` by")
    return bank


def _made(kind: Any, data: Mapping[str, Any], path: Path) -> Any:
    names = {f.name for f in fields(kind)}
    if unknown := sorted(set(data) - names):
        raise ValueError(f"{path}: {data.get('name') or data.get('answer')!r} says {unknown[0]!r}; there are {', '.join(sorted(names))}")
    try:
        return kind(**data)
    except TypeError as error:
        raise ValueError(f"{path}: {data.get('name') or data.get('answer')!r}: {error}") from None


def names_in(formula: str) -> set[str]:
    """The names that a formula uses."""
    return {node.id for node in ast.walk(ast.parse(textwrap.dedent(formula).strip(), mode="eval")) if isinstance(node, ast.Name)}
