"""Submissions that try what namespaces and limits of a process do not cover: the kernel, the wire, and what is made of the answers."""

from .hostile import WRONG, backward

C = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
"""

KERNEL = {
    "shared segments that no limit counts": WRONG
    + C
    + """
for _ in range(40):
    n = call(29, 0, 100 << 20, 0o1600)
    if n >= 0:
        libc.shmat.restype = ctypes.c_void_p
        at = libc.shmat(n, None, 0)
        ctypes.memset(at, 1, 100 << 20); libc.shmdt(ctypes.c_void_p(at)); print('GOT 0')
""",
    "files in memory": WRONG + C + "for i in range(60):\n    if call(319, b'x', 0) >= 0: print('GOT 0')",
    "sparse files": WRONG
    + "for i in range(50):\n    with open(f'sparse{i}', 'wb') as f:\n        try: f.truncate(1 << 40); print('GOT 0')\n        except OSError: pass",
    "empty files without end": WRONG
    + "n = 0\ntry:\n    while n < 20_000: open(f'{n}', 'w').close(); n += 1\n    print('GOT 0')\nexcept OSError: pass",
    "shared memory of the machine": WRONG
    + """
try:
    with open('/dev/shm/big', 'wb') as f:
        for _ in range(64): f.write(bytes(1 << 20))
    print('GOT 0')
except OSError: pass
""",
    "limits raised": WRONG
    + """
import resource
for name in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE):
    try: resource.setrlimit(name, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); print('GOT 0')
    except (OSError, ValueError): pass
""",
    "keys of whoever grades": WRONG
    + C
    + """
for ring in (-1, -2, -3, -4, -5):
    n = call(250, 11, ring, ctypes.create_string_buffer(4096), 4096)
    if n >= 0: print('GOT 0', n)
if call(248, b'user', b'note', b'for the next student', 20, -4) >= 0: print('GOT 0')
""",
    "another process is traced": WRONG
    + C
    + "for pid in (1, 2, os.getppid(), os.getpid()):\n    for number in (101, 310, 312):\n        if call(number, 16, pid, 0, 0, 0) == 0: print('GOT 0')",
    "namespaces of one's own": WRONG
    + C
    + "for flags in (0x10000000, 0x20000, 0x40000000):\n    if call(272, flags) == 0 or call(56, flags | 17, 0, 0, 0, 0) > 0: print('GOT 0')",
    "sockets into the kernel and the host": WRONG
    + """
import socket
for family in (16, 38, 40, 17):
    try: socket.socket(family, socket.SOCK_RAW if family == 17 else socket.SOCK_STREAM); print('GOT 0')
    except OSError: pass
""",
    "a socket without a file": WRONG
    + """
import socket
s = socket.socket(socket.AF_UNIX); s.bind('\\0for-the-next-student'); s.listen()
for name in ('/tmp/.X11-unix/X0', '\\0/tmp/dbus', '\\0for-the-last-student'):
    try: socket.socket(socket.AF_UNIX).connect(name); print('GOT 0')
    except OSError: pass
""",
    "a million watches": WRONG + C + "fds = [call(254) for _ in range(200)]\nfor i in range(5000): call(254, fds[0], b'/usr', 2)",
    "it does not die with its parent": WRONG
    + C
    + """
libc.prctl(1, 0, 0, 0, 0)
if os.fork() == 0:
    libc.prctl(1, 0, 0, 0, 0); os.setsid()
    os.execv('/bin/sleep', ['sleep', '988'])
while True: pass
""",
    "the group is killed": WRONG + "import os, signal\nos.killpg(0, signal.SIGKILL)",
    "what hides the expected results is lifted": WRONG
    + C
    + """
import glob
for path in glob.glob(os.path.dirname(torch.__file__) + '/check/behaviour/**/ps*', recursive=True):
    libc.umount2(path.encode(), 2)
    try:
        if open(path, 'rb').read(): print('GOT 0')
    except OSError: pass
""",
    "a loop that Python cannot interrupt": WRONG + "sum(range(10**13))",
    "a finalizer that loops": WRONG + "class Late:\n    def __del__(self):\n        while True: pass\nlate = Late()\ndel late",
    "every line is traced": WRONG
    + "import sys\nsys.settrace(lambda *a: (_ for _ in ()).throw(SystemExit))\nsys.setprofile(lambda *a: None)",
}

WIRE = {
    "an array that holds a pickle": WRONG
    + """
import gc, json, socket, struct, pickle
class Evil:
    def __reduce__(self): return (print, ('GOT 0',))
head = json.dumps({"value": {"d": {"ok": {"a": 0}}}, "arrays": 1}).encode()
facts = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\\n"
body = b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(facts)) + facts + pickle.dumps(Evil())
for o in gc.get_objects():
    if isinstance(o, socket.socket): o.sendall((struct.pack("<II", len(head), len(body)) + head + body) * 9)
""",
    "a shape that promises terabytes": WRONG
    + """
import gc, json, socket, struct
head = json.dumps({"value": {"d": {"ok": {"a": 0}}}, "arrays": 1}).encode()
facts = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117) + b"\\n"
body = b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(facts)) + facts
for o in gc.get_objects():
    if isinstance(o, socket.socket): o.sendall((struct.pack("<II", len(head), len(body)) + head + body) * 9)
""",
    "answers in advance": WRONG
    + """
import gc, json, socket, struct
right = {"d": {"out": None, "gradients": {"t": []}, "inputs": [], "upstream": [], "fault": None, "recorded": False}}
for value in ({"d": {"Square": "value", "check": "value"}}, [right] * 12, {"d": {"points": 8.0, "passed": True}}, 8.0, True):
    head = json.dumps({"value": {"d": {"ok": value}}, "arrays": 0}).encode()
    for o in gc.get_objects():
        if isinstance(o, socket.socket): o.sendall((struct.pack("<II", len(head), 0) + head) * 3)
""",
    "nested without end": WRONG
    + """
import gc, socket, struct
head = b'{"value": ' + b'[' * 100_000 + b']' * 100_000 + b', "arrays": 0}'
for o in gc.get_objects():
    if isinstance(o, socket.socket): o.sendall(struct.pack("<II", len(head), 0) + head)
""",
    "a byte a second": WRONG
    + """
import gc, socket, time
for o in gc.get_objects():
    if isinstance(o, socket.socket):
        o.sendall(b'\\xff\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
        while True: time.sleep(0.3); o.sendall(b' ')
""",
    "small numbers by the million": backward("return np.ones((60_000_000, 1, 1), np.int8)"),
    "a shape that broadcasts to gigabytes": backward("return np.ones((250_000, 1, 1, 1))"),
    "half the digits": backward("return (2 * x * g).numpy().astype(np.float16)"),
    "not numbers with a message in them": backward("return np.full(x.shape, 0x7FF8DEAD0000BEEF, np.uint64).view(float)"),
    "complex numbers": backward("return (2 * x * g).numpy().astype(complex)"),
    "an integer of four thousand digits": backward("return 10 ** 4000"),
    "a float that is a class": backward(
        "return Big(1.0)", "class Big(float):\n    def __float__(self): return float('inf')\n    def __eq__(self, o): return True"
    ),
}

TEXT_OUT = {
    "half a surrogate pair": WRONG + "print('\\ud800 half')\nclass Half(Exception): pass\nraise Half('\\udfff')",
    "orders to a terminal": WRONG + "print('\\x1b]0;SECRET-TITLE\\x07\\x1b[2J\\x00\\x08')\nraise Exception('\\x1b[31m')",
    "a script is printed": WRONG
    + "print('<script>alert(1)</script>')\nclass Page:\n    def __repr__(self): return '<img src=x onerror=alert(1)>'\n    def _repr_html_(self): return '<script>alert(1)</script>'\nPage()",
    "a script in the report": backward("raise ValueError('<script>alert(1)</script><img src=x onerror=alert(1)>')"),
}

MORE = {"kernel": KERNEL, "wire": WIRE, "text": TEXT_OUT}
