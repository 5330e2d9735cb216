"""Pieces of a tensor are what the general way gives: the same views, with the same node."""

import numpy as np
import pytest

import autolab as torch
from autolab.engine.apply import apply_general
from autolab.engine.node import MultiOpNode
from autolab.engine.op import TABLE

pytestmark = pytest.mark.speed

CALLS = [
    ("split", {"sizes": (2, 2, 1), "axis": -1}),
    ("split", {"sizes": (3,), "axis": -2}),
    ("split_with_sizes", {"sizes": (1, 4), "axis": -1}),
    ("unbind", {"axis": -2}),
]
INPUTS = {
    "a result": lambda: torch.ones(3, 5, requires_grad=True) * 2,
    "a leaf": lambda: torch.ones(3, 5, requires_grad=True),
    "a view": lambda: (torch.ones(6, 5, requires_grad=True) * 2)[::2],
    "no gradient": lambda: torch.ones(3, 5, dtype=torch.float64),
    "a view without recording": lambda: viewed(torch.no_grad),
    "whole numbers": lambda: torch.arange(15).reshape(3, 5),
    "half precision": lambda: torch.ones(3, 5, dtype=torch.float16, requires_grad=True),
    "an inference tensor": lambda: viewed(torch.inference_mode),
}


def viewed(mode):
    with mode():
        return torch.ones(4, 5)[1:]


def told(pieces, x):
    """All that is known of pieces and their node."""
    views = [
        p.view_info and (p.view_info.base is (x._base if x._base is not None else x), p.view_info.made, p.view_info.seen) for p in pieces
    ]
    node = pieces[0].grad_fn
    known = node and (node.name(), node.outputs, node.outputs_like, node.saved, node.settings, [e and e[0].name() for e in node.edges])
    return [p.tolist() for p in pieces], [p.output_nr for p in pieces], views, [p.version is x.version for p in pieces], known


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize(("row", "settings"), CALLS)
def test_pieces_and_their_node_are_those_of_the_general_way(row, settings, name):
    x = INPUTS[name]()
    assert told(TABLE[row].run(x, settings), x) == told(apply_general(TABLE[row], (x,), settings), x)


@pytest.mark.parametrize("used", [(0, 1, 2), (1,), (0, 2)])
@pytest.mark.parametrize("row", ["split", "unbind"])
def test_gradients_are_those_of_the_general_way(row, used):
    settings = {"sizes": (1, 1, 1), "axis": -2} if row == "split" else {"axis": -2}
    x = torch.ones(3, 2, requires_grad=True)
    pieces = TABLE[row].run(x * 2, settings)
    node = pieces[0].grad_fn
    g = tuple(np.full(p.shape, k + 1.0, np.float32) if k in used else None for k, p in enumerate(pieces))
    (fast,), (plain,) = node.run(g, False), MultiOpNode.run(node, g, False)
    np.testing.assert_array_equal(fast, plain)


def test_a_second_derivative_goes_through_pieces():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, b, c = x.split(1)
    (first,) = torch.autograd.grad((a * b * c).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [5, 4, 3]


def test_what_is_written_into_a_piece_is_refused_as_ever():
    x = torch.ones(4, requires_grad=True) * 1
    a, _ = x.split(2)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        a.mul_(2)
