"""Wrong rules made by families crossed with operations: a part of them, of both halves (`measure_generated` judges all)."""

from __future__ import annotations

import pytest

from .measure_generated import generate, run

EVERY = 17  # rules: one is judged


@pytest.fixture(scope="module")
def said():
    return run(generate()[::EVERY])


def test_every_wrong_rule_of_the_families_is_caught(said):
    assert [str(s) for s in said if s.entry.kinds and s.passed] == []


def test_no_right_rule_of_the_families_is_refused():
    assert [str(s) for s in run([e for e in generate() if not e.kinds]) if not s.passed] == []


@pytest.mark.parametrize("held_out", [False, True])
def test_more_than_nine_in_ten_of_the_families_are_named(said, held_out):
    half = [s for s in said if s.entry.kinds and s.entry.held_out == held_out]
    assert sum(s.named for s in half) >= 0.92 * len(half)


def test_what_is_called_certain_of_the_families_is_the_mistake(said):
    assert [str(s) for s in said if s.certain_but_wrong] == []
