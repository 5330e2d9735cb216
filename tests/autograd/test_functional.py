"""autograd.functional: the same numbers, structures and refusals on both sides."""

import pytest

import autolab

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

FUNCTIONS = {
    "one to one": (lambda x: x.exp() * x, 1),
    "two to one": (lambda x, y: x * y.sum() + y, 2),
    "one to two": (lambda x: (x * 2, (x**2).sum()), 1),
    "two to two": (lambda x, y: (x * y, (x - y).sum()), 2),
    "of one of two": (lambda x, y: x * x, 2),
    "linear": (lambda x: x * 3, 1),
}
SCALARS = {
    "of one": (lambda x: (x**3).sum(), 1),
    "of two": (lambda x, y: (x**2 * y).sum() + y.exp().sum(), 2),
    "of one of two": (lambda x, y: (x**2).sum(), 2),
    "with one entry": (lambda x: (x**3).sum().reshape(1), 1),
}


def points(lib, n, seed=0):
    numbers = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]
    found = tuple(lib.tensor([a + seed for a in row]) for row in numbers[:n])
    return found if n > 1 else found[0]


def plain(found):
    return tuple(plain(one) for one in found) if isinstance(found, tuple | list) else found.tolist()  # PyTorch mixes them


def deep_equal(a, b):
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(deep_equal(x, y) for x, y in zip(a, b))
    return a == pytest.approx(b, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}], ids=str)
def test_a_jacobian_has_pytorchs_structure_and_numbers(torch, name, options):
    f, n = FUNCTIONS[name]
    results = [plain(lib.autograd.functional.jacobian(f, points(lib, n), **options)) for lib in (autolab, torch)]
    assert deep_equal(*results)


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}], ids=str)
def test_a_hessian_has_pytorchs_structure_and_numbers(torch, name, options):
    f, n = SCALARS[name]
    results = [plain(lib.autograd.functional.hessian(f, points(lib, n), **options)) for lib in (autolab, torch)]
    assert deep_equal(*results)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_with_the_jacobian_are_pytorchs(torch, name):
    f, n = FUNCTIONS[name]
    results = []
    for lib in (autolab, torch):
        functional = lib.autograd.functional
        outputs = f(*points(lib, n)) if n > 1 else f(points(lib, n))
        ones = tuple(map(lib.ones_like, outputs)) if isinstance(outputs, tuple) else lib.ones_like(outputs)
        results.append((plain(functional.vjp(f, points(lib, n), ones)), plain(functional.jvp(f, points(lib, n), points(lib, n, 1.0)))))
    assert deep_equal(*results)


@pytest.mark.parametrize("name", SCALARS)
def test_products_with_the_hessian_are_pytorchs_from_both_sides(torch, name):
    f, n = SCALARS[name]
    results = []
    for lib in (autolab, torch):
        functional = lib.autograd.functional
        results.append([plain(product(f, points(lib, n), points(lib, n, 1.0))) for product in (functional.vhp, functional.hvp)])
    assert deep_equal(*results)


@pytest.mark.parametrize("product", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_with_create_graph_the_result_can_be_differentiated(lib, product):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    v = () if product in ("jacobian", "hessian") else (lib.ones(2) if product != "vjp" else lib.tensor(1.0),)
    found = getattr(lib.autograd.functional, product)(lambda t: (t**4).sum(), x, *v, create_graph=True)
    last = found[1] if isinstance(found, tuple) else found
    (g,) = lib.autograd.grad(last.sum(), x)
    assert g.tolist() == ([12.0, 48.0] if product in ("vjp", "jvp", "jacobian") else [24.0, 48.0])


def test_without_create_graph_the_result_has_no_history(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    assert not lib.autograd.functional.jacobian(lambda t: t**2, x).requires_grad
    assert not any(t.requires_grad for t in lib.autograd.functional.hvp(lambda t: (t**3).sum(), x, lib.ones(2)))


REFUSALS = {
    "no tensor": (TypeError, "The inputs given to jacobian must be either a Tensor", lambda F, t, x: F.jacobian(lambda a: a, 3.0)),
    "an output that is not a tensor": (TypeError, "The outputs of the user-provided function given to", lambda F, t, x: F.vjp(lambda a: 3, x)),
    "no vector for several entries": (RuntimeError, "The vector v can only be None if the user-", lambda F, t, x: F.vjp(lambda a: a, x)),
    "no direction for several entries": (RuntimeError, "The vector v can only be None if the input", lambda F, t, x: F.jvp(lambda a: a, x)),
    "a vector of another size": (RuntimeError, "v has invalid size", lambda F, t, x: F.vjp(lambda a: a, x, t.ones(2))),
    "too many vectors": (RuntimeError, "The given v should contain a single", lambda F, t, x: F.vjp(lambda a: a, x, (x, x))),
    "a hessian of several": (RuntimeError, "The Tensor returned by the function given to hessian", lambda F, t, x: F.hessian(lambda a: a, x)),
    "strict, independent": (RuntimeError, "Output 0 of the user-provided function does not require", lambda F, t, x: F.vjp(lambda a: t.ones(3), x, x, strict=True)),
    "strict, of one input": (RuntimeError, "The output of the user-provided function is independent of input 1", lambda F, t, x: F.vjp(lambda a, b: a * 2, (x, x), x, strict=True)),
    "strict, a row": (RuntimeError, "Output 0 of the user-provided function is independent of input 1", lambda F, t, x: F.jacobian(lambda a, b: a * 2, (x, x), strict=True)),
    "strict, cut": (RuntimeError, "Output 0 of the user-provided function does not require", lambda F, t, x: F.hessian(lambda a: a.detach().sum(), x, strict=True)),
    "strict, linear": (RuntimeError, "While computing the hessian, found that the jacobian", lambda F, t, x: F.hessian(lambda a: a.sum(), x, strict=True)),
    "strict and vectorize": (RuntimeError, "torch.autograd.functional.jacobian: `strict=True` and", lambda F, t, x: F.jacobian(lambda a: a, x, strict=True, vectorize=True)),
    "forward, one by one": (NotImplementedError, "Computing Jacobian using forward-AD", lambda F, t, x: F.jacobian(lambda a: a, x, strategy="forward-mode")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_open_with_pytorchs_words(lib, name):
    error, words, call = REFUSALS[name]
    with pytest.raises(error) as caught:
        call(lib.autograd.functional, lib, lib.tensor([1.0, 2.0, 3.0]))
    assert str(caught.value).startswith(words)


def test_unit_vectors_run_over_the_entries_of_all_tensors(lib):
    a, b = lib.ones(1, 2), lib.ones((), dtype=lib.float64)
    first, second = lib.autograd.functional._construct_standard_basis_for((a, b), (2, 1))
    assert first.tolist() == [[1, 0], [0, 1], [0, 0]] and second.tolist() == [[0], [0], [1]]
    assert (first.dtype, second.dtype) == (lib.float32, lib.float64)
