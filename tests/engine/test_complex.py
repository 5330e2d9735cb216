"""Complex numbers in the engine: views of their parts, writing, hooks, what is refused. The same programs run in PyTorch."""

import copy
import io
import pickle

import numpy as np
import pytest

import autolab

PROGRAMS = [
    "y = z * 2; y.real.mul_(3); loss = (y.abs() ** 2).sum()",
    "y = z * 2; y.imag[0] = 5.0; loss = (y * y).real.sum()",
    "y = z * 2; y.real = z.imag; loss = (y * y).imag.sum()",
    "y = z * 2; part = y.real; y.mul_(1j); loss = part.sum()",
    "y = z * 2; part = y.real[1:]; y.mul_(z); loss = (part * part).sum()",
    "y = x * 2; w = T.view_as_complex(y); w.mul_(1j); loss = (y * y * y).sum()",
    "y = x * 2; w = T.view_as_complex(y); y.mul_(x); loss = (w * w).imag.sum()",
    "y = x * 2; w = T.view_as_complex(y[1:]); w.real.mul_(3); loss = (y ** 3).sum()",
    "y = z * 2; T.view_as_real(y)[:, 1].mul_(2); loss = (y * y).real.sum()",
    "y = z.clone(); y[0] = 2j; y += 1j; y *= z; loss = y.abs().sum()",
    "y = z.clone(); y.copy_(x[:, 0]); loss = (y * z).abs().sum()",
    "y = z.clone(); y[1:] = x[0]; loss = (y * z).abs().sum()",
    "y = z.clone(); y.conj_physical_(); loss = (y * z * 1j).real.sum()",
    "y = z * z; y.register_hook(lambda g: g * 1j); loss = y.abs().sum()",
    "z.register_hook(lambda g: g.conj() * 2); loss = z.angle().sum()",
    "z.abs().sum().backward(); loss = z.angle().sum()",
    "y = z.clone(); y.zero_(); loss = (y + z).abs().sum()",
]


def leaves(T):
    z = T.tensor([1 + 2j, 3 - 1j, -0.5 + 0.2j], dtype=T.complex128, requires_grad=True)
    return {"T": T, "z": z, "x": T.tensor([[1.0, 2], [3, 4], [5, 6]], dtype=T.float64, requires_grad=True)}


def gradients(T, program):
    names = leaves(T)
    exec(program, names)
    names["loss"].backward()
    return [None if names[k].grad is None else names[k].grad.resolve_conj().numpy() for k in "zx"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_write_into_complex_numbers_have_pytorchs_gradients(torch, program):
    for ours, theirs in zip(gradients(autolab, program), gradients(torch, program), strict=True):
        assert (ours is None) == (theirs is None)
        np.testing.assert_allclose(0 if ours is None else ours, 0 if theirs is None else theirs, atol=1e-12)


@pytest.mark.parametrize(("expression", "name"), [
    ("z * z", "MulBackward0"), ("z.abs()", "AbsBackward0"), ("z.real", "SelectBackward0"), ("z.angle()", "AngleBackward0"),
    ("z.sgn()", "SgnBackward0"), ("T.polar(x, x)", "PolarBackward0"), ("T.complex(x, x)", "ComplexBackward0"), ("z ** z", "PowBackward1"),
    ("T.view_as_real(z)", "ViewAsRealBackward0"), ("T.view_as_complex(x)", "ViewAsComplexBackward0"), ("z.conj()", "ConjBackward0"),
    ("z.conj_physical()", "ConjPhysicalBackward0"), ("x.to(T.complex64)", "ToCopyBackward0"), ("z.norm()", "LinalgVectorNormBackward0"),
])  # fmt: skip
def test_nodes_have_pytorchs_names(torch, expression, name):
    ours, theirs = (type(eval(expression, leaves(T)).grad_fn).__name__ for T in (autolab, torch))
    assert ours == theirs == name


WRONG = [
    ("(z * z).sum().backward()", "grad can be implicitly created only for real scalar outputs but got torch.complex128"),
    ("(z * z).backward(T.ones(3))", "For complex Tensors, both grad_output and output are required to have the same dtype"),
    ("z.abs().backward(T.ones(3) * 1j)", "For complex Tensors, both grad_output and output are required to have the same dtype"),
    ("x.detach().zero_().fill_(1j)", "value cannot be converted to type double without overflow"),
    ("x.imag", "imag is not implemented for tensors with non-complex dtypes"),
    ("x.detach().add_(1j)", "result type ComplexDouble can't be cast to the desired output type Double"),
    ("T.func.grad(lambda t: t * t)(z.detach()[0])", "grad can be implicitly created only for real scalar outputs"),
    ("T.func.jacrev(lambda t: t * 1j)(x.detach())", "jacrev: Expected all outputs to be real but received complex tensor"),
    ("T.func.jacfwd(lambda t: t * t)(z.detach())", "jacfwd: Expected all inputs to be real but received complex tensor"),
    ("T.view_as_complex(T.ones(2, 3))", "Tensor must have a last dimension of size 2"),
    ("T.view_as_complex(T.ones(3, 4)[:, ::2])", "Tensor must have a last dimension with stride 1"),
    ("T.complex(x, x.float())", "Expected object of scalar type Double but got scalar type Float for second argument"),
    ("float(z.detach()[0])", "value cannot be converted to type double without overflow"),
    ("z.sign()", "torch.sign is not intended to support complex numbers"),
    ("z.argmax()", "does not support complex input"),
]


@pytest.mark.parametrize(("expression", "words"), WRONG)
def test_what_cannot_be_is_refused_in_pytorchs_words(torch, expression, words):
    for T in (autolab, torch):
        with pytest.raises(RuntimeError, match=words):
            eval(expression, leaves(T))


def test_parts_look_into_the_number():
    z = autolab.tensor([1 + 2j])
    z.real[0], z.imag = 5.0, autolab.tensor([7.0])
    assert z.tolist() == [5 + 7j]


def test_the_imaginary_part_is_not_lost_without_a_word():
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert autolab.tensor([1 + 2j]).float().tolist() == [1.0]


def test_complex_tensors_can_be_copied_pickled_and_saved():
    z, file = autolab.tensor([[1 + 2j]], requires_grad=True), io.BytesIO()
    autolab.save(z.detach(), file)
    file.seek(0)
    for other in (copy.deepcopy(z.detach()), pickle.loads(pickle.dumps(z)), autolab.load(file)):
        assert (other.dtype, other.tolist()) == (autolab.complex64, [[1 + 2j]])


@pytest.mark.parametrize(
    "text", ["[1 + 2j, 3.5 - 1j]", "1j", "[1e-6 + 1j, 100]", "[[1 + 2j, -3], [4, 5j]]", "[1.5 - 2.25j] * 12", "[-0.0, 3e9j]"]
)
def test_they_print_as_in_pytorch(torch, text):
    assert repr(autolab.tensor(eval(text))) == repr(torch.tensor(eval(text)))


def test_sgd_steps_complex_parameters_and_what_does_not_says_so():
    z = autolab.nn.Parameter(autolab.tensor([3 + 4j]))
    z.abs().sum().backward()
    autolab.optim.SGD([z], lr=1.0).step()
    assert z.item() == pytest.approx(2.4 + 3.2j)
    with pytest.raises(TypeError, match="Adafactor does not support complex parameters"):
        autolab.optim.Adafactor([z])
