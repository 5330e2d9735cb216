"""Where Jupyter is not installed, importing works and using says what to install."""

import subprocess
import sys

import pytest

BLOCKED = """
import sys
for name in ("anywidget", "ipywidgets", "traitlets", "IPython"):
    sys.modules[name] = None
import autolab
from autolab.widgets import Stepper, explore
try:
    {call}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("call", ["Stepper(None)", "explore(None)", "autolab.Stepper(None)", "autolab.explore(None)"])
def test_a_missing_extra_is_a_sentence(call):
    done = subprocess.run([sys.executable, "-c", BLOCKED.format(call=call)], capture_output=True, text=True, check=True)
    assert 'pip install "autolab-grad[lab]"' in done.stdout
    assert "autolab.draw.svg(loss)" in done.stdout


def test_importing_the_widgets_loads_no_jupyter():
    code = "import sys, autolab.widgets; print([m for m in ('anywidget', 'ipywidgets', 'IPython') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_widget_is_an_attribute_error():
    import autolab.widgets

    with pytest.raises(AttributeError, match="no (attribute )?'Nothing'"):
        autolab.widgets.Nothing  # noqa: B018
