"""Derivatives of a function at a point: jacobian and hessian, and their products with a vector.

All are built from `grad`. A product with the Jacobian from the right (`jvp`, `hvp`) takes the gradient of a gradient with respect to
the weights that it is linear in: the double-backward trick. `autolab.func` has the same with transforms that nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.autograd.api import grad
from autolab.autograd.grad_mode import enable_grad
from autolab.engine.tensor import Tensor
from autolab.torch_api import creation, shape

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
INDEPENDENT = "The {0} of the user-provided function is independent of {1} {2}. This is not allowed in strict mode"
TOO_SIMPLE = {
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
    "manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice differentiable and "
    "that the jacobian depends on the inputs (this would be violated by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {i} is independent of the input. This is not allowed in "
    "strict mode. You should ensure that your function is thrice differentiable and that the hessian depends on the inputs.",
}


# -- what goes in and comes out ----------------------------------------------------------------------------


def as_tuple(given: Any, what: str, where: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether it was a tuple, and it as a tuple. Raises TypeError for anything but tensors."""
    several = isinstance(given, tuple)
    found = given if several else (given,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but the {which} has type {type(t)}."
            )
    return several, found


def ready(inputs: tuple[Tensor, ...], keep_history: bool) -> tuple[Tensor, ...]:
    """The inputs as tensors to differentiate by: with their history if the result is to have one, else leaves of their own."""
    return tuple(shape.view_as(t, t) if keep_history and t.requires_grad else t.detach().requires_grad_() for t in inputs)


def given_back(found: Any, keep_history: bool) -> Any:
    if isinstance(found, tuple):
        return tuple(given_back(one, keep_history) for one in found)
    return found if keep_history else found.detach()


def one_or_all(several: bool, found: tuple[Any, ...]) -> Any:
    return found if several else found[0]


def weights(v: Any, of: tuple[Tensor, ...], several: bool, where: str, otherwise: str) -> tuple[Tensor, ...]:
    """The vector of a product, checked against the tensor that it multiplies; 1 if there is nothing to choose."""
    if v is None:
        if len(of) != 1 or of[0].shape.numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {otherwise} with a single element.")
        return (creation.ones_like(of[0]),)
    found = as_tuple(v, "v", where)[1]
    if len(found) != len(of):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(of)} but got {len(found)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(found, of)):
        if one.shape != other.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {one.shape}.")
    return found


def must_depend(found: tuple[Any, ...], what: str, strict: bool) -> None:
    """In strict mode: refuse what does not depend on the inputs, whose derivative would be zero without a word."""
    for i, t in enumerate(found if strict else ()):
        if t is None:
            raise RuntimeError(f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.")
        if not t.requires_grad:
            raise RuntimeError(TOO_SIMPLE[what].format(i=i))


def pull(outputs: Any, inputs: Any, given: Any = None, create_graph: bool = False) -> tuple[Any, ...]:
    """`grad`, for outputs of which some do not require grad; None for what does not depend."""
    given = given or (None,) * len(outputs)
    pairs = [(out, g) for out, g in zip(outputs, given) if out is not None and out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, gs = zip(*pairs)
    return grad(roots, inputs, gs, allow_unused=True, create_graph=create_graph, retain_graph=True)


def filled(found: Any, like: Any, strict: bool, create_graph: bool, message: str, what: str) -> tuple[Tensor, ...]:
    """Zeros for what does not depend; in strict mode a refusal."""
    for i, g in enumerate(found if strict else ()):
        if g is None:
            raise RuntimeError(message.format(i=i))
        if create_graph and not g.requires_grad:
            raise RuntimeError(f"{INDEPENDENT.format(what, 'input', i)} when create_graph=True.")
    return tuple(creation.zeros_like(t) if g is None else g for g, t in zip(found, like))


def scalar_of(func: Function, inputs: tuple[Tensor, ...], where: str) -> tuple[Tensor]:
    """The one number that a Hessian needs."""
    several, outputs = as_tuple(func(*inputs), "outputs of the user-provided function", where)
    if several:
        raise RuntimeError(f"The function given to {where} should return a single Tensor")
    if outputs[0].shape.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {where} should contain a single element")
    return outputs  # type: ignore[return-value]


# -- products ------------------------------------------------------------------------------------------------


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), and the product of the vector v with the Jacobian: one backward pass.

    v has the shapes of the outputs (None: 1 for a single number). Returns (outputs, product); the product has the shapes of the
    inputs. create_graph: both can be differentiated. strict: RuntimeError where an output does not depend on an input.

    >>> vjp(lambda x: x * x, tensor([1.0, 3.0]), tensor([1.0, 10.0]))
    (tensor([1., 9.]), tensor([ 2., 60.]))
    """
    with enable_grad():
        several, inputs = as_tuple(inputs, "inputs", "vjp")
        inputs = ready(inputs, create_graph)
        several_outputs, outputs = as_tuple(func(*inputs), "outputs of the user-provided function", "vjp")
        must_depend(outputs, "outputs", strict)
        v = weights(v, outputs, several_outputs, "vjp", "the user-provided function returns a single Tensor")
        found = pull(outputs, inputs, v, create_graph)
        independent = "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
        product = filled(found, inputs, strict, create_graph, independent, "jacobian")
        outputs, product = given_back(outputs, create_graph), given_back(product, create_graph)
    return one_or_all(several_outputs, outputs), one_or_all(several, product)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), and the product of the Jacobian with the vector v: how the outputs move when the inputs move along v.

    v has the shapes of the inputs. Returns (outputs, product), of the same shapes. Two backward passes: `func.jvp` needs none.

    >>> jvp(lambda x: x * x, tensor([1.0, 3.0]), tensor([1.0, 10.0]))
    (tensor([1., 9.]), tensor([ 2., 60.]))
    """
    with enable_grad():
        several, inputs = as_tuple(inputs, "inputs", "jvp")
        inputs = ready(inputs, create_graph)
        v = weights(v, inputs, several, "jvp", "the input to the user-provided function is a single Tensor")
        several_outputs, outputs = as_tuple(func(*inputs), "outputs of the user-provided function", "jvp")
        must_depend(outputs, "outputs", strict)
        along = tuple(creation.zeros_like(out).requires_grad_() for out in outputs)
        pulled = pull(outputs, inputs, along, create_graph=True)
        must_depend(pulled, "grad_inputs", strict)
        found = pull(pulled, along, v, create_graph)
        independent = (
            "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double backward trick "
            "to compute forward mode gradients. This is not allowed in strict mode."
        )
        product = filled(found, outputs, strict, create_graph, independent, "jacobian")
        outputs, product = given_back(outputs, create_graph), given_back(product, create_graph)
    return one_or_all(several_outputs, outputs), one_or_all(several_outputs, product)


def slope_of(func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool, name: str) -> tuple[Any, ...]:
    """What a product with a Hessian starts from: whether there are several inputs, these, v, func(*inputs), and its gradient."""
    several, inputs = as_tuple(inputs, "inputs", name)
    inputs = ready(inputs, create_graph)
    v = weights(v, inputs, several, name, "the input to the user-provided function is a single Tensor")
    outputs = scalar_of(func, inputs, name)
    must_depend(outputs, "outputs", strict)
    slope = pull(outputs, inputs, create_graph=True)
    must_depend(slope, "jacobian", strict)
    return several, inputs, v, outputs, slope


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), one number, and the product of the vector v with its Hessian. v has the shapes of the inputs.

    >>> vhp(lambda x: (x**3).sum(), tensor([1.0, 2.0]), tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        several, inputs, v, outputs, slope = slope_of(func, inputs, v, create_graph, strict, "vhp")
        found = pull(slope, inputs, v, create_graph)
        independent = f"{INDEPENDENT.format('jacobian', 'input', '{i}')}."
        product = filled(found, inputs, strict, create_graph, independent, "hessian")
        outputs, product = given_back(outputs, create_graph), given_back(product, create_graph)
    return outputs[0], one_or_all(several, product)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), one number, and the product of its Hessian with the vector v. As the Hessian is symmetric, `vhp` gives the same.

    >>> hvp(lambda x: (x**3).sum(), tensor([1.0, 2.0]), tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        several, inputs, v, outputs, slope = slope_of(func, inputs, v, create_graph, strict, "hvp")
        along = tuple(creation.zeros_like(t).requires_grad_() for t in inputs)
        pulled = pull(slope, inputs, along, create_graph=True)
        must_depend(pulled, "hessian", strict)
        found = pull(pulled, along, v, create_graph)
        independent = (
            "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed in strict "
            "mode as it prevents from using the double backward trick to replace forward mode AD."
        )
        product = filled(found, inputs, strict, create_graph, independent, "hessian")
        outputs, product = given_back(outputs, create_graph), given_back(product, create_graph)
    return outputs[0], one_or_all(several, product)


# -- whole matrices ------------------------------------------------------------------------------------------


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode"
) -> Any:
    """All derivatives of all entries of func(*inputs) by all entries of the inputs.

    Shapes: output (...o), input (...i): a Tensor (...o, ...i); for tuples of outputs, inputs or both, tuples of them in that order.
    vectorize: all rows at once by vmap. strategy: "reverse-mode" computes row by row, "forward-mode" column by column.

    >>> jacobian(lambda x: x * x, tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", but got {strategy}')
    if strict and (vectorize or strategy == "forward-mode"):
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for `vectorize=True`."
        )
    several, inputs = as_tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return by_columns(func, inputs, several, create_graph)
    with enable_grad():
        inputs = ready(inputs, create_graph)
        several_outputs, outputs = as_tuple(func(*inputs), "outputs of the user-provided function", "jacobian")
        must_depend(outputs, "outputs", strict)
        rows = at_once if vectorize else one_by_one
        found = tuple(
            tuple(block.reshape(tuple(out.shape) + tuple(x.shape)) for block, x in zip(rows(i, out, inputs, create_graph, strict), inputs))
            for i, out in enumerate(outputs)
        )
        found = given_back(found, create_graph)
    return one_or_all(several_outputs, tuple(one_or_all(several, row) for row in found))


def one_by_one(i: int, out: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    """The rows for one output: a backward pass for each of its entries. Shapes: for each input (out.numel(), *input.shape)."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    flat = out.reshape(-1)
    independent = f"Output {i} of the user-provided function is independent of input {{i}}. This is not allowed in strict mode."
    for k in range(out.shape.numel()):
        found = pull((flat[k],), inputs, create_graph=create_graph)
        for column, g in zip(columns, filled(found, inputs, strict, create_graph, independent, "jacobian")):
            column.append(g)
    empty = [creation.zeros((0, *x.shape), dtype=x.dtype) for x in inputs]
    return tuple(shape.stack(column) if column else none for column, none in zip(columns, empty))


def at_once(i: int, out: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    """As `one_by_one`, but all entries together, as one batch."""
    n = out.shape.numel()
    none = (None,) * len(inputs)
    found: Any = none
    if out.requires_grad and n:
        basis = creation.eye(n, dtype=out.dtype).reshape((n, *out.shape))
        found = grad((out,), inputs, (basis,), allow_unused=True, create_graph=create_graph, retain_graph=True, is_grads_batched=True)
    return tuple(creation.zeros((n, *x.shape), dtype=x.dtype) if g is None else g for g, x in zip(found, inputs))


def _construct_standard_basis_for(tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]) -> tuple[Tensor, ...]:
    """The unit vectors of all entries of the tensors together, a row each, cut to the tensors. Shapes: (entries of all, entries of one)."""
    whole = creation.eye(sum(tensor_numels))
    return tuple(part.to(t.dtype) for t, part in zip(tensors, shape.split(whole, list(tensor_numels), 1)))


def by_columns(func: Function, inputs: tuple[Tensor, ...], several: bool, create_graph: bool) -> Any:
    """The Jacobian by products with unit vectors, one for each entry of the inputs, in forward mode."""
    from autolab.autograd import forward_ad  # heavy, and most programs never use it

    counts = tuple(x.shape.numel() for x in inputs)
    columns: list[Any] = []
    for rows in zip(*_construct_standard_basis_for(inputs, counts)):
        v = tuple(row.reshape(tuple(x.shape)) for row, x in zip(rows, inputs))
        with enable_grad(), forward_ad.dual_level():
            duals = tuple(forward_ad.make_dual(x, t) for x, t in zip(ready(inputs, create_graph), v))
            several_outputs, outputs = as_tuple(func(*duals), "outputs of the user-provided function", "jacobian")
            tangents = [forward_ad.unpack_dual(out).tangent for out in outputs]
            columns.append([creation.zeros_like(out) if t is None else t for out, t in zip(outputs, tangents)])
        columns[-1] = given_back(tuple(columns[-1]), create_graph)
    found = []
    for blocks in zip(*columns):
        parts = shape.split(shape.stack(blocks, -1), list(counts), -1)
        found.append(one_or_all(several, tuple(p.reshape((*p.shape[:-1], *x.shape)) for p, x in zip(parts, inputs))))
    return one_or_all(several_outputs, tuple(found))


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of the one number func(*inputs).

    Shapes: input (...i): a Tensor (...i, ...i); for a tuple of inputs a tuple of tuples of them. The options are those of `jacobian`.

    >>> hessian(lambda x: (x**3).sum(), tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, inputs = as_tuple(inputs, "inputs", "hessian")

    def number(*x: Tensor) -> Tensor:
        out = scalar_of(func, x, "hessian")
        must_depend(out, "outputs", strict)
        return out[0].reshape(())

    def slope(*x: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            x = tuple(t if t.requires_grad else t.requires_grad_() for t in x)
        found = jacobian(number, x, create_graph=True)
        must_depend(found, "jacobian", strict)
        return found

    found = jacobian(slope, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if several else found[0][0]
