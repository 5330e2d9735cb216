"""Wrappers for several devices: on one, DataParallel is the module it wraps; DistributedDataParallel refuses."""

from __future__ import annotations

from typing import Any

from autolab.nn.modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel"]


class DataParallel(Module):
    """Calls `module`: there are no devices to share a batch among. The state_dict has PyTorch's names, "module. ...".

    >>> net = DataParallel(nn.Linear(3, 2))
    >>> net(ones(5, 3)).shape, list(net.state_dict())
    (torch.Size([5, 2]), ['module.weight', 'module.bias'])
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """Raises ValueError: there is no group of processes.

    >>> DistributedDataParallel(torch.nn.Linear(3, 2))
    Traceback (most recent call last):
        ...
    ValueError: Default process group has not been initialized...
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group. autolab computes in one "
            "process: use the module as it is."
        )
