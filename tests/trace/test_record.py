"""What a trace says is what the engine does, and recording leaves no mark on the learner's tensors."""

import gc
import weakref

import jsonschema
import numpy as np
import pytest

import autolab as torch
from autolab.trace import Trace, graph, record, schema, watch
from autolab.trace.values import value_of


def leaf(data, dtype=None):
    return torch.tensor(data, dtype=dtype, requires_grad=True)


def chain():
    x = leaf(2.0)
    return (3 * x + 1) ** 2, [x]


def used_twice():
    x = leaf(2.0)
    return 3 * x + x**2, [x]


def broadcast():
    w, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([0.5, -0.5])
    h = (torch.tensor([[1.0, -1.0], [2.0, 0.0], [1.0, 1.0]]) @ w + b).relu()
    return (h * h).sum(), [w, b]


def several_outputs():
    x = leaf([1.0, 2.0, 3.0])
    first, rest = x.split([1, 2])
    return (first * rest.sum()).sum() + x.max(0).values.exp(), [x]


def one_of_several_outputs():
    x = leaf([1.0, 2.0, 3.0])
    return x.split([1, 2])[1].sum(), [x]


def network():
    torch.manual_seed(0)
    x, target = torch.randn(16, 8), torch.randint(0, 4, (16,))
    w1, b1, w2 = torch.randn(8, 12), torch.zeros(12), torch.randn(12, 4)
    weights = [w1.requires_grad_(), b1.requires_grad_(), w2.requires_grad_()]
    scores = (x @ w1 + b1).tanh() @ w2
    return -scores.log_softmax(1)[torch.arange(16), target].mean(), weights


def custom():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    x = leaf([1.0, 2.0])
    return Cube.apply(x * 2).sum(), [x]


def double_precision():
    x, y = leaf([0.1, 0.2, 0.3], torch.float64), leaf(1.7, torch.float64)
    return ((x * y).sin() / (x + y)).sum(), [x, y]


def mixed_precision():
    x, y = leaf([0.1, 0.2, 0.3], torch.float64), leaf([1.0, 2.0, 3.0], torch.float32)
    return (x * y).sum(), [x, y]


def written_through_a_view():
    x, w = leaf([1.0, 2.0, 3.0, 4.0]), leaf([5.0, 6.0])
    base = x * 2
    middle = base[1:3]
    middle.mul_(w)
    return (base * base).sum() + middle.exp().sum(), [x, w]


def written_in_place():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    z = x * 2
    z.add_(y).mul_(y)
    z[0] = y[1]
    return z.prod(), [x, y]


def checkpointed():
    from autolab.utils.checkpoint import checkpoint

    x, w = leaf([0.1, 0.2]), leaf([1.5, -2.0])
    h = checkpoint(lambda x: (x * w).tanh().exp(), x, use_reentrant=False)
    return (h * checkpoint(torch.sin, h, use_reentrant=True)).sum(), [x, w]


def two_in_two_out():
    class Rotate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x - y, x + y

        @staticmethod
        def backward(ctx, g, h):
            return g + h, h - g

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    a, b = Rotate.apply(x, y)
    return (a * b.exp()).sum() + torch.linalg.svdvals(a.outer(b)).max(), [x, y]


def hooked():
    x = leaf([1.0, 2.0])
    middle = x * 3
    middle.register_hook(lambda g: g.clamp(max=5.0))
    result = (middle**2).sum()
    result.grad_fn.register_hook(lambda grad_inputs, grad_outputs: tuple(g * 2 for g in grad_inputs))
    x.register_hook(lambda g: g + 1)
    return result, [x]


CASES = [
    chain, used_twice, broadcast, several_outputs, one_of_several_outputs, network, custom, double_precision,
    mixed_precision, written_through_a_view, written_in_place, checkpointed, two_in_two_out, hooked,
]  # fmt: skip


def bits(tensor_or_value):
    if isinstance(tensor_or_value, torch.Tensor):
        tensor_or_value = value_of(tensor_or_value.detach().numpy())
    return tensor_or_value.shape, tensor_or_value.dtype, tensor_or_value.data, tensor_or_value.fingerprint


@pytest.mark.parametrize("case", CASES)
def test_gradients_in_a_trace_are_those_of_backward_to_the_bit(case):
    loss, leaves = case()
    trace = record(loss, names={f"leaf{i}": t for i, t in enumerate(leaves)})
    loss.backward()
    recorded = {trace.node(s.node).label: s.grad.after for s in trace.steps if s.grad is not None}
    assert {f"leaf{i}": bits(t.grad) for i, t in enumerate(leaves)} == {k: bits(v) for k, v in recorded.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_trace_keeps_to_its_schema(case):
    jsonschema.validate(record(case()[0]).to_dict(), schema())


@pytest.mark.parametrize("case", CASES)
def test_a_trace_survives_json(case):
    trace = record(case()[0])
    assert Trace.from_json(trace.to_json()) == trace


@pytest.mark.parametrize("case", CASES)
def test_recording_leaves_no_mark(case):
    loss, leaves = case()
    record(loss)
    assert all(t.grad is None for t in leaves)
    loss.backward()
    assert all(t.grad is not None for t in leaves)


@pytest.mark.parametrize("case", CASES)
def test_what_is_sent_along_all_edges_adds_up_to_what_is_received(case):
    trace = record(case()[0])
    changed = {step.node for step in trace.steps for hook in step.hooks if hook.kind != "after"}
    arrived = {}
    for step in trace.steps:
        for sent in step.outgoing:
            edge = trace.edge(sent.edge)
            if sent.value is not None:
                arrived.setdefault((edge.source, edge.output), []).append(sent.value)
    received = {(s.node, k): v for s in trace.steps[1:] for k, v in enumerate(s.incoming) if v is not None}
    assert arrived.keys() == received.keys()
    for key, parts in arrived.items():
        if received[key].complete and key[0] not in changed:
            total = sum(np.array(part.data) for part in parts)
            assert np.allclose(total, received[key].data, rtol=1e-5)


def test_a_gradient_that_is_there_already_is_added_to():
    loss, (x,) = chain()
    loss.backward(retain_graph=True)
    step = record(loss, names={"x": x}).steps[-1]
    assert (step.grad.before.data, step.grad.after.data) == (42, 84)
    assert step.sentence == "x (AccumulateGrad) receives 42; x.grad was 42, and becomes 84."
    assert x.grad.item() == 42


def test_a_retained_gradient_is_left_alone():
    x = leaf(2.0)
    middle = 3 * x
    middle.retain_grad()
    record(middle**2)
    assert middle.grad is None


def test_recording_twice_gives_the_same():
    loss, _ = network()
    assert record(loss) == record(loss)


def test_the_weights_of_a_loss_that_is_no_number():
    x = leaf([1.0, 2.0])
    trace = record(x * x, gradient=torch.tensor([1.0, 10.0]))
    assert trace.steps[-1].grad.after.data == [2, 40]


def test_a_gradient_that_is_passed_on_is_told_once():
    x = torch.ones(4, 3, requires_grad=True)
    trace = record((x + 1).sum(), names={"x": x})
    assert trace.steps[1].sentence == "+ (AddBackward0) receives a tensor [4, 3], all 1; x gets a tensor [4, 3], all 1."
    assert trace.steps[1].outgoing[0].filled == "[4, 3], all 1"


def test_a_hook_is_seen_in_the_numbers():
    x = leaf(2.0)
    middle = 3 * x
    middle.register_hook(lambda g: g * 100)
    assert record(middle * 1).steps[-1].grad.after.data == 300


def test_a_hook_on_a_node_takes_the_formula_away():
    x = leaf(2.0)
    middle = 3 * x
    middle.grad_fn.register_hook(lambda grad_inputs, grad_outputs: tuple(g and g * 0 for g in grad_inputs))
    (sent,) = record(middle * 1, names={"x": x}).steps[1].outgoing
    assert (sent.value.data, sent.filled) == (0, None)


def test_a_hook_that_changes_a_gradient_is_an_event_of_its_step():
    def halve(g):
        return g / 2

    x = leaf(2.0)
    middle = 3 * x
    middle.register_hook(halve)
    step = record(middle * 1, names={"x": x}).steps[1]
    (hook,) = step.hooks
    assert (hook.name, hook.kind, hook.sees[0].data, hook.gives[0].data) == ("halve", "tensor", 1, 0.5)
    assert step.sentence == "Hook halve changes 1 to 0.5. × (MulBackward0) receives 0.5; x gets 0.5 × 3 = 1.5."


def test_a_hook_that_only_looks_says_what_it_saw():
    x = leaf(2.0)
    x.register_hook(lambda g: None)
    step = record(3 * x, names={"x": x}).steps[1]
    assert step.hooks[0].gives is None
    assert step.sentence.startswith("A hook sees 3. x (AccumulateGrad) receives 3")


def test_hooks_before_and_after_a_node_stand_on_either_side():
    x = leaf(2.0)
    y = 3 * x
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: None)
    y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2,))
    (step, _) = record(y, names={"x": x}).steps
    assert [hook.kind for hook in step.hooks] == ["before", "after"]
    assert step.sentence.startswith("A hook changes 1 to 2. × (MulBackward0) receives 2")


def test_hooks_are_left_as_they_were():
    seen, x = [], leaf(2.0)
    handle = x.register_hook(seen.append)
    y = 3 * x
    record(y)
    record(y)
    handle.remove()
    y.backward()
    assert len(seen) == 2


def test_a_hook_may_take_itself_away():
    x, seen = leaf(2.0), []
    y = 3 * x

    def once(g):
        seen.append(g)
        handle.remove()

    handle = x.register_hook(once)
    record(y)
    y.backward()
    assert len(seen) == 1


# -- what is said -----------------------------------------------------------------------------------


@pytest.mark.lesson04
def test_the_trace_of_lesson_4():
    x = leaf(2.0)
    assert [s.sentence for s in record((3 * x + 1) ** 2).steps] == [
        "xʸ (PowBackward0) receives 1; + (AddBackward0) gets 1 × (2 × 7 ** (2 - 1)) = 14.",
        "+ (AddBackward0) receives 14; × (MulBackward0) gets 14.",
        "× (MulBackward0) receives 14; x gets 14 × 3 = 42.",
        "x (AccumulateGrad) receives 42; x.grad becomes 42.",
    ]


@pytest.mark.parametrize(("shape", "axes"), [((2,), "axis 0"), ((3, 1), "axis 1"), ((1, 1), "axes 0 and 1"), ((), "axes 0 and 1")])
def test_a_sum_over_broadcast_axes_says_which(shape, axes):
    b = torch.full(shape, 0.5, requires_grad=True)
    trace = record((torch.ones(3, 2) * b).sum())
    assert trace.steps[1].sentence.endswith(f", summed over {axes}.")
    assert f", summed over {axes}" in trace.steps[1].outgoing[0].filled


def test_an_axis_of_length_one_that_was_not_stretched_is_not_summed():
    b = leaf([0.5])
    trace = record((torch.ones(3, 1) * b).sum())
    assert trace.steps[1].sentence.endswith("summed over axis 0.")


def test_a_rule_of_several_lines_keeps_its_names():
    scores = torch.zeros(3, 10, requires_grad=True)
    nll, *_ = record(torch.nn.functional.nll_loss(scores, torch.tensor([0, 1, 2]))).steps
    (sent,) = nll.outgoing
    assert sent.formula.startswith("nll_rule(g, x_shape, target, ")
    assert sent.filled is None
    assert nll.sentence == "nll_loss (NllLossBackward0) receives 1; scores gets a tensor [3, 10], -0.333333 to 0."


def test_an_input_without_gradient_is_said():
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, y = leaf(1.0), leaf(2.0)
    sentences = [step.sentence for step in record(Half.apply(x, y)).steps]
    assert sentences[0] == "HalfBackward receives 1; x gets 1; y gets no gradient."
    assert "y (AccumulateGrad) receives nothing; y.grad stays None." in sentences


def test_what_a_node_saved_and_frees():
    x = leaf([1.0, 2.0])
    trace = record(x.exp().sum())
    node = next(n for n in trace.nodes if n.op == "exp")
    assert [(s.name, s.bytes) for s in node.saved] == [("out", 8)]
    assert next(s for s in trace.steps if s.node == node.id).frees == ["out"]


def test_an_addition_remembers_nothing():
    x = leaf(1.0)
    trace = record(x + x)
    assert trace.node(trace.root).saved == []
    assert trace.steps[0].frees == []


# -- names ------------------------------------------------------------------------------------------


def labels(trace):
    return {n.label for n in trace.nodes if n.label}


def test_variables_give_their_names_to_leaves_and_results():
    weight = leaf(2.0)
    product = weight * 3
    result = product + 1
    assert labels(record(result)) == {"weight", "product", "result"}


def test_leaves_without_a_name_are_numbered():
    x1 = leaf(2.0)
    assert labels(record(x1 * leaf(3.0) * leaf(4.0))) == {"x1", "x2", "x3"}


def test_names_in_lists_and_dicts():
    weights, params = [leaf(1.0), leaf(2.0)], {"w": leaf(3.0)}
    assert labels(record(weights[0] * weights[1] * params["w"])) == {"weights[0]", "weights[1]", "params['w']"}


def test_names_of_parameters():
    model = torch.nn.Linear(2, 1)
    found = labels(record(model(torch.ones(1, 2)).sum()))
    assert found >= {"model.weight", "model.bias"}


def test_a_helper_sees_the_variables_of_its_caller():
    def helper(loss):
        return record(loss)

    weight = leaf(2.0)
    assert "weight" in labels(helper(weight * 3))


def test_given_names_are_the_only_ones():
    weight, bias = leaf(2.0), leaf(1.0)
    assert labels(record(weight * 3 + bias, names={"w": weight})) == {"w", "x1"}


def test_results_of_one_node_share_its_label():
    x = leaf([1.0, 2.0, 3.0])
    low, high = x.split([1, 2])
    assert "low, high" in labels(record(low.sum() + high.sum()))


# -- values -----------------------------------------------------------------------------------------


def value_of_op(trace, op):
    (node,) = [n for n in trace.nodes if n.op == op]
    return node.value and node.value.data


def test_a_value_is_found_where_a_node_saved_it():
    x = leaf(2.0)
    assert value_of_op(graph((x + 5).sin()), "add") == 7  # sin remembers its input


def test_a_value_is_found_in_a_variable():
    x = leaf(2.0)
    seven = x + 5
    trace = graph((seven + 1) * 1)
    assert [n.value and n.value.data for n in trace.nodes if n.label == "seven"] == [7]


def test_a_value_is_computed_again_from_what_is_known():
    x = leaf(2.0)
    assert value_of_op(graph(3 * x + 1), "mul") == 6


def test_a_value_that_nothing_remembers_is_none():
    x = leaf(2.0)
    trace = graph((x + 5) + 1)
    assert [n.value and n.value.data for n in trace.nodes if n.op == "add"] == [8, None]


def test_a_watched_graph_has_no_gaps():
    x = leaf(2.0)
    with watch():
        y = ((x + 5) + 1) * 2
    assert [n.value.data for n in graph(y).nodes] == [16, 8, 7, 2]


def test_a_watched_value_is_what_it_was():
    x = leaf([1.0, 2.0])
    with watch():
        y = x + 5
        z = y + 1
    y.detach().zero_()
    assert next(n.value.data for n in graph(z).nodes if n.name == "AddBackward0" and n.id == "n1") == [6, 7]


def test_a_watched_custom_function_has_its_value():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(3.0)
    with watch():
        y = Double.apply(x) + 1
    assert graph(y).node("n1").value.data == 6


def test_a_write_through_a_view_is_no_custom_function():
    y = torch.ones(3, requires_grad=True) * 2
    y[0] = 5.0
    assert {n.name: n.kind for n in record(y.sum()).nodes} == {
        "SumBackward0": "op", "CopySlices": "op", "MulBackward0": "op", "AccumulateGrad": "leaf",
    }  # fmt: skip


def test_watching_ends_with_its_block():
    x = leaf(2.0)
    with watch():
        pass
    assert graph((x + 5) + 1).node("n1").value is None


def test_a_shape_is_known_after_the_backward_pass():
    x = leaf([1.0, 2.0])
    trace = record(((x + 5) + 1).sum())
    inner = [n for n in trace.nodes if n.op == "add"][-1]
    assert (inner.value, inner.shape, inner.dtype) == (None, (2,), "float32")


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "error", "phrases"), [
    (lambda: 3.0, TypeError, ["Tensor", "float"]),
    (lambda: torch.tensor(1.0), RuntimeError, ["does not require grad", "requires_grad=True"]),
    (lambda: leaf(1.0), RuntimeError, ["leaf", "no graph"]),
    (lambda: leaf([1.0, 2.0]) * 2, RuntimeError, ["only for scalar outputs", "[2]", "gradient="]),
])  # fmt: skip
def test_what_cannot_be_recorded_says_why(make, error, phrases):
    with pytest.raises(error) as caught:
        record(make())
    assert all(phrase in str(caught.value) for phrase in phrases)


def test_a_gradient_of_the_wrong_shape_is_refused():
    with pytest.raises(RuntimeError, match=r"\[3\].*\[2\]"):
        record(leaf([1.0, 2.0]) * 2, gradient=torch.ones(3))


def test_a_freed_graph_says_retain_graph():
    x = leaf(2.0)
    loss = (x * x) ** 2
    loss.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        record(loss)


def test_a_trace_of_version_2_is_read_without_its_histograms():
    old = record((torch.ones(100, requires_grad=True) * 2).sum()).to_dict()
    summaries = [node["value"]["summary"] for node in old["nodes"][1:]]
    assert [summary.pop("counts") for summary in summaries] == [[100], [100]]
    read = Trace.from_dict({**old, "version": 2})
    assert [node.value.counts for node in read.nodes[1:]] == [None, None]


def test_a_later_version_is_refused():
    with pytest.raises(ValueError, match=r"version 4.*reads versions 2 and 3"):
        Trace.from_dict({**record(chain()[0]).to_dict(), "version": 4})


def test_something_else_is_refused():
    with pytest.raises(ValueError, match="not a trace"):
        Trace.from_json('{"format": "another"}')


def test_an_unknown_node_is_named():
    with pytest.raises(KeyError, match="n99"):
        record(chain()[0]).node("n99")


def test_a_recorded_graph_is_freed_without_the_collector():
    x = leaf(2.0)
    loss = (3 * x + 1) ** 2
    node = weakref.ref(loss.grad_fn)
    gc.disable()
    try:
        trace = record(loss, names={"x": x})
        del loss
        assert node() is None
        assert trace.steps
    finally:
        gc.enable()


# -- size -------------------------------------------------------------------------------------------


def test_a_long_chain_needs_no_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(5000):
        y = y + 1
    assert len(record(y).steps) == 5001


def test_a_large_tensor_is_not_written_out():
    x = torch.ones(500, 500).requires_grad_()
    assert len(record((x * 2).sum()).to_json()) < 10_000
