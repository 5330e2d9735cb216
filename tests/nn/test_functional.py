"""Functions of nn: laws that their formulas keep, far-out inputs, and what PyTorch's own samples do not ask."""

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.autograd import gradgradcheck
from autolab.nn import functional as F
from autolab.transforms.batched import loops

pytestmark = pytest.mark.filterwarnings(r"ignore::RuntimeWarning:autolab\.")


def normal(*shape, seed=0, **options):
    return autolab.tensor(np.random.default_rng(seed).standard_normal(shape), **options)


def inner(a, b):
    return float((a * b).sum())


# -- convolutions and pools ------------------------------------------------------------------------


def test_a_convolution_is_a_sum_over_what_each_place_sees():
    x, w = normal(1, 2, 5, 5), normal(3, 2, 3, 2, seed=1)
    out = F.conv2d(x, w, stride=2)
    seen = x.numpy()[0, :, 2:5, 2:4]
    assert out.shape == (1, 3, 2, 2)
    assert out[0, 1, 1, 1].item() == pytest.approx((seen * w.numpy()[1]).sum())


@pytest.mark.parametrize("settings", [{}, {"stride": 2}, {"padding": 1, "dilation": 2}, {"groups": 2, "stride": (2, 1)}], ids=str)
def test_the_transposed_convolution_is_the_transpose(settings):
    x, w = normal(2, 4, 7, 7), normal(6, 4 // settings.get("groups", 1), 3, 3, seed=1)
    out = F.conv2d(x, w, **settings)
    g = normal(*out.shape, seed=2)
    back = F.conv_transpose2d(g, w, **settings)
    assert inner(out, g) == pytest.approx(inner(x[..., : back.shape[-2], : back.shape[-1]], back))


def test_a_batch_too_large_for_the_cache_is_cut_and_nothing_else_changes(monkeypatch):
    from autolab.fast.kernels import conv

    def run():
        x, w = normal(5, 3, 6, 6, requires_grad=True), normal(4, 3, 3, 3, seed=1, requires_grad=True)
        out = F.conv2d(x, w, padding=1)
        return out, *autolab.autograd.grad((out * out).sum(), (x, w))

    whole = run()
    monkeypatch.setattr(conv, "ENTRIES", 1)
    for a, b in zip(whole, run(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)


def test_fold_divided_by_how_often_an_entry_was_seen_undoes_unfold():
    x = normal(2, 3, 5, 6)
    patches = lambda t: F.fold(F.unfold(t, 3, padding=1), (5, 6), 3, padding=1)
    np.testing.assert_allclose((patches(x) / patches(autolab.ones_like(x))).numpy(), x.numpy())


def test_a_tie_in_a_pool_goes_to_the_first_entry():
    x = autolab.ones(1, 1, 2, 2, requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[[1, 0], [0, 0]]]]


def test_a_pool_of_a_pool_can_be_differentiated_twice():
    x = normal(1, 2, 6, 6, requires_grad=True)
    assert gradgradcheck(lambda t: F.avg_pool2d(F.max_pool2d(t, 3, 1, 1) ** 2, 2), (x,))


# -- far out ---------------------------------------------------------------------------------------

FAR = [-np.inf, -1e30, -1e4, -90.0, -20.0, 0.0, 20.0, 90.0, 1e4, 1e30]
ACTIVATIONS = (
    "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu silu softplus softshrink "
    "softsign tanhshrink"
)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ACTIVATIONS.split())
def test_an_activation_far_out_is_pytorchs(torch, name, dtype):
    def run(T):
        x = T.tensor(FAR[1:], dtype=getattr(T, dtype), requires_grad=True)
        out = getattr(T.nn.functional, name)(x)
        return out, *T.autograd.grad(out.sum(), x)

    for ours, theirs in zip(run(autolab), run(torch), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-6, atol=1e-30)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", ["cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss", "multilabel_soft_margin_loss"])
def test_a_loss_of_large_scores_is_pytorchs(torch, loss):
    scores = np.array([[1e4, -1e4, 0.0], [-300.0, 300.0, 299.0], [80.0, 81.0, -80.0]], np.float32)

    def run(T):
        x = T.tensor(scores, requires_grad=True)
        targets = T.tensor([1, 0, 2]) if loss == "cross_entropy" else T.tensor(np.eye(3, dtype=np.float32))
        out = getattr(T.nn.functional, loss)(x, targets)
        return out, *T.autograd.grad(out, x)

    for ours, theirs in zip(run(autolab), run(torch), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-12)


# -- attention and norms ---------------------------------------------------------------------------


def test_a_query_that_may_look_nowhere_sees_nothing():
    q, k, v = (normal(2, 3, 4, seed=s, requires_grad=True) for s in range(3))
    mask = autolab.tensor([[True, True, False], [False, False, False], [True, True, True]])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    out.sum().backward()
    assert not out[:, 1].any()
    assert not q.grad[:, 1].any() and q.grad.isfinite().all()


def test_heads_that_share_keys_are_heads_with_copies_of_them():
    q, k, v = normal(2, 6, 4, 5), normal(2, 2, 7, 5, seed=1), normal(2, 2, 7, 3, seed=2)
    shared = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    copies = F.scaled_dot_product_attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1))
    np.testing.assert_allclose(shared.numpy(), copies.numpy(), rtol=1e-12)


def test_the_running_statistics_follow_the_batches():
    mean, var = autolab.zeros(3, dtype=autolab.float64), autolab.ones(3, dtype=autolab.float64)
    x = 5 + 2 * normal(4, 3, 5)
    for _ in range(60):
        F.batch_norm(x, mean, var, training=True, momentum=0.2)
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2)).numpy(), rtol=1e-5)
    np.testing.assert_allclose(var.numpy(), x.var((0, 2)).numpy(), rtol=1e-5)
    trained = F.batch_norm(x, mean, var)
    np.testing.assert_allclose(trained.numpy(), F.batch_norm(x, None, None, training=True).numpy(), rtol=0.05, atol=0.05)


def test_max_norm_shortens_only_the_rows_that_are_used():
    table = 3 * normal(4, 5)
    before = table.clone()
    F.embedding(autolab.tensor([1, 3, 1]), table, max_norm=1.0)
    assert np.allclose(table.norm(dim=1).numpy()[[1, 3]], 1, atol=1e-6)
    assert (table[[0, 2]] == before[[0, 2]]).all()


# -- chance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dropout", ["dropout", "dropout1d", "dropout2d", "dropout3d"])
def test_dropout_keeps_the_mean_and_its_gradient_is_its_mask(dropout):
    autolab.manual_seed(0)
    x = autolab.ones(50, 40, *{"dropout": (), "dropout1d": (3,), "dropout2d": (3, 2), "dropout3d": (3, 2, 2)}[dropout], requires_grad=True)
    out = getattr(F, dropout)(x, 0.3)
    out.sum().backward()
    assert (x.grad == out).all()
    assert set(np.unique(out.detach().numpy())) == {np.float32(0), np.float32(1 / 0.7)}
    assert out.mean().item() == pytest.approx(1, abs=0.05)


def test_channelwise_dropout_drops_whole_channels():
    autolab.manual_seed(0)
    out = F.dropout2d(autolab.ones(30, 20, 4, 4), 0.5)
    assert ((out == out[..., :1, :1]).all(-1).all(-1)).all()


@pytest.mark.parametrize("dropout", [F.alpha_dropout, F.feature_alpha_dropout])
def test_alpha_dropout_keeps_mean_0_and_variance_1(dropout):
    autolab.manual_seed(0)
    x = normal(400, 300)
    out = dropout(x.unsqueeze(-1), 0.2, training=True)
    assert out.mean().item() == pytest.approx(0, abs=0.02)
    assert out.var().item() == pytest.approx(1, abs=0.03)


def test_gumbel_softmax_chooses_with_the_probabilities_of_softmax():
    autolab.manual_seed(0)
    logits = autolab.tensor([0.0, 1.0, 2.0], requires_grad=True)
    choices = F.gumbel_softmax(logits.expand(20000, 3), hard=True)
    assert (choices.sum(-1) == 1).all()
    np.testing.assert_allclose(choices.mean(0).detach().numpy(), F.softmax(logits, 0).detach().numpy(), atol=0.015)
    choices[:, 0].sum().backward()
    assert logits.grad.abs().sum() > 0  # that of the soft choice


def test_rrelu_draws_a_slope_for_each_entry_and_uses_the_mean_afterwards():
    autolab.manual_seed(0)
    x = autolab.full((5000,), -1.0, requires_grad=True)
    out = F.rrelu(x, 0.1, 0.5, training=True)
    out.sum().backward()
    slopes = -out.detach()
    assert 0.1 <= slopes.min() and slopes.max() <= 0.5 and slopes.mean().item() == pytest.approx(0.3, abs=0.01)
    assert (x.grad == slopes).all()
    assert F.rrelu(x, 0.1, 0.5)[0].item() == pytest.approx(-0.3)


def test_a_fractional_pool_has_the_asked_length_and_its_entries_come_from_the_input():
    autolab.manual_seed(0)
    x = normal(2, 3, 9, 9)
    out, index = F.fractional_max_pool2d(x, 2, output_ratio=0.6, return_indices=True)
    assert out.shape == (2, 3, 5, 5)
    assert (x.flatten(2).gather(2, index.flatten(2)) == out.flatten(2)).all()


@pytest.mark.parametrize(
    ("n", "kernel", "size"),
    [(2, (3, 1), (2, 3)), (2, (3, 1), (3, 3)), (3, 1, (2, 2, 3)), (3, 1, (2, 3, 3)), (3, (2, 1, 1), 2), (2, 2, (0, 2)), (2, 2, -1)],
)
def test_a_fractional_pool_refuses_the_windows_that_pytorch_refuses(n, kernel, size, torch):
    words = []
    for lib in (autolab, torch):
        pool = getattr(lib.nn.functional, f"fractional_max_pool{n}d")
        try:
            words.append(tuple(pool(lib.ones(1, 1, *(3, 4, 4)[:n]), kernel, output_size=size).shape))
        except RuntimeError as error:
            words.append(str(error).split(";")[0])
    assert words[0] == words[1]


# -- other modes -----------------------------------------------------------------------------------

PER_SAMPLE = {
    "interpolate": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "grid_sample": lambda x: F.grid_sample(x, x[:, :2].movedim(1, -1).tanh(), align_corners=False),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True)[0],
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2, 2),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(F.pixel_unshuffle(x, 2), 2) * x,
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.flip(0), dim=1),
    "cross_entropy": lambda x: F.cross_entropy(x, autolab.zeros(2, 4, 4, dtype=autolab.int64), label_smoothing=0.1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", PER_SAMPLE.values(), ids=PER_SAMPLE)
def test_gradients_of_each_sample_need_no_loop(f):
    xs = normal(3, 2, 2, 4, 4)
    loss = lambda x: f(x).sin().sum()
    loops.clear()
    together = func.vmap(func.grad(loss))(xs)
    assert not loops
    np.testing.assert_allclose(together.numpy(), np.stack([func.grad(loss)(x).numpy() for x in xs]), rtol=1e-9, atol=1e-12)


def test_a_family_is_loaded_when_it_is_used():
    import subprocess
    import sys

    code = "import sys, autolab; m = 'autolab.rules.conv'; print(m in sys.modules); autolab.nn.functional.conv1d; print(m in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\nTrue\n"


@pytest.mark.parametrize("shape", [(1,), (), (5,), (3, 5), (3, 1), (1, 5), (1, 1)])
def test_a_bias_that_is_stretched_gets_the_gradient_of_all_its_places(lib, shape):
    x, weight, bias = (lib.ones(s, dtype=lib.float64, requires_grad=True) for s in ((3, 2), (5, 2), shape))
    assert lib.autograd.gradcheck(lib.nn.functional.linear, (x, weight, bias))
    lib.nn.functional.linear(x, weight, bias).sum().backward()
    assert bias.grad.shape == bias.shape and bias.grad.sum() == 15


def test_attention_is_one_node_where_it_is_one_in_pytorch(lib):
    q, k = lib.ones(1, 2, 5, 4, requires_grad=True), lib.ones(1, 2, 6, 4)
    names = [type(lib.nn.functional.scaled_dot_product_attention(*x, **more).grad_fn).__name__.removesuffix("0") for x, more in (
        ((q, q, q), {}), ((q, k, k), {"is_causal": True}), ((q[0], k[0], k[0]), {}), ((q, k, k), {"dropout_p": 0.5}),
    )]  # fmt: skip
    flash = "ScaledDotProductFlashAttentionForCpuBackward"
    assert names[:2] == [flash, flash] and flash not in names[2:]
