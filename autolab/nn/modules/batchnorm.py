"""Mean 0 and variance 1 over a batch, and running statistics for when there is none."""

from __future__ import annotations

import warnings
from typing import Any

from autolab import dtypes
from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.functional.norm import unseen
from autolab.nn.modules.module import Module, affine
from autolab.nn.parameter import Parameter, is_lazy
from autolab.torch_api.creation import empty, ones, tensor, zeros
from autolab.torch_api.dims import require_tensor


class _NormBase(Module):
    """What batch and instance norms share: learned scale and shift, and running statistics."""

    _version = 2
    dims: tuple[int, ...]  # how many dims the input may have
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_features, device=device, dtype=dtype)) if wanted else None)
        for name, make in (("running_mean", zeros), ("running_var", ones)):
            self.register_buffer(name, make(num_features, device=device, dtype=dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=dtypes.int64, device=device) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was seen."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Start again, with scale 1 and shift 0."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if require_tensor(input, "batch_norm").ndim not in self.dims:
            raise ValueError(f"expected {' or '.join(f'{n}D' for n in self.dims)} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = tensor(0, dtype=dtypes.int64)  # written before batches were counted
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """In training, by the statistics of the batch, which the running ones follow; otherwise by the running ones."""
        self._check_input_dim(input)
        momentum, follow = self.momentum or 0.0, not self.training or self.track_running_stats
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            if unseen() and not self.num_batches_tracked.level:
                self.num_batches_tracked.writable_array()[...] += 1
                self.num_batches_tracked.version[0] += 1
            else:
                self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        running = (self.running_mean, self.running_var) if follow else (None, None)
        training = self.training or (self.running_mean is None and self.running_var is None)
        return F.batch_norm(input, *running, *affine(self), training, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C) or (N, C, L). Source: Ioffe and Szegedy 2015.

    momentum: how far the running statistics move towards those of a batch; None for the plain mean over batches.

    >>> layer = BatchNorm1d(2)
    >>> layer(tensor([[1., 10.], [3., 30.]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]], grad_fn=<NativeBatchNormBackward0>)
    >>> layer.running_mean  # a tenth of the way to (2, 20)
    tensor([0.2000, 2.0000])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C, H, W). Source: Ioffe and Szegedy 2015.

    momentum: how far the running statistics move towards those of a batch; None for the plain mean over batches.

    >>> layer = BatchNorm2d(3)
    >>> layer(torch.randn(8, 3, 5, 5)).shape, layer.running_mean.shape
    (torch.Size([8, 3, 5, 5]), torch.Size([3]))
    >>> [name for name, _ in layer.named_buffers()]
    ['running_mean', 'running_var', 'num_batches_tracked']
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C, D, H, W). momentum as for `BatchNorm2d`.

    >>> BatchNorm3d(3)(torch.randn(2, 3, 4, 5, 5)).shape
    torch.Size([2, 3, 4, 5, 5])
    """

    dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """BatchNorm for any number of dims; there is one process, and nothing to synchronise.

    Shapes: (N, C, ...).

    >>> SyncBatchNorm(1)(tensor([[1.], [3.]]))
    tensor([[-1.0000],
            [ 1.0000]], grad_fn=<NativeBatchNormBackward0>)
    >>> net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    >>> type(SyncBatchNorm.convert_sync_batchnorm(net)[1]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """A module with every BatchNorm in it replaced, parameters and statistics kept."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            settings = module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats
            made = cls(*settings, process_group)
            made.training = module.training
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """By the statistics of each sample; with track_running_stats and in eval mode, by the running ones."""
        self._check_input_dim(input)
        alone = input.ndim == self.dims[0]
        dim = input.ndim - self.dims[0]
        if input.shape[dim] != self.num_features and not is_lazy(self.weight):
            self._warn_or_raise(dim, input.shape[dim])
        out = F.instance_norm(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, *affine(self),
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps,
        )  # fmt: skip
        return out.squeeze(0) if alone else out

    def _warn_or_raise(self, dim: int, found: int) -> None:
        if self.affine:
            raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {found}.")
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in num_features, which "
            "is not used because affine=False",
            stacklevel=4,
        )


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each sample of (N, C, L) or (C, L). Source: Ulyanov et al. 2016.

    >>> InstanceNorm1d(2)(tensor([[[1., 3.], [10., 30.]]]))  # each channel alone
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each sample of (N, C, H, W) or (C, H, W). Source: Ulyanov et al. 2016.

    >>> layer = InstanceNorm2d(3)
    >>> layer(torch.randn(8, 3, 5, 5)).shape, layer.weight  # no scale unless affine=True
    (torch.Size([8, 3, 5, 5]), None)
    """

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each sample of (N, C, D, H, W) or (C, D, H, W).

    >>> InstanceNorm3d(3)(torch.randn(2, 3, 4, 5, 5)).shape
    torch.Size([2, 3, 4, 5, 5])
    """

    dims = (4, 5)
