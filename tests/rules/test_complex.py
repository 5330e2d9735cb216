"""Complex numbers: gradients and second gradients as PyTorch has them, and as finite differences of the parts have them."""

import re
from pathlib import Path

import numpy as np
import pytest

import autolab
from autolab.autograd import gradcheck, gradgradcheck
from autolab.rules import TABLE

from .test_table import ELSEWHERE, rows_of

LINES = Path(__file__).with_name("complex_expressions.txt").read_text().splitlines()
EXPRESSIONS = [e.strip() for line in LINES if not line.startswith("#") for e in line.split(";")]
SHAPES = {"z": (3,), "w": (3,), "Z": (3, 3), "W": (3, 4), "B": (2, 3, 3), "s": ()}


def numbers(rng, shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def values():
    rng = np.random.default_rng(0)
    found = {name: numbers(rng, shape) for name, shape in SHAPES.items()}
    return found | {"x": rng.standard_normal(3) ** 2 + 0.3, "X": rng.standard_normal((3, 3))}


def weights(T, tensors, seed):
    rng = np.random.default_rng(seed)
    made = [numbers(rng, tuple(t.shape)) for t in tensors]
    return [T.tensor(w if t.is_complex() else w.real, requires_grad=True) for w, t in zip(made, tensors)]


def derivatives(T, expression):
    """The value, the gradients of it along weights, and the gradients of those."""
    known = {name: T.tensor(v, requires_grad=True) for name, v in values().items()}
    asked = [t for name, t in known.items() if re.search(rf"(?<![.\w]){name}\b", expression)]
    found = eval(expression, {"T": T, **known})
    outs = list(found) if isinstance(found, tuple | list) else [found]
    first = weights(T, outs, 1)
    gs = T.autograd.grad(outs, asked, first, create_graph=True)
    moving = [g for g in gs if g.requires_grad]
    more = T.autograd.grad(moving, asked + first, weights(T, moving, 2), allow_unused=True) if moving else ()
    return [None if t is None else t.detach().resolve_conj().numpy() for t in [*outs, *gs, *more]]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gradients_of_complex_numbers_are_pytorchs(torch, expression):
    for ours, theirs in zip(derivatives(autolab, expression), derivatives(torch, expression), strict=True):
        if ours is not None and theirs is not None:
            assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(0 if ours is None else ours, 0 if theirs is None else theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", [
    lambda z: z * z, lambda z: z.abs(), lambda z: z.sgn(), lambda z: z.angle(), lambda z: z.conj() * z, lambda z: (z.exp(), z.real),
    lambda z: z.norm(), lambda z: z.prod(), lambda z: z.var(), lambda z: autolab.polar(z.real, z.imag), lambda z: z * z.imag,
])  # fmt: skip
def test_both_modes_twice_agree_with_finite_differences_of_the_parts(f):
    z = autolab.tensor(values()["z"], requires_grad=True)
    assert gradcheck(f, z, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert gradgradcheck(f, z, check_fwd_over_rev=True, check_batched_grad=True)


def rows_run(expression, compared):
    """The rows that made the value of an expression, and its gradients."""
    known = {name: autolab.tensor(v, requires_grad=True) for name, v in values().items()}
    found = eval(expression, {"T": autolab, **known})
    outs = list(found) if isinstance(found, tuple | list) else [found]
    gs = autolab.autograd.grad(outs, list(known.values()), weights(autolab, outs, 1), create_graph=True, allow_unused=True)
    compared.update(*[rows_of(t) for t in [*outs, *gs] if t is not None])


def test_every_row_of_complex_numbers_is_compared():
    compared = set()
    for expression in EXPRESSIONS:
        rows_run(expression, compared)
    assert {name for name in ELSEWHERE & TABLE.keys() if TABLE[name].forward.__module__ == "autolab.rules.complex_numbers"} <= compared


class NotConjugated(autolab.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


def test_gradcheck_finds_that_a_conjugate_is_missing():
    with pytest.raises(autolab.autograd.GradcheckError, match="Jacobian mismatch"):
        gradcheck(NotConjugated.apply, autolab.tensor([1 + 2j], dtype=autolab.complex128, requires_grad=True))


def test_the_gradient_of_a_real_loss_points_the_way_in_which_it_grows():
    z = autolab.tensor(3 + 4j, requires_grad=True)
    z.abs().backward()
    assert z.grad.item() == pytest.approx(0.6 + 0.8j)


def test_a_real_input_that_meets_a_complex_one_gets_a_real_gradient():
    x = autolab.tensor([2.0], requires_grad=True)
    (x * (1 + 2j)).backward(autolab.tensor([1j]))
    assert x.grad.dtype == autolab.float32
    assert x.grad.item() == 2.0


@pytest.mark.parametrize("name", ["relu", "floor", "sort", "max", "erf", "clamp", "softmax", "lt"])
def test_what_is_for_real_numbers_refuses_complex_ones(name):
    more = {"clamp": (0, 1), "softmax": (0,), "lt": (1,)}.get(name, ())
    with pytest.raises(NotImplementedError, match="not (implemented|supported) for|does not support complex"):
        getattr(autolab.tensor([1j]), name)(*more)
