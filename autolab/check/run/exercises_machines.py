"""The operations of problem set 14: collectives, whose workers are the first axis of an array, and a layer cut by columns."""

from __future__ import annotations

import numpy as np

from autolab.engine.op import GENERAL, LINEAR, Op

from .exercises import LAYER
from .spec import Spec

SHARED = {"not summed": "Every worker used it: what happens to the gradients that come from all of them?"}

MACHINES = (
    Spec("all_gather", Op("all_gather", lambda x: np.stack([x.reshape(-1)] * len(x)), LINEAR,
                          x=lambda g, x_shape: g.sum(axis=0).reshape(x_shape)),
         shapes=(((3, 5),), ((4, 4),), ((2, 3),)), scaled=1e6, hints=SHARED),
    Spec("reduce_scatter", Op("reduce_scatter", lambda x: x.sum(axis=0).reshape(len(x), -1), LINEAR,
                              x=lambda g: np.stack([g.reshape(-1)] * len(g))),
         shapes=(((3, 15),), ((4, 16),), ((2, 6),)), scaled=1e6),
    Spec("column_parallel", Op("column_parallel", lambda x, weight, bias: x @ weight + bias[:, None, :], GENERAL,
                               x=lambda g, weight: (g @ np.swapaxes(weight, -1, -2)).sum(axis=0),
                               weight=lambda g, x: x.T @ g, bias=lambda g: g.sum(axis=1)),
         points=LAYER, shapes=(((3, 4), (2, 4, 5), (2, 5)), ((4, 4), (4, 4, 4), (4, 4)), ((5, 2), (3, 2, 4), (3, 4))),
         scaled=1e6, hints=SHARED),
)  # fmt: skip
