"""safetensors: a format of names, shapes and numbers that is simple enough to be read here, without the library of that name.

A file is 8 bytes that say how long the header is, the header (JSON: for each name the dtype, the shape, and from which to which byte
its numbers lie), and the numbers, one tensor after another. Source: the format's specification, version 0.4 and later.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]

NAMES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "U16": dtypes.uint16, "U32": dtypes.uint32, "U64": dtypes.uint64,
    "I8": dtypes.int8, "I16": dtypes.int16, "I32": dtypes.int32, "I64": dtypes.int64,
    "F16": dtypes.float16, "BF16": dtypes.bfloat16, "F32": dtypes.float32, "F64": dtypes.float64,
}  # fmt: skip
OF_DTYPE = {d.numpy: name for name, d in NAMES.items()}
LONGEST_HEADER = 100_000_000  # bytes


def save(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The file as bytes.

    Raises ValueError for what is not a dict of texts and tensors, RuntimeError for tensors that share memory.

    >>> load(save({"w": tensor([1.0, 2.0])}))
    {'w': tensor([1., 2.])}
    """
    if not isinstance(tensors, Mapping):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, t in tensors.items():
        if not isinstance(name, str) or not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
    refuse_shared(tensors)
    # Wide dtypes first, as the library orders them: then every tensor is aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    blocks, at = [], 0
    for name, t in ordered:
        block = np.ascontiguousarray(t.numbers()).tobytes()
        header[name] = {"dtype": OF_DTYPE[t.payload.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(block)]}
        blocks.append(block)
        at += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *blocks])


def refuse_shared(tensors: Mapping[str, Tensor]) -> None:
    """The format has no way to say that two names are one tensor."""
    owners: dict[int, str] = {}
    for name, t in tensors.items():
        if t.payload.size and isinstance(t.payload, np.ndarray):
            start = t.payload.__array_interface__["data"][0]
            if start in owners:
                raise RuntimeError(
                    f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them "
                    f"again: [{{'{owners[start]}', '{name}'}}]. Save one of them (save_model does), or a clone()."
                )
            owners[start] = name


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file, by their names. Raises ValueError for bytes that are no such file, saying what is wrong.

    >>> load(save({"w": torch.ones(2), "steps": tensor(3)}))
    {'steps': tensor(3), 'w': tensor([1., 1.])}
    """
    if len(data) < 8:
        raise ValueError("Error while deserializing: header too small: a safetensors file has at least 8 bytes")
    (length,) = struct.unpack("<Q", data[:8])
    if length > min(LONGEST_HEADER, len(data) - 8):
        raise ValueError(f"Error while deserializing: header too large: {length} bytes in a file of {len(data)}")
    try:
        header = json.loads(data[8 : 8 + length])
    except ValueError as error:
        raise ValueError(f"Error while deserializing: invalid JSON in header: {error}") from None
    if not isinstance(header, dict):
        raise ValueError("Error while deserializing: invalid JSON in header: it is not an object")
    header.pop("__metadata__", None)
    block = memoryview(data)[8 + length :]
    found, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: first_byte(*item)):
        dtype, shape, start, stop = checked(name, entry)
        if start != end or stop > len(block):
            raise ValueError(f"Error while deserializing: invalid offset for tensor `{name}`: {start} to {stop}, after {end} bytes")
        found[name] = new_tensor(np.frombuffer(block[start:stop], dtype.numpy).reshape(shape).copy())
        end = stop
    if end != len(block):
        raise ValueError(f"Error while deserializing: incomplete metadata, file not fully covered: {len(block) - end} bytes are left")
    return {name: found[name] for name in header}


def first_byte(name: str, entry: Any) -> Any:
    return checked(name, entry)[2:]


def checked(name: str, entry: Any) -> tuple[Any, list[int], int, int]:
    """The dtype, shape, first and last byte of one tensor, if they make sense."""
    try:
        shape, (start, stop) = entry["shape"], entry["data_offsets"]
        dtype = NAMES.get(entry["dtype"])
        numbers = [*shape, start, stop]
    except (TypeError, KeyError, ValueError):
        raise ValueError(f"Error while deserializing: the entry of `{name}` has no dtype, shape and data_offsets") from None
    if dtype is None:
        raise ValueError(f"Error while deserializing: `{name}` has the dtype {entry['dtype']!r:.30}; read are {', '.join(NAMES)}")
    if any(type(n) is not int or n < 0 for n in numbers) or stop - start != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"Error while deserializing: `{name}`: {start} to {stop} are not the bytes of {dtype} in shape {shape}")
    return dtype, shape, start, stop


def save_file(tensors: Mapping[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write a dict of tensors to a safetensors file. Raises what `save` raises.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"w": torch.ones(2)}, pathlib.Path(folder) / "weights.safetensors")
    ...     (pathlib.Path(folder) / "weights.safetensors").stat().st_size  # bytes: 8, the header, 2 * 4
    72
    """
    data = save(tensors, metadata)
    with open(os.fspath(filename), "wb") as file:
        file.write(data)


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """Read a dict of tensors from a safetensors file. Raises what `load` raises, and FileNotFoundError.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"w": torch.ones(2)}, pathlib.Path(folder) / "weights.safetensors")
    ...     load_file(pathlib.Path(folder) / "weights.safetensors")
    {'w': tensor([1., 1.])}
    """
    with open(os.fspath(filename), "rb") as file:
        return load(file.read())


def save_model(model: Any, filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write the state of a module, a shared parameter once. Raises what `save` raises, and OSError.

    >>> import pathlib, tempfile
    >>> model = torch.nn.Linear(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, pathlib.Path(folder) / "model.safetensors")
    ...     sorted(load_file(pathlib.Path(folder) / "model.safetensors"))
    ['bias', 'weight']
    """
    seen: dict[int, str] = {}
    for name, t in model.state_dict().items():
        seen.setdefault(id(t.writable_array()), name)
    state = model.state_dict()
    save_file({name: state[name] for name in seen.values()}, filename, metadata)


def load_model(model: Any, filename: Any, strict: bool = True, device: Any = "cpu") -> tuple[list[str], list[str]]:
    """Read the state of a module. A name that the file left out because it is another parameter's memory is not missing.

    Returns (missing, unexpected). Raises RuntimeError for those, if strict.

    >>> import pathlib, tempfile
    >>> old, new = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(old, pathlib.Path(folder) / "model.safetensors")
    ...     load_model(new, pathlib.Path(folder) / "model.safetensors")
    ([], [])
    >>> bool((new.weight == old.weight).all())
    True
    """
    state, own = load_file(filename), model.state_dict()
    here = {id(own[name].writable_array()) for name in state if name in own}
    missing = [name for name, t in own.items() if name not in state and id(t.writable_array()) not in here]
    unexpected = [name for name in state if name not in own]
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(model).__name__}:\n    Missing key(s) in state_dict: {missing}\n"
            f"    Unexpected key(s) in state_dict: {unexpected}"
        )
    model.load_state_dict(state, strict=False)
    return missing, unexpected
