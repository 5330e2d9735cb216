"""A learner gets the lessons as often as they like, and nothing of theirs is ever written to."""

import json
import re

import pytest

from autolab.utils import lessons, progress


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A folder of two small lessons, in place of the real ones."""
    place = tmp_path / "package"
    place.mkdir()
    (place / "README.md").write_text("The [path](../docs/x.md).\n\n## For authors\n\nSecrets.\n")
    for name, title in (("00-start-here", "Start here"), ("05-accumulation", "Accumulation")):
        write(place / f"{name}.ipynb", f"# {name[:2]} · {title}", "See [`steps` in a.py](../autolab/a.py) and [04](04-b.ipynb).")
    monkeypatch.setattr(lessons, "folder", lambda: place)
    return place


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """What lesson 05 asks, in place of the real file."""
    (tmp_path / "questions").mkdir()
    (tmp_path / "questions" / "lesson05.py").write_text(
        'c = prediction("C?", 2, why="W")\nd = prediction("D?", 2, why="W")\n'
        'quiz = ("05 accumulation", choice("A?", {"a": "No, because."}, "a"), number("B?", 1, why="So it is."))\n1 / 0\n'
    )
    monkeypatch.setattr(lessons, "PACKAGE", tmp_path)


def write(path, *texts, code=()):
    cells = [{"cell_type": "markdown", "id": f"m{i}", "metadata": {}, "source": [t]} for i, t in enumerate(texts)]
    cells += [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": [t]}
        for i, t in enumerate(code)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def test_a_fresh_folder_gets_everything_with_links_that_lead_somewhere(source, tmp_path):
    done = lessons.copy(tmp_path / "mine")
    assert done["copied"] == ["README.md", "00-start-here.ipynb", "05-accumulation.ipynb"]
    text = "".join(path.read_text() for path in (tmp_path / "mine").iterdir())
    assert "](../" not in text and "`steps` in a.py" in text and "[04](04-b.ipynb)" in text
    assert "For authors" not in text


def test_a_second_time_nothing_happens(source, tmp_path):
    lessons.copy(tmp_path / "mine")
    assert len(lessons.copy(tmp_path / "mine")["kept"]) == 3


def test_work_is_kept_and_a_newer_lesson_is_put_beside_it_once(source, tmp_path):
    mine = tmp_path / "mine"
    lessons.copy(mine)
    (mine / "05-accumulation.ipynb").write_text("my work")
    assert lessons.copy(mine)["kept"] == ["README.md", "00-start-here.ipynb", "05-accumulation.ipynb"]
    write(source / "05-accumulation.ipynb", "# 05 · Accumulation", "A better sentence.")
    write(source / "00-start-here.ipynb", "# 00 · Start here", "A better sentence.")
    done = lessons.copy(mine)
    assert done["beside"] == ["05-accumulation.new.ipynb"] and done["updated"] == ["00-start-here.ipynb"]
    assert (mine / "05-accumulation.ipynb").read_text() == "my work"
    assert "A better sentence." in (mine / "05-accumulation.new.ipynb").read_text()
    assert len(lessons.copy(mine)["kept"]) == 3


def test_what_was_there_before_is_the_learners_own(source, tmp_path):
    (tmp_path / "README.md").write_text("mine")
    done = lessons.copy(tmp_path)
    assert done["beside"] == ["README.new.md"] and (tmp_path / "README.md").read_text() == "mine"


def test_without_the_record_nothing_is_overwritten_either(source, tmp_path):
    lessons.copy(tmp_path / "mine")
    (tmp_path / "mine" / lessons.RECORD).write_text("broken")
    (tmp_path / "mine" / "00-start-here.ipynb").write_text("my work")
    assert lessons.copy(tmp_path / "mine")["beside"] == ["00-start-here.new.ipynb"]


def test_a_file_in_the_way_is_named(source, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="name a folder"):
        lessons.copy(tmp_path / "file")


def test_no_lessons_at_all_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(lessons, "PACKAGE", tmp_path / "autolab")
    with pytest.raises(FileNotFoundError, match="not installed"):
        lessons.folder()


def test_a_prediction_with_drawn_numbers_is_read_with_those_of_its_lesson(source, asked, tmp_path):
    with (tmp_path / "questions" / "lesson05.py").open("a") as file:
        file.write('@draws(n=(1, 9))\ndef e(n=2):\n    1 / 0\n    return number(f"{words(n)} {power(n + 1)}?", n, why="W")\n')
    write(source / "05-accumulation.ipynb", "# 05 · Accumulation", code=["predict(asks.e)"])
    assert lessons.listed()[1].predictions == ("two ³?",)


def test_questions_and_predictions_are_counted_without_running_anything(source, asked):
    write(source / "05-accumulation.ipynb", "# 05 · Accumulation", code=["predict(asks.c)", "quiz(*asks.quiz)", "1 / 0"])
    lesson = lessons.listed()[1]
    assert lesson[:2] == ("05", "Accumulation")
    assert (lesson.questions, lesson.predictions) == (2, ("C?",))


def test_the_real_lessons_are_found_and_ask():
    found = lessons.listed()
    assert [lesson.number for lesson in found[:9]] == [f"{n:02}" for n in range(9)]
    assert all(lesson.questions >= 4 and not re.search("[`*#]", lesson.title) for lesson in found)


# -- progress -----------------------------------------------------------------------------------------


def test_progress_follows_the_answers(source, asked, tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOLAB_HOME", str(tmp_path / "home"))
    write(source / "05-accumulation.ipynb", "# 05 · Accumulation", code=["predict(asks.c)", "predict(asks.d)", "quiz(*asks.quiz)"])
    progress.remember("quiz", "05 accumulation: 1", False)
    progress.remember("quiz", "05 accumulation: 1", True)
    progress.remember("quiz", "predict: C?: 1", True)
    progress.remember("quiz", "predict: D?: 1", False)
    standing = progress.standings()[1]
    assert (standing.right, standing.questions, standing.predicted, standing.foreseen, standing.done) == (1, 2, 2, 1, False)
    progress.remember("quiz", "05 accumulation: 2", True)
    assert progress.standings()[1].done
    assert progress.text(progress.standings()).startswith("1 of 2 lessons done: 2 of 2 quiz questions answered rightly.")
