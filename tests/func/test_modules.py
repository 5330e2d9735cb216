"""Modules as functions of their parameters."""

import numpy as np
import pytest

import autolab
from autolab import func, nn
from autolab.func import functional_call, stack_module_state

pytestmark = pytest.mark.lesson13


def network(T=autolab):
    T.manual_seed(1)
    return T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 2))


X = autolab.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])


def test_a_call_with_its_own_parameters_is_the_call():
    net = network()
    assert functional_call(net, dict(net.named_parameters()), (X,)).equal(net(X))
    assert functional_call(net, {}, X).equal(net(X))


def test_a_call_leaves_the_module_as_it_was():
    net = network()
    own = dict(net.named_parameters())
    zeros = {name: autolab.zeros_like(p) for name, p in own.items()}
    assert functional_call(net, zeros, (X,)).count_nonzero() == 0
    with pytest.raises(RuntimeError):
        functional_call(net, zeros, (X[:, :2],))
    assert all(p is own[name] for name, p in net.named_parameters())


def test_several_dicts_and_keywords():
    layer = nn.Linear(3, 1)
    w, b = autolab.ones(1, 3), autolab.ones(1)
    assert functional_call(layer, ({"weight": w}, {"bias": b}), kwargs={"input": X}).tolist() == [[7], [2.5]]


def test_a_shared_parameter_is_replaced_under_all_its_names():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2, bias=False)
            self.b = nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    net, x, two = Tied(), autolab.ones(2), 2 * autolab.eye(2)
    assert functional_call(net, {"a.weight": two}, x).tolist() == [4, 4]
    once = functional_call(net, {"a.weight": two}, x, tie_weights=False)
    assert once.allclose(2 * net.b(x))
    with pytest.raises(ValueError, match="which are tied"):
        functional_call(net, {"a.weight": two, "b.weight": two * 2}, x)
    assert functional_call(net, {"a.weight": two, "b.weight": two}, x).tolist() == [4, 4]


def test_gradients_come_by_name():
    net = network()
    loss = lambda params: (functional_call(net, params, (X,)) ** 2).sum()
    params = dict(net.named_parameters())
    found = func.grad(loss)(params)
    loss(params).backward()
    assert list(found) == list(params) and all(g.allclose(params[name].grad) for name, g in found.items())


def test_per_sample_gradients_add_up_to_the_gradient():
    net = network()
    params = {name: p.detach() for name, p in net.named_parameters()}
    loss = lambda params, x: (functional_call(net, params, (x,)) ** 2).sum()
    each = func.vmap(func.grad(loss), (None, 0))(params, X)
    whole = func.grad(loss)(params, X)
    for name, g in each.items():
        assert g.shape == (2, *params[name].shape) and g.sum(0).allclose(whole[name], atol=1e-6)


def test_an_ensemble_is_one_batch_of_modules():
    nets = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(5)]
    params, buffers = stack_module_state(nets)
    assert params["0.weight"].shape == (5, 4, 3) and params["0.weight"].is_leaf and params["0.weight"].requires_grad
    out = func.vmap(lambda p, b: functional_call(nets[0], (p, b), (X,)))(params, buffers)
    assert out.allclose(autolab.stack([net(X) for net in nets]), atol=1e-6)
    out.sum().backward()
    assert params["2.bias"].grad.tolist() == [[2, 2]] * 5


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", autolab.zeros(2))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 1


def test_buffers_that_are_given_take_the_writes():
    module, total = Counting(), autolab.ones(2)
    assert functional_call(module, {"total": total}, (autolab.ones(2),)).tolist() == [2, 2]
    assert total.tolist() == [2, 2] and module.total.tolist() == [0, 0]
    out = func.vmap(lambda t, x: functional_call(module, {"total": t}, (x,)))(autolab.zeros(3, 2), autolab.ones(3, 2))
    assert out.tolist() == [[1, 1]] * 3


class Normal(nn.Module):
    """A batch normalisation, by its buffers."""

    track_running_stats = True

    def __init__(self):
        super().__init__()
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, autolab.zeros(3))

    def forward(self, x):
        return nn.functional.batch_norm(x, self.running_mean, self.running_var, training=True)


def test_batch_norms_forget_their_statistics():
    net = nn.Sequential(Normal(), nn.Linear(3, 2))
    assert func.replace_all_batch_norm_modules_(net) is net
    assert net[0].running_mean is None and not net[0].track_running_stats
    assert func.vmap(net)(autolab.rand(4, 5, 3)).shape == (4, 5, 2)


REFUSALS = [
    (lambda n: functional_call(n, 3, X), ValueError, "to be a dict, or a list/tuple of dicts, but got <class 'int'>"),
    (lambda n: functional_call(n, (3,), X), ValueError, "all elements of parameter_and_buffer_dicts to be dictionaries"),
    (lambda n: functional_call(n, ({"weight": X}, {"weight": X}), X), ValueError, "['weight'] appeared in multiple dictionaries"),
    (lambda n: functional_call(n, {"weight": X[:1]}, X, strict=True), RuntimeError, "Missing key(s): 'bias'."),
    (lambda n: functional_call(n, dict(n.named_parameters()) | {"z": X}, X, strict=True), RuntimeError, "Unexpected key(s): 'z'."),
    (lambda n: stack_module_state([]), RuntimeError, "Expected at least one model, got 0"),
    (lambda n: stack_module_state([n, nn.Linear(3, 1).eval()]), RuntimeError, "same training/eval mode"),
    (lambda n: stack_module_state([n, nn.ReLU()]), RuntimeError, "same class"),
    (lambda n: stack_module_state([n, nn.Linear(3, 1).requires_grad_(False)]), RuntimeError, "weight from each model to have the same"),
]


@pytest.mark.parametrize(("call", "kind", "phrase"), REFUSALS)
def test_what_is_refused(call, kind, phrase):
    with pytest.raises(kind) as caught:
        call(nn.Linear(3, 1))
    assert phrase in str(caught.value)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_an_ensembles_gradients_are_pytorchs(torch):
    weights = [np.random.default_rng(k).standard_normal((2, 3)) for k in range(4)]

    def gradients(T):
        models = [T.nn.Linear(3, 2, bias=False).double() for _ in weights]
        for m, w in zip(models, weights, strict=True):
            with T.no_grad():
                m.weight.copy_(T.tensor(w))
        params, _ = T.func.stack_module_state(models)
        loss = lambda p, x: T.func.functional_call(models[0], p, (x,)).exp().sum()
        return T.func.vmap(T.func.vmap(T.func.grad(loss), (None, 0)), (0, None))(params, T.tensor(X.numpy()).double())

    np.testing.assert_allclose(gradients(autolab)["weight"].detach().numpy(), gradients(torch)["weight"].detach().numpy(), 1e-9)
