"""What an explorable leaves in a saved notebook."""

import base64
import gzip
import json
import re
import sys
from types import SimpleNamespace

import pytest

import autolab as torch
from autolab import widgets

pytest.importorskip("anywidget")
base_module = pytest.importorskip("autolab.widgets.base")


@pytest.fixture
def notebook(monkeypatch):
    """A kernel's shell that tells which cell is running: `notebook("cell")` begins one."""
    shell = SimpleNamespace(user_ns={"In": [""]}, get_parent=lambda: {"metadata": told})
    told = {}
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(base_module.Carrier, "cell", None)

    def begin(cell, source="", deleted=()):
        told.update(cellId=cell, deletedCells=list(deleted))
        shell.user_ns["In"].append(source)

    begin.shell = shell
    return begin


def shown(widget=None):
    """What is packed into the HTML of an output."""
    page = (widget or widgets.version_counter())._repr_mimebundle_()[0]["text/html"]
    return json.loads(gzip.decompress(base64.b64decode(re.search(r'atob\("([^"]+)"\)', page)[1])))


def test_one_cell_carries_the_module_however_often_it_is_run(notebook):
    notebook("first")
    assert "module" in shown()
    notebook("second")
    assert "module" not in shown()
    notebook("first")
    assert "module" in shown()


def test_another_cell_carries_the_module_when_the_first_is_deleted(notebook):
    notebook("first")
    shown()
    notebook("second", deleted=["first"])
    assert "module" in shown()


def test_a_front_end_without_ids_of_cells_is_told_them_apart_by_their_text(notebook):
    notebook(None, "stepper")
    assert "module" in shown()
    notebook(None, "chain_rule()")
    assert "module" not in shown()


def test_outside_of_a_notebook_every_output_carries_the_module():
    assert "module" in shown()
    assert "module" in shown()


def test_an_output_asks_nothing_of_a_kernel_that_has_gone():
    data = shown(widgets.train(steps=10, start=False))["data"]
    assert (data["running"], data["playing"]) == (None, False)


def test_an_output_and_its_model_have_the_same_key():
    widget = widgets.version_counter()
    assert f'data-key="{widget.key}"' in widget.output()
    assert widget.key == widget.comm.comm_id


def test_the_title_cannot_end_the_markup():
    def f(x):
        return x * 2

    f.__name__ = '"><script>alert(1)</script>'
    assert "alert(1)</script>" not in torch.explore(f, x=(-1, 1)).still().replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")


@pytest.mark.parametrize("front_end", ["VS Code", "Colab"])
def test_a_front_end_that_waits_for_a_view_gets_one(notebook, front_end, monkeypatch):
    assert "application/vnd.jupyter.widget-view+json" not in widgets.version_counter()._repr_mimebundle_()[0]
    if front_end == "VS Code":
        notebook.shell.user_ns["__vsc_ipynb_file__"] = "lesson.ipynb"
    else:
        monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    assert {"application/vnd.jupyter.widget-view+json", "text/html"} <= set(widgets.version_counter()._repr_mimebundle_()[0])
