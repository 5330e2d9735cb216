"""What crosses between the sandbox and the judge: a JSON header and plain numeric arrays, both limited in length.

Both sides import this file. Nothing that the judge reads can make an object of a class that the other side chose: an array is a
word for its dtype, a shape and bytes, everything else is JSON. Only questions, which the judge asks and a session reads, are pickled:
most of what crosses is their arrays, and a pickle is read in half the time.
"""

from __future__ import annotations

import io
import json
import math
import pickle
import socket
import struct
import time
from functools import lru_cache
from typing import Any

import numpy as np

HEADER = 1 << 20  # bytes
BODY = 64 << 20  # bytes
TEXT = 1_000_000  # characters of one text; a longer one is refused, never cut
SHORT = 1000  # characters of a text in the header; a longer one goes beside it, as an array of its bytes
DIMENSIONS = 8
CHUNK = 1 << 14  # bytes that are asked for at least
PREFIX = struct.Struct("<II")
# NumPy's own objects for its dtypes: the engine's fast path knows them by identity.
DTYPES = {np.dtype(code).str: np.dtype(np.dtype(code).str) for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"}
F64 = np.dtype(float)
ENCODER = json.JSONEncoder(check_circular=False, separators=(",", ":"))
BOOL = np.dtype(bool)
PLAIN = frozenset((bool, int, float))


class Broken(OSError):
    """The other side ended, took too long, or sent what is not allowed."""

    late = False


def pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """A value as JSON; its arrays are appended to `arrays`. Raises TypeError for anything but plain data."""
    kind = type(value)
    if kind is np.ndarray and value.dtype is F64:  # the usual case
        arrays.append(value)
        return {"a": len(arrays) - 1}
    if value is None or kind in PLAIN:
        return value
    if kind is str:
        return value if len(value) <= SHORT else _pack_text(value, arrays)
    if kind is list:
        return _pack_list(value, arrays)
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
        return {"d": {_key(str(k)): pack(v, arrays) for k, v in value.items()}}
    for plain in (int, float, str):  # of a subclass only the value
        if isinstance(value, plain):
            return pack(plain(value), arrays)
    raise TypeError(f"a {type(value).__name__} cannot be handed over: only numbers, arrays, text, lists and dicts can")


def _pack_text(text: str, arrays: list[np.ndarray]) -> dict[str, int]:
    if len(text) > TEXT:
        raise ValueError(f"a text of {len(text):,} characters is too long to hand over: at most {TEXT:,}")
    arrays.append(np.frombuffer(text.encode("utf-8", "replace"), np.uint8))
    return {"s": len(arrays) - 1}


def _taken(arrays: list[Any], i: int) -> np.ndarray:
    """An array, once: a header that names one a hundred thousand times would be gigabytes where it is copied."""
    array, arrays[i] = arrays[i], None
    if array is None:
        raise ValueError("an array that is named twice")
    return array


def _unpack_text(data: np.ndarray) -> str:
    text = data.tobytes().decode("utf-8", "replace") if data.dtype == np.uint8 and data.ndim == 1 else None
    if text is None or len(text) > TEXT:
        raise ValueError("not a text")
    return text


def _key(key: str) -> str:
    if len(key) > SHORT:
        raise ValueError(f"a key of {len(key):,} characters is too long to hand over: at most {SHORT:,}")
    return key


def cut(text: str, most: int) -> str:
    """At most the first characters of a text, and a word on it if there were more.

    >>> cut("abcdef", 3)
    'abc... (cut after 3 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}... (cut after {most:,} characters)"


def _pack_list(values: list, arrays: list[np.ndarray]) -> list:
    """What `pack` makes of each, with the usual cases here: a list for each call of a rule is most of a message."""
    packed: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is np.ndarray and value.dtype is F64:
            packed.append({"a": len(arrays)})
            arrays.append(value)
        else:
            packed.append(value if value is None or kind in PLAIN else pack(value, arrays))
    return packed


def unpack(data: Any, arrays: list[np.ndarray], depth: int = 0) -> Any:
    """The value that `pack` was given. Raises ValueError for anything else."""
    kind = type(data)
    if kind is dict and len(data) == 1:
        ((kind, value),) = data.items()
        if kind == "a" and type(value) is int and 0 <= value < len(arrays):
            return _taken(arrays, value)
        if kind == "s" and type(value) is int and 0 <= value < len(arrays):
            return _unpack_text(_taken(arrays, value))
    elif data is None or kind in PLAIN:
        return data
    elif kind is str:
        return _key(data).encode("utf-8", "replace").decode()  # half a surrogate pair could not be written into a file
    deeper = depth + 1
    if deeper > 13:
        raise ValueError("not a packed value")
    if kind is list:
        values = []
        for v in data:  # the usual cases here: an array or a number
            kind = type(v)
            if v is None or kind in PLAIN:
                values.append(v)
            elif kind is dict and type(i := v.get("a")) is int and len(v) == 1 and 0 <= i < len(arrays):
                values.append(_taken(arrays, i))
            else:
                values.append(unpack(v, arrays, deeper))
        return values
    if kind == "t" and isinstance(value, list):
        return tuple([unpack(v, arrays, deeper) for v in value])
    if kind == "d" and isinstance(value, dict):
        return {_key(k).encode("utf-8", "replace").decode(): unpack(v, arrays, deeper) for k, v in value.items()}
    raise ValueError("not a packed value")


def encode(value: Any) -> bytes:
    """One message. Raises TypeError for what cannot cross, ValueError if it is too long."""
    arrays: list[np.ndarray] = []
    packed = pack(value, arrays)
    head = ENCODER.encode({"value": packed, "arrays": [(_word(a.dtype), *a.shape) for a in arrays]}).encode()
    size = sum(a.nbytes for a in arrays)
    if len(head) > HEADER or size > BODY:
        raise ValueError(f"{len(head) + size} bytes are too many to hand over")
    return b"".join([PREFIX.pack(len(head), size), head, *[a.tobytes() for a in arrays]])


def question(name: str, arguments: tuple) -> bytes:
    """A message to a session, which trusts the judge: what may cross, in a pickle. Raises as `encode` does."""
    arrays: list[np.ndarray] = []
    packed, file = pack((name, arguments), arrays), io.BytesIO()
    _Pickler(file, 5).dump(unpack(packed, [a[...] for a in arrays]))  # views: what is named twice arrives twice
    if file.tell() > BODY:
        raise ValueError(f"{file.tell()} bytes are too many to hand over")
    return PREFIX.pack(0, file.tell()) + file.getvalue()


class _Pickler(pickle.Pickler):
    """Arrays as bytes that are copied once, with NumPy's own dtypes: a pickled dtype is equal to NumPy's, and not the same."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            return np.ndarray, (value.shape, value.dtype, bytearray(value.tobytes()))
        return (dtype_of, (value.str,)) if isinstance(value, np.dtype) else NotImplemented


def dtype_of(word: str) -> np.dtype:
    """NumPy's own dtype."""
    return DTYPES[word]


@lru_cache(64)
def _word(dtype: np.dtype) -> str:
    return dtype.str


def decode(head: bytes, body: bytes) -> Any:
    """The value in a message. Raises ValueError for whatever is not one."""
    try:
        data, start = json.loads(head), 0
        arrays: list[np.ndarray] = []
        for described in data["arrays"]:
            dtype, shape, size = _layout(*described)
            if start + size > len(body):
                raise ValueError("an array that is not there")
            array = np.ndarray(shape, dtype, body, start)
            arrays.append(array.view(np.uint8).astype(bool) if dtype is BOOL else array.copy())  # any byte but 0 is true
            start += size
        return unpack(data["value"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"not a message: {type(error).__name__}") from None


@lru_cache(4096, typed=True)
def _layout(name: str, *shape: int) -> tuple[np.dtype, tuple[int, ...], int]:
    """The dtype of an array, its shape, and its bytes. A shape that promises terabytes is refused before anything is allocated."""
    if len(shape) > DIMENSIONS or any(type(n) is not int or not 0 <= n <= BODY for n in shape):
        raise ValueError("not a plain numeric array")
    return DTYPES[name], shape, math.prod(shape) * DTYPES[name].itemsize


def send(connection: socket.socket, value: Any, seconds: float | None = None) -> None:
    """Send one message, or what `encode` made of one. Raises Broken if the other side does not take it in time."""
    connection.settimeout(seconds)
    try:
        connection.sendall(value if type(value) is bytes else encode(value))
    except OSError as error:
        raise _broken(error) from None


def receive(connection: socket.socket, seconds: float | None = None) -> Any:
    """The next message. Raises Broken if none comes in time, or what comes is none."""
    return read(*receive_raw(connection, seconds))


def receive_raw(connection: socket.socket, seconds: float | None = None) -> tuple[bytes, bytes]:
    """Header and body of the next message, for `read`. Raises Broken if none comes in time."""
    end = None if seconds is None else time.monotonic() + seconds
    try:
        data = _at_least(connection, bytearray(), PREFIX.size, end)
        head, body = PREFIX.unpack_from(data)
        length = PREFIX.size + head + body
        if head > HEADER or body > BODY or len(_at_least(connection, data, length, end)) > length:
            raise Broken("it sent too much")  # there is one answer to each question
        return bytes(data[PREFIX.size : PREFIX.size + head]), bytes(data[PREFIX.size + head :])
    except Broken:
        raise
    except OSError as error:
        raise _broken(error) from None


def read(head: bytes, body: bytes) -> Any:
    """The value in a message. Raises Broken if it is none."""
    try:
        return decode(head, body)
    except ValueError as error:
        raise _broken(error) from None


def _at_least(connection: socket.socket, data: bytearray, n: int, end: float | None) -> bytearray:
    """These bytes and those that come, until they are n; most messages come as a whole."""
    while len(data) < n:
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        part = connection.recv(max(CHUNK, min(1 << 20, n - len(data))))
        if not part:
            raise Broken("the process ended")
        data += part
    return data


def too_long() -> Broken:
    """The error of a question that has no answer in time."""
    late = Broken("it took too long")
    late.late = True
    return late


def _broken(error: Exception) -> Broken:
    if isinstance(error, TimeoutError):
        return too_long()
    return Broken("the process ended" if isinstance(error, OSError) else "it sent what is not an answer")
