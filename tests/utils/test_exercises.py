"""`exercises` puts a problem set where a student works, gives a link to it, and never writes to what is begun."""

import json
import re
import subprocess
import sys

import pytest

import autolab as torch
from autolab.utils import exercises as sets

NOTEBOOK = "elementwise-rules.ipynb"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def links(shown):
    return re.findall('href="([^"]+)"', shown._repr_html_())


def test_a_set_is_put_beside_the_notebook_with_a_link_to_it(here):
    shown = torch.exercises("ps2")
    assert links(shown) == [f"ps2/{NOTEBOOK}"]
    assert (here / "ps2" / NOTEBOOK).read_bytes() == shown[0].set.notebooks[0].read_bytes()
    assert repr(shown).splitlines() == [
        "ps2: a dozen elementwise rules; 2.5 hours, after lessons 04 and 07", f"{NOTEBOOK} is new here.", f"Open ps2/{NOTEBOOK}",
    ]  # fmt: skip


def test_what_is_begun_is_left_as_it_is(here):
    torch.exercises("ps2")
    (here / "ps2" / NOTEBOOK).write_text("my work")
    assert f"{NOTEBOOK} was here already: yours, left as it is." in repr(torch.exercises("ps2"))
    assert (here / "ps2" / NOTEBOOK).read_text() == "my work"


def test_a_newer_release_is_put_beside_work_and_has_a_link_too(here):
    (here / "ps2").mkdir()
    (here / "ps2" / NOTEBOOK).write_text("my work on an older release")
    shown = torch.exercises("ps2")
    assert links(shown) == [f"ps2/{NOTEBOOK}", "ps2/elementwise-rules.new.ipynb"]
    assert "Yours is left as it is; elementwise-rules.new.ipynb is a newer release of it." in repr(shown)


def test_several_sets_and_another_folder(here):
    shown = torch.exercises("ps4", "ps5", "ps4", folder="my work")
    assert [item.set.name for item in shown] == ["ps4", "ps5"]
    assert links(shown)[0] == "my%20work/ps4/matrices-and-layers.ipynb"


def test_without_a_name_all_are_listed_and_none_is_copied(here):
    shown = torch.exercises()
    assert [s.name for s in shown] == [*(f"ps{n}" for n in range(1, 18)), "capstone"]
    assert all(s.topic in repr(shown) and s.topic in shown._repr_html_() for s in shown)
    assert max(map(len, repr(shown).splitlines())) <= 80
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(("name", "said"), [("ps22", "Did you mean 'ps2'?"), (2, "Did you mean 'ps2'?"), ("psx", "There are ps1, ps2,")])
def test_a_set_that_does_not_exist_is_refused_with_those_that_do(here, name, said):
    with pytest.raises(LookupError, match=re.escape(said)):
        torch.exercises("ps1", name)
    assert list(here.iterdir()) == []


def test_a_file_in_the_way_is_named(here):
    (here / "ps2").touch()
    with pytest.raises(NotADirectoryError, match="ps2 is a file; rename it"):
        torch.exercises("ps2")


def test_no_sets_at_all_is_said(here, monkeypatch):
    monkeypatch.setattr(sets, "PACKAGE", here / "autolab")
    with pytest.raises(FileNotFoundError, match="Install autolab-grad again"):
        torch.exercises()


def test_it_needs_neither_jupyter_nor_nbgrader():
    code = "import autolab, sys\nautolab.exercises('ps2')\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"IPython", "nbformat", "nbgrader", "click", "autolab.course"} & set(loaded)


def test_a_notebook_that_was_put_here_is_one(here):
    torch.exercises(*(s.name for s in torch.exercises()))
    made = [json.loads(path.read_text("utf-8")) for path in here.glob("ps*/*.ipynb")]
    assert len(made) > 8 and {book["nbformat"] for book in made} == {4}
