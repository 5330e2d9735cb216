"""1. What a tensor is besides its numbers: where it came from, what has been written to it, where its gradient is kept.

`payload` holds the numbers: an ndarray, or a NumPy scalar for a 0-d result (an order of magnitude faster), or, inside a transform
of `autolab.func`, another tensor. Everything named `dim` or `keepdim`, and every method, comes from `autolab.torch_api`.
"""

from __future__ import annotations

import functools
import itertools
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from autolab import dtypes
from autolab.engine.modes import Untracked, modes
from autolab.size import Size

if TYPE_CHECKING:
    from autolab.engine.tensor_methods import TensorMethods  # a stub: what the tables of autolab.torch_api give Tensor
else:
    TensorMethods = object

# Kinds of things that later files of the engine define, for the annotations of earlier ones.
Op: TypeAlias = Any  # a row of the table: op.py
Plan: TypeAlias = Any  # what its nodes save and run: op.py
Node: TypeAlias = Any  # an operation that ran: node.py
Edge: TypeAlias = Any  # a node, or (node, number of its result): node.py
View: TypeAlias = Any  # how a tensor looks into another: inplace.py

# NumPy functions that know a row: filled by op(); looked up when np.exp, np.sum ... meet a Tensor.
NUMPY_FUNCTIONS: dict[Any, Callable[..., Any]] = {np.shape: lambda t: tuple(t.shape), np.ndim: lambda t: t.ndim}
# The table: every row by its name. Filled by op().
TABLE: dict[str, Op] = {}


def no_accumulator() -> None:
    return None


hook_number = itertools.count().__next__


class RemovableHandle:
    """Given back by every `register_..._hook`; `.remove()` takes the hook away again.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: 10 * grad)
    >>> handle.remove()
    >>> (3 * x).backward()
    >>> x.grad
    tensor(3.)
    """

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self.id = hook_number()
        self._hooks = hooks
        hooks[self.id] = hook

    def hooks_dict_ref(self) -> dict[int, Callable[..., Any]]:
        """The hooks that are registered in the same place, by `id`."""
        return self._hooks

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


SAME = object()  # the dtype of the leaf, as the dtype of its gradient


class AutogradMeta:
    """What few tensors have: an accumulator, hooks, a retained gradient."""

    __slots__ = ("accumulator", "grad_dtype", "hooks", "post_hooks", "retains")

    def __init__(self) -> None:
        # Gives the leaf's accumulator, if there is one: a weak reference to it.
        self.accumulator: Callable[[], Node | None] = no_accumulator
        self.hooks: dict[int, Callable[..., Any]] = {}
        self.post_hooks: dict[int, Callable[..., Any]] = {}
        self.retains = False
        self.grad_dtype: Any = SAME


class Tensor(TensorMethods):
    """An array that remembers how it was made. Make one with `autolab.tensor`.

    Slots: `payload` the numbers; `edge` the pair (node, output number) that made it, None for a leaf; `wants_grad` whether a leaf
    requires grad (then it has an `extra`); `version` a one-element list shared by all views, counting writes; `view_info` how it
    looks into a base; `extra` hooks and the like.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = (
        "__dict__", "__weakref__", "_grad", "edge", "extra", "payload", "version", "view_info", "wants_grad",
        "_home", "_level", "_own",  # only in boxes, see autolab.transforms; here, so that a tensor can become one and a tensor again
    )  # fmt: skip

    payload: Any
    edge: Edge | None
    wants_grad: bool
    version: list[int]
    view_info: View | None
    extra: AutogradMeta | None
    _grad: Tensor | None

    __array_priority__ = 1000  # NumPy leaves `array * tensor` to us
    level = 0

    def __new__(cls, data: Any = (), *args: Any, **kwargs: Any) -> Any:
        t = object.__new__(cls)
        if isinstance(data, Tensor):
            t.payload = data.payload
        elif isinstance(data, Size) or (isinstance(data, int) and not isinstance(data, bool)):  # sizes, as in PyTorch
            t.payload = np.empty(data if isinstance(data, Size) else (data, *args), dtypes.default.floating)
        elif isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'. A tensor holds numbers.")
        elif data is None or type(data) in (bool, float, complex):
            found = type(data).__name__
            raise TypeError(f"new(): data must be a sequence (got {found}): Tensor([2.5]) takes numbers, tensor(2.5) a single one")
        else:
            t.payload = np.asarray(data, dtypes.default.floating)
        t.edge = t.view_info = t.extra = t._grad = None
        t.wants_grad = False
        t.version = [0]
        return t

    # -- where it came from ------------------------------------------------------------------

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor; None for a leaf.

        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> x.grad_fn, (x * x).grad_fn.name()
        (None, 'MulBackward0')
        """
        if self.view_info is not None:
            self.view_info.refresh_history(self)
        edge: Any = self.edge
        if edge is None or type(edge) is tuple:
            return edge and edge[0]
        edge.result_like = (self.payload.shape, self.payload.dtype)  # for node._input_metadata
        return edge.in_parts()

    @property
    def is_leaf(self) -> bool:
        """True for tensors that no recorded operation made.

        >>> w = torch.ones(2, requires_grad=True)
        >>> w.is_leaf, (2 * w).is_leaf
        (True, False)
        """
        return self.grad_fn is None

    @property
    def requires_grad(self) -> bool:
        """True if gradients are computed for this tensor; also for what looks into one, though made in no_grad.

        Setting it raises RuntimeError for integers, and for results of recorded operations.

        >>> w = torch.ones(2, requires_grad=True)
        >>> w.requires_grad, (2 * w).requires_grad, torch.ones(2).requires_grad
        (True, True, False)
        """
        return self.wants_grad or self.edge is not None or (self.view_info is not None and self.view_info.base.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        if value:
            must_be_floating(self, "only Tensors of floating point and complex dtype can require gradients")
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool: it cannot be deleted, set it to False")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for (or stop asking for) gradients of this leaf, in place.

        Raises RuntimeError for integers and for results of recorded operations, TypeError for what is not a bool.

        >>> torch.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
        if type(requires_grad) is not bool:
            kind = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
        if self.grad_fn is not None:
            if not requires_grad:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            return self
        if requires_grad and self.is_inference() and not modes.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if requires_grad:
            must_be_floating(self, "only Tensors of floating point dtype can require gradients")
            self.ensure_extra()
        self.wants_grad = bool(requires_grad)
        return self

    # -- its gradient --------------------------------------------------------------------------

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated so far, of the same shape; None before the first backward pass.

        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> (x * x).backward()
        >>> x.grad
        tensor(12.)
        """
        if modes.tracer is not None:
            modes.tracer.gradient_read(self)
        if self._grad is None and self.edge is not None and not (self.extra is not None and self.extra.retains):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                "Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if modes.tracer is not None:
            modes.tracer.gradient_set(self, value)
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.payload.shape != self.payload.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                    "Please ensure that the gradient and the tensor are the same size"
                )
            wanted = self.dtype if self.extra is None or self.extra.grad_dtype is SAME else self.extra.grad_dtype
            if wanted is not None and value.payload.dtype != wanted.numpy:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{dtypes.c_name(value.dtype)}' to a tensor with grad_dtype "
                    f"'{wanted.title}'. The gradient must match the tensor's grad_dtype: convert it with .to({wanted})."
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def ensure_extra(self) -> AutogradMeta:
        """Hooks and the like of this tensor, for the engine; made if it has none.

        >>> torch.ones(2).ensure_extra().retains
        False
        """
        if self.extra is None:
            self.extra = AutogradMeta()
        return self.extra

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(grad) whenever the gradient of this tensor is computed; what it returns replaces the gradient.

        Raises RuntimeError if this tensor does not require grad.

        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: 10 * grad)
        >>> (3 * x).backward()
        >>> x.grad
        tensor(30.)
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.is_leaf:
            return RemovableHandle(self.ensure_extra().hooks, hook)
        node, number = self.edge  # type: ignore[misc]
        return RemovableHandle(node._own_hooks().tensor.setdefault(number, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(leaf) after a gradient has been added to its .grad. Raises RuntimeError for anything but a leaf that requires grad.

        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> (3 * x).backward()
        tensor(3.)
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return RemovableHandle(self.ensure_extra().post_hooks, hook)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in .grad, as leaves do. Raises RuntimeError if it does not require grad.

        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> y = 3 * x
        >>> y.retain_grad()
        >>> (y * y).backward()
        >>> y.grad
        tensor(12.)
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf:
            return
        self.ensure_extra().retains = True
        node, number = self.edge  # type: ignore[misc]
        node._own_hooks().retain[number] = weakref.ref(self)

    # -- its numbers ---------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The lengths of all dims, a `torch.Size`.

        >>> torch.zeros(2, 3).shape
        torch.Size([2, 3])
        """
        return Size(self.payload.shape)

    @property
    def ndim(self) -> int:
        """The number of dims; 0 for a single number.

        >>> torch.zeros(2, 3).ndim, torch.tensor(1.0).ndim
        (2, 0)
        """
        return self.payload.ndim  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The type of the entries, a `torch.dtype`.

        >>> torch.tensor([1, 2]).dtype, torch.tensor([1., 2.]).dtype
        (torch.int64, torch.float32)
        """
        return dtypes.of(self.payload.dtype)

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.version[0]

    def is_inference(self) -> bool:
        """True for a tensor made in inference mode: it counts no writes, and cannot be saved for backward.

        >>> with torch.inference_mode():
        ...     x = torch.ones(2)
        >>> x.is_inference()
        True
        """
        return type(self.version) is Untracked

    def writable_array(self) -> Any:
        """The payload as an array that can be written to and looked into; a 0-d scalar becomes a 0-d array, once.

        >>> torch.tensor(1.0).sum().writable_array().shape
        ()
        """
        if isinstance(self.payload, np.generic):
            self.payload = np.array(self.payload)
        return self.payload

    def numbers(self) -> np.ndarray[Any, Any]:
        """The numbers, for computing what has no derivative. Inside vmap one sample has none, and this raises.

        >>> torch.tensor([1., 2.]).numbers()
        array([1., 2.], dtype=float32)
        """
        if modes.tracer is not None:
            modes.tracer.looked(self)
        return np.asarray(self.payload)

    def all_numbers(self, low: Any = None, high: Any = None) -> np.ndarray[Any, Any]:
        """The numbers, for checking values: inside vmap those of all samples. low, high: all is well if they are in [low, high).

        >>> torch.tensor([1., 2.]).all_numbers()
        array([1., 2.], dtype=float32)
        """
        if modes.tracer is not None:
            modes.tracer.looked(self, low, high)
        return np.asarray(self.payload)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        function = NUMPY_FUNCTIONS.get(ufunc)
        if function is not None and method == "__call__" and not kwargs:
            try:
                return function(*args)
            except (TypeError, AttributeError):
                pass  # not a call of the row: NumPy says what is wrong with it
        if any(isinstance(a, Tensor) for a in kwargs.get("out", ())):
            raise TypeError("return arrays must be of ArrayType: out= is a Tensor. Copy the result into it: out.copy_(result).")
        call = getattr(ufunc, method)
        result = without_a_row(ufunc, lambda: call(*map(as_array, args), **{name: as_array(v) for name, v in kwargs.items()}))
        wrap = self.__array_wrap__
        return tuple(map(wrap, result)) if isinstance(result, tuple) else result if result is None else wrap(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        ours = NUMPY_FUNCTIONS.get(function)
        if ours is not None:
            try:
                return ours(*args, **kwargs)
            except (TypeError, AttributeError):
                pass  # as above
        return without_a_row(function, lambda: function._implementation(*args, **kwargs))


def as_array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Tensor) else value


def without_a_row(function: Any, call: Callable[[], Any]) -> Any:
    """What NumPy itself makes of a call: it asks tensors for their arrays, and those that require grad refuse."""
    try:
        return call()
    except RuntimeError as error:
        if str(error).startswith("Can't call numpy()"):
            error.add_note(f"numpy.{function.__name__} has no differentiation rule for these arguments.")
        raise


def must_be_floating(t: Tensor, opening: str) -> None:
    """Raise, with these opening words, for a tensor that can have no gradient."""
    if t.payload.dtype not in dtypes.INEXACT:
        advice = "Make it floating point first: tensor(..., dtype=torch.float32) or t.float()."
        raise RuntimeError(f"{opening}; this one is {t.dtype}. {advice}")


blank: Callable[[], Tensor] = functools.partial(object.__new__, Tensor)


def new_tensor(payload: Any) -> Tensor:
    """A new tensor around raw numbers: no history, no gradient wanted."""
    t = blank()
    t.payload = payload
    t.edge = t.view_info = t.extra = t._grad = None
    t.wants_grad = False
    t.version = [0]
    return t
