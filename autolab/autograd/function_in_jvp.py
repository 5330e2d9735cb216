"""Custom Functions inside jvp: forward runs on the values, their static method `jvp` on the tangents."""

from __future__ import annotations

from typing import Any

from autolab.autograd.context import Call, FunctionCtx, UncheckedTensor, output_tuple
from autolab.autograd.function import Function, apply_at, is_in, needs_setup_context
from autolab.dtypes import INEXACT
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.transforms.dual import ForwardMode, check_tangent
from autolab.transforms.level import zeros


@apply_at.register
def apply_in_jvp(level: ForwardMode, function: type[Function], args: tuple[Any, ...]) -> Any:
    """A Function met by forward mode: its forward on the values, its jvp on the tangents."""
    values = [level.take(a) for a in args]
    tangents = [a.tangent if level.owns(a) else None for a in args]
    has_tangents = any(t is not None for t in tangents)
    if has_tangents and function.jvp is Function.jvp:
        function.jvp(None)
    call = Call(function, tuple(values))
    needs = [t is not None or (isinstance(v, Tensor) and v.requires_grad) for t, v in zip(tangents, values)]
    ctx = FunctionCtx(call, tuple(needs))
    with level.lowered():
        outputs = forward_of(function, ctx, values)
        outs = output_tuple(outputs)
        new_tangents: tuple[Any, ...] = (None,) * len(outs)
        if has_tangents:
            floating = [isinstance(v, Tensor) and v.payload.dtype in INEXACT for v in values]
            if call.materialize:
                tangents = [zeros(v) if t is None and on else t for t, v, on in zip(tangents, values, floating)]
            # One ctx serves both directions: in jvp it gives what was saved for forward.
            versions = [None if t is None else t.version[0] for t in tangents]
            for_backward, call.saved = call.saved, [UncheckedTensor(t) for t in call.to_save_forward]
            new_tangents = output_tuple(function.jvp(ctx, *tangents))
            call.saved = for_backward
    if len(new_tangents) != len(outs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outs)} but got {len(new_tangents)}): "
            f"{function.__name__}.jvp returns one tangent, or None, for each output."
        )
    results = []
    for i, (out, t) in enumerate(zip(outs, new_tangents)):
        if not isinstance(out, Tensor):
            results.append(out)
            continue
        t = checked_tangent(function, i, out, t, fixed=is_in(out, call.non_differentiable))
        k = next((k for k, v in enumerate(values) if out is v), None)
        if t is not None:
            check_alias(out, t, values, tangents, versions, dirty=is_in(out, call.dirty))
        if k is not None and is_in(out, call.dirty) and level.owns(args[k]):
            args[k]._tangent = t
            results.append(args[k])
        else:
            results.append(level.input(out, t))
    call.forget_marks()
    level.recorded(results, args)
    return tuple(results) if isinstance(outputs, tuple | list) else results[0]


def check_alias(out: Tensor, tangent: Tensor, values: list[Any], tangents: list[Any], versions: list[Any], dirty: bool) -> None:
    """What forward did to an input (returned it, looked into it, wrote to it), jvp must have done to its tangent."""
    base = None if out.view_info is None else out.view_info.base
    for v, t, version in zip(values, tangents, versions):
        if t is None or not isinstance(v, Tensor):
            continue
        if out is v and dirty:
            if tangent is not t or t.version[0] == version:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input "
                    "inplace, then the jvp function must modify the corresponding gradient inplace."
                )
        elif out is v or (base is not None and (base is v or (v.view_info is not None and base is v.view_info.base))):
            if tangent.view_info is None:
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
                )
            if t.view_info is None and tangent.view_info.base is not t:
                raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the given grad input.")
            if t.view_info is not None and tangent.view_info.base is not t.view_info.base:
                raise RuntimeError(
                    "A custom Function is returning a view but the jvp is not returning a view of the same base as the given grad input."
                )


def forward_of(function: type[Function], ctx: FunctionCtx, values: list[Any]) -> Any:
    """The outputs, with their history on the levels below, and ctx filled."""
    if not any(isinstance(v, Tensor) and v.level for v in values):
        return function.recorded(ctx, tuple(values))
    if not function.has_setup_context():
        raise needs_setup_context(function)
    outputs = function.apply(*values)
    with recording(False):
        function.setup_context(ctx, tuple(values), outputs)
    return outputs


def checked_tangent(function: type[Function], i: int, out: Tensor, tangent: Any, fixed: bool) -> Any:
    """A tangent that a user's jvp returned, if it fits the output."""
    if tangent is None:
        return None
    if not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}. {function.__name__}.jvp must return Tensors."
        )
    if fixed or out.payload.dtype not in INEXACT:
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {i}, but the corresponding forward output is not a differentiable Tensor. "
            f"You should return None at that position instead, in {function.__name__}.jvp."
        )
    check_tangent(out, tangent)
    if tangent.payload.dtype not in INEXACT:
        raise RuntimeError(
            f"Expected both tensor and its forward grad to be floating point or complex: {function.__name__}.jvp returned {tangent.dtype}."
        )
    return tangent
