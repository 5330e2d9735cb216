"""The box: a process without network, files and privileges, and the sessions in it.

`Box()` takes bubblewrap where it works, else docker or podman, else a plain process with limits, which is said aloud.
Whichever it is, nothing that comes out of it is a verdict.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import autolab

from . import wire

NOT_ISOLATED = (
    "NOT ISOLATED: neither bubblewrap nor docker nor podman works here, so student code runs with limits only and can "
    "read this user's files and use the network. Verdicts are still made outside its process. Install bubblewrap."
)
# What exercises on behaviour expect: the box's server has read it and forgotten it, and a session cannot read it again.
EXPECTED = Path(autolab.__file__).parent / "check"
SOLVED = Path(autolab.__file__).parent / "course" / "exercises"  # in a wheel: the problem sets, with solutions and hidden tests
STRANGER, EACH = 210_000, 500  # users from here on own nothing and nobody; so many for each box
# Where memory runs out, the kernel is to end the box and not the judge.
SACRIFICE = ["/bin/sh", "-c", 'echo 1000 2>/dev/null > /proc/self/oom_score_adj; exec "$@"', "box"] if os.name == "posix" else []
START = 60.0  # seconds for the imports
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HOME": "/scratch", "LANG": "C.UTF-8",
    "IPYTHONDIR": "/scratch/.ipython", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "MPLBACKEND": "agg",
    "PATH": "/usr/bin:/bin", "MPLCONFIGDIR": "/scratch", "TMPDIR": "/scratch",
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What a session may use: seconds, bytes, processes and threads."""

    cell: float = 8.0  # seconds for one cell or one call
    total: float = 60.0  # seconds for one notebook
    cpu: int = 40
    memory: int = 2 << 30
    disk: int = 16 << 20
    processes: int = 8


class Box:
    """A warm process that forks sessions.

    Parameters
    ----------
    mode : {"bubblewrap", "docker", "podman", "limits"}, optional
        How to isolate; the best that works here if not given.
    limits : Limits
        What one session may use.
    """

    def __init__(self, mode: str | None = None, limits: Limits | None = None):
        self.mode, self.limits = mode or best_mode(), limits or Limits()
        self.process: subprocess.Popen | None = None
        self.control: socket.socket | None = None
        self.folder: str | None = None
        self.count, self.separate = 0, self.mode in ("bubblewrap", "docker", "podman")
        # root stays root in the box's server, so that each session can become a user whom nobody knows
        self.privileged = self.mode == "bubblewrap" and os.getuid() == 0

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, unless it runs. Raises RuntimeError with what it printed if it does not."""
        if self.process is not None and self.process.poll() is None:
            return
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        command = [*SACRIFICE, *COMMANDS[self.mode](theirs.fileno(), self.privileged)]
        environment = None
        if self.mode == "limits":
            self.folder = tempfile.mkdtemp(prefix="autolab-box-")
            here = {name: value.replace("/scratch", self.folder) for name, value in ENVIRONMENT.items()}
            environment = {**here, "PYTHONPATH": _python_path()}
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=environment, start_new_session=True, cwd=self.folder or "/",
        )  # fmt: skip
        theirs.close()
        self.control = ours
        ours.settimeout(START)
        try:
            said = ours.recv(6)
        except OSError:
            said = b""
        if said != b"ready\n":
            self.process.kill()
            errors = (self.process.communicate()[1] or b"").decode(errors="replace")
            self.process = None
            raise RuntimeError(f"the box ({self.mode}) did not start:\n{errors[-2000:]}")
        ours.settimeout(10)

    def open(self) -> Session:
        """A new session. Raises RuntimeError if the box cannot give one."""
        for attempt in (1, 2):
            try:
                self.start()
                return self._open()
            except (OSError, wire.Broken) as error:
                self.close()
                if attempt == 2:
                    raise RuntimeError(f"the box ({self.mode}) gives no session: {error}") from error
        raise AssertionError

    def _open(self) -> Session:
        assert self.control
        self.count += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        order = {"start": self.count, "separate": self.separate, "privileged": self.privileged, **asdict(self.limits)}
        order["hidden"] = sorted(map(str, EXPECTED.glob("**/behaviours_*.py*"))) if self.separate else []
        # limits and keys count by user: no two sessions at a time have the same
        order["user"] = STRANGER + os.getpid() % 100_000 * EACH + self.count % EACH
        if self.mode == "limits":
            order["processes"] = 0  # it would count every process of this user
        socket.send_fds(self.control, [json.dumps(order).encode()], [theirs.fileno()])
        theirs.close()
        ours.settimeout(10)
        said = ours.recv(1)
        if said != b"Y":
            ours.close()
            raise OSError("it cannot take namespaces of its own")
        return Session(self, self.count, ours)

    def end(self, number: int) -> None:
        """Kill all processes of a session."""
        if self.control is None:
            return
        try:
            self.control.sendall(json.dumps({"end": number}).encode())
            if self.control.recv(6) != b"ended\n":
                self.close()
        except OSError:
            self.close()

    def close(self) -> None:
        """End the box and everything in it."""
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            if self.process.stderr:
                self.process.stderr.close()
            self.process = None
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


class Session:
    """One child in the box, asked over one connection. After `Broken` it is of no more use."""

    def __init__(self, box: Box, number: int, connection: socket.socket):
        self.box, self.number, self.connection, self.broken = box, number, connection, False

    def ask(self, what: str, *arguments: Any) -> Any:
        """The answer to a question. Raises Broken if there is none, RemoteError if the student's code raised."""
        if self.broken:
            raise wire.Broken("the process ended")
        try:
            wire.send(self.connection, (what, arguments), self.box.limits.cell)
            answer = wire.receive(self.connection, self.box.limits.cell)
        except wire.Broken:
            self.broken = True
            raise
        if not isinstance(answer, dict) or ("ok" in answer) == ("error" in answer):
            self.broken = True
            raise wire.Broken("it sent what is no answer")
        if "error" in answer:
            raise RemoteError(str(answer["error"])[: wire.TEXT])
        return answer["ok"]

    def close(self) -> None:
        """Kill it, with everything that it started."""
        self.broken = True
        self.connection.close()
        self.box.end(self.number)


class RemoteError(Exception):
    """What the student's code raised, as text."""


# --- how to start it


def bubblewrap(descriptor: int, privileged: bool) -> list[str]:
    """The command: read-only system and Python, empty /tmp, no /proc, no network, no environment."""
    command = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if privileged:
        for capability in ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
            command += ["--cap-add", capability]
    else:
        command.append("--unshare-user")
    command += ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "box", "--dev", "/dev"]
    for path in ("/usr", "/lib", "/lib64", "/bin", "/sbin"):
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    command += ["--tmpfs", "/scratch", "--dir", "/etc", "--dir", "/tmp"]
    for path in ("/etc/ld.so.cache", "/etc/localtime"):
        command += ["--ro-bind-try", path, path]
    readable = _readable()
    # What bubblewrap makes on the way to them is for root alone unless it is told: an answer may import what nobody has yet.
    for parent in sorted({str(p) for path in readable for p in Path(path).parents} - {"/"}):
        command += ["--perms", "0755", "--dir", parent]
    for path in readable:
        command += ["--ro-bind", path, path]
    if SOLVED.is_dir():
        command += ["--tmpfs", str(SOLVED)]
    for name, value in {**ENVIRONMENT, "PYTHONPATH": _python_path()}.items():
        command += ["--setenv", name, value]
    return [*command, "--remount-ro", "/", "--chdir", "/scratch", *_server(descriptor)]


def _container(engine: str, descriptor: int, privileged: bool) -> list[str]:
    # Descriptors do not pass into a container of docker; a server per course would need a volume. See docs/instructors.md.
    raise RuntimeError(
        f"{engine}: run `autolab course grade` inside a container with bubblewrap; see docs/instructors.md"
    )


def _server(descriptor: int) -> list[str]:
    return [sys.executable, "-P", "-m", "autolab.course.grading.inside", str(descriptor)]


COMMANDS = {
    "bubblewrap": bubblewrap,
    "docker": functools.partial(_container, "docker"),
    "podman": functools.partial(_container, "podman"),
    "limits": lambda descriptor, privileged: _server(descriptor),
}


def _readable() -> list[str]:
    """The folders that Python needs: the interpreter, its packages, and this package, each once."""
    wanted = {
        sys.prefix,
        sys.base_prefix,
        str(Path(autolab.__file__).parent),
        *(sysconfig.get_paths()[k] for k in ("purelib", "platlib")),
    }
    wanted |= {str(Path(p).resolve()) for p in wanted}
    wanted = {p for p in wanted if p not in ("/", "/usr") and not p.startswith("/usr/")}
    return sorted(p for p in wanted if not any(p != q and p.startswith(q + "/") for q in wanted))


def _python_path() -> str:
    return str(Path(autolab.__file__).parent.parent)


@functools.cache
def best_mode() -> str:
    """The best isolation that works here; AUTOLAB_BOX overrules."""
    if chosen := os.environ.get("AUTOLAB_BOX"):
        if chosen not in COMMANDS:
            raise RuntimeError(f"AUTOLAB_BOX is {chosen!r}, expected one of {', '.join(COMMANDS)}")
        return chosen
    if shutil.which("bwrap"):
        try:
            done = subprocess.run(
                ["bwrap", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "true"],
                capture_output=True,
                timeout=10,
                check=False,
            )
            if done.returncode == 0:
                return "bubblewrap"
        except (OSError, subprocess.TimeoutExpired):
            pass
    return "limits"
