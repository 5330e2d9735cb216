"""The memory that a tensor and its views look into, as PyTorch shows it: `t.untyped_storage()` in bytes, `t.storage()` in entries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor
from autolab.rules.strided import memory_and_start
from autolab.torch_api.creation import CPU
from autolab.torch_api.public import method, public

warned: list[bool] = []


@public()
class UntypedStorage:
    """One piece of memory, byte by byte. Two tensors share it if its `data_ptr()` is the same.

    >>> x = zeros(2, 3)
    >>> x[1].untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), x[1].untyped_storage().nbytes()
    (True, 24)
    """

    device = CPU

    def __init__(self, memory: Any = 0) -> None:
        self.memory = np.zeros(memory, self._numpy) if isinstance(memory, int) else memory

    _numpy = np.dtype(np.uint8)

    def data_ptr(self) -> int:
        """The address of the first byte; 0 if there is none."""
        return self.memory.__array_interface__["data"][0] if self.memory.size else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self.memory.nbytes)

    def element_size(self) -> int:
        """How many bytes an entry takes."""
        return int(self.memory.itemsize)

    def size(self) -> int:
        """How many entries there are."""
        return int(self.memory.size)

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, i: Any) -> Any:
        found = self.memory[i]
        return type(self)(found) if isinstance(i, slice) else found.item()

    def __setitem__(self, i: Any, value: Any) -> None:
        self.memory[i] = value

    def tolist(self) -> list[Any]:
        """The entries as Python numbers."""
        return self.memory.tolist()

    def fill_(self, value: Any) -> UntypedStorage:
        """Write one number everywhere."""
        self.memory[...] = value
        return self

    def untyped(self) -> UntypedStorage:
        """The same memory byte by byte."""
        return UntypedStorage(self.memory.view(np.uint8))

    def _cdata(self) -> int:
        return self.data_ptr()

    def __repr__(self) -> str:
        return f"[torch.storage.UntypedStorage(device=cpu) of size {self.size()}]"


@public()
class TypedStorage(UntypedStorage):
    """One piece of memory, entry by entry.

    >>> TypedStorage(2).fill_(3).tolist()
    [3.0, 3.0]
    """

    _numpy = np.dtype(np.float32)  # type: ignore[assignment]

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype of the entries."""
        return dtypes.of(self.memory.dtype)

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist())
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device=cpu) of size {self.size()}]"


@method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory this tensor looks into, byte by byte; views of one tensor have the same.

    >>> x = tensor([1, 2, 3])
    >>> x[2:].untyped_storage().nbytes()
    24
    """
    return UntypedStorage(memory_and_start(self.writable_array())[0].view(np.uint8))


@method
def storage(self: Tensor) -> TypedStorage:
    """The memory this tensor looks into, entry by entry. Warns once, as PyTorch does, that `untyped_storage` is the one to use.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tensor([1, 2, 3])[2:].storage().tolist()
    [1, 2, 3]
    """
    if not warned:
        warned.append(True)
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should "
            "only matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() "
            "instead of tensor.storage()",
            UserWarning,
            stacklevel=2,
        )
    return TypedStorage(memory_and_start(self.writable_array())[0])


@public()
def is_storage(obj: Any) -> bool:
    """True for what `storage` and `untyped_storage` give.

    >>> x = tensor([1, 2, 3])
    >>> is_storage(x.untyped_storage()), is_storage(x)
    (True, False)
    """
    return isinstance(obj, UntypedStorage)
