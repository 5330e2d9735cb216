"""NumPy's words for the rows: `np.stack([x, y], 1)`. NumPy counts axes from either end and takes a number or several; rows have
negative axes, so that a leading axis added by vmap changes nothing."""

import numpy as np

from autolab.engine.op import from_the_end
from autolab.engine.tensor import NUMPY_FUNCTIONS, TABLE

AXES = {"axis", "axes", "axis1", "axis2", "source", "destination"}
# These settings are tuples in a row.
TUPLES = {np.roll: ("shift", "axis"), np.flip: ("axis",)}


def in_words(function, row):
    """The row as called by NumPy's name: settings by position or name, axes from either end."""
    count = 1 if row.variadic else len(row.inputs)

    def call(*args, **settings):
        arrays = tuple(args[0]) if row.variadic else args[:count]
        settings = {**dict(zip(row.settings, args[count:])), **settings}
        if row.settings.get("axis") is not None:
            settings.setdefault("axis", row.settings["axis"])
        for name in TUPLES.get(function, ()):
            if isinstance(settings.get(name), int | np.integer):
                settings[name] = (settings[name],)
        ndim = np.ndim(arrays[0]) + added_axes(function, settings)
        for name in AXES & settings.keys():
            settings[name] = from_the_end(settings[name], ndim)
        return row(*arrays, **settings)

    return call


def added_axes(function, settings):
    """How many axes more the result has, where an axis means one of the result."""
    if function is np.stack:
        return 1
    if function is np.expand_dims:
        axis = settings["axis"]
        return 1 if isinstance(axis, int | np.integer) else len(axis)
    return 0


def power(x, y):
    """np.power, whose exponent may be a number."""
    return TABLE["pow_scalar"](x, exponent=y) if isinstance(y, int | float) else TABLE["pow"](x, y)


def matmul(x, y):
    """np.matmul, which takes a vector as a row on the left, and as a column on the right."""
    row, column = np.ndim(x) == 1, np.ndim(y) == 1
    x = TABLE["expand_dims"](x, axis=-2) if row else x
    y = TABLE["expand_dims"](y, axis=-1) if column else y
    out = TABLE["matmul"](x, y)
    alone = (-2,) * row + (-1,) * column
    return TABLE["squeeze"](out, axis=alone) if alone else out


NUMPY_FUNCTIONS[np.power], NUMPY_FUNCTIONS[np.matmul] = power, matmul
for function, entry in list(NUMPY_FUNCTIONS.items()):
    row = getattr(entry, "__self__", None)
    if row is not None and AXES & row.settings.keys():
        NUMPY_FUNCTIONS[function] = in_words(function, row)
del function, entry, row
