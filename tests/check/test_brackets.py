"""Brackets that a line of a rule lacks, or that close too early or too late, are named with what they belong around."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.check.diagnosis.repairs.brackets import _matters, operands
from autolab.engine.op import ELEMENTWISE, Op


def exercise(name, forward, **more):
    return Spec(name, Op(name, forward, ELEMENTWISE, x=derivative_of_forward), **more)


BELL = exercise("bell", lambda x: x + np.exp(-x * x / 2) / (2 * np.pi) ** 0.5)
WAVE = exercise("wave", lambda x: np.sin(np.sqrt(2 / np.pi) * x), domain={"x": (0.5, 3.0)})
RATIO = exercise("ratio", lambda x: x / (1 + x * x), domain={"x": (0.5, 3.0)})


def bell(g, x):
    return g - g * x * np.exp(-x * x / 2) / 2 * np.pi**0.5


def bell_in_two_lines(g, x):
    c = 2 * np.pi**0.5
    return g - g * x * np.exp(-x * x / 2) / c


def bell_with_its_root(g, x):
    return g - g * x * np.exp(-x * x / 2) / np.sqrt(2) * np.pi


def wave(g, x):
    c = np.sqrt(2) / np.pi
    return g * np.sqrt(2 / np.pi) * np.cos(c * x)


def wave_too_far(g, x):
    c = np.sqrt(2 / np.pi)
    return g * c * np.cos(np.sqrt(2 / np.pi * x))


def ratio_of_a_sum(g, x):
    d = 1 + x * x
    return g * 1 / d - 2 * x * x / d**2


@pytest.mark.parametrize(
    ("spec", "rule", "said"),
    [
        (BELL, bell, "brackets around `2 * np.pi` in"),
        (BELL, bell_in_two_lines, "brackets around `2 * np.pi` in `2 * np.pi**0.5`"),
        (BELL, bell_with_its_root, "`* np.pi` inside the brackets of `np.sqrt`"),
        (WAVE, wave, "`/ np.pi` inside the brackets of `np.sqrt`"),
        (WAVE, wave_too_far, "`* x` outside the brackets of `np.sqrt`"),
        (RATIO, ratio_of_a_sum, "brackets around `1 / d - 2 * x * x / d**2` in"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_brackets_that_a_line_lacks_are_named(spec, rule, said):
    (found,) = check(spec, rule).diagnoses
    assert f"would be right with {said}" in found.text


@pytest.mark.parametrize(
    ("text", "first", "last", "matters"),
    [
        ("a * b * c", 1, 2, False),
        ("a * b / c", 1, 2, False),
        ("a / b * c", 1, 2, True),
        ("a - b + c", 1, 2, True),
        ("a + b - c", 1, 2, False),
        ("a * b + c", 1, 2, True),
        ("a * b + c", 0, 1, False),
        ("a * b**c", 0, 1, True),
        ("a**b * c", 1, 2, True),
        ("a**b**c", 1, 2, False),
        ("a**b**c", 0, 1, True),
        ("a * b @ c", 1, 2, True),
        ("a @ b @ c", 1, 2, False),
    ],
)
def test_brackets_that_change_nothing_are_not_tried(text, first, last, matters):
    parts = operands(text)
    assert [text[start:end] for _, start, end in parts] == ["a", "b", "c"]
    assert _matters(parts, first, last) is matters


@pytest.mark.parametrize("text", ["a < b + c", "a if b else c", "x, y", "not a + b", "i for i in x", "a & b * c"])
def test_what_is_more_than_a_line_of_signs_is_left_alone(text):
    assert operands(text) == []
