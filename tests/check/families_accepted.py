"""Families of wrong rules that look right: each is made wherever it can be, over all operations that the checker knows.

A family is a function that yields (operation, where, a candidate). `tests/check/test_accepted.py` asks that none is accepted.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd import Function
from autolab.check import SPECS, Reference, Spec
from autolab.check.api.check import require
from autolab.check.api.score import RowCandidate
from autolab.check.diagnosis.formulas.expressions import Values, Wrong
from autolab.check.run.cases import broadcast_for, cases
from autolab.check.run.specs import load_rows, spec_for
from autolab.engine.op import LINEAR
from autolab.rules import TABLE
from autolab.torch_api.creation import from_numpy


class Made(NamedTuple):
    """A wrong rule, made for one operation."""

    operation: str
    where: str
    rule: Any
    spec: Spec


def specs() -> Iterator[tuple[Spec, Reference]]:
    """All operations that can be checked by name."""
    load_rows()
    for name in sorted({*TABLE, *SPECS}):
        try:
            spec = spec_for(name)
            reference = Reference.of(spec)
            with np.errstate(all="ignore"):
                require(spec, reference)
        except (LookupError, KeyError):
            continue
        yield spec, reference


def function(spec: Spec, reference: Reference, change: Callable[[tuple], Any]) -> type[Function]:
    """The row as a Function on tensors, whose backward returns something else than the tuple it should."""
    settings = tuple(spec.settings[0])

    class Row(Function):
        @staticmethod
        def forward(ctx, *arguments):
            inputs = [a.numpy() for a in arguments[: len(reference.inputs)]]
            ctx.names = reference.environment(inputs, dict(zip(settings, arguments[len(inputs) :], strict=True)))
            return from_numpy(np.array(ctx.names["out"]))

        @staticmethod
        def backward(ctx, g):
            rules = [x if x in reference.rules else None for x in reference.inputs]
            found = [x and from_numpy(np.array(reference.gradient(x, g.numpy(), ctx.names))) for x in rules]
            return change((*found, *[None] * len(settings)))

    return Row


def too_few(spec: Spec, reference: Reference) -> Iterator[Made]:
    """Values left out for what has no gradient: an index, a mask, a setting."""
    needed = len(list(reference.differentiable()))
    every = len(reference.inputs) + len(spec.settings[0])
    if needed < every:
        yield Made(spec.name, "without its None", function(spec, reference, lambda values: tuple(v for v in values if v is not None)), spec)
        yield Made(spec.name, "one value short", function(spec, reference, lambda values: values[: every - 1]), spec)
    if needed == 1 < every:
        yield Made(spec.name, "bare", function(spec, reference, lambda values: next(v for v in values if v is not None)), spec)


def nested_lists(spec: Spec, reference: Reference) -> Iterator[Made]:
    """Lists of numbers where tensors belong."""

    def as_lists(values: tuple) -> tuple:
        return tuple(None if v is None else v.numpy().tolist() for v in values)

    if any(np.size(a) > 1 for a in next(iter(cases(spec, reference, np.random.default_rng(0)))).inputs):
        yield Made(spec.name, "nested lists", function(spec, reference, as_lists), spec)


class Unsummed(RowCandidate):
    """The row without the sum over stretched axes."""

    def _gradient(self, x, g, names):
        if x not in self.reference.rules:
            return None
        return np.broadcast_to(self.reference.raw(x, g, names), g.shape) if x == self.x else self.reference.gradient(x, g, names)


def unsummed(spec: Spec, reference: Reference) -> Iterator[Made]:
    """The gradient for one input as large as the result, where the input was stretched."""
    for x in reference.differentiable() if broadcast_for(spec, reference) else ():
        yield Made(spec.name, f"{x} unsummed", Unsummed(reference, x), spec)


class Clip(ast.NodeTransformer):
    """Every divisor that is not a number is kept away from 0."""

    def __init__(self) -> None:
        self.found = 0

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A division."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div) or not {n.id for n in ast.walk(node.right) if isinstance(n, ast.Name)} - {"math", "np"}:
            return node
        self.found += 1
        return ast.BinOp(node.left, ast.Div(), ast.Call(ast.Name("kept_from_zero", ast.Load()), [node.right], []))


def kept_from_zero(value: Any) -> Any:
    """At least 1e-4 in size."""
    return np.where(np.abs(value) < 1e-4, 1e-4, value)


builtins.kept_from_zero = kept_from_zero  # type: ignore[attr-defined]  # a formula sees the names of its own file and these


def clipped(spec: Spec, reference: Reference) -> Iterator[Made]:
    """Quotients that are clipped near 0, where the divisor comes near it within the domain."""
    for x in reference.differentiable():
        clip = Clip()
        try:
            tree = clip.visit(ast.parse(reference.formulas.get(x, ""), mode="eval"))
        except SyntaxError:
            continue
        wrong = Wrong.of(tree)
        if clip.found and _is_wrong_somewhere(spec, reference, x, wrong):
            yield Made(spec.name, f"{x} clipped", RowCandidate(reference, x, wrong), spec)


def _is_wrong_somewhere(spec: Spec, reference: Reference, x: str, wrong: Wrong) -> bool:
    """Does it matter, for numbers between 1e-11 and 1e-6 that the domain allows, or as close to an edge of it?"""
    from autolab.check.run.cases import edges

    rng = np.random.default_rng(5)
    base = next(iter(cases(spec, reference, rng)))
    for size in (1e-6, 1e-8, 1e-11):
        for y in reference.differentiable():
            low, high = edges(spec, y)
            near = [e for e in (low, high, 0.0) if np.isfinite(e) and low <= e <= high]
            for edge in near:
                values = edge + size * rng.uniform(1, 2, np.shape(base.inputs[reference.inputs.index(y)])) * (-1 if edge == high else 1)
                given = tuple(values if z == y else a for z, a in zip(reference.inputs, base.inputs, strict=True))
                names = reference.environment(given, base.settings)
                want = reference.gradient(x, base.upstream[0], names)
                got = wrong.value(Values(reference.names_of_rule(x, base.upstream[0], names)))
                if np.isfinite(want).all() and np.shape(got) == want.shape and not np.allclose(got, want, rtol=1e-2, atol=1e-2):
                    return True
    return False


class Overflowing(RowCandidate):
    """The row, which gives nothing for numbers beyond a bound: as a form does that takes exponentials of them."""

    bound, name = 500.0, ""

    def call(self, inputs, settings, upstream, between=None):
        """Evaluate the row."""
        answer = super().call(inputs, settings, upstream, between)
        at = self.reference.inputs.index(self.name)
        far = np.any(np.abs(np.asarray(inputs[at], float)) > self.bound)
        spoilt = tuple(tuple(None if a is None else a * (np.nan if far else 1.0) for a in got) for got in answer.gradients)
        return type(answer)(answer.out, spoilt, answer.inputs, answer.upstream, answer.fault)


def overflowing(spec: Spec, reference: Reference) -> Iterator[Made]:
    """Not a number for large inputs, where the right gradient is one."""
    if reference.row is None or reference.row.kind == LINEAR:
        return
    rng = np.random.default_rng(5)
    base = next(iter(cases(spec, reference, rng)))
    for y in reference.differentiable():
        at = reference.inputs.index(y)
        if spec.domain.get(y, (-np.inf, np.inf))[1] <= 1 or not np.size(base.inputs[at]):
            continue
        values = rng.uniform(600, 900, np.shape(base.inputs[at]))
        given = tuple(values if i == at else a for i, a in enumerate(base.inputs))
        names = reference.environment(given, base.settings)
        if all(np.isfinite(v).all() for v in (names["out"], *(reference.gradient(x, base.upstream[0], names) for x in reference.rules))):
            candidate = Overflowing(reference)
            candidate.name = y
            yield Made(spec.name, f"overflows in {y}", candidate, spec)


FAMILIES = (too_few, nested_lists, unsummed, clipped, overflowing)


def made() -> Iterator[tuple[str, Made]]:
    """Every family on every operation."""
    for spec, reference in specs():
        for family in FAMILIES:
            with np.errstate(all="ignore"):
                yield from ((family.__name__, wrong) for wrong in family(spec, reference))
