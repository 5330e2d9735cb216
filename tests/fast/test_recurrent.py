"""What an LSTM keeps of its gates between forward and backward."""

import numpy as np
import pytest

import autolab as torch
from autolab.engine.apply import apply
from autolab.fast.kernels.recurrent import GATES
from autolab.rules.recurrent import lstm, lstm_rule, lstm_values

pytestmark = pytest.mark.speed


def layer():
    torch.manual_seed(0)
    return torch.nn.LSTM(3, 4), torch.randn(5, 2, 3)


def gradients(net, result, **options):
    net.zero_grad()
    result.sum().backward(**options)
    return [p.grad.clone() for p in net.parameters()]


def test_gates_are_kept_for_one_backward_pass():
    net, x = layer()
    out, _ = net(x)
    assert len(GATES) == 1
    out.sum().backward()
    assert not GATES


def test_gates_go_with_the_results_that_nobody_differentiates():
    net, x = layer()
    out = net(x)
    assert len(GATES) == 1
    del out
    assert not GATES


def test_a_second_backward_pass_gives_the_same():
    net, x = layer()
    out, (h, c) = net(x)
    total = out.sin().sum() + h.sum() + (c * c).sum()
    first = gradients(net, total, retain_graph=True)
    for a, b in zip(gradients(net, total), first, strict=True):  # to the last bit: gradcheck asks whether it is the same
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("layout", [(0, 1, 2), (2, 0, 1), (2, 1, 0)], ids=str)
@pytest.mark.parametrize(("steps", "sequences", "units"), [(7, 3, 5), (2, 1, 1)])
def test_gradients_are_those_of_the_formula_with_and_without_the_gates(steps, sequences, units, layout):
    rng = np.random.default_rng(0)
    state = sequences, units
    values = [rng.standard_normal(s) for s in ((steps, sequences, 4 * units), (4 * units, units), state, state)]
    values[0] = np.ascontiguousarray(values[0].transpose(layout)).transpose(np.argsort(layout))  # the same numbers, elsewhere in memory
    xs = [torch.from_numpy(v).requires_grad_() for v in values]
    arrays = [x.detach().numpy() for x in xs]
    out, cells = apply(lstm, tuple(xs), {})
    g = rng.standard_normal((2, steps, *state))
    right = lstm_rule(g, arrays, *lstm_values(*arrays))
    total = (out * torch.tensor(g[0])).sum() + (cells * torch.tensor(g[1])).sum()
    for keep in (True, False):
        found = torch.autograd.grad(total, xs, retain_graph=keep)
        for a, b in zip(found, right, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-10, atol=1e-12)
