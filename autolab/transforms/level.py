"""What happens at `x * y` inside a transform of `autolab.func`: levels, and the boxes that belong to them.

A transform opens a *level* and puts its inputs into *boxes* of that level. A box is a Tensor around a `value` of the
levels below, with what its own level adds: a place on a tape, a tangent, or the knowledge that axis 0 of the value runs
over the samples of a batch. An operation goes to the highest level among its arguments. That level takes its own boxes
off, runs the same operation on the values (the level below sees to those), and puts the results into boxes. Tensors
outside of boxes are of level 0, which knows none of this.

This file holds what all levels share; `taped` is reverse mode, `dual` is forward mode, `batched` is vmap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from autolab.engine.apply import row_for
from autolab.engine.inplace import check_may_write, overwrite, writable_as
from autolab.engine.modes import modes, recording
from autolab.engine.tensor import TABLE, Tensor, new_tensor

if TYPE_CHECKING:
    from autolab.engine.op import Op

Settings = dict[str, Any]
Step = tuple[Any, dict[str, Any], int | None]  # a row that makes a view, its settings, which of its results


def refuse(message: str) -> Callable[..., NoReturn]:
    """A method that says why it cannot be called inside a transform."""

    def refused(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(message)

    return refused


class TransformTensor(Tensor):
    """A tensor inside a transform: a value of the levels below, and what its level, `home`, adds to it."""

    __slots__ = ()

    home: Any = Tensor._home  # type: ignore[attr-defined]
    level: Any = Tensor._level  # type: ignore[attr-defined]
    value: Any = Tensor.payload  # where a tensor has its numbers
    own: Any = Tensor._own  # type: ignore[attr-defined]  # what else a kind of level keeps in its boxes

    @property
    def payload(self) -> Any:
        """The numbers, through all levels. Inside vmap they are not known one by one: then only shape and dtype."""
        if not self.home.active:
            self.home.check_active()
        return self.value.payload

    def numbers(self) -> np.ndarray[Any, Any]:
        self.home.check_active()
        return self.value.numbers()  # type: ignore[no-any-return]

    def all_numbers(self, low: Any = None, high: Any = None) -> np.ndarray[Any, Any]:
        self.home.check_active()
        return self.value.all_numbers(low, high)  # type: ignore[no-any-return]

    def detach(self) -> Any:
        """The same entries without history and tangent, on every level."""
        box = self.home.put(self.value.detach())
        box.version = self.version
        return box

    def replace(self, new: Any) -> None:
        raise RuntimeError(
            "mutating directly with `.data` inside functorch transform is not allowed. Write into the tensor instead: x.copy_(new)."
        )

    data = property(detach, replace)
    requires_grad = property(lambda self: self.wants_grad or self.edge is not None or self.value.requires_grad)

    def varies(self) -> bool:
        """Whether a derivative may depend on this value."""
        return bool(self.requires_grad)

    def numpy(self, *, force: bool = False) -> Any:
        """The numbers of a constant. Raises RuntimeError for what is differentiated, and inside vmap."""
        if modes.grad and not force and self.varies():
            raise RuntimeError(
                "Can't call numpy() on a Tensor inside a function being transformed: the derivative would get lost. Use "
                "tensor.detach().numpy() if that is what you want; inside vmap a tensor has no numbers of its own."
            )
        return self.numbers() if isinstance(self.payload, np.ndarray | np.generic) else self.payload.item()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    backward = refuse(
        "backward() called inside a functorch transform. This is not supported: the transform decides what is "
        "differentiated. Use func.grad or func.vjp inside, or call backward() outside of the function being transformed."
    )
    requires_grad_ = refuse(
        "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function being "
        "transformed by a functorch transform. This is unsupported: make the tensor an argument of the function, or call it outside."
    )

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad) when the transform computes the gradient of this tensor; what it returns replaces the gradient."""
        if self.edge is None and not self.wants_grad:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient: the transform that this tensor belongs to does not "
                "differentiate it backward."
            )
        return super().register_hook(hook)

    retain_grad = refuse(
        "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. This is "
        "unsupported: its tensors have no .grad. Return what you want to look at (has_aux=True)."
    )
    __deepcopy__ = refuse("a tensor inside a function being transformed cannot be copied by deepcopy; use clone()")

    printed = "GradTrackingTensor(lvl={level}, value="

    def __repr__(self) -> str:
        """As PyTorch prints it: the boxes from the outside in, each a bit further to the right."""
        if not self.home.active:
            return f"{self.printed.format(level=self.level)}its transform has ended)"
        inner = repr(self.value).replace("\n", "\n    ")
        return f"{self.printed.format(level=self.level)}\n    {inner}\n)"


class ViewPath:
    """How a box looks into another, its base: the rows that lead from the base to it, and the write it has caught up with.

    Inside transforms a view is known by how it was made; where its entries lie in memory is known on level 0 only.
    """

    __slots__ = ("base", "path", "seen")
    made = ""

    def __init__(self, base: Any, path: tuple[Step, ...]) -> None:
        self.base, self.path = base, path
        self.seen = base.version[0]

    @classmethod
    def of(cls, source: Any, step: Step) -> ViewPath:
        """A view of a view looks into the same base."""
        window = source.view_info
        return cls(source, (step,)) if window is None else cls(window.base, (*window.path, step))

    def through(self, x: Any) -> Any:
        """The part of `x` (a tensor or an array shaped like the base) that this view looks at."""
        for op, settings, output in self.path:
            x = op(x, **settings)
            if output is not None:
                x = x[output]
        return x

    def refresh_history(self, box: Any) -> None:
        """If the base was written to since, look again."""
        if self.seen != self.base.version[0]:
            self.seen = self.base.version[0]
            box.home.refresh_box(box, self)


class Level:
    """One transform while it runs: opened and closed by `with`."""

    box: type[TransformTensor] = TransformTensor
    active = False
    transform = False  # whether somebody called it by name, from autolab.func
    watched = False  # `modes.watched`, which takes longer to read
    batches = False  # whether it is a vmap
    records = False  # whether recording is on when it opens: it does not depend on a no_grad around it then, only on one within

    def __enter__(self) -> Any:
        state = modes.__dict__  # to ask a thread-local for it takes as long as for any attribute
        levels, self.outside = state["levels"], state["grad"]
        levels.append(self)
        self.number, self.active = len(levels), True
        if self.records:
            state["grad"] = True
        if self.number == 1:
            modes.settle()
        else:  # they are settled for transforms
            self.watched = levels[-2].watched
        return self

    def __exit__(self, *exc: object) -> None:
        self.active, state = False, modes.__dict__
        del state["levels"][self.number - 1 :]
        state["grad"] = self.outside
        if self.number == 1:
            modes.settle()

    escaped = ""  # how PyTorch begins to say that a tensor outlived its transform

    def check_active(self) -> None:
        if not self.active:
            raise RuntimeError(
                f"{self.escaped}a tensor of level {self.number} was used after the transform that made it had ended. It got out of the "
                "function in another way than by return: through a global, a list or an attribute. Return it "
                "(has_aux=True for extras)."
            )

    def before_random(self) -> None:
        """Called before random numbers are drawn."""

    def put(self, value: Any) -> Any:
        """A box of this level around a value."""
        box: Any = object.__new__(self.box)
        box.edge = box.view_info = box.extra = box._grad = box.own = None
        box.wants_grad, box.version = False, [0]
        box.home, box.level, box.value = self, self.number, value
        return box

    def lift(self, value: Any) -> Any:
        """A box around a value that is constant for this level."""
        return self.put(value)

    def constant(self, t: Tensor) -> Any:
        """What becomes of a tensor that is made while this level runs."""
        return self.put(t)

    def size_below(self, size: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the value of a box of this shape."""
        return size

    def cannot_be_written_into(self, target: Any) -> str:
        """Why a tensor of a lower level cannot take a value of this one."""
        return (
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation that would "
            f"mutate a captured Tensor: a tensor of level {target.level} cannot take a value of level {self.number}. This is not "
            "supported; please rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs, or use "
            "the out-of-place form."
        )

    def take_in(self, target: Any) -> None:
        """Make a tensor of a lower level one that takes values of this one. Raises RuntimeError where that cannot be."""
        raise RuntimeError(self.cannot_be_written_into(target))

    def owns(self, a: Any) -> bool:
        return isinstance(a, TransformTensor) and a.home is self

    def take(self, a: Any) -> Any:
        """What is in a box of this level; anything else as it is."""
        return a.value if isinstance(a, TransformTensor) and a.home is self else a

    def apply(self, op: Op, args: Any, settings: Settings) -> Any:
        """Run one row whose highest argument is a box of this level."""
        if not self.active:
            self.check_active()
        if op.complex_row is not None:
            op = row_for(op, args)
        results = self.run(op, args, [self.take(a) for a in args], settings)
        if op.view:
            for k, t in enumerate(results):
                self.record_view(t, args[0], (op, settings, None if op.outputs == 1 else k))
        return results[0] if op.outputs == 1 else results

    def record_view(self, box: Any, source: Any, step: Step) -> None:
        """Remember that `box` shows entries of `source`, and count writes to them together."""
        box.view_info, box.version = ViewPath.of(source, step), source.version

    def refresh_box(self, box: Any, look: ViewPath) -> None:
        """What this level knows about a box whose base was written to follows from the base."""

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        """The results, in boxes; `values` are the arguments without the boxes of this level."""
        raise NotImplementedError

    def below(self) -> Any:
        """Whether the levels below record: as they do now, unless a level has a say in it."""
        return recording(modes.grad)

    @staticmethod
    def rewrite(target: Any, result: Any) -> Any:
        """Write `result` into the box `target`: on the levels below, down to the array, and then in what its level knows."""
        if result.level > target.level:
            result.home.take_in(target)
        level = target.home
        level.check_active()
        if result.dtype != target.dtype:
            writable_as(np.empty(0, result.payload.dtype), target)
            result = result.astype(target.payload.dtype)
        level.write(target, result if level.owns(result) else level.lift(result))
        return target

    def write(self, target: Any, source: Any) -> None:
        """Write the value of one box into that of another, on the levels below; the target takes the source's history."""
        with self.below():
            self.before_write(target, source)
            write_below(target.value, source.value)
        target.version[0] += 1
        self.rewritten(target, source)

    def before_write(self, target: Any, source: Any) -> None:
        """Raise for what may not be written to."""

    def rewritten(self, target: Any, source: Any) -> None:
        """What this level knows about the new value, for the target and for what it looks into."""

    def lowered(self) -> Any:
        """Within it this level and those above are out of sight: what runs there belongs to the levels below."""
        return Lowered(self)


class Lowered:
    """The context of `Level.lowered`: this level and those above are taken off the stack, and put back at its end."""

    __slots__ = ("hidden", "start")

    def __init__(self, level: Level) -> None:
        self.start = level.number - 1

    def __enter__(self) -> None:
        self.hidden = modes.levels[self.start :]
        del modes.levels[self.start :]
        modes.settle()

    def __exit__(self, *exc: object) -> None:
        modes.levels[self.start :] = self.hidden
        modes.settle()


def outputs_of(op: Op, outputs: Any) -> tuple[Any, ...]:
    return (outputs,) if op.outputs == 1 else tuple(outputs)


def fixed(array: Any) -> Tensor:
    """A tensor of numbers that do not depend on any others."""
    t = new_tensor(array)
    if modes.tracer is not None:
        modes.tracer.constants.add(modes.tracer.number(t))
    return t


def zeros(like: Any) -> Tensor:
    return fixed(np.zeros(like.payload.shape, like.payload.dtype)[()])


def room_for(x: Tensor, other: Tensor) -> Any:
    """A copy of x that can take what `other` is: in boxes of all levels that other is in."""
    homes = []
    while isinstance(other, TransformTensor):
        homes.append(other.home)
        other = other.value
    for home in reversed(homes):
        x = home.lift(x) if home.number > x.level else x
    return TABLE["clone"](x)


def become_view(box: Any, out: Any) -> Any:
    """Let a box become `out`, a view of it: what `squeeze_` and other in-place views do to a tensor."""
    before = object.__new__(type(box))
    for cls in type(box).__mro__:
        for name in set(getattr(cls, "__slots__", ())) - {"__dict__", "__weakref__"}:
            slot = cls.__dict__[name]
            for taker, giver in ((before, box), (box, out)):
                try:
                    slot.__set__(taker, slot.__get__(giver))
                except AttributeError:  # a slot of ordinary tensors, which boxes leave empty
                    pass
    if out.view_info is not None and out.view_info.base is box:
        box.view_info = ViewPath(before, out.view_info.path)
    source = getattr(box, "view_source", None)  # inside vmap a view knows its source this way
    if source is not None and source[1] is box:
        box.view_source = (source[0], before, source[2])
    return box


def write_below(target: Any, source: Any) -> None:
    if source.level > target.level:
        source.home.take_in(target)
    if target.level:
        target.home.rewrite(target, source)
        return
    check_may_write(target, target.requires_grad or source.requires_grad)
    if type(target.payload) is np.ndarray and not target.payload.flags.writeable:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
            "clone() the tensor before performing the operation."
        )
    overwrite(target, source)
