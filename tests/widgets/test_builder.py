"""The graph builder as Python knows it: graphs are put together from chains, and the numbers are the engine's own."""

import json
import xml.etree.ElementTree as ET

import pytest
import traitlets

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets


@pytest.fixture
def builder():
    return widgets.graph_builder(x=2.0, w=3.0)


def test_it_shows_what_the_engine_made():
    builder = widgets.graph_builder({"half": lambda h: h / 2}, x=8.0).press("half").press("+ x")
    assert [row[2] for row in builder.rows] == ["None, a leaf", "DivBackward0", "AddBackward0"]
    assert builder.press("backward()").sentence == "backward() from h2 has run: x.grad is 1.5."
    assert builder.actions == []


def test_an_operation_is_applied_to_any_result(builder):
    builder.press("× w").press("exp").press("sin", onto="h1").press("+ w", onto="x")
    assert [row[:2] for row in builder.rows[2:]] == [["h1", "6"], ["h2", "403.429"], ["h3", "-0.279415"], ["h4", "5"]]
    assert builder.press("backward()").rows[-1] == ["h4", "5", "AddBackward0", "1"]
    assert [row[3] for row in builder.rows] == ["1", "1", "none", "none", "none", "1"]


def test_both_edges_of_an_operation_can_lead_to_one_result(builder):
    assert builder.press("× w").press("+ itself").sentence.endswith("Its next_functions: MulBackward0, MulBackward0.")
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    h = x * w
    (h + h).backward()
    assert builder.press("backward()").sentence == f"backward() from h2 has run: x.grad is {x.grad.item():g}, w.grad is {w.grad.item():g}."


def test_two_results_are_joined(builder):
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    h = x * w
    (h.sin() + h).backward()
    builder.press("× w").press("sin").press("+ h1")
    assert builder.sentence == "+ h1 made a node: AddBackward0, value 5.72058. Its next_functions: SinBackward0, MulBackward0."
    assert builder.press("backward()").sentence.startswith(f"backward() from h3 has run: x.grad is {x.grad.item():.7g}, w.grad is ")


def test_an_edge_carries_what_its_operation_sends_and_not_the_gradient_of_its_node(builder):
    builder.press("× w").press("sin").press("+ h1").press("backward()")
    (last,) = (one for key, one in builder.chains.items() if key.endswith("3:3:2") and one["v"] == "5.72058")
    assert builder.rows[2][3] == "1.96017"  # cos 6 along one edge, 1 along the other
    assert last["s"].split(";") == ["", "0.96017", "1,1"]


def test_an_operation_joins_nodes_that_are_there(builder):
    with pytest.raises(KeyError, match="'× h1' is none of what can be done here"):
        builder.press("× h1")
    with pytest.raises(traitlets.TraitError, match="operation 1 is [+] another with 1 operands"):
        builder.at = {"program": [[3, 0]], "chosen": 0, "back": False}


def test_a_graph_that_nobody_has_built_is_filmed_as_it_is_built(builder):
    told = [sentence for _, sentence in builder._stills(None)]
    assert len(told) == 5 and told[-1].startswith("backward() from h3 has run")


def test_the_states_that_were_visited_are_a_film(builder, tmp_path):
    written = builder.press("× w").press("square").film(tmp_path / "film.svg").read_text("utf-8")
    assert [f"{k}. {said}" in written for k, said in enumerate(["Only leaves", "× w made a node", "square made a node"], 1)] == [True] * 3


def test_undo_takes_back_one_change_and_reset_all(builder):
    start = builder.sentence
    builder.press("× w").press("square").choose("h1")
    assert builder.sentence == "h1 is chosen: the next operation is applied to it."
    assert builder.undo().sentence.startswith("square made a node")
    assert builder.undo().undo().sentence == start
    assert builder.press("exp").reset().sentence == start
    assert builder.undo().sentence.startswith("exp made a node")


def test_a_page_knows_every_graph_of_three_operations_and_is_small(builder, tmp_path):
    chains = builder.offline()["chains"]
    moves = [k for k, move in enumerate(builder.moves) if move["other"] != -2]
    assert {f"{a}:{leaf} {b}:2 {c}:3" for leaf in (0, 1) for a in moves for b in moves for c in moves} <= set(chains)
    assert len(builder.save_html(tmp_path / "page.html").read_text("utf-8")) < 220_000


def test_python_answers_for_chains_that_were_not_computed_in_advance(builder):
    program = [[10, 0]] + [[10, k] for k in range(2, 9)]  # sin of sin of sin ...
    before = len(builder.chains)
    builder.at = {"program": program, "chosen": 9, "back": False}
    assert len(builder.chains) > before
    assert builder.rows[-1][0] == "h8" and builder.press("backward()").sentence.startswith("backward() from h8 has run: x.grad is -0.0")


def test_what_cannot_be_done_is_said(builder):
    with pytest.raises(KeyError, match="none of what can be done here"):
        builder.press("backward()")
    with pytest.raises(KeyError, match="'h7' is not a node here; there are x, w"):
        builder.choose("h7")
    with pytest.raises(traitlets.TraitError, match="operation 1 is move 0 onto node 5"):
        builder.at = {"program": [[0, 5]], "chosen": 0, "back": False}
    with pytest.raises(ValueError, match=r"twice cannot be applied to x: TypeError: it returned float"):
        widgets.graph_builder({"twice": lambda h: 2.0}).press("twice")


def test_a_result_without_a_graph_says_so_when_backward_is_called():
    builder = widgets.graph_builder({"detach": lambda h: h.detach()}).press("× w").press("detach")
    assert builder.sentence == "detach made a node: no grad_fn, value 6. Its next_functions: none."
    assert builder.press("backward()").sentence.startswith(
        "backward() from h2 raises RuntimeError: element 0 of tensors does not require grad"
    )


def test_it_has_a_still_picture_a_text_and_json_at_every_stage(builder):
    for press in (lambda: None, lambda: builder.press("× w"), lambda: builder.press("exp"), lambda: builder.press("backward()")):
        press()
        assert ET.fromstring(builder.picture()).tag.endswith("svg")
        assert builder.sentence in builder.text()
        json.dumps(builder.offline(), allow_nan=False)
