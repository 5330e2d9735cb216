"""What lesson 20 tells, held to be true: its interpreter is one, and its numbers are those of the engine."""

import re

import numpy as np
import pytest

import autolab as torch

from .test_later_stories import Lesson

pytestmark = pytest.mark.lesson20


@pytest.fixture
def lesson():
    lesson = Lesson("20")
    lesson.run("imports", *(c.id for c in lesson.cells.values() if "engine" in c.metadata.get("tags", [])), "linear-print")
    return lesson


def test_the_interpreter_has_as_many_lines_as_the_lesson_says(lesson):
    engine = [c.source for c in lesson.cells.values() if "engine" in c.metadata.get("tags", [])]
    lines = sum(bool(line.strip()) for source in engine for line in source.splitlines())
    assert lines == int(re.search(r"has (\d+) lines", lesson.cells["hessian-read"].source)[1]) and lines < 150


def test_without_levels_the_nested_derivative_is_two_and_with_them_one(lesson):
    lesson.run("confused-class")
    ways = [lesson[name] for name in ("naive_derivative", "derivative", "grad")]
    values = [d(lambda x, d=d: x * d(lambda y: x + y)(1.0))(1.0) for d in ways]
    assert values == [2.0, 1.0, 1.0]


@pytest.mark.parametrize("x", [0.3, -1.2])
@pytest.mark.parametrize("ways", [("grad", "derivative", "grad"), ("derivative", "grad", "derivative"), ("grad", "grad", "grad")])
def test_transforms_nest_in_any_order(lesson, ways, x):
    mine, theirs = (lambda x: x * lesson["sin"](x * x)), (lambda x: x * torch.sin(x * x))
    for name in ways:
        mine, theirs = lesson[name](mine), torch.func.grad(theirs)
    assert mine(x) == pytest.approx(theirs(torch.tensor(x, dtype=torch.float64)).item(), rel=1e-12)


def test_a_shared_argument_of_vmap_has_the_gradient_of_all_samples(lesson):
    total, sin, vmap, grad = (lesson[name] for name in ("total", "sin", "vmap", "grad"))
    X, w = np.arange(6.0).reshape(2, 3), np.array([0.1, 0.2, 0.3])
    loss = lambda w: total(vmap(lambda x: total(sin(w * x), axis=-1))(X), axis=-1)  # noqa: E731
    assert np.allclose(grad(loss)(w), (np.cos(w * X) * X).sum(0), rtol=1e-12)


def test_a_transposed_program_has_as_many_multiplications(lesson):
    lesson.run("linear-show")
    back = lesson["transpose"](lesson["push"])
    transposed = lesson["linearize"](lambda g: back(g)[0], 1.0)[1]
    counts = [[op.name for _, op, _, _ in linear.tape.lines].count("mul") for linear in (lesson["push"], transposed)]
    assert counts == [3, 3] and len(lesson["push"].tape.lines) == 5


def test_a_result_that_does_not_move_has_the_gradient_zero(lesson):
    assert lesson["grad"](lambda x: 3.0)(1.0) == 0
    assert (lesson["grad"](lambda w: 3.0)(np.ones(2)) == np.zeros(2)).all()


def test_a_box_that_escaped_gives_a_wrong_number_here_and_an_error_in_the_engine(lesson):
    lesson.run("confused-class", "confused-show")
    ours, theirs = lesson.run("leak-show")
    assert ours == "ours: 0.0" and "after the transform that made it had ended" in theirs


def test_the_solution_agrees_with_the_engine(lesson):
    lesson.run("exercise-write")
    assert [line.rpartition(" ")[2] for line in lesson.solution()] == ["0.000000000"] * 2
