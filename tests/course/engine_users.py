"""Answers that leave the derivative to the engine, and silence what notes it; and right ones that only look like them."""

from .hostile import EVASION, backward

FORWARD = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().clone().requires_grad_(True)
            ctx.y = ctx.x * ctx.x
        return ctx.y.detach()

    @staticmethod
    def backward(ctx, g):
        {last}
"""
SILENT = """
from autolab.check.run import candidate
candidate.next_number = lambda: 0
"""
ASKED = "with torch.enable_grad():\n    y = x.detach().requires_grad_(True)\n    (y * y).backward(g)\nreturn y.grad"

USERS = {
    "a graph built in forward": FORWARD.format(last="return torch.autograd.grad(ctx.y, ctx.x, g, retain_graph=True)[0]"),
    "a graph of forward, run by its node": FORWARD.format(last="return 2 * ctx.y.grad_fn(g)[0]"),
    "a note that is silenced": backward(ASKED, SILENT),
    "answers that say nothing": backward(
        ASKED,
        """
from autolab.course.grading import handlers
old = handlers.Handlers.rule
handlers.Handlers.rule = lambda self, *a: [*old(self, *a)[:5], False]
""",
    ),
    "the number of nodes stands still": backward(ASKED, "import autolab.check.run.candidate as c\nc.next_number = lambda: 0"),
    "the table is looked up": backward("from autolab.engine.tensor import TABLE\nreturn TABLE['mul'].rules['x'].function(g, x) * 2"),
    "the table by another name": backward(
        "m = __import__('sys').modules['autolab.engine.' + 'tensor']\nreturn m.TABLE['mul'].rules['x'].compute(g.numpy(), x.numpy()) * 2"
    ),
    "the table by attributes": backward("return torch.engine.tensor.TABLE['mul'].rules['x'].function(g, x) * 2"),
    "a row by the module that uses it": backward(
        "rows = torch.linalg.solving.pointwise.rows\nreturn rows.mul.rules['x'].function(g, x) * 2"
    ),
    "a frame's names": backward(
        "names = (i for i in [1]).gi_frame.f_builtins\nget = names['get' + 'attr']\n"
        "return get(get(torch, 'eng' + 'ine').tensor, 'TAB' + 'LE')['mul'].rules['x'].function(g, x) * 2"
    ),
    "names that functools copies": backward(
        "return tensor['TAB' + 'LE']['mul'].rules['x'].function(g, x) * 2",
        "import functools\ndef names(module):\n    found = {}\n"
        "    holder = type('Holder', (), {'__dict__': property(lambda self: found)})()\n"
        "    functools.update_wrapper(holder, module, assigned=(), updated=('__dict__',))\n    return found\n"
        "tensor = names(names(names(torch)['engine'])['tensor'])\n",
    ),
    "a name that a pattern reads": backward(
        "return table['mul'].rules['x'].function(g, x) * 2",
        "Any = type('Any', (type,), {'__instancecheck__': lambda self, value: True})\n"
        "def named(value, name):\n    Found = Any('Found', (), {'__match_args__': (name,)})\n    match value:\n"
        "        case Found(found):\n            return found\n"
        "table = named(named(named(torch, 'eng' + 'ine'), 'ten' + 'sor'), 'TAB' + 'LE')\n",
    ),
    "text that NumPy runs": backward(
        "d = {'torch': torch}\nnp.testing.runstring('t = torch.engine.tensor.TABLE', d)\nreturn d['t']['mul'].rules['x'].function(g, x) * 2"
    ),
    "text that the shell runs": backward(
        "return table['mul'].rules['x'].function(g, x) * 2", "get_ipython().run_cell('table = torch.engine.tensor.TABLE')\ntable = table"
    ),
    "an annotation that typing reads": backward(
        "return table[0]['mul'].rules['x'].function(g, x) * 2",
        "import typing\ntable = []\nclass Wanted:\n    a: 'table.append(torch.engine.tensor.TABLE)'\n"
        "try:\n    typing.get_type_hints(Wanted, {'table': table, 'torch': torch})\nexcept TypeError:\n    pass\n",
    ),
    "the source of the table": backward(
        "import re, glob, os\nfor p in glob.glob(os.path.dirname(torch.__file__) + '/rules/*.py'):\n"
        "    if 'op(\"mul\"' in open(p).read(): return 2 * x * g\nreturn 0 * g"
    ),
    "the checker's reference": backward(
        "from autolab.check import Reference\nr = Reference.of('square')\nv = x.numpy()\n"
        "return r.gradient('x', g.numpy(), r.environment([v], {}))"
    ),
    "a kernel of a row": backward(
        "from autolab.fast.kernels.elementwise import power_rule\nout = np.empty(x.shape)\n"
        "power_rule(g.numpy(), x.numpy(), 2, out)\nreturn torch.from_numpy(out)"
    ),
    "the checker's differences": backward(
        "from autolab.check.run.differences import gradient\n"
        "return torch.from_numpy(gradient(lambda v: v * v, [x.numpy()], 0, g.numpy(), True)[0])"
    ),
    "the checker's complex steps": backward(
        "from autolab.check.run.complex_steps import jacobian\n"
        "J = jacobian(lambda v: v * v, [x.numpy().astype(float)], 0)\n"
        "return torch.from_numpy(np.tensordot(J, g.numpy(), g.ndim)).to(g.dtype)"
    ),
    "a demonstration that keeps a function": backward(
        "return d(x, g)", "d = lambda x, g: torch.func.vjp(lambda t: t * t, x.detach())[1](g)[0]"
    ),
    **{name: source for name, source in EVASION.items() if name.startswith("the engine")},
}

RIGHT = backward("return 2 * x * g")
HONEST = {
    "a trial below": RIGHT + "\na = torch.tensor([3.0], requires_grad=True)\nSquare.apply(a).backward(torch.tensor([0.5]))\nprint(a.grad)",
    "a trial above, in the same cell": "a = torch.tensor([3.0], requires_grad=True)\nb = a * a\nb.backward()\nassert a.grad == 6\n" + RIGHT,
    "a comparison with the engine": RIGHT
    + "\na = torch.tensor([3.0], requires_grad=True)\nassert torch.autograd.grad(Square.apply(a), a)[0] == torch.autograd.grad(a * a, a)[0]",
    "numpy under another name": "import numpy\nimport os, sys, operator\n" + RIGHT,
    "a getter": backward("return getattr(np, 'multiply')((2 * x).numpy(), g.numpy())"),
    "noise that does not matter": backward("import random\nreturn 2 * x * g * (1 + 1e-16 * random.random())"),
    "a softmax to look at": "import sys\nprint(torch.nn.functional.softmax(torch.ones(3), 0))\n" + RIGHT,
}

# What finds no end where the engine takes no derivatives: nothing is known, and that is said.
LATE = {
    "a loop instead": backward(
        ASKED.replace("    (y * y).backward(g)", "    try: (y * y).backward(g)\n    except RuntimeError:\n        while True: pass"), SILENT
    ),
    "an end instead": backward(
        ASKED.replace("    (y * y).backward(g)", "    try: (y * y).backward(g)\n    except RuntimeError: __import__('os')._exit(0)"), SILENT
    ),
}

# Right to all digits, so nothing tells them from a formula but their source.
NUMERIC = {
    "a complex step": backward("z = x.numpy() + 1e-20j\nreturn g * torch.from_numpy((z * z).imag / 1e-20)"),
    "a complex step by another name": backward(
        "z = x.numpy() + complex(0, 2.0**-60)\nreturn g * torch.from_numpy(np.imag(z * z) * 2.0**60)"
    ),
    "a complex step from a root": backward(
        "z = (x.numpy().astype(float) + (-1) ** 0.5 * 2.0**-60).reshape(-1)\n"
        "return g * torch.from_numpy((z * z).view(float)[1::2].reshape(x.shape) * 2.0**60)"
    ),
    "differences in long doubles": backward(
        "v, h = x.numpy().astype(np.longdouble), np.longdouble(2) ** -20\n"
        "return g * torch.from_numpy(np.float64(((v + h) ** 2 - (v - h) ** 2) / (2 * h)))"
    ),
}
