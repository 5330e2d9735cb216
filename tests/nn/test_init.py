"""Starting values: their spread follows from the shape, and writing them is not recorded."""

import math

import pytest


def spread(t):
    return (t * t).mean().item() ** 0.5


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("kaiming_uniform_", {}, math.sqrt(2 / 300)),
        ("kaiming_uniform_", {"a": math.sqrt(5)}, math.sqrt(2 / 6 / 300)),
        ("kaiming_normal_", {"nonlinearity": "relu"}, math.sqrt(2 / 300)),
        ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "tanh"}, 5 / 3 / math.sqrt(200)),
        ("xavier_uniform_", {}, math.sqrt(2 / 500)),
        ("xavier_normal_", {"gain": 3.0}, 3 * math.sqrt(2 / 500)),
        ("uniform_", {"a": -1.0, "b": 1.0}, math.sqrt(1 / 3)),
        ("normal_", {"mean": 0.0, "std": 2.0}, 2.0),
        ("constant_", {"val": 0.5}, 0.5),
        ("ones_", {}, 1.0),
        ("zeros_", {}, 0.0),
    ],
)
def test_the_spread_is_as_said(lib, name, settings, expected):
    w = lib.nn.Parameter(lib.empty(200, 300))
    assert getattr(lib.nn.init, name)(w, **settings) is w
    assert w.is_leaf and spread(w.detach()) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("name", ["tanh", "relu", "leaky_relu", "selu", "linear", "sigmoid", "conv2d"])
def test_gains_are_pytorchs(torch, name):
    import autolab

    assert autolab.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)


def test_what_has_no_fan_is_refused(lib):
    with pytest.raises(ValueError, match="Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"):
        lib.nn.init.xavier_uniform_(lib.empty(3))
    with pytest.raises(ValueError, match="Unsupported nonlinearity x"):
        lib.nn.init.calculate_gain("x")


# -- matrices with a structure ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal_rows_or_columns_have_the_length_of_the_gain(lib, shape):
    w = lib.nn.init.orthogonal_(lib.empty(*shape), gain=2.0).reshape(shape[0], -1)
    w = w if w.shape[0] <= w.shape[1] else w.T
    assert lib.allclose(w @ w.T, 4 * lib.eye(len(w)), atol=1e-5)


def test_normal_numbers_can_be_kept_within_bounds(lib):
    w = lib.nn.init.trunc_normal_(lib.empty(20000), mean=0.5, std=1.0, a=-0.5, b=1.0)
    assert -0.5 <= w.min() and w.max() <= 1.0
    assert w.mean().item() == pytest.approx(0.289, abs=0.02)  # the mean of that part of the normal distribution


def test_layers_can_start_as_the_identity(lib):
    assert lib.nn.init.eye_(lib.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    conv = lib.nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False)
    lib.nn.init.dirac_(conv.weight, groups=2)
    x = lib.rand(1, 4, 5, 5)
    assert lib.equal(conv(x), x)


def test_a_part_of_each_column_can_be_zero(lib):
    w = lib.nn.init.sparse_(lib.empty(10, 4), sparsity=0.25)
    assert (w == 0).sum(0).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        ("eye_(torch.empty(3))", "Only tensors with 2 dimensions are supported"),
        ("dirac_(torch.empty(3, 3))", "Only tensors with 3, 4, or 5 dimensions are supported"),
        ("dirac_(torch.empty(3, 3, 1), groups=2)", "dim 0 must be divisible by groups"),
        ("orthogonal_(torch.empty(3))", "Only tensors with 2 or more dimensions are supported"),
        ("kaiming_normal_(torch.empty(3, 3), mode='fan')", "Mode fan not supported, please use one of"),
        ("xavier_normal_(torch.empty(3))", "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"),
        ("calculate_gain('relu7')", "Unsupported nonlinearity relu7"),
        ("calculate_gain('leaky_relu', 'x')", "negative_slope x not a valid number"),
    ],
)
def test_what_cannot_be_is_refused(lib, call, phrase):
    with pytest.raises(ValueError, match=phrase):
        eval(f"init.{call}", {"torch": lib, "init": lib.nn.init})


def test_the_old_names_still_work_and_say_so(lib):
    with pytest.warns(FutureWarning, match=r"`?nn.init.xavier_normal`? is now deprecated in favor of `?nn.init.xavier_normal_`?"):
        lib.nn.init.xavier_normal(lib.empty(2, 2))


LAYERS = [
    "Linear(30, 40)", "Conv2d(8, 16, 3)", "ConvTranspose1d(8, 16, 3)", "Bilinear(10, 11, 12)", "Embedding(50, 20)", "EmbeddingBag(50, 20)",
    "LSTM(20, 30, 2, bidirectional=True)", "GRUCell(20, 30)", "MultiheadAttention(16, 4)", "MultiheadAttention(16, 4, kdim=8, add_bias_kv=True)",
    "TransformerDecoderLayer(16, 4, 32)", "Transformer(16, 4, 1, 1, 32)", "BatchNorm2d(5)", "PReLU(3)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_starts_with_pytorchs_distributions(torch, layer):
    import autolab

    def spreads(nn, n=12):
        made = [eval(f"nn.{layer}", {"nn": nn}) for _ in range(n)]
        return {
            name: (
                sum(spread(m.get_parameter(name).detach()) for m in made) / n,
                max(m.get_parameter(name).abs().max().item() for m in made),
            )
            for name, _ in made[0].named_parameters()
        }

    torch.manual_seed(0)
    ours, theirs = spreads(autolab.nn), spreads(torch.nn)
    assert list(ours) == list(theirs)
    for name, (rms, largest) in theirs.items():
        assert ours[name][0] == pytest.approx(rms, rel=0.15, abs=1e-6)
        assert ours[name][1] == pytest.approx(largest, rel=0.4, abs=1e-6)
