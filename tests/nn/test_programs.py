"""Programs as people write them for PyTorch run with autolab in its place, and have the same losses."""

import importlib.util
from pathlib import Path

import pytest

import autolab

# log(0) is -inf without a word for users; here every warning would be an error.
pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), pytest.mark.filterwarnings("ignore:enable_nested_tensor")]

# The tests are imported one by one, not as a package.
_spec = importlib.util.spec_from_file_location("programs", Path(__file__).parent / "programs.py")
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)


@pytest.mark.parametrize("name", programs.VARIANTS)
def test_a_program_has_the_same_losses(torch, name):
    program = programs.VARIANTS[name]
    assert program(autolab) == pytest.approx(program(torch), rel=2e-4, abs=2e-4)


# -- the graph, as torchviz walks it ---------------------------------------------------------------------


def graph(var, params):
    """The names of all nodes that are reached along next_functions; leaves by the names of their parameters."""
    names, seen, found = {id(p): n for n, p in params.items()}, set(), []

    def add(fn):
        if fn in seen:
            return
        seen.add(fn)
        found.append(names[id(fn.variable)] if hasattr(fn, "variable") else type(fn).__name__)
        for u, _ in fn.next_functions:
            if u is not None:
                add(u)

    add(var.grad_fn)
    return sorted(name for name in found if name != "TBackward0")  # the weight turned, which is not a node of its own here


LAYERS = [
    "nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)", "nn.Unflatten(1, (1, 3)), nn.Conv1d(1, 2, 2), nn.Sigmoid(), nn.Flatten()",
    "nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.0)", "nn.Linear(3, 4, bias=False), nn.Tanh(), nn.LogSoftmax(1)",
]  # fmt: skip


@pytest.mark.parametrize("layers", LAYERS)
def test_the_graph_has_the_same_nodes(torch, layers):
    found = []
    for lib in (autolab, torch):
        model = eval(f"nn.Sequential({layers})", {"nn": lib.nn})
        found.append(graph((model(lib.ones(2, 3)) ** 2).mean(), dict(model.named_parameters())))
    assert found[0] == found[1]
