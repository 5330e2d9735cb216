"""6. Writing in place: versions that all views share, and a new history.

An in-place operation is the ordinary operation, written into the buffer. Then the version is counted, and the tensor gets the
node of the ordinary operation. If the tensor looks into a base, the base gets the node of `put(base, new)`; the base's other views
find out when they are next used, and look again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.engine import dtypes
from autolab.engine.modes import modes, recording
from autolab.engine.tensor import TABLE, Tensor

if TYPE_CHECKING:
    from autolab.engine.op import Op


class View:
    """How a tensor looks into its base: the row(s) that lead from the base to it, and the write it has caught up with."""

    __slots__ = ("base", "path", "seen")

    def __init__(self, base: Tensor, path: tuple[tuple[Op, dict[str, Any], int | None], ...]) -> None:
        self.base = base
        self.path = path
        self.seen = base.version[0]

    @classmethod
    def of(cls, source: Tensor, op: Op, settings: dict[str, Any], output: int | None = None) -> View:
        """The view that `op` makes of `source`; a view of a view looks into the same base."""
        step = ((op, settings, output),)
        if source.window is None:
            return cls(source, step)
        return cls(source.window.base, source.window.path + step)

    def through(self, x: Any) -> Any:
        """The part of `x` (a Tensor or an array shaped like the base) that this view looks at."""
        for op, settings, output in self.path:
            x = op(x, **settings)
            if output is not None:
                x = x[output]
        return x

    def catch_up(self, t: Tensor) -> None:
        """If the base got a new history since, look again: the view's history follows from the base's."""
        base = self.base
        if self.seen == base.version[0]:
            return
        self.seen = base.version[0]
        if base.edge is not None:
            with recording(True):
                t.edge = self.through(base).edge


def in_place(op: Op, target: Tensor, args: tuple[Any, ...], settings: dict[str, Any]) -> Tensor:
    """Run `op` on (target, *args), write the result into `target`, and give `target` its history.

    Raises RuntimeError for a leaf that requires grad, a view of one, several outputs, a result of another shape or category.
    """
    check_may_write(target)
    result = op(target, *args, **settings)
    return overwrite(target, result)


def overwrite(target: Tensor, result: Tensor) -> Tensor:
    """Write `result` into `target`'s memory and pass its history on: to `target`, and to the base it looks into."""
    old, new = target.payload, result.payload
    if new.shape != old.shape:
        raise RuntimeError(
            f"output with shape {list(old.shape)} doesn't match the broadcast shape {list(new.shape)}. "
            "Writing in place cannot change a shape: use the out-of-place form."
        )
    if target.level or result.level:
        from autolab.engine.levels import rewrite

        return rewrite(target, result)  # type: ignore[no-any-return]
    if new.dtype != old.dtype:
        new = writable_as(new, target)
    if result.edge is not None:
        keep_what_was(result.edge[0], target)
    if type(old) is np.ndarray:
        old[...] = new
    else:
        target.payload = new[()]
    target.version[0] += 1
    changed = (target,) if target.window is None else (target, target.window.base)
    retaining = [t for t in changed if t.retains_grad]
    for t in retaining:  # the gradient to keep is that of the new value
        t.edge[0].hooks.retain.pop(t.edge[1], None)  # type: ignore[index,union-attr]
    rebase(target, result)
    for t in retaining:
        t.retain_grad()
    return target


def rebase(target: Tensor, result: Tensor) -> None:
    """The new history of what was written to, and of the base that it looks into."""
    view = target.window
    if result.edge is not None:
        adopt_saved_result(result, target)
    if view is None:
        if modes.grad:
            target.edge = result.edge
        return
    base = view.base
    if modes.grad and (result.edge is not None or base.edge is not None):
        base.edge = TABLE["put"](base, result, view=view).edge
        target.edge = view.through(base).edge if result.edge is None else result.edge
    view.seen = base.version[0]


def writable_as(new: Any, target: Tensor) -> Any:
    """Cast to the target's dtype, refusing to lose a category (a float into an integer, anything but bool into bool)."""
    source = dtypes.of(new.dtype)
    if dtypes.category(new.dtype) > dtypes.category(target.payload.dtype):
        raise RuntimeError(f"result type {source.title} can't be cast to the desired output type {target.dtype.title}")
    return new.astype(target.payload.dtype)


def check_may_write(target: Tensor) -> None:
    """Leaves that require grad, and views of them, may not be written to while operations are recorded."""
    if not modes.grad:
        return
    if target.window is not None and target.window.base.flag:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if target.flag and target.edge is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. "
            "Write inside `with torch.no_grad():`, or to a clone()."
        )


def keep_what_was(node: Any, target: Tensor) -> None:
    """If the node saved numbers that are about to be overwritten by its own result, let it keep a copy of them."""
    saved = getattr(node, "saved", None) or ()
    for k, version in enumerate(saved):
        if version is target.version and isinstance(saved[k - 1], np.ndarray | np.generic):
            node.saved = (*node.saved[: k - 1], saved[k - 1].copy(), [0], 0, *node.saved[k + 2 :])


def adopt_saved_result(result: Tensor, target: Tensor) -> None:
    """If the node saved its own result, that result is now the target: later writes to the target must be noticed."""
    assert result.edge is not None
    node: Any = result.edge[0]
    saved = getattr(node, "saved", None)
    if saved:
        places = [k + 1 for k, value in enumerate(saved) if value is result.version]
        node.saved = tuple(
            target.version if value is result.version else target.version[0] if k in places else value
            for k, value in enumerate(saved)
        )
