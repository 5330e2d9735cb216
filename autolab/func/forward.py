"""Forward mode as a function: jvp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.engine.dual import Push
from autolab.engine.tensor import Tensor
from autolab.func.arguments import as_returned, differentiable, leave, outputs_of, split_aux


def jvp(
    func: Callable[..., Any], primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The output of func, and how it changes when the inputs move along the tangents: J @ v, in one pass forward.

    primals, tangents: tuples of as many Tensors, pairwise of one shape. func: takes the primals, returns a Tensor or a tuple of
    Tensors (with has_aux: that, and anything). strict: an output that does not depend on the inputs is an error, not zeros.
    Returns (output, tangent), or (output, tangent, aux). Raises RuntimeError for tuples or shapes that do not fit.

    >>> func.jvp(torch.sin, (torch.tensor(0.),), (torch.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if not isinstance(tangents, tuple) or len(primals) != len(tangents):
        found = len(tangents) if isinstance(tangents, tuple) else type(tangents).__name__
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got {len(primals)} primals and tangents: {found}."
        )
    if not primals:
        raise RuntimeError(f"{name}: Expected at least one Tensor in primals")
    with Push() as push:
        boxes = [push.input(x, moving(i, x, t)) for i, (x, t) in enumerate(zip(primals, tangents))]
        out, aux = split_aux(name, func(*boxes), has_aux)
        outs = outputs_of(name, out)
    if strict and not all(push.owns(o) for o in outs):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    lifted = [o if push.owns(o) else push.lift(o) for o in outs]
    result = as_returned(out, [o.value for o in lifted]), as_returned(out, [o.tangent for o in lifted])
    return (*result, leave(push, aux)) if has_aux else result


def moving(i: int, x: Any, t: Any) -> Tensor:
    """The tangent of a primal: a Tensor of its shape, and brought to its dtype."""
    x, t = differentiable("jvp", i, x), differentiable("jvp", i, t)
    if x.shape != t.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(x.shape)} while the given forward gradient is of size {list(t.shape)}."
        )
    return t if t.dtype == x.dtype else t.astype(x.payload.dtype)  # type: ignore[attr-defined,no-any-return]
