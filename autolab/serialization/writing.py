"""Writing: a zip archive as PyTorch writes it, with one pickle of names and numbers, and one file for each block of memory.

A tensor is (storage, offset, size, stride), so tensors that share memory share it again when they are loaded. The pickle names
PyTorch's functions and classes for tensors; so torch.load reads it, and needs no autolab.
"""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.parameter import Parameter
from autolab.size import Size
from autolab.torch_api.device import device

ALIGNMENT = 64  # bytes: where PyTorch lets the data of a file begin, so that it can be mapped into memory


class Named:
    """A global of another library, to be written as its name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *args: Any) -> Any:  # pickle asks that what is called on loading be callable
        raise NotImplementedError(f"{self.module}.{self.name} stands for a name only")


REBUILD_TENSOR = Named("torch._utils", "_rebuild_tensor_v2")
REBUILD_UNTYPED, UNTYPED = Named("torch._utils", "_rebuild_tensor_v3"), Named("torch.storage", "UntypedStorage")
REBUILD_PARAMETER = Named("torch._utils", "_rebuild_parameter")
SIZE, DEVICE = Named("torch", "Size"), Named("torch", "device")
STORAGES = {d.numpy: Named("torch", f"{d.title}Storage") for d in dtypes.ALL if d.numpy not in dtypes.UNSIGNED}


class Storage(NamedTuple):
    """A block of memory that tensors look into: its number in the archive, dtype, and length in entries."""

    key: str
    dtype: Any
    length: int


class Pickler(pickle._Pickler):  # the one in Python, which can be told how to write a name
    """Writes tensors by PyTorch's names, and their memory not at all: that is collected in `blocks`."""

    dispatch = pickle._Pickler.dispatch.copy()

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.blocks: dict[Any, tuple[Storage, Any]] = {}
        self.alive: list[Any] = []  # ids stay unique only while what they belong to lives

    def persistent_id(self, thing: Any) -> Any:
        if type(thing) is Storage:
            if thing.dtype in dtypes.UNSIGNED:  # which have no class of storage
                return ("storage", UNTYPED, thing.key, "cpu", thing.length * thing.dtype.itemsize)
            return ("storage", STORAGES[thing.dtype], thing.key, "cpu", thing.length)
        return None

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, Parameter):
            return REBUILD_PARAMETER, (new_tensor(thing.writable_array()), thing.requires_grad, OrderedDict())
        if isinstance(thing, Tensor):
            if thing.payload.dtype in dtypes.UNSIGNED:
                return REBUILD_UNTYPED, (*self.reduced(thing), thing.dtype)
            return REBUILD_TENSOR, self.reduced(thing)
        if type(thing) is Size:
            return SIZE, (tuple(thing),)
        if type(thing) is device:
            return DEVICE, ((thing.type,) if thing.index is None else (thing.type, thing.index))
        return NotImplemented

    def reduced(self, t: Tensor) -> tuple[Any, ...]:
        a = t.writable_array()
        root, offset = memory_of(a)
        if root is None:
            a = np.ascontiguousarray(a).reshape(a.shape)
            root, offset = a, 0
        key = id(root), a.dtype
        if key not in self.blocks:
            self.blocks[key] = (Storage(str(len(self.blocks)), a.dtype, root.nbytes // a.itemsize), root)
        self.alive.append(a)
        stride = tuple(s // a.itemsize for s in a.strides)
        return self.blocks[key][0], offset, tuple(a.shape), stride, t.requires_grad, OrderedDict()

    def save_name(self: Any, thing: Any) -> None:  # Any: typeshed knows neither `write` nor `memoize`
        self.write(pickle.GLOBAL + f"{thing.module}\n{thing.name}\n".encode())
        self.memoize(thing)

    def save_dtype(self: Any, thing: Any) -> None:
        self.save(_DTYPES[thing.name])

    dispatch[Named] = save_name
    dispatch[dtypes.dtype] = save_dtype


_DTYPES = {d.name: Named("torch", d.name) for d in dtypes.ALL}


def memory_of(a: Any) -> tuple[Any, int]:
    """The array that owns the memory of `a`, and where in it `a` begins, in entries. (None, 0) if it does not fit such a description."""
    root = a
    while isinstance(root.base, np.ndarray):
        root = root.base
    start = a.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    fits = root.flags.forc and start % a.itemsize == 0 and root.nbytes % a.itemsize == 0
    if not fits or any(s < 0 or s % a.itemsize for s in a.strides):
        return None, 0
    return root, start // a.itemsize


def raw_bytes(a: Any) -> memoryview:
    """The memory of an array that is one block, in the order in which it lies there."""
    return memoryview(a.ravel(order="K").view(np.uint8))


def write(thing: Any, file: Any, name: str, protocol: int) -> None:
    """The archive, into an open file or a path."""
    import io

    text = io.BytesIO()
    pickler = Pickler(text, protocol)
    pickler.dump(thing)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        add(archive, f"{name}/data.pkl", text.getvalue())
        add(archive, f"{name}/.format_version", b"1")
        add(archive, f"{name}/.storage_alignment", str(ALIGNMENT).encode())
        add(archive, f"{name}/byteorder", b"little")
        for storage, root in pickler.blocks.values():
            add(archive, f"{name}/data/{storage.key}", raw_bytes(root))
        add(archive, f"{name}/version", b"3\n")


def add(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    """One file, whose content begins at a multiple of ALIGNMENT: an extra field that means nothing is made as long as it takes."""
    info = zipfile.ZipInfo(name)
    assert archive.fp is not None
    before = archive.fp.tell() + 30 + len(name.encode()) + 4
    info.extra = struct.pack("<2sH", b"FB", -before % ALIGNMENT) + b"Z" * (-before % ALIGNMENT)
    archive.writestr(info, content)


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True) -> None:
    """Write an object to a file: tensors, modules' and optimizers' state_dicts, and containers of them; torch.load reads it, too.

    f: a path, or a file opened for writing bytes. Tensors that share memory share it after loading. Whole modules can be saved, but
    loading them takes weights_only=False: save `model.state_dict()`. `pickle_module` is accepted and means nothing.
    Raises RuntimeError for PyTorch's older format, and what pickle raises for things that cannot be written (a lambda).

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.ones(2), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError("autolab writes PyTorch's zip format only; leave out _use_new_zipfile_serialization=False.")
    if isinstance(f, str | os.PathLike):
        folder = Path(f).parent
        if not folder.is_dir():
            raise RuntimeError(f"Parent directory {folder} does not exist. Make it first: os.makedirs({str(folder)!r}).")
        write(obj, os.fspath(f), Path(f).stem or "archive", pickle_protocol)
    elif hasattr(f, "write"):
        write(obj, f, "archive", pickle_protocol)
    else:
        raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, and got {type(f)}")
