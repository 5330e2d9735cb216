"""Custom Functions inside jvp and vmap: their `jvp` and `vmap` static methods, or a batching rule made from forward and backward."""

from __future__ import annotations

from typing import Any, NamedTuple

from autolab.autograd.context import Call, FunctionCtx
from autolab.autograd.function import Function, needs_setup_context
from autolab.dtypes import FLOATING
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.func.tree import flatten, spread, unflatten
from autolab.torch_api.reduce import sum as sum_over
from autolab.torch_api.shape import movedim
from autolab.transforms.batched import Batch
from autolab.transforms.dual import ForwardMode, check_tangent
from autolab.transforms.level import zeros


class VmapInfo(NamedTuple):
    """What a Function's vmap is told: the number of samples, and what random functions do."""

    batch_size: int
    randomness: str


class Kept(NamedTuple):
    """A tensor as a ctx keeps it, without a history of its own."""

    kept_tensor: Any

    def tensor(self, call: Call) -> Any:
        return self.kept_tensor


def as_tuple(outputs: Any) -> tuple[Any, ...]:
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


# -- jvp ---------------------------------------------------------------------------------------------


def pushed(function: type[Function], level: ForwardMode, args: tuple[Any, ...]) -> Any:
    """A Function met by forward mode: its forward on the values, its jvp on the tangents."""
    values = [level.take(a) for a in args]
    given = [a.tangent if level.owns(a) else None for a in args]
    moves = any(t is not None for t in given)
    if moves and function.jvp is Function.jvp:
        function.jvp(None)
    call = Call(function, tuple(values))
    needs = [t is not None or (isinstance(v, Tensor) and v.requires_grad) for t, v in zip(given, values)]
    ctx = FunctionCtx(call, tuple(needs))
    with level.lowered():
        outputs = forward_of(function, ctx, values)
        outs = as_tuple(outputs)
        moved: tuple[Any, ...] = (None,) * len(outs)
        if moves:
            floating = [isinstance(v, Tensor) and v.payload.dtype in FLOATING for v in values]
            if call.materialize:
                given = [zeros(v) if t is None and on else t for t, v, on in zip(given, values, floating)]
            # One ctx serves both directions: in jvp it gives what was saved for forward.
            versions = [None if t is None else t.version[0] for t in given]
            for_backward, call.saved = call.saved, [Kept(t) for t in call.to_save_forward]  # type: ignore[misc]
            moved = as_tuple(function.jvp(ctx, *given))
            call.saved = for_backward
    if len(moved) != len(outs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outs)} but got {len(moved)}): "
            f"{function.__name__}.jvp returns one tangent, or None, for each output."
        )
    results = []
    for i, (out, t) in enumerate(zip(outs, moved)):
        if not isinstance(out, Tensor):
            results.append(out)
            continue
        t = checked(function, i, out, t, fixed=any(out is other for other in call.non_differentiable))
        k = next((k for k, v in enumerate(values) if out is v), None)
        if t is not None:
            check_alias(out, t, values, given, versions, dirty=any(out is other for other in call.dirty))
        if k is not None and any(out is other for other in call.dirty) and level.owns(args[k]):
            args[k]._tangent = t
            results.append(args[k])
        else:
            results.append(level.input(out, t))
    call.forget_marks()
    level.recorded(results, args)
    return tuple(results) if isinstance(outputs, tuple | list) else results[0]


def check_alias(out: Tensor, tangent: Tensor, values: list[Any], given: list[Any], versions: list[Any], dirty: bool) -> None:
    """What forward did to an input (returned it, looked into it, wrote to it), jvp must have done to its tangent."""
    base = None if out.view_info is None else out.view_info.base
    for v, t, version in zip(values, given, versions):
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
    if not function.sets_up_apart():
        raise needs_setup_context(function)
    outputs = function.apply(*values)
    with recording(False):
        function.setup_context(ctx, tuple(values), outputs)
    return outputs


def checked(function: type[Function], i: int, out: Tensor, tangent: Any, fixed: bool) -> Any:
    """A tangent that a user's jvp returned, if it fits the output."""
    if tangent is None:
        return None
    if not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}. {function.__name__}.jvp must return Tensors."
        )
    if fixed or out.payload.dtype not in FLOATING:
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {i}, but the corresponding forward output is not a differentiable Tensor. "
            f"You should return None at that position instead, in {function.__name__}.jvp."
        )
    check_tangent(out, tangent)
    if tangent.payload.dtype not in FLOATING:
        raise RuntimeError(
            f"Expected both tensor and its forward grad to be floating point or complex: {function.__name__}.jvp returned {tangent.dtype}."
        )
    return tangent


# -- vmap --------------------------------------------------------------------------------------------


def mapped(function: type[Function], level: Batch, args: tuple[Any, ...]) -> Any:
    """A Function met by vmap: its own vmap, or one that is generated from its other methods."""
    own = function.vmap is not Function.vmap
    if own and function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
            "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
        )
    if not own and not function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )
    leaves, form = flatten(args)
    came = [level.value_and_dim(a) if level.owns(a) else (a, None) for a in leaves]
    with level.lowered():
        if own:
            values, in_dims = (unflatten(list(part), form) for part in zip(*came))
            returned = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *values)
            if not isinstance(returned, tuple) or len(returned) != 2:
                what = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
                raise RuntimeError(
                    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the "
                    f"output. Got {what} instead from {function.__name__}.vmap."
                )
            outputs, out_dims = returned
        else:
            in_dims = tuple([0 if level.owns(a) else None for a in args])
            outputs, out_dims = generated(function, in_dims, level).apply(*[level.take(a) for a in args]), 0
        outs, out_form = flatten(outputs)
        dims = spread(out_dims, out_form)
        if dims is None:
            raise RuntimeError(
                "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
                f"out_dims={out_dims} to be compatible with the structure of `output`, which is {out_form}."
            )
        moved = [movedim(out, d, 0) if d else out for out, d in zip(outs, dims)]
    return unflatten([out if d is None or not isinstance(out, Tensor) else level.put(out) for out, d in zip(moved, dims)], out_form)


def generated(function: type[Function], in_dims: tuple[int | None, ...], outer: Batch) -> type[Function]:
    """A Function for all samples at once: each method of the given one, run inside vmap."""

    def samples() -> Batch:
        return Batch(outer.size, outer.randomness)

    def boxed(level: Batch, xs: Any, dims: Any) -> list[Any]:
        return [x if d is None or not isinstance(x, Tensor) else level.input(x) for x, d in zip(xs, dims)]

    def unboxed(level: Batch, x: Any) -> Any:
        return x if not isinstance(x, Tensor) else (x if level.owns(x) else level.lift(x)).value

    def keep(level: Batch, ctx: Any, inner: Call) -> None:
        backward, forward = inner.to_save, inner.to_save_forward
        ctx.dims = [[0 if level.owns(t) else None for t in ts] for ts in (backward, forward)]
        ctx.save_for_backward(*[level.take(t) for t in backward])
        ctx.save_for_forward(*[level.take(t) for t in forward])

    class Generated(Function):
        generate_vmap_rule = True  # for the vmap around this one

        @staticmethod
        def forward(*args: Any) -> Any:
            with samples() as level:
                outputs = function.forward(*boxed(level, args, in_dims))
                found = [unboxed(level, out) for out in as_tuple(outputs)]
            return tuple(found) if isinstance(outputs, tuple | list) else found[0]

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            with samples() as level:
                xs, outs = boxed(level, inputs, in_dims), boxed(level, as_tuple(output), (0,) * len(as_tuple(output)))
                ctx.inner = FunctionCtx(Call(function, tuple(xs)), ctx.needs_input_grad)
                function.setup_context(ctx.inner, tuple(xs), tuple(outs) if isinstance(output, tuple | list) else outs[0])
                inner: Call = ctx.inner._autograd_call
                keep(level, ctx, inner)
                fixed = [level.take(t) for t in inner.non_differentiable]
            ctx.mark_non_differentiable(*fixed)
            ctx.set_materialize_grads(inner.materialize)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            with samples() as level:
                ctx.inner._autograd_call.saved = [Kept(t) for t in boxed(level, ctx.saved_tensors, ctx.dims[0])]
                gs = as_tuple(function.rule()(ctx.inner, *boxed(level, grads, (0,) * len(grads))))
                found = [g if g is None else unboxed(level, g) for g in gs]
            return tuple([g if g is None or d == 0 else sum_over(g, 0) for g, d in zip(found, in_dims)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with samples() as level:
                which = 1 if ctx.dims[1] else 0
                ctx.inner._autograd_call.saved = [Kept(t) for t in boxed(level, ctx.saved_tensors, ctx.dims[which])]
                moved = as_tuple(function.jvp(ctx.inner, *boxed(level, tangents, in_dims)))
                return tuple([t if t is None else unboxed(level, t) for t in moved])

    Generated.__name__ = function.__name__
    Generated._node_class.__name__ = function._node_class.__name__
    return Generated
