"""Custom Functions: the same node as any other, whose rule a user wrote. What is known of one call is in `context`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from autolab.autograd.context import (
    BackwardCFunction,
    Call,
    CtxTensor,
    Error,
    FunctionCtx,
    FunctionNode,
    comes_from,
    derive,
    output_tuple,
    parameters,
    signature,
)
from autolab.dtypes import INEXACT
from autolab.engine.inplace import FUNCTION, SEVERAL, View, check_may_write, rebase
from autolab.engine.modes import modes, recording
from autolab.engine.node import Edge, edge_of
from autolab.engine.tensor import RemovableHandle, Tensor, new_tensor
from autolab.torch_api.overriding import as_subclass, overrides

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class Function:
    """A differentiable operation of your own: static methods `forward(ctx, *args)` and `backward(ctx, *grads)`.

    backward receives one gradient for each output, and returns one gradient or None for each argument of forward.
    A separate `setup_context(ctx, inputs, output)` may do the saving; forward then takes no ctx.

    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 2 * x
    >>> x = tensor(3., requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    _node_class: type[FunctionNode]
    _backward_cls: type[FunctionNode]
    generate_vmap_rule = False
    boxed_grads_call = False  # give backward its gradients in one list, which it may empty
    clear_saved_tensors_on_access = False  # let ctx.saved_tensors give the tensors away, once

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the "
            f"class itself. Instantiating an autograd function will raise an error in a future version of PyTorch. "
            f"Call {type(self).__name__}.apply(...).",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: PyTorch's functions of old were instances that one called."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static "
            f"forward method: call {type(self).__name__}.apply(...) instead of making an instance."
        )

    def __getattr__(self, name: str) -> Any:
        of_no_graph: dict[str, Any] = {  # as in PyTorch an instance, which nobody should make, answers as a node without edges
            "next_functions": (), "_input_metadata": (), "metadata": {}, "name": lambda: type(self).__name__, "_sequence_nr": lambda: 0,
            "_set_sequence_nr": lambda number: None, "register_hook": lambda hook: RemovableHandle({}, hook),
            "_register_hook_dict": lambda tensor: None,
        }  # fmt: skip
        if name in of_no_graph:
            return of_no_graph[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = f"{cls.__name__}Backward"
        cls._node_class = cls._backward_cls = type(name, (BackwardCFunction,), {"__slots__": (), "__module__": cls.__module__})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result, on tensors that are not recorded. Overridden by every Function."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what backward needs, apart from forward, which then takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """From one gradient for each output, one gradient or None for each argument of forward."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward  # PyTorch's other name for it

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """From one tangent or None for each argument of forward, one tangent for each output: forward mode."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The function of a whole batch: the outputs, and along which dimension each holds the samples."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def has_setup_context(cls) -> bool:
        """True if there is a setup_context of its own."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def rule(cls) -> Callable[..., Any]:
        """backward, or vjp if it was written under that name."""
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        return cls.vjp if cls.backward is Function.backward else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record a node whose rule is `backward` if an argument requires grad."""
        if modes.tracer is not None:
            modes.tracer.leave(f"{cls.__name__} is a rule that a user wrote")
        apart = cls.has_setup_context()
        if kwargs or apart:
            args = positional(cls, args, kwargs)
        if modes.levels:
            if not apart and any(level.transform for level in modes.levels):
                raise needs_setup_context(cls)
            top: Any = max((a for a in args if isinstance(a, Tensor)), key=attrgetter("level"), default=Tensor)
            if top.level:
                top.home.check_active()
                return apply_at(top.home, cls, args)
        call = Call(cls, args)
        results = cls.recorded(FunctionCtx(call, ()), args)
        call.forget_marks()
        return results

    @classmethod
    def recorded(cls, ctx: FunctionCtx, args: tuple[Any, ...]) -> Any:
        """The outputs with their history, on ordinary tensors; ctx is filled."""
        call, apart = ctx._autograd_call, cls.has_setup_context()
        edges = tuple([edge_of(a) if isinstance(a, Tensor) else None for a in args])
        needs = tuple([e is not None for e in edges])
        ctx.needs_input_grad = ctx.needs_input_grad or needs
        with computing(call, needs, args):
            outputs = cls.forward(*args) if apart else cls.forward(ctx, *args)
            if apart:
                cls.setup_context(ctx, args, outputs)
        outs = output_tuple(outputs)
        if apart:
            check_saved(call, args, outs)
        check_dirty(call, args, outs, any(needs))
        results = [as_output(out, args, call) for out in outs]
        if modes.grad and any(needs):
            connect(cls._node_class(ctx, edges, results), args, outs, results)
        else:
            results = [without_history(result, out, args) for result, out in zip(results, outs)]
        return tuple(results) if isinstance(outputs, tuple | list) else results[0]


@functools.singledispatch
def apply_at(level: Any, function: type[Function], args: tuple[Any, ...]) -> Any:
    """What `apply` does when its highest argument is of a level of a transform. A file `function_in_*` registers it for a kind
    of level, and is loaded by what makes such levels."""
    raise NotImplementedError(type(level).__name__)


def needs_setup_context(function: type[Function]) -> RuntimeError:
    return RuntimeError(
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
        f"setup_context staticmethod, for each transform needs a ctx of its own. {function.__name__}: let forward(*args) only compute, "
        "and save in setup_context(ctx, inputs, output)."
    )


def positional(function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of forward in its order, with its defaults: one place for one gradient."""
    apart = function.has_setup_context()
    try:
        bound = signature(function.forward).bind(*(args if apart else (None, *args)), **kwargs)
    except TypeError as error:
        unknown = [name for name in kwargs if name not in parameters(function)]
        said = f"an unexpected keyword argument '{unknown[0]}'" if unknown else str(error)
        raise TypeError(f"{function.__name__}.forward() got {said}" if unknown or "multiple" in said else said) from None
    bound.apply_defaults()
    if bound.kwargs:
        if modes.levels and any(isinstance(a, Tensor) for a in bound.kwargs.values()):
            raise NotImplementedError(
                f"{function.__name__}: an autograd.Function with kwarg-only Tensor args inside a transform. Please do not pass kwarg-only "
                "Tensors to it: backward returns gradients by position."
            )
        raise TypeError(
            f"{function.__name__}.forward takes {', '.join(bound.kwargs)} by keyword only; backward returns gradients by position, "
            "so let forward take them by position too."
        )
    return bound.args if apart else bound.args[1:]


class computing:
    """While a forward runs: nothing is recorded, but what depends on the inputs is told from what does not."""

    def __init__(self, call: Call, needs: tuple[bool, ...], args: tuple[Any, ...]) -> None:
        self.counter = derive(call, needs, args) if any(needs) else None

    def __enter__(self) -> None:
        self.before = modes.grad, modes.counter, modes.forward
        modes.grad, modes.counter, modes.forward = False, modes.counter or self.counter, False
        modes.settle()

    def __exit__(self, *exc: object) -> None:
        modes.grad, modes.counter, modes.forward = self.before
        modes.settle()


def check_saved(call: Call, args: tuple[Any, ...], outs: tuple[Any, ...]) -> None:
    """An input that is an output as it came would be saved as both, with two histories."""
    for out in outs:
        if is_in(out, args) and is_in(out, call.to_save + call.to_save_forward) and not is_in(out, call.dirty):
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not supported if you override "
                "setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside the "
                "forward function itself."
            )


def check_dirty(call: Call, args: tuple[Any, ...], outs: tuple[Any, ...], recorded: bool) -> None:
    """What mark_dirty was told must be inputs that are outputs too, and may be written to."""
    for t in call.dirty:
        if not is_in(t, args) and is_in(t, outs):
            said = (
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
                "ctx.mark_dirty()."
            )
            if t.view_info is not None:
                raise RuntimeError(said)
            warnings.warn(said, UserWarning, stacklevel=3)
            continue
        t.version[0] += 1
        if not is_in(t, outs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
        if modes.grad and t.wants_grad and t.edge is None:
            raise RuntimeError(
                f"a leaf Variable that requires grad has been used in an in-place operation. {call.name()} marked it as dirty: "
                "write to a clone() of it instead."
            )
        if modes.grad and recorded and t.view_info is not None and sum(isinstance(out, Tensor) for out in outs) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
                "Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a view "
                "(using .clone() for example) or make your Function only return one Tensor."
            )
        check_may_write(t, recorded)


def is_in(t: Tensor, tensors: tuple[Any, ...]) -> bool:
    return any(t is other for other in tensors)


def as_output(out: Any, args: tuple[Any, ...], call: Call) -> Any:
    """An output that is an input, or has a history already, becomes a tensor of its own over the same numbers."""
    if not isinstance(out, Tensor) or is_in(out, call.dirty):
        return out
    if out.edge is not None or out.wants_grad or is_in(out, args):
        t = new_tensor(out.writable_array())
        t.version, t.view_info = out.version, View.of(out)
        out = as_subclass(t, type(out)) if overrides(out) else t
    if out.view_info is not None and modes.grad:
        out.view_info.made = FUNCTION
        out.view_info.seen = out.view_info.base.version[0]
    return out


def without_history(result: Any, out: Any, args: tuple[Any, ...]) -> Any:
    """An output that nothing is recorded of: an input that requires grad comes back as the same numbers, without its history."""
    return result.detach() if isinstance(result, Tensor) and result.requires_grad and is_in(out, args) else result


def connect(node: FunctionNode, args: tuple[Any, ...], outs: tuple[Any, ...], results: list[Any]) -> None:
    """Make the node the history of the results, and save what forward asked to save."""
    call = node.call
    differentiable = 0
    if not getattr(node.ctx, "_materialize_non_diff_grads", True):
        node.outputs_like = [None if is_in(out, call.non_differentiable) else like for out, like in zip(outs, node.outputs_like)]
    for k, (out, result) in enumerate(zip(outs, results)):
        if isinstance(result, Tensor) and result.payload.dtype in INEXACT and not is_in(out, call.non_differentiable):
            differentiable += 1
            edge: Edge = (node, k) if k else node
            if is_in(out, call.dirty):
                rebase(result, edge, node.edges[0] if result is args[0] else edge)
            else:
                result.edge = edge
        elif is_in(out, call.non_differentiable):
            results[k] = without_history(result, out, args)
    for result in results:
        if differentiable > 1 and isinstance(result, Tensor) and result.view_info is not None:
            result.view_info.made = SEVERAL
    to_save, call.to_save = call.to_save, ()  # first: a hook that packs may raise, and an output among them leads back to the node
    call.saved = [remembered(i, t, call, node.edges, args, outs) for i, t in enumerate(to_save)]
    if modes.watch is not None:
        modes.watch(node, results)
    if modes.anomaly is not None:
        modes.anomaly.remember(node)


def remembered(
    i: int, t: Tensor | None, call: Call, edges: tuple[Edge | None, ...], args: tuple[Any, ...], outs: tuple[Any, ...]
) -> CtxTensor:
    """A tensor to save with its history: that of an argument, of an output of this very node, or its own."""
    if t is None:
        return CtxTensor("None", None, None)
    for k, a in enumerate(args):
        if t is a and not is_in(t, call.dirty):
            return CtxTensor(call.argument(k), t, edges[k])
    for k, out in enumerate(outs):
        if t is out and not is_in(t, call.non_differentiable):
            return CtxTensor("out" if len(outs) == 1 else f"output {k}", t, k)
    inputs = [a for a, edge in zip(args, edges) if edge is not None]
    lost = comes_from(t, call) or (t.view_info is not None and any(t.version is a.version for a in inputs))
    return CtxTensor(f"saved_tensors[{i}]", t, edge_of(t), lost and t.payload.dtype in INEXACT and not is_in(t, outs))


class InplaceFunction(Function):
    """A Function that may write to its input. PyTorch keeps the name for old code; mark_dirty is what counts."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward whose formula cannot itself be differentiated: doing so is refused instead of silently wrong."""

    @functools.wraps(backward)
    def once(ctx: Any, *grads: Any) -> Any:
        with recording(False):
            returned = backward(ctx, *grads)
        if not modes.grad or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return returned
        gs = returned if isinstance(returned, tuple) else (returned,)
        node = ctx._autograd_call.node()
        twice = "trying to differentiate twice a function that was marked with @once_differentiable"
        error = Error(twice, node.edges, outputs=len(gs))
        refused: list[Any] = []
        for k, g in enumerate(gs):
            refused.append(g if g is None else new_tensor(g.payload))
            if g is not None:
                refused[k].edge = (error, k) if k else error
        return tuple(refused)

    return once
