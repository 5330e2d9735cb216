"""What every lesson owes its reader, whatever it is about."""

import ast
import importlib
import itertools
import re
from pathlib import Path

import nbformat
import pytest

import autolab
from autolab import questions as asks
from autolab.widgets.questions import judge

from .save import FOLDED, NO_LINE, after_predictions
from .tolerance import TAG

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb"))
NUMBERS = [path.name[:2] for path in LESSONS]
PLACE = re.compile(r"\[`([\w.]+)` in (autolab/[\w/]+\.py)\]\(\.\./(autolab/[\w/]+\.py)\)")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")

# Cells whose output is not compared with what is saved, and why not.
NOT_COMPARED = {
    "00": {"net-stepper-widget": "which seven digits are wrong hangs on the last bits of 201 steps"},
    "09": {"sines-picture": "waves of networks that 1500 steps have trained"},
    "10": {"time-widget": "times"},
    "11": {"picture-show": "how gradients fall into powers of two", "by-hand-show": "at which step a sum in float16 first overflows"},
    "12": {
        "room-widget": "it trains as fast as the machine allows",
        "race-widget": "paths down a valley, which grow differences of the last bit",
        "schedule-fit": "with steps that are too long the last bits decide where training stops",
    },
    "13": {"jacobians-widget": "times"},
    "14": {"profiler-show": "times"},
    "15": {"by-hand-time": "times", "widget-fusion": "times", "blocks-clock": "times", "training-time": "times"},
    "16": {f"hand-{part}-show": "differences in the last bits" for part in ("loss", "linear", "tanh", "norm", "embedding")},
    "17": {
        "train-run": "how fast it goes",
        "compile-show": "times",
        "write-show": "letters drawn with chances that a sum in another order changes",
    },
    "22": {"vae-map": "digits of a network that 500 steps have trained", "vae-samples": "digits of a network that 500 steps have trained"},
    "23": {"timeline-show": "times", "overlap-show": "times"},
    "19": {"drift-show": "the last bits, multiplied by e to the 60"},
}


@pytest.fixture(params=[pytest.param(p, id=p.stem, marks=getattr(pytest.mark, f"lesson{p.name[:2]}")) for p in LESSONS])
def lesson(request):
    notebook = nbformat.read(request.param, as_version=4)
    notebook.path = request.param
    return notebook


def cells(lesson, kind):
    return [cell for cell in lesson.cells if cell.cell_type == kind]


def text(lesson):
    return "\n\n".join(cell.source for cell in cells(lesson, "markdown"))


def outputs(lesson):
    return [output for cell in cells(lesson, "code") for output in cell.outputs]


def is_import(node):
    return isinstance(node, ast.Import | ast.ImportFrom)


def names_in(path):
    """Every name that a file defines: functions, classes, methods as `Class.method`, and what it assigns."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def asked(lesson):
    """The module with what a lesson asks."""
    return importlib.import_module(f"autolab.questions.lesson{lesson.path.name[:2]}")


def shows_something(cell):
    last = ast.parse(cell.source).body[-1]
    defines = isinstance(last, ast.FunctionDef)  # what it prints comes where it is called
    return isinstance(last, ast.Expr) or (not defines and re.search(r"^\s*print\(", cell.source, re.M))


def test_there_are_lessons():
    assert {f"{n:02}" for n in range(9)} <= set(NUMBERS)


# -- its shape ---------------------------------------------------------------------------------


def test_it_opens_with_its_question_and_its_time(lesson):
    first = lesson.cells[0].source
    assert re.match(rf"# {lesson.path.name[:2]} · \w", first)
    assert re.search(r"\*\*The question: .+\?\*\*", first)
    assert re.search(r"\b(minutes|hour)\b", first)


def test_it_closes_with_what_was_left_out_and_the_next_lesson(lesson):
    last = lesson.cells[-1].source
    assert last.startswith("## Left out")
    assert re.search(r"\*\*Next:.*\d\d", last)


def test_it_has_all_its_parts(lesson):
    assert re.search("## Where this (is|stands) in the code", text(lesson))
    for heading in ("The same lines in PyTorch", "Check yourself", "Left out"):
        assert f"## {heading}" in text(lesson), heading
    assert "roblem set" in text(lesson)
    assert re.search("## In (three|four|five) sentences", text(lesson)) or lesson.path.name[:2] == "00"
    assert sum(cell.source.startswith("predict(") for cell in cells(lesson, "code")) >= 4
    assert any("Stepper(" in cell.source or "explore(" in cell.source for cell in cells(lesson, "code"))


def test_imports_stand_in_the_first_code_cell_and_nowhere_else(lesson):
    first, *rest = (ast.parse(cell.source) for cell in cells(lesson, "code"))
    assert all(is_import(node) for node in first.body)
    assert not any(is_import(node) for tree in rest for node in ast.walk(tree))


def test_a_cell_has_at_most_fifteen_lines(lesson):
    lengths = {cell.id: len(cell.source.splitlines()) for cell in cells(lesson, "code")}
    assert {name: n for name, n in lengths.items() if n > 15} == {}


def test_no_line_of_code_is_so_long_that_paper_would_cut_it(lesson):
    code = [cell.source for cell in cells(lesson, "code")] + re.findall(r"^```python\n(.*?)^```", text(lesson), re.S | re.M)
    assert [line for part in code for line in part.splitlines() if len(line) > 120] == []


def test_no_two_code_cells_stand_in_a_row(lesson):
    kinds = [cell.cell_type for cell in lesson.cells if not cell.source.startswith("predict(")]
    assert ("code", "code") not in itertools.pairwise(kinds)


def test_it_asks_what_is_written_for_it_in_that_order_and_gives_no_answer_away(lesson):
    asking = [cell.source for cell in cells(lesson, "code") if re.search(r"\b(predict|quiz)\(", cell.source)]
    written = [name for name in asks.asked(lesson.path.name[:2]) if not name.startswith("quiz ")]
    assert asking == [*(f"predict(asks.{name})" for name in written), "quiz(*asks.quiz)"]


def test_a_paragraph_is_short(lesson):
    prose = re.sub(r"\$\$.*?\$\$|```.*?```|\*\*References\.\*\*[^\n]*", "", text(lesson), flags=re.S)
    long = [p[:60] for p in prose.split("\n\n") if len(p.split()) > 90 and not p.startswith(("|", "- ", "1. ", "<"))]
    assert long == []


def test_cell_ids_say_what_a_cell_is_for(lesson):
    ids = [cell.id for cell in lesson.cells]
    assert len(set(ids)) == len(ids)
    assert [i for i in ids if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)*(-\d)?", i)] == []


# -- what is saved in it ---------------------------------------------------------------------------


def test_it_was_run_from_top_to_bottom(lesson):
    assert [cell.execution_count for cell in cells(lesson, "code")] == list(range(1, len(cells(lesson, "code")) + 1))
    assert [cell.id for cell in cells(lesson, "code") if shows_something(cell) and not cell.outputs] == []


def test_no_error_and_no_warning_is_saved(lesson):
    assert [o.ename for o in outputs(lesson) if o.output_type == "error"] == []
    assert [o.text for o in outputs(lesson) if o.get("name") == "stderr"] == []


def test_what_answers_a_prediction_is_saved_folded_and_nothing_else_is(lesson):
    folded = [cell.id for cell in lesson.cells if FOLDED.items() <= cell.metadata.items()]
    assert folded == [cell.id for cell in after_predictions(lesson) if cell.outputs[0] == NO_LINE]
    assert len(folded) == sum(cell.source.startswith("predict(") for cell in lesson.cells)


def test_a_question_is_not_folded(lesson):
    questions = [cell for cell in lesson.cells if cell.source.startswith(("predict(", "quiz("))]
    assert [cell.id for cell in questions if cell.metadata.get("collapsed") or cell.metadata.get("jupyter")] == []


def test_nothing_of_the_run_or_the_machine_is_saved(lesson):
    assert set(lesson.metadata) == {"kernelspec", "language_info"}
    assert lesson.metadata.kernelspec.name == "python3"
    assert {key for cell in lesson.cells for key in cell.metadata} <= {"tags", "collapsed", "jupyter"}
    shown = [o.get("text", "") + str(o.get("data", "")) for o in outputs(lesson)]
    assert [s[:80] for s in shown if re.search(r"widget-view|0x[0-9a-f]{6}|/home/|/root/|site-packages", s)] == []


def test_every_picture_is_also_text(lesson):
    for output in outputs(lesson):
        data = output.get("data", {})
        if "image/svg+xml" in data:
            assert "aria-label" in data["image/svg+xml"]
            assert "<svg" not in data["text/plain"]
        assert not {"image/png", "image/jpeg"} & set(data)


def test_only_known_tags_are_used(lesson):
    tags = {tag for cell in lesson.cells for tag in cell.metadata.get("tags", [])}
    assert {tag for tag in tags if not TAG.fullmatch(tag)} <= {"engine", "nbval-ignore-output"}


def test_what_is_not_compared_has_a_reason(lesson):
    ignored = [cell.id for cell in lesson.cells if "nbval-ignore-output" in cell.metadata.get("tags", [])]
    ignored = [name for name in ignored if name != "problem-set"]  # it says whether the set was there before
    assert ignored == list(NOT_COMPARED.get(lesson.path.name[:2], {}))


# -- what it points to -------------------------------------------------------------------------------


def test_every_place_in_the_code_exists(lesson):
    places = PLACE.findall(text(lesson))
    assert len(places) >= 6
    assert len(places) == len(re.findall(r"\]\(\.\./autolab/", text(lesson))) - text(lesson).count("[`steps`](")
    for name, said, linked in places:
        assert said == linked
        assert name in names_in(ROOT / said), f"{said} defines no {name}"


def test_every_link_leads_somewhere_and_every_image_is_described(lesson):
    for image, words, target in LINK.findall(text(lesson)):
        assert words.strip() or not image, f"{target} has no alt text"
        assert "://" in target or (lesson.path.parent / target.partition("#")[0]).exists(), target
    assert "<img" not in text(lesson)


def test_every_lesson_is_listed_in_the_path(lesson):
    assert f"]({lesson.path.name})" in (ROOT / "notebooks" / "README.md").read_text()


def test_each_problem_set_that_it_leads_to_is_a_button_at_its_end(lesson):
    *_, before, last = lesson.cells[:-1]
    said = re.findall(r"\*[Pp]roblem set (\d+)\*", before.source)
    called = re.findall(r'"ps(\d+)"', last.source) if last.source.startswith("torch.exercises(") else []
    assert called == said
    assert "text/html" not in str(last.get("outputs") if called else "")  # a link to what is not there before it is run


def test_after_its_last_lesson_every_problem_set_has_a_button():
    calls = {n: nbformat.read(path, 4).cells[-2].source for n, path in zip(NUMBERS, LESSONS)}
    assert [s.name for s in autolab.exercises() if not any(f'"{s.name}"' in calls[n] for n in NUMBERS if n >= s.lessons[-1])] == []


# -- its quiz --------------------------------------------------------------------------------------------


def questions(lesson):
    """The questions of the quiz."""
    return asked(lesson).quiz[1:]


def test_the_quiz_has_four_to_eight_questions_of_more_than_one_kind(lesson):
    assert 4 <= len(questions(lesson)) <= 8
    assert len({q["kind"] for q in questions(lesson)}) > 1
    assert asked(lesson).quiz[0][:2] == lesson.path.name[:2]


def everything_asked(lesson):
    """Its predictions and the questions of its quiz."""
    return list(asks.asked(lesson.path.name[:2]).values())


def slips(question):
    """The mistakes that a question has words of its own for, and the words."""
    if question["kind"] in ("number", "shape"):
        return {str(wrong): said for wrong, said in question["wrong"]}
    if question["kind"] == "order":
        return {step["text"]: step["early"] for step in question["options"][1:]}
    return {option["text"]: option["why"] for option in question["options"]}


def test_each_wrong_answer_that_is_to_be_expected_has_words_of_its_own(lesson):
    for question in everything_asked(lesson):
        said = list(slips(question).values())
        assert len(said) >= 2 and len(set(said)) >= len(said) - 1, question["prompt"]
        assert all(len(why.split()) >= 4 for why in [*said, question.get("why", "in these four words")]), question["prompt"]


def test_the_words_for_a_mistake_are_said_to_whoever_makes_it(lesson):
    for question in everything_asked(lesson):
        for wrong, said in question.get("wrong", ()):
            assert judge(question, wrong) == (False, said), question["prompt"]


def test_the_right_answers_are_not_always_the_same(lesson):
    right = [[o["right"] for o in q["options"]].index(True) for q in questions(lesson) if q["kind"] == "choice"]
    assert len(right) < 2 or len(set(right)) > 1
