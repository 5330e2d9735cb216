"""What programs reach for inside PyTorch's modules: flat weights, compiled forwards, hooks for what modules are given, memory formats."""

import copy
import pickle

import pytest

import autolab


def test_a_recurrent_layer_lists_its_parameters(lib):
    layer = lib.nn.LSTM(2, 3, 2, bidirectional=True)
    names = [f"{kind}_l{k}{d}" for k in (0, 1) for d in ("", "_reverse") for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    assert layer._flat_weights_names == names
    assert all(w is layer._parameters[name] for w, name in zip(layer._flat_weights, names, strict=True))


def test_a_module_compiles_itself():
    model = autolab.nn.Linear(2, 2)
    x = autolab.ones(3, 2)
    expected = model(x).tolist()
    assert model.compile() is None
    for _ in range(2):
        assert model(x).tolist() == expected
    assert "_compiled" in vars(model.forward)


def test_a_compiled_module_is_copied_with_its_parameters():
    model = autolab.nn.Linear(2, 2)
    model.compile()
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with autolab.no_grad():
            twin.weight.zero_()
        assert twin(autolab.ones(2)).tolist() == twin.bias.tolist() != model(autolab.ones(2)).tolist()


def test_hooks_see_what_every_module_is_given(lib):
    module, seen = lib.nn.modules.module, []
    kinds = ("parameter", "buffer", "module")
    handles = [getattr(module, f"register_module_{k}_registration_hook")(lambda m, n, v, k=k: seen.append((k, n))) for k in kinds]
    net = lib.nn.Sequential(lib.nn.Linear(2, 2, bias=False))
    net.act = lib.nn.ReLU()
    net.register_buffer("mean", lib.zeros(1))
    net.mean = lib.ones(1)
    for handle in handles:
        handle.remove()
    net.other = lib.nn.ReLU()
    assert seen == [("parameter", "weight"), ("module", "0"), ("module", "act"), ("buffer", "mean"), ("buffer", "mean")]


def test_a_hook_may_give_a_module_something_else(lib):
    module = lib.nn.Module()
    with lib.nn.modules.module.register_module_parameter_registration_hook(lambda m, n, p: lib.nn.Parameter(p.detach() * 0)):
        module.weight = lib.nn.Parameter(lib.ones(1))
    assert module.weight.tolist() == [0]


@pytest.mark.parametrize("make", ["empty_like", "zeros_like", "ones_like", "rand_like", "randn_like"])
def test_memory_formats_are_taken(lib, make):
    x = lib.zeros(2, 3, 4, 5)
    assert getattr(lib, make)(x, memory_format=lib.channels_last).shape == x.shape
    assert lib.empty(2, 3, 4, 5, memory_format=lib.channels_last).shape == x.shape and x.cpu(memory_format=lib.preserve_format) is x


@pytest.mark.parametrize("layer", ["Embedding", "EmbeddingBag"])
def test_sparse_gradients_are_the_dense_ones(torch, layer):
    found = []
    for T in (autolab, torch):
        table = getattr(T.nn, layer)(4, 2, sparse=True, _weight=T.arange(8.0).reshape(4, 2))
        table(T.tensor([[1, 3], [1, 1]])).square().sum().backward()
        g = table.weight.grad
        found.append((g.to_dense() if T is torch else g).tolist())
    assert found[0] == found[1]


def test_cudnns_flags_hold_for_a_block(lib):
    import importlib

    cudnn = importlib.import_module(f"{lib.__name__}.backends.cudnn")
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)


def test_flat_weights_may_be_listed_anew(lib):
    layer = lib.nn.GRU(2, 3)
    new = lib.nn.Parameter(lib.zeros(9, 2))
    layer.weight_ih_l0 = new
    layer._flat_weights = [getattr(layer, name) for name in layer._flat_weights_names]
    assert layer._flat_weights[0] is new
    assert layer(lib.ones(4, 1, 2))[0].shape == (4, 1, 3)
