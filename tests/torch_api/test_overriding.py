"""Classes that see what is called with them: subclasses of Tensor, others, and modes. Both sides."""

import importlib

import pytest

import autolab
from autolab.torch_api import overriding


@pytest.fixture
def overrides(lib):
    return importlib.import_module(f"{lib.__name__}.overrides")


@pytest.fixture
def mine(lib):
    return type("Mine", (lib.Tensor,), {})


def test_a_subclass_stays_what_it_is(lib, mine):
    x = mine([1.0, 2.0])
    for y in (
        x + 1,
        1 - x,
        lib.ones(2) * x,
        lib.sin(x),
        lib.nn.functional.relu(x),
        x.view(2, 1),
        x[0],
        lib.cat([lib.ones(2), x]),
        *x.split(1),
        x.data,
    ):
        assert type(y) is mine
    assert type(x.max(0).values) is mine and repr(x) == "Mine([1., 2.])"
    assert type(lib.ones(2) + 1) is lib.Tensor


def test_a_subclass_has_gradients_like_any_tensor(lib, mine):
    x = mine([1.0, 2.0]).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4] and type(x.grad) is lib.Tensor
    with lib.no_grad():
        x -= x.grad
    assert type(x) is mine and x.is_leaf and x.tolist() == [-1, -2]


def test_what_is_computed_with_a_parameter_is_an_ordinary_tensor(lib):
    p = lib.nn.Parameter(lib.ones(2))
    assert type(p * 2) is type(lib.sin(p)) is lib.Tensor


def test_a_tensor_of_another_class_shares_numbers_and_history(lib, mine):
    x = lib.ones(2, requires_grad=True) * 3
    y = x.as_subclass(mine)
    assert type(y) is mine and y.requires_grad and y.data_ptr() == x.data_ptr()
    assert lib.Tensor._make_subclass(mine, x.detach(), True).is_leaf


def test_a_class_of_its_own_sees_the_public_functions(lib):
    seen = []

    class Noted(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = Noted([1.0, 2.0])
    _ = x + 1, lib.add(x, 1), x.shape, lib.nn.functional.relu(x)
    assert seen == [lib.Tensor.add, lib.add, lib.Tensor.shape.__get__, lib.nn.functional.relu]


def test_siblings_do_not_know_each_other(lib, mine):
    other = type("Other", (lib.Tensor,), {})
    with pytest.raises(
        TypeError, match=r"Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned NotImplemented"
    ):
        lib.add(mine([1.0]), other([1.0]))


KNOWN = {}


class Diagonal:
    """n equal numbers on a diagonal: no tensor."""

    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return KNOWN[func](*args, **(kwargs or {})) if func in KNOWN else NotImplemented


def test_what_is_no_tensor_can_say_what_functions_give(lib, overrides):
    KNOWN.update({lib.mean: lambda d: d.value / d.n, lib.add: lambda a, b: Diagonal(a.n, a.value + b.value)})
    d = Diagonal(5, 2)
    assert lib.mean(d) == 0.4 and lib.add(d, d).value == 4
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.mul'"):
        lib.mul(d, 3)
    with pytest.raises(TypeError, match="no implementation found for 'torch.nn.functional.relu' on types that implement"):
        lib.nn.functional.relu(d)
    assert overrides.is_tensor_like(d) and not overrides.is_tensor_like(3)
    assert overrides.has_torch_function((d,)) and not overrides.has_torch_function((lib.ones(1),))


def test_a_mode_sees_all_calls_of_its_block(lib, overrides):
    names = []

    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    with Log():
        total = lib.sum(lib.ones(2) + 1)
    assert total == 4 and names == ["torch.ones", "torch.Tensor.add", "torch.sum"]


def noting(lib, seen):
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append((func, args, kwargs))
        return super(kind, cls).__torch_function__(func, types, args, kwargs or {})

    kind = type("Noting", (lib.Tensor,), {"__torch_function__": classmethod(__torch_function__)})
    return kind


def test_backward_and_grad_ask_their_tensors_also_under_names_taken_before(lib):
    backward, grad, seen = lib.autograd.backward, lib.autograd.grad, []
    x = lib.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(noting(lib, seen))
    grad([y], x, lib.ones(2), retain_graph=True)
    backward(y, lib.ones(2))
    assert [func for func, _, _ in seen] == [grad, backward] and x.grad.tolist() == [2, 2]
    assert seen[0][1] == ((y,), (x,)) and seen[1][1] == ((y,),) and seen[1][2]["inputs"] is None


def test_backward_and_grad_ask_the_inputs_that_are_named(lib):
    seen = []
    x = noting(lib, seen)([1.0]).requires_grad_()
    y = (x * 2).as_subclass(lib.Tensor)
    del seen[:]
    found = lib.autograd.grad(y, {"x": x}, retain_graph=True)
    lib.autograd.backward(y, inputs={"x": x})
    assert [func for func, _, _ in seen] == [lib.autograd.grad, lib.autograd.backward] and type(found["x"]) is type(x)


def test_a_mode_sees_each_backward_pass_under_its_name(lib, overrides):
    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    names, x = [], lib.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with Log():
        lib.autograd.grad(y, x, retain_graph=True)
        y.backward()
    assert names == ["grad", "backward"]


def test_what_cannot_be_differentiated_by_those_asked_is_refused(lib, overrides):
    other = type("Other", (), {"__torch_function__": classmethod(lambda *about, **named: NotImplemented)})
    with pytest.raises(TypeError, match="no implementation found for 'torch.autograd.backward' on types that implement __torch_function__"):
        lib.autograd.backward(other())


def test_a_function_of_ones_own_can_ask(lib, overrides):
    @overrides.wrap_torch_function(lambda x: (x,))
    def size(x):
        return "ordinary"

    KNOWN[size] = lambda d: d.n
    assert size(lib.ones(1)) == "ordinary" and size(Diagonal(7, 0)) == 7


def test_an_input_that_a_function_gives_back_keeps_its_class(lib, mine):
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    assert type(Same.apply(mine([1.0]))) is mine


def test_methods_of_tensor_bear_their_own_names(lib):
    names = "float dim cpu new_zeros half backward type_as nelement __getitem__ __len__ __eq__ __rsub__ __rpow__ __bool__ __int__ __repr__"
    assert [getattr(lib.Tensor, name).__name__ for name in names.split()] == names.split()


def test_an_operator_stays_what_it_is(lib):
    handled = {lib.Tensor.__eq__: "equal", lib.Tensor.__floordiv__: "floor", lib.Tensor.__rsub__: "from"}
    seen = []

    class Watched(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(handled.get(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    t = lib.ones(2).as_subclass(Watched)
    for _ in range(2):
        t == 1, t // 2, 1 - t
    assert seen == ["equal", "floor", "from"] * 2


def test_a_parameter_made_of_a_subclass_is_one_of_it(lib):
    class Mine(lib.Tensor):
        pass

    p = lib.nn.Parameter(lib.ones(2).as_subclass(Mine))
    module = lib.nn.Module()
    module.weight = p
    assert type(p) is Mine and isinstance(p, lib.nn.Parameter) and p.requires_grad and p.is_leaf
    assert [q is p for q in module.parameters()] == [True]
    assert not isinstance(lib.ones(2).as_subclass(Mine), lib.nn.Parameter)


def test_the_engines_own_names_are_on_tensor():
    names = {name for name in overriding.ENGINE_NAMES if not name.startswith("__")}
    assert names <= {*vars(autolab.Tensor)} and names.isdisjoint(overriding.methods())


CALLS_OF_PYTORCH = {
    "a function": lambda torch, t: torch.exp(t),
    "one in Python": lambda torch, t: torch.nn.functional.relu(t),
    "several tensors": lambda torch, t: torch.stack([t, t]),
    "a method": lambda torch, t: torch.Tensor.add(torch.ones(2), t),
    "a tensor of each": lambda torch, t: torch.add(torch.ones(2), t),
}


@pytest.mark.parametrize("call", CALLS_OF_PYTORCH.values(), ids=CALLS_OF_PYTORCH)
def test_pytorchs_own_functions_say_that_a_tensor_is_not_theirs(call, torch):
    with pytest.raises(TypeError, match=r"no implementation found for PyTorch's own \w+ .*autolab.*torch.from_numpy"):
        call(torch, autolab.ones(2, requires_grad=True))
