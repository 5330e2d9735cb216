"""What pages and lessons say about the project, compared with the project: counts, times, numbers, paths and commands."""

import json
import re
from pathlib import Path

import pytest

from autolab import datasets, distributions
from autolab.cli.group import group

ROOT = Path(__file__).parents[2]
WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four twenty-five"
NUMBERS = {word: n for n, word in enumerate(WORDS.split())}
FOLDERS = ("autolab", "tests", "docs", "notebooks", "exercises", "benchmarks", "binder")


def prose(path):
    """The text of a page; of a notebook, its Markdown."""
    if path.suffix == ".md":
        return path.read_text()
    return "\n\n".join("".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "markdown")


FILES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("exercises/*.md"), *ROOT.glob("notebooks/*.md"),
         *ROOT.glob("exercises/text/*/*.md"), *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("exercises/source/*/*.ipynb")]  # fmt: skip
TEXTS = {path.relative_to(ROOT).as_posix(): prose(path) for path in sorted(FILES)}
LESSONS = {path.name[:2]: TEXTS[f"notebooks/{path.name}"] for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))}
SETS = {path.parent.name: path.read_text() for path in sorted((ROOT / "exercises" / "text").glob("ps*/*.md"))}
README, PATH, COURSE = (TEXTS[name] for name in ("README.md", "notebooks/README.md", "exercises/README.md"))


COMBINED = {
    "Distribution",
    "ExponentialFamily",
    "Independent",
    "MixtureSameFamily",
    "TransformedDistribution",
}  # made of others, or what others are made of
FAMILIES = {n for n in distributions.__all__ if n[0].isupper() and not n.endswith("Transform")} - COMBINED


def number(text):
    return NUMBERS.get(text.lower()) or int(text)


def said(pattern):
    """Every number that the pages name before a word, and where."""
    each = re.compile(rf"\b({'|'.join(NUMBERS)}|\d+) \[?(?:{pattern})\b", re.I)
    return [(name, number(found)) for name, text in TEXTS.items() for found in each.findall(text)]


# -- how many ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "least", "there_are"), [
    ("lessons", 4, len(LESSONS)),
    ("problem sets", 4, len(SETS)),
    ("families with|families, mixtures", 0, len(FAMILIES)),
    ("real handwritten digits", 0, len(datasets.digits("train")[0])),
    ("that it has not seen", 0, len(datasets.digits("test")[0])),
    ("handwritten digits", 1500, sum(len(datasets.digits(part)[0]) for part in ("train", "test"))),
    ("of Shakespeare's sonnets|sonnets", 0, len(re.findall(r"^\d+$", datasets.sonnets(), re.M))),
])  # fmt: skip
def test_what_is_counted_is_there(what, least, there_are):
    past = [("lessons", "CHANGELOG.md"), ("problem sets", "CHANGELOG.md")]  # it says how many there were in a version
    counts = [(name, count) for name, count in said(what) if count >= least and (what, name) not in past]
    assert counts and [(name, count) for name, count in counts if count != there_are] == []


def test_the_gallery_has_as_many_explorables_as_is_said():
    assert number(re.search(r"gallery\]\(.*?\) has all (\w+)", README)[1]) == TEXTS["notebooks/gallery.ipynb"].count("\n## ")


def test_the_engine_has_as_many_stops_as_is_said():
    stops = re.findall(r"^\| \d \|", TEXTS["docs/reading-path.md"], re.M)
    assert number(re.search(r"engine in (\w+) files", README)[1]) == len(stops)
    assert number(re.search(r"(\w+) stops", TEXTS["docs/reading-path.md"])[1]) == len(stops)


# -- how long ---------------------------------------------------------------------------------------

HOURS = {"an hour and a half": "1.5", "two hours": "2", "two and a half hours": "2.5", "three hours": "3", "three and a half hours": "3.5"}


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_takes_as_long_as_the_path_says(lesson):
    listed = re.search(rf"^\| \[{lesson} · .*?\| (\d+) \|", PATH, re.M)
    assert listed, f"notebooks/README.md has no line for lesson {lesson}"
    minutes = listed[1]
    first = LESSONS[lesson].partition("\n## ")[0]
    words = {"15": "a quarter of an hour", "60": "an hour", "75": "an hour and a quarter", "90": "an hour and a half"}
    assert re.search(rf"(Time: |takes )({minutes} minutes|{words.get(minutes, 'never')})\.", first)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_assumes_what_the_path_says(lesson):
    listed = re.search(rf"^\| \[{lesson} · .*?\| \d+ \| (.*) \|$", PATH, re.M)[1]
    first = LESSONS[lesson].partition("\n## ")[0]
    said = re.search(r"(Known already:|This lesson assumes|You need) .*?(?=It takes|Time:|Running|\n)", first)
    assert said, "its first cell does not say what it assumes"
    assert set(re.findall(r"\b\d\d\b", said[0])) == set(re.findall(r"\b\d\d\b", listed))


@pytest.mark.parametrize("name", SETS)
def test_a_problem_set_takes_as_long_as_the_list_says(name):
    listed = re.search(rf"^\| {name} \|.*\| ([\d.]+) \|$", COURSE, re.M)[1]
    assert HOURS[re.search(r"Plan ([a-z ]*?hours?( and a half)?)\b", SETS[name])[1]] == listed


def test_no_lesson_says_that_a_problem_set_takes_another_time():
    assert [name for name, text in LESSONS.items() if re.search(r"ps\d\b[^#]*It takes about", text)] == []


# -- which ------------------------------------------------------------------------------------------


def test_every_lesson_and_problem_set_that_is_named_exists():
    lessons = [(name, n) for name, text in TEXTS.items() for n in re.findall(r"\blessons? (\d\d?)\b", text, re.I)]
    sets = [(name, n) for name, text in TEXTS.items() for n in re.findall(r"\b(?:ps|problem set )(\d+)\b", text, re.I)]
    assert len(lessons) > 50 and [found for found in lessons if found[1].zfill(2) not in LESSONS] == []
    assert len(sets) > 30 and [found for found in sets if f"ps{found[1]}" not in SETS] == []


def test_a_link_to_a_lesson_has_its_number():
    links = [
        (name, *found)
        for name, text in TEXTS.items()
        for found in re.findall(r"\[(?:lesson )?(\d\d)\b[^\]]*\]\([^)]*?(\d\d)-[\w-]+\.ipynb", text)
    ]
    assert len(links) > 10 and [link for link in links if link[1] != link[2]] == []


@pytest.mark.parametrize("name", TEXTS)
def test_every_file_that_is_named_exists(name):
    quoted = re.findall(r"`([\w./-]+)`", TEXTS[name])
    paths = [path for path in quoted if path.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and "psN" not in path]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_that_is_named_exists(name):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    made = re.findall(r"(?:`|^    )make ([a-z]+)", TEXTS[name], re.M)
    typed = re.findall(r"(?:`|^    )autolab ([a-z]+)", TEXTS[name], re.M)
    assert [word for word in made if word not in targets] == []
    assert [word for word in typed if word not in group.list_commands(None)] == []
