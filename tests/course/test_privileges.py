"""The filter of system calls: the same calls on every machine that it knows, and what libseccomp would make of the same list."""

import ctypes
import errno
import os
import re
import struct
from pathlib import Path

import pytest

from autolab.course.grading.privileges import (
    CLONE,
    CLONE3,
    COMMANDS,
    FAMILIES,
    FCNTL,
    KEYCTL,
    MACHINES,
    NEW_NAMESPACES,
    REFUSED,
    SOCKET,
    program,
)  # fmt: skip

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),  # the table of every newer machine
}
NAMED = {"socket": SOCKET, "clone": CLONE, "clone3": CLONE3, "fcntl": FCNTL, "keyctl": KEYCTL}
CALLS = {name: pair for group in REFUSED.values() for name, pair in group.items()}
NEWEST = 451  # later calls stand in newer headers only


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernel(machine):
    if not HEADERS[machine].is_file():
        pytest.skip(f"no header {HEADERS[machine]}")
    header = HEADERS[machine].read_text()
    known = {name: int(n) for name, n in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header)}
    given = {name: pair[list(MACHINES).index(machine)] for name, pair in {**CALLS, **NAMED}.items()}
    assert {name: n for name, n in given.items() if n is not None and n < NEWEST} == {name: known[name] for name in given if name in known}


def test_every_call_is_refused_on_both_machines_except_ports_and_an_old_spelling():
    assert {name for name, pair in CALLS.items() if None in pair} == {"ioperm", "iopl", "inotify_init"}


def verdict(code, machine, number, first=0, second=0):
    """What the kernel makes of a call: the filter, run here."""
    data = struct.pack("=iIQQQQQQQ", number, MACHINES[machine], 0, first, second, 0, 0, 0, 0)
    lines, at, value = list(struct.iter_unpack("=HBBI", code)), 0, 0
    while True:
        what, yes, no, k = lines[at]
        at += 1
        if what == 0x20:
            value = struct.unpack_from("=I", data, k)[0]
        elif what == 0x06:
            return k
        elif what == 0x54:
            value &= k
        elif what == 0x05:
            at += k
        else:
            at += yes if {0x15: value == k, 0x25: value > k, 0x35: value >= k, 0x45: bool(value & k)}[what] else no


ALLOW, REFUSE, ABSENT = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_a_foreign_machine_and_the_calls_of_x32_are_refused(machine):
    other = next(m for m in MACHINES if m != machine)
    assert verdict(program(machine), other, 0) == verdict(program(machine), machine, 0x40000000 + 63) == REFUSE
    assert verdict(program(machine), machine, 63) == ALLOW


def by_libseccomp(machine):
    """The same list, made into a filter by libseccomp."""
    try:
        lib = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp is not installed")

    class Compare(ctypes.Structure):
        _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]

    lib.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(lib.seccomp_init(ALLOW))
    native, wanted = lib.seccomp_arch_native(), lib.seccomp_arch_resolve_name(machine.encode())
    lib.seccomp_arch_add(rules, ctypes.c_uint32(wanted))
    if native & 0xFFFFFFFF != wanted & 0xFFFFFFFF:
        lib.seccomp_arch_remove(rules, ctypes.c_uint32(native))

    def refuse(name, action, *tests):
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number != -1:  # a library from before the call
            array = (Compare * len(tests))(*tests)
            assert lib.seccomp_rule_add_array(rules, ctypes.c_uint32(action), number, len(tests), array) in (0, -errno.EEXIST)

    for name in CALLS:
        refuse(name, REFUSE)
    refuse("clone3", ABSENT)
    for bit in (1 << i for i in range(32) if NEW_NAMESPACES >> i & 1):
        refuse("clone", REFUSE, Compare(0, 7, bit, bit))
    path = os.memfd_create("filter")
    assert lib.seccomp_export_bpf(rules, path) == 0
    return os.pread(path, 1 << 20, 0)


@pytest.mark.parametrize("machine", MACHINES)
def test_libseccomp_decides_alike(machine):
    own, theirs = program(machine), by_libseccomp(machine)
    position = list(MACHINES).index(machine)
    special = {pair[position] for pair in (SOCKET, FCNTL)}
    calls = [(n, first) for n in range(NEWEST) if n not in special for first in (0, 0x11, 0x10000000, 0x40000000, 0x20000 | 17)]
    assert [c for c in calls if verdict(own, machine, *c) != verdict(theirs, machine, *c)] == []


@pytest.mark.parametrize("machine", MACHINES)
def test_of_sockets_and_fcntl_a_few_are_allowed(machine):
    code, position = program(machine), list(MACHINES).index(machine)
    assert [f for f in range(50) if verdict(code, machine, SOCKET[position], f) == ALLOW] == list(FAMILIES)
    assert [c for c in range(1100) if verdict(code, machine, FCNTL[position], 3, c) == ALLOW] == list(COMMANDS)
