"""Forward mode as a function: jvp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.autograd import function_in_jvp  # noqa: F401 - what jvp does with a custom Function
from autolab.autograd.pytree import flatten, unflatten
from autolab.engine.tensor import Tensor
from autolab.func.arguments import differentiable, leave, only_tensors, split_aux, zeros_like
from autolab.transforms.dual import ForwardMode


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The output of func, and how it changes when the inputs move along the tangents: J @ v, in one pass forward.

    primals, tangents: tuples of one form, of Tensors or nested containers of them, pairwise of one shape. func: takes the primals,
    returns Tensors in nested containers (with has_aux: a tuple of that, and other Tensors). strict: an output that does not depend on the
    inputs is an error, not zeros.
    Returns (output, tangent), or (output, tangent, aux). Raises RuntimeError for tuples or shapes that do not fit.

    >>> func.jvp(torch.sin, (torch.tensor(0.),), (torch.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    xs, form = flatten(primals)
    ts, tangents_form = flatten(tangents)
    if form != tangents_form:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got primals with structure {form} and tangents with structure {tangents_form}"
        )
    for what, leaves in (("primals", xs), ("tangents", ts)):
        if not leaves:
            raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor.")
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"{name}: Expected {what} to only contain Tensors, got {type(x)}")
    with ForwardMode() as push:
        boxes = [push.input(x, direction(x, t)) for x, t in zip(xs, ts)]
        out, aux = split_aux(name, func(*unflatten(boxes, form)), has_aux)
        outs, out_form = flatten(out)
        only_tensors(name, outs)
        moved = [o.tangent if push.owns(o) else None for o in outs]
    if strict and any(t is None for t in moved):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    values = [push.take(o) for o in outs]
    result = (unflatten(values, out_form), unflatten([zeros_like(o) if t is None else t for o, t in zip(values, moved)], out_form))
    return (*result, leave(push, aux)) if has_aux else result


def direction(x: Tensor, t: Tensor) -> Tensor:
    """The tangent of a primal: a Tensor of its shape, and brought to its dtype."""
    differentiable(x)
    differentiable(t)
    if x.shape != t.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(x.shape)} while the given forward gradient is of size {list(t.shape)}."
        )
    return t if t.dtype == x.dtype else t.astype(x.payload.dtype)
