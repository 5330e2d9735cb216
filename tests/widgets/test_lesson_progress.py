"""The table of what is done: the same numbers as in the terminal, read anew each time."""

import pytest

from autolab.utils import progress as kept
from autolab.widgets import progress


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOLAB_HOME", str(tmp_path))


def test_it_follows_the_answers():
    view = progress()
    assert "<td>1 of" not in view._repr_html_()
    kept.remember("quiz", "05 accumulation: 1", True)
    kept.remember("exercise", "ps2 <square>", False)
    assert "<td>1 of" in view._repr_html_() and "■" in repr(view)
    assert "ps2 &lt;square&gt;: tried" in view._repr_html_()
