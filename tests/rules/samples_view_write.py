"""The row by which a write through a view inside a transform becomes an operation."""

import autolab
from autolab.rules import TABLE
from autolab.transforms.level import ViewPath

from .samples import Sample, row

BASE = autolab.zeros(1)
MIDDLE = ViewPath(BASE, ((TABLE["select"], {"key": (..., 1, slice(None))}, None),))
COLUMN = ViewPath(BASE, ((TABLE["swapaxes"], {"axis1": -2, "axis2": -1}, None), (TABLE["select"], {"key": (..., 1, slice(None))}, None)))

SAMPLES = [
    Sample("put", lambda T, x, y: T.cat([x[:1], y[None], x[2:]]), "34 4", ours=row("put", look=MIDDLE),
           named="the node of a write is CopySlices"),
    Sample("put", lambda T, x, y: T.stack([x[:, 0], y, x[:, 2]], 1), "43 4", ours=row("put", look=COLUMN),
           named="the node of a write is CopySlices"),
]  # fmt: skip
