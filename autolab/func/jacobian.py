"""Whole Jacobians: a product with each basis vector, all at once by vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, fresh
from autolab.func.arguments import Argnums, as_returned, chosen, outputs_of, replace
from autolab.func.forward import jvp
from autolab.func.mapped import vmap
from autolab.func.reverse import vjp
from autolab.surface.shape import reshape


def basis(x: Tensor) -> Tensor:
    """All tensors like x that are 1 in one entry and 0 elsewhere: (x.numel(), *x.shape)."""
    n = x.shape.numel()
    return fresh(np.eye(n, dtype=x.payload.dtype).reshape(n, *x.shape))


def picking(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], positions: tuple[int, ...]) -> Callable[..., Any]:
    """func as a function of some of its arguments."""
    return lambda *some: func(*replace(args, positions, list(some)), **kwargs)


def jacrev(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the Jacobian of func, row by row, in reverse mode: cheap for few outputs.

    Result: shape output.shape + input.shape; a tuple for each tuple of outputs, and within it for each tuple of argnums. With
    has_aux: (Jacobian, aux).

    >>> func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        positions = chosen(argnums, args)
        xs = [args[i] for i in positions]
        out, back, *aux = vjp(picking(func, args, kwargs, positions), *xs, has_aux=has_aux)
        outs = outputs_of("jacrev(f)(*args)", out)
        rows = []
        for k, one in enumerate(outs):
            rest = [fresh(np.zeros(o.shape, o.payload.dtype)[()]) for o in outs]
            gs = vmap(lambda e, k=k, rest=rest: back((*rest[:k], e, *rest[k + 1 :])))(basis(one))
            blocks = [reshape(g, (*one.shape, *x.shape)) for g, x in zip(gs, xs)]
            rows.append(blocks[0] if isinstance(argnums, int) else tuple(blocks))
        result = as_returned(out, rows)
        return (result, aux[0]) if has_aux else result

    return jacobian


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """A function that computes the Jacobian of func, column by column, in forward mode: cheap for few inputs.

    Result: shape output.shape + input.shape; a tuple for each tuple of outputs, and within it for each tuple of argnums. With
    has_aux: (Jacobian, aux).

    >>> func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        columns = []
        seen: list[Any] = []
        for i in chosen(argnums, args):
            f = picking(func, args, kwargs, (i,))

            def column(e: Tensor, f: Callable[..., Any] = f, x: Any = args[i]) -> Any:
                out, tangent, *aux = jvp(f, (x,), (e,), has_aux=has_aux)
                seen[:] = [out, aux]
                return tangent

            if not isinstance(args[i], Tensor):
                jvp(f, (args[i],), (args[i],))  # says what is wrong with it
            made = vmap(column, out_dims=-1, randomness=randomness)(basis(args[i]))
            moved = made if isinstance(made, tuple) else (made,)
            columns.append([reshape(t, (*t.shape[:-1], *args[i].shape)) for t in moved])
        out, aux = seen
        rows = [blocks[0] if isinstance(argnums, int) else tuple(blocks) for blocks in zip(*columns)]
        result = as_returned(out, rows)
        return (result, aux[0]) if has_aux else result

    return jacobian


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that computes the second derivatives of func, forward over reverse: jacfwd(jacrev(func)).

    Result: shape output.shape + input.shape + input.shape.

    >>> func.hessian(lambda x: (x**3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
