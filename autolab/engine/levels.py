"""8. What happens at `x * y` inside a transform of `autolab.func`: levels, and the boxes that belong to them.

A transform opens a *level* and puts its inputs into *boxes* of that level. A box is a Tensor around a `value` of the
levels below, with what its own level adds: a place on a tape, a tangent, or the knowledge that axis 0 of the value runs
over the samples of a batch. An operation goes to the highest level among its arguments. That level takes its own boxes
off, runs the same operation on the values (the level below sees to those), and puts the results into boxes. Tensors
outside of boxes are of level 0, which knows nothing of all this.

Here stand what all levels share, and reverse mode; `dual` is forward mode, `batched` is vmap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from autolab.engine.apply import apply, record
from autolab.engine.backward import steps
from autolab.engine.inplace import writable_as
from autolab.engine.modes import modes, recording
from autolab.engine.node import edge_of
from autolab.engine.tensor import Tensor, fresh

if TYPE_CHECKING:
    from autolab.engine.op import Op

Settings = dict[str, Any]


def refuse(message: str) -> Callable[..., NoReturn]:
    """A method that says why it cannot be called inside a transform."""

    def refused(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(message)

    return refused


class Box(Tensor):
    """A tensor inside a transform: a value of the levels below, and what its level, `home`, adds to it."""

    __slots__ = ("home", "level", "shared", "value")

    home: Level
    value: Any
    shared: bool  # other tensors may look at the same entries

    @property
    def payload(self) -> Any:
        """The numbers, through all levels. Inside vmap they are not known one by one: then only shape and dtype."""
        self.home.check_active()
        return self.value.payload

    def numbers(self) -> np.ndarray[Any, Any]:
        self.home.check_active()
        return self.value.numbers()  # type: ignore[no-any-return]

    def detach(self) -> Any:
        """Without history and tangent, on every level."""
        return self.value.detach()

    data = property(detach)
    requires_grad = property(lambda self: self.flag or self.edge is not None or self.value.requires_grad)
    backward = refuse(
        "backward() called inside a functorch transform. This is not supported: the transform decides what is "
        "differentiated. Use func.grad or func.vjp inside, or call backward() outside of the function being transformed."
    )
    requires_grad_ = refuse(
        "You are attempting to call Tensor.requires_grad_() inside of a function being transformed by a functorch "
        "transform. This is unsupported: make the tensor an argument of the function, or call it outside."
    )
    register_hook = retain_grad = refuse(
        "hooks and retain_grad() are not supported inside a function being transformed: its tensors have no .grad. "
        "Return what you want to look at (has_aux=True)."
    )
    numpy = __array__ = refuse(
        "Can't call numpy() on a Tensor inside a function being transformed: the derivative would get lost. "
        "Use tensor.detach().numpy() if that is what you want; inside vmap a tensor has no numbers of its own."
    )

    def __repr__(self) -> str:
        inner = repr(self.value) if self.home.active else "its transform has ended"
        return f"{type(self).__name__}(level={self.level}, value={inner})"


class Level:
    """One transform while it runs: opened and closed by `with`."""

    box: type[Box] = Box
    active = False

    def __enter__(self) -> Any:
        self.outside = modes.grad
        modes.levels.append(self)
        self.number, self.active = len(modes.levels), True
        modes.settle()
        return self

    def __exit__(self, *exc: object) -> None:
        self.active = False
        del modes.levels[self.number - 1 :]
        modes.grad = self.outside
        modes.settle()

    def check_active(self) -> None:
        if not self.active:
            raise RuntimeError(
                f"a tensor of level {self.number} was used after the transform that made it had ended. It got out of the "
                "function in another way than by return: through a global, a list or an attribute. Return it "
                "(has_aux=True for extras)."
            )

    def before_random(self) -> None:
        """Called before random numbers are drawn."""

    def put(self, value: Any) -> Any:
        """A box of this level around a value."""
        box = object.__new__(self.box)
        box.edge = box.window = box.extra = box._grad = None
        box.flag, box.version = False, [0]
        box.home, box.level, box.value, box.shared = self, self.number, value, False
        return box

    def lift(self, value: Any) -> Any:
        """A box around a value that is constant for this level."""
        return self.put(value)

    def owns(self, a: Any) -> bool:
        return isinstance(a, Box) and a.home is self

    def take(self, a: Any) -> Any:
        """What is in a box of this level; anything else as it is."""
        return a.value if isinstance(a, Box) and a.home is self else a

    def apply(self, op: Op, args: Any, settings: Settings) -> Any:
        """Run one row whose highest argument is a box of this level."""
        self.check_active()
        results = self.run(op, args, [self.take(a) for a in args], settings)
        if op.view:
            for t in (args[0], *results):
                if isinstance(t, Box):
                    t.shared = True
        return results[0] if op.outputs == 1 else results

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        """The results, in boxes; `values` are the arguments without the boxes of this level."""
        raise NotImplementedError


def several(op: Op, outputs: Any) -> tuple[Any, ...]:
    return (outputs,) if op.outputs == 1 else tuple(outputs)


def zeros(like: Any) -> Tensor:
    return fresh(np.zeros(like.payload.shape, like.payload.dtype)[()])


def rewrite(target: Any, result: Any) -> Any:
    """What writing in place means inside a transform: the box takes over what the operation computed."""
    if result.level > target.level:
        raise RuntimeError(
            "During a transform (vmap, grad, vjp, jvp, ...), the function provided attempted to call an in-place "
            f"operation that would mutate a captured Tensor: a tensor of level {target.level} cannot take a value of level "
            f"{result.level}. Use the out-of-place form, or make the tensor an argument of the function."
        )
    if target.shared:
        raise RuntimeError(
            "inside a transform, an in-place operation on an argument of the function, on a view, or on a tensor that "
            "has views is not supported yet. Use the out-of-place form (`y = y * 2` instead of `y.mul_(2)`; torch.where, "
            "cat or stack for parts)."
        )
    if result.dtype != target.dtype:
        writable_as(np.empty(0, result.payload.dtype), target)
        result = result.astype(target.payload.dtype)
    source = result if target.home.owns(result) else target.home.lift(result)
    for slot in ("value", "edge", *type(target).__slots__):
        setattr(target, slot, getattr(source, slot))
    return target


# -- reverse mode ------------------------------------------------------------------------------------


class Taped(Box):
    """A value with a place on its level's tape: an `edge` as on level 0, to nodes that hold tensors of the levels below."""

    __slots__ = ()


class Tape(Level):
    """Reverse mode: each operation leaves a node, just as on level 0."""

    box = Taped

    def __enter__(self) -> Tape:
        super().__enter__()
        modes.grad = True  # a transform does not depend on a no_grad around it, only on one within
        modes.settle()
        return self

    def input(self, value: Any) -> Taped:
        """A leaf of this tape."""
        box: Taped = self.put(value)
        box.flag = box.shared = True
        box.own_extra()
        return box

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        with self.below():
            outputs = several(op, apply(op, values, settings))
        results = tuple(self.put(out) for out in outputs)
        if modes.grad:
            record(op, args, values, settings, results, self.number)
        return tuple(out if box.edge is None else box for box, out in zip(results, outputs))

    def below(self) -> Any:
        """Whether the levels below record: as outside of the transform, and not within a no_grad."""
        return recording(self.outside and modes.grad)

    def pull(self, outputs: Any, gradients: Any, inputs: Any, retain_graph: bool = False) -> list[Any]:
        """The gradients of the inputs: the one backward pass, over this tape, on tensors of the levels below."""
        roots = [(out, g) for out, g in zip(outputs, gradients) if self.owns(out) and edge_of(out) is not None]
        starts, gs = [out for out, _ in roots], [g for _, g in roots]
        edges: list[Any] = [edge_of(box) for box in inputs]
        found: dict[Any, Any] = {}
        walk = steps(starts, gs, retain_graph=retain_graph, inputs=edges, accumulate=False, captured=found)
        deque(walk, maxlen=0)
        gradients = [found.get(edge) for edge in edges]
        return [zeros(box.value) if g is None else as_tensor(g) for g, box in zip(gradients, inputs)]


def as_tensor(g: Any) -> Tensor:
    return g if isinstance(g, Tensor) else fresh(g)
