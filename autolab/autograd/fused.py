"""Rows that compute in one go what PyTorch records as several nodes: when somebody looks at such a node, it becomes those nodes."""

import itertools

import numpy as np

from autolab.dtypes import downcast, upcast
from autolab.engine.saved import NEVER_WRITTEN
from autolab.rules.linalg import addmm
from autolab.rules.nn import log_softmax, nll_loss
from autolab.rules.shape import t


def linear_parts(node):
    """addmm of the bias, x and the transposed weight."""
    x, weight, bias = node.edges
    values = values_by_name(node)
    if all(type(raw) is np.ndarray and raw.ndim == 2 for raw, *_ in values.values()):
        if "weight" in values:
            raw, *version = values["weight"]
            values["y"] = raw.T, *version
        become(node, addmm, (bias, x, weight and part(node, t, weight, {}, {})), values, {})


def cross_entropy_parts(node):
    """Cross entropy as its two parts: nll_loss of log_softmax."""
    values, scores, reduction = values_by_name(node), None, node.settings["reduction"]
    if values:
        raw, *version = values["x"]
        if type(raw) is not np.ndarray:
            return
        out = log_softmax.compute(*upcast([raw]), axis=-1)
        scores = {"out": (downcast(out, raw.dtype) if node.numbers == "narrow" else out, *version), "axis": (-1,)}
        values |= {"x_shape": (raw.shape,), "weight": (np.ones(raw.shape[-1], raw.dtype), *NEVER_WRITTEN)}
    settings = {"reduction": reduction, "ignore_index": -100, "axis": -1}
    values |= {name: (value,) for name, value in settings.items()}
    become(node, nll_loss, (part(node, log_softmax, node.edges[0], scores, {"axis": -1}), None, None), values, settings)


def values_by_name(node):
    """What a node saved, with versions, by the names that its rules have for it; nothing once freed."""
    return {} if node.saved is None else {slot.name: slot.entry(node) for slot in node.plan.slots}


def part(node, row, edge, values, settings):
    """A node of another row below one that exists: its number lies between that one's and those of all that came before."""
    below = object.__new__(row.node_class(1, row.node_name, node.numbers))
    below.hooks, below.seq = None, node.seq - 0.5
    fill(below, row, (edge,), values if node.saved is not None else None, settings)
    return below


def become(node, row, edges, values, settings):
    """Make a node one of another row. Hooks, metadata and its number stay."""
    mask = sum(1 << i for i, edge in enumerate(edges) if edge is not None)
    node.__class__ = row.node_class(mask, row.node_name, node.numbers)
    fill(node, row, edges, values if node.saved is not None else None, settings)


def fill(node, row, edges, values, settings):
    node.edges = edges
    node.saved = None if values is None else tuple(itertools.chain(*[values[slot.name] for slot in node.plan.slots]))
    if row.settings:
        node.settings = settings
