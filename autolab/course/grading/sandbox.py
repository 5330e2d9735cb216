"""The sandbox: a process without network, files and privileges, and the sessions in it.

`Sandbox()` takes bubblewrap where it works, else docker or podman with our image. A plain process with limits has to be asked for.
Whichever it is, nothing that comes out of it is a verdict.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import itertools
import json
import math
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import autolab
from autolab.course import problem_sets

from . import protocol
from .derivatives import hidden_folders

REFUSED = (
    "student code cannot be isolated on this machine, so nothing is graded: bubblewrap does not work here, nor docker or podman with an "
    "image autolab-box. Install bubblewrap (Linux: `apt install bubblewrap` or `dnf install bubblewrap`), or build the image as the guide "
    "for instructors says. If you trust every student, choose `--box limits` (or c.RunInBox.box = 'limits' in nbgrader_config.py, or "
    "AUTOLAB_BOX=limits): student code can then read and delete your files, use the network, and show what it found on its student's page"
)
NOT_ISOLATED = (
    "NOT ISOLATED, as you chose: student code runs as you with limits only. It can read and delete your files, use the network, "
    "and show what it found on its student's page. Verdicts are still made outside its process."
)
# What exercises on behaviour expect: the sandbox's server has loaded all of it and forgotten that, and a session cannot read it again.
BEHAVIOUR = str(Path(autolab.__file__).parent / "check" / "behaviour")
FIRST_USER, USERS = 210_000, 500  # users from here on own nothing and nobody; so many for each sandbox
# Where memory runs out, the kernel is to end the sandbox and not the judge.
FIRST_TO_END = ["/bin/sh", "-c", 'echo 1000 2>/dev/null > /proc/self/oom_score_adj; exec "$@"', "box"] if os.name == "posix" else []
PACKAGES = ("numpy", "ml_dtypes", "IPython")  # they need not lie beside Python: pip puts them into a home where it may not write there
ENGINES = ("docker", "podman")
IMAGE = os.environ.get("AUTOLAB_IMAGE", "autolab-box")  # built as docs/instructors.md says: Python and autolab
ERROR = 2000  # characters of what the sandbox says of an error
START = 60.0  # seconds for the imports
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HOME": "/scratch", "LANG": "C.UTF-8",
    "IPYTHONDIR": "/scratch/.ipython", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "MPLBACKEND": "agg",
    "PATH": "/usr/bin:/bin", "MPLCONFIGDIR": "/scratch", "TMPDIR": "/scratch",
    "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",  # there is no network to wait for
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What a session may use: seconds, bytes, processes and threads."""

    cell: float = 8.0  # seconds for one cell or one call
    busy: float = 2.0  # seconds of computing in these, after which it is taken for a loop: the slowest solution takes 0.05
    total: float = 60.0  # seconds for one notebook
    cpu: int = 40
    memory: int = 2 << 30
    disk: int = 16 << 20
    processes: int = 8


class Sandbox:
    """A warm process that forks sessions.

    Parameters
    ----------
    mode : {"bubblewrap", "docker", "podman", "limits"}, optional
        How to isolate; the best that works here if not given, and RuntimeError if none does but limits.
    limits : Limits
        What one session may use.
    """

    derivatives = True  # whether the engine takes any in it

    def __init__(self, mode: str | None = None, limits: Limits | None = None):
        self.mode, self.limits = isolation(mode), limits or Limits()
        self.process: subprocess.Popen | None = None
        self.control: socket.socket | None = None
        self.folder: str | None = None
        # in no order: a session is not to learn from its number how many came before
        self.numbers, self.number = itertools.cycle(secrets.SystemRandom().sample(range(USERS), USERS)), 0
        self.name = secrets.token_hex(4)  # of the folders of its sessions: servers that are forks of one share a disk
        self.separate = self.mode == "bubblewrap"
        self.containers: dict[int, subprocess.Popen] = {}
        # root stays root in the sandbox's server, so that each session can become a user whom nobody knows
        self.privileged = self.mode == "bubblewrap" and os.getuid() == 0

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @functools.cached_property
    def without_derivatives(self) -> Sandbox:
        """A sandbox with the same limits, where the engine takes none; it starts when its first session is opened."""
        return SandboxWithoutDerivatives(self)

    def start(self) -> None:
        """Start the process, unless it runs. Raises RuntimeError with what it printed if it does not."""
        if self.mode in ENGINES:  # a container for each session
            return
        if self.process is not None and self.process.poll() is None:
            return
        self.close()
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        command = [*FIRST_TO_END, *COMMANDS[self.mode](far.fileno(), self.privileged)]
        environment = None
        if self.mode == "limits":
            self.folder = tempfile.mkdtemp(prefix="autolab-box-")
            here = {name: value.replace("/scratch", self.folder) for name, value in ENVIRONMENT.items()}
            environment = {**here, "PYTHONPATH": _python_path()}
        self.process = subprocess.Popen(
            command, pass_fds=[far.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=environment, start_new_session=True, cwd=self.folder or "/",
        )  # fmt: skip
        far.close()
        self.control = near
        if not _is_ready(near):
            self.process.kill()
            errors = (self.process.communicate()[1] or b"").decode(errors="replace")
            self.process = None
            raise RuntimeError(f"the box ({self.mode}) did not start:\n{errors[-2000:]}")

    def open(self, files: Mapping[str, bytes] = MappingProxyType({})) -> Session:
        """A new session, with these files in its folder. Raises RuntimeError if the sandbox cannot give one."""
        for attempt in (1, 2):
            try:
                if self.mode in ENGINES:
                    return self._contain(files)
                self.start()
                return self._open(files)
            except (OSError, protocol.Broken) as error:
                self.close()
                if attempt == 2:
                    raise RuntimeError(f"the box ({self.mode}) gives no session: {error}") from error
        raise AssertionError

    @functools.cached_property
    def _hidden(self) -> list[str]:
        """The folders that a session does not see."""
        solutions = [] if (folder := problem_sets.installed_folder()) is None else [str(folder)]
        return [BEHAVIOUR, *solutions, *(hidden_folders() if not self.derivatives else [])]

    def _order(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """What the next session is told."""
        self.number = next(self.numbers)
        # limits and keys count by user: no two sessions at a time have the same
        user = FIRST_USER + os.getpid() % 100_000 * USERS + self.number
        folder = self._session_folder(self.number)
        who = {"separate": self.separate, "privileged": self.privileged, "user": user}
        return {"start": self.number, "folder": folder, **who, "files": bool(files), **asdict(self.limits)}

    def _open(self, files: Mapping[str, bytes]) -> Session:
        assert self.control
        order, (near, far) = self._order(files), socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        order["folders"] = self._hidden if self.separate else []
        if self.mode == "limits":
            order["processes"] = 0  # it would count every process of this user
        socket.send_fds(self.control, [json.dumps(order).encode()], [far.fileno()])
        far.close()
        _send_files(near, files, 10)
        near.settimeout(10)
        said = near.recv(1)
        if said != b"Y":
            near.close()
            raise OSError("it cannot take namespaces of its own")
        return Session(self, self.number, near)

    def _contain(self, files: Mapping[str, bytes]) -> Session:
        order, (near, far) = self._order(files), socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        command = container(self.mode, self._container_name(self.number), order)
        with tempfile.TemporaryFile() as errors:
            self.containers[self.number] = subprocess.Popen(command, stdin=far, stdout=far, stderr=errors, start_new_session=True)
            far.close()
            _send_files(near, files, START)
            near.settimeout(START)
            if near.recv(1) != b"Y":
                near.close()
                self.end(self.number)
                errors.seek(0)
                raise OSError(errors.read(2000).decode(errors="replace").strip() or "the container ended")
        return Session(self, self.number, near)

    def _session_folder(self, number: int) -> str:
        return f"{self.name}-{number}"

    def _container_name(self, number: int) -> str:
        return f"autolab-box-{os.getpid()}-{number}"

    def end(self, number: int) -> None:
        """Kill all processes of a session."""
        if (client := self.containers.pop(number, None)) is not None:
            subprocess.run([self.mode, "kill", self._container_name(number)], capture_output=True, timeout=60, check=False)
            client.kill()
            client.wait()
            return
        if self.control is None:
            return
        try:
            self.control.sendall(json.dumps({"end": number, "folder": self._session_folder(number)}).encode())
            if self.control.recv(6) != b"ended\n":
                self.close()
        except OSError:
            self.close()

    def close(self) -> None:
        """End the sandbox and everything in it."""
        if "without_derivatives" in vars(self):
            self.without_derivatives.close()
        for number in list(self.containers):
            self.end(number)
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):  # the server ends when its control socket closes
                self.process.wait(2.0)
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


class ForkedSandbox(Sandbox):
    """Sessions of a server that is a fork of another's, before which no student's line has run: to start one takes seconds of imports."""

    def __init__(self, first: Sandbox):
        super().__init__(first.mode, first.limits)
        self.first, self.privileged = first, first.privileged

    def start(self) -> None:
        """Fork the first server, unless that is done. Raises RuntimeError if it does not answer."""
        if self.mode in ENGINES or self.control is not None:
            return
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with far, contextlib.ExitStack() as unless_ready:
            unless_ready.callback(near.close)
            self._ask_first(json.dumps({"fork": True, "derivatives": self.derivatives}).encode(), far)
            far.close()  # where the server has ended, this is the end of the connection
            if not _is_ready(near):
                raise RuntimeError(f"the box ({self.mode}) does not fork")
            unless_ready.pop_all()
        self.control = near

    def _ask_first(self, order: bytes, connection: socket.socket) -> None:
        assert self.first.control
        socket.send_fds(self.first.control, [order], [connection.fileno()])


class SandboxWithoutDerivatives(ForkedSandbox):
    """Sessions in which the engine takes no derivatives: its server has forgotten every backward formula."""

    derivatives = False

    def __init__(self, first: Sandbox):
        super().__init__(first)
        self.numbers = first.numbers  # one range of users

    def _ask_first(self, order: bytes, connection: socket.socket) -> None:
        self.first.start()
        super()._ask_first(order, connection)


class WorkerSandbox(ForkedSandbox):
    """The sandbox of one of several processes that grade. Where the first server, another process's, is gone, it starts its own."""

    def start(self) -> None:
        """Fork the first server, or start one."""
        if self.process is None:
            with contextlib.suppress(OSError, RuntimeError):
                super().start()
                return
        Sandbox.start(self)


def _is_ready(control: socket.socket) -> bool:
    """Whether a server says in time that it has started."""
    control.settimeout(START)
    try:
        ready = control.recv(6) == b"ready\n"
    except OSError:
        return False
    control.settimeout(10)
    return ready


class Session:
    """One child in the sandbox, asked over one connection. After `Broken` it is of no more use."""

    def __init__(self, sandbox: Sandbox, number: int, connection: socket.socket):
        self.sandbox, self.number, self.connection, self.broken = sandbox, number, connection, False
        self.until = math.inf  # of the monotonic clock: no answer is waited for beyond it

    def ask(self, what: str, *arguments: Any) -> Any:
        """The answer to a question. Raises Broken if there is none, RemoteError if the student's code raised."""
        return self.put(protocol.question(what, arguments)).read()

    def put(self, question: bytes, share: float = 1.0) -> Reply:
        """What comes back for a question that `protocol.question` made of a name and its arguments. Raises Broken if nothing does.

        `share`: how much of the seconds that a cell may take are waited for it.
        """
        if self.broken:
            raise protocol.Broken("the process ended")
        start = time.monotonic()
        end = min(start + share * self.sandbox.limits.cell, self.until)
        try:
            protocol.send(self.connection, question, max(end - start, 0.001))
            return Reply(self, *protocol.receive_raw(self.connection, end - time.monotonic()))
        except protocol.Broken as error:
            self.broken = True
            if not error.late and time.monotonic() - start >= self.sandbox.limits.busy:  # the kernel ended a loop
                raise protocol.too_long() from None
            raise

    def close(self) -> None:
        """Kill it, with everything that it started."""
        self.broken = True
        self.sandbox.end(self.number)
        self.connection.close()


class Reply(NamedTuple):
    """What came back, not looked at yet."""

    session: Session
    head: bytes
    body: bytes

    def digest(self) -> str:
        """The same for the same answers."""
        return hashlib.sha256(b"%d:%b%b" % (len(self.head), self.head, self.body)).hexdigest()

    def read(self) -> Any:
        """The answer in it. Raises Broken if there is none, RemoteError if the student's code raised."""
        try:
            answer = protocol.read(self.head, self.body)
            if not isinstance(answer, dict) or ("ok" in answer) == ("error" in answer):
                raise protocol.Broken("it sent what is not an answer")
        except protocol.Broken:
            self.session.broken = True
            raise
        if "error" in answer:
            raise RemoteError(protocol.cut(str(answer["error"]), ERROR))
        return answer["ok"]


class RemoteError(Exception):
    """What the student's code raised, as text."""


def _send_files(connection: socket.socket, files: Mapping[str, bytes], seconds: float) -> None:
    if files:
        protocol.send(connection, {name: np.frombuffer(data, np.uint8) for name, data in files.items()}, seconds)


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
    readable = _readable_folders()
    # What bubblewrap makes on the way to them is for root alone unless it is told: an answer may import what nobody has yet.
    for parent in sorted({str(p) for path in readable for p in Path(path).parents} - {"/"}):
        command += ["--perms", "0755", "--dir", parent]
    for path in readable:
        command += ["--ro-bind", path, path]
    for name, value in {**ENVIRONMENT, "PYTHONPATH": _python_path()}.items():
        command += ["--setenv", name, value]
    # /dev would be the user's own where they are not root: without a limit, and a letter box for the next student
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/scratch", *_server(descriptor)]


def container(engine: str, name: str, order: dict[str, Any]) -> list[str]:
    """The command: one session in one container, which talks through its standard input and output.

    No descriptor passes into a container, and a fork server in it would have to keep privileges to separate its sessions, so
    each session pays for a start of Python: a second or two.
    """
    return [
        engine, "run", "--rm", "--interactive", "--name", name, "--network", "none", "--read-only", "--ipc", "private",
        *(["--read-only-tmpfs=false"] if engine == "podman" else []), "--shm-size", str(order["disk"]),  # podman: /tmp, /run, /var/tmp
        "--tmpfs", f"/scratch:rw,mode=1777,size={order['disk']}", "--workdir", "/scratch", "--hostname", "box",
        "--cap-drop", "ALL", "--cap-add", "SETUID", "--cap-add", "SETGID", "--security-opt", "no-new-privileges",
        "--pids-limit", str(order["processes"] + 4), "--memory", str(order["memory"]), "--memory-swap", str(order["memory"]),
        "--ulimit", "nofile=256:256", "--ulimit", "nproc=256:256", "--ulimit", "core=0:0",
        "--oom-score-adj", "1000", "--user", "0:0",
        *(word for variable, value in ENVIRONMENT.items() if variable != "PATH" for word in ("--env", f"{variable}={value}")),
        IMAGE, "python", "-P", "-m", "autolab.course.grading.sandbox_server", "--stdio", json.dumps(order),
    ]  # fmt: skip


def _server(descriptor: int) -> list[str]:
    return [sys.executable, "-P", "-m", "autolab.course.grading.sandbox_server", str(descriptor)]


def _no_server(descriptor: int, privileged: bool) -> list[str]:
    raise RuntimeError("a container holds one session; there is no server to start")


COMMANDS = {"bubblewrap": bubblewrap, **dict.fromkeys(ENGINES, _no_server), "limits": lambda descriptor, privileged: _server(descriptor)}


def _readable_folders() -> list[str]:
    """The folders that Python needs: the interpreter, its packages, and this package, each once."""
    wanted = {
        sys.prefix,
        sys.base_prefix,
        str(Path(autolab.__file__).parent),
        *(sysconfig.get_paths()[k] for k in ("purelib", "platlib")),
        *_package_folders(),
    }
    wanted |= {str(Path(p).resolve()) for p in wanted}
    wanted = {p for p in wanted if p not in ("/", "/usr") and not p.startswith("/usr/")}
    return sorted(p for p in wanted if not any(p != q and p.startswith(q + "/") for q in wanted))


def _package_folders() -> list[str]:
    """The folders that the packages which a session needs were imported from."""
    found = (importlib.util.find_spec(name) for name in PACKAGES)
    return list(dict.fromkeys(str(Path(spec.origin).parent.parent) for spec in found if spec and spec.origin))


def _python_path() -> str:
    offline = Path(__file__).parent / "offline"
    return os.pathsep.join(dict.fromkeys([str(offline), str(Path(autolab.__file__).parent.parent), *_package_folders()]))


@functools.cache
def works(mode: str) -> bool:
    """Can code be isolated in this way on this machine?"""
    if mode == "bubblewrap":
        return _succeeds("bwrap", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "true")
    if mode in ENGINES:
        return _succeeds(mode, "image", "inspect", IMAGE)
    return mode == "limits"


@functools.cache
def best_mode() -> str:
    """The best isolation that works here; AUTOLAB_BOX overrules."""
    if chosen := os.environ.get("AUTOLAB_BOX"):
        if chosen not in COMMANDS:
            raise RuntimeError(f"AUTOLAB_BOX is {chosen!r}, expected one of {', '.join(COMMANDS)}")
        return chosen
    return next(mode for mode in COMMANDS if works(mode))


def isolation(chosen: str | None = None) -> str:
    """How to isolate: as chosen, or the best that works here. Raises RuntimeError, with what to install, if only limits are left."""
    mode = chosen or best_mode()
    if not chosen and mode == "limits" and os.environ.get("AUTOLAB_BOX") != "limits":
        raise RuntimeError(REFUSED)
    return mode


def _succeeds(*command: str) -> bool:
    if not shutil.which(command[0]):
        return False
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
