"""Reverse mode as functions: vjp, grad, grad_and_value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.autograd import function_in_grad  # noqa: F401 - what grad does with a custom Function
from autolab.autograd.pytree import flatten, unflatten
from autolab.dtypes import COMPLEX, INEXACT
from autolab.engine.modes import modes
from autolab.engine.node import edge_of
from autolab.engine.tensor import Tensor
from autolab.func.arguments import Argnums, differentiable, leave, on_top, only_tensors, selected, split_aux, zeros_like
from autolab.transforms.level import fixed
from autolab.transforms.taped import Tape

HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks: what a transform saves stays with it. Leave the hooks, "
    "or use autograd.grad."
)


class Reverse(Tape):
    """The tape of a transform that somebody called: no hooks on saved tensors around it or in it."""

    transform = True

    def __enter__(self) -> Tape:
        if modes.saved_hooks:
            raise RuntimeError(HOOKS)
        self.reason, modes.hooks_disabled = modes.hooks_disabled, HOOKS
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        modes.hooks_disabled = self.reason


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The output of func, and a function that multiplies a cotangent by its Jacobian: v -> v @ J, for each input.

    primals: Tensors, or nested containers of them. func: takes the primals, returns Tensors in nested containers (with has_aux: a
    tuple of that, and other Tensors). Returns (output, vjp_fn), or (output, vjp_fn, aux). vjp_fn takes cotangents in the form of the
    output, and returns a tuple with one gradient for each primal, in its form. It may be called many times.
    Raises RuntimeError for outputs or cotangents that do not fit, ValueError for primals that are no Tensors.

    >>> out, back = func.vjp(torch.sin, torch.tensor(0.))
    >>> back(torch.tensor(2.))
    (tensor(2.),)
    """
    name = "vjp(f, *primals)"
    leaves, form = flatten(primals)
    with Reverse() as tape:
        boxes = [tape.input(differentiable(x)) for x in leaves]
        out, aux = split_aux(name, func(*unflatten(boxes, form)), has_aux)
        outs, out_form = flatten(out)
        only_tensors(name, outs)
        settle(outs)
    values = [tape.take(o) for o in outs]
    for o in values:
        if o.payload.dtype not in INEXACT:
            raise RuntimeError(f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {o.dtype}")

    def back(cotangents: Any, retain_graph: bool = True, create_graph: bool = True) -> Any:
        given, given_form = flatten(cotangents)
        if given_form != out_form:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given_form}, primal output: {out_form}"
            )
        check_cotangents(given, values)
        return unflatten(tape.pull(outs, given, boxes, retain_graph), form)

    result = unflatten(values, out_form)
    return (result, back, leave(tape, aux)) if has_aux else (result, back)


def settle(outs: list[Any]) -> None:
    """Let views among the outputs find out what was written to their base, while the level still runs."""
    for o in outs:
        if isinstance(o, Tensor):
            edge_of(o)


def check_cotangents(given: list[Any], values: list[Tensor]) -> None:
    """Each cotangent is a tensor of its output's shape."""
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

    func: returns a scalar Tensor (with has_aux: that, and other Tensors). argnums: the argument(s) to differentiate, Tensors or nested
    containers of them; a tuple of positions gives a tuple of gradients. Other arguments may be anything.

    >>> grad_and_value(lambda x: (x * x).sum())(tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        wanted, replaced = selected(argnums, args)
        leaves, form = flatten(wanted)
        with Reverse() as tape:
            boxes: list[Any] = [tape.input(differentiable(x)) for x in leaves]
            out, aux = split_aux(name, func(*replaced(unflatten(boxes, form), on_top), **on_top(kwargs)), has_aux)
            if not isinstance(out, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(out)}")
            if out.ndim:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {out.ndim} dims. Maybe you wanted to use the "
                    f"vjp or jacrev APIs instead? Its shape is {list(out.shape)}: reduce it (.sum())."
                )
            if out.payload.dtype in COMPLEX:
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {out.dtype}. Take .real or .abs()."
                )
            settle([out])
        value = tape.take(out)
        one = np.ones((), value.payload.dtype)[()]
        if value.level and value.home.batches:  # one for each sample: nothing on the way is then shared by all
            start = value.home.put(fixed(value.home.ensure_batched(one)))
        else:
            start = fixed(one)
        found = unflatten(tape.pull([out], [start], boxes), form)
        return (found, (value, leave(tape, aux))) if has_aux else (found, value)

    return gradient


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of func, which returns a scalar Tensor (with has_aux: that, and other Tensors).

    argnums: the argument(s) to differentiate, Tensors or nested containers of them; a tuple of positions gives a tuple of gradients.
    Result: the gradient, in the argument's form and shapes, or (gradient, aux). It does not touch `.grad`, and does not care whether
    the argument requires grad.
    Raises RuntimeError if func does not return a scalar, ValueError for an argument that is no Tensor.

    >>> func.grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    >>> func.grad(lambda p: p["w"] * p["b"])({"w": torch.tensor(2.), "b": torch.tensor(3.)})
    {'w': tensor(3.), 'b': tensor(2.)}
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of func, and the linear function that approximates it there: tangents -> J @ tangents.

    primals: Tensors, or nested containers of them; jvp_fn takes as many tangents, in the same form. func runs once: reverse mode gives
    v -> v @ J, which is linear in v, and reverse mode of that gives its transpose. Use it for many tangents at one point; for a single
    one `jvp` is cheaper.
    Returns (output, jvp_fn). Raises RuntimeError for tangents whose form, shape or dtype differs from the primals', TypeError
    for one that is not a Tensor.

    >>> out, push = func.linearize(torch.sin, torch.tensor(0.))
    >>> push(torch.tensor(2.))
    tensor(2.)
    """
    output, back = vjp(func, *primals)
    outs, out_form = flatten(output)
    with Reverse() as tape:
        boxes = [tape.input(zeros_like(o)) for o in outs]
        pulled, _ = flatten(back(unflatten(boxes, out_form)))
    leaves, form = flatten(primals)

    def push(*tangents: Any) -> Any:
        given, given_form = flatten(tangents)
        if given_form != form:
            raise RuntimeError(f"Expected the tangents {given_form} to have the same argspec as the primals {form}")
        for i, (t, x) in enumerate(zip(given, leaves)):
            if not isinstance(t, Tensor):
                raise TypeError(f"jvp_fn: tangent {i} must be a Tensor, got {type(t).__name__}")
            for what, a, b in (("shape", t.shape, x.shape), ("dtype", t.dtype, x.dtype)):
                if a != b:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {a} in flattened pytree doesn't match the {what} {b} of the corresponding primal."
                    )
        return unflatten(tape.pull(pulled, given, boxes, True), out_form)

    return output, push
