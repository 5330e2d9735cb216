"""Explorables of how derivatives are computed: differences, dual numbers, paths, depth. Their numbers against the engine, and by hand."""

import re

import numpy as np
import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets

# -- finite differences ------------------------------------------------------------------------------


def errors(panel, **at):
    return {row[0]: float(row[3]) for row in panel.move(**at).rows}


@pytest.fixture(scope="module")
def wave():
    return widgets.finite_differences()


def test_errors_shrink_with_the_step_by_their_order(wave):
    large, small = errors(wave, h=1e-1, numbers="float64"), errors(wave, h=1e-2)
    assert large["one-sided"] / small["one-sided"] == pytest.approx(10, rel=0.2)
    assert large["central"] / small["central"] == pytest.approx(100, rel=0.1)
    assert large["complex step"] / small["complex step"] == pytest.approx(100, rel=0.1)


def test_a_step_that_is_too_small_loses_the_digits_of_a_difference_and_of_no_other(wave):
    tiny = errors(wave, h=1e-14, numbers="float64")
    assert tiny["one-sided"] > 1e-4 and tiny["complex step"] < 1e-15 and tiny["backward()"] == 0
    assert "so rounding leads" in wave.sentence
    assert "so a smaller step is better" in wave.move(h=1e-2).sentence
    assert "near the best" in wave.move(h=1e-8).sentence


def test_estimates_are_those_of_the_formulas_by_hand():
    panel = widgets.finite_differences(lambda x: x**3, x=1.0).move(h=1e-1)
    assert [float(row[2]) for row in panel.rows] == pytest.approx([3.31, 3.01, 2.99, 3.0])


def test_half_the_digits_allow_a_larger_step_only(wave):
    steps = {n: errors(wave, h=1e-8, numbers=n)["one-sided"] for n in ("float64", "float32")}
    assert steps["float64"] < 1e-7 and steps["float32"] == 1
    assert errors(wave, h=1e-3, numbers="float32")["one-sided"] < 0.01


def test_what_takes_tensors_only_has_no_complex_step_and_that_is_said():
    panel = widgets.finite_differences(torch.sin)
    assert [row[0] for row in panel.rows] == ["one-sided", "central", "complex step", "backward()"]
    assert panel.sentence.endswith(
        "No complex step: sin does not take a complex number (TypeError): write it with operators and np functions."
    )
    assert "complex" not in panel.picture().replace(panel.sentence, "")


def test_functions_without_a_relative_error_are_refused():
    with pytest.raises(ValueError, match="at x = 0 is 0"):
        widgets.finite_differences(lambda x: x**2, x=0.0)
    with pytest.raises(TypeError, match="returned float"):
        widgets.finite_differences(lambda x: x.item() if isinstance(x, torch.Tensor) else x)
    with pytest.raises(RuntimeError, match=r"has shape \[2\]"):
        widgets.finite_differences(lambda x: torch.stack([x, x]))


# -- dual numbers ------------------------------------------------------------------------------------


def test_value_and_tangent_go_through_every_line():
    panel = widgets.dual_numbers(lambda x, y: x * y + torch.sin(x), x=1.0, y=2.0).move(step=3)
    x = torch.tensor(1.0, dtype=torch.float64)
    assert [row[0] for row in panel.rows] == ["x", "y", "v1 = x × y", "v2 = sin(x)", "v3 = v1 + v2"]
    assert [float(row[1]) for row in panel.rows] == pytest.approx([1, 2, 2, torch.sin(x).item(), 2 + torch.sin(x).item()], rel=1e-5)
    assert [float(row[2]) for row in panel.rows] == pytest.approx([1, 0, 2, torch.cos(x).item(), 2 + torch.cos(x).item()], rel=1e-5)
    assert [row[2] for row in panel.move(step=1).rows] == ["1", "0", "2", "not yet", "not yet"]
    assert panel.sentence == "v1 = x × y is 2; its tangent, from x and y: 1 × 2 + 0 × 1 = 2."


@pytest.mark.parametrize(("moves", "slope"), [("x moves", "2.5403"), ("y moves", "1")])
def test_the_last_tangent_is_the_gradient_of_what_moves(moves, slope):
    said = widgets.dual_numbers().move(moves=moves, step=9).sentence
    assert (
        said == f"The last tangent is the derivative: {slope} for each 1 that {moves[0]} moves. backward() gives {moves[0]}.grad = {slope}."
    )


def test_the_first_input_slides_and_the_program_follows():
    panel = widgets.dual_numbers(lambda a: a**3, a=1.0).move(x=2.0, step=9)
    assert "12 for each 1 that a moves" in panel.sentence
    assert panel.rows[-1][:3] == ["v1 = a ** 3", "8", "12"]


def test_programs_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="has 12 lines"):
        widgets.dual_numbers(lambda x: sum((x * k for k in range(1, 7)), 0.0), x=1.0)
    with pytest.raises(TypeError, match="returned float"):
        widgets.dual_numbers(lambda x: x.item(), x=1.0)
    with pytest.raises(RuntimeError, match="single number that depends"):
        widgets.dual_numbers(lambda x: torch.stack([x, x]), x=1.0)


# -- paths -------------------------------------------------------------------------------------------


def test_the_products_along_all_paths_add_to_the_gradient():
    panel = widgets.paths(blocks=5).press("all paths")
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    h = x
    for _ in range(5):
        h = h + torch.exp(-h)
    h.backward()
    table = dict(panel.rows)
    assert table["paths"] == "32" and float(table["their sum"]) == pytest.approx(x.grad.item(), rel=1e-5)
    assert table["nodes of the graph"] == "15" and table["derivatives along all of them"] == str(
        sum(5 + 2 * k.bit_count() for k in range(32))
    )


def test_each_path_is_a_step_of_a_stair_that_ends_at_the_gradient():
    panel = widgets.paths(blocks=3)
    for _ in range(8):
        panel.press("next path")
    (stair,), (target,) = (re.findall(rf'<path d="M([^"]*L[^"]*)" class="al-l al-l-{kind}"', panel.picture()) for kind in ("a", "grad"))
    heights = [float(point.split()[1]) for point in stair.split("L")]
    assert len(set(heights)) == 9 and heights[-1] == pytest.approx(float(target.split()[-1]), abs=0.15)
    assert heights[:-1:2] == heights[1:-1:2]


def test_paths_are_followed_one_by_one_and_each_doubles_with_a_block():
    panel = widgets.paths(lambda h: 2 * h + 3 * h, blocks=2)
    products = [panel.press("next path").sentence for _ in range(4)]
    assert [s.partition("is ")[2].partition(";")[0] for s in products[:3]] == ["4", "6", "6"]
    assert products[3] == "All 4 paths: their products add to 25, and x.grad by backward() is 25."
    assert panel.press("one block more").sentence.startswith("3 blocks of 2 paths each: 8 paths")
    assert panel.undo().sentence == products[3]


def test_one_visit_of_each_node_adds_what_arrives_there():
    panel = widgets.paths(lambda h: 2 * h + 3 * h, blocks=2)
    said = [panel.press("next node back").sentence for _ in range(3)]
    assert "its gradient is 5." in said[1]
    assert said[2] == "Back at x: 6 nodes, each visited once, give x.grad = 25, as all 4 paths do."
    assert "next node back" not in panel._cached_frame(panel.at)["next"]
    flights = panel._cached_frame(panel.at)["flights"]
    assert [f["text"] for f in flights] == ["10", "15"]  # 2 and 3 times the 5 of the joint behind


def test_a_block_of_one_path_and_blocks_of_too_many():
    assert widgets.paths(torch.sin).press("all paths").sentence.startswith("The only path: the product along it is ")
    with pytest.raises(ValueError, match="more than 4 paths"):
        widgets.paths(lambda h: h * h * h * h * h)
    with pytest.raises(TypeError, match="returned float"):
        widgets.paths(lambda h: h.item())


# -- depth -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep():
    return widgets.vanishing_and_exploding(depths=(2, 12), gains=(0.5, 1.0, 2.0), width=32, batch=16)


def test_without_activations_each_layer_multiplies_the_gradient_by_the_gain(deep):
    for gain, fate in ((0.5, "vanishes"), (1.0, "keeps its size"), (2.0, "explodes")):
        back = [float(row[2]) for row in deep.move(activation="none", gain=gain, depth=12).rows]
        assert (back[0] / back[-1]) ** (1 / 12) == pytest.approx(gain, rel=0.15)
        assert f"the gradient {fate}" in deep.sentence


def test_values_and_gradients_are_those_of_the_engine(deep):
    rows = deep.move(activation="relu", gain=1.0, depth=2).rows
    random = np.random.default_rng(0)
    weights = [torch.tensor(random.standard_normal((32, 32)) / 32**0.5, dtype=torch.float32) for _ in range(12)]
    x, g = (torch.tensor(random.standard_normal((16, 32)), dtype=torch.float32, requires_grad=True) for _ in range(2))
    out = torch.relu(torch.relu(x @ weights[0]) @ weights[1])
    out.backward(g.detach())
    sizes = [(t.detach() ** 2).mean().sqrt().item() for t in (x, x.grad, out, g)]
    assert [float(v) for v in (*rows[0][1:], *rows[-1][1:])] == pytest.approx(sizes, rel=0.01)


def test_a_sigmoid_keeps_values_and_loses_gradients(deep):
    forward, back = ([float(row[k]) for row in deep.move(activation="sigmoid", gain=1.0, depth=12).rows] for k in (1, 2))
    assert 0.4 < forward[-1] < 0.6 and back[0] < 1e-6


def test_numbers_that_overflow_are_drawn_at_the_end():
    panel = widgets.vanishing_and_exploding(depths=(8,), gains=(1e6,), activations={"none": lambda h: h}, width=8, batch=4)
    assert "the gradient explodes, from 0.84 at the last layer to inf at the input" in panel.sentence
    assert "nan" not in "".join(panel._parts)
