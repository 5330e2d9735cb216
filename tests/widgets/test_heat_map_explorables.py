"""Softmax, attention and convolution as Python knows them: what is said to be touched is what the engine's gradients reach."""

import re

import numpy as np
import pytest

import autolab as torch
from autolab.nn import functional as F

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets.heat_maps import brief

MAKERS = [widgets.softmax_backward, widgets.attention_backward, widgets.convolution_backward]


@pytest.fixture(autouse=True)
def no_frames_in_advance(monkeypatch):
    monkeypatch.setattr("autolab.widgets.panel.PATIENCE", 0)


@pytest.mark.parametrize("make", MAKERS)
def test_a_page_weighs_less_than_150_kb(make, tmp_path):
    assert make().save(tmp_path / "page.html").stat().st_size < 150_000


@pytest.mark.parametrize("value", [0.0, -0.0, 0.001, -0.004, -2.5, 99.96, -31.25, 12345.6, -1e-9, 1 / 3, float("inf")])
def test_a_cell_has_room_for_its_number_and_says_0_of_0_only(value):
    assert len(brief(value)) <= 5
    assert (brief(value) == "0") == (value == 0)
    assert brief(value).startswith("-") == (float(brief(value)) < 0)


def listed(panel, name):
    """A row of the table as a matrix."""
    text = {row[0]: row[-1] for row in panel.rows}[name]
    return np.array([[float(v) for v in line.split(",")] for line in text.split(";")])


def leaves(*arrays):
    return [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]


# -- softmax -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.5, 1])
def test_the_gradient_of_cross_entropy_is_p_minus_onehot(temperature):
    panel = widgets.softmax_backward(target=2).move(loss="cross entropy, class 2", temperature=temperature, z0=-2, step=5)
    z = leaves([-2.0, 1.0, 0.0, -1.0])[0]
    F.cross_entropy(z / temperature, torch.tensor(2)).backward()
    assert listed(panel, "z.grad, by backward()")[0] == pytest.approx(z.grad.numpy(), abs=5e-3)
    assert (listed(panel, "p")[0] - [0, 0, 1, 0]) / temperature == pytest.approx(z.grad.numpy(), abs=5e-3)


def test_one_output_reaches_every_logit_and_their_gradients_add_to_0():
    panel = widgets.softmax_backward().move(loss="p[0]", step=5)
    grad = listed(panel, "z.grad, by backward()")[0]
    assert (grad != 0).all() and grad.sum() == pytest.approx(0, abs=2e-3)
    assert "The entries of z.grad add to 0" in panel.sentence


def test_the_sum_of_probabilities_has_gradient_0():
    panel = widgets.softmax_backward().move(loss="sum of p", step=5)
    assert listed(panel, "z.grad, by backward()")[0] == pytest.approx(0, abs=1e-12)


def test_an_entry_of_a_gradient_is_the_sum_of_the_products_that_are_said():
    panel = widgets.softmax_backward((0.5, -1.0, 2.0)).move(loss="cross entropy, class 1", temperature=0.5, step=1)
    grad = listed(panel, "z.grad, by backward()")[0]
    products = panel.sentence.partition(": ")[2].partition(" = ")[0]
    assert sum(eval(term.replace("×", "*")) for term in products.split(" + ")) == pytest.approx(grad[0], rel=0.05)
    assert "g times column 0 of J" in panel.sentence


def test_logits_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match=r"vector of 2 to 6 logits .*; z has shape \[2, 2\]"):
        widgets.softmax_backward(torch.zeros(2, 2))
    with pytest.raises(ValueError, match=r"between -4 and 4; .* \[9.0, 0.0\]"):
        widgets.softmax_backward((9.0, 0.0))
    with pytest.raises(ValueError, match="target is 4, expected a class from 0 to 3"):
        widgets.softmax_backward(target=4)
    with pytest.raises(ValueError, match="temperatures must be above 0"):
        widgets.softmax_backward(temperatures=(0.0, 1.0))


# -- attention ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["causal", "none"])
@pytest.mark.parametrize("token", [0, 1, 2])
def test_gradients_are_those_of_scaled_dot_product_attention(mask, token):
    from autolab.widgets.attention import K, Q, V

    panel = widgets.attention_backward().move(mask=mask, selected=f"out[{token}]", step=3)
    q, k, v = leaves(Q, K, V)
    F.scaled_dot_product_attention(q, k, v, is_causal=mask == "causal")[token].sum().backward()
    for name, t in zip(("Q", "K", "V"), (q, k, v)):
        assert listed(panel, f"{name}.grad") == pytest.approx(t.grad.numpy(), abs=1e-3)


def test_a_causal_mask_leaves_exactly_0_for_later_tokens():
    panel = widgets.attention_backward().move(mask="causal", selected="out[1]", step=3)
    assert not any(listed(panel, name)[2:].any() for name in ("Q.grad", "K.grad", "V.grad"))
    assert all(listed(panel, name)[1].any() for name in ("Q.grad", "K.grad", "V.grad"))
    assert listed(panel, "P.grad")[1, 2] != 0 and listed(panel, "S.grad")[1, 2] == 0
    assert "for the tokens after 1 all are exactly 0" in panel.sentence


def test_the_first_token_moves_neither_q_nor_k():
    panel = widgets.attention_backward().move(mask="causal", selected="out[0]", step=3)
    assert not listed(panel, "Q.grad").any() and not listed(panel, "K.grad").any()
    assert panel.sentence.startswith("Exactly 0: P[0, 0] is 1 whatever Q and K are")


def test_a_masked_weight_says_that_it_is_none():
    panel = widgets.attention_backward().move(mask="causal", selected="P[0, 2]", step=2)
    assert panel.sentence.startswith("P[0, 2] is masked") and panel.sentence.endswith("S.grad is exactly 0.")
    assert "P[0, 2] = " in panel.move(mask="none", step=0).sentence


def test_a_weight_sends_its_score_to_one_row_of_q_and_one_of_k():
    panel = widgets.attention_backward().move(mask="none", selected="P[2, 1]", step=3)
    scale = 2**-0.5
    sent = listed(panel, "S.grad")[2, 1] * scale
    assert float(panel.sentence.partition(" sends ")[2].split()[0]) == pytest.approx(sent, abs=1e-3)


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"K has shape \[6, 2\]"):
        widgets.attention_backward(k=torch.zeros(6, 2))
    with pytest.raises(ValueError, match=r"they are Q \[3, 2\], K \[3, 1\], V \[3, 2\]"):
        widgets.attention_backward(k=torch.zeros(3, 1))


# -- convolution -------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["stride 1", "stride 2, padding 1"])
def test_gradients_are_the_kernel_turned_and_a_correlation_with_g(setting):
    panel = widgets.convolution_backward().move(setting=setting, corner=-1)
    x, w, y, g = (listed(panel, name) for name in ("x", "w", "y", "g"))
    more = {"stride": 2, "padding": 1} if "2" in setting else {}
    back = F.conv_transpose2d(torch.tensor(g)[None, None], torch.tensor(w)[None, None], **more)[0, 0].numpy()
    assert listed(panel, "x.grad") == pytest.approx(back)
    x_leaf, w_leaf = leaves(x, w)
    out = F.conv2d(x_leaf[None, None], w_leaf[None, None], **more)
    out.backward(torch.tensor(g)[None, None])
    assert y == pytest.approx(out.detach().numpy()[0, 0]) and listed(panel, "w.grad") == pytest.approx(w_leaf.grad.numpy())


def weights(panel):
    """The numbers that stand in the small matrix, in order."""
    return [float(label) for label in re.findall(r"weights\[\d, \d\] = (-?[\d.]+)", panel.picture())]


def test_an_input_in_the_middle_meets_the_kernel_turned_around():
    panel = widgets.convolution_backward().move(step=9 + 6)
    assert panel.sentence.startswith("x[1, 1] is used by 4 of 9 outputs. All of the kernel, turned by 180°")
    assert weights(panel) == [4, 3, 2, 1]


def test_an_input_at_a_corner_is_used_once_and_with_a_stride_no_input_twice():
    panel = widgets.convolution_backward().move(step=9 + 1)
    assert panel.sentence.startswith("x[0, 0] is used by 1 of 9 outputs.")
    assert "x[1, 1] is used by 1 of 9" in panel.move(setting="stride 2, padding 1", step=9 + 6).sentence


@pytest.mark.parametrize("step", range(1, 30))
def test_the_terms_of_an_entry_add_to_it(step):
    said = widgets.convolution_backward().move(step=step).sentence
    terms, _, result = said.rpartition(": " if said[0] == "y" else " times g: " if "Those" in said else ", times g: ")[2].rpartition(" = ")
    terms = terms.partition("] = ")[2] or terms
    assert eval(terms.replace("×", "*")) == pytest.approx(float(result.rstrip(".")))


def test_a_weight_of_0_is_still_a_weight():
    panel = widgets.convolution_backward().move(corner=0, step=9 + 6)
    assert weights(panel) == [4, 3, 2, 0]


def test_an_input_that_no_output_reads_and_an_output_that_is_not_there_say_so():
    panel = widgets.convolution_backward(torch.ones(4, 4), torch.ones(1, 1), settings={"every": {}, "second": {"stride": 2}})
    assert "x[1, 1] is used by no output" in panel.move(setting="second", step=16 + 6).sentence
    assert panel.move(step=16).sentence == "second: the output has shape [2, 2], without an entry [3, 3]."


def test_matrices_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match=r"up to 3 rows and columns for w; w has shape \[4, 4\]"):
        widgets.convolution_backward(w=torch.ones(4, 4))
    with pytest.raises(ValueError, match="g needs at least 3 rows and 3 columns"):
        widgets.convolution_backward(g=torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="[Kk]ernel size"):
        widgets.convolution_backward(torch.ones(2, 2), torch.ones(3, 3))
