"""The graph of the gradient: its nodes and numbers are those of the engine, and without `create_graph` there is none."""

import math

import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets

WITHOUT = "create_graph=False"


@pytest.fixture(scope="module")
def panel():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autolab.widgets.panel.PATIENCE", 0)
        return widgets.gradient_graph()


@pytest.fixture(autouse=True)
def no_frames_in_advance(monkeypatch):
    monkeypatch.setattr("autolab.widgets.panel.PATIENCE", 0)


def nodes_behind(*tensors):
    """The nodes that PyTorch's own way to look at a graph finds."""
    found, waiting = set(), [t.grad_fn for t in tensors]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [child for child, _ in node.next_functions]
    return found


DERIVATIVES = {
    "x ** 3": lambda x: [x**3, 3 * x**2, 6 * x],
    "x * sin(x)": lambda x: [x * math.sin(x), math.sin(x) + x * math.cos(x), 2 * math.cos(x) - x * math.sin(x)],
    "tanh(x)": lambda x: [math.tanh(x), 1 - math.tanh(x) ** 2, -2 * math.tanh(x) * (1 - math.tanh(x) ** 2)],
}


@pytest.mark.parametrize("x", [0.0, 1.5, 2.5])
@pytest.mark.parametrize("function", DERIVATIVES)
def test_each_graph_ends_in_a_derivative(panel, function, x):
    said = [panel.reset().move(function=function, x=x, step=step).sentence for step in (0, 3, 6)]
    numbers = [float(s.split(" = ")[1].split()[0].rstrip(",:")) for s in said]
    assert numbers == pytest.approx(DERIVATIVES[function](x), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("f", [lambda x: x**3, lambda x: x * torch.sin(x), torch.tanh, lambda x: 1 / x])
def test_the_nodes_are_those_that_the_engine_has_made(f):
    rows = widgets.gradient_graph(f).move(step=99).rows
    x = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    y = f(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x, create_graph=True)
    counts = [sum(row[3] in names for row in rows) for names in (["", "y"], ["", "y", "dy/dx"], ["", "y", "dy/dx", "d²y/dx²"])]
    assert counts == [len(nodes_behind(*results)) for results in ([y], [y, g], [y, g, h])]


def test_every_step_adds_nodes_and_no_node_reads_a_later_one(panel):
    for function in DERIVATIVES:
        counts = [len(panel.reset().move(function=function, step=step).rows) for step in range(7)]
        assert counts == sorted(set(counts))
        assert all(int(i) < k for k, row in enumerate(panel.rows) for i in filter(None, row[4].split(", ")))


def test_the_second_graph_reads_values_of_the_first_along_dashed_lines(panel):
    rows = panel.reset().move(function="tanh(x)", step=3).rows
    assert [row[3] for row in rows] == ["", "y", "dy/dx", "dy/dx", "dy/dx"]
    assert rows[2][4] == "1, 1"  # tanh(x) squared: it reads y twice
    dashed = [panel.move(step=step).picture().count("al-l-b") for step in (0, 3, 6)]
    assert dashed[0] < dashed[1] < dashed[2]


def test_without_create_graph_the_number_is_the_same_and_has_no_graph(panel):
    on = panel.reset().move(step=3).sentence
    off = panel.move(create_graph=WITHOUT).sentence
    assert on.split()[:3] == off.split()[:3] == ["dy/dx", "=", "6.75"]
    assert "its grad_fn is None" in off and len(panel.rows) > 2
    x = torch.tensor(1.5, requires_grad=True)
    y = x**3
    assert torch.autograd.grad(y, x)[0].grad_fn is None
    with pytest.raises(RuntimeError, match="second time"):  # it has been freed, as the sentence says
        torch.autograd.grad(y, x)


def test_the_next_gradient_then_raises_in_the_words_of_pytorch(panel):
    panel.reset().move(create_graph=WITHOUT, step=4)
    assert "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn. With" in panel.sentence
    assert panel.frame["error"] and "h, = torch.autograd.grad(g, x, create_graph=False)" in panel.frame["code"]


def test_values_travel_along_the_lines_into_new_nodes(panel):
    flights = panel.reset().move(function="tanh(x)", step=1)._cached_frame(panel.at)["flights"]
    assert [f["text"] for f in flights] == ["0.91", "0.91"]


def test_a_second_derivative_that_is_a_constant_has_no_graph():
    panel = widgets.gradient_graph(lambda x: x * x, x=3.0)
    last = len(panel.controls[-1]["stops"]) - 1
    assert panel.move(step=last).sentence == "d²y/dx² = 2, a constant: it does not depend on x, and nothing was recorded for it."


def test_functions_come_by_name_too():
    panel = widgets.gradient_graph({"sine": torch.sin, "cube": lambda x: x**3}, x=1.0)
    assert panel.move(function="cube", step=9).sentence.startswith("d²y/dx² = 6")


@pytest.mark.parametrize(("f", "error", "said"), [
    (lambda x: 2 * x, RuntimeError, "is the constant 2, which has no graph"), (lambda x: x.item(), TypeError, "f returned float"),
    (lambda x: torch.stack([x, x]), RuntimeError, r"shape \[2\]"), (lambda x: torch.exp(torch.sin(x * x * x * x)), ValueError, "room for 40"),
])  # fmt: skip
def test_functions_that_cannot_be_drawn_are_refused(f, error, said):
    with pytest.raises(error, match=said):
        widgets.gradient_graph(f)


def test_its_page_is_small(tmp_path):
    assert len(widgets.gradient_graph().save(tmp_path / "page.html").read_text("utf-8")) < 150_000
