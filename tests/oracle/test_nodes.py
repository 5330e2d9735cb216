"""What one row computes shows the nodes that PyTorch has for it, and these can be used like any others."""

import pytest

import autolab

X, W, B = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], [[1.0, 0.5, -0.5], [-2.0, 1.0, 0.25]], [0.1, -0.2]


def leaf(T, numbers):
    return T.tensor(numbers, dtype=T.float64, requires_grad=True)


def tree(node):
    """The names of a graph, a node with those below it."""
    return None if node is None else (node.name(), [(tree(child), k) for child, k in node.next_functions])


SHAPES = {
    "linear": lambda T, x, w, b: T.nn.functional.linear(x, w, b),
    "linear without bias": lambda T, x, w, b: T.nn.functional.linear(x, w),
    "linear of results": lambda T, x, w, b: T.nn.functional.linear(x * 1, w.exp(), b + b),
    "linear, frozen input": lambda T, x, w, b: T.nn.functional.linear(x.detach(), w, b),
    "linear, frozen weight": lambda T, x, w, b: T.nn.functional.linear(x, w.detach(), b),
    "linear, frozen bias": lambda T, x, w, b: T.nn.functional.linear(x, w, b.detach()),
    "linear of a vector": lambda T, x, w, b: T.nn.functional.linear(x[0], w, b),
    "linear in three dims": lambda T, x, w, b: T.nn.functional.linear(x.unsqueeze(0), w, b),
    "linear in four dims": lambda T, x, w, b: T.nn.functional.linear(x.unsqueeze(0).unsqueeze(0), w, b),
    "cross_entropy": lambda T, x, w, b: T.nn.functional.cross_entropy(x, T.tensor([0, 2])),
    "cross_entropy, each": lambda T, x, w, b: T.nn.functional.cross_entropy(x, T.tensor([0, 2]), reduction="none"),
    "cross_entropy, one ignored": lambda T, x, w, b: T.nn.functional.cross_entropy(x, T.tensor([0, -100])),
    "cross_entropy, weights": lambda T, x, w, b: T.nn.functional.cross_entropy(x, T.tensor([0, 2]), T.ones(3, dtype=T.float64)),
    "cross_entropy of images": lambda T, x, w, b: T.nn.functional.cross_entropy(x.reshape(1, 3, 2, 1), T.tensor([[[0], [2]]])),
    "nll_loss of images": lambda T, x, w, b: T.nn.functional.nll_loss(x.reshape(1, 3, 2, 1), T.tensor([[[0], [2]]])),
    "conv1d without a batch": lambda T, x, w, b: T.nn.functional.conv1d(x, w.reshape(2, 1, 3), b, groups=2),
    "both": lambda T, x, w, b: T.nn.functional.cross_entropy(T.nn.functional.linear(x, w, b), T.tensor([0, 1])),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_graph_has_the_nodes_and_edges_of_pytorchs(name, torch):
    ours, theirs = (SHAPES[name](T, leaf(T, X), leaf(T, W), leaf(T, B)).grad_fn for T in (autolab, torch))
    assert tree(ours) == tree(theirs)


def test_a_transposed_convolution_without_a_batch_ends_in_a_squeeze(torch):
    ours, theirs = (T.nn.ConvTranspose1d(2, 1, 3)(leaf(T, X).float()).grad_fn.name() for T in (autolab, torch))
    assert ours == theirs == "SqueezeBackward1"


@pytest.mark.parametrize("name", SHAPES)
def test_gradients_are_the_same_whether_somebody_looked_or_not(name):
    def gradients(look):
        leaves = [leaf(autolab, numbers) for numbers in (X, W, B)]
        out = SHAPES[name](autolab, *leaves)
        assert not look or tree(out.grad_fn)
        return autolab.autograd.grad(out.sum(), leaves, allow_unused=True)

    for plain, looked in zip(gradients(False), gradients(True)):
        assert (plain is None and looked is None) or autolab.allclose(plain, looked, rtol=1e-14)


def test_second_derivatives_are_right_after_a_look():
    def f(x, w, b):
        loss = SHAPES["both"](autolab, x, w, b)
        return loss.grad_fn.next_functions and loss

    assert autolab.autograd.gradgradcheck(f, [leaf(autolab, numbers) for numbers in (X, W, B)])


def test_hooks_hang_on_every_node(lib):
    loss, ran = SHAPES["both"](lib, leaf(lib, X), leaf(lib, W), leaf(lib, B)), []
    scores = loss.grad_fn.next_functions[0][0]
    turned = scores.next_functions[0][0].next_functions[2][0]
    for node in (loss.grad_fn, scores, turned):
        node.register_hook(lambda gi, go, node=node: ran.append((node.name(), [tuple(g.shape) for g in go])))
    loss.backward()
    assert ran == [("NllLossBackward0", [()]), ("LogSoftmaxBackward0", [(2, 2)]), ("TBackward0", [(3, 2)])]


def test_the_gradient_of_the_log_probabilities_can_be_asked_for(lib):
    loss = SHAPES["cross_entropy"](lib, leaf(lib, X), None, None)
    edge = lib.autograd.graph.GradientEdge(*loss.grad_fn.next_functions[0])
    (g,) = lib.autograd.grad(loss, [edge])
    assert g.tolist() == [[-0.5, 0.0, 0.0], [0.0, 0.0, -0.5]]


def test_a_look_at_scores_that_were_written_over_hides_no_write():
    x = leaf(autolab, X) * 1
    loss = SHAPES["cross_entropy"](autolab, x, None, None)
    x.mul_(2)
    assert loss.grad_fn.next_functions
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_graph_that_was_freed_shows_the_same_nodes(lib):
    loss = SHAPES["both"](lib, leaf(lib, X), leaf(lib, W), leaf(lib, B))
    loss.backward()
    assert tree(loss.grad_fn)[1][0][0][1][0][0][0] == "AddmmBackward0"
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_a_look_from_inside_a_pass_leaves_the_pass_alone():
    x, w, b = (leaf(autolab, numbers) for numbers in (X, W, B))
    h = autolab.nn.functional.linear(x, w, b)
    loss = h.exp().sum()
    loss.register_hook(lambda g: h.grad_fn.next_functions and None)
    loss.backward()
    assert None not in (x.grad, w.grad, b.grad)
