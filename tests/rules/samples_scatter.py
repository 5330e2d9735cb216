"""Samples for rules/scatter.py."""

from .samples import Sample

INDEX = [[0, 1, 2, 0], [1, 1, 0, 0]]
APART = [[0, 1, 2, 0], [1, 0, 0, 2]]

SAMPLES = [
    Sample("scatter", lambda T, x, y: x.scatter(0, T.tensor(APART), y), "34 24; 54 24"),
    Sample("scatter", lambda T, x: x.scatter(1, T.tensor([[0, 2]]), 0.5), "34", named="PyTorch numbers it 1"),
    Sample("scatter", lambda T, x, y: x.index_copy(0, T.tensor([2, 0]), y), "34 24", named="PyTorch's has a kernel for slices"),
    *(
        Sample(row, lambda T, x, y, how=how, own=own: x.scatter_reduce(0, T.tensor(INDEX), y, how, include_self=own), "34 24; 54 24")
        for row, how in (("scatter_max", "amax"), ("scatter_min", "amin"), ("scatter_prod", "prod"))
        for own in (True, False)
    ),
    Sample("scatter_max", lambda T, x, y: x.scatter_reduce(0, T.tensor(0), y, "amax"), ". ."),
]
