"""Custom Functions: the same node as any other, whose rule a user wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.dtypes import FLOATING
from autolab.engine.modes import modes, recording
from autolab.engine.node import FREED, Edge, Node, Saved, edge_of, next_number
from autolab.engine.op import check, keep, revive
from autolab.engine.tensor import Tensor, fresh


class FunctionCtx(Node):
    """The `ctx` of a Function, and the node in the graph at once. Attributes may be set on it freely."""

    __slots__ = ("__dict__", "outputs")

    function: type[Function]

    def __init__(self) -> None:
        self.edges: tuple[Edge | None, ...] = ()
        self.hooks = None
        self.outputs = 1
        self._to_save: tuple[Any, ...] = ()
        self._saved: tuple[Any, ...] | None = ()
        self._non_differentiable: set[int] = set()
        self._dirty: set[int] = set()
        self._materialize = True
        self.needs_input_grad: tuple[bool, ...] = ()

    # -- what a forward may say ------------------------------------------------------------------

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward, where `ctx.saved_tensors` gives them back, checked for writes in between."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(t).__name__}. "
                    "Keep other things as attributes: ctx.n = n."
                )
        self._to_save = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs get no gradient."""
        self._non_differentiable = {id(t) for t in tensors}

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were written to."""
        self._dirty = {id(t) for t in tensors}

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient arrives in backward as zeros (the default) or as None."""
        self._materialize = value

    # -- what a backward may ask -------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to save_for_backward. Raises RuntimeError if they were freed, or written to since."""
        if self._saved is None:
            raise RuntimeError(FREED)
        out = []
        for saved, edge in self._saved:
            if saved is None:
                out.append(None)
                continue
            raw = check(self, "a saved tensor", saved)  # type: ignore[arg-type]
            t = revive(raw, None, saved[1])
            t = t if isinstance(t, Tensor) else fresh(t)
            t.edge = (self, edge) if isinstance(edge, int) else edge
            out.append(t)
        return tuple(out)

    def saved_values(self) -> list[Saved]:
        if self._saved is None:
            return [Saved("saved tensor", None, True)]
        return [Saved(f"saved {i}", s[0][0], s[0][1][0] == s[0][2]) for i, s in enumerate(self._saved) if s[0] is not None]

    # -- what the engine asks ------------------------------------------------------------------------

    def gradients(self, g: Any, create_graph: bool) -> tuple[Any, ...]:
        incoming = list(g) if self.outputs > 1 else [g]
        if self._materialize:
            incoming = [np.zeros(*like) if gi is None else gi for gi, like in zip(incoming, self._outputs_like)]
        with recording(create_graph):
            given = [gi if gi is None or isinstance(gi, Tensor) else fresh(gi) for gi in incoming]
            returned = self.function.backward(self, *given)
        gs = returned if isinstance(returned, tuple | list) else (returned,)
        gs = self._checked_count(tuple(gs))
        return tuple(self._checked(i, gi, create_graph) for i, gi in enumerate(gs))

    def _checked_count(self, gs: tuple[Any, ...]) -> tuple[Any, ...]:
        n = len(self.edges)
        if len(gs) > n and all(gi is None for gi in gs[n:]):
            return gs[:n]
        if len(gs) != n:
            names = ", ".join(self._argument_names)
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, got {len(gs)}). "
                f"forward took ({names}): return one gradient or None for each, in that order."
            )
        return gs

    def _checked(self, i: int, g: Any, create_graph: bool) -> Any:
        if g is None or self.edges[i] is None:
            return None
        shape, dtype = self._inputs_like[i]
        who = f"Function {self.name()} returned an invalid gradient at index {i}"
        if not isinstance(g, Tensor):
            raise TypeError(f"{who}: expected Tensor or None, got {type(g).__name__}")
        if tuple(g.shape) != shape:
            try:
                fits = np.broadcast_shapes(tuple(g.shape), shape) == tuple(g.shape)
            except ValueError:
                fits = False
            if not fits:
                raise RuntimeError(
                    f"{who} - got {list(g.shape)} but expected shape compatible with {list(shape)}. "
                    f"The gradient for `{self._argument_names[i]}` must have the shape of `{self._argument_names[i]}`."
                )
            from autolab.engine.node import sum_to

            g = sum_to(g, shape)
        if g.payload.dtype != dtype:
            g = g.astype(dtype)  # type: ignore[attr-defined]
        return g if create_graph else g.payload

    def release(self) -> None:
        if self._saved:
            self._saved = None

    def is_freed(self) -> bool:
        return self._saved is None


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

    _node_class: type[FunctionCtx]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"Legacy autograd function with non-static forward method is deprecated. Call {type(self).__name__}.apply(...) "
            "instead of making an instance."
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node_class = type(f"{cls.__name__}Backward", (FunctionCtx,), {"function": cls, "__module__": cls.__module__})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward, and record a node whose rule is `backward` if an argument requires grad."""
        ctx = cls._node_class()
        edges = tuple(edge_of(a) if isinstance(a, Tensor) else None for a in args)
        recorded = modes.grad and any(e is not None for e in edges)
        ctx.needs_input_grad = tuple(e is not None for e in edges)
        separate = cls.setup_context is not Function.setup_context
        with recording(False):
            outputs = cls.forward(*args) if separate else cls.forward(ctx, *args)
            if separate:
                cls.setup_context(ctx, args, outputs)
        several = isinstance(outputs, tuple | list)
        results = [
            as_output(o, args) if isinstance(o, Tensor) and id(o) not in ctx._dirty else o for o in (outputs if several else (outputs,))
        ]
        if recorded:
            connect(cls, ctx, args, edges, outputs if several else (outputs,), results)
        return tuple(results) if several else results[0]


def as_output(out: Tensor, args: tuple[Any, ...]) -> Tensor:
    """An output that is an input, or looks into something, becomes a tensor of its own over the same numbers."""
    if any(out is a for a in args) or out.edge is not None or out.flag:
        t = fresh(out.payload)
        t.version = out.version
        return t
    return out


def connect(
    cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], edges: tuple[Edge | None, ...], outputs: Any, results: list[Any]
) -> None:
    """Make ctx the node of the results."""
    ctx.edges = edges
    ctx.seq = next_number()
    ctx.outputs = len(results)
    ctx._argument_names = argument_names(cls.forward, args, cls.setup_context is not Function.setup_context)
    ctx._inputs_like = [(a.payload.shape, a.payload.dtype) if isinstance(a, Tensor) else None for a in args]
    ctx._outputs_like = [(r.payload.shape, r.payload.dtype) if isinstance(r, Tensor) else ((), np.float32) for r in results]
    for k, (out, result) in enumerate(zip(outputs, results)):
        if isinstance(result, Tensor) and result.payload.dtype in FLOATING and id(out) not in ctx._non_differentiable:
            result.edge = (ctx, k)
            result.flag = False
    ctx._saved = tuple((None, None) if t is None else (keep(t, t.payload), whose(t, args, edges, outputs)) for t in ctx._to_save)
    ctx._to_save = ()


def whose(t: Tensor, args: tuple[Any, ...], edges: tuple[Edge | None, ...], outputs: Any) -> Any:
    """The history of a saved tensor: an input's edge, or the number of an output of this very node (no cycle), or its own."""
    for a, edge in zip(args, edges):
        if t is a:
            return edge
    for k, out in enumerate(outputs):
        if t is out:
            return k
    return edge_of(t)


def argument_names(forward: Callable[..., Any], args: tuple[Any, ...], separate: bool) -> list[str]:
    """The names of forward's arguments, for messages."""
    parameters = list(inspect.signature(forward).parameters.values())
    names = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL][0 if separate else 1 :]
    return [names[i] if i < len(names) else f"argument {i}" for i in range(len(args))]
