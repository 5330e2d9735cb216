"""4. What happens at `x * y`: compute on the raw numbers, then record.

`apply_general` is the way to read: it is right for every row and in every mode. Rows of fixed inputs take a shortcut with the same
meaning in the usual mode: `autolab.fast` writes it out for each of them, as a dataclass writes out `__init__`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.dtypes import COMPLEX, NUMBERS, UNSIGNED, UNUSUAL, downcast, promote, upcast
from autolab.dtypes import of as dtype_of
from autolab.engine.inplace import View
from autolab.engine.modes import modes
from autolab.engine.record import record
from autolab.engine.tensor import Op, Tensor, new_tensor
from autolab.size import broadcast_error


def apply(op: Op, args: Any, settings: dict[str, Any]) -> Any:
    """Run one row. Returns a Tensor, or a tuple of them for a row with several outputs."""
    result = op.run(args[0], settings=settings) if len(args) == 1 else op.run(*args, settings=settings)
    if result is NotImplemented:  # what a shortcut answers as an operator, so that Python asks the other operand
        strange = next(a for a in args if not isinstance(a, (Tensor, *NUMBERS, np.generic, np.ndarray)))
        raise TypeError(f"{op.name}(): expected a Tensor or a number, but got {type(strange).__name__}")
    return result


def apply_general(op: Op, args: Any, settings: dict[str, Any]) -> Any:
    """The general way, for every row, in every mode."""
    if not modes.fast:
        if modes.autocast is not None:
            args = modes.autocast.cast(op.name, args)
        if modes.tracer is not None:
            return modes.tracer.operation(op, args, settings)
        if modes.profiler is not None:
            return modes.profiler.operation(op, args, lambda: dispatch(op, args, settings))
    return dispatch(op, args, settings)


def dispatch(op: Op, args: Any, settings: dict[str, Any]) -> Any:
    """Hand over to the highest transform among the arguments; if there is none, compute and record."""
    home = top_transform(args) if modes.levels else None
    if home is not None:
        return home.apply(op, args, settings)
    if len(op.inputs) == 1 and not op.variadic and not isinstance(args[0], Tensor):
        raise TypeError(not_a_tensor(op, args[0]))
    raw = [a.payload if isinstance(a, Tensor) else a for a in args]
    if op.check is not None:
        op.check(*raw)
    if op.promote:
        raw = promote_operands(op, raw)
    if op.view:
        raw[0] = args[0].writable_array()
    several, unusual, narrow, numbers, compute = op.outputs != 1, unusual_dtype(op, raw), None, "", op.compute
    if unusual is not None:
        if unusual in UNSIGNED:
            refuse_unsigned(op, unusual)
        elif unusual not in COMPLEX:
            narrow, numbers = unusual, "narrow"
        elif op.complex_row is not None:
            return dispatch(op.complex_row, args, settings)
        else:
            numbers, compute = complex_rules(op, unusual), op.forward  # the kernels are for real numbers
    try:
        outputs = compute(*(raw if narrow is None else upcast(raw)), **settings)
    except ValueError as error:
        raise explained(op, error, raw) from None
    results = tuple([new_tensor(out if narrow is None else downcast(out, narrow)) for out in (outputs if several else (outputs,))])
    recorded = modes.grad
    for result in results:
        if modes.counter is not None:
            result.version = modes.counter(args, result.version)
        if op.view and (several or looks_into(result.payload, raw[0])):
            result.view_info, result.version = View.of(args[0], several), args[0].version
            recorded = recorded and result.view_info is not None  # a view of an inference tensor is one too
    if recorded:
        record(op, args, raw, settings, results, numbers=numbers)
    return results if several else results[0]


def not_a_tensor(op: Op, x: Any) -> str:
    return f"{op.name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}"


def top_transform(args: Any) -> Any:
    """The transform whose boxes are the highest among the arguments; None if there are no boxes."""
    home, level = None, 0
    for a in args:
        if isinstance(a, Tensor):
            if a.view_info is not None and not a.level and a.view_info.base.level:  # what it looks into has become a dual since
                a.view_info.base.home.take_in(a)
            if a.level > level:
                home, level = a.home, a.level  # type: ignore[attr-defined]
    return home


def complex_rules(op: Op, dtype: Any) -> str:
    """What kind of node a row has for complex numbers. Raises NotImplementedError for a row that takes none."""
    if op.moves_entries:
        return ""
    if op.complex is None:
        words = op.refusal if not op.refusal.endswith("for") else f"{op.refusal} '{dtype_of(dtype).title}'."
        raise NotImplementedError(f"{words} {op.name} is for real numbers: take z.real, z.imag or z.abs().")
    return "complex" if op.complex == "holomorphic" else ""


def refuse_unsigned(op: Op, dtype: Any) -> None:
    """Raise NotImplementedError for a row that PyTorch does not compute in uint16, uint32 and uint64."""
    if op.unsigned_refusal is not None:
        raise NotImplementedError(
            f"{op.unsigned_refusal} '{dtype_of(dtype).title}'. Such numbers are stored, moved and converted: compute with t.long()."
        )


def row_for(op: Op, args: Any) -> Op:
    """The row that runs in the place of one that has another for complex numbers."""
    for a in args:
        if getattr(getattr(a, "payload", a), "dtype", None) in COMPLEX or type(a) is complex:
            return op.complex_row
    return op


def unusual_dtype(op: Op, raw: list[Any]) -> np.dtype[Any] | None:
    """The dtype of 16-bit floats, complex numbers or wide unsigned integers if that is what the row computes in.

    None for wider floats, for other integers, and for rows that only move entries.
    """
    if op.moves_entries:
        return None
    for a in raw:
        dtype = getattr(a, "dtype", None)
        if dtype in UNUSUAL:
            return np.dtype(dtype)  # type: ignore[no-any-return]
    return None


def promote_operands(op: Op, raw: list[Any]) -> list[Any]:
    """Bring the operands to one dtype, as PyTorch promotes them."""
    operands = dict(zip(op.promoted_inputs, promote([raw[i] for i in op.promoted_inputs], op.promote == "float")))
    return [operands.get(i, value) for i, value in enumerate(raw)]


def explained(op: Op, error: Exception, raw: list[Any]) -> Exception:
    """NumPy's complaint about shapes that do not broadcast in PyTorch's words, with both shapes and what to do; else as it is."""
    return (broadcast_error([np.shape(a) for a in raw]) if op.kind == "elementwise" else None) or error


def looks_into(out: Any, raw: np.ndarray[Any, Any]) -> bool:
    """True if `out` shares the memory of `raw`. A reshape may have had to copy."""
    if out is raw or type(out) is not np.ndarray:
        return out is raw
    base = out.base
    if base is raw or (base is not None and base is raw.base):  # nearly always; to compare addresses takes longer than the view
        return True
    return base is not None and (np.may_share_memory(out, raw) or not out.size)
