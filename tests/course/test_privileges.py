"""The filter of system calls: the same calls on every machine that it knows, by the numbers in the kernel's headers."""

import re
from pathlib import Path

import pytest

from autolab.course.grading.privileges import CALLS, CLONE3, KEYCTL

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),  # the table of every newer machine
}


def names(machine):
    if not HEADERS[machine].is_file():
        pytest.skip(f"no header {HEADERS[machine]}")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text())
    return {int(number): name for name, number in found}


@pytest.mark.parametrize("machine", CALLS)
def test_numbers_are_those_of_the_kernel(machine):
    known, (_, socket, clone, _) = names(machine), CALLS[machine]
    assert [known[n] for n in (socket, clone, CLONE3, KEYCTL[machine])] == ["socket", "clone", "clone3", "keyctl"]


def test_the_same_calls_are_refused_on_both_machines():
    refused = {machine: {names(machine)[n] for n in CALLS[machine][3]} for machine in CALLS}
    assert refused["x86_64"] - refused["aarch64"] == {"iopl", "ioperm"}  # ports, which ARM does not have
    assert refused["aarch64"] <= refused["x86_64"]
    assert {"ptrace", "mount", "unshare", "bpf", "memfd_create", "keyctl"} <= refused["aarch64"]
