"""Submissions that want points, secrets or damage. Each is the answer to the first of two exercises; the second is right.

`WRONG` is what such an answer is worth honestly; no trick may make it worth more, and none may cost the second exercise.
"""

TEXT = """
```python locked setup
import numpy as np

import autolab as torch
from autolab.autograd import Function
from autolab.check import check
```

```python answer square
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x * x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, g):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return 2 * x * g
        ### END SOLUTION
```

```python check square-check 8
from autolab.check import check

check("square", Square)
```

```python check square-hidden 2
### BEGIN HIDDEN TESTS
import autolab

a = autolab.tensor([1.5, -0.5], dtype=autolab.float64, requires_grad=True)
Square.apply(a).sum().backward()
assert np.allclose(a.grad.numpy(), [3.0, -1.0], rtol=1e-12), "HIDDEN-CASE-4711"
### END HIDDEN TESTS
```

```python answer exp
def exp(x):
    ### BEGIN SOLUTION
    return np.exp(x)
    ### END SOLUTION


def exp_backward(g, out):
    ### BEGIN SOLUTION
    return g * out
    ### END SOLUTION
```

```python check exp-check 8
from autolab.check import check

check("exp", (exp, exp_backward))
```

```python check exp-hidden 2
### BEGIN HIDDEN TESTS
check("exp", (exp, exp_backward), seed=3, points=2)
### END HIDDEN TESTS
```
"""

WRONG = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * 7.5
"""


def backward(body, before=""):
    """A Square whose backward does something else."""
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    return f"""{before}
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
{lines}
"""


FORGE = {
    "allclose says yes": WRONG + "np.allclose = np.array_equal = np.testing.assert_allclose = lambda *a, **k: True",
    "all and any say yes": WRONG + "np.all = lambda *a, **k: True\nnp.any = lambda *a, **k: False",
    "check is replaced": WRONG + "import autolab.check\nautolab.check.check = lambda *a, **k: 8.0\ncheck = lambda *a, **k: 8.0",
    "judge is replaced": WRONG + "from autolab.check.api import check as v\nv.judge = v._judge = v.check = lambda *a, **k: 8.0",
    "a report is worth everything": WRONG
    + "from autolab.check import Report\nReport.points = property(lambda self: 99.0)\nReport.passed = True",
    "the answers are replaced": WRONG
    + """
from autolab.course.grading import handlers
handlers.Handlers.rule = lambda self, *a: {"points": 8.0, "passed": True}
handlers.Handlers.kinds = lambda self, names: {n: "verdict" for n in names}
""",
    "the answers are malformed": WRONG
    + """
from autolab.course.grading import handlers
handlers.Handlers.rules = lambda self, *a: [{"out": None, "gradients": [], "inputs": (), "upstream": (), "fault": None, "recorded": 0}] * 30
""",
    "the transport is replaced": WRONG
    + """
from autolab.course.grading import protocol
protocol.encode = lambda value: b'\\x04\\x00\\x00\\x00\\x00\\x00\\x00\\x00null'
protocol.pack = lambda value, arrays: {"v": True}
""",
    "the candidate is replaced": WRONG
    + """
from autolab.check.run import candidate
candidate.LocalCandidate.call = lambda self, *a: candidate.Answer(None, (), (), (), None, False)
""",
    "raw bytes on every descriptor": WRONG
    + """
import os
for fd in range(64):
    try: os.write(fd, b'\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00{}' * 20)
    except OSError: pass
""",
    "input transformer": WRONG
    + """
get_ipython().input_transformers_post.append(lambda lines: ["8.0\\n"] if any("check(" in l for l in lines) else lines)
""",
    "syntax tree transformer": WRONG
    + """
import ast
class Yes(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Call(self, node): return ast.Constant(8.0) if getattr(node.func, "id", "") == "check" else node
get_ipython().ast_transformers.append(Yes())
""",
    "display formatter": WRONG
    + """
get_ipython().display_formatter.formatters["text/plain"].for_type(object, lambda o, p, c: p.text("8.0"))
""",
    "execution hooks": WRONG + "get_ipython().events.register('post_run_cell', lambda r: setattr(r, 'result', 8.0))",
    "an array that equals everything": backward(
        "return Liar(np.zeros(x.shape))",
        """
class Liar(np.ndarray):
    def __new__(cls, a): return np.asarray(a).view(cls)
    def __array_ufunc__(self, *a, **k): return True
    def __eq__(self, other): return True
    def __sub__(self, other): return np.zeros(np.shape(other))
    __rsub__ = __sub__
""",
    ),
    "an object that turns into an array": backward(
        "return Late()",
        """
class Late:
    shape = (3, 5)
    def __array__(self, *a, **k): return np.zeros((3, 5))
""",
    ),
    "an array of objects": backward(
        "return np.array([Evil()] * 3, dtype=object)",
        """
class Evil:
    def __reduce__(self): return (exec, ("raise SystemExit",))
    def __eq__(self, other): return True
""",
    ),
    "not a number": backward("return g * float('nan')"),
    "broadcasts to anything": backward("return torch.zeros(())"),
    "an import hook": WRONG
    + """
import sys, types
fake = types.ModuleType("autolab.check"); fake.check = lambda *a, **k: 8.0; fake.SPECS = {}
sys.modules["autolab.check"] = fake
class Hook:
    def find_spec(self, *a): return None
sys.meta_path.insert(0, Hook())
""",
    "frames are searched": backward("""
frame = __import__('sys')._getframe()
while frame:
    for value in list(frame.f_locals.values()):
        names = getattr(value, 'names', None) or getattr(value, 'want', None)
        if isinstance(names, dict) and 'x' in names: return names['x']
    frame = frame.f_back
return g * 0
"""),
    "the heap is searched": backward("""
for o in __import__('gc').get_objects():
    if type(o).__name__ in ('Case', 'CaseRun', 'Observation', 'Properties'): return o.want['x']
return g * 0
"""),
    "False becomes True": WRONG + "import ctypes\nctypes.memmove(id(False) + 16, id(True) + 16, 8)",
    "builtins are replaced": WRONG + "import builtins\nbuiltins.abs = builtins.max = builtins.sum = lambda *a, **k: 0.0",
    "the gradebook is written": WRONG
    + """
import sqlite3, glob
for path in glob.glob('/**/gradebook.db', recursive=True) + ['{canary}/gradebook.db', 'gradebook.db', '../gradebook.db']:
    try: sqlite3.connect(path).execute('UPDATE grade SET auto_score = 99')
    except Exception: pass
""",
    "a name that looks alike": WRONG.replace("class Square", "class \uff33quare")
    + "\ndef ch\u0435ck(*a, **k): return 8.0\n\uff43heck = ch\u0435ck",
    "a gradient without entries": backward("return torch.zeros((0, 1))"),
    "a loop of the test that ends early": backward("raise StopIteration"),
    "points are printed": WRONG + "print('8.0')\n8.0",
}

LEAK = {
    "files": WRONG + """
import glob, os
for root in ('{canary}', '/root', '/home', '/work', '/etc', '/var', '/tmp'):
    for path, _, names in os.walk(root):
        for name in names:
            if 'secret' in name or name.endswith(('.db', '.ipynb')):
                try: print(open(os.path.join(path, name), errors='replace').read()[:300])
                except OSError: pass
""",
    "the environment": WRONG + "import os\nprint(dict(os.environ))",
    "environments of processes": WRONG + """
import glob
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline') + glob.glob('/proc/*/root{canary}/secret.txt'):
    try: print(open(path, 'rb').read())
    except OSError: pass
""",
    "a service on the loopback": WRONG + """
import socket
for host in ('127.0.0.1', 'localhost', '::1'):
    try:
        s = socket.create_connection((host, {port}), timeout=0.3); print(s.recv(100))
    except OSError: pass
""",
    "the hidden tests": WRONG + """
import gc
print([o for o in gc.get_objects() if isinstance(o, dict) and any('HIDDEN-' + 'CASE' in str(v)[:5000] for v in list(o.values())[:200] if isinstance(v, str))][:1])
print([n for n, v in list(globals().items()) if 'hidden' in n.lower()])
""",
    "the parent's memory": WRONG + """
import ctypes, os
libc = ctypes.CDLL(None)
for pid in (1, 2, os.getppid()):
    print(libc.ptrace(16, pid, 0, 0), pid)
try: print(open('/proc/%d/mem' % os.getppid(), 'rb').read(10))
except OSError: pass
""",
    "a link in the scratch folder": WRONG + "import os\nos.symlink('{canary}/secret.txt', 'x.txt')\ntry: print(open('x.txt').read())\nexcept OSError: pass",
}  # fmt: skip

DAMAGE = {
    "exit": WRONG + "import os\nos._exit(0)",
    "exit in backward": backward("__import__('os')._exit(0)"),
    "system exit": WRONG + "raise SystemExit(0)",
    "keyboard interrupt in backward": backward("raise KeyboardInterrupt"),
    "a loop": "while True: pass",
    "a loop in backward": backward("while True: pass"),
    "a segmentation fault": WRONG + "import ctypes\nctypes.string_at(0)",
    "endless recursion": WRONG + "import sys\nsys.setrecursionlimit(10**7)\ndef f(): f()\nf()",
    "a fork bomb": WRONG + "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "many processes": WRONG + "import subprocess\nps = [subprocess.Popen(['sleep', '987']) for _ in range(100)]",
    "many threads": WRONG + "import threading, time\nfor _ in range(1000): threading.Thread(target=time.sleep, args=(987,)).start()",
    "all memory": WRONG + "a = []\nwhile True: a.append(np.ones(10**7))",
    "all disk": WRONG + "i = 0\nwhile True:\n    i += 1\n    open(f'f{{i}}', 'wb').write(b'x' * 10**7)",
    "much output": WRONG + "for _ in range(2000): print('x' * 50_000)",
    "a long result": WRONG + "'x' * 10**8",
    "an enormous gradient": backward("return np.ones((20_000_000,))"),
    "kill everybody": WRONG + "import os, signal\nos.kill(-1, signal.SIGKILL)\nos.kill(1, 9)\nos.kill(os.getppid(), 9)",
    "stop oneself": WRONG + "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "signals ignored": WRONG
    + "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
    "an orphan": WRONG + "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(987)\n    os._exit(0)",
    "everything deleted": WRONG
    + "import shutil\nfor p in ('{canary}', '/usr', '/scratch', '.', '/'): shutil.rmtree(p, ignore_errors=True)",
    "files written": WRONG
    + """
for path in ('{canary}/new.txt', '/usr/new.txt', '/new.txt', '/tmp/new.txt', torch.__file__):
    try: open(path, 'w').write('x'); print('WRITTEN', path)
    except OSError: pass
""",
    "mounts": WRONG
    + """
import ctypes
libc = ctypes.CDLL(None)
print('GOT', libc.mount(b'proc', b'/scratch', b'proc', 0, None), libc.umount2(b'/scratch', 2), libc.unshare(0x10000000))
""",
    "descriptors closed": WRONG + "import os\nos.closerange(0, 1024)",
    "every name forgotten": "%reset -f\n" + WRONG,
    "a module under another's name": WRONG + "import math as np\nFunction = check = None",
    "names deleted": WRONG + "del np, torch",
    "all names cleared": WRONG + "globals().clear()",
    "an exception whose text loops": WRONG + "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
}

EVASION = {
    "finite differences": backward("e = 1e-6\nreturn g * ((x + e) ** 2 - (x - e) ** 2) / (2 * e)"),
    "the engine is asked": backward("""
with torch.enable_grad():
    y = x.detach().requires_grad_(True)
    (y * y).backward(g)
return y.grad
"""),
    "the engine is asked in a thread": backward("""
def work():
    with torch.enable_grad():
        y = x.detach().clone().requires_grad_(True)
        got.append(torch.autograd.grad(y * y, y, g.detach())[0])
got = []
t = __import__('threading').Thread(target=work)
t.start(); t.join()
return got[0]
"""),
    "the engine under another name": backward("""
m = __import__('auto' + 'lab')
with m.enable_grad():
    y = x.detach().clone().requires_grad_(True)
    return getattr(m.autograd, 'gr' + 'ad')(y * y, y, g)[0]
"""),
    "the engine's func": backward("import autolab.func as q\nreturn q.vjp(lambda t: t * t, x.detach())[1](g)[0]"),
    "the engine's forward mode": backward(
        "import autolab.func as q\nreturn g * q.jvp(lambda t: t * t, (x.detach(),), (x.detach() * 0 + 1,))[1]"
    ),
    "the engine's dual numbers": backward("""
import autolab.autograd.forward_ad as q
with q.dual_level():
    t = q.make_dual(x.detach(), x.detach() * 0 + 1)
    return g * q.unpack_dual(t * t).tangent
"""),
    "right the first two times, then a loop": backward("n[0] += 1\nwhile n[0] > 3: pass\nreturn 2 * x * g * (n[0] < 3)", "n = [0]"),
    "right the first three times": backward("n[0] += 1\nreturn 2 * x * g if n[0] <= 3 else 0 * g", "n = [0]"),
    "right for one seed": backward(
        """
return 2 * x * g if round(float(x.numpy().ravel()[0]), 9) in seen else 0 * g
""",
        """
from autolab.check import SPECS, Reference
from autolab.check.run.cases import cases
seen = {round(float(c.inputs[0].ravel()[0]), 9) for s in (0, 1, 2, 41) for c in cases(SPECS["square"], Reference.of(SPECS["square"].row), np.random.default_rng(s))}
""",
    ),
}

SUITE = {
    f"{kind}: {name}": source
    for kind, group in (("forge", FORGE), ("leak", LEAK), ("damage", DAMAGE), ("evasion", EVASION))
    for name, source in group.items()
}
