"""Layers and losses compute what PyTorch's compute, forwards and backwards."""

import numpy as np
import pytest

import autolab


def both(torch, make, *arrays, state=True):
    """Run a module of each library, with the same parameters, on the same arrays: (value, gradients of inputs and parameters)."""
    theirs = make(torch.nn)
    ours = make(autolab.nn)
    if state:
        ours.load_state_dict({k: autolab.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    found = []
    for lib, module in ((autolab, ours), (torch, theirs)):
        inputs = [lib.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        out = module(*inputs)
        (out * lib.arange(1.0, out.numel() + 1).reshape(out.shape)).sum().backward()
        leaves = [t for t in inputs if t.requires_grad] + list(module.parameters())
        found.append([out.detach().numpy()] + [t.grad.numpy() for t in leaves])
    return found


LAYERS = {
    "Linear": (lambda nn: nn.Linear(3, 4), (2, 3)),
    "Linear of many dims": (lambda nn: nn.Linear(3, 4), (2, 5, 3)),
    "Linear of one dim": (lambda nn: nn.Linear(3, 4), (3,)),
    "Linear without bias": (lambda nn: nn.Linear(3, 4, bias=False), (2, 5, 3)),
    "Linear without bias of one dim": (lambda nn: nn.Linear(3, 4, bias=False), (3,)),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), (2, 3, 4)),
    "LayerNorm of two dims": (lambda nn: nn.LayerNorm((3, 4), eps=0.1), (2, 3, 4)),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(4, bias=False), (2, 4)),
    "LayerNorm without anything": (lambda nn: nn.LayerNorm(4, elementwise_affine=False), (2, 4)),
    "Flatten": (lambda nn: nn.Flatten(), (2, 3, 4)),
    "ReLU": (lambda nn: nn.ReLU(), (3, 4)),
    "Tanh": (lambda nn: nn.Tanh(), (3, 4)),
    "Sigmoid": (lambda nn: nn.Sigmoid(), (3, 4)),
    "SiLU": (lambda nn: nn.SiLU(), (3, 4)),
    "GELU": (lambda nn: nn.GELU(), (3, 4)),
    "GELU by tanh": (lambda nn: nn.GELU(approximate="tanh"), (3, 4)),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), (3, 4)),
    "Softplus": (lambda nn: nn.Softplus(beta=3, threshold=2), (3, 4)),
    "Softmax": (lambda nn: nn.Softmax(dim=0), (3, 4)),
    "Identity": (lambda nn: nn.Identity(1, two=2), (3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_pytorchs(torch, rng, name):
    make, shape = LAYERS[name]
    ours, theirs = both(torch, make, rng.standard_normal(shape).astype(np.float32))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_an_embedding_is_pytorchs(torch):
    ours, theirs = both(torch, lambda nn: nn.Embedding(5, 3, padding_idx=1), np.array([[0, 1, 4], [4, 4, 2]]))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


REDUCTIONS = ["mean", "sum", "none"]


def losses(torch, make, *arrays):
    for a, b in zip(*both(torch, make, *arrays, state=False), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_mse_loss_is_pytorchs(torch, rng, reduction):
    losses(torch, lambda nn: nn.MSELoss(reduction=reduction), rng.standard_normal((3, 4)), rng.standard_normal((3, 4)))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("settings", [{}, {"ignore_index": 2}, {"label_smoothing": 0.3}, {"label_smoothing": 0.3, "ignore_index": 2}])
@pytest.mark.parametrize(("scores", "targets"), [((6, 4), (6,)), ((2, 4, 3), (2, 3)), ((4,), ())])
def test_cross_entropy_is_pytorchs(torch, rng, reduction, settings, scores, targets):
    classes = np.array(rng.permutation(24)[: int(np.prod(targets))] % 4).reshape(targets)
    if targets == ():
        classes = np.array(1)
    losses(torch, lambda nn: nn.CrossEntropyLoss(reduction=reduction, **settings), rng.standard_normal(scores), classes)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_weighted_cross_entropy_is_pytorchs(torch, rng, reduction, smoothing):
    weight = np.array([1.0, 2.0, 0.5, 4.0])

    def make(nn):
        lib = autolab if nn is autolab.nn else torch
        return nn.CrossEntropyLoss(lib.tensor(weight), reduction=reduction, label_smoothing=smoothing)

    losses(torch, make, rng.standard_normal((6, 4)), np.array([0, 1, 2, 3, 3, 1]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_cross_entropy_against_probabilities_is_pytorchs(torch, rng, reduction, smoothing):
    scores, soft = rng.standard_normal((6, 4)), rng.dirichlet(np.ones(4), 6)
    losses(torch, lambda nn: nn.CrossEntropyLoss(reduction=reduction, label_smoothing=smoothing), scores, soft)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_nll_loss_is_pytorchs(torch, rng, reduction):
    losses(torch, lambda nn: nn.NLLLoss(reduction=reduction), rng.standard_normal((3, 4)), np.array([0, 3, 1]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_cross_entropy_is_pytorchs(torch, rng, reduction):
    weights = rng.uniform(0.5, 2, (2, 4))

    def make(nn):
        lib = autolab if nn is autolab.nn else torch
        return nn.BCEWithLogitsLoss(lib.tensor(weights[0]), reduction=reduction, pos_weight=lib.tensor(weights[1]))

    losses(torch, make, 30 * rng.standard_normal((3, 4)), rng.uniform(0, 1, (3, 4)))


# -- stories ---------------------------------------------------------------------------------------------


def test_a_linear_layer_starts_within_one_over_the_root_of_its_inputs(lib):
    layer = lib.nn.Linear(100, 200)
    for p in layer.parameters():
        assert 0.09 < p.abs().max().item() <= 0.1 and abs(p.mean().item()) < 0.02


def test_dropout_keeps_the_mean_in_training_and_everything_otherwise(lib):
    x, drop = lib.ones(10000), lib.nn.Dropout(0.25)
    kept = drop(x)
    assert np.unique(kept.numpy()).tolist() == [0.0, pytest.approx(4 / 3)]
    assert abs(kept.mean().item() - 1) < 0.05
    assert drop.eval()(x).tolist() == x.tolist()


def test_the_padding_row_of_an_embedding_is_zero_and_stays(lib):
    table = lib.nn.Embedding(4, 2, padding_idx=1)
    assert table.weight[1].tolist() == [0.0, 0.0]
    table(lib.tensor([1, 2, 2])).sum().backward()
    assert table.weight.grad.tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("activation", ["ReLU", "LeakyReLU", "SiLU"])
def test_an_activation_in_place_gives_the_same_numbers_and_gradients(lib, activation):
    found = []
    for inplace in (False, True):
        x = lib.tensor([-1.0, 2.0], dtype=lib.float64, requires_grad=True)
        h = x * 3
        out = getattr(lib.nn, activation)(inplace=inplace)(h)
        assert (out is h) == inplace
        out.sum().backward()
        found.append((out.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


def test_settings_of_an_activation_may_be_changed(lib):
    m = lib.nn.LeakyReLU()
    m.negative_slope = 0.5
    assert m(lib.tensor([-2.0])).tolist() == [-1.0]


def test_cross_entropy_does_not_overflow(lib):
    scores = lib.tensor([[1000.0, 0.0], [0.0, 1000.0]], requires_grad=True)
    loss = lib.nn.CrossEntropyLoss()(scores, lib.tensor([0, 0]))
    loss.backward()
    assert loss.item() == 500.0 and scores.grad.tolist() == [[0.0, 0.0], [-0.5, 0.5]]


def test_a_loss_of_two_shapes_warns_at_the_line_that_asked(lib):
    loss = lib.nn.MSELoss()
    with pytest.warns(UserWarning, match="Using a target size") as caught:
        loss(lib.ones(2, 1), lib.ones(2))
    assert lib.__name__ == "torch" or caught[0].filename == __file__


def test_softmax_without_a_dim_warns_at_the_line_that_asked(lib):
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated") as caught:
        lib.nn.Softmax()(lib.ones(2, 2))
    assert lib.__name__ == "torch" or caught[0].filename == __file__


# snippet, error, opening words of both, what only autolab adds
MESSAGES = [
    ("nn.Linear(3, 2)(T(4, 5))", RuntimeError, "mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)", ["takes 3 features"]),
    ("nn.Linear(3, 2)(T(3).double())", RuntimeError, "mat1 and mat2 must have the same dtype, but got Double and Float", [".to("]),
    ("nn.CrossEntropyLoss()(T(2, 3), I([0, 5]))", IndexError, "Target 5 is out of bounds", ["3 classes"]),
    ("nn.CrossEntropyLoss()(T(2, 3), I([0, -1]))", IndexError, "Target -1 is out of bounds", []),
    ("nn.CrossEntropyLoss()(T(2, 3), I([0, 1, 2]))", ValueError, "Expected input batch_size (2) to match target batch_size (3)", []),
    ("nn.CrossEntropyLoss()(T(2, 3), T(2))", RuntimeError, "expected target dtype to be Long or Byte, but got Float", [".long()", "[2, 3]"]),
    ("nn.MSELoss(reduction='foo')(T(2), T(2))", ValueError, "foo is not a valid value for reduction", ["'mean'"]),
    ("nn.BCEWithLogitsLoss()(T(2), T(3))", ValueError, "Target size (torch.Size([3])) must be the same as input size", []),
    ("nn.Dropout(2)", ValueError, "dropout probability has to be between 0 and 1, but got 2", []),
    ("nn.Embedding(3, 2)(I([5]))", IndexError, "index out of range in self", ["3 rows"]),
    ("nn.LayerNorm(3)(T(2, 4))", RuntimeError, "Given normalized_shape=[3], expected input with shape [*, 3]", []),
    ("nn.ReLU(inplace=True)(T(2).requires_grad_())", RuntimeError, "a leaf Variable that requires grad is being used in an in-place", []),
    ("nn.GELU('x')(T(2))", RuntimeError, "approximate argument must be either none or tanh", []),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "error", "opening", "more"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_a_layer_refuses_in_pytorchs_opening_words(lib, snippet, error, opening, more):
    with pytest.raises(error) as caught:
        eval(snippet, {"nn": lib.nn, "T": lib.ones, "I": lib.tensor})
    assert str(caught.value).startswith(opening)
    assert lib.__name__ == "torch" or [m for m in more if m not in str(caught.value)] == []
