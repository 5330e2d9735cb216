"""Whole Jacobians: a product with each basis vector, all at once by vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.autograd.pytree import flatten, unflatten
from autolab.dtypes import COMPLEX
from autolab.engine.tensor import Tensor
from autolab.func.arguments import Argnums, on_top, only_tensors, selected, zeros_like
from autolab.func.forward import jvp
from autolab.func.mapped import vmap
from autolab.func.reverse import vjp
from autolab.torch_api.shape import reshape, stack
from autolab.transforms.level import fixed


def basis(x: Tensor) -> Tensor:
    """All tensors like x that are 1 in one entry and 0 elsewhere: (x.numel(), *x.shape)."""
    n = x.shape.numel()
    return fixed(np.eye(n, dtype=x.payload.dtype).reshape(n, *x.shape))


def only_real(name: str, what: str, leaves: Any) -> None:
    """Raise for complex tensors: of one the Jacobian would have to say four real numbers."""
    for i, t in enumerate(leaves):
        if isinstance(t, Tensor) and t.payload.dtype in COMPLEX:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}. Take the Jacobian of the "
                "function of pairs: view_as_real and view_as_complex."
            )


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that computes the Jacobian of func, row by row, in reverse mode: cheap for few outputs.

    Result: in place of each output Tensor, in the form of the outputs, the form of the argument (of a tuple of arguments for a tuple of
    argnums) with Tensors of shape output.shape + input.shape. With has_aux: (Jacobian, aux).
    chunk_size: how many rows at a time (default all); smaller needs less memory. Raises ValueError for one below 1.

    >>> func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_chunk("jacrev", chunk_size)

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        wanted, replaced = selected(argnums, args)
        xs, form = flatten(wanted)
        only_real("jacrev", "inputs", xs)
        out, back, *aux = vjp(lambda new: func(*replaced(new, on_top), **on_top(kwargs)), wanted, has_aux=has_aux)
        outs, out_form = flatten(out)
        only_tensors("jacrev(f, ...)(*args)", outs)
        only_real("jacrev", "outputs", outs)
        rows = []
        for k, one in enumerate(outs):
            rest = [zeros_like(o) for o in outs]

            def row(e: Tensor, k: int = k, rest: list[Any] = rest) -> Any:
                return flatten(back(unflatten([*rest[:k], e, *rest[k + 1 :]], out_form)))[0]

            if chunk_size == 1:  # without vmap, and so without what it asks of a backward
                gs = [stack(parts) for parts in zip(*[row(e) for e in basis(one)])] if one.shape.numel() else row(zeros_like(one))
            else:
                gs = vmap(row, chunk_size=chunk_size)(basis(one))
            rows.append(unflatten([reshape(g, (*one.shape, *x.shape)) for g, x in zip(gs, xs)], form))
        result = unflatten(rows, out_form)
        return (result, aux[0]) if has_aux else result

    return jacobian


def check_chunk(name: str, chunk_size: Any) -> None:
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"{name}: `chunk_size` should be greater than 0.")


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """A function that computes the Jacobian of func, column by column, in forward mode: cheap for few inputs.

    Result: in place of each output Tensor, in the form of the outputs, the form of the argument (of a tuple of arguments for a tuple of
    argnums) with Tensors of shape output.shape + input.shape. With has_aux: (Jacobian, aux). randomness: as for vmap.

    >>> func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        wanted, replaced = selected(argnums, args)
        xs, form = flatten(wanted)
        only_real("jacfwd", "inputs", xs)
        columns: list[Any] = []
        seen: list[Any] = []
        for k, x in enumerate(xs):

            def column(e: Tensor, k: int = k) -> Any:
                tangents = [e if i == k else zeros_like(x) for i, x in enumerate(xs)]
                out, moved, *aux = jvp(
                    lambda new: func(*replaced(new, on_top), **on_top(kwargs)), (wanted,), (unflatten(tangents, form),), has_aux=has_aux
                )
                only_real("jacfwd", "outputs", flatten(out)[0])
                seen[:] = [flatten(out)[1], aux]
                return flatten(moved)[0]

            if not isinstance(x, Tensor):
                jvp(func, (x,), (x,))  # says what is wrong with it
            made = vmap(column, out_dims=-1, randomness=randomness)(basis(x))
            columns.append([reshape(t, (*t.shape[:-1], *x.shape)) for t in made])
        out_form, aux = seen
        result = unflatten([unflatten(blocks, form) for blocks in zip(*columns)], out_form)
        return (result, aux[0]) if has_aux else result

    return jacobian


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that computes the second derivatives of func, forward over reverse: jacfwd(jacrev(func)).

    Result: shape output.shape + input.shape + input.shape, in nested containers as jacrev gives them.

    >>> func.hessian(lambda x: (x**3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
