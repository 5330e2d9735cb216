"""Writes in place in compiled functions: into tensors from outside they are done at each call, and all others stay eager."""

import pytest

import autolab as torch
from autolab.compiler import explain

F = torch.nn.functional


def numbers(k):
    return torch.tensor([k + 1.0, 0.5])


def running_mean(compiled):
    mean = torch.zeros(2)

    def f(x):
        with torch.no_grad():
            mean.mul_(0.9).add_(x, alpha=0.1)
        return x - mean

    f = compiled(f)
    return f, lambda k: (f(numbers(k)), mean, mean._version)


def a_step_by_hand(compiled):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step(x):
        loss = ((w * x) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
            w.grad = None
        return loss

    f = compiled(step)
    return f, lambda k: (f(numbers(k)), w, w._version)


def a_count(compiled):
    total, count = torch.zeros(2), torch.tensor(0)

    def f(x):
        total.add_(x)
        twice = total * 2
        total.mul_(twice)
        count.add_(1)
        return total + count

    f = compiled(f)
    return f, lambda k: (f(numbers(k)), total, count)


def what_was_before(compiled):
    total = torch.zeros(2)

    def f(x):
        before = total.clone()
        total.add_(x)
        return before + total

    f = compiled(f)
    return f, lambda k: (f(numbers(k)), total)


def the_tensor_itself(compiled):
    total = torch.zeros(2)

    def f(x):
        total.add_(x)
        return total

    f = compiled(f)
    return f, lambda k: (f(numbers(k)), total, f(numbers(k)) is total)


def batch_norm(compiled):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x, classes):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), classes)
        loss.backward()
        optimizer.step()
        return loss

    f = compiled(step)
    return f, lambda k: (f(torch.randn(6, 2), torch.randint(0, 3, (6,))), net[1].running_var, net[1].num_batches_tracked, net[0].weight)


def of_an_argument(compiled):
    f = compiled(lambda x, total: total.add_(x) * 2)
    totals = [torch.ones(2) * k for k in range(4)]
    return f, lambda k: (f(numbers(k), totals[k]), totals[k])


def of_a_view(compiled):
    total = torch.zeros(3)

    def f(x):
        total[0] = x.sum()
        total[1:].add_(1)
        return total * 2

    f = compiled(f)
    return f, lambda k: (f(numbers(k)), total)


def seen_through_a_view(compiled):
    total = torch.zeros(2)

    def f(x):
        view = total[:1]
        total.add_(x)
        return view * 1 + x

    f = compiled(f)
    return f, lambda k: (f(numbers(k)), total)


def before_a_look(compiled):
    total = torch.zeros(2)

    def f(x):
        total.add_(x)
        return total * 2 if total.sum() > 4 else total * 3

    f = compiled(f)
    return f, lambda k: (f(numbers(k)), total)


def of_what_a_gradient_needs(compiled):
    w, factor = torch.ones(2, requires_grad=True), torch.zeros(2)

    def f(x):
        y = (w * factor).sum()
        factor.add_(x)
        return y

    f = compiled(f)

    def call(k):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            f(numbers(k)).backward()
        return (factor,)

    return f, call


def plain(x):
    return x.detach().tolist() if isinstance(x, torch.Tensor) else x


def told(story, compiled):
    torch.manual_seed(0)
    f, call = story(compiled)
    return [[plain(x) for x in call(k)] for k in range(4)], f


@pytest.mark.parametrize("story", [running_mean, a_step_by_hand, a_count, what_was_before, the_tensor_itself, batch_norm])
def test_a_write_into_a_tensor_from_outside_is_done_at_each_call(story):
    seen, f = told(story, torch.compile)
    assert seen == told(story, lambda f: f)[0]
    assert "1. compiled" in str(explain(f))


@pytest.mark.parametrize("story", [of_an_argument, of_a_view, seen_through_a_view, before_a_look, of_what_a_gradient_needs])
def test_other_writes_stay_eager(story):
    seen, f = told(story, torch.compile)
    assert seen == told(story, lambda f: f)[0]
    assert "left to eager mode" in str(explain(f))


def test_classes_out_of_range_change_nothing():
    net = torch.nn.BatchNorm1d(3)
    f = torch.compile(lambda x, classes: F.cross_entropy(net(x), classes))
    with torch.no_grad():
        f(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))
        f(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))
        assert "1. compiled" in str(explain(f))
        before = net.num_batches_tracked.item()
        with pytest.raises(IndexError, match="Target 7 is out of bounds"):
            f(torch.randn(4, 3), torch.tensor([0, 1, 7, 0]))
    assert net.num_batches_tracked.item() == before + 1  # once, by the eager call that raises
