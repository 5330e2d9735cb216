"""nn.utils, told on both sides: clipped gradients, weights written otherwise, sequences packed, parameters pruned."""

import copy
import importlib

import numpy as np
import pytest

import autolab


def numbers(t):
    return t.detach().numpy()


def layer(lib, make=None, seed=0):
    """A layer whose parameters are the same numbers in each library."""
    made = (make or (lambda nn: nn.Linear(3, 4)))(lib.nn)
    rng = np.random.default_rng(seed)
    with lib.no_grad():
        for p in made.parameters():
            p.copy_(lib.tensor(rng.standard_normal(tuple(p.shape)), dtype=lib.float32))
    return made


def array(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def same(torch, story, tolerance=1e-5):
    """A story told with either library gives the same arrays."""
    found = [story(lib) for lib in (autolab, torch)]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance)


# -- gradients ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf"), 3, 0])
@pytest.mark.parametrize("bound", [0.1, 100.0])
def test_the_length_of_all_gradients_is_bounded(torch, norm_type, bound):
    def story(lib):
        m = layer(lib)
        (m(lib.tensor(array(5, 3))) ** 2).sum().backward()
        total = lib.nn.utils.clip_grad_norm_(m.parameters(), bound, norm_type)
        return total, m.weight.grad, m.bias.grad, lib.nn.utils.get_total_norm([m.weight, m.bias], norm_type)

    same(torch, story)


def test_each_entry_of_a_gradient_is_bounded(torch):
    def story(lib):
        m = layer(lib)
        (m(lib.tensor(array(5, 3))) ** 2).sum().backward()
        lib.nn.utils.clip_grad_value_(m.parameters(), 0.5)
        return m.weight.grad, m.bias.grad

    same(torch, story)


def test_a_length_that_is_no_number_is_an_error_if_asked(lib):
    p = lib.nn.Parameter(lib.ones(2))
    p.grad = lib.tensor([float("nan"), 1.0])
    with pytest.raises(RuntimeError, match=r"The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        lib.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert lib.nn.utils.clip_grad_norm_([lib.nn.Parameter(lib.ones(1))], 1.0).item() == 0.0


def test_parameters_become_a_vector_and_come_back(lib):
    m = lib.nn.Linear(2, 3)
    vector = lib.nn.utils.parameters_to_vector(m.parameters())
    assert vector.shape == (9,) and vector.requires_grad
    lib.nn.utils.vector_to_parameters(lib.arange(9.0), m.parameters())
    assert m.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and m.bias.tolist() == [6, 7, 8] and m.weight.requires_grad
    with pytest.raises(TypeError, match=r"expected torch.Tensor, but got"):
        lib.nn.utils.vector_to_parameters([1.0], m.parameters())


# -- weights written otherwise ------------------------------------------------------------------------------


LAYERS = {"Linear": (lambda nn: nn.Linear(3, 4), (5, 3)), "Conv2d": (lambda nn: nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
          "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3))}  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("where", ["utils", "parametrizations"])
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("name", LAYERS)
def test_weight_norm(torch, name, dim, where):
    make, shape = LAYERS[name]

    def story(lib):
        utils = lib.nn.utils if where == "utils" else lib.nn.utils.parametrizations
        m = utils.weight_norm(layer(lib, make), dim=dim)
        x = lib.tensor(array(*shape), requires_grad=True)
        (m(x) ** 2).sum().backward()
        assert [n for n, _ in m.named_parameters()] == (
            ["bias", "weight_g", "weight_v"] if where == "utils"
            else ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
        )  # fmt: skip
        return [x.grad, *(p.grad for p in m.parameters()), *m.parameters()]

    same(torch, story, 1e-4)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weight_norm_can_be_taken_off(lib):
    utils = lib.nn.utils
    m = layer(lib)
    before = m.weight.tolist()
    utils.weight_norm(m)
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks on the same parameter weight"):
        utils.weight_norm(m)
    utils.remove_weight_norm(m)
    np.testing.assert_allclose(m.weight.tolist(), before, rtol=1e-6)
    assert sorted(dict(m.named_parameters())) == ["bias", "weight"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in"):
        utils.remove_weight_norm(m)


@pytest.mark.parametrize("where", ["utils", "parametrizations"])
@pytest.mark.parametrize("name", LAYERS)
def test_spectral_norm(torch, name, where):
    make, shape = LAYERS[name]

    def story(lib):
        utils = lib.nn.utils if where == "utils" else lib.nn.utils.parametrizations
        m = utils.spectral_norm(layer(lib, make))
        with lib.no_grad():
            for k, b in enumerate(m.buffers()):
                v = array(*b.shape, seed=k)
                b.copy_(lib.tensor(v / np.linalg.norm(v)))
        x = lib.tensor(array(*shape), requires_grad=True)
        for _ in range(3):
            (m(x) ** 2).sum().backward()
        m.eval()
        return [m(x), x.grad, *(p.grad for p in m.parameters()), *m.buffers()]

    same(torch, story, 1e-4)


def test_spectral_norm_brings_the_largest_singular_value_to_one(lib):
    m = lib.nn.utils.parametrizations.spectral_norm(layer(lib), n_power_iterations=20)
    assert np.linalg.svd(numbers(m.weight))[1][0] == pytest.approx(1, abs=1e-3)


def test_spectral_norm_can_be_taken_off(lib):
    m = lib.nn.utils.spectral_norm(layer(lib))
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert m.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    lib.nn.utils.remove_spectral_norm(m)
    assert sorted(m.state_dict()) == ["bias", "weight"] and not m._forward_pre_hooks


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_weights_stay_orthogonal_while_they_learn(lib, shape, orthogonal_map, trivial):
    m = layer(lib, lambda nn: nn.Linear(shape[1], shape[0], bias=False)).double()
    lib.nn.utils.parametrizations.orthogonal(m, orthogonal_map=orthogonal_map, use_trivialization=trivial)
    for _ in range(3):
        (m(lib.ones(2, shape[1], dtype=lib.float64)) ** 3).sum().backward()
        with lib.no_grad():
            for p in m.parameters():
                p -= 0.1 * p.grad
        m.zero_grad()
    w = numbers(m.weight) if shape[0] >= shape[1] else numbers(m.weight).T
    np.testing.assert_allclose(w.T @ w, np.eye(min(shape)), atol=1e-9)


# -- any function of a parameter ------------------------------------------------------------------------------


def symmetric(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a):
            return a.triu()

    return Symmetric()


def test_a_parametrized_weight_is_computed_from_what_is_learned(lib):
    parametrize = lib.nn.utils.parametrize
    m = parametrize.register_parametrization(lib.nn.Linear(3, 3), "weight", symmetric(lib))
    assert m.weight.tolist() == m.weight.mT.tolist() and not isinstance(m.weight, lib.nn.Parameter)
    assert sorted(m.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert parametrize.is_parametrized(m) and parametrize.is_parametrized(m, "weight") and not parametrize.is_parametrized(m, "bias")
    assert type(m).__name__ == "ParametrizedLinear" and parametrize.type_before_parametrizations(m) is lib.nn.Linear
    m.weight = lib.ones(3, 3)
    assert m.parametrizations.weight.original.tolist() == lib.ones(3, 3).triu().tolist()
    twin = copy.deepcopy(m)
    twin(lib.ones(3)).sum().backward()
    assert twin.parametrizations.weight.original.grad is not None and m.parametrizations.weight.original.grad is None


def test_a_parametrization_can_be_taken_off(lib):
    parametrize = lib.nn.utils.parametrize
    m = parametrize.register_parametrization(lib.nn.Linear(3, 3), "weight", symmetric(lib))
    value = m.weight.tolist()
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is lib.nn.Linear and m.weight.tolist() == value and isinstance(m.weight, lib.nn.Parameter)
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(m, "weight")


def test_parametrizations_are_applied_in_turn_and_may_be_kept_for_a_while(lib):
    parametrize = lib.nn.utils.parametrize

    class Twice(lib.nn.Module):
        calls = 0

        def forward(self, x):
            Twice.calls += 1
            return 2 * x

    m = lib.nn.Linear(2, 2)
    for _ in range(2):
        parametrize.register_parametrization(m, "weight", Twice())
    assert m.weight.tolist() == (4 * m.parametrizations.weight.original).tolist()
    with parametrize.cached():
        Twice.calls = 0
        assert m.weight is m.weight
    assert Twice.calls == 2


WRONG = [
    ("shape", lambda lib: lambda x: x[0], "may not change the shape of the tensor"),
    ("dtype", lambda lib: lambda x: x.double(), "may not change the dtype of the tensor"),
    ("kind", lambda lib: lambda x: None, "A parametrization must return a tensor. Got NoneType."),
]


@pytest.mark.parametrize(("make", "phrase"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_parametrization_that_would_change_what_a_weight_is_is_refused(lib, make, phrase):
    part = lib.nn.Module()
    part.forward = make(lib)
    m = lib.nn.Linear(2, 2)
    with pytest.raises(ValueError, match=phrase):
        lib.nn.utils.parametrize.register_parametrization(m, "weight", part)
    assert isinstance(m.weight, lib.nn.Parameter)


# -- sequences ---------------------------------------------------------------------------------------------------


def sequences(lib):
    return [lib.tensor(array(n, 2, seed=n), requires_grad=True) for n in (2, 4, 1)]


def test_sequences_are_padded_to_one_length(torch):
    def story(lib):
        rnn = lib.nn.utils.rnn
        return [rnn.pad_sequence(sequences(lib), **settings) for settings in (
            {}, {"batch_first": True}, {"padding_value": 3.0}, {"padding_side": "left"}
        )]  # fmt: skip

    same(torch, story)


def test_packing_and_padding_undo_each_other(lib):
    rnn = lib.nn.utils.rnn
    packed = rnn.pack_sequence(sequences(lib), enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.sorted_indices.tolist() == [1, 0, 2]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, total_length=5)
    assert padded.shape == (3, 5, 2) and lengths.tolist() == [2, 4, 1]
    for found, own in zip(rnn.unpack_sequence(packed), sequences(lib), strict=True):
        assert found.tolist() == own.tolist()


def test_gradients_pass_through_packing(torch):
    def story(lib):
        rnn, xs = lib.nn.utils.rnn, sequences(lib)
        packed = rnn.pack_sequence(xs, enforce_sorted=False)
        (rnn.pad_packed_sequence(packed)[0] ** 2).sum().backward()
        return [packed.data, *(x.grad for x in xs)]

    same(torch, story)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("settings", [{}, {"bidirectional": True, "num_layers": 2}], ids=["plain", "both directions"])
def test_a_packed_batch_gives_what_each_sequence_gives(torch, kind, settings):
    def story(lib):
        rnn, xs = lib.nn.utils.rnn, sequences(lib)
        m = layer(lib, lambda nn: getattr(nn, kind)(2, 3, **settings))
        out, last = m(rnn.pack_sequence(xs, enforce_sorted=False))
        alone = [m(x)[0] for x in xs]
        for a, b in zip(rnn.unpack_sequence(out), alone, strict=True):
            np.testing.assert_allclose(numbers(a), numbers(b), atol=1e-6)
        (out.data**2).sum().backward()
        return [out.data, *(last if kind == "LSTM" else [last]), *(x.grad for x in xs), *(p.grad for p in m.parameters())]

    same(torch, story, 1e-4)


def test_lengths_that_do_not_fit_are_refused(lib):
    pack = lib.nn.utils.rnn.pack_padded_sequence
    x = lib.ones(4, 2, 3)
    for lengths, phrase in (([1, 2], "must be sorted in decreasing order"), ([2, 0], "greater than 0"), ([1], "batch_size=2")):
        with pytest.raises(RuntimeError, match=phrase):
            pack(x, lengths)


# -- pruning and fusing ------------------------------------------------------------------------------------------


def test_pruned_entries_are_zero_and_stay_so(torch):
    def story(lib):
        prune = importlib.import_module(f"{lib.__name__}.nn.utils.prune")
        m = layer(lib, lambda nn: nn.Linear(4, 6))
        prune.l1_unstructured(m, "weight", amount=0.3)
        prune.ln_structured(m, "weight", amount=2, n=2, dim=0)
        prune.custom_from_mask(m, "bias", lib.tensor([1.0, 0, 1, 0, 1, 0]))
        m(lib.tensor(array(2, 4))).sum().backward()
        kept = [m.weight, m.bias, m.weight_orig.grad, m.weight_mask]
        prune.remove(m, "weight")
        assert isinstance(m.weight, lib.nn.Parameter) and prune.is_pruned(m)
        return [*kept, m.weight]

    same(torch, story)


def test_several_parameters_are_pruned_by_one_measure(torch):
    def story(lib):
        prune = importlib.import_module(f"{lib.__name__}.nn.utils.prune")
        m = lib.nn.Sequential(layer(lib), layer(lib, seed=1))
        prune.global_unstructured([(m[0], "weight"), (m[1], "weight")], prune.L1Unstructured, amount=7)
        assert sum((part.weight == 0).sum().item() for part in m) == 7
        return [m[0].weight, m[1].weight]

    same(torch, story)


def test_random_pruning_takes_as_many_as_asked(lib):
    prune = importlib.import_module(f"{lib.__name__}.nn.utils.prune")
    m = prune.random_unstructured(lib.nn.Linear(4, 5), "weight", amount=0.25)
    assert (m.weight_mask == 0).sum().item() == 5
    m = prune.random_structured(lib.nn.Linear(4, 5), "weight", amount=2, dim=1)
    assert (m.weight_mask.sum(0) == 0).sum().item() == 2
    with pytest.raises(ValueError, match="should either be a float in the range"):
        prune.random_unstructured(lib.nn.Linear(2, 2), "weight", amount=1.5)


def test_a_normalisation_with_fixed_statistics_is_part_of_the_layer_before(lib):
    conv, bn = layer(lib, lambda nn: nn.Conv2d(2, 3, 2)), layer(lib, lambda nn: nn.BatchNorm2d(3), seed=3)
    x = lib.tensor(array(2, 2, 4, 4))
    bn(conv(x))
    conv.eval(), bn.eval()
    fused = lib.nn.utils.fuse_conv_bn_eval(conv, bn)
    np.testing.assert_allclose(numbers(fused(x)), numbers(bn(conv(x))), atol=1e-5)
    assert lib.nn.utils.skip_init(lib.nn.Linear, 2, 3).weight.shape == (3, 2)


def test_the_helpers_of_pruning_are_pytorchs(torch):
    found = []
    for T in (autolab, torch):
        prune = T.nn.utils.prune
        t = T.arange(6.0).reshape(2, 3)
        found.append([prune._compute_nparams_toprune(0.5, 5), prune._compute_nparams_toprune(3, 5), prune._compute_norm(t, 2, -1).tolist()])
        for helper, args, error in [
            (prune._validate_pruning_amount_init, (1.5,), ValueError), (prune._validate_pruning_amount_init, ("a",), TypeError),
            (prune._validate_pruning_amount, (7, 6), ValueError), (prune._validate_structured_pruning, (t[0],), ValueError),
            (prune._validate_pruning_dim, (t, 2), IndexError),
        ]:  # fmt: skip
            with pytest.raises(error):
                helper(*args)
    assert found[0] == found[1]
