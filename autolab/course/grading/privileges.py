"""What a session gives up before it runs a student's code: capabilities, keys, descriptors, and system calls.

The namespaces of the sandbox hide files, network and processes; these close what a namespace does not cover.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import Any

NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
NEW_NAMESPACES = 0x7E020000  # flags of clone
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6; netlink, vsock and the kernel's ciphers are none of an answer's business
# Calls that an answer does not need, by the number that each has on x86_64 and on aarch64: memory that no limit counts
# (memfd, shared segments), keys, other processes' memory, mounts, namespaces, kernel programs.
CALLS = {
    "x86_64": (0xC000003E, 41, 56, (
        29, 30, 64, 68, 101, 103, 135, 155, 161, 163, 165, 166, 167, 168, 169, 170, 171, 172, 173, 175, 176, 179, 240, 246, 248, 249,
        250, 272, 298, 300, 303, 304, 308, 310, 311, 312, 313, 319, 320, 321, 323, 442, 447, *range(425, 435),
    )),
    "aarch64": (0xC00000B7, 198, 220, (
        39, 40, 41, 51, 60, 89, 92, 97, 104, 105, 106, 116, 117, 142, 161, 162, 180, 186, 190, 194, 196, 217, 218, 219, 224, 225, 241,
        262, 264, 265, 268, 270, 271, 272, 273, 279, 280, 282, 294, 442, 447, *range(425, 435),
    )),
}  # fmt: skip
CLONE3 = 435  # takes its flags from memory, where a filter cannot look: libraries fall back to clone
KEYCTL = {"x86_64": 250, "aarch64": 219}
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000


def forget_keys(libc: Any) -> None:
    """Leave the keyring of whoever grades: it is inherited, and one that is shared is a way to talk."""
    if number := KEYCTL.get(platform.machine()):
        libc.syscall(number, 1, None, 0, 0, 0)


def drop_capabilities(libc: Any) -> None:
    """Give up what root, or the owner of a user namespace, may do. Raises OSError if that does not work."""
    header, nothing = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    if libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def close_all_but(descriptor: int) -> None:
    """Close every descriptor but the standard ones and this."""
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, 1 << 16)


def program(machine: str) -> bytes:
    """The filter of system calls as the kernel reads it: instructions of eight bytes; empty for a machine not known here."""
    if machine not in CALLS:
        return b""
    architecture, socket, clone, denied = CALLS[machine]

    def line(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    refuse = line(RETURN, REFUSE | errno.EPERM)
    lines = [
        line(LOAD, 4), line(EQUAL, architecture, 1, 0), refuse,
        line(LOAD, 0), line(AT_LEAST, 0x40000000, 0, 1), refuse,  # the calls of x32
        line(EQUAL, CLONE3, 0, 1), line(RETURN, REFUSE | errno.ENOSYS),
    ]  # fmt: skip
    for number in denied:
        lines += [line(EQUAL, number, 0, 1), refuse]
    lines += [line(EQUAL, clone, 0, 3), line(LOAD, 16), line(ANY_BIT, NEW_NAMESPACES, 0, 1), refuse, line(LOAD, 0)]
    allowed = [line(EQUAL, family, len(FAMILIES) - i, 0) for i, family in enumerate(FAMILIES)]
    lines += [line(EQUAL, socket, 0, 2 + len(allowed)), line(LOAD, 16), *allowed, refuse]
    return b"".join([*lines, line(RETURN, ALLOW)])


def filter_calls(libc: Any) -> bool:
    """Refuse the calls above from now on, here and in every child. False if this machine or its kernel cannot."""
    code = program(platform.machine())
    if not code or libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    buffer = ctypes.create_string_buffer(code)
    address = struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    return bool(libc.prctl(SECCOMP, FILTER, address, 0, 0) == 0)
