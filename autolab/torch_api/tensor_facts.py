"""Facts that all tensors share, and attributes that PyTorch's tensors have beside the engine's."""

from __future__ import annotations

import warnings
from typing import Any

from autolab import dtypes
from autolab.engine.tensor import SAME, Tensor, new_tensor
from autolab.torch_api.settings import strided


def volatile(self: Tensor) -> bool:
    """False: a flag of PyTorch's first versions, with a warning that it is gone.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.ones(2).volatile
    False
    """
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def _backward_hooks(self: Tensor) -> Any:
    """The hooks on this tensor by their numbers; None if there are none."""
    if "_backward_hooks" in vars(self):
        return vars(self)["_backward_hooks"]
    if self.is_leaf:
        return (self.extra and self.extra.hooks) or None
    node, number = self.edge  # type: ignore[misc]
    return (node.hooks and node.hooks.tensor.get(number)) or None


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of each hook on a tensor that is about to be pickled: it stays behind."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
                stacklevel=3,
            )


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    vars(self)["_backward_hooks"] = hooks
    if self.is_leaf:  # a result's hooks are its node's, which does not look here
        self.ensure_extra().hooks = {} if hooks is None else hooks


def _grad_dtype(self: Tensor) -> Any:
    """The dtype in which gradients of this leaf are accumulated: its own unless set; None takes any as it comes.

    >>> torch.ones(2).grad_dtype
    torch.float32
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return self.dtype if self.extra is None or self.extra.grad_dtype is SAME else self.extra.grad_dtype


def _set_grad_dtype(self: Tensor, dtype: Any) -> None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
    if dtype is not None and self._grad is not None and self._grad.dtype is not dtype:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtype.title}' because there is already a gradient with dtype "
            f"'{dtypes.c_name(self._grad.dtype)}'. Please clear the gradient (.grad = None) before changing grad_dtype."
        )
    self.ensure_extra().grad_dtype = dtype


def _set_grad_fn(self: Tensor, node: Any) -> None:
    if node is not None:
        raise RuntimeError("_grad_fn can be only set to None")
    self.detach_()


def data(self: Tensor) -> Tensor:
    """The same numbers without history: writes through it are not noticed (no version is counted).

    >>> w = torch.tensor([1., 2.], requires_grad=True)
    >>> w.data[0] = 5
    >>> w
    tensor([5., 2.], requires_grad=True)
    """
    t = new_tensor(self.writable_array())
    t.wants_grad = False
    return t


def _set_data(self: Tensor, new: Tensor) -> None:
    if not isinstance(new, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    if self.wants_grad and new.payload.dtype not in dtypes.INEXACT:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    self.payload = new.writable_array()


def _delete_data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


def _cannot_delete(name: str) -> Any:
    def delete(self: Tensor) -> None:
        raise RuntimeError(f"cannot delete {name}")

    return delete


FACTS = {
    "is_cpu": True, "is_mps": False, "is_xpu": False, "is_xla": False, "is_meta": False, "is_quantized": False, "is_nested": False,
    "is_mkldnn": False, "is_sparse_csr": False, "is_ipu": False, "is_maia": False, "is_mtia": False, "is_vulkan": False,
    "data": property(data, _set_data, _delete_data),
    "output_nr": property(
        lambda self: 0 if self.edge is None else self.edge[1],
        doc="""Which result of its node this is; 0 for a leaf.

>>> first, second = torch.ones(4, requires_grad=True).split(2)
>>> first.output_nr, second.output_nr
(0, 1)
""",
    ),
    "retains_grad": property(
        lambda self: self.edge is not None and self.extra is not None and self.extra.retains,
        doc="""Whether `.grad` of this result is kept, which `retain_grad` asks for.

>>> y = 2 * torch.ones(2, requires_grad=True)
>>> y.retain_grad()
>>> y.retains_grad
True
""",
    ),
    "_base": property(
        lambda self: None if self.view_info is None else self.view_info.base, doc="The tensor whose memory this view looks into, or None."
    ),
    "layout": property(
        lambda self: strided, doc="How entries are stored: `torch.strided`, always.\n\n>>> torch.ones(2).layout\ntorch.strided\n"
    ),
    "name": None, "volatile": property(volatile),
    "grad_dtype": property(_grad_dtype, _set_grad_dtype),
    "_grad_fn": property(lambda self: self.grad_fn, _set_grad_fn, _cannot_delete("_grad_fn"), "`grad_fn`; None detaches it."),
    "_backward_hooks": property(_backward_hooks, _set_backward_hooks, _cannot_delete("_backward_hooks")),
}  # fmt: skip
