"""Difficulty and discrimination of items, on classes of which they are known."""

import random

import pytest

from autolab.course.grading.class_list import StudentLine
from autolab.course.items import items, pearson
from autolab.course.report import page, summary


def classroom(n, *chances, seed=0):
    """Students of an ability between 0 and 1; each item is right with a chance that depends on it."""
    rng = random.Random(seed)
    abilities = [i / (n - 1) for i in range(n)]
    return {f"s{i}": {f"q{k}": float(rng.random() < chance(a)) for k, chance in enumerate(chances)} for i, a in enumerate(abilities)}


def by_name(scores, of=1.0):
    return {i.name: i for i in items(scores, dict.fromkeys(next(iter(scores.values())), of))}


def test_difficulty_is_the_mean_part_of_the_points():
    found = by_name({"a": {"x": 4.0, "y": 0.0}, "b": {"x": 2.0, "y": 1.0}}, of=4.0)
    assert (found["x"].difficulty, found["y"].difficulty) == (0.75, 0.125)


def test_an_item_that_needs_what_the_others_need_discriminates_and_a_coin_does_not():
    found = by_name(classroom(400, *[lambda a: a] * 6, lambda a: 0.5, lambda a: 1 - a))
    assert all(found[f"q{k}"].correlation > 0.3 and found[f"q{k}"].upper_lower > 0.4 for k in range(6))
    assert abs(found["q6"].correlation) < 0.15 and abs(found["q6"].upper_lower) < 0.2
    assert found["q7"].correlation < -0.3 and found["q7"].upper_lower < -0.4


def test_the_item_itself_is_not_in_the_sum_it_is_compared_with():
    found = by_name(classroom(2000, *[lambda a: 0.5] * 3))
    assert all(abs(i.correlation) < 0.07 for i in found.values())


def test_a_right_or_wrong_item_has_the_point_biserial_correlation():
    right, total = [1.0, 1.0, 0.0, 0.0, 1.0], [9.0, 7.0, 3.0, 5.0, 6.0]
    means = (9 + 7 + 6) / 3 - (3 + 5) / 2
    deviation = (sum((t - 6) ** 2 for t in total) / 5) ** 0.5
    assert pearson(right, total) == pytest.approx(means / deviation * (0.6 * 0.4) ** 0.5)


def test_nothing_is_said_of_a_small_class_or_of_what_all_have():
    assert {i.correlation for i in by_name(classroom(9, lambda a: a > 0.5, lambda a: a > 0.4)).values()} == {None}
    assert by_name(classroom(50, lambda a: 1.0, lambda a: a > 0.5))["q0"].correlation is None


def test_the_report_counts_an_answer_that_a_person_read_with_the_points_that_the_person_gave():
    lines = [StudentLine(f"s{i}", scores={"a": float(i > 5), "b": float(i > 4)} | ({"w": 3.0} if i < 4 else {})) for i in range(12)]
    data = summary([], {f"s{i}": 1.0 for i in range(12)}, {"a": 1.0, "b": 1.0, "w": 4.0}, lines)
    assert [(row["cell"], row["graded"], row["difficulty"]) for row in data["hardest"]] == [
        ("a", 12, 0.5),
        ("b", 12, 7 / 12),
        ("w", 4, 0.75),
    ]
    assert "Written answers count in them once they are read" in page("ps", data)
