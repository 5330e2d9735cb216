"""Forward mode on ordinary tensors: dual numbers that live inside a `dual_level`.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(primal, tangent)
        y = f(x)
        forward_ad.unpack_dual(y).tangent

It is the level behind `func.jvp`, opened by hand. Reverse mode goes on below it: `autograd.grad(y, x)` of duals is a dual, whose
tangent is a product with the second derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from autolab.engine.dtypes import FLOATING
from autolab.engine.dual import Dual, Push
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


_current_level = -1  # what PyTorch's users look at: -1 outside of a dual level, 0 inside


def _set_current_level(level: int) -> None:
    global _current_level
    _current_level = level


class Carried(Dual):
    """A dual number of a `dual_level`: what concerns reverse mode is asked of its value."""

    __slots__ = ()

    is_leaf = property(lambda self: self.value.is_leaf)
    grad = property(lambda self: self.value.grad)

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Run reverse mode from the value: `.grad` of leaves gets gradients without tangents."""
        self.value.backward(*args, **kwargs)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self.value.requires_grad_(requires_grad)
        return self

    def register_hook(self, hook: Any) -> Any:
        return self.value.register_hook(hook)

    def retain_grad(self) -> None:
        self.value.retain_grad()


class Forward(Push):
    """The level of a `dual_level`."""

    box = Carried

    def constant(self, t: Tensor) -> Any:
        return t


def current() -> Forward | None:
    """The open dual level of this thread, if there is one."""
    return next((level for level in reversed(modes.levels) if isinstance(level, Forward)), None)


def enter_dual_level() -> int:
    """Open a dual level; returns its index, 0. Raises RuntimeError if one is open: nested ones are not supported, as in PyTorch."""
    if current() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: leave the open dual level first. Derivatives of derivatives are "
            "made by nesting func.jvp."
        )
    Forward().__enter__()
    _set_current_level(0)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level. Tensors keep their values and lose their tangents. Raises RuntimeError if none is open."""
    open_level = current()
    if open_level is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    before = modes.grad
    open_level.__exit__()
    _set_current_level(-1)
    modes.grad = before  # a no_grad around the exit goes on
    modes.settle()


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
    """A tensor with the numbers of `tensor` that moves along `tangent`, of the same shape and dtype.

    Raises RuntimeError outside of a dual level, and for a tangent of another shape, ValueError for what is no floating point.
    """
    open_level = current()
    if open_level is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor):
            raise TypeError(f"make_dual(): expected a Tensor for the {name}, but got {type(t).__name__}")
        if t.payload.dtype not in FLOATING:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if isinstance(tensor, Dual) and open_level.owns(tensor) and tensor.tangent is not None:
        raise RuntimeError(
            "Trying to set a forward gradient on a tensor that already has one: unpack_dual() it first and use its primal."
        )
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if tangent.dtype != tensor.dtype:
        raise RuntimeError(
            f"Expected the tangent to have the dtype of the primal, {tensor.dtype}, but got {tangent.dtype}. Convert it: "
            f".to({tensor.dtype})."
        )
    return open_level.input(open_level.take(tensor), open_level.take(tangent))


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual gives: `primal`, and `tangent`, which is None for a tensor that does not move."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The numbers of a dual tensor and its tangent (None if it has none, or after the dual level has ended)."""
    if not isinstance(tensor, Carried):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(tensor.value, tensor.tangent if tensor.home.active else None)


def gradients(grad: Any, outputs: Any, inputs: Any, grad_outputs: Any, create_graph: bool, options: dict[str, Any]) -> tuple[Any, ...]:
    """`autograd.grad` of dual tensors, by `grad` of ordinary ones: d/dx of the value, and as its tangent d/dx of the tangent."""
    level: Any = current()
    outs, xs = [level.take(o) for o in outputs], [level.take(x) for x in inputs]
    given = [None] * len(outs) if grad_outputs is None else list(grad_outputs)
    values = grad(outs, xs, [level.take(g) for g in given], retain_graph=True, create_graph=create_graph, **options)
    parts = []
    for o, g in zip(outputs, given):
        moving = [(o.tangent, level.take(g))] if level.owns(o) and o.tangent is not None else []
        moving += [(level.take(o), g.tangent)] if level.owns(g) and g.tangent is not None else []
        for out, weight in moving:
            if out.requires_grad:
                parts.append(grad(out, xs, weight, retain_graph=True, create_graph=create_graph, allow_unused=True))
    results = []
    for k, value in enumerate(values):
        terms = [part[k] for part in parts if part[k] is not None]
        results.append(value if value is None or not terms else level.input(value, sum(terms[1:], terms[0])))
    return tuple(results)
