"""Which submissions share text: found under other names and layout, not where many write the same, and in time."""

import json
import re
import time

import nbformat
import pytest
from click.testing import CliRunner

from autolab.cli.group import group
from autolab.course.notebook import from_markdown
from autolab.course.release import release_of
from autolab.course.similar import Submission, code_tokens, fingerprint, numbers, pairs, released_numbers, winnow

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


def classroom(*answers):
    made = [Submission(f"s{i}", "", [("code", code), ("markdown", prose)]) for i, (code, prose) in enumerate(answers)]
    for one in made:
        fingerprint(one, set())
    return made


def test_a_copy_under_other_names_and_layout_is_as_near_as_a_plain_one():
    (plain,), (hidden,) = (pairs(classroom((LONG, ""), (copy, ""), (OTHER, ""))) for copy in (LONG, disguised(LONG)))
    assert {plain.first, plain.second} == {hidden.first, hidden.second} == {"s0", "s1"}
    assert plain.share == hidden.share == (1.0, 1.0)


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
    assert found["submissions"] == 5


def test_the_page_is_text_that_says_what_the_numbers_mean(courses):
    done = similar(courses)
    page = (courses / "now" / "similar-ps.html").read_text()
    assert done.exit_code == 0 and "cannot tell" in page and "eve (before)" in page
    assert "<script" not in page
