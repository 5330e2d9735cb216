"""Custom Functions: the same node as any other, whose rule a user wrote.

A call has two faces: `FunctionCtx`, on which forward and backward may set whatever they like, and `FunctionNode`, which the engine
walks. They are two objects, so that no attribute of a user's can stand where the engine keeps its own.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from autolab.engine.dtypes import FLOATING
from autolab.engine.modes import modes, recording
from autolab.engine.node import AccumulateGrad, Edge, Node, edge_of, next_number, sum_to
from autolab.engine.saved import FREED, Saved, check, keep, show_value
from autolab.engine.tensor import Tensor, fresh


class Call:
    """What is known about one call of a Function: all that its ctx and its node have in common."""

    __slots__ = ("dirty", "function", "inputs", "materialize", "node", "non_differentiable", "saved", "to_save")

    def __init__(self, function: type[Function], inputs: tuple[Any, ...]) -> None:
        self.function = function
        # (shape, dtype) of each argument of forward, or its type if it is no tensor: what messages and checks need.
        self.inputs = [(a.payload.shape, a.payload.dtype) if isinstance(a, Tensor) else type(a) for a in inputs]
        self.node: weakref.ref[FunctionNode] | None = None
        self.to_save: tuple[Any, ...] = ()
        self.saved: list[SavedTensor | None] | None = []
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.dirty: tuple[Tensor, ...] = ()
        self.materialize = True

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    def argument(self, i: int) -> str:
        """The name of forward's i-th argument."""
        for k, p in enumerate(parameters(self.function).values()):
            if p.kind is p.VAR_POSITIONAL:
                return f"{p.name}[{i - k}]"
            if k == i:
                return p.name
        return f"argument {i}"


@functools.cache
def signature(forward: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(forward)


def parameters(function: type[Function]) -> dict[str, inspect.Parameter]:
    """The parameters of forward, without ctx."""
    named = dict(signature(function.forward).parameters)
    if not function.sets_up_apart():
        named.pop(next(iter(named), ""), None)
    return named


class SavedTensor:
    """A tensor given to save_for_backward: its numbers, the version they had, and where its history leads."""

    __slots__ = ("edge", "kept", "name")

    def __init__(self, name: str, tensor: Tensor, edge: Edge | int | None) -> None:
        self.name = name
        self.kept = keep(tensor, tensor.payload)
        # A number: the history is an output of the very node that saves it, and a node may not hold itself.
        self.edge = edge

    def tensor(self, call: Call) -> Tensor:
        raw, _ = check(call, self.name, self.kept)  # type: ignore[arg-type]
        edge = self.edge
        if isinstance(edge, int):
            node = None if call.node is None else call.node()
            edge = None if node is None else (node, edge) if edge else node
        elif edge is not None and type(edge[0]) is AccumulateGrad and edge[0].variable.payload is raw:
            return edge[0].variable  # a leaf comes back as itself
        t = fresh(raw)
        t.version = self.kept[1]
        t.edge = edge
        return t


class FunctionCtx:
    """The `ctx` of a Function. Attributes may be set on it freely; `y.grad_fn` shows them too."""

    __slots__ = ("__dict__", "__weakref__", "_autograd_call")

    needs_input_grad: tuple[bool, ...]

    def __init__(self, call: Call, needs_input_grad: tuple[bool, ...]) -> None:
        self._autograd_call = call
        self.needs_input_grad = needs_input_grad

    # -- what a forward may say ------------------------------------------------------------------

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward, where `ctx.saved_tensors` gives them back, checked for writes in between.

        Raises TypeError for anything but Tensors and None.
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}. "
                    "Keep other things as attributes: ctx.n = n."
                )
        self._autograd_call.to_save = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs get no gradient."""
        self._autograd_call.non_differentiable = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were written to; forward must return them."""
        self._autograd_call.dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient arrives in backward as zeros (the default) or as None."""
        self._autograd_call.materialize = value

    # -- what a backward may ask -------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to save_for_backward. Raises RuntimeError if they were freed, or written to since."""
        call = self._autograd_call
        if call.saved is None:
            raise RuntimeError(FREED)
        return tuple(None if saved is None else saved.tensor(call) for saved in call.saved)

    def __getattr__(self, name: str) -> Any:
        # Only what is not set on ctx itself comes here: name(), next_functions, metadata ... are the node's.
        call = self._autograd_call
        node = None if call.node is None else call.node()
        if node is None or name.startswith("_") or not hasattr(type(node), name):
            raise AttributeError(
                f"'{call.name()}' object has no attribute '{name}'. What backward needs, forward sets: `ctx.{name} = ...`."
            )
        return getattr(node, name)


class FunctionNode(Node):
    """The node of a custom Function. Each Function has a subclass of its own, named as PyTorch names it (`SquareBackward`)."""

    __slots__ = ("call", "ctx", "outputs", "outputs_like")

    def __init__(self, ctx: FunctionCtx, edges: tuple[Edge | None, ...], results: list[Any]) -> None:
        self.ctx, self.call = ctx, ctx._autograd_call
        self.edges = edges
        self.hooks = None
        self.seq = next_number()
        self.outputs = len(results)
        # float32 scalars stand in for outputs that are no tensors: their gradients are zeros that backward ignores.
        self.outputs_like = [(r.payload.shape, r.payload.dtype) if isinstance(r, Tensor) else ((), np.float32) for r in results]
        self.call.node = weakref.ref(self)

    def __getattr__(self, name: str) -> Any:
        # PyTorch's ctx is the node, so what was set on ctx can be read here.
        if name == "saved_tensors":
            return self.ctx.saved_tensors
        if name != "_metadata" and name in self.ctx.__dict__:
            return self.ctx.__dict__[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    # -- what the engine asks ------------------------------------------------------------------------

    def gradients(self, g: Any, create_graph: bool) -> tuple[Any, ...]:
        incoming = g if self.outputs > 1 else (g,)
        if self.call.materialize:
            incoming = [np.zeros(*like)[()] if gi is None else gi for gi, like in zip(incoming, self.outputs_like)]
        with recording(create_graph):
            given = [gi if gi is None or isinstance(gi, Tensor) else fresh(gi) for gi in incoming]
            returned = self.call.function.rule()(self.ctx, *given)
        gs = self.checked_count(returned if isinstance(returned, tuple) else (returned,))
        return tuple([self.checked(i, gi, create_graph) for i, gi in enumerate(gs)])

    def checked_count(self, gs: tuple[Any, ...]) -> tuple[Any, ...]:
        n = len(self.edges)
        if len(gs) > n and all(gi is None for gi in gs[n:]):
            return gs[:n]
        if len(gs) != n:
            names = ", ".join(self.call.argument(i) for i in range(n))
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, got {len(gs)}). "
                f"forward took ({names}): return one gradient or None for each, in that order."
            )
        return gs

    def checked(self, i: int, g: Any, create_graph: bool) -> Any:
        """The gradient for the i-th argument, in its shape and dtype, if it can be brought there."""
        if g is None:
            return None
        if not isinstance(g, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(g).__name__}): {self.name()} must return a Tensor as the gradient for "
                f"`{self.call.argument(i)}`, and a tuple of them (not a list) for several arguments."
            )
        like = self.call.inputs[i]
        if isinstance(like, type):
            raise RuntimeError(
                f"function {self.name()} returned a gradient different than None at position {i + 1}, but the corresponding "
                f"forward input was not a Variable: `{self.call.argument(i)}` was {like.__name__}. Return None for it."
            )
        if self.edges[i] is None:
            return None
        shape, dtype = like
        if tuple(g.shape) != shape:
            if not stretches(shape, tuple(g.shape)):
                name = self.call.argument(i)
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got {list(g.shape)} but expected shape "
                    f"compatible with {list(shape)}. The gradient for `{name}` must have the shape of `{name}`."
                )
            g = sum_to(g, shape)
        if g.payload.dtype != dtype:
            g = g.astype(dtype)  # type: ignore[attr-defined]
        return g if create_graph else g.payload

    def release(self) -> None:
        if self.call.saved:
            self.call.saved = None

    def is_freed(self) -> bool:
        return self.call.saved is None

    def saved_values(self) -> list[Saved]:
        if self.call.saved is None:
            return [Saved("saved_tensors", None, True)]
        return [show_value(s.name, s.kept) for s in self.call.saved if s is not None]


def stretches(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """True if an array of `shape` can be broadcast to the shape `to`."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"Legacy autograd function with non-static forward method is deprecated. Call {type(self).__name__}.apply(...) "
            "instead of making an instance."
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = f"{cls.__name__}Backward"
        cls._node_class = type(name, (FunctionNode,), {"__slots__": (), "__module__": cls.__module__})

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
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward  # PyTorch's other name for it

    @classmethod
    def sets_up_apart(cls) -> bool:
        """True if there is a setup_context of its own."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def rule(cls) -> Callable[..., Any]:
        """backward, or vjp if it was written under that name."""
        return cls.vjp if cls.backward is Function.backward else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record a node whose rule is `backward` if an argument requires grad."""
        apart = cls.sets_up_apart()
        if kwargs or apart:
            args = positional(cls, args, kwargs)
        if modes.levels:
            top: Any = max((a for a in args if isinstance(a, Tensor)), key=attrgetter("level"), default=Tensor)
            if top.level:
                from autolab.autograd.inside import apply_inside

                return apply_inside(cls, top.home, args)
        edges = tuple([edge_of(a) if isinstance(a, Tensor) else None for a in args])
        needs = tuple([e is not None for e in edges])
        call = Call(cls, args)
        ctx = FunctionCtx(call, needs)
        with recording(False):
            outputs = cls.forward(*args) if apart else cls.forward(ctx, *args)
            if apart:
                cls.setup_context(ctx, args, outputs)
        several = isinstance(outputs, tuple | list)
        outs = tuple(outputs) if several else (outputs,)
        check_dirty(call, outs)
        results = [as_output(out, args, call) for out in outs]
        if modes.grad and any(needs):
            connect(cls._node_class(ctx, edges, results), args, outs, results)
        return tuple(results) if several else results[0]


def positional(function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of forward in its order, with its defaults: one place for one gradient."""
    apart = function.sets_up_apart()
    bound = signature(function.forward).bind(*(args if apart else (None, *args)), **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{function.__name__}.forward takes {', '.join(bound.kwargs)} by keyword only; backward returns gradients by position, "
            "so let forward take them by position too."
        )
    return bound.args if apart else bound.args[1:]


def check_dirty(call: Call, outs: tuple[Any, ...]) -> None:
    for t in call.dirty:
        if not is_in(t, outs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
        if modes.grad and t.flag and t.edge is None:
            raise RuntimeError(
                f"a leaf Variable that requires grad has been used in an in-place operation. {call.name()} marked it as dirty: "
                "write to a clone() of it instead."
            )


def is_in(t: Tensor, tensors: tuple[Any, ...]) -> bool:
    return any(t is other for other in tensors)


def as_output(out: Any, args: tuple[Any, ...], call: Call) -> Any:
    """An output that is an input, or has a history already, becomes a tensor of its own over the same numbers."""
    if not isinstance(out, Tensor) or is_in(out, call.dirty):
        return out
    if out.edge is not None or out.flag or is_in(out, args):
        t = fresh(out.payload)
        t.version = out.version
        return t
    return out


def connect(node: FunctionNode, args: tuple[Any, ...], outs: tuple[Any, ...], results: list[Any]) -> None:
    """Make the node the history of the results, and save what forward asked to save."""
    call = node.call
    for k, (out, result) in enumerate(zip(outs, results)):
        if isinstance(result, Tensor) and result.payload.dtype in FLOATING and not is_in(out, call.non_differentiable):
            result.edge = (node, k) if k else node
    call.saved = [None if t is None else saved(i, t, call, node.edges, args, outs) for i, t in enumerate(call.to_save)]
    call.to_save = ()
    if modes.watch is not None:
        modes.watch(node, results)


def saved(
    i: int, t: Tensor, call: Call, edges: tuple[Edge | None, ...], args: tuple[Any, ...], outs: tuple[Any, ...]
) -> SavedTensor:
    """A tensor to save with its history: that of an argument, of an output of this very node, or its own."""
    for k, out in enumerate(outs):
        if t is out and not is_in(t, call.non_differentiable):
            return SavedTensor("out" if len(outs) == 1 else f"output {k}", t, k)
    for k, a in enumerate(args):
        if t is a:
            return SavedTensor(call.argument(k), t, edges[k])
    return SavedTensor(f"saved_tensors[{i}]", t, edge_of(t))


class Refusal(Function):
    """The identity, for results that must not be differentiated again."""

    @staticmethod
    def forward(ctx: Any, *results: Any) -> Any:
        """Return what is given."""
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Refuse."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward whose formula cannot itself be differentiated: doing so is refused instead of silently wrong."""

    @functools.wraps(backward)
    def once(ctx: Any, *grads: Any) -> Any:
        with recording(False):
            returned = backward(ctx, *grads)
        if not modes.grad or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return returned
        gs = returned if isinstance(returned, tuple) else (returned,)
        refused = iter(Refusal.apply(*[g.detach().requires_grad_() for g in gs if g is not None]))  # type: ignore[attr-defined]
        return tuple(None if g is None else next(refused) for g in gs)

    return once
