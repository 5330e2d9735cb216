"""One call of a custom Function: what it was told, what it saved, and its node.

A call has two faces: `FunctionCtx`, on which forward and backward may set whatever they like, and `FunctionNode`, which the engine
walks. They are two objects, so that no attribute of a user's can stand where the engine keeps its own.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from autolab.autograd.saved import SavedTensor, with_history
from autolab.engine.modes import modes, recording
from autolab.engine.node import Edge, Node, next_number, sum_to
from autolab.engine.saved import FREED, Packed, Saved, checked, save, show_value
from autolab.engine.tensor import SAME, Tensor, new_tensor

Function: TypeAlias = Any  # a subclass of the class that function.py defines


class Call:
    """What is known about one call of a Function: all that its ctx and its node have in common."""

    __slots__ = (
        "dirty", "function", "inputs", "materialize", "moving", "node", "non_differentiable", "saved", "shown", "to_save",
        "to_save_forward", "token",
    )  # fmt: skip

    def __init__(self, function: type[Function], inputs: tuple[Any, ...]) -> None:
        self.function = function
        # (shape, dtype) of each argument of forward, or its type if it is not a tensor: what messages and checks need.
        self.inputs = [(a.payload.shape, a.payload.dtype) if isinstance(a, Tensor) else type(a) for a in inputs]
        self.node: weakref.ref[FunctionNode] | None = None
        self.to_save: tuple[Any, ...] = ()
        self.to_save_forward: tuple[Any, ...] = ()
        self.saved: list[Any] | None = []
        self.token = object()  # marks what this call's forward computed from the inputs, without a cycle
        self.shown = False  # whether backward has asked for the saved tensors
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.dirty: tuple[Tensor, ...] = ()
        self.materialize = True
        self.moving: Callable[[Any], Any] | None = None  # in a pass over duals: gives a saved tensor with its tangent

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    def forget_marks(self) -> None:
        """After the call they have done their work, and a marked output leads back to the node."""
        self.dirty = self.non_differentiable = ()

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
    if not function.has_setup_context():
        named.pop(next(iter(named), ""), None)
    return named


class Derived(list[int]):
    """The version counter of a tensor that a forward computed from an input, while nothing is recorded."""

    __slots__ = ("token",)

    token: object


def derive(call: Call, needs: tuple[bool, ...], args: tuple[Any, ...]) -> Callable[[Any, list[int]], list[int]]:
    """Gives `Derived` counters to what is computed from the inputs that need a gradient, or from anything else that does."""
    inputs = {id(a) for a, need in zip(args, needs) if need}

    def counter(operands: Any, ordinary: list[int]) -> list[int]:
        for a in operands:
            if isinstance(a, Tensor) and (id(a) in inputs or a.edge is not None or a.wants_grad or comes_from(a, call)):
                derived = Derived(ordinary)
                derived.token = call.token
                return derived
        return ordinary

    return counter


def comes_from(t: Tensor, call: Call) -> bool:
    return type(t.version) is Derived and t.version.token is call.token


class Error(Node):
    """Stands in the graph where a derivative would get lost, and says so when it is asked for."""

    __slots__ = ("message", "outputs")

    def __init__(self, message: str, edges: tuple[Edge | None, ...], outputs: int = 1) -> None:
        self.message, self.edges, self.outputs = message, edges, outputs
        self.hooks = None
        self.seq = next_number()

    def name(self) -> str:
        return "torch::autograd::Error"  # as PyTorch writes it

    def vjp(self, g: Any, create_graph: bool) -> Any:
        raise RuntimeError(self.message)


class CtxTensor:
    """A tensor given to save_for_backward: its numbers, the version they had, and where its history leads."""

    __slots__ = ("edge", "kept", "lost", "name", "original")

    def __init__(self, name: str, tensor: Tensor | None, edge: Edge | int | None, lost: bool = False) -> None:
        self.name = name
        output = isinstance(edge, int)
        self.kept: Any = (None, [0], 0) if tensor is None else save(tensor, tensor.payload, is_result=output)
        # A number: the history is an output of the very node that saves it, and a node may not hold itself.
        self.edge = edge
        self.lost = lost  # computed in forward, from the inputs: its derivative is not known
        # What is not an output comes back as itself, unless a saved-tensor hook took it away.
        self.original = None if output or type(self.kept[0]) is Packed else tensor

    def tensor(self, call: Call) -> Any:
        if type(self.kept[0]) is Packed and self.edge is None and not self.lost:
            return self.kept[0].tensor()  # what a saved-tensor hook brings back
        if self.kept[0] is None:
            return self.original
        raw, version = checked(call, self.name, self.kept, None if self.lost else self.history(call))
        if self.original is not None and self.original.payload is raw and not self.lost:
            return self.original
        return with_history(raw, self.history(call), version)

    def history(self, call: Call) -> Any:
        node = None if call.node is None else call.node()
        if node is None or not (isinstance(self.edge, int) or (self.lost and modes.grad)):
            return None if isinstance(self.edge, int) else self.edge
        if isinstance(self.edge, int):
            return (node, self.edge) if self.edge else node
        return Error(
            f"{call.name()} cannot be differentiated twice: `{self.name}` was computed inside forward, where nothing is recorded, so its "
            f"own derivative is not known and the second derivative would silently be wrong. Save the inputs and compute it again in "
            "backward; or return it from forward as an output, and take its gradient in backward.",
            node.edges,
        )


class CheckedTensor:
    """A tensor of the levels below, saved for backward with the version it had."""

    __slots__ = ("name", "saved")

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name, self.saved = name, (tensor, tensor.version, tensor.version[0])

    def tensor(self, call: Call) -> Any:
        return checked(call, self.name, self.saved)[0]


class UncheckedTensor(NamedTuple):
    """A tensor that comes back to a method of the Function as it is."""

    value: Any

    def tensor(self, call: Call) -> Any:
        return self.value


def output_tuple(outputs: Any) -> tuple[Any, ...]:
    """What a Function returned, as a tuple."""
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


class FunctionCtx:
    """The `ctx` of a Function. Attributes may be set on it freely; `y.grad_fn` shows them too.

    >>> class Scale(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * ctx.factor, None
    >>> y = Scale.apply(torch.ones(1, requires_grad=True), 3.0)
    >>> y.grad_fn.factor
    3.0
    """

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

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for jvp, where `ctx.saved_tensors` gives them back. Raises AssertionError for anything but Tensors and None."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx. "
                    f"Argument {i} is of type {type(t).__name__}."
                )
        self._autograd_call.to_save_forward = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs get no gradient. Raises RuntimeError for anything but Tensors."""
        only_tensors("mark_non_differentiable only accepts variable arguments, but got {kind} as argument {i}", tensors)
        self._autograd_call.non_differentiable = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were written to; forward must return them. Raises RuntimeError for anything but Tensors."""
        only_tensors("mark_dirty can only accept variables, but argument {i} is of type {kind}", tensors)
        self._autograd_call.dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient arrives in backward as zeros (the default) or as None. Raises TypeError for anything but a bool."""
        if type(value) is not bool:
            raise TypeError(
                f"set_materialize_grads received an invalid combination of arguments - got ({type(value).__name__}), but expected (bool)"
            )
        self._autograd_call.materialize = value

    # -- what a backward may ask -------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to save_for_backward. Raises RuntimeError if they were freed, or written to since."""
        call = self._autograd_call
        if call.function.clear_saved_tensors_on_access and call.shown:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
                "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        if call.saved is None:
            raise RuntimeError(FREED)
        found = tuple(one.tensor(call) for one in call.saved)
        if call.moving is not None:
            found = tuple(call.moving(t) for t in found)
        if call.function.clear_saved_tensors_on_access:
            call.saved, call.shown = [], True
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of saved_tensors."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def __getattr__(self, name: str) -> Any:
        # Only what is not set on ctx itself comes here: name(), next_functions, metadata ... are the node's.
        call = self._autograd_call
        node = None if call.node is None else call.node()
        if node is None or name.startswith("_") or not hasattr(type(node), name):
            raise AttributeError(
                f"'{call.name()}' object has no attribute '{name}'. What backward needs, forward sets: `ctx.{name} = ...`."
            )
        return getattr(node, name)


def only_tensors(message: str, values: tuple[Any, ...]) -> None:
    """Raise for a value that is no Tensor."""
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{message.format(i=i, kind=type(value).__name__)}. Pass the tensors themselves, one argument for each.")


class FunctionNode(Node):
    """The node of a custom Function. Each Function has a subclass of its own, named as PyTorch names it (`SquareBackward`)."""

    __slots__ = ("call", "ctx", "outputs", "outputs_like")

    def __init__(self, ctx: FunctionCtx, edges: tuple[Edge | None, ...], results: list[Any]) -> None:
        self.ctx, self.call = ctx, ctx._autograd_call
        self.edges = edges
        self.hooks = None
        self.seq = next_number()
        self.outputs = len(results)
        # None for what is not a tensor, and so has no gradient.
        self.outputs_like: list[Any] = [(r.payload.shape, r.payload.dtype) if isinstance(r, Tensor) else None for r in results]
        self.call.node = weakref.ref(self)

    @property
    def shown(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(i for i, like in enumerate(self.call.inputs) if not isinstance(like, type))

    def __getattr__(self, name: str) -> Any:
        # PyTorch's ctx is the node, so what was set on ctx can be read here.
        if name in ("saved_tensors", "saved_variables", "needs_input_grad"):
            return getattr(self.ctx, name)
        if name != "_metadata" and name in self.ctx.__dict__:
            return self.ctx.__dict__[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def apply(self, *grads: Any) -> Any:
        """Call the user's backward by hand, with one gradient for each output."""
        rule = self.call.function.rule()
        return rule(self.ctx, list(grads)) if self.call.function.boxed_grads_call else rule(self.ctx, *grads)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    # -- what the engine asks ------------------------------------------------------------------------

    def vjp(self, g: Any, create_graph: bool) -> tuple[Any, ...]:
        incoming = g if self.outputs > 1 else (g,)
        if self.call.materialize:
            incoming = [np.zeros(*like)[()] if gi is None and like is not None else gi for gi, like in zip(incoming, self.outputs_like)]
        with recording(create_graph):
            rule, given = self.call.function.rule(), [gi if gi is None or isinstance(gi, Tensor) else new_tensor(gi) for gi in incoming]
            returned = rule(self.ctx, given) if self.call.function.boxed_grads_call else rule(self.ctx, *given)
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
            return None if self.hooks is None else g if create_graph or g.level else g.payload  # hooks see all that backward returns
        shape, dtype = like
        if tuple(g.shape) != shape:
            if not stretches(shape, tuple(g.shape)):
                name = self.call.argument(i)
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got {list(g.shape)} but expected shape "
                    f"compatible with {list(shape)}. The gradient for `{name}` must have the shape of `{name}`."
                )
            g = sum_to(g, shape)
        leaf = getattr(self.edges[i][0], "variable", None)  # type: ignore[index]
        if g.payload.dtype != dtype and (leaf is None or leaf.extra.grad_dtype is SAME):
            g = g.astype(dtype)
        return g if create_graph or g.level else g.payload

    def release(self) -> None:
        if self.call.saved:
            self.call.saved = None

    def is_freed(self) -> bool:
        return self.call.saved is None

    def saved_values(self) -> list[Saved]:
        if self.call.saved is None:
            return [Saved("saved_tensors", None, True)]
        return [show_value(s.name, s.kept) for s in self.call.saved if s.kept[0] is not None]

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self.call.saved is None:
            raise RuntimeError(FREED)
        return tuple(self._handle(one) for one in self.call.saved)

    def _handle(self, one: CtxTensor) -> SavedTensor:
        def read() -> Any:
            return None if self.call.saved is None else one.kept

        def write(kept: Any) -> None:
            one.kept = kept

        return SavedTensor(self, one.name, one.history(self.call), read, write)


BackwardCFunction = FunctionNode  # PyTorch's name for it


def stretches(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """True if an array of `shape` can be broadcast to the shape `to`."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False
