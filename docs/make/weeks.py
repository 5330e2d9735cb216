"""A page for the teacher of each week: `python -m docs.make.weeks` writes those of both courses into `exercises/teaching/`.

Nothing is written here that is not somewhere else: the syllabus says what a week has, the lessons what they show and ask,
misconceptions.md what to expect, the problem set how long it takes.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from autolab import questions, widgets
from autolab.course.schedule import SCHEDULES
from autolab.questions.drawn import makers
from autolab.utils import lessons
from autolab.utils.exercises import listed
from autolab.widgets.questions import _number_text

ROOT = Path(__file__).resolve().parents[2]
TEACHING = ROOT / "exercises" / "teaching"
SYLLABUS = re.compile(r"^\| (\d+) \| [\d, ]+ \| ([^|]*) \| ([\d.]+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
LESSON = re.compile(r"^\| \[(\d\d) · [^|]*\| ([^|]*) \| (\d+) \|", re.MULTILINE)
IDEA = re.compile(r"^\| (\d\d) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
OF_SET = re.compile(r"(?:^|[:,])\s*([^,:()]*?(?:\([^\d)]*\))?[^,:()]*)\s\((\d)\)", re.DOTALL)
LINK = re.compile(r"\]\((?:\.\./)?(?!https?:)([\w./-]+)\)")
CODE = "https://github.com/autolab-grad/autolab/blob/main"
TOGETHER, QUIZ = 90, 10  # minutes of a class, and of its quiz
SHOW_AND_ASK = {1: (15, 15), 2: (10, 10), 3: (8, 7), 4: (8, 5)}  # minutes for a lesson, by how many a week has
PREDICTIONS = {1: 3, 2: 2, 3: 1, 4: 1}
HOW = """The class says what it expects before anything moves or runs; two who disagree explain it to each other. `autolab lessons DIR`
copies the lessons to show; the headings below are theirs. For a slide, `.save("name.png")` behind what is shown writes its picture.
A prediction has its answer in bold, and what a wrong one means."""
EXPLORABLES = set(widgets.__all__) - {"quiz", "predict", "progress"}


class Facts(NamedTuple):
    """What the syllabus says of a week."""

    hours: str
    outcome: str
    lab: str
    reading: str


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def facts(weeks: int) -> list[Facts]:
    """The weeks of a syllabus, with links that lead to the repository from wherever the page is."""
    rows = SYLLABUS.findall(LINK.sub(_address, text_of(f"docs/syllabus-{weeks}.md")))
    return [Facts(hours, outcome, lab, reading.strip()) for _, _, hours, outcome, lab, reading in rows]


def _address(link: re.Match[str]) -> str:
    return f"]({CODE}/{link[1]})" if link[0].startswith("](../") else f"]({CODE}/docs/{link[1]})"


def explorables(path: Path) -> Iterator[tuple[str, str]]:
    """The heading and the call of each explorable of a lesson."""
    heading, own = "", set[str]()
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = (re.findall(r"^## (.+)$", source, re.MULTILINE) or [heading])[-1]
            continue
        tree = ast.parse(re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE))
        own |= {line.name for line in tree.body if isinstance(line, ast.FunctionDef)}  # a lesson's `train` is not the explorable
        for line in tree.body:
            call = line.value if isinstance(line, ast.Expr | ast.Assign) else None
            if isinstance(call, ast.Call) and _called(call) in EXPLORABLES - own:
                yield heading, ast.unparse(call)


def _called(call: ast.Call) -> str:
    """The function that is called first: `explore` of `explore(f).move(w=1)`."""
    while isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        call = call.func.value
    return call.func.id if isinstance(call.func, ast.Name) else ""


def predictions(number: str) -> list[dict[str, Any]]:
    """What a lesson asks before a cell is run, those with the most foreseen mistakes first."""
    found = [question for name, question in questions.asked(number).items() if not name.startswith("quiz ")]
    return sorted(found, key=lambda question: -len(_mistakes(question)))


def _mistakes(question: dict[str, Any]) -> list[tuple[str, str]]:
    """The wrong answers that a question foresees, each with what it means."""
    if "wrong" in question:
        return [(f"{tuple(value)}" if isinstance(value, list) else _number_text(value), said) for value, said in question["wrong"]]
    return [(option["text"], option["why"]) for option in question.get("options", ()) if not option.get("right", True)]


def of_sets() -> dict[str, str]:
    """The mistake of each problem set that misconceptions.md names."""
    last = text_of("docs/misconceptions.md").partition("In the problem sets")[2]
    return {f"ps{number}": " ".join(said.split()) for said, number in OF_SET.findall(last)}


def exercises(name: str) -> list[str]:
    """The table of a problem set: exercise, minutes, level, what it trains."""
    lines = next((ROOT / "exercises" / "text" / name).glob("*.md")).read_text("utf-8").splitlines()
    start = lines.index("| exercise | minutes | level | trains |")
    end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
    return lines[start:end]


def page(weeks: int, number: int) -> str:
    """The page of a week."""
    week, said = SCHEDULES[weeks][number - 1], facts(weeks)[number - 1]
    shown, asked = SHOW_AND_ASK[len(week.lessons)]
    lab = TOGETHER - QUIZ - (shown + asked) * len(week.lessons)
    described = {lesson.number: lesson for lesson in lessons.listed()}
    about = {n: (question, minutes) for n, question, minutes in LESSON.findall(text_of("notebooks/README.md"))}
    quiz = [n for n in week.lessons if makers(n)]
    lines = [
        f"# Week {number} of {weeks}", "", f"Afterwards a student can: {said.outcome}. With the set, {said.hours} hours at home.", "",
        "| before class | |", "|---|---|",
        *(f"| lesson {n} | {described[n].title}: {about[n][0]} {about[n][1]} minutes; predictions in writing |" for n in week.lessons),
        f"| problem set | {_set(weeks, number)} |", *([f"| to read | {said.reading} |"] if said.reading else []), "",
        f"## {TOGETHER} minutes together", "", "| minutes | what |", "|---|---|",
        f"| {QUIZ} | quiz with new numbers: `autolab course questions {' '.join(quiz)} --draw 20 --seed 2027 --for moodle "
        f"--out week-{number:02}.xml`, with another seed than this one, which is public |",
    ]  # fmt: skip
    lines += [f"| {shown + asked} | {n}: show, {shown} minutes; ask and predict, {asked} minutes |" for n in week.lessons]
    lines += [f"| {lab} | lab: {said.lab} |", "", HOW, ""]
    for n in week.lessons:
        lines += _lesson(n, described[n], PREDICTIONS[len(week.lessons)])
    if week.problem_set:
        mistake = of_sets().get(week.problem_set)
        lines += [f"## {week.problem_set}, exercise by exercise", "", *([f"Expect {mistake}.", ""] if mistake else [])]
        lines += [*exercises(week.problem_set), "", f"`autolab course report {week.problem_set}` lists the mistakes of your class.", ""]
    lines += ["The minutes are a plan: no class has been timed.", ""]
    return "\n".join(lines)


def _set(weeks: int, number: int) -> str:
    week = SCHEDULES[weeks][number - 1]
    if not week.problem_set:
        return "none: the week is the lesson's"
    topics = {s.name: f"{s.topic}, {s.hours:g} hours" for s in listed()}
    begun = any(w.problem_set == week.problem_set for w in SCHEDULES[weeks][: number - 1])
    when = "goes on, due at the end of the week" if begun else "handed out" + (", due at the end of the week" if week.due else "")
    return f"{week.problem_set} ({topics[week.problem_set]}): {when}"


def _lesson(number: str, lesson: lessons.Lesson, count: int) -> Iterator[str]:
    """What to show, to expect and to ask in a lesson."""
    _, idea, shows, ask = next(row for row in IDEA.findall(text_of("docs/misconceptions.md")) if row[0] == number)
    yield from (f"## {number} · {lesson.title}", "")
    for heading, call in explorables(lesson.path):
        yield f"- **Show** `{call}`, under *{heading}*"
    yield from (f"- **Expect** the idea: {idea} {shows}", f"- **Ask** {ask}")
    for question in predictions(number)[:count]:
        wrong = " ".join(f"*{answer}*: {said}" for answer, said in _mistakes(question))
        yield f"- **Predict** {question['prompt']} **{question['shown']}**. {question.get('why', '')} {wrong}".rstrip()
    yield ""


def pages() -> dict[str, str]:
    """The text of every page by its path below `exercises/teaching`."""
    return {f"{weeks}/week-{n:02}.md": page(weeks, n) for weeks, plan in SCHEDULES.items() for n in range(1, len(plan) + 1)}


def main() -> None:
    """Write them."""
    for name, text in pages().items():
        (TEACHING / name).parent.mkdir(parents=True, exist_ok=True)
        (TEACHING / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
