"""Custom Functions: the same node as any other, whose rule a user wrote.

A call has two faces: `FunctionCtx`, on which forward and backward may set whatever they like, and `FunctionNode`, which the engine
walks. They are two objects, so that no attribute of a user's can stand where the engine keeps its own.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from autolab.engine import anomaly
from autolab.engine.dtypes import FLOATING
from autolab.engine.inplace import FUNCTION, SEVERAL, View, check_may_write, rebase
from autolab.engine.modes import modes, recording
from autolab.engine.node import Edge, Node, edge_of, next_number, sum_to
from autolab.engine.saved import FREED, Packed, Saved, SavedTensor, check, keep, show_value, with_history
from autolab.engine.tensor import SAME, Tensor, fresh


class Call:
    """What is known about one call of a Function: all that its ctx and its node have in common."""

    __slots__ = (
        "dirty", "function", "inputs", "materialize", "node", "non_differentiable", "saved", "shown", "to_save", "to_save_forward", "token",
    )  # fmt: skip

    def __init__(self, function: type[Function], inputs: tuple[Any, ...]) -> None:
        self.function = function
        # (shape, dtype) of each argument of forward, or its type if it is no tensor: what messages and checks need.
        self.inputs = [(a.payload.shape, a.payload.dtype) if isinstance(a, Tensor) else type(a) for a in inputs]
        self.node: weakref.ref[FunctionNode] | None = None
        self.to_save: tuple[Any, ...] = ()
        self.to_save_forward: tuple[Any, ...] = ()
        self.saved: list[Remembered] | None = []
        self.token = object()  # marks what this call's forward computed from the inputs, without a cycle
        self.shown = False  # whether backward has asked for the saved tensors
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


class Derived(list[int]):
    """The version counter of a tensor that a forward computed from an input, while nothing is recorded."""

    __slots__ = ("token",)


def derive(call: Call, needs: tuple[bool, ...], args: tuple[Any, ...]) -> Callable[[Any, list[int]], list[int]]:
    """Gives `Derived` counters to what is computed from the inputs that need a gradient, or from anything else that does."""
    inputs = {id(a) for a, need in zip(args, needs) if need}

    def counter(operands: Any, ordinary: list[int]) -> list[int]:
        for a in operands:
            if isinstance(a, Tensor) and (id(a) in inputs or a.edge is not None or a.flag or comes_from(a, call)):
                ordinary = Derived(ordinary)
                ordinary.token = call.token  # type: ignore[attr-defined]
                break
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

    def gradients(self, g: Any, create_graph: bool) -> Any:
        raise RuntimeError(self.message)


class Remembered:
    """A tensor given to save_for_backward: its numbers, the version they had, and where its history leads."""

    __slots__ = ("edge", "kept", "lost", "name", "original")

    def __init__(self, name: str, tensor: Tensor | None, edge: Edge | int | None, lost: bool = False) -> None:
        self.name = name
        output = isinstance(edge, int)
        self.kept: Any = (None, [0], 0) if tensor is None else keep(tensor, tensor.payload, is_result=output)
        # A number: the history is an output of the very node that saves it, and a node may not hold itself.
        self.edge = edge
        self.lost = lost  # computed in forward, from the inputs: its derivative is not known
        # What is no output comes back as itself, unless a saved-tensor hook took it away.
        self.original = None if output or type(self.kept[0]) is Packed else tensor

    def tensor(self, call: Call) -> Any:
        if type(self.kept[0]) is Packed and self.edge is None and not self.lost:
            return self.kept[0].tensor()  # what a saved-tensor hook brings back
        raw, version = check(call, self.name, self.kept) if self.kept[0] is not None else (None, None)
        if raw is None or (self.original is not None and self.original.payload is raw and not self.lost):
            return self.original
        return with_history(raw, self.history(call), version)  # type: ignore[arg-type]

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

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for jvp, where `ctx.saved_tensors` gives them back. Raises TypeError for anything but Tensors and None."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_forward expects all arguments to be tensors; argument {i} is a {type(t).__name__}")
        self._autograd_call.to_save_forward = tensors

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
        if call.function.clear_saved_tensors_on_access and call.shown:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
                "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        if call.saved is None or (call.node is not None and call.node() is None):
            raise RuntimeError(FREED)
        found = tuple(one.tensor(call) for one in call.saved)
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


class FunctionNode(Node):
    """The node of a custom Function. Each Function has a subclass of its own, named as PyTorch names it (`SquareBackward`)."""

    __slots__ = ("call", "ctx", "outputs", "outputs_like")

    def __init__(self, ctx: FunctionCtx, edges: tuple[Edge | None, ...], results: list[Any]) -> None:
        self.ctx, self.call = ctx, ctx._autograd_call
        self.edges = edges
        self.hooks = None
        self.seq = next_number()
        self.outputs = len(results)
        # None for what is no tensor, and so has no gradient.
        self.outputs_like: list[Any] = [(r.payload.shape, r.payload.dtype) if isinstance(r, Tensor) else None for r in results]
        self.call.node = weakref.ref(self)

    def __getattr__(self, name: str) -> Any:
        # PyTorch's ctx is the node, so what was set on ctx can be read here.
        if name in ("saved_tensors", "saved_variables", "needs_input_grad"):
            return getattr(self.ctx, name)
        if name != "_metadata" and name in self.ctx.__dict__:
            return self.ctx.__dict__[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    # -- what the engine asks ------------------------------------------------------------------------

    def gradients(self, g: Any, create_graph: bool) -> tuple[Any, ...]:
        incoming = g if self.outputs > 1 else (g,)
        if self.call.materialize:
            incoming = [np.zeros(*like)[()] if gi is None and like is not None else gi for gi, like in zip(incoming, self.outputs_like)]
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
            g = g.astype(dtype)  # type: ignore[attr-defined]
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

    def _handle(self, one: Remembered) -> SavedTensor:
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
        if name in ("name", "next_functions", "register_hook", "_register_hook_dict", "_sequence_nr", "_input_metadata", "metadata"):
            raise RuntimeError(
                f"Attribute '{name}' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on an instance of "
                "autograd.Function is a legacy access pattern that is no longer supported: the node is `result.grad_fn`."
            )
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
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
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
    def sets_up_apart(cls) -> bool:
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
        with computing(call, needs, args):
            outputs = cls.forward(*args) if apart else cls.forward(ctx, *args)
            if apart:
                cls.setup_context(ctx, args, outputs)
        several = isinstance(outputs, tuple | list)
        outs = tuple(outputs) if several else (outputs,)
        check_dirty(call, args, outs, any(needs))
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


class computing:
    """While a forward runs: nothing is recorded, but what depends on the inputs is told from what does not."""

    def __init__(self, call: Call, needs: tuple[bool, ...], args: tuple[Any, ...]) -> None:
        self.counter = derive(call, needs, args) if any(needs) else None

    def __enter__(self) -> None:
        self.before = modes.grad, modes.counter
        modes.grad, modes.counter = False, modes.counter or self.counter
        modes.settle()

    def __exit__(self, *exc: object) -> None:
        modes.grad, modes.counter = self.before
        modes.settle()


def check_dirty(call: Call, args: tuple[Any, ...], outs: tuple[Any, ...], recorded: bool) -> None:
    """What mark_dirty was told must be inputs that are outputs too, and may be written to."""
    for t in call.dirty:
        if not is_in(t, args):
            said = (
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
                "ctx.mark_dirty()."
            )
            if t.window is not None:
                raise RuntimeError(said)
            warnings.warn(said, UserWarning, stacklevel=3)
            continue
        t.version[0] += 1
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
        if modes.grad and recorded and t.window is not None and sum(isinstance(out, Tensor) for out in outs) > 1:
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
    if out.edge is not None or out.flag or is_in(out, args):
        t = fresh(out.box())
        t.version, t.window = out.version, View.of(out)
        out = t
    if out.window is not None and modes.grad:
        out.window.made = FUNCTION
        out.window.seen = out.window.base.version[0]
    return out


def connect(node: FunctionNode, args: tuple[Any, ...], outs: tuple[Any, ...], results: list[Any]) -> None:
    """Make the node the history of the results, and save what forward asked to save."""
    call = node.call
    differentiable = 0
    if not getattr(node.ctx, "_materialize_non_diff_grads", True):
        node.outputs_like = [None if is_in(out, call.non_differentiable) else like for out, like in zip(outs, node.outputs_like)]
    for k, (out, result) in enumerate(zip(outs, results)):
        if isinstance(result, Tensor) and result.payload.dtype in FLOATING and not is_in(out, call.non_differentiable):
            differentiable += 1
            edge: Edge = (node, k) if k else node
            if is_in(out, call.dirty):
                rebase(result, edge, node.edges[0] if result is args[0] else edge)
            else:
                result.edge = edge
    for result in results:
        if differentiable > 1 and isinstance(result, Tensor) and result.window is not None:
            result.window.made = SEVERAL
    call.saved = [remembered(i, t, call, node.edges, args, outs) for i, t in enumerate(call.to_save)]
    call.to_save = ()
    if modes.watch is not None:
        modes.watch(node, results)
    if modes.anomaly:
        anomaly.remember(node)


def remembered(
    i: int, t: Tensor | None, call: Call, edges: tuple[Edge | None, ...], args: tuple[Any, ...], outs: tuple[Any, ...]
) -> Remembered:
    """A tensor to save with its history: that of an argument, of an output of this very node, or its own."""
    if t is None:
        return Remembered("None", None, None)
    for k, a in enumerate(args):
        if t is a and not is_in(t, call.dirty):
            return Remembered(call.argument(k), t, edges[k])
    for k, out in enumerate(outs):
        if t is out and not is_in(t, call.non_differentiable):
            return Remembered("out" if len(outs) == 1 else f"output {k}", t, k)
    inputs = [a for a, edge in zip(args, edges) if edge is not None]
    lost = comes_from(t, call) or (t.window is not None and any(t.version is a.version for a in inputs))
    return Remembered(f"saved_tensors[{i}]", t, edge_of(t), lost and t.payload.dtype in FLOATING and not is_in(t, outs))


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
        refused = []
        for k, g in enumerate(gs):
            refused.append(g if g is None else fresh(g.payload))
            if g is not None:
                refused[k].edge = (error, k) if k else error
        return tuple(refused)

    return once
