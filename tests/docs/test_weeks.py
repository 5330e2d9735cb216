"""The teacher's page of each week has all that a week needs, is made from the other pages, and is short."""

import re
from pathlib import Path

import pytest

from autolab.course.schedule import SCHEDULES
from docs.make import weeks as made

ROOT = Path(__file__).resolve().parents[2]
PAGES = made.pages()
WEEKS = [(weeks, number) for weeks, plan in SCHEDULES.items() for number in range(1, len(plan) + 1)]


def page(weeks, number):
    return PAGES[f"{weeks}/week-{number:02}.md"]


def test_the_pages_are_those_that_are_made_from_the_syllabus():
    kept = {path.relative_to(made.TEACHING).as_posix(): path.read_text("utf-8") for path in made.TEACHING.rglob("*.md")}
    assert kept == PAGES, "python -m docs.make.weeks"


@pytest.mark.parametrize(("weeks", "number"), WEEKS)
def test_a_week_says_for_each_lesson_what_to_show_to_expect_and_to_ask(weeks, number):
    for lesson in SCHEDULES[weeks][number - 1].lessons:
        part = page(weeks, number).partition(f"\n## {lesson} · ")[2].partition("\n## ")[0]
        assert [word for word in ("Show", "Expect", "Ask", "Predict") if f"- **{word}** " not in part] == []


@pytest.mark.parametrize(("weeks", "number"), WEEKS)
def test_the_minutes_of_a_class_add_up_and_leave_time_for_the_lab(weeks, number):
    plan = re.findall(r"^\| (\d+) \| (.*) \|$", page(weeks, number).partition("minutes together")[2].partition("\n## ")[0], re.MULTILINE)
    assert sum(int(minutes) for minutes, _ in plan) == made.TOGETHER
    assert plan[-1][1].startswith("lab: ") and int(plan[-1][0]) >= 25


@pytest.mark.parametrize(("weeks", "number"), WEEKS)
def test_a_week_has_its_set_exercise_by_exercise_and_the_mistake_to_expect(weeks, number):
    name = SCHEDULES[weeks][number - 1].problem_set
    said = made.of_sets()
    assert sorted(said) == [f"ps{n}" for n in range(2, 9)]
    assert not name or (f"## {name}, exercise by exercise" in page(weeks, number) and said.get(name, "") in page(weeks, number))


@pytest.mark.parametrize(("weeks", "number"), WEEKS)
def test_a_week_is_short_and_leads_nowhere_that_a_course_does_not_have(weeks, number):
    links = re.findall(r"\]\(([^)]*)\)", page(weeks, number))
    assert len(page(weeks, number).splitlines()) <= 80
    assert [link for link in links if not (ROOT / link.removeprefix(f"{made.CODE}/")).is_file() or made.CODE not in link] == []


@pytest.mark.parametrize(("weeks", "number"), WEEKS)
def test_the_quiz_of_a_week_is_written_to_a_file(weeks, number):
    assert f"--for moodle --out week-{number:02}.xml`" in page(weeks, number)


def test_a_lab_on_a_page_of_the_project_leads_there():
    assert f"[the table]({made.CODE}/docs/rules.md)" in page(12, 4) and f"{made.CODE}/autolab/engine/backward.py" in page(12, 3)
