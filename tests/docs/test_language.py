"""Habits of language that a script can find, with the better word. CONTRIBUTING has those that need an ear."""

import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = r"(?:in(?! for| their place| its place)|there|here|at|beside|below|above|under|before|behind)"
SENTENCE = r"(?:^|[.:;] )"
HABITS = {  # a habit: what finds it, and what to write
    "dear": (r"\bdear(?:er|est)?\b", "expensive"),
    "whoever": (r"\b(?i:whoever)\b", "the person: a reader, a student, the caller"),
    "who": (SENTENCE + r"Who (?!wrote\b)[a-z' ]*?\b(?:is|has|wants|guesses|knows|handed|needs|reads)\b[^?.]*\.", "a noun as subject: A student without a mark ..."),
    "has not got": (r"\bha(?:s|ve|d) not got\b", "lacks, has no"),
    "is to be": (r"\b(?:is|are|was|were) (?:not )?to be\b", "must be, will be, or the verb itself"),
    "is no": (r"(?<![Tt]here )\b(?:is|are) no (?:leaf|leaves|scalar|tensor|number|function|single|matrix|array|input|node|loop|vector|notebook|kind|part)s?\b", "is not a"),
    "stands in": (r"\b(?:stands?|stood) " + PLACE + r"\b", "is, appears"),
    "kin": (r"\b(?:its|whose|their) kin\b", "and others like it"),
    "forbids to": (r"\bforbids? to\b", "stops us from, does not allow"),
    "on two ways": (r"\bon (?:two|three|several|both|many) ways\b", "in two ways"),
    "nothing of": (r"\bnothing of (?:the|it|this|that|all|what|how|them)\b", "nothing about, no part of"),
    "asked is": (SENTENCE + r"(?:Asked|Wanted|Meant|Needed) (?:is|are)\b", "The question is"),
    "derive again": (r"\bderiv(?:e|es|ing|ed) (?:it )?(?:once more|again|twice)\b", "differentiate"),
    "without a thought": (r"\bwithout a thought\b", "without care"),
    "for all times": (r"\bfor all times\b", "throughout"),
}  # fmt: skip


def paragraphs(text: str) -> str:
    """The text without code blocks, in one line."""
    return " ".join(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).split())


def of_a_notebook(path: Path) -> Iterator[tuple[str, str]]:
    for i, cell in enumerate(json.loads(path.read_text())["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield f"cell {i}", source
        else:
            yield f"cell {i}", " ".join(re.findall(r"#(.*)", source))


def of_a_program(path: Path) -> Iterator[tuple[str, str]]:
    """Comments, docstrings and strings."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield f"line {token.start[0]}", token.string


def of_a_page(path: Path) -> Iterator[tuple[str, str]]:
    """All of it; a few words in quotes are spoken of, not used."""
    yield "", re.sub(r'"[^"\n]{1,20}"', "", path.read_text())


READERS = {".ipynb": of_a_notebook, ".py": of_a_program, ".md": of_a_page}
FOLDERS = "autolab", "benchmarks", "docs", "exercises", "notebooks"


def pages() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*"))]
    return [
        p for p in found if p.suffix in READERS and not any(part.startswith(("_build", ".", "build")) for part in p.relative_to(ROOT).parts)
    ]


def habits(text: str) -> list[str]:
    """Each habit that the text has, with its place and the better word."""
    line, list_of = paragraphs(text), []
    for name, (pattern, better) in HABITS.items():
        list_of += [f"{name} -> {better}: ...{line[max(0, m.start() - 40) : m.end() + 40]}..." for m in re.finditer(pattern, line)]
    return list_of


@pytest.mark.parametrize("room", ["", *FOLDERS])
def test_no_text_has_a_habit_that_we_avoid(room):
    there = [p for p in pages() if (p.relative_to(ROOT).parts[0] == room if room else p.parent == ROOT)]
    assert there
    said = {f"{p.relative_to(ROOT)} {at}: {h}" for p in there for at, text in READERS[p.suffix](p) for h in habits(text)}
    assert sorted(said) == []


@pytest.mark.parametrize(("text", "name"), [
    ("a tanh is dear beside a product", "dear"), ("Known. Who guesses among 69 letters is off by 4.", "who"),
    ("the result is no leaf", "is no"), ("its rule stands in the table", "stands in"), ("it reaches the result on three ways", "on two ways"),
    ("The optimizer that has not\ngot it", "has not got"), ("Asked is how it depends", "asked is"),
])  # fmt: skip
def test_a_habit_is_found(text, name):
    assert [h.split(" -> ")[0] for h in habits(text)] == [name]


@pytest.mark.parametrize("text", [
    "a sentence stands in for the picture", "Who wrote this? Nobody knows.", "```\nno leaf is dear\n```", "There is no number here",
    "the gradients are derived from the loss",
])  # fmt: skip
def test_what_is_good_english_is_left_alone(text):
    assert habits(text) == []
