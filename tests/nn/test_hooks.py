"""Hooks: what may be called around a forward, in a backward, and when a state goes out or comes in. Told on both sides."""

import copy
import itertools
import pickle

import pytest

import autolab


@pytest.fixture
def layer(lib):
    """y = x @ [[1, 3], [2, 4]]."""
    m = lib.nn.Linear(2, 2, bias=False)
    with lib.no_grad():
        m.weight.copy_(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
    return m


@pytest.fixture
def x(lib):
    return lib.ones(1, 2, requires_grad=True)


# -- around forward ---------------------------------------------------------------------------------------


def test_hooks_run_in_order_those_of_all_modules_first_prepended_ones_before_others(lib, layer, x):
    order = []
    layer.register_forward_hook(lambda *a: order.append("first"))
    layer.register_forward_hook(lambda *a: order.append("second"))
    layer.register_forward_hook(lambda *a: order.append("prepended"), prepend=True)
    everyone = module_of(lib).register_module_forward_hook(lambda *a: order.append("everyone's"))
    layer(x)
    assert order == ["everyone's", "prepended", "first", "second"]
    everyone.remove()
    layer(x)
    assert order[4:] == ["prepended", "first", "second"]


def module_of(lib):
    return lib.nn.modules.module


def test_a_hook_may_ask_for_keyword_arguments(lib, layer, x):
    seen = []
    layer.register_forward_hook(lambda m, args, kwargs, out: seen.append((args, list(kwargs))), with_kwargs=True)
    layer(input=x)
    assert seen == [((), ["input"])]
    layer.register_forward_pre_hook(lambda m, args, kwargs: ((x * 10,), {}), with_kwargs=True)
    assert layer(input=x).tolist() == [[30.0, 70.0]]


def test_a_hook_that_returns_something_else_than_arguments_is_told_so(lib, layer, x):
    layer.register_forward_pre_hook(lambda m, args, kwargs: x, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"forward pre-hook must return None or a tuple of \(new_args, new_kwargs\), but got"):
        layer(x)


def test_a_hook_may_ask_to_be_called_even_if_forward_fails(lib, layer):
    called = []
    layer.register_forward_hook(lambda m, args, out: called.append(out), always_call=True)
    layer.register_forward_hook(lambda m, args, out: called.append("never"))
    with pytest.raises(RuntimeError):
        layer(lib.ones(3))
    assert called == [None]


def test_removing_a_hook_twice_is_harmless_and_a_with_block_removes_it(lib, layer, x):
    seen = []
    with layer.register_forward_hook(lambda *a: seen.append(1)) as handle:
        layer(x)
    layer(x)
    handle.remove()
    assert seen == [1] and not layer._forward_hooks


# -- in backward --------------------------------------------------------------------------------------------


def test_a_backward_hook_sees_the_gradients_of_outputs_and_inputs(lib, layer, x):
    seen = []
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: seen.append((m, grad_in[0].tolist(), grad_out[0].tolist())))
    (layer(x) * 2).sum().backward()
    assert seen == [(layer, [[8.0, 12.0]], [[2.0, 2.0]])] and x.grad.tolist() == [[8.0, 12.0]]


def test_backward_hooks_may_replace_gradients(lib, layer, x):
    layer.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 2,))
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: (grad_in[0] * 10,))
    layer(x).sum().backward()
    assert x.grad.tolist() == [[80.0, 120.0]] and layer.weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_what_goes_around_a_module_with_hooks_is_marked_in_the_graph(lib, layer, x):
    layer.register_full_backward_hook(lambda *a: None)
    assert type(layer(x).grad_fn).__name__ == "BackwardHookFunctionBackward"


def test_a_backward_hook_without_inputs_that_need_gradients_warns_and_hears_of_the_outputs(lib, layer):
    seen = []
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: seen.append((grad_in, grad_out[0].tolist())))
    with pytest.warns(UserWarning, match="Full backward hook is firing when gradients are computed with respect to module outputs"):
        layer(lib.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0, 1.0]])]


def test_modules_with_backward_hooks_can_be_differentiated_twice(lib, layer, x):
    layer.register_full_backward_hook(lambda *a: None)
    (g,) = lib.autograd.grad((layer(x) ** 2).sum(), x, create_graph=True)
    (g**2).sum().backward()
    plain = copy.deepcopy(layer)
    plain._backward_hooks.clear()
    plain.zero_grad()
    (g,) = lib.autograd.grad((plain(x) ** 2).sum(), x, create_graph=True)
    (g**2).sum().backward()
    assert layer.weight.grad.tolist() == plain.weight.grad.tolist()


def test_a_wrong_number_of_gradients_is_refused(lib, layer, x):
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: (grad_in[0], None))
    with pytest.raises(RuntimeError, match="Backward hook returned an invalid number of grad_input, got 2, but expected 1"):
        layer(x).sum().backward()


def test_both_kinds_of_backward_hooks_on_one_module_are_refused(lib, layer):
    layer.register_full_backward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks on a single Module"):
        layer.register_backward_hook(lambda *a: None)


def test_hooks_of_all_modules_reach_every_layer_in_a_backward(lib, x):
    seen = []
    model = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Tanh())
    handle = module_of(lib).register_module_full_backward_hook(lambda m, grad_in, grad_out: seen.append(type(m).__name__))
    model(x).sum().backward()
    handle.remove()
    assert seen == ["Tanh", "Linear", "Sequential"]


# -- the state ------------------------------------------------------------------------------------------------


def test_a_state_carries_the_versions_of_its_modules(lib):
    state = lib.nn.Sequential(lib.nn.BatchNorm1d(2), lib.nn.Linear(2, 2)).state_dict()
    assert dict(state._metadata) == {"": {"version": 1}, "0": {"version": 2}, "1": {"version": 1}}


def test_hooks_may_change_a_state_on_its_way_out_and_in(lib):
    m = lib.nn.Linear(1, 1)
    m.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(extra=1))
    assert list(m.state_dict()) == ["weight", "bias", "extra"]
    m.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("extra", None))
    assert repr(m.load_state_dict(m.state_dict())) == "<All keys matched successfully>"


def test_a_hook_after_loading_may_forgive_what_is_missing(lib):
    m = lib.nn.Linear(1, 1)
    m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    m.load_state_dict({"weight": lib.ones(1, 1)})
    assert m.weight.item() == 1.0


def test_a_module_may_keep_more_than_tensors(lib):
    class Counter(lib.nn.Module):
        count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    m, twin = Counter(), Counter()
    m.count = 7
    assert m.state_dict() == {"_extra_state": {"count": 7}}
    twin.load_state_dict(m.state_dict())
    assert twin.count == 7


def test_states_written_before_batches_were_counted_still_load(lib):
    m = lib.nn.BatchNorm1d(2)
    old = {name: t for name, t in m.state_dict().items() if name != "num_batches_tracked"}
    assert repr(m.load_state_dict(old)) == "<All keys matched successfully>"


def test_loading_can_put_the_given_tensors_in_place(lib):
    m, weight = lib.nn.Linear(2, 2, bias=False), lib.ones(2, 2, dtype=lib.float64)
    m.weight.requires_grad_(False)
    m.load_state_dict({"weight": weight}, assign=True)
    assert m.weight.dtype == lib.float64 and m.weight.data_ptr() == weight.data_ptr()
    assert isinstance(m.weight, lib.nn.Parameter) and not m.weight.requires_grad


# -- buffers, containers ----------------------------------------------------------------------------------------


def test_a_buffer_says_whether_it_is_kept(lib):
    m = lib.nn.Module()
    m.kept, m.lost = lib.nn.Buffer(lib.ones(2)), lib.nn.Buffer(lib.ones(2), persistent=False)
    assert [n for n, _ in m.named_buffers()] == ["kept", "lost"] and list(m.state_dict()) == ["kept"]


def test_a_dict_of_parameters_is_found_and_printed(lib):
    d = lib.nn.ParameterDict({"a": lib.ones(2), "b": lib.ones(1, 3)})
    assert [n for n, _ in d.named_parameters()] == ["a", "b"] and d.a.requires_grad
    assert repr(d) == (
        "ParameterDict(\n    (a): Parameter containing: [torch.FloatTensor of size 2]\n"
        "    (b): Parameter containing: [torch.FloatTensor of size 1x3]\n)"
    )
    assert list((d | lib.nn.ParameterDict({"c": lib.ones(1)})).keys()) == ["a", "b", "c"] and d.pop("a").tolist() == [1, 1]


def test_a_list_of_parameters_is_found_and_grows(lib):
    m = lib.nn.ParameterList([lib.ones(1), lib.ones(2)])
    m += [lib.nn.Parameter(lib.ones(3))]
    m.append(lib.ones(4))
    assert [len(p) for p in m.parameters()] == [1, 2, 3, 4] and len(m[1:3]) == 2 and m[-1].shape == (4,)


def test_sequences_are_added_and_repeated(lib):
    nn = lib.nn
    s = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    assert repr(s * 2) == "Sequential(\n  (0): ReLU()\n  (1): Tanh()\n  (2): ReLU()\n  (3): Tanh()\n)"
    s.insert(1, nn.ELU())
    assert repr(s.pop(0)) == "ReLU()" and repr(s) == "Sequential(\n  (0): ELU(alpha=1.0)\n  (1): Tanh()\n)"


def test_a_dict_of_modules(lib):
    nn = lib.nn
    d = nn.ModuleDict([("a", nn.ReLU()), ("b", nn.Tanh())])
    d.update({"c": nn.Linear(1, 2)})
    assert list(d) == ["a", "b", "c"] and "b" in d and len(list(d.parameters())) == 2
    del d["a"]
    assert repr(d["b"]) == "Tanh()" and list(d.keys()) == ["b", "c"]
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        d["x"] = 3


def test_a_lazy_layer_takes_its_size_from_the_first_input(lib):
    m = lib.nn.Sequential(lib.nn.LazyConv1d(3, 2), lib.nn.LazyBatchNorm1d(), lib.nn.Flatten(), lib.nn.LazyLinear(4))
    assert repr(m[3]) == "LazyLinear(in_features=0, out_features=4, bias=True)"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        m[3].weight.shape  # noqa: B018
    assert m(lib.ones(2, 5, 4)).shape == (2, 4)
    assert [type(part).__name__ for part in m] == ["Conv1d", "BatchNorm1d", "Flatten", "Linear"] and m[3].in_features == 9
    assert pickle.loads(pickle.dumps(m))(lib.ones(2, 5, 4)).shape == (2, 4)


def test_a_hook_of_the_older_kind_for_all_modules_sees_the_last_operation_of_each(lib, x, monkeypatch):
    monkeypatch.setattr(module_of(lib), "_global_is_full_backward_hook", None, raising=False)  # PyTorch never forgets the kind
    seen = []
    hook = lambda m, inputs, outputs: seen.append((type(m).__name__, [g.tolist() for g in outputs]))
    with module_of(lib).register_module_backward_hook(hook):
        net = lib.nn.Sequential(lib.nn.ReLU())
        net(x * 1).sum().backward()
    net(x).sum().backward()
    assert seen == [("ReLU", [[[1.0, 1.0]]]), ("Sequential", [[[1.0, 1.0]]])]


def test_the_two_kinds_of_backward_hooks_for_all_modules_do_not_mix():
    module = module_of(autolab)
    for first, second in itertools.permutations(("register_module_backward_hook", "register_module_full_backward_hook")):
        with getattr(module, first)(print), pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
            getattr(module, second)(print)


def test_a_handle_knows_the_hooks_of_its_place(layer, x):
    first, second = (layer.register_forward_pre_hook(lambda *_: None) for _ in range(2))
    assert {first.id, second.id} <= set(first.hooks_dict_ref())
    first.remove()
    assert first.id not in second.hooks_dict_ref()
