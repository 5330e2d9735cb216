"""Pictures, tested as text: what is in them, where it stands, and that every reader can tell the parts apart."""

import re
import xml.etree.ElementTree as ET

import pytest

import autolab as torch
from autolab.draw import svg
from autolab.draw.placement import CHAR
from autolab.draw.style import PALETTE, STYLE, variables
from autolab.draw.svg import render
from autolab.trace import record

NS = "{http://www.w3.org/2000/svg}"


def leaf(data):
    return torch.tensor(data, requires_grad=True)


def network():
    model = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.Tanh(), torch.nn.Linear(12, 4))
    scores = model(torch.ones(5, 8))
    loss = scores.log_softmax(1).sum()
    return record(loss)


def square(at=2.0):
    x = leaf(at)
    loss = (3 * x + 1) ** 2
    return record(loss)


def reused():
    x, y = leaf(2.0), leaf(3.0)
    return record((x * y + x) * (x * y) + x * x)


def custom():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    return record(Double.apply(x) + 1)


def parts(picture):
    """Elements by the node or edge they draw."""
    root = ET.fromstring(picture)
    nodes = {g.get("data-node"): g for g in root.iter(f"{NS}g") if g.get("data-node")}
    edges = {g.get("data-edge"): g for g in root.iter(f"{NS}g") if g.get("data-edge")}
    return root, nodes, edges


def classes(element):
    return set(element.get("class", "").split())


TRACES = [square, network, reused, custom]


@pytest.mark.parametrize("make", TRACES)
@pytest.mark.parametrize("direction", ["right", "down"])
def test_every_node_and_edge_is_drawn_once(make, direction):
    trace = make()
    _, nodes, edges = parts(svg(trace, direction=direction))
    assert list(nodes) == [n.id for n in trace.nodes]
    assert list(edges) == [e.id for e in trace.edges]


@pytest.mark.parametrize("make", TRACES)
def test_copies_do_not_disturb_each_other(make):
    root, _, _ = parts(svg(make()))
    assert not [e for e in root.iter() if e.get("id")]
    assert {name for e in root.iter() for name in classes(e) if not name.startswith("al-")} == set()
    assert all(name.startswith("al-") for name in re.findall(r"\.([\w-]+)", re.sub(r"\{[^}]*\}", "", STYLE)))


@pytest.mark.parametrize("make", TRACES)
def test_a_picture_says_what_it_is(make):
    trace = make()
    root, nodes, _ = parts(svg(trace))
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.find(f"{NS}title").text
    assert trace.steps[-1].sentence in root.find(f"{NS}desc").text
    assert all(g.find(f"{NS}title").text for g in nodes.values())


def test_kinds_differ_in_shape_as_well_as_in_colour():
    trace = custom()
    _, nodes, _ = parts(svg(trace))
    shapes = {}
    for node in trace.nodes:
        box = nodes[node.id].find("*[@class='al-box']")
        rim = nodes[node.id].find("*[@class='al-rim']")
        shapes["out" if node.id == trace.root else node.kind] = box.tag, box.get("rx"), rim is not None
    assert len(set(shapes.values())) == len(shapes) == 3


def test_a_step_lights_up_what_has_fired():
    trace = square()
    _, nodes, edges = parts(svg(trace, step=2))
    assert [id for id, g in nodes.items() if "al-on" in classes(g)] == ["n0", "n1"]
    assert [id for id, g in nodes.items() if "al-now" in classes(g)] == ["n1"]
    assert [id for id, g in edges.items() if "al-on" in classes(g)] == ["e0", "e1"]


def test_values_and_gradients_are_written_into_the_boxes():
    _, nodes, edges = parts(svg(square()))
    texts = {id: [t.text for t in g.iter(f"{NS}text")] for id, g in nodes.items()}
    assert texts["n2"] == ["×", "MulBackward0", "= 6", "grad 14"]
    assert texts["n3"] == ["x", "= 2", ".grad 42"]
    assert [t.text for t in edges["e2"].iter(f"{NS}text")] == ["42"]


def test_a_graph_without_backward_has_no_gradients():
    x = leaf([1.0, 2.0])
    picture = svg(x * 2)
    assert "grad " not in picture
    assert x.grad is None


@pytest.mark.parametrize("direction", ["right", "down"])
def test_places_do_not_move_when_values_change(direction):
    def places(trace):
        _, nodes, _ = parts(svg(trace, direction=direction))
        return [[(t.get("x"), t.get("y")) for t in g.iter() if t.get("x")] for g in nodes.values()]

    assert places(square(2.0)) == places(square(-123456.789))


@pytest.mark.parametrize("make", TRACES)
@pytest.mark.parametrize("direction", ["right", "down"])
def test_no_text_leaves_its_box(make, direction):
    trace = make()
    _, nodes, _ = parts(svg(trace, direction=direction))
    for id, g in nodes.items():
        box = g.find("*[@class='al-box']")
        if box.get("width") is None:
            continue
        left, width = float(box.get("x")), float(box.get("width"))
        for t in g.iter(f"{NS}text"):
            room = 8.6 if classes(t) == {"al-head"} else 6.7 if classes(t) == {"al-name"} else CHAR
            assert float(t.get("x")) + len(t.text or "") * room <= left + width, (id, t.text)


@pytest.mark.parametrize("make", TRACES)
@pytest.mark.parametrize("direction", ["right", "down"])
def test_gradients_on_lines_do_not_cover_each_other(make, direction):
    root, _, _ = parts(svg(make(), direction=direction))
    pills = [g.find(f"{NS}rect") for g in root.iter(f"{NS}g") if "al-pill" in classes(g)]
    spans = [tuple(float(r.get(k)) for k in ("x", "y", "width", "height")) for r in pills]
    for i, (x, y, w, h) in enumerate(spans):
        for other_x, other_y, other_w, other_h in spans[:i]:
            apart = x >= other_x + other_w or other_x >= x + w or y >= other_y + other_h or other_y >= y + h
            assert apart


def test_what_a_name_contains_is_text():
    x = leaf(1.0)
    picture = svg(record(x * 2, names={'<b>&"': x}))
    _, nodes, _ = parts(picture)
    assert "<b>" not in picture
    assert next(nodes["n1"].iter(f"{NS}text")).text == '<b>&"'


def test_a_long_name_is_whole_in_the_title():
    name = "encoder.layers.11.attention.projection.weight"
    x = leaf(1.0)
    _, nodes, _ = parts(svg(record(x * 2, names={name: x})))
    assert name in nodes["n1"].find(f"{NS}title").text
    assert next(nodes["n1"].iter(f"{NS}text")).text.endswith("…")


def test_boxes_without_gradients_are_low():
    x = leaf(2.0)
    y = (3 * x + 1) ** 2
    seen, walked = ([*parts(svg(what))[1].values()] for what in (y, record(y)))
    assert [len(list(node.iter(f"{NS}text"))) for node in seen] == [3, 3, 3, 2]
    assert float(seen[0].find(f"{NS}rect").get("height")) < float(walked[0].find(f"{NS}rect").get("height"))


def test_wide_graphs_go_down():
    x = leaf(1.0)
    y = x
    for _ in range(12):
        y = y * 2
    width, height = (float(ET.fromstring(svg(y)).get(k)) for k in ("width", "height"))
    assert width < 400 < height


def test_a_notebook_shows_the_picture(tmp_path):
    picture = svg(square())
    assert picture._repr_svg_() == picture
    picture.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text("utf-8") == picture


@pytest.mark.parametrize("step", [-1, 5, 1.0, "start"])
def test_a_step_that_does_not_exist_is_refused(step):
    with pytest.raises(ValueError, match='steps 0 to 4, or "end"'):
        svg(square(), step=step)


def test_a_direction_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match='"auto", "right", "down" or "narrow"'):
        svg(square(), direction="left")


def test_a_picture_for_a_phone_has_its_width_and_shortens_only_names_that_stand_beside_others():
    x, y = (torch.tensor(v, requires_grad=True) for v in (0.5, 0.25))
    trace = record(((x + 1) * (y + 1) * (x - y)).relu().reciprocal())
    narrow = render(trace, direction="narrow", room=8)
    assert int(re.search('width="([0-9]+)"', narrow)[1]) <= 320 < int(re.search('width="([0-9]+)"', render(trace, room=8))[1])
    assert ">ReluBackward0<" in narrow
    beside = render(record(x.relu() + y.relu()), direction="narrow")
    assert "ReluBackw…" in beside and ">ReluBackward0<" not in beside
    whole = render(record(x**2 + y.exp() + x.sin()), direction="narrow")
    assert all(f">{name}Backward0<" in whole for name in ("Pow", "Exp", "Sin"))


def test_numbers_that_will_change_have_room():
    small, large = render(square(), room=8), render(square(111.0), room=8)
    frames = [re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="22"', p) for p in (small, large)]
    assert frames[0] == frames[1] != []


# -- colours ----------------------------------------------------------------------------------------


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("text", "ground"), [
    *[(text, f"{kind}-fill") for text in ("ink", "muted", "grad") for kind in ("op", "leaf", "out", "custom")],
    ("ink", "paper"), ("muted", "paper"), ("grad", "grad-fill"), ("ink", "grad-fill"),
])  # fmt: skip
def test_text_has_the_contrast_that_wcag_asks(text, ground, dark):
    assert contrast(PALETTE[text][dark], PALETTE[ground][dark]) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("line", ["line", "op-edge", "leaf-edge", "out-edge", "custom-edge", "grad-edge", "focus"])
def test_lines_have_the_contrast_that_wcag_asks(line, dark):
    assert contrast(PALETTE[line][dark], PALETTE["paper"][dark]) >= 3


def test_every_colour_stands_plainly_before_its_variable():
    # a renderer without var() keeps the declaration before it
    for name, colour in re.findall(r"var\(--al-([\w-]+),(#\w+)\)", STYLE):
        assert colour == PALETTE[name][0]
    assert len(re.findall(r"(?:fill|stroke):#\w{6};(?:fill|stroke):var", STYLE)) == STYLE.count("var(")


def test_both_themes_name_every_colour():
    assert variables("light").count("--al-") == variables("dark").count("--al-") == len(PALETTE)


def test_the_picture_in_the_documentation_is_what_is_drawn_today(pytestconfig):
    # made by tests/browser/pictures.py
    w, x, b = leaf(-3.0), leaf(2.0), leaf(8.0)
    loss = (w * x + b) ** 2
    picture = svg(record(loss))
    assert (pytestconfig.rootpath / "docs" / "images" / "graph.svg").read_text("utf-8") == picture


def test_a_picture_of_its_own_has_no_ground_and_a_dark_form():
    style = svg(square()).partition("<style>")[2].partition("</style>")[0]
    assert ".al-paper{fill:none}" in style
    assert "@media (prefers-color-scheme:dark){.al-svg{" + variables("dark") in style


def test_a_node_whose_hooks_run_is_marked():
    x = leaf(2.0)
    middle = 3 * x
    middle.register_hook(lambda g: None)
    _, nodes, _ = parts(svg(record(middle + 1)))
    assert [id for id, node in nodes.items() if "hook" in [t.text for t in node.iter(f"{NS}text")]] == ["n1"]


def test_a_value_that_nothing_keeps_is_said_so():
    x = leaf(2.0)
    _, nodes, _ = parts(svg((x + 5) + 1))
    assert nodes["n1"].findall(f"{NS}text")[-1].text == "not kept"
    assert nodes["n1"].find(f"{NS}title").text == "+ (AddBackward0): x + y, not kept"
