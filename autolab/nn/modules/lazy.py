"""Modules that learn the size of their input from the first one, and are then what their name says without "Lazy"."""

from __future__ import annotations

import inspect
from typing import Any

from autolab.nn.modules import batchnorm, conv
from autolab.nn.modules.batchnorm import _InstanceNorm, _NormBase
from autolab.nn.modules.conv import _ConvNd
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.module import Module
from autolab.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

# Tensors that wait for a shape, for each kind of module; those that are not wanted are None.
_WEIGHTS = ("weight", "bias", "running_mean", "running_var")


class LazyModuleMixin(Module):
    """Waits for the first input (`initialize_parameters`), and then becomes `cls_to_become`."""

    cls_to_become: type[Module]
    size_name: str  # of the attribute that the first input decides
    size_dim: int  # the dim of the input that it is read from, counted without a batch from the end

    def _wait(self) -> None:
        """Put tensors without a shape in place of those that were made for size 0, and watch for the first input."""
        for name in _WEIGHTS:
            old = getattr(self, name, None)
            if old is None or (name == "bias" and not isinstance(self, _NormBase)):
                continue
            if name in self._parameters:
                self._parameters[name] = UninitializedParameter(dtype=old.dtype)
            elif name in self._buffers:
                self._buffers[name] = UninitializedBuffer(dtype=old.dtype)
        self._waiting = self.register_forward_pre_hook(self._first_input, with_kwargs=True)

    def has_uninitialized_params(self) -> bool:
        """Whether a tensor still waits for its shape."""
        return any(is_lazy(t) for t in [*self._parameters.values(), *self._buffers.values()])

    def initialize_parameters(self, input: Any) -> None:
        """Take the sizes from an input, and start."""
        if not self.has_uninitialized_params():
            return
        size = self._size_of(input)
        setattr(self, self.size_name, size)
        for name, shape in self._shapes(size).items():
            t = getattr(self, name)
            if is_lazy(t):
                t.materialize(shape)
        self.reset_parameters()

    def _first_input(self, module: Any, args: Any, kwargs: Any) -> None:
        self.initialize_parameters(*args, **kwargs)
        self._waiting.remove()
        del self._waiting
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """A state that has shapes decides them."""
        for name in _WEIGHTS:
            t, new = getattr(self, name, None), state_dict.get(prefix + name)
            if is_lazy(t) and new is not None and not is_lazy(new):
                t.materialize(new.shape)  # type: ignore[union-attr]
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(
            f"{type(self).__name__} is still waiting for its first input, so it can not be copied or pickled: call it once before."
        )

    def _size_of(self, input: Any) -> int:
        return input.shape[self.size_dim]

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        raise NotImplementedError


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose in_features are those of the first input.

    >>> layer = nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(ones(5, 3)).shape
    torch.Size([5, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become, size_name, size_dim = Linear, "in_features", -1

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        Linear.__init__(self, 1, out_features, bias, device, dtype)
        self.in_features = 0
        self._wait()

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, size)}


class _LazyConv(LazyModuleMixin, _ConvNd):
    size_name = "in_channels"

    def __init__(self, out_channels: int, *args: Any, **kwargs: Any) -> None:
        groups = kwargs.get("groups", args[5 if self.transposed else 4] if len(args) > (5 if self.transposed else 4) else 1)
        super().__init__(groups, out_channels, *args, **kwargs)
        self.in_channels = 0
        self._wait()

    def _size_of(self, input: Any) -> int:
        if input.ndim not in (self.n + 1, self.n + 2):
            raise RuntimeError(
                f"Expected {self.n + 1}D (unbatched) or {self.n + 2}D (batched) input to {type(self).__name__}, but got input of size: "
                f"{list(input.shape)}"
            )
        return input.shape[1 if input.ndim == self.n + 2 else 0]

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        if size % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        first, second = (size, self.out_channels) if self.transposed else (self.out_channels, size)
        return {"weight": (first, second // self.groups, *self.kernel_size)}


class _LazyNorm(LazyModuleMixin, _NormBase):
    size_name = "num_features"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)
        self._wait()

    def _size_of(self, input: Any) -> int:
        self._check_input_dim(input)
        alone = isinstance(self, _InstanceNorm) and input.ndim == self.dims[0]
        return input.shape[0 if alone else 1]

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(_WEIGHTS, (size,))


class _LazyInstance(_LazyNorm):
    def __init__(
        self, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)


def _lazy(base: Any, mixin: Any, doc: str) -> Any:
    # The arguments of the base, but for the size, which is not known yet; instance norms have other defaults.
    name, own = f"Lazy{base.__name__}", inspect.signature(base)
    own = inspect.signature(mixin) if mixin is _LazyInstance else own.replace(parameters=list(own.parameters.values())[1:])
    about = {"__doc__": doc, "__module__": __name__, "__qualname__": name, "__signature__": own}
    return type(name, (mixin, base), {"cls_to_become": base, **about})


_CHANNELS = """The `{name}` whose in_channels are those of the first input.

    >>> layer = nn.Lazy{name}(8, kernel_size=3)
    >>> layer(ones({shape})).shape[:2], layer.in_channels
    (torch.Size([2, 8]), 4)
    >>> type(layer) is nn.{name}
    True
    """

_FEATURES = """The `{name}` whose num_features are those of the first input.

    >>> layer = nn.Lazy{name}()
    >>> layer(ones({shape})).shape == ({shape}), layer.num_features
    (True, 4)
    >>> type(layer) is nn.{name}
    True
    """


def _doc(text: str, name: str) -> str:
    """About a name that ends in "2d", say: its example has two samples of four channels of 5 by 5."""
    return text.format(name=name, shape=", ".join("24" + "5" * int(name[-2])))


LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(getattr(conv, name), _LazyConv, _doc(_CHANNELS, name))
    for name in "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d".split()
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(getattr(batchnorm, name), _LazyNorm, _doc(_FEATURES, name)) for name in "BatchNorm1d BatchNorm2d BatchNorm3d".split()
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(getattr(batchnorm, name), _LazyInstance, _doc(_FEATURES, name)) for name in "InstanceNorm1d InstanceNorm2d InstanceNorm3d".split()
)
