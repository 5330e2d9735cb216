"""An operation that goes round a loop: its last turns alone are differentiated, or the limit that many turns come near to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from autolab.formula import definition

from ...run.reference import Reference
from .stepwise import Chain, ChainSlip

MANY = 50  # turns, after which nothing changes any more where anything converges
LIMIT = "does not use {0}: it is what would be right if {0} were very large, the derivative of the limit that forward comes near to"
LAST = "differentiates the last turns of forward's loop alone: what goes into them is taken for a constant"
MOST_STEPS = 60


def loops_of(reference: Reference) -> list[ast.For | ast.While]:
    """The loops in forward and in the functions of its file that it calls."""
    forward = reference.function or reference.forward
    forward = getattr(forward, "forward", forward)
    code = getattr(forward, "__code__", None)
    called = [forward.__globals__.get(name) for name in code.co_names] if code and isinstance(forward, FunctionType) else []
    same_file = [f for f in called if isinstance(f, FunctionType) and code and f.__code__.co_filename == code.co_filename]
    nodes = [node for function in (forward, *same_file) if (node := _definition(function))]
    return [loop for node in nodes for loop in ast.walk(node) if isinstance(loop, (ast.For, ast.While))]


def _definition(function: Callable) -> ast.AST | None:
    return definition(function) if isinstance(function, FunctionType) else None


def counts_turns(reference: Reference) -> bool:
    """Does forward go round a loop as often as a name says?"""
    ranges = [loop.iter for loop in loops_of(reference) if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)]
    return any(getattr(call.func, "id", "") == "range" and isinstance(a, ast.Name) for call in ranges for a in call.args)


def last_turns(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """Nothing comes back through one value that all later steps go through. It is counted from the end: calls have more turns or fewer."""
    depends, n = chain.reaches(x), len(chain.steps)
    for i in range(n - 2, max(n - MOST_STEPS, -1), -1):
        place = chain.steps[i].place
        later = {source for step in chain.steps[i + 1 :] for source in step.sources if source is not None}
        if place in depends and place in later and all(s >= place or s < len(chain.inputs) or s not in depends for s in later):
            yield ChainSlip("term", LAST, lambda chain, back=n - i: _ended(chain, x, back))


def _ended(chain: Chain, x: str, back: int) -> Any:
    i = len(chain.steps) - back
    if i < 0:
        return chain.gradients[chain.inputs.index(x)]
    step, depends = chain.steps[i], chain.reaches(x)
    cut = {(i, k): 0 * step.passed[k] for k, source in enumerate(step.sources) if source in depends and k in step.passed}
    return chain.changed(x, cut)
