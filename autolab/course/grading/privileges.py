"""What a session gives up before it runs a student's code: capabilities, keys, descriptors, and system calls.

The namespaces of the sandbox hide files, network and processes; these close what a namespace does not cover.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from functools import cache
from typing import Any

NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
NEW_NAMESPACES = 0x7E020000  # flags of clone
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6; netlink, vsock and the kernel's ciphers are none of an answer's business
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # what the kernel calls them; each has its own number for a call
SOCKET, CLONE, CLONE3, FCNTL, KEYCTL = (41, 198), (56, 220), (435, 435), (72, 25), (250, 219)
# Calls that an answer does not need, and what they would allow.
REFUSED: dict[str, dict[str, tuple[int | None, int]]] = {
    "memory that no limit counts": {
        "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "memfd_create": (319, 279),
        "memfd_secret": (447, 447), "mq_open": (240, 180), "msgget": (68, 186), "semget": (64, 190), "shmat": (30, 196),
        "shmget": (29, 194), "userfaultfd": (323, 282),
    },
    "a word to another session, through a file that both read": {
        "cachestat": (451, 451), "flock": (73, 32), "inotify_add_watch": (254, 27), "inotify_init": (253, None),
        "inotify_init1": (294, 26), "fanotify_init": (300, 262), "mincore": (27, 232), "preadv2": (327, 286), "pwritev2": (328, 287),
    },
    "a look at the machine, and to keep it busy": {
        "listmount": (458, 458), "perf_event_open": (298, 241), "statmount": (457, 457), "sync": (162, 81), "syncfs": (306, 267),
        "sysinfo": (99, 179), "syslog": (103, 116),
    },
    "keys": {"add_key": (248, 217), "keyctl": KEYCTL, "request_key": (249, 218)},
    "other processes": {
        "kcmp": (312, 272), "pidfd_open": (434, 434), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    },
    "mounts and namespaces": {
        "chroot": (161, 51), "fsconfig": (431, 431), "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433),
        "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429), "name_to_handle_at": (303, 264),
        "open_by_handle_at": (304, 265), "open_tree": (428, 428), "open_tree_attr": (467, 467), "pivot_root": (155, 41),
        "setns": (308, 268), "umount2": (166, 39), "unshare": (272, 97),
    },
    "the kernel and the machine": {
        "acct": (163, 89), "bpf": (321, 280), "delete_module": (176, 106), "finit_module": (313, 273), "init_module": (175, 105),
        "ioperm": (173, None), "iopl": (172, None), "kexec_file_load": (320, 294), "kexec_load": (246, 104), "personality": (135, 92),
        "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142), "setdomainname": (171, 162), "sethostname": (170, 161),
        "swapoff": (168, 225), "swapon": (167, 224),
    },
}  # fmt: skip
# What fcntl may do: duplicate a descriptor, and its flags. Locks, leases and watches of a file are seen by all that read it.
COMMANDS = (0, 1, 2, 3, 4, 1030)
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
FIRST, SECOND = 16, 24  # where the arguments of a call lie
ALLOW, REFUSE = 0x7FFF0000, 0x00050000


def forget_keys(libc: Any) -> None:
    """Leave the grader's keyring: it is inherited, and one that is shared is a way to talk."""
    if platform.machine() in MACHINES:
        libc.syscall(_number(KEYCTL, platform.machine()), 1, None, 0, 0, 0)


def drop_capabilities(libc: Any) -> None:
    """Give up what root, or the owner of a user namespace, may do. Raises OSError if that does not work."""
    header, nothing = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    if libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def close_all_but(descriptor: int) -> None:
    """Close every descriptor but the standard ones and this."""
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, 1 << 16)


def refused(machine: str) -> list[int]:
    """The numbers of the calls that are refused whatever their arguments are."""
    numbers = (_number(pair, machine) for group in REFUSED.values() for pair in group.values())
    return [number for number in numbers if number is not None]


@cache
def program(machine: str) -> bytes:
    """The filter of system calls as the kernel reads it: instructions of eight bytes; empty for a machine not known here."""
    if machine not in MACHINES:
        return b""
    clone3, clone, socket, fcntl = (_number(pair, machine) for pair in (CLONE3, CLONE, SOCKET, FCNTL))

    def line(code: int, value: int | None, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    def only(call: int | None, at: int, allowed: tuple[int, ...]) -> list[bytes]:
        tests = [line(EQUAL, value, len(allowed) - i, 0) for i, value in enumerate(allowed)]
        return [line(EQUAL, call, 0, 3 + len(tests)), line(LOAD, at), *tests, refuse, line(LOAD, 0)]

    refuse = line(RETURN, REFUSE | errno.EPERM)
    lines = [
        line(LOAD, 4), line(EQUAL, MACHINES[machine], 1, 0), refuse,
        line(LOAD, 0), line(AT_LEAST, 0x40000000, 0, 1), refuse,  # the calls of x32
        line(EQUAL, clone3, 0, 1), line(RETURN, REFUSE | errno.ENOSYS),  # it takes its flags from memory, where a filter cannot look
    ]  # fmt: skip
    for number in refused(machine):
        lines += [line(EQUAL, number, 0, 1), refuse]
    lines += [line(EQUAL, clone, 0, 4), line(LOAD, FIRST), line(ANY_BIT, NEW_NAMESPACES, 0, 1), refuse, line(LOAD, 0)]
    lines += only(socket, FIRST, FAMILIES) + only(fcntl, SECOND, COMMANDS)
    return b"".join([*lines, line(RETURN, ALLOW)])


def _number(pair: tuple[int | None, int], machine: str) -> int | None:
    return pair[machine == "aarch64"]


def filter_calls(libc: Any) -> bool:
    """Refuse the calls above from now on, here and in every child. False if this machine or its kernel cannot."""
    code = program(platform.machine())
    if not code or libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    buffer = ctypes.create_string_buffer(code)
    address = struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    return bool(libc.prctl(SECCOMP, FILTER, address, 0, 0) == 0)
