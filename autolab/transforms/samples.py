"""The arrays of all samples, with the samples along axis 0: how rows find in them what they find in one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.dtypes import FLOATING
from autolab.engine.apply import looks_into
from autolab.engine.node import F32, F64
from autolab.engine.op import from_the_end

if TYPE_CHECKING:
    from autolab.engine.op import Op

Settings = dict[str, Any]

AXES = {"axis", "axis1", "axis2", "source", "destination"}


def along_axes(op: Op, settings: Settings) -> bool:
    """Whether a row with one input works along axes that the call names: counted from the end, they are the same in a batch."""
    named = [settings.get(name, default) for name, default in op.settings.items() if name in AXES]
    return len(op.inputs) == 1 and not op.variadic and bool(named) and None not in named


def counted(settings: Settings, ndim: int) -> Settings:
    """Settings with axes counted from the end."""
    return {name: from_the_end(v, ndim) if name in AXES else v for name, v in settings.items()}


def one_float(op: Op, raws: tuple[Any, ...]) -> bool:
    """Whether all arrays are of float32, or all of float64; integers and masks may stand beside them where they need not be joined."""
    dtype = None
    for i, raw in enumerate(raws):
        own = getattr(raw, "dtype", None)
        if own is F32 or own is F64:
            if dtype is None:
                dtype = own
            elif own is not dtype:
                return False
        elif own is not None and (own in FLOATING or (op.promote and i in op.promoted_inputs)):
            return False
    return dtype is not None


def aligned(size: int, raws: tuple[Any, ...], owns: tuple[bool, ...]) -> list[Any]:
    """Arrays of fewer axes get axes of length 1 behind the leading one."""
    most = max([getattr(raw, "ndim", 0) - own for raw, own in zip(raws, owns)])
    ones = [(1,) * (most - raw.ndim + 1) if own else () for raw, own in zip(raws, owns)]
    return [raw.reshape(size, *one, *raw.shape[1:]) if one else raw for raw, one in zip(raws, ones)]


def alone(t: Any, raws: tuple[Any, ...]) -> None:
    """Give a result memory of its own: a rule may give back an argument as it came, or a part of one."""
    out = t.array
    below = out if out.base is None else out.base
    owner = type(below) is np.ndarray and below.base is None
    for raw in raws:
        if type(raw) is np.ndarray:
            other = raw if raw.base is None else raw.base
            # Different arrays that own their memory lie apart. To compare addresses would take longer.
            if owner and other is not below and type(other) is np.ndarray and other.base is None:
                continue
            if looks_into(out, raw):
                t.array = out.copy()
                return
