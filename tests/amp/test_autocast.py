"""autocast runs each operation in PyTorch's dtype for it, and casts are recorded like anything else."""

import warnings

import pytest

import autolab
from autolab.amp import policies
from autolab.amp.policies import table

F = lambda T: T.nn.functional
# (T, m): m(2, 3) is a tensor of ones of that shape in the dtype under test
CALLS = {
    "matmul": lambda T, m: m(2, 3) @ m(3, 2), "mm": lambda T, m: T.mm(m(2, 3), m(3, 2)), "bmm": lambda T, m: T.bmm(m(2, 2, 3), m(2, 3, 2)),
    "mv": lambda T, m: T.mv(m(2, 3), m(3)), "dot": lambda T, m: T.dot(m(3), m(3)), "matmul of stacks": lambda T, m: m(2, 2, 3) @ m(3, 2),
    "matmul with a vector": lambda T, m: m(2, 3) @ m(3), "addmm": lambda T, m: T.addmm(m(2, 2), m(2, 3), m(3, 2)),
    "baddbmm": lambda T, m: T.baddbmm(m(2, 2, 2), m(2, 2, 3), m(2, 3, 2)), "einsum": lambda T, m: T.einsum("ij,jk->ik", m(2, 3), m(3, 2)),
    "linear": lambda T, m: F(T).linear(m(2, 3), m(4, 3), m(4)), "linear without bias": lambda T, m: F(T).linear(m(2, 3), m(4, 3)),
    "of two dtypes": lambda T, m: T.mm(m(2, 3), T.ones(3, 2)), "outer": lambda T, m: T.outer(m(2), m(3)),
    "exp": lambda T, m: m(2).exp(), "log": lambda T, m: m(2).log(), "sum": lambda T, m: m(2).sum(), "mean": lambda T, m: m(2).mean(),
    "prod": lambda T, m: m(2).prod(), "cumsum": lambda T, m: m(2).cumsum(0), "softmax": lambda T, m: F(T).softmax(m(2, 2), 1),
    "log_softmax": lambda T, m: F(T).log_softmax(m(2, 2), 1), "pow": lambda T, m: m(2) ** 2, "pow of tensors": lambda T, m: m(2) ** m(2),
    "sigmoid": lambda T, m: m(2).sigmoid(), "relu": lambda T, m: m(2).relu(), "gelu": lambda T, m: F(T).gelu(m(2)),
    "add": lambda T, m: m(2) + T.ones(2), "norm": lambda T, m: m(2).norm(), "var": lambda T, m: m(2).var(),
    "layer_norm": lambda T, m: F(T).layer_norm(m(2, 2), (2,)), "mse_loss": lambda T, m: F(T).mse_loss(m(2), m(2)),
    "cross_entropy": lambda T, m: F(T).cross_entropy(m(2, 2), T.tensor([0, 1])), "nll_loss": lambda T, m: F(T).nll_loss(m(2, 2), T.tensor([0, 1])),
    "bce with logits": lambda T, m: F(T).binary_cross_entropy_with_logits(m(2), m(2)), "cat": lambda T, m: T.cat([m(2), T.ones(2)]),
    "stack": lambda T, m: T.stack([m(2), T.ones(2)]), "cat of one dtype": lambda T, m: T.cat([m(2), m(2)]), "sqrt": lambda T, m: m(2).sqrt(),
    "logsumexp": lambda T, m: m(2).logsumexp(0), "embedding": lambda T, m: F(T).embedding(T.tensor([0]), m(2, 2)), "max": lambda T, m: m(2).max(),
    "softplus": lambda T, m: F(T).softplus(m(2)), "where": lambda T, m: T.where(m(2) > 0, m(2), T.ones(2)), "cdist": lambda T, m: T.cdist(m(2, 2), m(2, 2)),
    "conv2d": lambda T, m: F(T).conv2d(m(1, 1, 4, 4), m(1, 1, 2, 2)), "conv of two dtypes": lambda T, m: F(T).conv1d(m(1, 1, 4), T.ones(1, 1, 2)),
    "l1_loss": lambda T, m: F(T).l1_loss(m(2), m(2)), "huber_loss": lambda T, m: F(T).huber_loss(m(2), m(2)),
    "smooth_l1_loss": lambda T, m: F(T).smooth_l1_loss(m(2), m(2)), "kl_div": lambda T, m: F(T).kl_div(m(2), m(2), reduction="sum"),
    "attention": lambda T, m: F(T).scaled_dot_product_attention(m(1, 2, 3), m(1, 2, 3), m(1, 2, 3)), "prelu": lambda T, m: F(T).prelu(m(2, 2), m(1)),
    "bce": lambda T, m: F(T).binary_cross_entropy(m(2) / 2, m(2)), "trace": lambda T, m: m(2, 2).trace(), "avg_pool2d": lambda T, m: F(T).avg_pool2d(m(1, 1, 2, 2), 2),
    "batch_norm": lambda T, m: F(T).batch_norm(m(2, 2), None, None, training=True), "hinge": lambda T, m: F(T).hinge_embedding_loss(m(2), m(2)),
}  # fmt: skip


def dtype_of(T, call, autocast_dtype, input_dtype):
    with T.autocast("cpu", dtype=getattr(T, autocast_dtype)):
        return str(call(T, lambda *shape: T.ones(*shape).to(getattr(T, input_dtype))).dtype)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("half", "given"), [("bfloat16", "float32"), ("bfloat16", "bfloat16"), ("float16", "float32"), ("float16", "float16")]
)
def test_each_operation_has_pytorchs_dtype(torch, call, half, given):
    assert dtype_of(autolab, call, half, given) == dtype_of(torch, call, half, given)


@pytest.mark.parametrize("name", ["matmul", "linear", "exp", "mse_loss", "cat of one dtype"])
def test_float64_is_left_alone(lib, name):
    assert dtype_of(lib, CALLS[name], "bfloat16", "float64") == "torch.float64"


# what PyTorch's documentation says of "cuda", which cannot be run against it here
CUDA = {
    "float16": ["matmul", "linear", "mv", "bmm", "einsum", "addmm", "of two dtypes", "conv2d", "attention", "prelu"],
    "float32": ["exp", "log", "sum", "prod", "cumsum", "softmax", "log_softmax", "pow", "pow of tensors", "norm", "layer_norm", "mse_loss",
                "cross_entropy", "nll_loss", "bce with logits", "softplus", "logsumexp", "cat", "l1_loss", "kl_div"],
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "name"), [(d, n) for d, names in CUDA.items() for n in names])
@pytest.mark.parametrize("given", [autolab.float16, autolab.float32])
def test_the_table_of_cuda_is_the_documented_one(dtype, name, given):
    T = autolab
    with T.autocast("cuda"):
        out = CALLS[name](T, lambda *shape: T.ones(*shape, dtype=given))
    assert out.dtype == getattr(T, dtype)


@pytest.mark.parametrize("name", ["relu", "max", "sigmoid", "cat of one dtype"])
def test_other_operations_follow_their_inputs(name):
    with autolab.autocast("cuda"):
        assert CALLS[name](autolab, lambda *shape: autolab.ones(*shape).half()).dtype == autolab.float16


def test_the_policies_can_be_read():
    text = policies("cuda")
    assert "matmul" in text and "log_softmax" in text and "refused: binary_cross_entropy" in text
    assert table("cuda")["pow_scalar"] == "float32" and "relu" not in table("cuda")


# -- casts are part of the graph -----------------------------------------------------------------------


def test_gradients_of_float32_leaves_are_float32(lib):
    w, x = lib.ones(3, 3, requires_grad=True), lib.ones(2, 3, requires_grad=True)
    with lib.autocast("cpu"):
        y = (x @ w).relu() @ w
    assert y.dtype == lib.bfloat16
    y.float().sum().backward()
    assert w.grad.dtype == x.grad.dtype == lib.float32


def test_the_values_are_those_of_casting_by_hand(lib):
    lib.manual_seed(0)
    w, x = lib.randn(5, 4), lib.randn(3, 5)
    with lib.autocast("cpu", dtype=lib.float16):
        assert lib.equal(x @ w, x.half() @ w.half())


def casts_of(lib, w, cache_enabled):
    with lib.autocast("cpu", cache_enabled=cache_enabled):
        a, b = w @ w, w @ w
    return [n for t in (a, b) for n, _ in t.grad_fn.next_functions]


def test_a_parameter_is_cast_once_in_a_block(lib):
    w = lib.ones(2, 2, requires_grad=True)
    nodes = casts_of(lib, w, True)
    assert all(n == nodes[0] for n in nodes) and "ToCopyBackward0" in nodes[0].name()
    nodes = casts_of(lib, w, False)
    assert nodes[0] != nodes[-1]


def test_the_cache_ends_with_the_outermost_block(lib):
    w = lib.ones(2, 2, requires_grad=True)
    with lib.autocast("cpu"):
        with lib.autocast("cpu"):
            inner = (w @ w).grad_fn.next_functions[0][0]
        assert (w @ w).grad_fn.next_functions[0][0] == inner
    with lib.autocast("cpu"):
        assert (w @ w).grad_fn.next_functions[0][0] != inner


def test_a_cast_made_without_recording_is_not_used_with_it():
    w = autolab.ones(2, 2, requires_grad=True)
    with autolab.autocast("cpu"):
        with autolab.no_grad():
            w @ w
        assert (w @ w).requires_grad


def test_a_parameter_written_to_in_the_block_is_cast_anew():
    w = autolab.ones(2, 2, requires_grad=True)
    with autolab.autocast("cpu"):
        w @ w
        with autolab.no_grad():
            w.fill_(2)
        assert (w @ w).tolist() == [[8, 8], [8, 8]]


# -- blocks ----------------------------------------------------------------------------------------------


def test_blocks_nest_and_can_be_turned_off(lib):
    w = lib.ones(2, 2)
    with lib.autocast("cpu"):
        with lib.autocast("cpu", enabled=False):
            assert (w @ w).dtype == lib.float32
        with lib.autocast("cpu", dtype=lib.float16):
            assert (w @ w).dtype == lib.float16
        assert (w @ w).dtype == lib.bfloat16
    assert (w @ w).dtype == lib.float32


def test_a_decorated_function_runs_in_a_block(lib):
    @lib.autocast("cpu")
    def product(w):
        "Twice."
        return w @ w

    assert product(lib.ones(2, 2)).dtype == lib.bfloat16
    assert product.__doc__ == "Twice."
    assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype == lib.float32


def test_what_is_in_force_can_be_asked(lib):
    assert not lib.is_autocast_enabled("cpu")
    assert lib.get_autocast_dtype("cpu") == lib.bfloat16
    assert lib.get_autocast_dtype("cuda") == lib.float16
    with lib.autocast("cpu", dtype=lib.float16, cache_enabled=False):
        assert lib.is_autocast_enabled("cpu")
        assert lib.get_autocast_dtype("cpu") == lib.float16
        assert not lib.is_autocast_cache_enabled()
    assert lib.amp.is_autocast_available("cuda")


def test_an_error_leaves_the_block(lib):
    with pytest.raises(RuntimeError), lib.autocast("cpu"):
        lib.ones(2, 3) @ lib.ones(2, 3)
    assert not lib.is_autocast_enabled("cpu")


def test_misuse_is_refused_in_the_same_words(lib):
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        lib.autocast(3)
    with pytest.raises(RuntimeError, match="'tpu'|tpu"):
        lib.autocast("tpu")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported. Disabling autocast."):
        autocast = lib.autocast("cpu", dtype=lib.float32)
    with autocast:
        assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype == lib.float32
    with pytest.raises(TypeError, match=r"autocast\(\)\(func\) requires a callable, but got int"):
        lib.autocast("cpu")(3)


def test_other_names_for_it():
    from autolab.cpu.amp import autocast as on_cpu
    from autolab.cuda.amp import autocast as on_cuda

    w = autolab.ones(2, 2)
    with pytest.warns(FutureWarning, match=r"`torch.cuda.amp.autocast\(args...\)` is deprecated. Please use"), on_cuda():
        assert (w @ w).dtype == autolab.float16
    with pytest.warns(FutureWarning, match=r"`torch.cpu.amp.autocast\(args...\)` is deprecated"), on_cpu():
        assert (w @ w).dtype == autolab.bfloat16
    with autolab.amp.autocast("cuda", dtype=autolab.bfloat16):
        assert (w @ w).dtype == autolab.bfloat16


def test_binary_cross_entropy_is_refused_on_cuda():
    with (
        pytest.raises(RuntimeError, match="torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast"),
        autolab.autocast("cuda"),
    ):
        CALLS["bce"](autolab, autolab.ones)


def test_off_it_leaves_no_trace_on_the_way():
    from autolab.engine.modes import modes, slow_threads

    assert not slow_threads
    with autolab.autocast("cpu"):
        assert not modes.fast and len(slow_threads) == 1
    assert modes.fast and not slow_threads


# -- with Functions and other modes --------------------------------------------------------------------------


def scaled(lib, cast_inputs):
    seen = []

    class Product(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, lib.is_autocast_enabled("cpu")))
            return a @ b

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append((g.dtype, lib.is_autocast_enabled("cpu")))
            return (g @ b.T).to(a.dtype), (a.T @ g).to(b.dtype)

    return Product, seen


def test_a_function_may_choose_its_dtype(lib):
    Product, seen = scaled(lib, lib.float32)
    a = lib.ones(2, 2, dtype=lib.bfloat16, requires_grad=True)
    with lib.autocast("cpu"):
        y = Product.apply(a, a)
    y.sum().backward()
    assert seen == [(lib.float32, False), (lib.float32, False)] and y.dtype == lib.float32


def test_or_run_as_it_is_called(lib):
    Product, seen = scaled(lib, None)
    a = lib.ones(2, 2, requires_grad=True)
    with lib.autocast("cpu"):
        y = Product.apply(a, a)
    y.sum().backward()
    assert seen == [(lib.float32, True), (lib.bfloat16, True)]
    seen.clear()
    Product.apply(a, a)
    assert seen == [(lib.float32, False)]


def test_transforms_see_the_casts():
    T = autolab
    with T.autocast("cpu"):
        g = T.func.grad(lambda w: (w @ w).float().sum())(T.ones(2, 2))
    assert g.dtype == T.float32 and g.tolist() == [[4, 4], [4, 4]]


def test_second_derivatives_under_autocast(lib):
    x = lib.full((2, 2), 2.0, requires_grad=True)
    with lib.autocast("cpu"):
        y = (x @ x).float().pow(2).sum()
    (g,) = lib.autograd.grad(y, x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    assert h.dtype == lib.float32 and h[0, 0].item() == pytest.approx(192)
    with warnings.catch_warnings(action="error"):
        assert y.dtype == lib.float32
