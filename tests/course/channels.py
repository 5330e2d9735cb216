"""Ways in which one session of the sandbox could tell another something: what the first does, and how the second sees it.

`AFTER`: the first has ended when the second starts, in the same sandbox. `BESIDE`: both run, each in a sandbox of its own, as with
two jobs. What the second prints must not depend on the first; GOT says that something came through.
"""

C = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
"""

PLACES = """
import os, time
places = ["/dev/" + n for n in ("null", "zero", "full", "random", "urandom", "tty")]
places += ["/dev", "/", "/usr", "/usr/bin", "/tmp", os.__file__, os.path.dirname(os.__file__)]
"""
TOUCH = """
for path in places:
    for change in (os.utime, lambda p: open(p, "rb").read(0), lambda p: os.setxattr(p, "user.note", b"x")):
        try: change(path)
        except (OSError, AttributeError): pass
"""
TIMES = """
for path in places:
    try: print(path, os.stat(path).st_mtime_ns, os.stat(path).st_ctime_ns, os.stat(path).st_atime_ns)
    except OSError: pass
"""

AFTER = {
    "connections of the loopback that wait": (
        """
import socket
try:
    s = socket.create_server(("127.0.0.1", 0)); s.close()
    for port in (20011, 20013):
        s = socket.create_server(("127.0.0.1", port))
        near = socket.create_connection(("127.0.0.1", port)); far, _ = s.accept()
        far.close(); near.close(); s.close()
except OSError: pass
""",
        """
import socket
for port in (20011, 20013):
    s = socket.socket()
    try: s.bind(("127.0.0.1", port))
    except OSError as e:
        if e.errno == 98: print("GOT", port)
""",
    ),
    "a socket without a file": (
        "import socket\nkept = socket.socket(socket.AF_UNIX); kept.bind('\\0note')",
        "import socket\ntry: socket.socket(socket.AF_UNIX).bind('\\0note')\nexcept OSError: print('GOT')",
    ),
    "times of what all see": (PLACES + TOUCH, PLACES + TIMES),
    "a terminal": (
        "import os, pty\ntry:\n    m, s = os.openpty(); os.fchmod(s, 0o604)\nexcept OSError: pass",
        "import os\nif os.listdir('/dev/pts') not in (['ptmx'], []): print('GOT', os.listdir('/dev/pts'))",
    ),
    "what children used": (
        "import os\nif os.fork() == 0:\n    for _ in range(10**7): pass\n    os._exit(0)\nos.wait()",
        "import resource\nif resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > 0.05: print('GOT')",
    ),
    "a module of the process that all are forked from": (
        "import autolab, numpy, sys\nautolab.note = numpy.note = sys.note = 'x'\nimport wave",
        "import autolab, numpy, sys\nif hasattr(autolab, 'note') or hasattr(numpy, 'note') or hasattr(sys, 'note') or 'wave' in sys.modules: print('GOT')",
    ),
}

FILE = "import os, fcntl\nshared = os.open(os.__file__, os.O_RDONLY)\n"
BESIDE = {
    "a lock of a file that both read": (
        FILE + "try: fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)\nexcept OSError: pass",
        FILE + "try: fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)\nexcept BlockingIOError: print('GOT')\nexcept OSError: pass",
    ),
    "a lock of a record": (
        FILE + "try: fcntl.lockf(shared, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 4711)\nexcept OSError: pass",
        FILE
        + """
import struct
for command in (5, 36):
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 4711, 1, 0)
    try:
        if struct.unpack("hhqqi4x", fcntl.fcntl(shared, command, asked))[0] != fcntl.F_WRLCK: print("GOT")
    except OSError: pass
""",
    ),
    "a lease": (FILE, FILE + "try:\n    fcntl.fcntl(shared, fcntl.F_SETLEASE, fcntl.F_RDLCK); print('GOT a lease')\nexcept OSError: pass"),
    "what another opens is watched": (
        C
        + """
fd = call({"x86_64": 294, "aarch64": 26}[os.uname().machine], 0o4000)
watch = call({"x86_64": 254, "aarch64": 27}[os.uname().machine], fd, os.path.dirname(os.__file__).encode(), 0x20)
def look():
    try: return bool(os.read(fd, 4096))
    except OSError: return False
""",
        "import os, sys\nopen(os.__file__).close()",
        "if fd >= 0 and watch >= 0: print('GOT', look())",
    ),
    "the memory and processes of the machine": (
        "kept = bytearray(400 << 20)\nkept[::4096] = b'x' * len(kept[::4096])",
        C
        + """
buffer = ctypes.create_string_buffer(256)
if call({"x86_64": 99, "aarch64": 179}[os.uname().machine], buffer) == 0: print("GOT the memory that is free, and how many run")
try: os.getloadavg(); print("GOT the load")
except OSError: pass
""",
    ),
    "what is in the page cache, page by page": (
        "pass",
        C
        + """
import mmap
fd = os.open(os.__file__, os.O_RDONLY)
machine = os.uname().machine
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("n", ctypes.c_size_t)]
room = ctypes.create_string_buffer(10)
one = Vector(ctypes.cast(room, ctypes.c_void_p), 10)
if call({"x86_64": 327, "aarch64": 286}[machine], fd, ctypes.byref(one), 1, 0, 0, 8) >= 0: print("GOT without waiting")
if call(451, fd, ctypes.byref((ctypes.c_uint64 * 2)(0, 4096)), ctypes.byref((ctypes.c_uint64 * 5)()), 0) == 0: print("GOT statistics")
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, 4096, 1, 1, fd, 0)
if call({"x86_64": 27, "aarch64": 232}[machine], ctypes.c_void_p(at), 4096, room) == 0: print("GOT a map")
""",
    ),
    "a socket without a file": (
        "import socket\nkept = socket.socket(socket.AF_UNIX); kept.bind('\\0note'); kept.listen()",
        "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('\\0note'); print('GOT')\nexcept OSError: pass",
    ),
    "a port of the loopback": (
        "import socket\ntry: kept = socket.create_server(('127.0.0.1', 20017))\nexcept OSError: pass",
        "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 20017), 0.5); print('GOT')\nexcept OSError: pass",
    ),
    "segments and queues": (
        C + "for n in ((29, 4711, 4096, 0o1666), (68, 4711, 0o1666), (64, 4711, 1, 0o1666)): call(*n)",
        C + "for n in ((29, 4711, 4096, 0o666), (68, 4711, 0o666), (64, 4711, 1, 0o666)):\n    if call(*n) >= 0: print('GOT', n)",
    ),
    "a file in shared memory": ("open('/dev/shm/note', 'w').write('x')", "import os\nif os.path.exists('/dev/shm/note'): print('GOT')"),
}
