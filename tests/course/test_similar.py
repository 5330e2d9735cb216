"""Which submissions share text: found under other names and layout, not where many write the same, and in time."""

import json
import re
import time

import nbformat
import pytest
from click.testing import CliRunner

from autolab.cli.group import group
from autolab.course import similar as similarity
from autolab.course.notebook import from_markdown
from autolab.course.release import release_of
from autolab.course.similar import Submission, code_tokens, compare, fingerprint, near_solutions, numbers, pairs, released_numbers, winnow

TEXT = """
How does softmax behave when all scores grow by the same amount?

```python answer softmax
def softmax(x):
    ### BEGIN SOLUTION
    pass
    ### END SOLUTION
```

```markdown written why 4
Because.
```
"""
LONG = """
def softmax(scores):
    shifted = scores - scores.max(axis=-1, keepdims=True)  # no overflow
    powers = np.exp(shifted)
    total = powers.sum(axis=-1, keepdims=True)
    if total.min() <= 0:
        raise ValueError("nothing is left of the total")
    return powers / total


def backward(g, out):
    inner = (g * out).sum(axis=-1, keepdims=True)
    for row in range(len(out)):
        out[row] = out[row] * (g[row] - inner[row])
    return out
"""
OTHER = """
def softmax(x):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        biggest = max(row)
        weights = [np.exp(value - biggest) for value in row]
        rows.append([w / sum(weights) for w in weights])
    return np.array(rows).reshape(x.shape)


def backward(g, out):
    jacobian = np.einsum("...i,ij->...ij", out, np.eye(out.shape[-1])) - out[..., None] * out[..., None, :]
    return np.einsum("...ij,...j->...i", jacobian, g)
"""
PROSE = """Adding one number to all scores multiplies every exponential by the same factor, and the factor cancels when they are
divided. So no probability changes, and neither does the loss; its derivative in that direction is zero, which means that the
entries of the gradient add up to nothing."""


def disguised(source):
    """The same under other names, with other layout and comments."""
    for name in ("shifted", "powers", "total", "inner", "row", "scores"):
        source = re.sub(rf"\b{name}\b", name[::-1] + "_", source)
    return re.sub(r"  # .*", "", source).replace("\n", "  # mine\n").replace("    ", "  ").replace(" - ", "-")


def disguised_more(source):
    """The same with statements that do nothing, and other ways to write the same."""
    source = source.replace("    powers = ", "    unused = 3\n    assert scores is not None\n    powers = ").replace("g * out", "out * g")
    source = source.replace("powers / total", "np.divide(powers, total)").replace("scores.max(axis=-1", "np.max(scores, axis=-1")
    return "import os\n" + source.replace("total.min() <= 0", "0 >= np.min(total)")


def classroom(*answers):
    made = [Submission(f"s{i}", "", [("code", code), ("markdown", prose)]) for i, (code, prose) in enumerate(answers)]
    for one in made:
        fingerprint(one, set())
    return made


def test_a_copy_under_other_names_and_layout_is_as_near_as_a_plain_one():
    (plain,), (hidden,) = (pairs(classroom((LONG, ""), (copy, ""), (OTHER, ""))) for copy in (LONG, disguised(LONG)))
    assert {plain.first, plain.second} == {hidden.first, hidden.second} == {"s0", "s1"}
    assert plain.share == hidden.share == (1.0, 1.0)


def test_a_copy_that_is_written_otherwise_is_as_near_as_a_plain_one():
    (pair,) = pairs(classroom((LONG, ""), (disguised_more(disguised(LONG)), ""), (OTHER, "")))
    assert {pair.first, pair.second} == {"s0", "s1"} and pair.share == (1.0, 1.0)


def test_what_is_no_python_is_compared_by_its_statements():
    broken = "def broken(:\n    pass\n\n"
    (pair,) = pairs(classroom((broken + LONG, ""), (disguised(LONG), ""), (OTHER, "")))
    assert {pair.first, pair.second} == {"s0", "s1"} and pair.share[1] == 1.0
    assert pairs(classroom((LONG[:-20] + "((", ""), (disguised(LONG)[:-20] + "((", "")))


def test_who_has_the_solution_is_listed_also_where_many_have_it():
    *students, answer = classroom(*[(disguised(LONG), PROSE)] * 5, (OTHER, ""), (LONG, ""))
    found = near_solutions(students, [answer])
    assert [(near.student, near.share) for near in found] == [(f"s{i}", 1.0) for i in range(5)] and pairs(students) == []


def test_passages_are_shown_as_each_wrote_them():
    (pair,) = pairs(classroom((LONG, ""), (disguised(LONG), "")))
    assert "shifted = scores" in pair.passages[0] and "detfihs_ = serocs_" in pair.passages[1]


def test_shared_prose_is_found():
    (pair,) = pairs(classroom((OTHER, PROSE), (LONG, PROSE.upper().replace(",", " -"))))
    assert "multiplies every exponential" in pair.passages[0]


def test_two_answers_of_their_own_share_nothing():
    assert pairs(classroom((LONG, ""), (OTHER, PROSE))) == []


def test_what_many_have_says_nothing():
    assert pairs(classroom(*[(LONG, "")] * 5)) == []


def test_what_many_of_the_class_have_says_nothing_beside_a_large_earlier_one():
    earlier = [Submission(f"e{i}", "before", [("code", f"x{i} = 1")]) for i in range(60)]
    assert pairs([*classroom(*[(LONG, "")] * 5), *earlier]) == []
    assert len(pairs([*classroom(*[(LONG, "")] * 3), *earlier])) == 3


def test_what_was_released_is_no_evidence():
    one, other = (Submission(name, "", [("code", LONG)]) for name in "ab")
    for each in (one, other):
        fingerprint(each, released_numbers([("code", LONG)]))
    assert pairs([one, other]) == []


def test_a_passage_long_enough_leaves_a_fingerprint_wherever_it_stands():
    passage = list(code_tokens(LONG))[:17]
    for before in range(12):
        assert set(winnow(numbers(passage))) & set(winnow(numbers(list(code_tokens("a + " * before)) + passage)))


@pytest.mark.parametrize("piece", ['"', "\\'", '\\"', '"""', "'''\\'", "#", "a", "1.", "(", "\\", "*", '"\n', "\u00e9 ", "a "])
def test_time_grows_with_the_length(piece):
    def seconds(n):
        one = Submission("s", "", [("code", piece * (n // len(piece))), ("markdown", piece * (n // len(piece)))])
        start = time.process_time()
        fingerprint(one, set())
        return time.process_time() - start

    assert min(seconds(40_000) for _ in range(2)) < 24 * min(seconds(5_000) for _ in range(3)) + 0.05


@pytest.fixture
def courses(tmp_path):
    source = from_markdown(TEXT)
    for course, students in (("now", {"ada": LONG, "bob": OTHER}), ("before", {"eve": disguised(LONG), "kim": disguised(LONG)})):
        (tmp_path / course / "source" / "ps").mkdir(parents=True)
        nbformat.write(source, tmp_path / course / "source" / "ps" / "n.ipynb")
        for student, answer in students.items():
            notebook = release_of(source)
            next(c for c in notebook.cells if c.id == "softmax").source = answer
            (tmp_path / course / "submitted" / student / "ps").mkdir(parents=True)
            nbformat.write(notebook, tmp_path / course / "submitted" / student / "ps" / "n.ipynb")
    (tmp_path / "now" / "submitted" / "zoe" / "ps").mkdir(parents=True)
    (tmp_path / "now" / "submitted" / "zoe" / "ps" / "n.ipynb").write_bytes(b"\xff{ broken <script>")
    return tmp_path


def similar(courses, *more):
    command = ["course", "similar", "ps", "--course", str(courses / "now"), "--with", str(courses / "before"), *more]
    return CliRunner().invoke(group, command)


def test_the_command_compares_with_an_earlier_course(courses):
    done = similar(courses, "--json")
    found = json.loads(done.stdout)
    assert [(p["first"], p["second"]) for p in found["pairs"]] == [("ada", "eve (before)"), ("ada", "kim (before)")]
    assert (done.exit_code, found["submissions"]) == (0, 5)


def test_who_handed_in_the_solution_is_listed(courses):
    body = LONG.split("\n", 2)[2]
    source = from_markdown(TEXT.replace("def softmax(x):", "def softmax(scores):").replace("    pass\n", body))
    nbformat.write(source, courses / "now" / "source" / "ps" / "n.ipynb")
    found = json.loads(similar(courses, "--json").stdout)
    assert ("ada", "the solution (source/ps)") in [(p["first"], p["second"]) for p in found["pairs"]]
    assert found["near_solutions"][0]["student"] == "ada" and found["near_solutions"][0]["share"] > 0.5
    assert found["submissions"] == 5


def test_a_copied_sample_answer_is_listed(courses):
    (courses / "now" / "rubric").mkdir()
    (courses / "now" / "rubric" / "ps.md").write_text(f"## why\n\n| points | for |\n|---|---|\n| 1 | why |\n\n**1 point.** {PROSE}\n")
    path = courses / "now" / "submitted" / "bob" / "ps" / "n.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell(PROSE))
    nbformat.write(notebook, path)
    found = json.loads(similar(courses, "--json").stdout)
    assert ("bob", "the sample answers (rubric/ps)") in [(p["first"], p["second"]) for p in found["pairs"]]
    assert found["submissions"] == 5


NEAR_ADA = {"student": "ada", "parts": 9, "share": 1.0}


def written(root, assignment, **answers):
    """An assignment of a course that asks what `ps` asks, and what was handed in for it."""
    source = from_markdown(TEXT)
    (root / "source" / assignment).mkdir(parents=True)
    nbformat.write(source, root / "source" / assignment / "n.ipynb")
    for student, answer in answers.items():
        notebook = release_of(source)
        next(c for c in notebook.cells if c.id == "softmax").source = answer
        (root / "submitted" / student / assignment).mkdir(parents=True)
        nbformat.write(notebook, root / "submitted" / student / assignment / "n.ipynb")


def test_an_earlier_year_is_found_under_another_name_in_the_same_course_too(courses):
    written(courses / "before", "ps-2026", bob=OTHER)
    written(courses / "now", "ps-2026", joe=OTHER)
    (courses / "now" / "source" / "other").mkdir()
    found = compare(courses / "now", "ps", [courses / "before", courses / "now"])
    others = {pair["second"] for pair in found["pairs"] if pair["first"] == "bob"}
    assert others == {"bob (before, ps-2026)", "joe (now, ps-2026)"} and found["notes"] == []


def test_a_course_with_nothing_to_compare_is_named(courses, tmp_path):
    (tmp_path / "empty" / "source" / "ps").mkdir(parents=True)
    (tmp_path / "else" / "source" / "ps9").mkdir(parents=True)
    found = compare(courses / "now", "ps", [tmp_path / "empty", tmp_path / "else"])
    assert found["notes"] == [f"{tmp_path / 'empty'} is not compared: nobody handed in ps",
                              f"{tmp_path / 'else'} is not compared: no assignment there has the cells of ps"]  # fmt: skip


def test_what_autolab_shipped_is_compared_where_the_course_has_another_solution(courses, monkeypatch):
    solved = from_markdown(TEXT.replace("def softmax(x):", "def softmax(scores):").replace("    pass\n", LONG.split("\n", 2)[2]))
    (courses / "shipped" / "source" / "ps1").mkdir(parents=True)
    nbformat.write(solved, courses / "shipped" / "source" / "ps1" / "n.ipynb")
    monkeypatch.setattr(similarity, "problem_sets", lambda: courses / "shipped")
    found = compare(courses / "now", "ps")
    assert ("ada", "the solution (ps1 as shipped)") in [(p["first"], p["second"]) for p in found["pairs"]]


def test_a_students_own_release_is_no_evidence_and_its_solution_is(courses):
    place = courses / "now" / "variants" / "ps"
    for kind, code in (("release", LONG), ("source", OTHER)):
        (place / kind / "ada").mkdir(parents=True)
        marked = code.replace("):\n", "):\n    ### BEGIN SOLUTION\n", 1) + "    ### END SOLUTION\n"
        nbformat.write(
            from_markdown(f"```python answer softmax\n{marked if kind == 'source' else code}```"), place / kind / "ada" / "n.ipynb"
        )
    found = [(p["first"], p["second"]) for p in compare(courses / "now", "ps", [courses / "before"])["pairs"]]
    assert found == [("bob", "the solution (variants/ps)")]


def test_the_page_is_text_that_says_what_the_numbers_mean(courses):
    done = similar(courses)
    page = (courses / "now" / "similar-ps.html").read_text()
    assert "Near a solution" in similarity.page("ps", {**compare(courses / "now", "ps"), "near_solutions": [NEAR_ADA]})
    assert done.exit_code == 0 and "cannot tell" in page and "eve (before)" in page
    assert "<script" not in page
