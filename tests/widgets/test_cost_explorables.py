"""Explorables of shapes and costs: their numbers against the engine, and by hand."""

import re

import numpy as np
import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets import costs


def parts(panel):
    """The pieces of the picture as it is now."""
    return [panel._parts[i] for i in panel._cached_frame(panel.at)["picture"]]


# -- broadcasting ------------------------------------------------------------------------------------


def test_broadcast_axes_are_stretched_and_summed():
    panel = widgets.broadcast_backward((2, 1), (1, 3), "+").move(step=6)
    assert [row[3] for row in panel.rows] == ["1", "0"]
    assert [row[4] for row in panel.rows] == ["[[3.0], [3.0]]", "[[2.0, 2.0, 2.0]]"]
    with pytest.raises(RuntimeError, match="must match the size"):
        widgets.broadcast_backward((2,), (3,))
    with pytest.raises(ValueError, match="room for 8"):
        widgets.broadcast_backward((20,), (1,))
    with pytest.raises(ValueError, match="up to three axes"):
        widgets.broadcast_backward((1, 1, 1, 1), (1,))
    with pytest.raises(ValueError, match="room for 4 matrices"):
        widgets.broadcast_backward((5, 1, 1), (1,))


def test_three_axes_are_drawn_as_matrices_and_summed_back():
    panel = widgets.broadcast_backward((2, 1, 3), (4, 1)).move(step=6)
    assert "the gradient [2, 4, 3] is summed over axes 0 and 2, where b was stretched" in panel.sentence
    x, y = (torch.arange(6.0).reshape(2, 1, 3) + 1).requires_grad_(), (torch.arange(4.0).reshape(4, 1) + 1).requires_grad_()
    (x * y).sum().backward()
    assert "".join(parts(panel)).count("al-k-empty") == (24 - 6) + (24 - 4)  # what stretching made, of both
    assert [row[-1] for row in panel.rows] == [str(x.grad.tolist()), str(y.grad.tolist())]


@pytest.mark.parametrize("operation", ["+", "-", "*", "/"])
def test_what_is_summed_is_what_each_entry_of_the_result_sends(operation):
    panel = widgets.broadcast_backward((2, 1), (3,), operation)
    f = {"+": torch.add, "-": torch.sub, "*": torch.mul, "/": torch.div}[operation]
    a, b = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 2.0, 3.0])
    each = [torch.autograd.grad(f(p := a[i, 0].requires_grad_(), b[j]), p)[0].item() for i in range(2) for j in range(3)]
    shown = cells(panel.move(step=3), "to a, before the sum", 6)
    assert [float(text) for text in shown] == pytest.approx(sorted_by_pile(each), rel=0.01)


def sorted_by_pile(each):
    """The cells that others are summed into are drawn last, on top of them."""
    return [each[k] for k in (1, 2, 4, 5, 0, 3)]


def cells(panel, title, count):
    texts = [part.partition("</text>")[0].rpartition(">")[2] for part in parts(panel) if "<text" in part]
    at = texts.index(title)
    return texts[at + 1 : at + 1 + count]


def test_the_entry_of_g_that_is_dragged_is_a_term_of_one_entry_of_each_gradient():
    panel = widgets.broadcast_backward((3, 1), (4,)).move(g=3.0, step=6)
    assert panel.sentence.endswith("g[0, 0] = 3 is in b.grad[0] = 8, one of 3 terms, and in no other entry.")
    assert [row[4] for row in panel.rows] == ["[[12.0], [10.0], [10.0]]", "[8.0, 6.0, 6.0, 6.0]"]
    assert panel.move(g=1.0).rows[0][4] == "[[10.0], [10.0], [10.0]]"


def test_a_result_without_entries_has_nothing_to_drag():
    assert [c["name"] for c in widgets.broadcast_backward((0, 3), (1,)).controls] == ["step"]


def test_a_cell_glides_between_its_own_place_and_the_sum():
    panel = widgets.broadcast_backward((2, 1), (3,))
    keys = [
        {
            part.split('"')[1]
            for part in parts(panel.move(step=k))
            if part.startswith("<g data-key=") and not re.search("agrad|handle", part)
        }
        for k in (3, 4)
    ]
    assert len(keys[0]) == len(keys[1]) == 30  # six cells each of a, b, the result, g and what goes to a
    assert keys[0] == keys[1]


# -- matrix product ----------------------------------------------------------------------------------


def test_each_cell_of_a_matrix_gradient_is_a_sum_over_what_it_touches():
    g = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), torch.tensor([[5.0, 6.0, 7.0], [8.0, 9.0, 1.0]], requires_grad=True)
    (x @ y).backward(g)
    panel = widgets.matmul_backward(x, y, g)
    said = [panel.move(step=k).sentence for k in range(1, 11)]
    ends = [float(s.rpartition("= ")[2].rstrip(".")) for s in said]
    assert ends == [*x.grad.reshape(-1).tolist(), *y.grad.reshape(-1).tolist()]
    assert (
        said[1]
        == "A[0, 1] touches row 0 of A @ B, through row 1 of B. So A.grad[0, 1] is row 0 of g times row 1 of B: 2 × 8 + (-1) × 9 + 0.5 × 1 = 7.5."
    )
    with pytest.raises(ValueError, match="two matrices"):
        widgets.matmul_backward((3,), (3, 1))
    with pytest.raises(RuntimeError, match="shape"):
        widgets.matmul_backward((2, 3), (3, 4), torch.ones(4, 2))


def test_dragging_an_entry_of_g_changes_its_row_and_its_column_only():
    panel = widgets.matmul_backward((2, 2), (2, 2))
    before, after = [{row[0]: np.array(eval(row[2])) for row in panel.move(g00=v).rows} for v in (0, 3)]
    assert (after["A.grad"] - before["A.grad"]).tolist() == [[3.0, 9.0], [0.0, 0.0]]
    assert (after["B.grad"] - before["B.grad"]).tolist() == [[3.0, 0.0], [6.0, 0.0]]


def test_a_press_on_an_entry_shows_its_gradient():
    picture = "".join(widgets.matmul_backward((2, 3), (3, 4)).parts)
    assert picture.count('class="al-press"') == 6 + 12
    assert 'data-set="step" data-stop="7" tabindex="0" role="button" aria-label="B[0, 0] = 1: its gradient"' in picture


# -- Jacobians ---------------------------------------------------------------------------------------


def test_forward_mode_counts_inputs_and_reverse_mode_outputs():
    panel = widgets.forward_against_reverse(sizes=(1, 3)).move(inputs=3, outputs=1)
    assert [row[1] for row in panel.rows] == ["3", "1"]
    assert [row[3] for row in panel.move(step=2).rows] == ["2", "1"]
    assert panel.sentence == "Pass 2: forward mode pushes unit vector 1 through and gets column 1; reverse mode has all 1 row since pass 1."
    with pytest.raises(RuntimeError, match="its result has shape"):
        widgets.forward_against_reverse(lambda n, m: lambda x: x * 2, sizes=(1, 2))


def test_a_jacobian_is_filled_by_columns_and_by_rows():
    weight = [[1.0, 2.0], [3.0, -4.0]]
    panel = widgets.forward_against_reverse(lambda n, m: lambda x: torch.tensor(weight, dtype=torch.float64)[:m, :n] @ x, sizes=(1, 2))
    told = "".join(parts(panel.move(inputs=2, outputs=2, step=1)))
    assert all(f"{said}</title>" in told for said in ("column 0[0, 0] = 1", "column 0[1, 0] = 3", "row 0[0, 0] = 1", "row 0[0, 1] = 2"))
    assert "= -4" not in told and "= -4" in "".join(parts(panel.move(step=2)))


def test_a_product_with_a_jacobian_is_what_the_engine_returns():
    panel = widgets.vector_jacobian({"softmax": lambda x: torch.softmax(x, 0)}, x=(0.5, -1.0, 1.0, 0.0)).move(v=2)
    x = torch.tensor([0.5, -1.0, 1.0, 0.0], dtype=torch.float64)
    out = torch.softmax(x, 0)
    jacobian = (torch.diag(out) - torch.outer(out, out)).numpy()
    table = dict(panel.rows[:4])
    assert eval(table["v J, by autograd.grad"]) == pytest.approx((np.array(eval(table["v"])) @ jacobian).tolist(), abs=1e-5)
    assert eval(table["J u, by func.jvp"]) == pytest.approx((jacobian @ np.array(eval(table["u"]))).tolist(), abs=1e-5)
    assert panel.rows[4] == ["rule", "softmax: out * (g - np.sum(g * out, axis=axis, keepdims=True))"]


def test_a_step_of_the_product_is_its_sum():
    panel = widgets.vector_jacobian({"f": lambda x: torch.stack([x[0] * x[1], x[0]])}, x=(3.0, 5.0))
    assert panel.move(v=2, step=1).sentence == "v J, entry 0: v times column 0 of J, 2 × 5 + (-1) × 1 = 9."
    assert panel.move(step=3).sentence == "J u, entry 0: row 0 of J times u, 5 × 1 + 3 × (-1) = 2."
    assert "J has 4 numbers, 1 are 0." in panel.picture()


def test_functions_without_a_jacobian_to_draw_are_refused():
    with pytest.raises(TypeError, match="returned float"):
        widgets.vector_jacobian({"f": lambda x: x.sum().item()})
    with pytest.raises(RuntimeError, match=r"has shape \[4, 4\]"):
        widgets.vector_jacobian({"f": lambda x: torch.outer(x, x)})
    with pytest.raises(ValueError, match="a vector of up to 8"):
        widgets.vector_jacobian(x=torch.ones(9))


# -- memory ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def memory():
    return widgets.memory_against_depth(depths=(12,), segments=(0, 4), input=torch.ones(512, 64))


def test_checkpoints_keep_less(memory):
    sizes = {row[0]: float(row[1].split()[0]) * (1000 if "MB" in row[1] else 1) for row in memory.rows}
    assert sizes["4 segments"] < 0.8 * sizes["no checkpoints"]
    with pytest.raises(RuntimeError, match="both shapes must be equal"):
        widgets.memory_against_depth(lambda: torch.nn.Linear(64, 3))


def test_the_timeline_is_what_the_engine_keeps(memory):
    assert [row[3] for row in memory.rows] == ["12", "6"]
    assert "6 layers run again, 6 alive at once" in memory.sentence
    assert "".join(parts(memory)).count("al-k-custom") == 6 + 1  # and the legend


def test_a_value_lives_until_the_rule_that_saved_it_has_run():
    def run(heard):
        h = torch.ones(2, requires_grad=True)
        for number in (1, 2, 3):
            h = costs._Listened(torch.exp, number, heard)(h)
        loss = h.sum()
        del h
        loss.backward()

    lives, back = costs._lifetimes(run)
    assert back == [(3, 4), (2, 5), (1, 6)]
    assert [(layer, start, first) for layer, start, _, first in lives] == [(1, 1, True), (2, 2, True), (3, 3, True)]
    assert [end for _, _, end, _ in lives] == [6, 5, 4]


# -- fusion ------------------------------------------------------------------------------------------


def test_fusion_reads_and_writes_once():
    panel = widgets.fusion(lambda x: torch.sin(x * 2 + 5), torch.ones(100_000)).move(step=99)
    assert "eager 2.4 MB read and written, fused 800 kB (3 times less)" in panel.sentence
    with pytest.raises(RuntimeError, match="nothing to fuse|eager mode"):
        widgets.fusion(lambda x: x @ x, torch.ones(30, 30))


def test_data_move_operation_by_operation_and_then_block_by_block():
    panel = widgets.fusion(lambda x: torch.sin(x * 2 + 5), torch.ones(100_000))
    assert panel.move(step=2).sentence == "add reads 400 kB and writes 400 kB; eager so far 1.6 MB."
    assert "Fused, block 2 of 4: it is read once" in panel.move(step=5).sentence
    assert "so far 524 kB" in panel.sentence  # 2 blocks of 32768 float32, read and written
    flights = panel._cached_frame(panel.at)["flights"]
    assert [f["text"] for f in flights] == ["block", "block"]  # in and out
