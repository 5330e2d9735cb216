"""Forward mode on ordinary tensors: dual numbers that live inside a `dual_level`.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(primal, tangent)
        y = f(x)
        forward_ad.unpack_dual(y).tangent

It is the level behind `func.jvp`, opened by hand. Reverse mode goes on below it: `autograd.grad(y, x)` of duals is a dual, whose
tangent is a product with the second derivative. For that the backward pass runs on duals: nodes are those of the values, and the level
remembers how what they saved moves.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd import function_in_jvp  # noqa: F401 - what forward mode does with a custom Function
from autolab.autograd.context import FunctionNode
from autolab.dtypes import INEXACT
from autolab.engine.apply import top_transform
from autolab.engine.inplace import layout_of
from autolab.engine.modes import modes
from autolab.engine.op import Out, Value, Values
from autolab.engine.tensor import TABLE, Tensor, new_tensor
from autolab.rules.strided import memory_and_start, window
from autolab.torch_api.inplace import copy_
from autolab.transforms.boxes import shaped
from autolab.transforms.dual import Dual, ForwardMode, check_tangent
from autolab.transforms.level import Level, ViewPath, zeros

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


_current_level = -1  # what PyTorch's users look at: -1 outside of a dual level, 0 inside


def _set_current_level(level: int) -> None:
    global _current_level
    _current_level = level


def _is_fwd_grad_enabled() -> bool:
    """Whether operations compute tangents in this thread."""
    return modes.forward


class _set_fwd_grad_enabled:
    """Whether operations compute tangents, from now on and until the end of the block."""

    def __init__(self, mode: bool) -> None:
        self.before, modes.forward = modes.forward, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.forward = self.before


SLOTS = ("payload", "edge", "wants_grad", "version", "view_info", "extra", "_grad")


def moved_over(source: Any, target: Any) -> None:
    """Let `target` be on level 0 what `source` is: its numbers, its history, its accumulator."""
    for slot in SLOTS:
        setattr(target, slot, getattr(source, slot))
    leaf = None if source.extra is None else source.extra.accumulator()
    if leaf is not None:
        leaf.variable = target


class Carried(Dual):
    """A dual number of a `dual_level`: what concerns reverse mode is asked of its value."""

    __slots__ = ()

    is_leaf = property(lambda self: self.value.is_leaf)
    grad_fn = property(lambda self: self.value.grad_fn)
    in_reverse = property(lambda self: self.value)  # what a backward pass starts from, or leads to
    grad = property(lambda self: self.value.grad)
    _version = property(lambda self: self.value._version)

    def backward(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Run reverse mode from the value: `.grad` of leaves gets gradients without tangents."""
        self.value.backward(*args, **kwargs)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:  # type: ignore[override]
        self.value.requires_grad_(requires_grad)
        return self

    def register_hook(self, hook: Any) -> Any:
        return self.value.register_hook(hook)

    def retain_grad(self) -> None:  # type: ignore[override]
        self.value.retain_grad()

    def numpy(self, *, force: bool = False) -> Any:
        return self.value.numpy(force=force)

    def detach_(self) -> Tensor:
        """Forget the history and the tangent."""
        self.value.detach_()
        self._tangent = None
        return self

    def __repr__(self) -> str:
        shown = repr(self.value)
        return shown if self.tangent is None else f"{shown[:-1]}, tangent={self.tangent!r})"


class Forward(ForwardMode):
    """The level of a `dual_level`. Its boxes are tensors like others: they may have been such before, and are such again afterwards."""

    box = Carried
    transform = False

    def __init__(self) -> None:
        self.boxes: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        # By node of the values: the tangents of what it was made from, and of its results.
        self.along: weakref.WeakKeyDictionary[Any, tuple[list[Moving | None], list[Moving | None]]] = weakref.WeakKeyDictionary()

    def put(self, value: Any) -> Any:
        box = super().put(value)
        self.boxes[id(box)] = box
        return box

    def __enter__(self) -> Any:
        return Level.__enter__(self)  # whether tangents are computed stays as it is

    def constant(self, t: Tensor) -> Any:
        return t

    def recorded(self, results: Any, args: Any) -> None:
        edge = next((r.value.edge for r in results if self.owns(r) and r.value.edge is not None), None)
        if edge is not None:
            self.along[edge[0]] = [Moving.of(a) for a in args], [Moving.of(r) for r in results]

    def take_in(self, target: Any) -> None:
        """A tensor that is written to with a dual becomes one, and so does what it looks into."""
        if target.level:
            super().take_in(target)
        look, part = target.view_info, None
        if look is not None:
            part = look.part(target.writable_array())
            if not look.base.level:
                self.take_in(look.base)
        value = object.__new__(type(target))
        moved_over(target, value)
        target.__class__ = Carried
        target.edge = target.view_info = target.extra = target._grad = target.own = None
        target.wants_grad, target.version = False, [0]
        target.home, target.level, target.value = self, self.number, value
        if look is not None:
            base = look.base
            look.base, target.version = base.value, base.version
            target.view_info = ViewPath(base, ((TABLE["as_strided"], {"part": part}, None),))
            if base._tangent is not None:
                target._tangent = target.view_info.through(base._tangent)
        self.boxes[id(target)] = target

    def rewritten(self, target: Any, source: Any) -> None:
        """As PyTorch does, write the new tangent over the old one, in the memory of the tensor that was given."""
        look, tangent = target.view_info, source.tangent
        owner = target if look is None else look.base
        if tangent is None and owner._tangent is None:
            return
        if owner._tangent is None:
            owner._tangent = still(owner.value, tangent)
        if (tangent is not None and tangent.level > owner._tangent.level) or repeats(owner._tangent):
            super().rewritten(target, source)  # no room in its memory: another tangent
            return
        whole = look is None or (target.shape == owner.shape and alike(owner.value, target.value))
        mine = owner._tangent if whole else look.through(owner._tangent)
        copy_(mine, zeros(target.value) if tangent is None else tangent)
        target._tangent = mine
        if look is not None:
            look.seen = owner.version[0]

    def __exit__(self, *exc: object) -> None:
        Level.__exit__(self, *exc)
        boxes = list(self.boxes.values())
        again = {id(box.value): box for box in boxes}
        for box in boxes:
            value = box.value
            box.__class__ = type(value)
            if not value.level:
                moved_over(value, box)
                if box.view_info is not None:
                    box.view_info.base = again.get(id(box.view_info.base), box.view_info.base)


def still(value: Any, tangent: Any) -> Any:
    """Zeros for a value, with room for a tangent of one of its parts: inside vmap, where each sample has its own, for each."""
    if tangent.level:
        return shaped(tangent, tuple(value.shape), lambda *size: new_tensor(np.zeros(size, value.payload.dtype)))
    return laid_out_as(value, zeros(value))


def repeats(t: Any) -> bool:
    """Whether several entries lie in one place, so that they cannot be written one by one."""
    return not t.level and 0 in layout_of(t.writable_array()) and t.shape.numel() > 1


def alike(a: Any, b: Any) -> bool:
    """Whether two tensors lie in their memories in the same way. Of a batch no memory is known: then it is taken to be in order."""
    x = a.writable_array() if not a.level else None
    if x is None or b.level:
        return x is None or x.flags.c_contiguous
    y = b.writable_array()
    if not x.size:
        return True
    (memory, start), (other, begin) = memory_and_start(x), memory_and_start(y)
    steps = [(p, q) for n, p, q in zip(x.shape, layout_of(x), layout_of(y)) if n > 1]
    return memory.size == other.size and start == begin and all(p == q for p, q in steps)


def laid_out_as(like: Any, t: Tensor) -> Tensor:
    """A copy of t that lies in memory as `like` does, so that views of one show what the same views of the other show."""
    if like.level or t.level:
        return TABLE["clone"](t)
    x = like.writable_array()
    memory, start = memory_and_start(x)
    return copy_(new_tensor(window(np.zeros(memory.size, x.dtype), x.shape, layout_of(x), start)), t)


def current() -> Forward | None:
    """The open dual level of this thread, if there is one."""
    return next((level for level in reversed(modes.levels) if isinstance(level, Forward)), None)


def enter_dual_level() -> int:
    """Open a dual level; returns its index, 0. Raises RuntimeError if one is open: nested ones are not supported, as in PyTorch.

    >>> level = enter_dual_level()
    >>> unpack_dual(make_dual(tensor(3.0), tensor(1.0)) ** 2).tangent  # 2 * 3
    tensor(6.)
    >>> exit_dual_level()
    """
    if current() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: leave the open dual level first. Derivatives of derivatives are "
            "made by nesting func.jvp."
        )
    Forward().__enter__()
    _set_current_level(0)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level. Tensors keep their values and lose their tangents. Raises RuntimeError if none is open.

    >>> level = enter_dual_level()
    >>> y = make_dual(tensor(3.0), tensor(1.0)) * 2
    >>> exit_dual_level()
    >>> y
    tensor(6.)
    """
    open_level = current()
    if open_level is None and level is None:
        raise RuntimeError("Dual level must be a positive number. None is open: exit_dual_level() closes what enter_dual_level() opened.")
    if open_level is None or level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    before = modes.grad
    open_level.__exit__()
    _set_current_level(-1)
    modes.record(before)  # a no_grad around the exit goes on


class dual_level:
    """A block in which dual tensors exist: `with dual_level(): ...`.

    Raises RuntimeError inside another one.

    >>> with autograd.forward_ad.dual_level():
    ...     x = autograd.forward_ad.make_dual(torch.tensor(3.), torch.tensor(1.))
    ...     autograd.forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with the numbers of `tensor` that moves along `tangent`, of the same shape. level: the open one, 0.

    A tangent of another dtype is kept as it is; operations bring it to that of their results.
    Raises RuntimeError outside of a dual level, and for a tangent of another shape, ValueError for what is not floating point.

    >>> with dual_level():
    ...     x = make_dual(tensor([1.0, 2.0]), tensor([1.0, 0.0]))
    ...     unpack_dual(x * x).tangent  # how x * x moves when the first entry does
    tensor([2., 0.])
    """
    open_level = current()
    check_level("_make_dual", level)
    if open_level is None or level == -1:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor):
            raise TypeError(f"make_dual(): expected a Tensor for the {name}, but got {type(t).__name__}")
        if t.payload.dtype not in INEXACT:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    for what, t in (("Making a dual Tensor based on a Tensor that already", tensor), ("Setting a forward grad that itself", tangent)):
        if isinstance(t, Dual) and open_level.owns(t) and t.tangent is not None:
            raise RuntimeError(
                f"{what} has a forward gradient at the same level 0 is not supported: unpack_dual() it first and use its primal."
            )
    check_tangent(tensor, tangent)
    primal, tangent = open_level.take(tensor), open_level.take(tangent)
    if not modes.forward:  # as in inference mode
        return TABLE["alias"](primal)
    return open_level.input(TABLE["alias"](primal), tangent if alike(primal, tangent) else laid_out_as(primal, tangent))


def check_level(asker: str, level: int | None) -> None:
    """Only one dual level can be open: 0; -1 means none."""
    if level not in (None, 0, -1):
        raise RuntimeError(f"Invalid level given to {asker}: {level}. Dual levels do not nest, so that the open one is 0: leave it out.")


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual gives: `primal`, and `tangent`, which is None for a tensor that does not move.

    >>> with dual_level():
    ...     unpack_dual(torch.ones(1)).tangent is None
    True
    """

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The numbers of a dual tensor and its tangent (None if it has none, or after the dual level has ended).

    >>> with dual_level():
    ...     y = make_dual(tensor(0.0), tensor(1.0)).sin()
    ...     unpack_dual(y)
    UnpackedDualTensor(primal=tensor(0.), tangent=tensor(1.))
    """
    check_level("_fw_primal", level)
    if current() is not None:
        top_transform((tensor,))  # it may look into what has become a dual
    if not isinstance(tensor, Carried):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(TABLE["alias"](tensor.value), tensor.tangent if modes.forward else None)


class Moving(NamedTuple):
    """What a node may have saved of an argument or a result: its numbers, its tangent, and the version of that; None for what is still."""

    payload: Any
    tangent: Any
    version: int

    @classmethod
    def of(cls, t: Any) -> Moving | None:
        if not isinstance(t, Carried) or t.tangent is None:
            return None
        return cls(t.value.payload, t.tangent, t.tangent.version[0])

    def around(self, level: Forward, value: Any) -> Any:
        """A saved value with its tangent."""
        if self.tangent.version[0] != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: the tangent of "
                f"shape {list(self.tangent.shape)} was written over since. Use the out-of-place form inside a dual level."
            )
        return level.input(value if isinstance(value, Tensor) else new_tensor(value), self.tangent)


class Along:
    """Stands in `modes.anomaly` during a pass over duals: runs the nodes, with what they saved moving as it did when they were made."""

    def __init__(self, level: Forward) -> None:
        self.level, self.outer = level, modes.anomaly

    def remember(self, node: Any) -> None:
        if self.outer is not None:
            self.outer.remember(node)

    def vjp(self, node: Any, g: Any, create_graph: bool) -> Any:
        args, results = self.level.along.get(node, ((), ()))
        if isinstance(node, FunctionNode):
            node.call.moving = lambda t: self.known(t, (*args, *results))
            try:
                return node.run(g, create_graph)
            finally:
                node.call.moving = None
        if not args or node.op is None:
            return node.run(g, create_graph)
        return node.vjp(
            g, create_graph, [self.moved(slot, value, args, results) for slot, value in zip(node.plan.slots, node.unpack(create_graph))]
        )

    def inside(self, node: Any) -> Any:
        return lambda g, create_graph: self.vjp(node, g, create_graph)

    def moved(self, slot: Any, value: Any, args: Any, results: Any) -> Any:
        """What was saved in a slot, as a dual if it moved."""
        if isinstance(slot, Values):
            return [v if m is None else m.around(self.level, v) for v, m in zip(value, args)]
        m = args[slot.index] if isinstance(slot, Value) else results[slot.index] if isinstance(slot, Out) else None
        return value if m is None else m.around(self.level, value)

    def known(self, t: Any, moving: Any) -> Any:
        """What a Function saved, as a dual if it is an argument or a result that moved."""
        m = next((m for m in moving if m is not None and t is not None and t.payload is m.payload), None)
        return t if m is None else m.around(self.level, t)


def gradients_of_duals(
    grad: Any, outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool | None, create_graph: bool, options: dict[str, Any]
) -> tuple[Any, ...]:
    """`autograd.grad` of dual tensors: the pass over the values, on duals. Hooks see duals, and results have the tangents of gradients."""
    level: Any = current()
    outs, xs = [level.take(o) for o in outputs], [level.take(x) for x in inputs]
    modes.anomaly, before = Along(level), modes.anomaly
    try:
        found = grad(
            outs, xs, grad_outputs, retain_graph=create_graph if retain_graph is None else retain_graph, create_graph=True, **options
        )
    finally:
        modes.anomaly = before
    return tuple(found) if create_graph else tuple([g if g is None else without_history(level, g) for g in found])


def without_history(level: Forward, g: Tensor) -> Tensor:
    if not isinstance(g, Carried):
        return g.detach()
    return level.input(g.value.detach(), None if g.tangent is None else g.tangent.detach())
