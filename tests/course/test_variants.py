"""Exercises drawn from the bank are exercises: proven, the same each time, and graded by what was drawn."""

import shutil
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest

from autolab.check import Report, check
from autolab.check import prove as prove_rules
from autolab.course.grading.sandbox import Limits
from autolab.course.grading.scheduler import Course
from autolab.course.grading.worker import grade
from autolab.course.notebook import from_markdown
from autolab.course.release import form_of_source, release_of
from autolab.course.solutions import solve
from autolab.course.variants.bank import read_bank
from autolab.course.variants.draw import course_key, draw, read_record, record, roster
from autolab.course.variants.make import make_variant, problem_text
from autolab.course.variants.own import foreign_answers, own_form, without_exercises
from autolab.course.variants.proof import prove
from autolab.course.variants.text import with_variants

from .pages import feedback_of

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = ROOT / "exercises"
SETS = [f"ps{n}" for n in range(1, 10)]


def text_of(problem_set):
    return problem_text(EXERCISES, problem_set).read_text("utf-8")


def one_of(problem_set):
    """An entry of the bank, another one for each set and each time the bank grows."""
    bank = read_bank(EXERCISES, problem_set)
    return bank, list(bank.variants.values())[np.random.default_rng(len(bank.variants)).integers(len(bank.variants))]


def test_there_are_eighty_entries_and_every_set_has_some():
    counts = [len(read_bank(EXERCISES, s).variants) for s in SETS]
    assert all(counts) and sum(counts) >= 80


@pytest.mark.parametrize("problem_set", SETS)
def test_an_entry_is_proven(problem_set):  # all of them: python -m docs.make.variants
    bank, variant = one_of(problem_set)
    assert not prove(variant, bank, text_of(problem_set), naming=False).problems


def test_a_rule_that_is_no_derivative_on_purpose_is_proven_as_such():
    pretending = [v.spec for v in read_bank(EXERCISES, "ps2").variants.values() if v.pretends]
    assert pretending and [said for spec in pretending for said in prove_rules(spec)] == []


def test_the_page_lists_every_entry_that_is_in_the_banks():
    page = (ROOT / "docs" / "variants.md").read_text("utf-8")
    banks = [read_bank(EXERCISES, s) for s in SETS]
    assert not [name for bank in banks for name in bank.variants if f"| `{name}` |" not in page]
    assert f"The {sum(len(bank.variants) for bank in banks)} entries" in page


@pytest.mark.parametrize("problem_set", ["ps1", "ps5"])
def test_a_set_of_drawn_exercises_gives_its_solution_all_points(problem_set):
    bank = read_bank(EXERCISES, problem_set)
    notebook = from_markdown(with_variants(text_of(problem_set), bank, draw(bank, "key", "2027")))
    found = solve(notebook)
    assert not [value for value in found.values() if isinstance(value, Exception)]
    assert all(value.passed for value in found.values() if isinstance(value, Report))


@pytest.mark.parametrize("problem_set", SETS)
def test_a_drawn_set_has_the_cells_and_points_of_the_original(problem_set):
    bank, original = read_bank(EXERCISES, problem_set), from_markdown(text_of(problem_set))
    drawn = from_markdown(with_variants(text_of(problem_set), bank, draw(bank, "key", "2027")))
    graded = [{c.id: c.metadata.nbgrader.get("points") for c in n.cells if "nbgrader" in c.metadata} for n in (original, drawn)]
    assert graded[0] == graded[1]


def test_a_release_shows_no_rule():
    bank = read_bank(EXERCISES, "ps2")
    chosen = draw(bank, "key", "2027")
    released = nbformat.writes(release_of(from_markdown(with_variants(text_of("ps2"), bank, chosen))))
    rules = [rule for v in chosen.values() for rule in v.rules.values() if not v.known and not v.pretends]
    assert len(rules) > 5 and not [rule for rule in rules if rule in released]


# --- what a proof finds


@pytest.mark.parametrize(
    ("name", "rule"),
    [("softsign", "g / (1 + np.abs(x))"), ("cubic", "g * (3 * x - 2)"), ("mirrored_relu", "g * (x < 0)"), ("decay", "g * out")],
)
def test_a_wrong_rule_differs_from_differences_of_its_forward(name, rule):
    variant = read_bank(EXERCISES, "ps2").variants[name]
    bank = read_bank(EXERCISES, "ps2")
    said = prove(replace(variant, rules={"x": rule}), bank, text_of("ps2"), naming=False).problems
    assert any("is not the derivative of forward" in line for line in said)


def test_a_solution_that_is_wrong_is_a_problem():
    bank = read_bank(EXERCISES, "ps1")
    variant = bank.variants["trace_cube"]
    wrong = replace(variant, answer=variant.answer.replace("3 * u**2", "u**2"))
    assert "the solution has" in str(prove(wrong, bank, text_of("ps1")).problems)


def test_an_entry_that_is_much_harder_is_a_problem():
    bank = read_bank(EXERCISES, "ps2")
    harder = replace(bank.variants["decay"], rules={"x": "-g * out * (1 + x - x) * (2 + x - x) / (2 + x - x)"})
    assert "difficulty" in str(prove(harder, bank, text_of("ps2"), naming=False).problems)


def test_a_rule_in_the_statement_is_a_problem():
    bank = read_bank(EXERCISES, "ps2")
    said = replace(bank.variants["cubic"], text="It is `g * (3 * x * x - 2)`.")
    assert "the release shows the rule" in str(prove(said, bank, text_of("ps2"), naming=False).problems)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('pool = "nothing"', "no exercise|draw from"),
        ('colour = "red"', "colour"),
        ('name = "decay"', "two variants"),
        ("forward = ''", "needs"),
    ],
)
def test_an_entry_that_is_none_is_refused_in_a_sentence(tmp_path, line, said):
    (tmp_path / "bank").mkdir()
    entry = 'name = "mine"\npool = "exponential"\ntitle = "t"\nforward = "x"\nrules = { x = "g" }\n'
    key = line.partition(" ")[0]
    entry = "".join(f"{row}\n" for row in entry.splitlines() if not row.startswith(key)) + line
    (tmp_path / "bank" / "ps2.toml").write_text((EXERCISES / "bank" / "ps2.toml").read_text("utf-8") + f"\n[[variant]]\n{entry}\n")
    with pytest.raises(ValueError, match=said):
        read_bank(tmp_path, "ps2")


# --- the check that students see


def test_a_check_without_rules_tells_a_rule_that_does_not_sum():
    spec = read_bank(EXERCISES, "ps2").variants["mul_square"].shown_spec
    report = check(spec, (lambda x, y: x * y * y, lambda g, x, y: (g * y * y, 2 * g * x * y)))
    assert report.diagnoses[0].family == "not summed"


# --- draws


def test_a_draw_is_the_same_each_time_and_another_for_another_key_year_or_student():
    bank = read_bank(EXERCISES, "ps2")
    first = draw(bank, "key", "2027", "ada")
    assert draw(bank, "key", "2027", "ada") == first
    assert first not in [draw(bank, "other", "2027", "ada"), draw(bank, "key", "2028", "ada"), draw(bank, "key", "2027", "ben")]


def test_draws_of_students_are_independent_and_even():
    bank = read_bank(EXERCISES, "ps2")
    drawn = [draw(bank, "key", "2027", f"s{i}") for i in range(400)]
    entries = len(bank.pool("exponential"))
    counts = np.unique([d["exp"].name for d in drawn], return_counts=True)[1]
    assert len(counts) == entries and np.sum((counts - 400 / entries) ** 2) / (400 / entries) < 18.5  # chi-squared, 1 in 1000
    same = np.mean([a["exp"] == b["exp"] for a, b in zip(drawn[::2], drawn[1::2], strict=True)])
    assert abs(same - 1 / entries) < 0.1


def test_no_exercise_is_drawn_twice_in_a_set():
    bank = read_bank(EXERCISES, "ps3")
    for i in range(50):
        chosen = draw(bank, "key", "2027", f"s{i}").values()
        assert len({v.name for v in chosen}) == len(chosen)


def test_a_roster_needs_a_column_of_logins_and_names_that_can_be_folders(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("Name,ID\nAda,ada\nBen,ben\n")
    assert roster(path) == ["ada", "ben"]
    path.write_text("Name,Mail\nAda,a@b\n")
    with pytest.raises(ValueError, match="which one is the login"):
        roster(path)
    path.write_text("id\n../ada\n")
    with pytest.raises(ValueError, match="cannot be the name of a folder"):
        roster(path)


# --- a class of which each has exercises of their own

NOTEBOOK = "a-scalar-engine"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("variants")
    for folder in ("text", "wrong", "rubric", "bank"):
        (root / folder).mkdir()
    shutil.copytree(EXERCISES / "text" / "ps1", root / "text" / "ps1")
    shutil.copy(EXERCISES / "bank" / "ps1.toml", root / "bank")
    shutil.copy(EXERCISES / "wrong" / "ps1.md", root / "wrong")
    shutil.copy(EXERCISES / "nbgrader_config.py", root)
    (root / "autolab-version.txt").write_text("0.9")
    make_variant(root, "ps1", "2027", students=[f"s{i}" for i in range(9)])
    return Course(root)


def hand_in(course, student, whose, kind="source"):
    folder = course.root / "submitted" / student / "ps1-2027"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(course.root / "variants" / "ps1-2027" / kind / whose / f"{NOTEBOOK}.ipynb", folder)


def two_who_differ(course):
    drawn = read_record(record(course.root, "ps1-2027"))
    return "s0", next(f"s{i}" for i in range(1, 9) if drawn[f"s{i}"] != drawn["s0"])


def test_what_was_drawn_is_in_the_record_and_in_the_notebook(course):
    released = nbformat.read(course.root / "variants" / "ps1-2027" / "release" / "s0" / f"{NOTEBOOK}.ipynb", 4)
    assert released.metadata.autolab.variants == read_record(record(course.root, "ps1-2027"))["s0"]
    assert "BEGIN SOLUTION" not in nbformat.writes(released) and course_key(course.root) not in nbformat.writes(released)


def test_the_version_of_the_course_is_in_every_notebook(course):
    notebooks = [p for folder in ("source/ps1-2027", "variants") for p in (course.root / folder).rglob("*.ipynb")]
    assert len(notebooks) > 2 and {nbformat.read(p, 4).metadata.autolab.version for p in notebooks} == {"0.9"}


def graded(course, student):
    """What `course grade` makes of what a student handed in: its job, in this process."""
    source = nbformat.read(course.root / "source" / "ps1-2027" / f"{NOTEBOOK}.ipynb", 4)
    forms = {NOTEBOOK: form_of_source(source)}
    return grade(course.job(student, "ps1-2027", NOTEBOOK, forms, 1, Limits(), "limits"))


def test_a_student_is_graded_by_what_was_drawn_for_them(course):
    first, second = two_who_differ(course)
    hand_in(course, first, first)
    hand_in(course, second, first)  # brings a friend's notebook
    right, foreign = graded(course, first), graded(course, second)
    lost = {name for name, score in right.scores.items() if foreign.scores[name] != score}
    assert sum(score or 0 for score in right.scores.values()) == 51 and not right.suspicious
    assert lost == {"trace_table-check", "trace_table-hidden"} and not any(foreign.scores[name] for name in lost)
    assert "the exercise of another student" in feedback_of(foreign) and "the exercise of another student" in str(foreign.suspicious)


def test_who_joins_later_gets_exercises_and_nobody_elses_change(course):
    before = read_record(record(course.root, "ps1-2027"))
    make_variant(course.root, "ps1", "2027", students=["late", *(f"s{i}" for i in range(9))])
    after = read_record(record(course.root, "ps1-2027"))
    assert {who: after[who] for who in before} == before and "late" in after


def test_a_source_that_is_gone_stops_the_grading_of_that_student(course):
    path = course.root / "variants" / "ps1-2027" / "source" / "s8" / f"{NOTEBOOK}.ipynb"
    path.rename(path.with_suffix(".away"))
    with pytest.raises(LookupError, match="is gone"):
        own_form(course.root, "ps1-2027", "s8", NOTEBOOK, ())
    path.with_suffix(".away").rename(path)


def test_a_source_with_other_points_is_refused(course):
    with pytest.raises(ValueError, match="one scale"):
        own_form(course.root, "ps1-2027", "s7", NOTEBOOK, ())


def test_ones_own_answer_is_not_taken_for_anothers(course):
    for kind in ("source", "release"):
        text = (course.root / "variants" / "ps1-2027" / kind / "s3" / f"{NOTEBOOK}.ipynb").read_text("utf-8")
        assert foreign_answers(course.root, "ps1-2027", "s3", text) == []


def test_a_student_whom_nothing_was_drawn_for_is_named_and_told(course):
    hand_in(course, "stranger", "s0")
    done = graded(course, "stranger")
    assert "no exercises were drawn for 'stranger'" in feedback_of(done) and "no exercises were drawn" in str(done.suspicious)
    assert without_exercises(course.root, "ps1-2027", ["s0", "stranger"]) == ["stranger"]
    assert without_exercises(course.root, "ps1", ["stranger"]) == []


def test_a_class_draws_once(course):
    with pytest.raises(FileExistsError, match="drawn already"):
        make_variant(course.root, "ps1", "2027")
