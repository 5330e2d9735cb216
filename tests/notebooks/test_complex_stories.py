"""What lesson 24 tells, held to be true: at other numbers, for other functions, and from other starts."""

import pytest

import autolab as torch
from autolab.autograd import grad, gradcheck

from .test_later_stories import Lesson

pytestmark = pytest.mark.lesson24


@pytest.fixture
def lesson():
    torch.set_default_dtype(torch.float64)
    lesson = Lesson("24")
    lesson.run("imports", "differences", "wirtinger-define")
    yield lesson
    torch.set_default_dtype(torch.float32)


def test_each_function_sends_what_the_formula_with_two_conjugates_says(lesson):
    lesson.run("rule-show")
    for f in (*lesson["functions"].values(), torch.sin, torch.angle, lambda z: z.conj() ** 3 / z):
        z = torch.tensor(-0.7 + 1.9j, requires_grad=True)
        w = f(z)
        g = torch.tensor(1.5 + 0.3j if w.is_complex() else 1.5)
        assert grad(w, z, g)[0].item() == pytest.approx(lesson["sent_back"](f, z.detach(), g).item(), abs=1e-7)


def test_of_a_real_function_the_two_derivatives_are_conjugates(lesson):
    for name in ("Re z", "|z|", "|z|²"):
        by_z, by_conj = lesson["wirtinger"](lesson["functions"][name], torch.tensor(-1.3 + 0.4j))
        assert by_z.item() == pytest.approx(by_conj.conj().item(), abs=1e-8)


def test_the_conjugate_of_the_gradient_goes_uphill_in_the_imaginary_part(lesson):
    lesson.run("steepest-show")
    right, wrong = lesson["descend"](lambda g: g, 30).item(), lesson["descend"](torch.conj, 30).item()
    assert right == pytest.approx(1 + 2j, abs=0.01)
    assert wrong.real == pytest.approx(1, abs=0.01) and wrong.imag == pytest.approx(2 - 3 * 1.2**30)


def test_a_step_of_one_half_exchanges_the_magnitudes(lesson):
    lesson.run("lost-object", "lost-measure", "step-show")
    assert torch.allclose(lesson["z"] - lesson["g"] / 2, lesson["by_hand"])


def test_six_masks_are_enough_from_this_start_and_one_is_not(lesson):
    lesson.run("lost-object", "lost-measure", "step-show", "search-run", "phase-show")
    assert lesson["off"](lesson["found"], lesson["picture"])[1] < 1e-9
    alone, history = lesson["search"](lesson["masks"][:1], lesson["measured"][:1], steps=3)
    assert history[-1] < 1e-20 and lesson["off"](alone, lesson["picture"])[1] > 0.5


def test_the_exercise_on_decibels_is_solved_by_its_solution(lesson):
    lesson.run("exercise-define")
    mended = type(
        "Mended", (lesson["Level"],), {"backward": staticmethod(lambda ctx, g: g * ctx.saved_tensors[0] / ctx.saved_tensors[0].abs() ** 2)}
    )
    assert gradcheck(mended.apply, torch.tensor([1 - 2j, -0.3 + 0.1j], requires_grad=True))
