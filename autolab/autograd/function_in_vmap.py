"""Custom Functions inside vmap: their static method `vmap`, or a batching rule made from forward and backward."""

from __future__ import annotations

from typing import Any, NamedTuple

from autolab.autograd.context import Call, FunctionCtx, UncheckedTensor, output_tuple
from autolab.autograd.function import Function, apply_at
from autolab.autograd.pytree import flatten, spread, unflatten
from autolab.engine.tensor import Tensor
from autolab.torch_api.reduce import sum as sum_over
from autolab.torch_api.shape import movedim
from autolab.transforms.batched import Batch


class VmapInfo(NamedTuple):
    """What a Function's vmap is told: the number of samples, and what random functions do."""

    batch_size: int
    randomness: str


@apply_at.register
def apply_in_vmap(level: Batch, function: type[Function], args: tuple[Any, ...]) -> Any:
    """A Function met by vmap: its own vmap, or one that is generated from its other methods."""
    overridden = function.vmap is not Function.vmap
    if overridden and function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
            "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
        )
    if not overridden and not function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )
    leaves, form = flatten(args)
    pairs = [level.value_and_dim(a) if level.owns(a) else (a, None) for a in leaves]
    with level.lowered():
        if overridden:
            values, in_dims = (unflatten(list(part), form) for part in zip(*pairs))
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
        batches = [movedim(out, d, 0) if d else out for out, d in zip(outs, dims)]
    return unflatten([out if d is None or not isinstance(out, Tensor) else level.put(out) for out, d in zip(batches, dims)], out_form)


def generated(function: type[Function], in_dims: tuple[int | None, ...], outer: Batch) -> type[Function]:
    """A Function for all samples at once: each method of the given one, run inside vmap."""

    def samples() -> Batch:
        return Batch(outer.size, outer.randomness)

    def boxed(level: Batch, xs: Any, dims: Any) -> list[Any]:
        return [x if d is None or not isinstance(x, Tensor) else level.input(x) for x, d in zip(xs, dims)]

    def unboxed(level: Batch, x: Any) -> Any:
        box: Any = x if not isinstance(x, Tensor) or level.owns(x) else level.lift(x)
        return box.value if isinstance(x, Tensor) else x

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
                found = [unboxed(level, out) for out in output_tuple(outputs)]
            return tuple(found) if isinstance(outputs, tuple | list) else found[0]

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            with samples() as level:
                xs, outs = boxed(level, inputs, in_dims), boxed(level, output_tuple(output), (0,) * len(output_tuple(output)))
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
                ctx.inner._autograd_call.saved = [UncheckedTensor(t) for t in boxed(level, ctx.saved_tensors, ctx.dims[0])]
                gs = output_tuple(function.rule()(ctx.inner, *boxed(level, grads, (0,) * len(grads))))
                found = [g if g is None else unboxed(level, g) for g in gs]
            return tuple([g if g is None or d == 0 else sum_over(g, 0) for g, d in zip(found, in_dims)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with samples() as level:
                which = 1 if ctx.dims[1] else 0
                ctx.inner._autograd_call.saved = [UncheckedTensor(t) for t in boxed(level, ctx.saved_tensors, ctx.dims[which])]
                new_tangents = output_tuple(function.jvp(ctx.inner, *boxed(level, tangents, in_dims)))
                return tuple([t if t is None else unboxed(level, t) for t in new_tangents])

    Generated.__name__ = function.__name__
    Generated._node_class.__name__ = function._node_class.__name__
    return Generated
