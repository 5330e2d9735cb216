"""What crosses between the box and the judge: a JSON header and plain numeric arrays, both limited in length.

Both sides import this file. Nothing in it can make an object of a class that the other side chose: arrays are npy with
`allow_pickle=False`, everything else is JSON.
"""

from __future__ import annotations

import io
import json
import math
import socket
import struct
import time
from functools import lru_cache
from typing import Any

import numpy as np

HEADER = 1 << 20  # bytes
BODY = 64 << 20  # bytes
TEXT = 4000  # characters of one text
DIMENSIONS = 8
PREFIX = struct.Struct("<II")


class Broken(OSError):
    """The other side ended, took too long, or sent what is not allowed."""

    late = False


def pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """A value as JSON; its arrays are appended to `arrays`. Raises TypeError for anything but plain data."""
    kind = type(value)
    if value is None or kind in (bool, int, float):
        return value
    if kind is str:
        return value[:TEXT]
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value, order="C")  # of a subclass only the numbers
        if array.dtype.kind not in "fiubc":
            raise TypeError(f"only arrays of numbers can be handed over, not of dtype {array.dtype}")
        arrays.append(array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("=")))
        return {"a": len(arrays) - 1}
    if isinstance(value, tuple):
        return {"t": [pack(v, arrays) for v in value]}
    if isinstance(value, list):
        return [pack(v, arrays) for v in value]
    if isinstance(value, dict):
        return {"d": {str(k)[:TEXT]: pack(v, arrays) for k, v in value.items()}}
    for plain in (int, float, str):  # of a subclass only the value
        if isinstance(value, plain):
            return pack(plain(value), arrays)
    raise TypeError(f"a {type(value).__name__} cannot be handed over: only numbers, arrays, text, lists and dicts can")


def unpack(data: Any, arrays: list[np.ndarray], depth: int = 0) -> Any:
    """The value that `pack` was given. Raises ValueError for anything else."""
    kind, deeper = type(data), depth + 1
    if data is None or kind in (bool, int, float):
        return data
    if kind is str:
        return data[:TEXT].encode("utf-8", "replace").decode()  # half a surrogate pair could not be written into a file
    if depth > 12:
        raise ValueError("not a packed value")
    if kind is list:
        return [unpack(v, arrays, deeper) for v in data]
    if kind is not dict or len(data) != 1:
        raise ValueError("not a packed value")
    ((kind, value),) = data.items()
    if kind == "a" and type(value) is int and 0 <= value < len(arrays):
        return arrays[value]
    if kind == "t" and isinstance(value, list):
        return tuple([unpack(v, arrays, deeper) for v in value])
    if kind == "d" and isinstance(value, dict):
        return {k[:TEXT].encode("utf-8", "replace").decode(): unpack(v, arrays, deeper) for k, v in value.items()}
    raise ValueError("not a packed value")


def encode(value: Any) -> bytes:
    """One message. Raises TypeError for what cannot cross, ValueError if it is too long."""
    arrays: list[np.ndarray] = []
    packed = pack(value, arrays)
    head = json.dumps({"value": packed, "arrays": len(arrays)}).encode()
    size = sum(a.nbytes for a in arrays)
    if len(head) > HEADER or size > BODY:
        raise ValueError(f"{len(head) + size} bytes are too many to hand over")
    body = b"".join([part for a in arrays for part in (_npy(a.dtype, a.shape), a.tobytes())])
    return PREFIX.pack(len(head), len(body)) + head + body


@lru_cache(4096)
def _npy(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """What stands before the numbers in an npy file."""
    stream, descr = io.BytesIO(), np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def decode(head: bytes, body: bytes) -> Any:
    """The value in a message. Raises ValueError for whatever is not one."""
    try:
        data = json.loads(head)
        stream = io.BytesIO(body)
        arrays = [_array(stream, len(body)) for _ in range(min(int(data["arrays"]), 1000))]
        return unpack(data["value"], arrays)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        SyntaxError,
        EOFError,
        MemoryError,
    ) as error:
        raise ValueError(f"not a message: {type(error).__name__}") from None


def _array(stream: io.BytesIO, available: int) -> np.ndarray:
    # The header is read first: a shape that promises terabytes is refused before anything is allocated.
    start = stream.read(10)
    length = int.from_bytes(start[8:10], "little")
    if start[:8] != b"\x93NUMPY\x01\x00" or length > 1000:
        raise ValueError("not a plain numeric array")
    shape, dtype, count = _header(start + stream.read(length))
    if count * dtype.itemsize > available:
        raise ValueError("an array that is not there")
    data = stream.read(count * dtype.itemsize)
    return np.frombuffer(data, dtype, count).reshape(shape).astype(dtype.newbyteorder("="))


@lru_cache(4096)
def _header(header: bytes) -> tuple[tuple[int, ...], np.dtype, int]:
    stream = io.BytesIO(header)
    np.lib.format.read_magic(stream)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if (
        dtype.kind not in "fiubc"
        or len(shape) > DIMENSIONS
        or (fortran and len(shape) > 1)
        or min(shape, default=0) < 0
    ):
        raise ValueError("not a plain numeric array")
    return shape, dtype, math.prod(shape)


def send(connection: socket.socket, value: Any, seconds: float | None = None) -> None:
    """Send one message. Raises Broken if the other side does not take it in time."""
    connection.settimeout(seconds)
    try:
        connection.sendall(encode(value))
    except OSError as error:
        raise _broken(error) from None


def receive(connection: socket.socket, seconds: float | None = None) -> Any:
    """The next message. Raises Broken if none comes in time, or what comes is none."""
    end = None if seconds is None else time.monotonic() + seconds
    try:
        head, body = PREFIX.unpack(_exactly(connection, PREFIX.size, end))
        if head > HEADER or body > BODY:
            raise Broken("it sent too much")
        return decode(_exactly(connection, head, end), _exactly(connection, body, end))
    except Broken:
        raise
    except (OSError, ValueError) as error:
        raise _broken(error) from None


def _exactly(connection: socket.socket, n: int, end: float | None) -> bytes:
    data = bytearray()
    while len(data) < n:
        if end is not None:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
        else:
            connection.settimeout(None)
        part = connection.recv(min(1 << 20, n - len(data)))
        if not part:
            raise Broken("the process ended")
        data += part
    return bytes(data)


def _broken(error: Exception) -> Broken:
    if isinstance(error, TimeoutError):
        late = Broken("it took too long")
        late.late = True
        return late
    return Broken("the process ended" if isinstance(error, OSError) else "it sent what is no answer")
