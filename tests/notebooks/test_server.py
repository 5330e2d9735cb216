"""What the server of `make lab` and Binder makes of a notebook on its way to the browser."""

import asyncio
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

pytest.importorskip("jupyter_server")
traitlets = pytest.importorskip("traitlets.config")
VIEW = "application/vnd.jupyter.widget-view+json"
PICTURE = {"image/svg+xml": "<svg/>", "text/plain": "the picture"}
LANGUAGE = {"name": "python", "version": "3.11.7"}
# ipykernel, once imported, takes over what widgets send with, in every test that follows in this process
KERNEL = SimpleNamespace(IPythonKernel=SimpleNamespace(language_info=LANGUAGE))


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Save a notebook with one output, and read it as the server does."""
    monkeypatch.setitem(sys.modules, "ipykernel.ipkernel", KERNEL)
    config = traitlets.Config()
    path = Path(__file__).parents[2] / "exercises" / "jupyter_server_config.py"
    monkeypatch.setenv("PATH", "/bin")  # which it puts something before
    runpy.run_path(str(path), {"get_config": lambda: config})
    manager = config.ServerApp.contents_manager_class(root_dir=str(tmp_path))

    def read(data, **metadata):
        cell = new_code_cell("stepper", outputs=[new_output("display_data", data)])
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        nbformat.write(new_notebook(cells=[cell], metadata=kernel | metadata), tmp_path / "mine.ipynb")
        return asyncio.run(manager.get("mine.ipynb", content=True))["content"]

    return read


def test_an_old_view_of_a_widget_gives_way_to_its_picture(opened):
    (cell,) = opened({VIEW: {"model_id": "gone"}, **PICTURE})["cells"]
    assert cell["outputs"][0]["data"] == PICTURE


def test_views_of_other_widgets_are_left_alone(opened):
    (cell,) = opened({VIEW: {"model_id": "other"}, "text/plain": "IntSlider()"})["cells"]
    assert VIEW in cell["outputs"][0]["data"]


def test_a_view_whose_state_is_saved_is_left_alone(opened):
    (cell,) = opened({VIEW: {"model_id": "here"}, **PICTURE}, widgets={})["cells"]
    assert VIEW in cell["outputs"][0]["data"]


def test_a_notebook_arrives_with_the_language_of_its_kernel(opened):
    assert opened(PICTURE)["metadata"]["language_info"] == LANGUAGE
