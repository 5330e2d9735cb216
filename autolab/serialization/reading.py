"""Reading: archives that `save` or torch.save wrote."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.parameter import Parameter
from autolab.serialization.safe import KNOWN, REFUSED, Machine, NotAllowed, _added, globals_of
from autolab.torch_api.device import device

STORAGES = {f"torch.{d.title}Storage": d for d in dtypes.ALL} | {"torch.storage.UntypedStorage": dtypes.uint8}
OLDER = (
    "this is not a zip archive, so neither save() nor a recent torch.save() wrote it. An older file: load it in PyTorch and "
    "save it again. A bare pickle: pickle.load() reads it, and runs whatever it says."
)
MOVE = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only machine, "
    "please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
)


# What instructions in a wrong order lead to.
DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, struct.error)


class Block:
    """The memory of a storage as a flat array."""

    def __init__(self, array: Any) -> None:
        self.array = array


class Archive:
    """An open archive: its pickle, and its storages, each read when it is first asked for."""

    def __init__(self, file: Any, map_location: Any) -> None:
        try:
            self.zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile:
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {OLDER}") from None
        names = self.zip.namelist()
        self.folder = names[0].partition("/")[0] if names else ""
        if f"{self.folder}/constants.pkl" in names:
            raise RuntimeError("this is a TorchScript archive, a program. Save the state_dict of the model in PyTorch, and load that.")
        if f"{self.folder}/data.pkl" not in names:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found. This zip archive holds no tensors.")
        if f"{self.folder}/byteorder" in names and self.content("byteorder") == b"big":
            raise RuntimeError("this archive was written on a big-endian machine, and is not read here.")
        self.map_location = map_location
        self.blocks: dict[str, Block] = {}

    def content(self, name: str) -> bytearray:
        """A file of the archive. Nothing is unpacked: PyTorch does not compress, and what does could unpack to any size."""
        try:
            info = self.zip.getinfo(f"{self.folder}/{name}")
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found. The archive is damaged.") from None
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(f"the file {name} in the archive is compressed, which save() and torch.save() never do.")
        found = bytearray(info.file_size)
        with self.zip.open(info) as file:
            if file.readinto(found) != len(found):  # type: ignore[attr-defined]
                raise RuntimeError(f"the file {name} in the archive is shorter than it says. The archive is damaged.")
        return found

    def storage(self, identity: Any) -> Block:
        """What a persistent id stands for: ("storage", its class, its key, where it was, its length)."""
        if type(identity) is not tuple or len(identity) != 5 or identity[0] != "storage" or not isinstance(identity[1], dtypes.dtype):
            raise NotAllowed(f"Unknown typename for persistent_load, expected 'storage' but got {identity!r:.60}")
        _, dtype, key, location, length = identity
        if type(key) is not str or type(length) is not int or length < 0 or not key.isalnum():
            raise NotAllowed(f"a storage with the key {key!r:.30} and the length {length!r:.30} cannot be")
        require_here(str(location), self.map_location)
        if key not in self.blocks:
            content = self.content(f"data/{key}")
            if len(content) < length * dtype.itemsize:
                raise NotAllowed(
                    f"storage {key} should have {length * dtype.itemsize} bytes, and has {len(content)}. The archive is damaged."
                )
            self.blocks[key] = Block(np.frombuffer(content, dtype.numpy, length))
        if self.blocks[key].array.dtype != dtype.numpy:
            return Block(self.blocks[key].array.view(np.uint8).view(dtype.numpy))
        return self.blocks[key]


def require_here(location: str, map_location: Any) -> None:
    """Raise PyTorch's error for a storage on a device that does not exist."""
    if isinstance(map_location, dict):
        map_location = map_location.get(location, location)
    target = location if map_location is None else map_location if isinstance(map_location, str | device) else "cpu"
    if device(target).type == "cuda":
        raise RuntimeError(MOVE)


def rebuild_tensor(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any = None, metadata: Any = None
) -> Tensor:
    """A tensor that looks into a storage. The numbers come from the file, so they are checked: none may lead outside."""
    numbers = (offset, *size, *stride) if type(size) in (tuple, list) and type(stride) in (tuple, list) else (None,)
    if type(storage) is not Block or any(type(n) is not int or n < 0 for n in numbers) or len(size) != len(stride):
        raise NotAllowed(f"a tensor of size {size!r:.60}, stride {stride!r:.60} and offset {offset!r:.30} cannot be")
    flat = storage.array
    last = offset + sum((n - 1) * s for n, s in zip(size, stride))
    if 0 not in size and last >= flat.size:
        raise NotAllowed(f"a tensor reaches to entry {last} of a storage of {flat.size}. The archive is damaged.")
    if 0 in size:
        return leaf(np.empty(size, flat.dtype), requires_grad)
    steps = [s * flat.itemsize for s in stride]
    return leaf(np.lib.stride_tricks.as_strided(flat[offset:], size, steps), requires_grad)


def rebuild_untyped(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any, dtype: Any, metadata: Any = None
) -> Tensor:
    """The same, of a storage that is bytes only: the dtype is said beside it."""
    if type(storage) is not Block or not isinstance(dtype, dtypes.dtype) or storage.array.nbytes % dtype.itemsize:
        raise NotAllowed(f"a tensor of dtype {dtype!r:.60} over {storage!r:.60} cannot be")
    return rebuild_tensor(Block(storage.array.view(np.uint8).view(dtype.numpy)), offset, size, stride, requires_grad)


def leaf(array: Any, requires_grad: Any) -> Tensor:
    t = new_tensor(array)
    return t.requires_grad_() if requires_grad else t


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any = None) -> Parameter:
    if not isinstance(data, Tensor):
        raise NotAllowed(f"a parameter is made of a tensor, not of {type(data).__name__}")
    return Parameter(data, bool(requires_grad))


TENSORS: dict[str, Any] = {
    "torch._utils._rebuild_tensor_v2": rebuild_tensor, "torch._utils._rebuild_tensor_v3": rebuild_untyped,
    "torch._utils._rebuild_parameter": rebuild_parameter, **STORAGES,
}  # fmt: skip


class Unpickler(pickle.Unpickler):
    """For weights_only=False: Python's own, with PyTorch's names for tensors."""

    archive: Archive

    def find_class(self, module: str, name: str) -> Any:
        full = f"{'builtins' if module == '__builtin__' else module}.{name}"
        found = TENSORS.get(full, KNOWN.get(full))
        if found is not None:
            return found
        if module.partition(".")[0] == "torch":
            raise pickle.UnpicklingError(
                f"the file holds {full}, a part of PyTorch that autolab does not read. Save state_dict()s: they are names and tensors."
            )
        return super().find_class(module, name)

    def persistent_load(self, identity: Any) -> Any:
        return self.archive.storage(identity)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None,
         **pickle_load_args: Any) -> Any:  # fmt: skip
    """Read what `save` or torch.save wrote.

    f: a path, or a file opened for reading bytes. map_location: accepted; needed to bring tensors here that were saved on a GPU.
    weights_only: by default (True) only tensors, numbers, texts and containers of them are made, and classes that were allowed by
    `serialization.add_safe_globals`; anything else raises UnpicklingError. False runs the pickle in the file, which may do anything.
    mmap is accepted and means nothing.
    Raises RuntimeError for what is no such archive, FileNotFoundError.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(torch.nn.Linear(3, 2).state_dict(), file)
    >>> _ = file.seek(0)
    >>> torch.load(file).keys()
    odict_keys(['weight', 'bias'])
    """
    weights_only = True if weights_only is None and pickle_module is None else bool(weights_only)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "read"):
        raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a 'read' attribute, and got {type(f)}")
    archive = Archive(f, map_location)
    with archive.zip:
        program = bytes(archive.content("data.pkl"))
        if not weights_only:
            import io

            unpickler = Unpickler(io.BytesIO(program), **pickle_load_args)
            unpickler.archive = archive
            return unpickler.load()
        try:
            return Machine(TENSORS, archive.storage).run(program)
        except NotAllowed as error:
            raise pickle.UnpicklingError(REFUSED.format(error)) from None
        except DAMAGE as error:
            raise pickle.UnpicklingError(REFUSED.format(f"the pickle is damaged: {error}")) from None


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that would have to be allowed (`add_safe_globals`) before it can be loaded.

    >>> import fractions, io
    >>> file = io.BytesIO()
    >>> torch.save(fractions.Fraction(1, 2), file)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['fractions.Fraction']
    """
    archive = Archive(f, "cpu")
    with archive.zip:
        names = globals_of(bytes(archive.content("data.pkl")))
    names = [name.replace("__builtin__.", "builtins.") for name in names]
    return [name for name in dict.fromkeys(names) if name not in TENSORS and name not in KNOWN and name not in _added]
