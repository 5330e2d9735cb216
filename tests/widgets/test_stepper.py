"""The stepper as Python knows it, without a browser."""

import base64
import json
import re
import xml.etree.ElementTree as ET

import jsonschema
import pytest
import traitlets

import autolab as torch
from autolab.trace import record, schema

pytest.importorskip("anywidget")


@pytest.fixture
def x():
    return torch.tensor(1.0, requires_grad=True)


@pytest.fixture
def stepper(x):
    y = (3 * x + 2) ** 2
    return torch.Stepper(y)


def test_step_and_undo(stepper):
    assert stepper.step().step().position == 2
    assert stepper.undo().position == 1
    assert stepper.reset().position == 0


def test_steps_stop_at_both_ends(stepper):
    assert stepper.undo().position == 0
    stepper.position = 99
    assert stepper.position == 4
    assert stepper.step().position == 4


def test_the_sentence_of_a_step(stepper):
    assert stepper.sentence == ""
    stepper.position = 3
    assert stepper.sentence == "× (MulBackward0) receives 10; x gets 10 × 3 = 30."


def test_a_step_shows_the_node_that_fires_again(stepper):
    stepper.selected = "n3"
    assert stepper.step().selected == ""


def test_stepping_leaves_the_gradients_to_backward(x):
    y = (3 * x + 2) ** 2
    torch.Stepper(y).step().step()
    assert x.grad is None
    y.backward()
    assert x.grad.item() == 30


def test_what_the_browser_gets_is_a_trace(stepper):
    state = stepper.get_state()
    jsonschema.validate(json.loads(state["trace"]), schema())
    assert {"svg", "position", "selected", "playing", "speed", "view", "title"} <= state.keys()
    json.dumps(state, allow_nan=False)


def test_moving_sends_a_position_and_not_the_trace(stepper):
    sent = []
    stepper.send_state = lambda key=None: sent.append(key)
    stepper.step()
    assert sent == ["position"]


def test_a_recorded_trace_can_be_stepped(x):
    trace = record(x * 2)
    assert torch.Stepper(trace).trace is trace


def test_an_unknown_node_cannot_be_selected(stepper):
    with pytest.raises(KeyError, match="n77"):
        stepper.selected = "n77"


@pytest.mark.parametrize("speed", [0, -1])
def test_speed_is_positive(stepper, speed):
    with pytest.raises(traitlets.TraitError, match="above 0"):
        stepper.speed = speed


def test_what_has_no_backward_pass_is_refused(x):
    from autolab.trace import graph

    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        torch.Stepper(torch.ones(2) * x)
    with pytest.raises(ValueError, match="no steps"):
        torch.Stepper(graph(x * 2))


def test_a_function_is_run_so_that_every_result_is_kept(x):
    stepper = torch.Stepper(lambda: ((x + 5) + 1) ** 2)
    assert [node.value.text for node in stepper.trace.nodes] == ["49", "7", "6", "1"]


# -- large graphs --------------------------------------------------------------------------------------


@pytest.fixture
def long(x):
    y = x
    for _ in range(100):
        y = (y * x).tanh() + 1
    return torch.Stepper(y)


def test_a_large_graph_shows_groups_and_opens_them(long):
    assert long.svg.count("data-node=") < 60 < len(long.trace.nodes)
    group = next(id for id, name in long.groups["names"].items() if name == "rounds 1 to 6")
    before = long.svg
    long.opened = group
    assert long.svg != before
    assert all(f'data-node="{id}"' in long.svg for id, home in long.groups["homes"].items() if home == group)


def test_opening_a_group_sends_its_picture_and_not_the_trace(long):
    sent = []
    long.send_state = lambda key=None: sent.append(key)
    long.opened = "g1"
    assert sorted(sent) == ["opened", "svg"]


def test_an_unknown_group_cannot_be_opened(long):
    with pytest.raises(KeyError, match="no group 'g999'"):
        long.opened = "g999"


def test_a_page_has_the_picture_of_every_group(long):
    pictures = long.answers()["opened"]
    assert pictures.keys() == long.groups["names"].keys()
    assert pictures[long.opened] == {"svg": long.svg}


def test_a_small_graph_has_no_groups(stepper):
    assert stepper.groups == {}
    assert stepper.answers() == {}


# -- other forms ---------------------------------------------------------------------------------------


def test_a_notebook_without_a_kernel_has_a_picture_and_a_text(stepper):
    data, _ = stepper._repr_mimebundle_()
    assert set(data) == {"text/html", "image/svg+xml", "text/plain"}
    assert ET.fromstring(data["image/svg+xml"]).tag.endswith("svg")
    assert "MulBackward0" in data["text/plain"]


def test_a_static_page_of_a_saved_notebook_has_the_picture(stepper):
    nbformat, nbconvert = pytest.importorskip("nbformat.v4"), pytest.importorskip("nbconvert")
    data, _ = stepper._repr_mimebundle_()
    output = nbformat.new_output("execute_result", data=data, execution_count=1)
    notebook = nbformat.new_notebook(cells=[nbformat.new_code_cell("stepper", outputs=[output])])
    page, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(notebook)
    assert base64.b64encode(data["image/svg+xml"].encode()).decode() in page


def test_the_picture_before_the_first_step_shows_the_whole_pass(stepper):
    lit = 'class="al-node al-leaf al-on"'
    assert lit in stepper.picture()
    assert lit not in stepper.step().picture()


def test_a_page_from_disk_is_complete_and_asks_for_nothing(stepper, tmp_path):
    page = stepper.save_html(tmp_path / "page.html").read_text("utf-8")
    assert not re.findall(r"""(?:src|href)\s*=|@import|url\(""", page)
    assert "https:" not in page
    assert set(re.findall(r'http:[^"\\]*', page)) == {"http://www.w3.org/2000/svg"}


def test_a_page_keeps_its_script_whatever_names_contain(x, tmp_path):
    name = "</script><script>alert(1)</script>"
    page = torch.Stepper(x * 2, names={name: x}).save_html(tmp_path / "page.html").read_text("utf-8")
    assert page.count("</script>") == 1


def test_a_page_starts_where_the_widget_stands(stepper):
    stepper.step()
    stepper.playing = True
    data = stepper.offline()
    assert (data["position"], data["playing"]) == (1, False)


def test_a_page_of_a_large_graph_is_compressed(x, tmp_path):
    y = x
    for _ in range(300):
        y = (y * x).tanh() + 1
    page = torch.Stepper(y).save_html(tmp_path / "page.html").read_text("utf-8")
    assert len(page) < 1_200_000  # of seven million
