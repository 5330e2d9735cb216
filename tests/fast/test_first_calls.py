"""The first calls of a row go the general way; after them come the functions that are written out for it."""

import subprocess
import sys

import numpy as np
import pytest

import autolab as torch
from autolab.compiler.trace import Tracer
from autolab.engine.op import ELEMENTWISE, Op
from autolab.engine.tensor import Tensor
from autolab.fast import first_calls
from autolab.fast.backward import STEPS
from autolab.fast.first_calls import is_counted
from autolab.torch_api.methods import operator

pytestmark = pytest.mark.speed


@pytest.fixture
def row(monkeypatch):
    """A row that nobody has called, which is written out with its third call."""
    monkeypatch.setattr(first_calls, "FIRST_CALLS", 3)
    return Op("scaled", lambda x, y: x * y, ELEMENTWISE, x=lambda g, y: g * y, y=lambda g, x: g * x)


@pytest.fixture
def x():
    return torch.tensor([1.5, -0.1], requires_grad=True)


def test_a_row_is_written_with_the_last_of_its_first_calls(row, x):
    seen = [(row(x, x).tolist(), is_counted(row.run)) for _ in range(4)]
    assert [counted for _, counted in seen] == [True, True, False, False]
    assert all(values == seen[0][0] for values, _ in seen)


def test_calls_that_a_tracer_watches_do_not_count(row, x):
    row(x, x)
    with Tracer([x], []):
        for _ in range(5):
            row(x, x)
    assert is_counted(row.run)


def test_who_keeps_the_first_function_gets_what_is_written(row, x, monkeypatch):
    run, expected = row.run, x * x
    for _ in range(3):
        run(x, x)
    monkeypatch.setattr("autolab.engine.op.apply_general", None)
    assert torch.equal(run(x, x), expected)


def test_a_step_of_the_pass_is_written_after_the_first_runs_of_a_node(row, x):
    kinds = []
    for _ in range(5):
        y = row(x, 3.0)
        y.sum().backward()
        kinds.append(STEPS.get(type(y.grad_fn)) is not None)
    assert kinds == [False, False, False, True, True]
    assert x.grad.tolist() == [15, 15]


def test_a_row_that_is_not_written_out_keeps_to_the_general_way(monkeypatch, x):
    monkeypatch.setattr(first_calls, "FIRST_CALLS", 2)
    row = Op("joined", lambda *xs: np.concatenate(xs), "general", xs=lambda g, xs_shape: tuple(np.split(g, len(xs_shape))))
    results = [row(x, x) for _ in range(3)]
    for y in results:
        y.sum().backward()
    assert not is_counted(row.run)
    assert x.grad.tolist() == [6, 6]


def test_what_somebody_puts_in_the_place_of_an_operator_stays(row, x, monkeypatch):
    monkeypatch.setattr(Tensor, "__scaled__", operator("__scaled__", row), raising=False)
    first = Tensor.__scaled__
    Tensor.__scaled__ = lambda self, other: "mine"
    for _ in range(3):
        first(x, x)
    assert x.__scaled__(x) == "mine"


def test_an_operator_is_the_written_function_after_its_first_calls(row, x, monkeypatch):
    monkeypatch.setattr(Tensor, "__scaled__", operator("__scaled__", row), raising=False)
    results = [x.__scaled__(2.0).tolist() for _ in range(4)]
    assert not is_counted(Tensor.__scaled__)
    assert results == [[3.0, -0.20000000298023224]] * 4
    assert x.__scaled__("text") is NotImplemented


PROGRAM = """
import sys
import autolab as torch
from autolab.fast import first_calls
first_calls.FIRST_CALLS = int(sys.argv[1])
F = torch.nn.functional
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Unflatten(1, (1, 6, 6)), torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.BatchNorm2d(3), torch.nn.GELU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(27, 8), torch.nn.LayerNorm(8), torch.nn.Tanh(), torch.nn.Linear(8, 3),
)
x, target = torch.randn(300, 36), torch.randint(0, 3, (300,))
scale, shift = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
optimizer = torch.optim.Adam([*net.parameters(), scale, shift])
for _ in range(12):
    optimizer.zero_grad()
    out = net(x) * scale + shift
    loss = F.cross_entropy(out, target) + (1 - out.sigmoid() ** 2).mean() + 0.1 * (out.relu() / 3 - out).abs().sum().log()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""


@pytest.mark.parametrize("first", [5, 1000])
def test_numbers_are_the_same_to_the_last_bit_whenever_rows_are_written(first):
    """A training that is repeated in one process gives what it gave the first time."""
    losses = [subprocess.check_output([sys.executable, "-c", PROGRAM, str(n)], text=True) for n in (0, first)]
    assert losses[0] == losses[1]
