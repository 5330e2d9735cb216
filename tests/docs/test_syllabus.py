"""The syllabus pages say the hours of the lessons and problem sets, and no lesson is without a mistake to look for."""

import re
from pathlib import Path

import pytest

import autolab as torch
from autolab.course.schedule import SCHEDULES

ROOT = Path(__file__).resolve().parents[2]
LESSONS = (ROOT / "notebooks/README.md").read_text("utf-8")
MINUTES = {number: int(minutes) for number, minutes in re.findall(r"^\| \[(\d\d) · [^|]*\| [^|]*\| (\d+) \|", LESSONS, re.MULTILINE)}
ROW = re.compile(r"^\| (\d+) \| ([\d, ]+) \| ([^|]*) \| ([\d.]+) \| [^|]+ \| [^|]+ \| [^|]* \|$", re.MULTILINE)


def page(weeks):
    return (ROOT / f"docs/syllabus-{weeks}.md").read_text("utf-8")


def weeks_of(weeks):
    return [(lessons.split(", "), problem_set, float(hours)) for _, lessons, problem_set, hours in ROW.findall(page(weeks))]


def hours_of_sets(weeks):
    """What each week has of its set: half, if it is begun in one week and ended in another."""
    named = [set_[:1] for _, set_, _ in weeks_of(weeks)]
    hours = {s.name[2:]: s.hours for s in torch.exercises()}
    return [hours[name] / named.count(name) if name.strip() else 0 for name in named]


@pytest.mark.parametrize("weeks", [8, 12])
def test_a_course_has_every_lesson_and_every_set_of_the_first_part(weeks):
    rows = weeks_of(weeks)
    assert len(rows) == weeks
    assert sorted(lesson for lessons, _, _ in rows for lesson in lessons) == [f"{n:02}" for n in range(18)]
    named = sorted(problem_set for _, problem_set, _ in rows if ":" in problem_set)
    assert named == [f"{s.name[2:]}: {s.topic}" for s in torch.exercises()[:8]]


@pytest.mark.parametrize("weeks", [8, 12])
def test_the_schedule_of_a_new_course_is_that_of_the_page(weeks):
    said = [(tuple(lessons), f"ps{set_[0]}" if set_.strip() else "", "begun" not in set_) for lessons, set_, _ in weeks_of(weeks)]
    assert said == list(SCHEDULES[weeks])


@pytest.mark.parametrize("weeks", [8, 12])
def test_the_hours_of_a_week_are_those_of_its_lessons_and_its_set(weeks):
    for (lessons, _, hours), of_set in zip(weeks_of(weeks), hours_of_sets(weeks), strict=True):
        assert abs(hours - (sum(MINUTES[lesson] for lesson in lessons) / 60 + of_set)) <= 0.25
    assert f"{sum(hours for _, _, hours in weeks_of(weeks)):g} in all" in page(weeks)


@pytest.mark.parametrize("weeks", [8, 12])
def test_a_syllabus_fits_on_a_page(weeks):
    assert len(page(weeks).splitlines()) <= 40


def test_every_lesson_has_a_mistake_to_look_for_and_a_question():
    text = (ROOT / "docs/misconceptions.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d\d) \| ([^|]+) \| ([^|]+) \| ([^|]+[?.]) \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == sorted(MINUTES)
    assert all("?" in row[3] or "Print" in row[3] for row in rows)
