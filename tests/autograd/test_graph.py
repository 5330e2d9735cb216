"""autograd.graph: edges, what nodes keep, hooks on saved tensors and on several tensors at once. Both sides, where both can."""

import gc
import sys
import threading
import weakref

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


@pytest.fixture
def x(lib):
    return lib.tensor([1.0, 2.0, 3.0], requires_grad=True)


# -- nodes ---------------------------------------------------------------------------------------------


def test_every_node_is_a_node(lib, x):
    node_type = lib.autograd.graph.Node
    y = x.exp()
    assert isinstance(y.grad_fn, node_type) and isinstance(y.grad_fn.next_functions[0][0], node_type)
    assert not isinstance(x, node_type) and issubclass(type(y.grad_fn), node_type)


def test_a_node_is_printed_by_the_name_of_its_class(lib, x):
    y = x.clone()
    y[0].mul_(2)
    assert repr(y.grad_fn).startswith("<CopySlices object at 0x")
    assert repr(x.clone().grad_fn.next_functions[0][0]).startswith("<AccumulateGrad object at 0x")


def test_an_accumulator_is_named_as_pytorch_names_it(lib, x):
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    assert accumulator.name() == "torch::autograd::AccumulateGrad"
    assert type(accumulator).__name__ == "AccumulateGrad"


def test_a_copy_is_named_as_pytorch_names_it(lib, x):
    node = lib.zeros(3).copy_(x).grad_fn
    assert node.name() == "torch::autograd::CopyBackwards" and type(node).__name__ == "CopyBackwards"


def test_quotients_that_are_rounded_are_named_as_pytorch_names_them(lib, x):
    for other in (2.0, lib.ones(3)):
        for mode in ("trunc", "floor"):
            y = lib.div(x, other, rounding_mode=mode)
            assert y.grad_fn.name() == "DivBackward2"
            assert lib.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]


def test_a_node_can_be_run_by_hand(lib, x):
    node = (x * 2).grad_fn
    with lib.no_grad():
        gradient, nothing = node(lib.ones(3))
    assert gradient.tolist() == [2.0, 2.0, 2.0] and nothing is None
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        node(lib.ones(3), lib.ones(3))


# One edge, or None for what needs no gradient, for each Tensor that could have one: not for an index, a mask or a number.
EDGES = {
    "a product": (lambda lib, x: x * 2, [True, False]),
    "where": (lambda lib, x: lib.where(x > 2, x, 0.0), [True, False]),
    "masked_fill": (lambda lib, x: x.masked_fill(x > 2, 0.0), [True]),
    "masked_fill by a tensor": (lambda lib, x: x.masked_fill(x > 2, lib.tensor(0.0)), [True, False]),
    "gather": (lambda lib, x: x.gather(0, lib.tensor([0])), [True]),
    "index_select": (lambda lib, x: x.index_select(0, lib.tensor([0])), [True]),
    "scatter_add": (lambda lib, x: x.scatter_add(0, lib.tensor([0]), lib.ones(1)), [True, False]),
    "embedding": (lambda lib, x: lib.nn.functional.embedding(lib.tensor([0]), x.reshape(3, 1)), [True]),
    "nll_loss": (lambda lib, x: lib.nn.functional.nll_loss(x.reshape(1, 3), lib.tensor([0])), [True]),
    "a number to a power": (lambda lib, x: 2**x, [True]),
    "a number to a power, from a tensor": (lambda lib, x: lib.tensor(2.0) ** x, [False, True]),
    "from a number": (lambda lib, x: 1 - x, [True]),
    "remainder": (lambda lib, x: x % 2, [True]),
    "lerp": (lambda lib, x: lib.lerp(x, lib.ones(3), 0.5), [True, False]),
    "zero_": (lambda lib, x: x.clone().zero_(), [True]),
    "copy_": (lambda lib, x: lib.zeros(3).copy_(x), [False, True]),
}


@pytest.mark.parametrize("name", EDGES)
def test_a_node_shows_an_edge_for_each_tensor_that_could_have_a_gradient(lib, x, name):
    make, edges = EDGES[name]
    assert [child is not None for child, _ in make(lib, x).grad_fn.next_functions] == edges
    y = make(lib, x)
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: tuple(g if g is None else g * 10 for g in grad_inputs))
    (ten,) = lib.autograd.grad(y.sum(), x)
    (once,) = lib.autograd.grad(make(lib, x).sum(), x)
    assert lib.equal(ten, once * 10)


NAMES = {
    "scatter of a number": (lambda lib, x: x.scatter(0, lib.tensor([0]), 1.0), "ScatterBackward1"),
    "scatter": (lambda lib, x: x.scatter(0, lib.tensor([0]), lib.ones(1)), "ScatterBackward0"),
    "xlogy": (lambda lib, x: lib.xlogy(x, x), "XlogyBackward0"),
    "xlogy of a number": (lambda lib, x: lib.xlogy(2.0, x), "XlogyBackward1"),
    "xlogy by a number": (lambda lib, x: lib.xlogy(x, 2.0), "XlogyBackward2"),
    "xlog1py by a number": (lambda lib, x: lib.special.xlog1py(x, 2.0), "SpecialXlog1PyBackward2"),
    "rsub": (lambda lib, x: lib.rsub(x, lib.ones(3)), "RsubBackward0"),
    "rsub from a number": (lambda lib, x: lib.rsub(x, 1), "RsubBackward1"),
    "diag_embed": (lambda lib, x: x.diag_embed(), "DiagEmbedBackward0"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_node_is_named_for_the_form_of_the_call(lib, x, name):
    make, expected = NAMES[name]
    node = make(lib, x).grad_fn
    assert node.name() == expected
    assert len(node.next_functions) == 1 + (name in ("scatter", "xlogy", "rsub"))


def test_edges_that_lead_to_one_place_are_equal(lib, x):
    edge, graph = lib.autograd.graph.GradientEdge, lib.autograd.graph
    y, (first, second) = x * 2, x.reshape(3, 1).expand(3, 2).unbind(1)
    assert graph.get_gradient_edge(y) == edge(y.grad_fn, 0) and graph.get_gradient_edge(second) == edge(first.grad_fn, 1)
    assert {graph.get_gradient_edge(y): "y"}[edge(y.grad_fn, y.output_nr)] == "y"


def test_a_pass_may_begin_at_an_edge_made_by_hand(lib, x):
    lib.autograd.backward(lib.autograd.graph.GradientEdge((x * 2).sum().grad_fn, 0))
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_pass_leads_from_tensors_to_tensors_and_edges(lib, x):
    for inputs in ("x", [3], [None]):
        with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got (str|int|NoneType)"):
            lib.autograd.grad(x.sum(), inputs)
        with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got (str|int|NoneType)"):
            x.sum().backward(inputs=inputs)
    for outputs in ("x", [3], [None]):
        with pytest.raises(AssertionError, match="Expected output to be a torch.Tensor"):
            lib.autograd.grad(outputs, x)
        with pytest.raises(AssertionError, match="Expected output to be a torch.Tensor"):
            lib.autograd.backward(outputs)


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # checked with PyTorch by hand, which may crash at such things
def test_a_node_after_a_partial_write_gives_a_part_that_nobody_asked_for_no_gradient(lib, x):
    z, scale, given = x * 1, x.detach()[:1].requires_grad_() * 1, []
    z[:1].mul_(scale)
    z.grad_fn.register_hook(lambda grad_inputs, grad_outputs: given.append([g if g is None else g.tolist() for g in grad_inputs]))
    z.sum().backward(inputs=[scale])
    assert given == [[None, [1.0]]]


KEPT = {
    "mul": (lambda lib, x: x * (x + 1), {"self": [1.0, 2.0, 3.0], "other": [2.0, 3.0, 4.0]}),
    "exp": (lambda lib, x: (x * 0).exp(), {"result": [1.0, 1.0, 1.0]}),
    "pow": (lambda lib, x: x**3, {"self": [1.0, 2.0, 3.0], "exponent": 3}),
    "sum": (lambda lib, x: x.reshape(3, 1).sum(-2, keepdim=True), {"self_sym_sizes": (3, 1), "keepdim": True}),
    "softmax": (lambda lib, x: (x * 0).reshape(3, 1).softmax(1), {"result": [[1.0], [1.0], [1.0]], "dim": 1}),
    "stack": (lambda lib, x: lib.stack([x, x]), {"dim": 0}),
    "mm": (lambda lib, x: x.reshape(1, 3) @ x.reshape(3, 1), {"self": [[1.0, 2.0, 3.0]], "mat2": [[1.0], [2.0], [3.0]]}),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_a_node_keeps_goes_by_pytorchs_names(lib, x, name):
    make, kept = KEPT[name]
    node = make(lib, x).grad_fn
    for attribute, value in kept.items():
        found = getattr(node, f"_saved_{attribute}")
        assert (found.tolist() if isinstance(found, lib.Tensor) else found) == value
        assert f"_saved_{attribute}" in dir(node)


def test_a_kept_leaf_is_the_leaf_itself_and_a_kept_result_has_its_node(lib, x):
    assert (x * x).grad_fn._saved_self is x
    y = x.exp()
    assert y.grad_fn._saved_result is not y and y.grad_fn._saved_result.grad_fn is y.grad_fn


def test_what_is_freed_cannot_be_looked_at(lib, x):
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        y.grad_fn._saved_self  # noqa: B018


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # checked with PyTorch by hand, which may crash at such things
def test_a_handle_on_what_is_freed_is_empty(lib, x):
    y = x * x
    y.sum().backward()
    handle = y.grad_fn._raw_saved_self
    assert handle.data is None
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed"):
        handle.register_hooks(lambda t: t, lambda t: t)


def test_an_index_is_kept_as_a_tensor_for_each_axis(lib, x):
    whole, indices = x.reshape(1, 3, 1)[:, lib.tensor([0, 2])].grad_fn._saved_indices
    assert whole is None and indices.tolist() == [0, 2]


def test_weights_that_nobody_gave_are_none(lib, x):
    loss = lib.nn.functional.nll_loss
    assert loss(x.reshape(1, 3), lib.tensor([1])).grad_fn._saved_weight is None
    assert loss(x.reshape(1, 3), lib.tensor([1]), lib.ones(3)).grad_fn._saved_weight.tolist() == [1.0, 1.0, 1.0]


# -- edges ---------------------------------------------------------------------------------------------


def test_an_edge_stands_for_its_tensor_as_root_and_as_input(lib, x):
    middle = (x * 2).sum()
    edge = lib.autograd.graph.get_gradient_edge(middle)
    out = middle.exp()
    (g,) = lib.autograd.grad(out, edge)
    (through,) = lib.autograd.grad(edge, x, g)
    assert through.tolist() == pytest.approx(lib.autograd.grad((x * 2).sum().exp(), x)[0].tolist())


def test_an_edge_means_the_tensor_as_it_was_before_a_write(lib, x):
    y = x.clone()
    edge = lib.autograd.graph.get_gradient_edge(y)
    y *= 2
    before, after = lib.autograd.grad(y.sum(), (edge, y))
    assert before.tolist() == [2.0, 2.0, 2.0] and after.tolist() == [1.0, 1.0, 1.0]


def test_backward_goes_to_an_edge_and_from_one(lib, x):
    y = x * 2
    lib.autograd.backward((y * 3).sum(), inputs=lib.autograd.graph.get_gradient_edge(x), retain_graph=True)
    assert x.grad.tolist() == [6.0, 6.0, 6.0]
    lib.autograd.backward(lib.autograd.graph.get_gradient_edge(y.sum()))
    assert x.grad.tolist() == [8.0, 8.0, 8.0]


def test_an_edge_keeps_its_graph_alive(lib, x):
    edge = lib.autograd.graph.get_gradient_edge((x * 2).sum())
    gc.collect()
    lib.autograd.backward(edge)
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_edges_are_checked_like_tensors(lib, x):
    edge = lib.autograd.graph.get_gradient_edge(x * 2)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        lib.autograd.grad(edge, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        lib.autograd.grad(edge, x, lib.ones(4))
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge"):
        lib.autograd.graph.get_gradient_edge(lib.ones(2))
    unused = lib.autograd.graph.get_gradient_edge(x.clone())
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        lib.autograd.grad((x * 2).sum(), unused, materialize_grads=True)


# -- hooks on saved tensors ----------------------------------------------------------------------------


def test_the_innermost_pair_of_hooks_counts(lib):
    hooks = lib.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: 3 * t, lambda t: 3 * t):
        b = lib.ones(2, requires_grad=True)
        with hooks(lambda t: 5 * t, lambda t: 5 * t):
            a = lib.ones(2, requires_grad=True)
            y = a * a
        z = b * b
    (y + z).sum().backward()
    assert a.grad.tolist() == [50.0, 50.0] and b.grad.tolist() == [18.0, 18.0]


def test_a_pack_hook_sees_an_input_itself_and_runs_unrecorded(lib, x):
    seen = []
    with lib.autograd.graph.saved_tensors_hooks(lambda t: seen.append((t is x, lib.is_grad_enabled())) or t, lambda t: t):
        _ = x * x
    assert seen == [(True, False), (True, False)]


def test_saved_tensors_can_wait_on_disk(lib, x, tmp_path):
    def pack(t):
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.txt"
        file.write_text(repr(t.tolist()))
        return file

    with lib.autograd.graph.saved_tensors_hooks(pack, lambda file: lib.tensor(eval(file.read_text()))):
        y = (x.exp() * x).sum()
    assert len(list(tmp_path.iterdir())) == 3
    y.backward()
    assert x.grad.tolist() == pytest.approx(((1 + x) * x.exp()).tolist())


def test_a_pack_hook_that_writes_to_its_tensor_is_refused(lib, x):
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
        with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
            (x * 2).exp()


def test_an_unpack_hook_must_give_a_tensor(lib, x):
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 1):
        y = x.exp()
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.sum().backward()


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # checked with PyTorch by hand, which may crash at such things
@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("function", [lambda x: x * x, lambda x: x.sqrt(), lambda x: x / (x * 2)], ids=["mul", "sqrt", "div"])
def test_a_gradient_has_its_inputs_dtype_whatever_an_unpack_hook_brings_back(lib, x, dtype, function):
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.to(getattr(lib, dtype))):
        y = function(x).sum()
    (g,) = lib.autograd.grad(y, x, create_graph=True)
    y.backward()
    assert g.dtype is x.grad.dtype is lib.float32


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # checked with PyTorch by hand, which may crash at such things
def test_an_unpack_hook_that_brings_back_another_shape_is_told_so(lib, x):
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: lib.ones(2)):
        y = (x * x).sum()
    with pytest.raises(
        RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(2\) at non-singleton dimension 0"
    ):
        y.backward()


def test_hooks_on_saved_tensors_are_functions(lib):
    with pytest.raises(TypeError, match=r"_push_saved_tensors_default_hooks\(\): incompatible function arguments"):
        with lib.autograd.graph.saved_tensors_hooks(3, 4):
            pass


def test_errors_of_hooks_arrive_as_they_are_and_leave_nothing_behind(lib, x):
    class Mine(Exception):
        pass

    def fail(t):
        raise Mine

    with lib.autograd.graph.saved_tensors_hooks(fail, lambda t: t), pytest.raises(Mine):
        x.exp()
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
        y = x.exp()
    with pytest.raises(Mine):
        y.sum().backward()
    x.exp().sum().backward()
    assert x.grad is not None


def test_hooks_can_be_hung_on_one_saved_tensor(lib, x):
    y = x * x
    handle = y.grad_fn._raw_saved_self
    handle.register_hooks(lambda t: t * 2, lambda t: t)
    with pytest.raises(RuntimeError, match="already been set"):
        handle.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_other.register_hooks(1, 1)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 6.0, 9.0]


def test_numbers_are_no_tensors_to_the_hooks(lib, x):
    def fail(t):
        raise AssertionError(t)

    with lib.autograd.graph.saved_tensors_hooks(fail, fail):
        (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_hooks_can_be_forbidden(lib):
    graph = lib.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        with pytest.raises(RuntimeError, match="no more"), graph.disable_saved_tensors_hooks("no more"):
            pass


def test_save_on_cpu_changes_no_gradient(lib, x):
    with lib.autograd.graph.save_on_cpu():
        y = (x * x.exp()).sum()
    y.backward()
    assert x.grad.tolist() == pytest.approx(((1 + x) * x.exp()).tolist())


def test_hooks_hold_on_to_nothing_once_the_graph_is_gone(lib, x):
    class Big:
        pass

    def scope():
        big = Big()
        with lib.autograd.graph.saved_tensors_hooks(lambda t: (big, t), lambda pair: pair[1]):
            x.exp().sum().backward()
        return weakref.ref(big)

    assert scope()() is None


# -- hooks on several tensors --------------------------------------------------------------------------


def test_a_hook_on_several_waits_for_all_that_the_pass_reaches(lib, x):
    a, b, c = x * 1, x * 2, x * 3
    seen = []
    handle = lib.autograd.graph.register_multi_grad_hook((a, b, c), lambda gs: seen.append([g is not None for g in gs]))
    out = (a * b).sum()
    out.backward(inputs=(a, b), retain_graph=True)
    out.backward(inputs=(a,), retain_graph=True)
    assert seen == [[True, True, False], [True, False, False]]
    handle.remove()
    out.backward()
    assert len(seen) == 2


def test_a_hook_on_any_of_several_is_called_once_a_pass(lib, x):
    a, b = x * 1, x * 2
    seen = []
    lib.autograd.graph.register_multi_grad_hook((a, b), lambda g: seen.append(g.tolist()), mode="any")
    (a + b * 3).sum().backward(retain_graph=True)
    (a + b).sum().backward()
    assert len(seen) == 2


def test_a_hook_on_several_that_do_not_require_grad(lib, x):
    register, seen = lib.autograd.graph.register_multi_grad_hook, []
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        register((x, lib.ones(3)), print)
    register((lib.ones(3), x), seen.append, mode="any")
    (x * 2).sum().backward()
    assert len(seen) == 1


def test_a_failed_pass_does_not_count_for_a_hook_on_several(lib, x):
    a, b = x * 1, x * 2
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, a, b), lambda gs: seen.append(len(gs)))
    broken = a.clone()
    broken.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (broken + b).sum().backward()
    (a * 2 + b).sum().backward()
    assert seen == [3]


def test_hooks_on_several_tell_threads_apart(lib, x):
    a, b = x * 1, x * 2
    seen, lock = [], threading.Lock()

    def hook(gs):
        with lock:
            seen.append(len(gs))

    lib.autograd.graph.register_multi_grad_hook((a, b), hook)
    out = (a * b).sum()
    threads = [threading.Thread(target=out.backward, kwargs={"retain_graph": True, "inputs": (a, b)}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [2, 2, 2, 2]


def test_there_are_two_modes(lib, x):
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got foo"):
        lib.autograd.graph.register_multi_grad_hook((x,), print, mode="foo")


# -- the running pass ----------------------------------------------------------------------------------


def test_a_callback_runs_when_the_pass_has_ended(lib, x):
    engine = lib.autograd.Variable._execution_engine
    ran = []
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: ran.append(x.grad.tolist())))
    y.sum().backward()
    assert ran == [[2.0, 2.0, 2.0]]


def test_a_hook_is_told_when_no_gradient_arrives(lib, x):
    pieces, seen = x.unbind(), []
    pieces[0].register_hook(seen.append)
    pieces[1].backward()
    assert seen == [None]


def test_backward_for_named_inputs_runs_their_nodes_too(lib, x):
    ran = []
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: ran.append("before y's node"))
    y.sum().backward(inputs=(y,), retain_graph=True)
    assert ran == ["before y's node"] and y.grad.tolist() == [1.0, 1.0, 1.0] and x.grad is None
    lib.autograd.grad(y.sum(), y)
    assert len(ran) == 1


@pytest.mark.skipif(sys.platform == "emscripten", reason="a browser has one stack")
def test_passes_may_start_passes_as_deep_as_they_like(lib):
    class Countdown(lib.autograd.Function):
        @staticmethod
        def forward(ctx, n):
            with lib.enable_grad():
                ctx.n = n.detach().requires_grad_() - 1
            return ctx.n.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.n > 0:
                with lib.enable_grad():
                    Countdown.apply(ctx.n).backward()
            return g

    n = lib.tensor(200.0, requires_grad=True)
    Countdown.apply(n).backward()
    assert n.grad.item() == 1.0


def test_a_debugger_that_stops_in_a_backward_sees_the_pass_and_who_called_it():
    import traceback

    import autolab as torch

    def hook(g):
        stack.extend(frame.name for frame in traceback.extract_stack())

    stack = []
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(hook)
    y.sum().backward()
    assert stack[-1] == "hook" and {"steps", "run_pass"} & set(stack)
    assert "test_a_debugger_that_stops_in_a_backward_sees_the_pass_and_who_called_it" in stack


def test_threads_that_share_a_graph_without_retain_graph_are_told_so(lib):
    x = lib.ones(5, requires_grad=True)
    y = x + x**2
    failed, passed = [], []

    def work():
        try:
            y.sum().backward()
            passed.append(1)
        except RuntimeError as error:
            failed.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert passed and all("Specify retain_graph=True" in message for message in failed)
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.sum().backward()


def test_a_pack_hook_gets_tensors_of_any_dtype(lib, x):
    seen = []
    with lib.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.dtype) or t, lambda t: t):
        values, _ = x.max(0)
        y = lib.where(x > 1, x, x * 2)
    (values + y.sum()).backward()
    assert lib.int64 in seen and lib.bool in seen
    assert x.grad.tolist() == [2.0, 1.0, 2.0]


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_to_name_no_dim_is_not_to_name_none(lib, x, name):
    def node(*args, **kwargs):
        return getattr(x, name)(*args, **kwargs).grad_fn.name()

    assert node().endswith("Backward0")
    assert node(dim=None).endswith("Backward1") and node(dim=()).endswith("Backward1")
