"""autocast: each operation in the dtype that suits it, and the casts recorded like any other operation.

While it is on, the engine hands each operation's arguments to `Casting.cast` first. Off, it costs nothing: `modes.autocast` is one of
the things that send operations the general way.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.amp.policies import table
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor
from autolab.torch_api.pointwise import to

__all__ = [
    "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_enabled",
]  # fmt: skip

DEFAULT = {"cpu": dtypes.bfloat16, "cuda": dtypes.float16}
SUPPORTED = (dtypes.bfloat16, dtypes.float16)
FLOAT32, FLOAT64 = dtypes.float32.numpy, dtypes.float64.numpy


class Casting:
    """What is in force within an autocast block: a table of policies, the 16-bit dtype, and the casts of parameters made so far."""

    def __init__(self, device_type: str, dtype: Any, cache: dict[Any, Any] | None, outer: Casting | None) -> None:
        self.device_type, self.dtype, self.outer = device_type, dtype, outer
        self.policies = policies_of(device_type)
        self.cache = cache  # None: each use of a parameter is cast anew

    def cast(self, name: str, args: Any) -> Any:
        """The arguments of an operation, in the dtype that its policy says."""
        policy = self.policies.get(name)
        if policy is None:
            return args
        if policy == "refused":
            raise RuntimeError(
                "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. Use "
                "binary_cross_entropy_with_logits or nn.BCEWithLogitsLoss, which take the scores before the sigmoid and are safe."
            )
        wanted = FLOAT32 if policy == "float32" else self.dtype.numpy
        if policy == "widest" and FLOAT32 in [raw_dtype(a) for a in args]:
            wanted = FLOAT32
        return tuple([self.cast_one(a, wanted) if is_eligible(a) and raw_dtype(a) != wanted else a for a in args])

    def cast_one(self, t: Any, wanted: Any) -> Any:
        """One tensor in another dtype. A float32 parameter is cast once, however often it is used."""
        if not isinstance(t, Tensor):  # a constant of a composite function
            return t.astype(wanted)
        dtype = dtypes.of(wanted)
        # Not without recording: what is cast there would have no history when it is used later.
        if self.cache is None or not modes.grad or not (t.wants_grad and t.edge is None and t.view_info is None) or wanted == FLOAT32:
            return to(t, dtype)
        key = id(t), wanted
        found = self.cache.get(key)
        if found is None or found[1] != t.version[0]:
            found = self.cache[key] = (t, t.version[0], to(t, dtype))
        return found[2]

    def whole(self, name: str, function: Callable[..., Any], args: Any, **settings: Any) -> Any:
        """A function of several rows, cast as one: what it is made of runs as it is."""
        args = self.cast(name, args)
        modes.autocast = None
        modes.settle()
        try:
            return function(*args, **settings)
        finally:
            modes.autocast = self
            modes.settle()

    def evens_out(self, name: str, tensors: Iterable[Any]) -> bool:
        """Whether these tensors, of several dtypes, have one dtype after the casts."""
        return len({t.payload.dtype for t in self.cast(name, tuple(tensors))}) == 1


@functools.cache
def policies_of(device_type: str) -> dict[str, str]:
    return table(device_type)


def is_eligible(a: Any) -> bool:
    """float64 and integers are left alone."""
    dtype = raw_dtype(a)
    return dtype in dtypes.FLOATING and dtype != FLOAT64


def raw_dtype(a: Any) -> Any:
    return getattr(a.payload if isinstance(a, Tensor) else a, "dtype", None)


class autocast:
    """Within the block, or in a decorated function: products in 16 bits, sensitive operations in float32.

    device_type: "cuda" or "cpu". All arrays are on the CPU; the name chooses PyTorch's table of policies (`autolab.amp.policies`)
    and the default dtype, float16 for "cuda" and bfloat16 for "cpu". dtype: float16 or bfloat16. enabled: False leaves a block
    within another one alone. cache_enabled: cast each float32 parameter once within the outermost block.
    Raises RuntimeError for another device, ValueError if it is not a string. A dtype of other width warns and does nothing.

    >>> w = torch.ones(2, 2)
    >>> with torch.autocast("cuda"):
    ...     (w @ w).dtype, (w @ w).exp().dtype
    (torch.float16, torch.float32)
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}': it is 'cuda' or 'cpu'")
        self.device = device_type
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and self.fast_dtype not in SUPPORTED:
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of {', '.join(map(str, SUPPORTED))} currently.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = bool(enabled)
        self._before: list[Casting | None] = []

    def __enter__(self) -> autocast:
        outer = modes.autocast
        self._before.append(outer)
        if self._enabled:
            shared = {} if outer is None or outer.cache is None else outer.cache
            modes.autocast = Casting(self.device, self.fast_dtype, shared if self._cache_enabled else None, outer)
        elif outer is not None and outer.device_type == self.device:
            modes.autocast = None
        modes.settle()
        return self

    def __exit__(self, *exc: Any) -> None:
        modes.autocast = self._before.pop()
        modes.settle()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as a context "
                "manager? For example:\n    with torch.autocast(device_type=...):\n        output = model(input)"
            )

        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside


# -- what is in force ----------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows this kind of device: True for "cpu" and "cuda".

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return checked(device_type) in DEFAULT


def checked(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device_type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations are being cast as for this device.

    >>> with torch.autocast("cpu"):
    ...     is_autocast_enabled("cpu"), is_autocast_enabled("cuda")
    (True, False)
    """
    return modes.autocast is not None and modes.autocast.device_type == checked(device_type)


def get_autocast_dtype(device_type: str) -> Any:
    """The 16-bit dtype in force for this device, or its default.

    >>> get_autocast_dtype("cuda"), get_autocast_dtype("cpu")
    (torch.float16, torch.bfloat16)
    """
    if is_autocast_enabled(device_type):
        return modes.autocast.dtype
    return DEFAULT.get(device_type)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept for the rest of the block.

    >>> with torch.autocast("cpu", cache_enabled=False):
    ...     is_autocast_cache_enabled()
    False
    """
    return modes.autocast is None or modes.autocast.cache is not None


def clear_autocast_cache() -> None:
    """Forget the casts of parameters made so far: for a block in which parameters change.

    >>> w, x = torch.ones(1, 1, requires_grad=True), torch.ones(1, 1)
    >>> with torch.autocast("cpu"):
    ...     before = x @ w
    ...     _ = w.data.fill_(5.0)
    ...     x @ w  # by the number that was cast
    ...     clear_autocast_cache()
    ...     x @ w
    tensor([[1.]], dtype=torch.bfloat16, grad_fn=<MmBackward0>)
    tensor([[5.]], dtype=torch.bfloat16, grad_fn=<MmBackward0>)
    """
    if modes.autocast is not None and modes.autocast.cache is not None:
        modes.autocast.cache.clear()


# -- for custom Functions --------------------------------------------------------------------------------


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate a Function's forward. cast_inputs: under autocast, take floats in this dtype and run with autocast off.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return 2 * ctx.saved_tensors[0] * g
    >>> with torch.autocast("cpu"):
    ...     print(Square.apply(tensor([3.0], dtype=torch.bfloat16)).dtype)
    torch.float32
    """
    checked(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *in_dtype(args, cast_inputs), **in_dtype(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate a Function's backward: it runs under the autocasting of its forward, which custom_fwd decorates.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         print(torch.is_autocast_enabled("cpu"))
    ...         return 2 * g
    >>> with torch.autocast("cpu"):
    ...     y = Double.apply(torch.ones(1, requires_grad=True))
    >>> y.backward()  # outside of the block
    True
    """
    checked(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *grads: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *grads, **kwargs)

    return backward


def in_dtype(value: Any, dtype: Any) -> Any:
    """Tensors of floats in another dtype, in whatever containers they are."""
    if isinstance(value, Tensor) and is_eligible(value):
        return to(value, dtype)
    if isinstance(value, str | bytes | np.ndarray | Tensor):
        return value
    if isinstance(value, Mapping):
        return {in_dtype(k, dtype): in_dtype(v, dtype) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(in_dtype(v, dtype) for v in value)
    return (in_dtype(v, dtype) for v in value) if isinstance(value, Iterable) else value
