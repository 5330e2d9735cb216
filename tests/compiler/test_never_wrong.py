"""What a traced call does not say by itself: each of these was once replayed wrongly, or could have been."""

import collections
import functools
import os
import types

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import explain

F = torch.nn.functional


def ones(*shape, grad=False):
    return torch.ones(shape, requires_grad=grad)


def plain(v):
    return v.detach().numpy().tolist() if isinstance(v, torch.Tensor) else [plain(x) for x in v] if isinstance(v, list | tuple) else v


def same_story(story):
    """A story told with eager and with compiled functions gives the same."""
    torch.manual_seed(0)
    expected = plain(story(lambda f: f))
    torch.manual_seed(0)
    np.testing.assert_equal(plain(story(torch.compile)), expected)


# -- what a function reads ----------------------------------------------------------------------------


STATES = {
    "a deque": (collections.deque([1.0]), lambda s: s.append(s.pop() + 1), lambda s: s[0]),
    "a default dict": (collections.defaultdict(float, a=1.0), lambda s: s.update(a=s["a"] + 1), lambda s: s["a"]),
    "an ordered dict": (collections.OrderedDict(a=1.0), lambda s: s.update(a=s["a"] + 1), lambda s: s["a"]),
    "a set": ({1}, lambda s: s.add(len(s) + 1), len),
    "an array": (np.ones(2, np.float32), lambda s: s.__iadd__(1), lambda s: s[0]),
    "a generator of numbers": (np.random.default_rng(0), lambda s: None, lambda s: s.integers(9)),
    "a namespace": (types.SimpleNamespace(k=1.0), lambda s: vars(s).update(k=s.k + 1), lambda s: s.k),
    "bytes": (bytearray(b"a"), lambda s: s.append(1), len),
}


@pytest.mark.parametrize("name", STATES)
def test_state_outside_is_seen_to_change(name):
    state, change, read = STATES[name]
    f = torch.compile(lambda x: x * float(read(state)))
    seen = []
    for _ in range(3):
        twin = np.random.default_rng() if isinstance(state, np.random.Generator) else None
        if twin is not None:
            twin.bit_generator.state = state.bit_generator.state
        seen.append((f(ones(1)).item(), float(read(twin if twin is not None else state))))
        change(state)
    assert [a for a, _ in seen] == [b for _, b in seen]


def test_an_iterator_goes_on():
    it = iter(range(5))
    f = torch.compile(lambda x, source: x * next(source))
    assert [f(ones(1), it).item() for _ in range(3)] == [0, 1, 2]


def test_minus_zero_is_not_zero():
    f = torch.compile(lambda x, k: x * k)
    assert [np.signbit(f(ones(1), k).item()) for k in (0.0, -0.0, 0.0)] == [False, True, False]


def test_the_order_of_a_dict_counts():
    f = torch.compile(lambda d: sum(k * v for k, v in enumerate(d.values(), 1)))
    assert f({"a": ones(1), "b": ones(1) * 5}).item() == 11
    assert f({"b": ones(1) * 5, "a": ones(1)}).item() == 7


def test_a_leaf_is_not_a_result():
    f = torch.compile(lambda x: x * 2 if x.is_leaf else x * 3)
    x = ones(1, grad=True)
    assert [f(x).item(), f(x * 1).item(), f(x).item()] == [2, 3, 2]


def test_whether_there_is_a_gradient_counts():
    w = ones(1, grad=True)
    f = torch.compile(lambda x: x * 2 if w.grad is None else x * 3)
    before = f(ones(1)).item()
    (w * w).sum().backward()
    assert (before, f(ones(1)).item()) == (2, 3)


def test_a_forward_given_to_one_module_later_is_called():
    layer = torch.nn.Linear(2, 2)
    f = torch.compile(lambda x: layer(x))
    f(ones(2))
    layer.forward = lambda x: x * 9
    assert f(ones(2)).tolist() == [9, 9]


def test_what_hangs_on_an_argument_is_read_from_that_argument():
    f = torch.compile(lambda o: o.t * 2)
    first, second = types.SimpleNamespace(t=ones(1)), types.SimpleNamespace(t=ones(1) * 5)
    assert [f(first).item(), f(second).item(), f(first).item()] == [2, 10, 2]


def test_what_the_gradient_of_one_result_does_not_lead_to_gets_none():
    v, w = ones(2, grad=True), ones(2, grad=True)
    f = torch.compile(lambda x: (v * x, v * w * x))
    for _ in range(2):
        f(ones(2))[0].sum().backward()
    assert w.grad is None and v.grad.tolist() == [2, 2]
    f(ones(2))[1].sum().backward()
    assert w.grad.tolist() == [1, 1]


# -- what may be replaced -----------------------------------------------------------------------------


class Doubling:
    @staticmethod
    def of(x):
        return x * 2


class Net(torch.nn.Module):
    def forward(self, x):
        return self.block(x)

    def block(self, x):
        return x * factor


factor = 2.0


def user_module():
    module = types.ModuleType("helpers")
    exec("k = 2.0\ndef f(x): return x * k", vars(module))
    return module


REPLACED = {
    "a function of ours": (torch.nn.functional, lambda o, x: o.relu(x), lambda o, patch: patch.setattr(o, "relu", lambda x: x * 9)),
    "a static method": (Doubling, lambda o, x: o.of(x), lambda o, patch: patch.setattr(o, "of", staticmethod(lambda x: x * 9))),
    "the forward of a class": (Net(), lambda o, x: o(x), lambda o, patch: patch.setattr(Net, "forward", lambda self, x: x * 9)),
    "a method that forward calls": (Net(), lambda o, x: o(x), lambda o, patch: patch.setattr(Net, "block", lambda self, x: x * 9)),
    "a global that a method reads": (Net(), lambda o, x: o(x), lambda o, patch: patch.setitem(globals(), "factor", 9.0)),
    "a function of a user's module": (user_module(), lambda o, x: o.f(x), lambda o, patch: patch.setattr(o, "f", lambda x: x * 9)),
    "a global of a user's module": (user_module(), lambda o, x: o.f(x), lambda o, patch: patch.setattr(o, "k", 9.0)),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_later_is_called(name, monkeypatch):
    owner, call, replace = REPLACED[name]
    f = torch.compile(lambda x: call(owner, x))
    before = [f(ones(1)).item() for _ in range(2)]
    assert "left to eager mode" not in str(explain(f))
    replace(owner, monkeypatch)
    assert f(ones(1)).item() == 9 != before[-1]


def test_an_attribute_hung_on_a_tensor_is_read_anew():
    x = ones(1)
    x.k = 2.0
    f = torch.compile(lambda x: x * x.k)
    before = [f(x).item() for _ in range(2)]
    x.k = 3.0
    assert [*before, f(x).item()] == [2, 2, 3]


def test_the_environment_is_read_anew(monkeypatch):
    f = torch.compile(lambda x: x * float(os.environ.get("FACTOR", "2")))
    before = [f(ones(1)).item() for _ in range(2)]
    monkeypatch.setenv("FACTOR", "3")
    assert [*before, f(ones(1)).item()] == [2, 2, 3]


# -- hooks --------------------------------------------------------------------------------------------


def test_a_hook_that_comes_later_is_called():
    w, calls = ones(2, grad=True), []

    @torch.compile
    def step(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad * 1

    step(ones(2))
    step(ones(2))
    w.register_hook(lambda g: calls.append(1) or g * 2)
    assert step(ones(2)).tolist() == [2, 2]
    assert calls == [1]


def test_a_hook_for_all_modules_is_called():
    layer = torch.nn.Linear(2, 2)
    f = torch.compile(layer)
    before = f(ones(2))
    with torch.nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 2):
        assert f(ones(2)).tolist() == (before * 2).tolist()
    assert f(ones(2)).tolist() == before.tolist()


# -- gradients ----------------------------------------------------------------------------------------


def test_a_backward_pass_inside_is_for_the_arguments_of_this_call():
    @torch.compile
    def step(x):
        x.grad = None
        (x * x).sum().backward()

    for k in range(1, 4):
        x = (ones(2) * k).requires_grad_()
        step(x)
        assert x.grad.tolist() == [2 * k, 2 * k]


def test_a_backward_pass_that_leads_out_of_the_function_is_whole():
    w = ones(2, grad=True)
    f = torch.compile(lambda x: (x * x).sum().backward())
    for _ in range(3):
        w.grad = None
        f(w * 3)
        assert w.grad.tolist() == [18, 18]


def test_keywords_in_another_order_keep_their_gradients():
    f = torch.compile(lambda x, y: (x * x * y).sum())
    for swap in (False, True, False):
        x, y = ones(2, grad=True), (ones(2) * 3).requires_grad_()
        (f(y=y, x=x) if swap else f(x=x, y=y)).backward()
        assert (x.grad.tolist(), y.grad.tolist()) == ([6, 6], [1, 1])


def test_module_zero_grad_is_not_lost():
    layer = torch.nn.Linear(2, 1)

    @torch.compile
    def step(x):
        layer.zero_grad()
        layer(x).sum().backward()

    for _ in range(3):
        step(ones(1, 2))
        assert layer.weight.grad.tolist() == [[1, 1]]


def test_an_accumulated_gradient_that_is_returned_is_this_calls():
    def story(compiled):
        w, found = ones(2, grad=True), []

        def step(x):
            w.grad = None
            (w * x).sum().backward()
            return w.grad

        f = compiled(step)
        for k in range(3):
            g = f(ones(2) * k)
            found += [g is w.grad, g.clone()]
            g.add_(5)
        return found

    same_story(story)


# -- memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["input", "outside", "result"])
def test_a_kept_value_that_is_written_to_before_backward_is_noticed(what):
    outside = ones(3)
    f = torch.compile(lambda x, w: (x * w * outside).exp())
    for _ in range(3):
        x, w = ones(3), ones(3, grad=True)
        y = f(x, w)
        {"input": x, "outside": outside, "result": y}[what].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


@pytest.mark.parametrize("results", [
    lambda x: (x * 2, x * 2),
    lambda x: [x * 2] * 2,
    lambda x: (lambda y: (y, y.detach()))(x * 2),
    lambda x: (lambda y: (y[:2], y))(x * 2),
    lambda x: (x * 1, x + 0),
], ids=["equal", "one twice", "detached", "a view", "the input"])  # fmt: skip
def test_results_share_memory_as_in_eager_mode(results):
    def story(compiled):
        f, found = compiled(results), []
        for _ in range(3):
            x = ones(3, grad=True)
            a, b = f(x)
            with torch.no_grad():
                a.add_(1)
            found += [a is b, a, b, x]
        return found

    same_story(story)


def test_a_number_times_an_array_of_the_rule_is_kept():
    def story(compiled):
        f = compiled(lambda x: (x * 2).prod().tanh() * x)
        found = []
        for k in range(1, 4):
            x = torch.tensor(float(k), requires_grad=True)
            f(x).backward()
            found.append(x.grad)
        return found

    same_story(story)


# -- numbers that were looked at ----------------------------------------------------------------------


def outcome(f, *args):
    try:
        return plain(f(*args))
    except (IndexError, RuntimeError) as error:
        return str(error)


CHECKED = {
    "embedding": (lambda x, i: F.embedding(i, x), [1, 2, 9, -1, 3]),
    "cross_entropy": (lambda x, i: F.cross_entropy(x[:2], i), [1, 2, 9, -1, -100, 3]),
    "ignored": (lambda x, i: F.cross_entropy(x[:2], i, ignore_index=2), [1, 2, 0, 2]),
    "nll_loss": (lambda x, i: F.nll_loss(x[:2], i), [1, 9, -100, 3]),
    "gather": (lambda x, i: x.gather(0, i.reshape(2, 1)), [1, 2, 9, -1]),
    "index_select": (lambda x, i: x.index_select(0, i), [1, 2, 9, -1]),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), [1, 2, 9, -1]),
    "scatter": (lambda x, i: x.scatter(0, i.reshape(2, 1), 5.0), [1, 2, 9, -1]),
    "one_hot": (lambda x, i: F.one_hot(i), [1, 2, 3]),
    "repeat": (lambda x, i: x[:2].repeat_interleave(i, 0), [1, 2, 3]),
    "whole division": (lambda x, i: torch.fmod(i * 3, i), [1, 2, 0, 3]),
}


@pytest.mark.parametrize("name", CHECKED)
def test_numbers_are_checked_at_each_call(name):
    function, numbers = CHECKED[name]
    compiled = torch.compile(function)
    torch.manual_seed(0)
    x = torch.randn(4, 4)
    for k in numbers:
        i = torch.tensor([0 if name != "whole division" else 1, k])
        np.testing.assert_equal(outcome(compiled, x, i), outcome(function, x, i))


@pytest.mark.parametrize("key", [lambda x: x.argmax(), lambda x: (slice(None), x[0].argmin()), lambda x: x.sum() > 0])
def test_an_index_that_is_a_number_of_a_tensor_is_read_at_each_call(key):
    def story(compiled):
        f = compiled(lambda x: x.reshape(2, 2)[key(x.reshape(2, 2))] * 2)
        return [f(torch.tensor(x)) for x in ([1.0, 0.0, -1.0, -2.0], [-3.0, 5.0, -3.0, -4.0], [2.0, 1.0, 0.0, 0.0])]

    same_story(story)


def test_classes_in_range_are_replayed():
    f = torch.compile(lambda x, i: F.cross_entropy(x, i))
    for k in (1, 2, 0):
        f(ones(2, 4), torch.tensor([k, 3]))
    assert "compiled" in str(explain(f))
    assert "eager" not in str(explain(f))


def a_view_around_a_write(compiled):
    total = torch.zeros(2)

    def f(x):
        view = total[:1]
        before = view * 2
        total.add_(x)
        return before + view * 2

    f = compiled(f)
    return [f(ones(2) * k) for k in range(1, 4)]


def two_passes(compiled):
    w = ones(2, grad=True)

    def f(x):
        (w * x).sum().backward()
        first = w.grad * 1
        (w * x * 2).sum().backward()
        second = w.grad * 1
        w.grad = None
        return first, second

    f = compiled(f)
    return [f(ones(2) * k) for k in range(1, 4)]


def a_leaf_made_inside(compiled):
    def f(x):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        (w * x).sum().backward()
        return w.grad * 2

    f = compiled(f)
    return [f(ones(2) * k) for k in range(1, 4)]


def a_leaf_that_is_returned(compiled):
    f = compiled(lambda x: torch.zeros(2, requires_grad=True))
    return [f(ones(2)).requires_grad for _ in range(3)]


def a_function_that_wears_our_name(compiled):
    settings = {"scale": 2.0}

    @functools.wraps(torch.relu)
    def scaled(x):
        return torch.relu(x) * settings["scale"]

    f, seen = compiled(scaled), []
    for scale in (2.0, 3.0, 2.0):
        settings["scale"] = scale
        seen.append(f(ones(2)))
    return seen


@pytest.mark.parametrize(
    "story", [a_view_around_a_write, two_passes, a_leaf_made_inside, a_leaf_that_is_returned, a_function_that_wears_our_name]
)
def test_stories_that_a_compiled_function_once_told_otherwise(story):
    same_story(story)


def test_a_tensor_from_outside_is_handed_back_though_nothing_else_uses_it():
    def story(compiled):
        kept = torch.tensor([1.0, 2.0])
        f = compiled(lambda x: (x * 2, kept))
        return [[plain(f(ones(2) * k)), f(ones(2))[1] is kept] for k in range(3)]

    same_story(story)
