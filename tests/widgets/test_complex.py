"""Complex numbers in pictures: shown where they can be, and refused by a sentence where a real number is drawn."""

import pytest

import autolab as torch
from autolab import widgets
from autolab.trace import record


def rotation(x):
    return torch.exp(1j * x)


def size(x):
    return (rotation(x) + 1).abs()


def test_a_step_of_complex_numbers_is_told_with_the_conjugates_that_ran():
    z, x = torch.tensor(1 + 2j, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    step = record((z * x).abs().square() / 2).steps[-3]
    assert step.outgoing[0].filled == "conj(conj(3+6j) * 3) = 9+18j"
    assert step.outgoing[1].filled == "real(conj(conj(3+6j) * (1+2j))) = 15"


def test_the_stepper_shows_complex_tensors():
    z = torch.tensor([3 + 4j, 1 - 2j], requires_grad=True)
    assert "z.grad = [6+8j, 2-4j]" in repr(widgets.Stepper((z.conj() * z).real.sum()))


def test_explore_slides_a_real_number_through_complex_ones():
    assert widgets.explore(size, x=(-3, 3)).move(x=0.0).sentence.startswith("x = 0: the result is 2")


@pytest.mark.parametrize("name", ["chain_rule", "finite_differences", "paths", "gradient_graph", "expectation_gradients"])
def test_a_complex_result_has_no_slope_to_draw(name):
    with pytest.raises(TypeError, match="met a complex one"):
        getattr(widgets, name)(rotation)


def test_explore_says_that_a_complex_result_has_no_slope():
    with pytest.raises(TypeError, match="returned a complex one, which has no slope to draw"):
        widgets.explore(rotation, x=(-3, 3))


@pytest.mark.parametrize("name", ["matmul_backward", "broadcast_backward", "softmax_backward", "convolution_backward"])
def test_complex_arguments_are_not_drawn_as_their_real_part(name):
    with pytest.raises(TypeError, match=f"{name} draws real numbers, and met a complex one"):
        getattr(widgets, name)(torch.ones(2, 2) * 1j)
