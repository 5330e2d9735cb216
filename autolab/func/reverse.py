"""Reverse mode as functions: vjp, grad, grad_and_value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.levels import Tape
from autolab.engine.tensor import Tensor, fresh
from autolab.func.arguments import Argnums, as_returned, chosen, differentiable, leave, outputs_of, replace, split_aux


def vjp(func: Callable[..., Any], *primals: Tensor, has_aux: bool = False) -> Any:
    """The output of func, and a function that multiplies a cotangent by its Jacobian: v -> v @ J, for each input.

    func: takes the primals, returns a Tensor or a tuple of Tensors (with has_aux: that, and anything).
    Returns (output, vjp_fn), or (output, vjp_fn, aux). vjp_fn takes one cotangent, of the output's shape (a tuple of them for a
    tuple), and returns a tuple with one Tensor for each primal, of its shape. It may be called many times.
    Raises RuntimeError for outputs or cotangents that do not fit, ValueError for primals that are no Tensors.

    >>> out, back = func.vjp(torch.sin, torch.tensor(0.))
    >>> back(torch.tensor(2.))
    (tensor(2.),)
    """
    name = "vjp(f, *primals)"
    with Tape() as tape:
        boxes = [tape.input(differentiable("vjp", i, x)) for i, x in enumerate(primals)]
        out, aux = split_aux(name, func(*boxes), has_aux)
        outs = outputs_of(name, out)
    values = [tape.take(o) for o in outs]

    def back(cotangents: Any, retain_graph: bool = True) -> tuple[Tensor, ...]:
        given = (cotangents,) if isinstance(cotangents, Tensor) else tuple(cotangents)
        check_cotangents(given, values)
        return tuple(tape.pull(list(outs), list(given), boxes, retain_graph))

    result = as_returned(out, values)
    return (result, back, leave(tape, aux)) if has_aux else (result, back)


def check_cotangents(given: tuple[Any, ...], values: list[Tensor]) -> None:
    """One cotangent for each output, of its shape."""
    if len(given) != len(values):
        raise RuntimeError(f"vjp_fn: expected one cotangent for each of the {len(values)} outputs, got {len(given)}")
    for i, (g, out) in enumerate(zip(given, values)):
        if not isinstance(g, Tensor):
            raise TypeError(f"vjp_fn: cotangent {i} must be a Tensor, got {type(g).__name__}")
        if g.shape != out.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {out.shape}. "
                "The cotangent weighs each entry of the output, so it must have the output's shape."
            )


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of func, and its value: (gradient, value), or (gradient, (value, aux)).

    func: returns a scalar Tensor (with has_aux: that, and anything). argnums: the argument(s) to differentiate; a tuple of them
    gives a tuple of gradients. Other arguments may be anything.
    """
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        positions = chosen(argnums, args)
        with Tape() as tape:
            boxes: list[Any] = [tape.input(differentiable("grad", i, args[i])) for i in positions]
            out, aux = split_aux(name, func(*replace(args, positions, boxes), **kwargs), has_aux)
            if not isinstance(out, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(out)}")
            if out.ndim:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {out.ndim} dims. "
                    f"Its shape is {list(out.shape)}: reduce it (.sum()). Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
        value = tape.take(out)
        one = fresh(np.ones((), value.payload.dtype)[()])
        gs = tape.pull([out], [one], boxes)
        found = gs[0] if isinstance(argnums, int) else tuple(gs)
        return (found, (value, leave(tape, aux))) if has_aux else (found, value)

    return gradient


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of func, which returns a scalar Tensor (with has_aux: that, and anything).

    argnums: the argument(s) to differentiate; a tuple of them gives a tuple of gradients. Result: the gradient, of the argument's
    shape, or (gradient, aux). It does not touch `.grad`, and does not care whether the argument requires grad.
    Raises RuntimeError if func does not return a scalar, ValueError for an argument that is no Tensor.

    >>> func.grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    >>> func.grad(func.grad(lambda x: x**3))(torch.tensor(2.))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient
