"""The process in the sandbox: imports everything once, then forks one child a submission.

    python -m autolab.course.grading.sandbox_server CONTROL_FD

The control socket is an inherited descriptor and no path; each message on it brings the connection of a new session.
A child gives up what the server may do, takes namespaces of its own, and answers calls until it is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import platform
import resource
import select
import shutil
import signal
import socket
import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

# loaded once for all sessions, whether or not they are used here
import autolab.autograd.functional
import autolab.func
import autolab.nn
import autolab.optim  # noqa: F401
from autolab.course.grading import derivatives, handlers, privileges, protocol

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
CLONE = {"x86_64": 56}.get(platform.machine(), 220)
PRIVATE, RECURSIVE, BIND, REMOUNT, READ_ONLY, NOSUID, NODEV, NOEXEC = 1 << 18, 1 << 14, 1 << 12, 32, 1, 2, 4, 8
DEVICES = (b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/random", b"/dev/urandom", b"/dev/tty")  # those of bubblewrap
DIE_WITH_PARENT = 1
# What the first cell loads, and the first thing that is shown, a report, and an exception.
FIRST = ("import numpy as np\nnp.ones(2)", "from autolab.check import check\ncheck('exp', lambda g, out: g * out)", "1 / 0")


def serve(control: socket.socket, shell: Any) -> None:
    """Fork a session for every connection that comes through the control socket; end when it closes."""
    libc = ctypes.CDLL(None, use_errno=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    privileges.program(platform.machine())  # which every session uses
    gc.collect()
    gc.freeze()
    sessions: dict[int, int] = {}  # the number of a session: its first process
    control.sendall(b"ready\n")
    while True:
        select.select([control], [], [], 1.0)
        with contextlib.suppress(ChildProcessError):
            while (done := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                sessions = {n: pid for n, pid in sessions.items() if pid != done}
        readable, _, _ = select.select([control], [], [], 0)
        if not readable:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not message:
            return
        order = json.loads(message)
        if "end" in order:
            if pid := sessions.pop(order["end"], 0):
                _kill(pid)
            shutil.rmtree(order["folder"], ignore_errors=True)  # its folder, where that is not in memory of its own
            control.sendall(b"ended\n")
            continue
        connection = socket.socket(fileno=descriptors[0])
        if "fork" in order:
            _fork_server(control, connection, shell, order["derivatives"])
            continue
        pid = _fork(libc, order)
        if pid == 0:
            try:
                control.close()
                _session(libc, shell, connection, order)
            finally:
                os._exit(0)
        if pid > 0:
            sessions[order["start"]] = pid
        else:
            connection.sendall(b"N")
        connection.close()


def _fork_server(control: socket.socket, its_control: socket.socket, shell: Any, keeps: bool) -> None:
    """Another server, which keeps derivatives or has none. Nothing of a student's has been in the process it is a copy of."""
    with its_control:
        if os.fork() != 0:
            return
        try:
            control.close()
            if not keeps:
                gc.unfreeze()  # or what is forgotten would stay in memory where it is part of a circle
                derivatives.forget()
            serve(its_control, shell)
        finally:
            os._exit(0)


def _fork(libc: Any, order: dict) -> int:
    """Fork into namespaces of its own; -1 if the kernel gives none.

    One call makes the process and its namespaces: a process moves into new ones of the other kinds, but only its children
    into one of processes, and a fork costs ten milliseconds.
    """
    if not order["separate"]:
        return os.fork()
    flags = NEWPID | NEWNS | NEWIPC | NEWNET | (0 if os.getuid() == 0 and order["privileged"] else NEWUSER) | signal.SIGCHLD
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = ctypes.PyDLL(None).syscall(CLONE, flags, 0, 0, 0, 0)
    (python.PyOS_AfterFork_Parent if pid else python.PyOS_AfterFork_Child)()
    return pid


def _kill(pid: int) -> None:
    """End a session: with the first process of its namespace ends every other in it."""
    for end in (os.killpg, os.kill):  # the group is for a sandbox without namespaces
        with contextlib.suppress(OSError):
            end(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _warm_shell():
    os.environ["NBGRADER_EXECUTION"] = "autograde"
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Context"
    shell = InteractiveShell.instance(config=config)
    handlers.warm()
    handlers.prepare(shell)
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in FIRST:
            shell.run_cell(cell)
    shell.reset(new_session=True)
    shell.execution_count = 1
    # Ends the process when it has computed for long enough. The first process of a namespace, which a session is, would not
    # be ended by a signal without a handler, and one in Python would wait for the end of a call.
    libc = ctypes.CDLL(None)
    libc.signal(signal.SIGPROF, ctypes.cast(libc._exit, ctypes.c_void_p))
    return shell


def _session(libc: Any, shell: Any, connection: socket.socket, order: dict) -> None:
    _confine(libc)
    os.setsid()
    files = _receive_files(connection) if order["files"] else {}
    if order["separate"]:
        size = b"mode=1777,size=%d,nr_inodes=4096" % order["disk"]  # an empty file takes the kernel's memory, too
        libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None)
        libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", NOSUID | NODEV, size)
        fits = _own_devices(libc)
        if files and not (order["privileged"] and os.getuid() == 0):
            fits &= _mount_files(libc, files, order["folder"])
            files = {}
        else:
            fits &= libc.mount(b"tmpfs", b"/scratch", b"tmpfs", NOSUID | NODEV, size) == 0
        for folder in order["folders"]:
            if os.path.isdir(folder):  # what is not there needs not be hidden
                fits &= libc.mount(b"tmpfs", folder.encode(), b"tmpfs", READ_ONLY | NOSUID | NODEV, b"size=4k") == 0
        if not fits:
            connection.sendall(b"N")
            return
        os.chdir("/scratch")
        if order["privileged"] and os.getuid() == 0:
            _become(order["user"])
            _confine(libc)  # a process that becomes another user forgets it
    else:  # sessions have one user and one disk: at least each its folder
        os.mkdir(order["folder"])
        os.chdir(order["folder"])
    _write_files(files, ".")
    _limit(order)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    privileges.close_all_but(connection.fileno())
    privileges.forget_keys(libc)
    if order["separate"]:
        privileges.drop_capabilities(libc)
    privileges.filter_calls(libc)
    connection.sendall(b"Y")
    _answer(shell, connection, order)


def _own_devices(libc: Any) -> bool:
    """Terminals of its own, and devices whose times and rights cannot be set: they are the machine's, and all sessions see them."""
    done = libc.mount(b"devpts", b"/dev/pts", b"devpts", NOSUID | NOEXEC, b"ptmxmode=0666,mode=620")
    return not done and not any(libc.mount(None, name, None, REMOUNT | BIND | READ_ONLY | NOSUID, None) for name in DEVICES)


def _confine(libc: Any) -> None:
    libc.prctl(privileges.NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def _become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _answer(shell: Any, connection: Any, order: dict) -> None:
    sys.path.insert(0, "")  # as in a kernel: a module beside the notebook
    handlers.Handlers(shell, connection, order["busy"]).loop()


def _receive_files(connection: Any) -> dict[str, bytes]:
    return {name: data.tobytes() for name, data in protocol.receive(connection).items()}


def _write_files(files: dict[str, bytes], folder: str) -> None:
    for name, data in files.items():
        with open(os.path.join(folder, name), "xb") as file:
            file.write(data)


def _mount_files(libc: Any, files: dict[str, bytes], name: str) -> bool:
    """Put a folder with the files, read-only, over the one that all sessions share.

    Without root a session has no name in the kernel's books to write a file of its own file system under, so its files lie in
    the server's, where nobody sees them but the session whose folder they are.
    """
    folder = f"/scratch/{name}"
    os.mkdir(folder)
    _write_files(files, folder)
    if libc.mount(folder.encode(), b"/scratch", None, BIND, None) != 0:
        return False
    return libc.mount(None, b"/scratch", None, REMOUNT | BIND | READ_ONLY | NOSUID | NODEV, None) == 0


def _limit(order: dict) -> None:
    limits = {
        resource.RLIMIT_CPU: order["cpu"],
        resource.RLIMIT_FSIZE: order["disk"],
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: order["memory"],
    }
    if order["processes"]:
        limits[resource.RLIMIT_NPROC] = order["processes"]
    for name, value in limits.items():
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, value))


class Stream:
    """Standard input and output as a connection, for a container into which no socket passes."""

    def __init__(self) -> None:
        self.reads, self.writes = os.dup(0), os.dup(1)

    def settimeout(self, seconds: float | None) -> None:
        """Only the other side waits for a limited time."""

    def recv(self, n: int) -> bytes:
        """What there is, at most n bytes; nothing at the end."""
        return os.read(self.reads, n)

    def sendall(self, data: bytes) -> None:
        """Write all bytes, however many calls it takes."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.writes, view) :]


def serve_container(order: dict) -> None:
    """The one session of a container: it begins as root without powers but one, to become a user whom nobody knows."""
    connection, libc = Stream(), ctypes.CDLL(None, use_errno=True)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)
    shell = _warm_shell()
    if os.getuid() == 0:
        _become(order["user"])
    if order["files"]:
        _write_files(_receive_files(connection), ".")
    _limit(order)
    os.dup2(null, 2)
    privileges.forget_keys(libc)
    privileges.drop_capabilities(libc)
    privileges.filter_calls(libc)
    connection.sendall(b"Y")
    _answer(shell, connection, order)


if __name__ == "__main__":
    if sys.argv[1] == "--stdio":
        serve_container(json.loads(sys.argv[2]))
    else:
        serve(socket.socket(fileno=int(sys.argv[1])), _warm_shell())
