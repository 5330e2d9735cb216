"""2. What a result remembers: a node with edges to what it was made from, and the values its rules will ask for.

A *node* is an operation that ran. An *edge* says where a gradient has to go: to an output of a node. It is the node itself for the
first output (most nodes have no other), and the pair (node, number) for a further one; `node, number = edge` works for both.
A leaf tensor has no node of its own; gradients for it go to its *accumulator*, a node that adds them into `.grad`.
"""

from __future__ import annotations

import itertools
import weakref
from _thread import allocate_lock
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Union

import numpy as np
from numpy import ndarray

from autolab.dtypes import COMPLEX, downcast, upcast
from autolab.dtypes import of as dtype_of
from autolab.engine.hooks import Hooks, after, before, run_post_hooks, run_tensor_hooks
from autolab.engine.modes import modes
from autolab.engine.saved import FREED, Saved
from autolab.engine.tensor import SAME, TABLE, Op, Plan, RemovableHandle, Tensor, new_tensor
from autolab.size import Size, broadcast_error, shapes_in

Edge = Union["Node", tuple["Node", int]]

add_reduce = np.add.reduce  # np.sum without its wrapper, which costs as much as a small sum
next_number = itertools.count().__next__


class Like(NamedTuple):
    """What is known of a tensor that is not kept."""

    shape: tuple[int, ...]
    dtype: Any


class Node:
    """An operation that ran. `edges` holds an edge, or None, for each of its inputs; `seq` is its creation number."""

    __slots__ = ("__weakref__", "_metadata", "edges", "hooks", "result_like", "seq")

    op: Op | None = None
    outputs = 1
    renumbered = False  # whether the number of any node was set by hand
    requires_grad = True
    holds_values = True  # whether there is something to release
    sparing = False  # whether it computes only what a pass for named `inputs` needs
    shown: tuple[int, ...] | None = None  # the inputs that users see, if not all: those that could have a gradient
    edges: tuple[Edge | None, ...]
    hooks: Hooks | None
    saved: Any  # of those that have an `op`
    seq: int
    result_like: tuple[Any, Any]
    _metadata: dict[Any, Any]

    def name(self) -> str:
        """The name of its class, but for those that PyTorch writes by hand, which bear no number."""
        name = type(self).__name__
        return name if self.op is None or name[-1].isdigit() else f"torch::autograd::{name}"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple((None, 0) if edge is None else (edge[0].in_parts(), edge[1]) for edge in self.in_parts().visible(self.edges))

    def in_parts(self) -> Node:
        """This node, for those who look: as PyTorch has it, if it computes in one go what is several nodes there."""
        return self

    def visible(self, of_each: Any) -> Any:
        """Of what there is one of for each edge, those that users see."""
        return of_each if self.shown is None else tuple([of_each[i] for i in self.shown])

    def __iter__(self) -> Iterator[Any]:
        """As an edge, a node is the pair (node, 0)."""
        return iter((self, 0))

    def __getitem__(self, i: int) -> Any:
        return (self, 0)[i]

    @property
    def metadata(self) -> dict[Any, Any]:
        try:
            return self._metadata
        except AttributeError:
            self._metadata = {}
            return self._metadata

    @property
    def _input_metadata(self) -> tuple[Like, ...]:
        """Shape and dtype of each gradient that comes in. A node of one result learns them from it: `y.grad_fn._input_metadata`."""
        likes = getattr(self, "outputs_like", None) or [self.result_like]
        return tuple(like and Like(Size(like[0]), dtype_of(like[1])) for like in likes)

    def _sequence_nr(self) -> int:
        return int(self.seq)

    def _set_sequence_nr(self, number: int) -> None:
        """Among the nodes that could run next, the one with the highest number does."""
        self.seq = number
        Node.renumbered = True

    def __call__(self, *grads: Any) -> Any:
        """Run this one node by hand: gradients of its outputs in, gradients for its edges out."""
        if len(grads) != self.outputs:
            raise TypeError(f"expected {self.outputs} arguments, got {len(grads)} instead")
        given = [g if g is None or modes.grad else g.payload for g in grads]
        found = self.vjp(tuple(given) if self.outputs != 1 else given[0], modes.grad)
        results = tuple([g if g is None or isinstance(g, Tensor) else new_tensor(g) for g in self.visible(found)])
        return results[0] if len(results) == 1 else results

    def vjp(self, g: Any, create_graph: bool) -> Any:
        """The gradients for each edge, from the gradient of the output (a tuple of them when there are several)."""
        raise NotImplementedError

    def run(self, g: Any, create_graph: bool, free: bool = False) -> Any:
        """What the backward pass calls: `gradients`, and `release` if it is to `free` what was saved. Rows have it written out."""
        hooks = self.hooks
        found = self.vjp(g, create_graph)
        if self.hooks is not hooks:  # hung on by a hook that unpacked a value for it; as in PyTorch it does not see what came in
            found = after(self, (None,) * self.outputs if self.outputs != 1 else None, found, create_graph)
        if free:
            self.release()
        return found

    def release(self) -> None:
        """Forget the saved values."""

    def is_freed(self) -> bool:
        return False

    def saved_values(self) -> list[Saved]:
        return []

    def _own_hooks(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(grad_inputs, grad_outputs) after the node has run; what it returns replaces grad_inputs."""
        return RemovableHandle(self._own_hooks().post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(grad_outputs) before the node runs; what it returns replaces grad_outputs."""
        return RemovableHandle(self._own_hooks().pre, hook)

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def fit(g: Any, like: tuple[tuple[int, ...], np.dtype[Any]]) -> Any:
    """Undo on the way back what broadcasting and promotion did on the way in: sum the stretched axes, restore the dtype."""
    shape, dtype = like
    g = sum_to(g, shape)
    return g if g.dtype == dtype else cast_gradient(g, dtype)


class OpNode(Node):
    """The node of a row of the table. Each row has subclasses of its own, named as PyTorch names them (`MulBackward0`)."""

    __slots__ = ("input_meta", "saved", "settings")

    sparing = True
    fit = staticmethod(fit)  # or a faster one (autolab.fast.sums)
    plan: Plan  # of the class: there is one for each set of inputs that need a gradient
    numbers = ""  # "narrow" for 16-bit floats, which are computed with in float32; "complex" where rules are complex derivatives
    saved: tuple[Any, ...] | None
    settings: dict[str, Any]
    # (shape, dtype) of each input that was broadcast or cast on the way in, None for one that was not; None when none was.
    input_meta: tuple[tuple[tuple[int, ...], np.dtype[Any]] | None, ...] | None

    def vjp(self, g: Any, create_graph: bool, values: list[Any] | None = None) -> list[Any]:
        """values: in place of those that were saved."""
        out: list[Any] = [None] * len(self.edges)
        if g is None:
            return out
        values = self.unpack(create_graph) if values is None else values
        narrow = self.numbers == "narrow"
        if narrow:
            several = isinstance(g, tuple)
            narrow_dtype = np.dtype((g[0] if several else g).dtype)
            g = tuple(upcast(g)) if several else upcast([g])[0]
            values = upcast(values)
        elif self.numbers:
            g = conjugates(g)
        try:
            for function, wanted in self.plan.shared:
                values.append(function(*[values[k] for k in wanted]))
            tensors = create_graph or isinstance(g[0] if type(g) is tuple else g, Tensor)  # for a second derivative
            formulas = tensors or self.numbers == "complex"  # not the kernels
            for i, rule, wanted in self.plan.rules:
                found = (rule.function if formulas else rule.compute)(g, *[values[k] for k in wanted])
                if i < 0:  # one rule for all inputs of a variadic row
                    out = list(found)
                else:
                    out[i] = found
        except ValueError as error:  # an unpack hook may bring back a value of any shape
            raise broadcast_error(shapes_in(error)) or error from None
        if self.numbers and not narrow:
            out = conjugates(out)
        like = self.input_meta or [None] * len(out)
        out = [gi if gi is None or one is None else self.fit(gi, one) for gi, one in zip(out, like)]  # sums in float32, if narrow
        if self.plan.one_dtype and not narrow:  # and of any dtype
            out = [gi if gi is None or one is not None or gi.dtype == g.dtype else gi.astype(g.dtype) for gi, one in zip(out, like)]
        if narrow:
            out = [downcast(gi, narrow_dtype) if one is None else gi for gi, one in zip(out, like)]
        return out

    def in_parts(self) -> Node:
        """A backward pass that runs knows its nodes already, and so does a call that is compiled."""
        assert self.op is not None
        if not modes.passes and modes.tracer is None:
            parts = self.op.generated("parts")
            if parts is not None:
                parts(self)
        return self

    def unpack(self, create_graph: bool) -> list[Any]:
        """The values that the rules ask for: raw arrays, or Tensors that know their history if the rule is recorded."""
        if self.saved is None:
            raise RuntimeError(FREED)
        return [slot.unpack(self, create_graph) for slot in self.plan.slots]

    def release(self) -> None:
        if self.holds_values:
            self.saved = None

    def is_freed(self) -> bool:
        return self.saved is None

    def saved_values(self) -> list[Saved]:
        if self.saved is None:
            return [Saved(slot.name, None, True) for slot in self.plan.slots]
        return [slot.show(self) for slot in self.plan.slots]


class MultiOpNode(OpNode):
    """The node of a row with several results: it waits for the gradients of all of them."""

    __slots__ = ("outputs", "outputs_like")

    outputs: int
    outputs_like: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]

    def vjp(self, g: Any, create_graph: bool, values: list[Any] | None = None) -> list[Any]:
        if self.outputs == 1:  # a split into one piece
            g = (g,)
        if all(gk is None for gk in g):
            return [None] * len(self.edges)
        zeros = (np.zeros(shape, dtype) for shape, dtype in self.outputs_like)  # an output that nobody used
        whole = tuple((new_tensor(z) if create_graph else z) if gk is None else gk for gk, z in zip(g, zeros))
        return super().vjp(whole, create_graph, values)


def conjugates(gs: Any) -> Any:
    """The complex conjugates of gradients, around the rules of a node.

    A rule multiplies g by the complex derivative of the operation, or in many dimensions by the transpose of its Jacobian: J^T g. The
    gradient is J^H g, the direction in which a real loss grows fastest (PyTorch's convention), and that is conj(J^T conj(g)).
    """
    if isinstance(gs, list | tuple):
        return type(gs)([g if g is None else np.conj(g) for g in gs])
    return np.conj(gs)


def cast_gradient(g: Any, dtype: np.dtype[Any]) -> Any:
    """A gradient in the dtype of its input: a real input that met a complex one moves the loss by the real part alone."""
    if np.dtype(g.dtype) in COMPLEX and dtype not in COMPLEX:
        g = TABLE["real"](g)
    return g if g.dtype == dtype else g.astype(dtype)


F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum `g` over the axes along which an array of `shape` was stretched to the shape of `g`."""
    if g.shape == shape:
        return g
    extra = g.ndim - len(shape)
    axes = tuple(range(extra))
    if g.shape[extra:] != shape:
        axes += tuple(i + extra for i, length in enumerate(shape) if length == 1 and g.shape[i + extra] != 1)
    if type(g) is ndarray:
        if g.dtype.itemsize == 2:  # in their own dtype, sums of 16-bit floats stop growing at 256 or 2048
            return add_reduce(g, axes, F32).astype(g.dtype).reshape(shape)
        return add_reduce(g, axes).reshape(shape)
    total = TABLE["sum"](g, axis=tuple([axis - g.ndim for axis in axes]), keepdims=False)
    return total if total.shape == shape else np.reshape(total, shape)


ADDING = allocate_lock()  # two threads may add to one leaf


class AccumulateGrad(Node):
    """The end of the line: adds what arrives into `variable.grad`. It holds the leaf; the leaf knows it only weakly."""

    __slots__ = ("variable",)

    edges = ()
    seq = (1 << 64) - 1  # PyTorch's: it runs before all others that could
    variable: Tensor

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"  # as PyTorch writes it

    @property
    def outputs_like(self) -> list[Any]:
        return [(self.variable.payload.shape, self.variable.payload.dtype)]

    def accumulate(self, g: Any, captured: Any, accumulate: bool, create_graph: bool, owned: bool = False) -> Any:
        """Pass g through the leaf's hooks, into `captured` if given, and into `.grad` if the pass is to `accumulate`.

        owned: nobody else holds g, so that it need not be copied.
        """
        leaf = self.variable
        extra = leaf.extra
        assert extra is not None
        if extra.hooks:
            g, owned = run_tensor_hooks(extra.hooks, g, create_graph), False
        if captured is not None:
            captured[self] = g
        if not accumulate:
            return g
        if self.hooks is not None:
            g, owned = before(self, g, create_graph), False
        if g is not None and leaf.wants_grad:  # it may have been told since to require no grad
            mine = g if extra.grad_dtype is SAME else in_dtype(g, extra.grad_dtype)
            with ADDING:
                there = leaf._grad
                if create_graph:
                    # As in PyTorch, the first is a copy into new memory.
                    leaf._grad = TABLE["copy"](new_tensor(np.empty_like(mine.payload)), mine) if there is None else mine + there
                elif there is not None:
                    add_into(there, mine)
                else:
                    leaf._grad = new_tensor(mine if owned else mine.copy())
            if extra.post_hooks:
                run_post_hooks(leaf, extra.post_hooks, create_graph)
        if self.hooks is not None:
            after(self, g, (), create_graph)
        return g


def in_dtype(g: Any, wanted: Any) -> Any:
    """A gradient as the leaf wants it; None takes any as it comes."""
    return g if wanted is None or g.dtype == wanted.numpy else g.astype(wanted.numpy)


def add_into(total: Tensor, g: Any) -> None:
    """total += g on the raw array, as PyTorch accumulates when no graph is wanted: other names for `total` see it too."""
    if type(total.payload) is ndarray:
        try:
            np.add(total.payload, g, out=total.payload)
        except ValueError:  # .data was given another shape since
            shapes = [total.payload.shape, g.shape]
            said = f"output with shape {list(shapes[0])} doesn't match the broadcast shape {list(shapes[1])}. Set .grad to None first."
            raise broadcast_error(shapes) or RuntimeError(said) from None
    else:
        total.payload = total.payload + g
    total.version[0] += 1


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The accumulator of a leaf: one, for as long as a graph holds it."""
    extra = leaf.extra or leaf.ensure_extra()
    node = extra.accumulator()
    if node is None:
        node = AccumulateGrad()
        node.variable = leaf
        node.hooks = None
        extra.accumulator = weakref.ref(node)
    return node


def edge_of(t: Tensor) -> Edge | None:
    """Where gradients for `t` go; None if they go nowhere."""
    if t.view_info is not None:
        t.view_info.refresh_history(t)
    edge: Edge | None = t.edge
    if edge is None and t.wants_grad:
        return accumulator(t)
    return edge
