"""Questions whose numbers are drawn: a fresh one for each seed, with the right answer computed by the engine.

The wrong answers are computed from the same numbers, each by one mistake, so that every explanation belongs to what was drawn. What a
lesson asks is one of them: the one with the numbers of its text.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import autolab as torch

Question = dict[str, Any]
MAKERS: dict[str, dict[str, Maker]] = {}
TRIES = 200


class Maker(NamedTuple):
    """What makes a question, the values that each of its parameters may have, and the questions of the lesson that it made."""

    make: Callable[..., Question | None]
    values: dict[str, list[Any]]
    asked: list[Question]


def draws(**ranges: Any) -> Callable[[Callable[..., Question | None]], Question]:
    """The question that a function makes of its default values; others are drawn from `ranges`.

    ranges: for each parameter the smallest and the largest whole number, as a tuple, or a list to choose from. The function returns None
    for numbers that make no good question; others are drawn then. What it returns is `number(prompt, ...)` or its like, with a prompt
    that needs nothing but the parameters and `autolab.utils.wording`: `autolab progress` reads it without calling the function.
    """

    def add(make: Callable[..., Question | None]) -> Question:
        with torch.random.fork_rng():  # layers that a question makes take nothing from the lesson's random numbers
            question = make()
        assert question is not None, make
        values = {name: list(range(r[0], r[1] + 1)) if isinstance(r, tuple) else list(r) for name, r in ranges.items()}
        MAKERS.setdefault(make.__module__[-2:], {})[make.__name__] = Maker(make, values, [question])
        return question

    return add


def again(question: Question, **numbers: Any) -> Question:
    """A question of a lesson once more, with these numbers."""
    maker = next(maker for of_lesson in MAKERS.values() for maker in of_lesson.values() if maker.asked[0] is question)
    made = maker.make(**numbers)
    assert made is not None, numbers
    maker.asked.append(made)
    return made


def drawn(lesson: str, seed: int = 0, count: int = 1) -> list[Question]:
    """Questions of a lesson with other numbers: `count` of each kind, none like another.

    >>> drawn("05", seed=1)[0]["prompt"]
    '`x.grad` after the third backward pass of x² at 7'
    >>> drawn("05", seed=1) == drawn("05", seed=1)
    True
    """
    return [question for name in makers(lesson) for question in variants(lesson, name, seed, count)]


def makers(lesson: str) -> list[str]:
    """The names of what a lesson has to draw.

    >>> makers("00")
    ['gradient', 'net', 'guess', 'sent', 'downhill']
    """
    importlib.import_module(f"autolab.questions.lesson{lesson}")
    return list(MAKERS.get(lesson, ()))


def variants(lesson: str, name: str, seed: int, count: int) -> list[Question]:
    """`count` questions of one kind. Raises ValueError if there are not so many different ones.

    >>> [question["shown"] for question in variants("05", "parts", 0, 2)]
    ['0.0833333', '0.0769231']
    """
    make, values, _ = MAKERS[lesson][name]
    found: dict[str, Question] = {}
    for attempt in range(TRIES + 20 * count):
        if len(found) == count:
            break
        rng = np.random.default_rng([seed, attempt, *name.encode()])
        numbers = {key: several[int(rng.integers(len(several)))] for key, several in values.items()}
        with torch.random.fork_rng():
            question = make(**numbers)
        if question is not None and tells_apart(question):
            found.setdefault(question["prompt"], question)
    if len(found) < count:
        raise ValueError(f"lesson {lesson} has {len(found)} different questions {name!r}, not {count}: ask for fewer")
    return list(found.values())


def tells_apart(question: Question) -> bool:
    """Whether each wrong answer is another one than the right one, and than every other wrong one.

    >>> from autolab.widgets.questions import number
    >>> tells_apart(number("2 · 2", 4, "", {2: "half"})), tells_apart(number("2 · 2", 4, "", {4.0: "added"}))
    (True, False)
    """
    if "options" in question:
        texts = [option["text"] for option in question["options"]]
        return len({*texts}) == len(texts)
    values = [question["right"], *(value for value, _ in question["wrong"])]
    if question["kind"] == "shape":
        return len({tuple(value) for value in values}) == len(values)
    right, *wrong = values
    near = [abs(a - right) <= 2 * question["tolerance"] * max(1.0, abs(a), abs(right)) for a in wrong]
    return all(map(math.isfinite, values)) and not any(near) and len({*wrong}) == len(wrong)  # of two wrong ones the nearer is meant


# -- what the engine says ----------------------------------------------------------------------------------------------


def gradients(f: Callable[..., Any], *values: Any) -> list[Any]:
    """The gradient of the sum of f(...) for each of these numbers, or lists of numbers.

    >>> gradients(lambda x, w: w * x**2, 3, [1, 2])
    [18.0, [9.0, 9.0]]
    """
    leaves = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
    f(*leaves).sum().backward()
    return [0.0 if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


def slope(f: Callable[[Any], Any], x: float) -> float:
    """The derivative of f at x.

    >>> slope(lambda x: x**3, 2)
    12.0
    """
    return float(gradients(f, x)[0])


def leaves(count: int) -> list[Any]:
    """Numbers that require a gradient."""
    return [torch.tensor(1.0, requires_grad=True) for _ in range(count)]


def graph_nodes(result: Any) -> set[Any]:
    """The nodes of the graph behind a tensor, accumulators included.

    >>> a, b = leaves(2)
    >>> len(graph_nodes(a * b))
    3
    """
    seen: set[Any] = set()
    todo = [result.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [edge for edge, _ in node.next_functions]
    return seen
