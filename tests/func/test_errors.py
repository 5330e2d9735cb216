"""What transforms refuse, and the words that a message must contain: PyTorch's type and opening words, what was found, what to do."""

import re

import numpy as np
import pytest

import autolab
from autolab.func import grad, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = autolab.tensor([1.0, 2.0, 3.0])
escaped = []


def escape(x):
    escaped[:] = [x]
    return x.sum()


def write(target, value):
    def f(x):
        target.add_(x if value is None else value)
        return x.sum()

    return f


torch_sin = autolab.sin


class Round(autolab.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class Apart(Round):
    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


class Generated(Apart):
    generate_vmap_rule = True


class Both(Generated):
    @staticmethod
    def vmap(info, in_dims, x):
        return x.round(), 0


CASES = [
    (lambda: grad(lambda x: x * 2)(X), RuntimeError, "Expected f(*args) to return a scalar Tensor, got tensor with 1 dims", "[3]", "jacrev"),
    (lambda: grad(lambda x: 3.0)(X), RuntimeError, "Expected f(*args) to return a Tensor, got <class 'float'>"),
    (lambda: grad(lambda x: (x.sum(), 1), has_aux=True)(X), RuntimeError, "Expected tensors, got unsupported type <class 'int'>"),
    (lambda: grad(lambda x: x.sum(), has_aux=True)(X), RuntimeError, "should be a tuple: (output, aux) if has_aux is True"),
    (lambda: grad(lambda x: x.sum(), argnums=2)(X), RuntimeError, "Got argnum=2, but only 1 positional inputs"),
    (lambda: grad(lambda x: x.sum(), argnums="a")(X), RuntimeError, "argnums must be int or Tuple[int, ...], got"),
    (lambda: grad(lambda x: x.sum(), argnums=())(X), RuntimeError, "argnums must be non-empty"),
    (lambda: grad(lambda x, y: x.sum(), argnums=(0, 0))(X, X), RuntimeError, "argnums elements must be unique"),
    (lambda: grad(lambda x: x.sum())(autolab.arange(3)), RuntimeError, "only Tensors of floating point and complex dtype can require", "int64", ".float()"),
    (lambda: grad(lambda x: x)(3.0), ValueError, "must be Tensor, got <class 'float'>"),
    (lambda: grad(lambda d: d["a"].sum())({"a": 3.0}), ValueError, "must be Tensor, got <class 'float'>"),
    (lambda: vjp(lambda x: {"a": 3.0}, X), RuntimeError, "expected f(*primals) to return only tensors, got unsupported type <class 'float'>"),
    (lambda: vjp(lambda x: None, X), RuntimeError, "vjp(f, *primals): Expected f to be a function that has non-empty output"),
    (lambda: vjp(lambda x: x > 0, X), RuntimeError, "vjp(f, ...): All outputs of f must be floating-point or complex", "torch.bool"),
    (lambda: vjp(lambda x: {"a": x}, X)[1]((X,)), RuntimeError, "Expected pytree structure of cotangents to be the same", "(*,)", "{'a': *}"),
    (lambda: vjp(lambda x: 3.0, X), RuntimeError, "expected f(*primals) to return only tensors, got unsupported type <class 'float'>"),
    (lambda: vjp(lambda x: x * 2, X)[1](X[:2]), RuntimeError, "Mismatch in shape: grad_output[0] has a shape of", "[2]", "[3]"),
    (lambda: vjp(lambda x: (x, x), X)[1]((X,)), RuntimeError, "Expected pytree structure of cotangents", "cotangents: (*,), primal output: (*, *)"),
    (lambda: vjp(lambda x: x, X)[1](3.0), TypeError, "cotangent 0 must be a Tensor, got float"),
    (lambda: jvp(lambda x: x, X, X), RuntimeError, "Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."),
    (lambda: jvp(lambda x: x, (X,), (X, X)), RuntimeError, "same python structure", "structure (*,)", "structure (*, *)"),
    (lambda: jvp(lambda: X, (), ()), RuntimeError, "Expected primals to contain at least one Tensor"),
    (lambda: jvp(lambda x: x, (3.0,), (X,)), RuntimeError, "Expected primals to only contain Tensors, got <class 'float'>"),
    (lambda: linearize(torch_sin, X)[1](X, X), RuntimeError, "to have the same argspec as the primals"),
    (lambda: linearize(torch_sin, X)[1](X[:2]), RuntimeError, "tangent:0 with shape", "[2]", "doesn't match the shape", "[3]"),
    (lambda: linearize(torch_sin, X)[1](X.double()), RuntimeError, "tangent:0 with dtype torch.float64"),
    (lambda: linearize(torch_sin, X)[1](1.0), TypeError, "tangent 0 must be a Tensor, got float"),
    (lambda: linearize(torch_sin, X)[1](X.numpy()), TypeError, "tangent 0 must be a Tensor, got ndarray"),
    (lambda: jvp(lambda x: x, (X,), (X[:2],)), RuntimeError, "forward gradient that has a different size", "[3]", "[2]"),
    (lambda: jvp(lambda x: X, (X,), (X,), strict=True), RuntimeError, "independent of the inputs", "strict=True"),
    (lambda: jvp(lambda x: 3.0, (X,), (X,)), RuntimeError, "jvp(f, primals, tangents): expected f(*primals) to return only tensors"),
    (lambda: jacrev(lambda x: 3.0)(X), RuntimeError, "expected f(*primals) to return only tensors"),
    (lambda: jacfwd(lambda x: x)(3.0), RuntimeError, "Expected primals to only contain Tensors, got <class 'float'>"),
    (lambda: vmap(lambda x: x.item())(X), RuntimeError, "vmap: It looks like you're calling .item() on a Tensor", "outside of vmap"),
    (lambda: vmap(lambda x: x.tolist())(X), RuntimeError, "vmap: It looks like you're calling .item()"),
    (lambda: vmap(lambda x: X[x > 1])(X), RuntimeError, "We do not support batching operators that can support dynamic shape", "torch.where"),
    (lambda: vmap(lambda x: x if x > 0 else -x)(X), RuntimeError, "data-dependent control flow", "torch.where(condition, a, b)"),
    (lambda: vmap(lambda x: 3.0)(X), ValueError, "must only return Tensors, got type <class 'float'>", "out_dims= to None"),
    (lambda: vmap(lambda x: x, in_dims=(0, 0))(X), ValueError, "in_dims is not compatible with the structure of `inputs`", "structure (*, *)", "structure (*,)"),
    (lambda: vmap(lambda x: x, in_dims=1)(X), ValueError, "Got in_dim=1 for some input", "dimensionality 1", "-1 <= in_dim < 1"),
    (lambda: vmap(lambda x: x, in_dims="a")(X), ValueError, "expected `in_dims` to be int or a"),
    (lambda: vmap(lambda x: x, in_dims=None)(X), ValueError, "expected `in_dims` to be int or a"),
    (lambda: vmap(lambda x: x, in_dims=(None,))(X), ValueError, "Expected at least one Tensor to vmap over"),
    (lambda: vmap(lambda x: x)(3), ValueError, "We cannot vmap over non-Tensor arguments", "<class 'int'>"),
    (lambda: vmap(lambda x: x, in_dims=("a",))(X), ValueError, "Got in_dim=a for an input but in_dim must be either an integer dimension or None"),
    (lambda: vmap(lambda x: x, in_dims=([0, 0],))((X, X)), ValueError, "in_dims has structure ([*, *],) but inputs has structure ((*, *),)"),
    (lambda: vmap(lambda x: x, chunk_size=0)(X), ValueError, "vmap: chunk_size should be None or greater than 0. (got 0)"),
    (lambda: jacrev(lambda x: x, chunk_size=0)(X), ValueError, "jacrev: `chunk_size` should be greater than 0."),
    (lambda: vmap(lambda x: x)(), ValueError, "got no inputs"),
    (lambda: vmap(lambda x, y: x)(X, X[:2]), ValueError, "same size in the mapped dimension, got sizes [3, 2]"),
    (lambda: vmap(lambda x: x, out_dims=None)(X), ValueError, "can not return a BatchedTensor when out_dim is None"),
    (lambda: vmap(lambda x: x, out_dims=3)(X), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 3)"),
    (lambda: vmap(lambda x: (x, x), out_dims=(0,))(X), ValueError, "out_dims is not compatible", "out_dims has structure (*,) but outputs has structure (*, *)"),
    (lambda: vmap(lambda x: (x, x), out_dims=(0, "a"))(X), ValueError, "`out_dims` must be an int, None or a python collection of ints"),
    (lambda: vmap(lambda x: x, out_dims="a")(X), ValueError, "`out_dims` must be an int, None or a python collection of ints"),
    (lambda: vmap(lambda x: x, randomness="no"), RuntimeError, "Only allowed values for randomness", "no"),
    (lambda: vmap(lambda x: autolab.zeros(2).uniform_() + x, randomness="different")(X), RuntimeError, "different inplace randomness on an unbatched"),
    (lambda: vmap(autolab.bernoulli, randomness="same")(X / 9), RuntimeError, "same randomness with a batched tensor input", "'different'"),
    (lambda: vmap(lambda x: x + autolab.randn(3))(X), RuntimeError, "called random operation while in randomness error mode", "'same'"),
    (lambda: vmap(lambda x: autolab.nn.functional.dropout(x))(X), RuntimeError, "called random operation"),
    (lambda: grad(lambda x: x.sum().backward())(X), RuntimeError, "backward() called inside a functorch transform", "func.grad"),
    (lambda: grad(lambda x: autolab.zeros(3, requires_grad=True).sum())(X), RuntimeError, "attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional"),
    (lambda: grad(lambda x: autolab.autograd.grad(x.sum(), x)[0])(X), RuntimeError, "called inside a functorch transform", "func.vjp"),
    (lambda: grad(lambda x: x.requires_grad_().sum())(X), RuntimeError, "attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional"),
    (lambda: grad(lambda x: x.retain_grad())(X), RuntimeError, "attempting to call Tensor.retain_grad() inside", "has_aux=True"),
    (lambda: vmap(lambda x: x.register_hook(print))(X), RuntimeError, "register a hook on a tensor that doesn't require gradient"),
    (lambda: grad(lambda x: __import__("copy").deepcopy(x))(X), RuntimeError, "clone()"),
    (lambda: jvp(lambda x: x.numpy(), (X,), (X,)), RuntimeError, "Can't call numpy() on a Tensor inside", "detach().numpy()"),
    (lambda: grad(lambda x: __import__("numpy").asarray(x))(X), RuntimeError, "Can't call numpy() on a Tensor inside"),
    (lambda: grad(write(autolab.zeros(3), None))(X), RuntimeError, "mutate a captured Tensor", "level 0", "level 1", "out-of-place form"),
    (lambda: vmap(write(autolab.zeros(()), None))(X), RuntimeError, "inplace arithmetic(self, *extra_args) is not possible", "new_zeros"),
    (lambda: grad(lambda x: x.mul_(2).sum())(X), RuntimeError, "a leaf Variable that requires grad is being used in an in-place", "clone()"),
    (lambda: grad(lambda x: x[0].mul_(2).sum())(X), RuntimeError, "a view of a leaf Variable that requires grad"),
    (lambda: jvp(Apart.apply, (X,), (X,)), NotImplementedError, "You must implement the jvp function for custom autograd.Function"),
    (lambda: vmap(Apart.apply)(X), RuntimeError, "You tried to vmap over Apart, but it does not have vmap support", "generate_vmap_rule=True"),
    (lambda: vmap(Both.apply)(X), RuntimeError, "it has both generate_vmap_rule=True and an overridden vmap staticmethod", "ambiguity"),
    (lambda: grad(lambda x: x * autolab.ones(2))(X), RuntimeError, "The size of tensor a (3) must match the size of tensor b (2)"),
    (lambda: vmap(lambda x: x + autolab.ones(4))(autolab.ones(2, 3)), RuntimeError, "size of tensor a (3)", "b (4)", "dimension 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "phrases"), [(c, k, p) for c, k, *p in CASES])
def test_what_is_refused_and_why(call, kind, phrases):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    for phrase in phrases:
        assert phrase in str(caught.value)


@pytest.mark.parametrize(
    "use",
    [
        lambda box: box * 2,
        lambda box: 2 * box,
        lambda box: box.sum(),
        lambda box: grad(lambda x: (x * box).sum())(X),
        lambda box: vmap(lambda x: (x * box).sum())(X),
        lambda box: jvp(lambda x: x * box, (X,), (X,)),
        lambda box: box.item(),
        lambda box: box.shape,
    ],
)
@pytest.mark.parametrize("transform", [grad(escape), vmap(escape), lambda x: jvp(escape, (x,), (x,))])
def test_a_tensor_that_left_its_transform_is_refused(transform, use):
    transform(autolab.ones(3))
    with pytest.raises(RuntimeError, match=re.escape("used after the transform that made it had ended")):
        use(escaped[0])


def test_a_tensor_that_left_its_transform_can_be_printed():
    grad(escape)(X)
    assert repr(escaped[0]) == "GradTrackingTensor(lvl=1, value=its transform has ended)"


@pytest.mark.parametrize("name", ["nonzero", "argwhere"])
def test_results_of_another_shape_for_each_sample_are_refused(name):
    with pytest.raises(RuntimeError, match="We do not support batching operators that can output dynamic shape"):
        vmap(getattr(autolab, name))(autolab.ones(2, 3))


def test_strides_that_lead_out_of_a_sample_are_refused():
    x = autolab.arange(12.0).reshape(3, 4)
    assert vmap(lambda row: row.as_strided((2, 2), (1, 1)))(x).shape == (3, 2, 2)
    for size, stride, offset in (((5,), (1,), 0), ((2,), (4,), 0), ((4,), (1,), 1)):
        with pytest.raises(RuntimeError, match="out of bounds for the 4 entries .* not supported inside of vmap"):
            vmap(lambda row: row.as_strided(size, stride, offset))(x)  # noqa: B023


@pytest.mark.parametrize("format", [autolab.channels_last, autolab.channels_last_3d])
@pytest.mark.parametrize("name", ["clone", "contiguous", "is_contiguous"])
def test_a_sample_has_no_memory_order_of_its_own(name, format):
    with pytest.raises(RuntimeError, match="inside (of )?vmap"):
        vmap(lambda x: getattr(x, name)(memory_format=format) and x)(autolab.ones(3, 2))


def test_a_sample_that_got_out_of_vmap_says_so():
    kept = []
    vmap(lambda x: kept.append(x) or x * 2)(autolab.ones(3, 2))
    for use in (autolab.sin, autolab.Tensor.sin_, autolab.argmin, lambda x: x + 1):
        with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
            use(kept[0])


def test_anomaly_mode_looks_at_all_samples():
    with pytest.warns(UserWarning, match="SqrtBackward0"), autolab.autograd.set_detect_anomaly(True), np.errstate(invalid="ignore"):
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan"):
            vmap(autolab.func.grad(lambda x: x.sqrt().sum()))(autolab.tensor([1.0, -1.0]))


def test_a_product_says_how_many_dims_a_sample_has():
    with pytest.raises(RuntimeError, match="Shape mismatch: .*mat2 must be a matrix"):
        vmap(autolab.mm)(autolab.ones(3, 2, 2), autolab.ones(3, 2))


def test_where_of_a_condition_alone_is_refused_inside_vmap():
    with pytest.raises(RuntimeError, match="Attempted to vmap over aten::where"):
        vmap(lambda x: autolab.where(x > 0))(autolab.ones(3, 2))


def test_a_view_of_samples_that_do_not_lie_in_order_is_refused():
    x = autolab.arange(12.0).reshape(2, 3, 2)
    for f in (lambda x: x.view(4), lambda x: x.view_as(autolab.ones(4)), lambda x: x.t()[0].view(2, 1).t().view(1, 2).view(2)):
        vmap(f)(x.new_ones(3, 2, 2))
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        vmap(lambda x: x.view(4), in_dims=1)(x)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        vmap(lambda x: x.t().view(4))(x.new_ones(3, 2, 2))
    assert vmap(lambda x: x.contiguous().view(4), in_dims=1)(x).tolist() == x.movedim(1, 0).reshape(3, 4).tolist()


@pytest.mark.parametrize("transform", ["vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian"])
def test_a_function_without_setup_context_stays_outside_of_transforms(transform):
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod, for each transform needs a ctx of its own"):
        getattr(autolab.func, transform)(Round.apply)(X)
    assert Round.apply(X).tolist() == [1, 2, 3]


@pytest.mark.parametrize("transform", ["grad", "grad_and_value", "jacrev", "hessian"])
def test_hooks_on_saved_tensors_stay_outside_of_reverse_transforms(transform):
    f, around = getattr(autolab.func, transform), autolab.autograd.graph.save_on_cpu

    def within(x):
        with around():
            return x.sin().sum()

    with pytest.raises(RuntimeError, match="saved tensor hooks"), around():
        f(lambda x: x.sin().sum())(X)
    with pytest.raises(RuntimeError, match="saved tensor hooks"):
        f(within)(X)
    assert jvp(within, (X,), (X,))[1].shape == ()
    with around():
        (X.clone().requires_grad_() ** 2).sum().backward()


def test_out_and_equal_have_no_batching_rule():
    with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::abs.out; .* Leave out= away"):
        vmap(lambda x, y: autolab.abs(x, out=y))(autolab.ones(2, 3), autolab.ones(2, 3))
    with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::equal"):
        vmap(autolab.equal)(autolab.ones(2, 3), autolab.ones(2, 3))


@pytest.mark.parametrize("name", ["eig", "eigvals", "eigh", "inv", "det", "qr", "svd", "cholesky", "slogdet"])
def test_a_sample_that_is_no_matrix_is_refused_as_such(name):
    with pytest.raises(RuntimeError, match="dimension"):
        vmap(getattr(autolab.linalg, name))(autolab.ones(3, 3))


def test_what_differs_between_samples_is_not_drawn_into_one_tensor():
    out = autolab.zeros(3)
    with pytest.raises(RuntimeError, match="vmap: We do not support calling out variants of random operations inside of vmap"):
        vmap(lambda x: autolab.randn(3, out=out), randomness="different")(X)
    assert out.tolist() == [0, 0, 0]


@pytest.mark.parametrize("transform", [grad, vmap])
def test_numbers_are_not_exchanged_inside_a_transform(transform):
    def f(x):
        x.data = x * 2
        return x.sum()

    with pytest.raises(RuntimeError, match=r"mutating directly with `.data` inside functorch transform is not allowed"):
        transform(f)(X)
