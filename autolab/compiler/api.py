"""6. `compile`: trace once, replay as long as the guards hold, and leave to eager mode what cannot be replayed."""

from __future__ import annotations

import functools
import threading
import warnings
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd import grad
from autolab.compiler.emit import Group, OutOfRange, Source, function, useful
from autolab.compiler.guards import Guards
from autolab.compiler.lower import Lowering
from autolab.compiler.program import Accumulate, Again, Builder, CannotCompile, Store
from autolab.compiler.trace import Operation, Tracer, below
from autolab.engine.modes import modes
from autolab.engine.node import Node, edge_of, next_number
from autolab.engine.saved import FREED
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.modules.module import HOOKS, Module
from autolab.utils.collector import collector_paused

MOST_PROGRAMS = 8


class CompileError(RuntimeError):
    """With fullgraph=True: why a function cannot be compiled as a whole.

    >>> f = compile(lambda x: x if x.sum() > 0 else -x, fullgraph=True)
    >>> f(torch.ones(2))
    Traceback (most recent call last):
        ...
    autolab.compiler.api.CompileError: torch.compile(fullgraph=True): <lambda> cannot be compiled as a whole: Python looks at the numbers...
    """


class CompiledFunctionBackward(Node):
    """The one node that a compiled forward pass leaves behind: its rule is the compiled way back."""

    __slots__ = ("again", "outputs", "program", "saved", "shapes", "versions")

    def vjp(self, g: Any, create_graph: bool) -> Any:
        gs = g if self.outputs != 1 else (g,)
        if all(one is None for one in gs):
            return [None] * len(self.edges)
        if self.saved is None:
            raise RuntimeError(FREED)
        for version, at in self.versions:
            if version[0] != at:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: an input or a "
                    f"result of a compiled function is at version {version[0]}; expected version {at} instead."
                )
        if create_graph:
            return self.recorded(gs)
        filled = [np.zeros(*like) if one is None else one for one, like in zip(gs, self.shapes)]
        found = self.program.back(*filled, *self.saved)
        if any(one is None for one in gs):  # what no gradient leads to has none, rather than zeros
            led = set().union(*(leaves for leaves, one in zip(self.program.leads, gs) if one is not None))
            found = [gi if k in led else None for k, gi in enumerate(found)]
        return found

    def recorded(self, gs: Any) -> Any:
        """The gradients with a history of their own: from the function itself, run again in eager mode."""
        function, args, kwargs, tensors = self.again
        outputs = [t for t in tensors_in(function(*args, **kwargs)) if t.edge is not None]
        wanted = [t for t in tensors if edge_of(t) is not None]
        pairs = [(o, one) for o, one in zip(outputs, gs) if one is not None]
        found = iter(grad([o for o, _ in pairs], wanted, [one for _, one in pairs], create_graph=True, allow_unused=True))
        return [next(found) if edge_of(t) is not None else None for t in tensors]

    def release(self) -> None:
        self.saved = self.again = None

    def is_freed(self) -> bool:
        return self.saved is None


def tensors_in(nest: Any) -> list[Tensor]:
    """All tensors in nested tuples, lists and dicts, in order."""
    if isinstance(nest, Tensor):
        return [nest]
    if isinstance(nest, dict):
        nest = list(nest.values())
    return [t for item in nest for t in tensors_in(item)] if isinstance(nest, tuple | list) else []


class Program:
    """A compiled call: a forward function, for outputs that need a gradient a way back, and the texts of both, compressed."""

    def __init__(
        self, tracer: Tracer, guards: Guards, result: Any, call: Callable[..., Any], kind: Any, keeps_numbers: bool = False
    ) -> None:
        builder = Builder(tracer, guards.places, (kind or Group).keeps, lowering(tracer, kind))
        for t in tracer.read.values():
            place = builder.name(t) if id(t) in builder.places else guards.name(t)
            guards.conditions.append(f"({place}._grad is None) is {id(t) in tracer.without_gradient}")
        self.test, self.call, self.busy = guards.compiled(), call, threading.Lock()
        outputs = tensors_in(result)
        numbers = [int(tracer.known(t)) for t in outputs]
        if tracer.broken:
            raise CannotCompile("it returns a tensor that no operation of the function made")
        constants = {n for n in tracer.constants if not tracer.tensors[n].wants_grad}
        own = [n not in tracer.made | constants for n in numbers]  # an argument, or a tensor from outside, handed back
        if any(is_own and id(t) not in builder.places and id(t) not in tracer.outside for t, is_own in zip(outputs, own)):
            raise CannotCompile("it returns a gradient that was accumulated")
        values = [None if is_own else builder.to.usual(builder.value(n)) for n, is_own in zip(numbers, own)]  # type: ignore[arg-type]
        if any(v is not None and v.root.source for v in values):
            raise CannotCompile("it returns a view of one of its inputs")
        self.needs = [t.edge is not None and not is_own for t, is_own in zip(outputs, own)]
        self.effects = any(isinstance(s, Again | Accumulate | Store) for s in builder.to.steps)
        spent = [any(node.is_freed() for node in below([t.edge[0]])) for t, needs in zip(outputs, self.needs) if needs]  # type: ignore[index]
        self.spent = bool(spent) and all(spent)
        steps, back_steps, saved, incoming, found = self.split(builder, tracer, numbers, values)
        leaving = [v for v in values if v is not None] + saved
        names = dict(builder.names)
        names["new_tensor"], names["attach"] = new_tensor, self.attach
        source = Source(steps, leaving, names, kind)
        text = self.returned(result, self.named(outputs, values, source, builder), source)
        names.update(builder.names)  # what is handed back as it is has a name only now
        if any(self.needs):
            kept = {v.root for v in saved}
            watched = [f"{v.source.removesuffix('.payload')}, " for v in kept if v.source]  # tensors whose numbers are kept for later
            watched += [f"r{k}, " for k, v in enumerate(values) if v is not None and v.root in kept]
            packed, leaves = ("".join(f"{x}, " for x in xs) for xs in (map(source.speak, saved), map(builder.name, self.sources)))
            names.update(builder.names)
            text = f"attach({text}, ({packed}), ({leaves}), ({''.join(dict.fromkeys(watched))}), args, kwargs)"
        self.forward, text = function("program", "args, kwargs", source, text)
        self.fused, self.bytes = source.fused, source.bytes
        self.back, back_text = None, ""
        if any(self.needs) and not self.spent:
            back = Source(back_steps, [v for v in found if v is not None], dict(builder.names), kind)
            gone = ", ".join("None" if v is None else back.speak(v) for v in found)
            arguments = ", ".join([*(v.name for v in incoming), *(v.name for v in saved)])
            self.back, back_text = function("backward", arguments, back, f"[{gone}]")
            self.fused = self.fused + back.fused
            self.bytes += back.bytes
        self.texts = [zlib.compress(t.encode()) for t in (text, back_text) if t]  # a tenth of the room, and read by people only
        self.shapes = [(v.sample.shape, v.sample.dtype) for v, n in zip(values, self.needs) if n and v is not None]
        self.count, self.way = len(steps), (kind or Group).way
        if not keeps_numbers:
            self.forget_numbers()

    def forget_numbers(self) -> None:
        """Let go of what the steps of the chains gave when they were traced; its shapes and dtypes are still told."""
        for v in {v for chain in self.fused for step in chain for v in [*step.values(), *step.outs] if v is not None}:
            if not v.constant:
                v.sample = np.broadcast_to(np.zeros((), v.sample.dtype), np.shape(v.sample))

    def split(self, builder: Builder, tracer: Tracer, numbers: list[Any], values: list[Any]) -> Any:
        """The steps forward, the steps backward, and the values that the first saves for the second."""
        to = builder.to
        self.sources: list[Tensor] = []
        if not any(self.needs) or self.spent:
            return to.steps, [], [], [], []
        if self.effects or builder.spent:
            raise CannotCompile("it runs a backward pass itself, and returns a tensor with another history")
        mark = len(to.steps)
        incoming, pending = [], {}
        for n, v, needs in zip(numbers, values, self.needs):
            if needs:
                g = to.new(np.ones_like(v.sample)[()], source="gradient")
                incoming.append(g)
                pending[n] = g if n not in pending else to.emit(np.add, (pending[n], g))
        grads = builder.gradients(pending)
        made = {id(t) for k, t in enumerate(tracer.tensors) if k in tracer.made}
        leaves = [(n, t) for n, t in enumerate(tracer.tensors) if id(t) not in made and n in grads and edge_of(t) is not None]
        self.sources = [t for _, t in leaves]
        below = [builder.below(n) for n, needs in zip(numbers, self.needs) if needs]
        self.leads = [{k for k, (n, _) in enumerate(leaves) if n in reached} for reached in below]  # from each output to its leaves
        found = [builder.to.usual(grads[n]) for n, _ in leaves]
        steps, back = to.steps[:mark], useful(to.steps[mark:], [g for g in found if g is not None])
        fresh_values = {o for s in back for o in getattr(s, "outs", ()) if o is not None}
        needed = dict.fromkeys(v for s in back for v in s.values() if v not in fresh_values)
        needed.update(dict.fromkeys(g for g in found if g not in fresh_values))
        saved = [v for v in needed if not v.constant and v not in incoming]
        return steps, back, saved, incoming, found

    def named(self, outputs: list[Tensor], values: list[Any], source: Source, builder: Builder) -> Any:
        """How the text speaks of each tensor that it returns. No two of them share their numbers."""
        for k, (t, v) in enumerate(zip(outputs, values)):
            first = next((j for j in range(k) if outputs[j] is t), None)
            if v is None:
                yield builder.name(t)
                continue
            others = [o for o, w in zip(outputs[:k], values) if w is not None and w.root is v.root]
            if first is None and any(np.may_share_memory(o.payload, t.payload) for o in others):
                raise CannotCompile("it returns two tensors that look into the same memory")
            copied = ".copy()" if others or v.root.constant else ""
            said = source.bind(v.sample.copy(), "c") if v.root.constant else source.speak(v)  # the caller may write into what it got
            source.lines.append(f"r{k} = r{first}" if first is not None else f"r{k} = new_tensor({said}{copied})")
            yield f"r{k}"

    def returned(self, nest: Any, given: Any, source: Source) -> str:
        """The result as source, in the same nest."""
        if isinstance(nest, Tensor):
            return str(next(given))
        if isinstance(nest, tuple) and hasattr(nest, "_fields"):
            return f"{source.bind(type(nest), 'named')}({', '.join(self.returned(n, given, source) for n in nest)})"
        if type(nest) is tuple:
            return "(" + "".join(f"{self.returned(n, given, source)}, " for n in nest) + ")"
        if type(nest) is list:
            return "[" + ", ".join(self.returned(n, given, source) for n in nest) + "]"
        if type(nest) is dict:
            return "{" + ", ".join(f"{k!r}: {self.returned(n, given, source)}" for k, n in nest.items()) + "}"
        if nest is None or type(nest) in (bool, int, float, str):
            return repr(nest) if not isinstance(nest, float) else source.bind(nest, "k")
        raise CannotCompile(f"it returns a {type(nest).__name__}")

    def attach(self, result: Any, saved: Any, tensors: Any, watched: Any, args: Any, kwargs: Any) -> Any:
        """Give the outputs that need it one node, whose edges lead to what the gradients are for."""
        if not modes.grad:
            return result
        node = CompiledFunctionBackward()
        node.edges = tuple([edge_of(t) for t in tensors])
        node.hooks, node.seq = None, next_number()
        node.program, node.saved, node.shapes = self, None if self.spent else saved, self.shapes
        node.again = self.call, args, kwargs, tensors
        node.versions = [(t.version, t.version[0]) for t in watched]
        outs = [t for t, needs in zip(tensors_in(result), self.needs) if needs]
        node.outputs = len(outs)
        for k, t in enumerate(outs):
            t.edge = (node, k) if k else node
        return result

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replay. The buffers belong to one call at a time: a second one, from another thread, goes the eager way."""
        if not self.busy.acquire(blocking=False):
            return self.call(*args, **kwargs)
        try:
            return self.forward(args, kwargs)
        except OutOfRange:
            return self.call(*args, **kwargs)
        finally:
            self.busy.release()


class Eager(NamedTuple):
    """A call that is left to eager mode, and why."""

    test: Callable[..., bool]
    reason: str
    call: Callable[..., Any]

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.call(*args, **kwargs)


class Compiled:
    """A compiled function: call it like the function itself. `explain(f)` tells what became of it."""

    def __init__(self, call: Callable[..., Any], fullgraph: bool, backend: Any = None) -> None:
        self.call, self.fullgraph, self.backend, self.kind = call, fullgraph, backend, chains(backend)
        self.programs: dict[bool, list[Program | Eager]] = {True: [], False: []}  # by whether recording is on
        self.traces = 0
        self.warned = False
        self.keeps_numbers = False  # whether the steps of `Program.fused` keep what they gave when they were traced

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not modes.fast:  # somebody watches, a transform is active, or this call is itself being traced
            return self.call(*args, **kwargs)
        for program in self.programs[modes.grad]:
            if program.test(args, kwargs):
                return program.run(args, kwargs)
        return self.trace(args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Compiled, (self.call, self.fullgraph, self.backend)  # a copy is of another module, and compiles anew

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run once under a tracer, and keep what can be replayed."""
        known = self.programs[modes.grad]
        if len(known) >= MOST_PROGRAMS:
            if not self.warned:
                self.warned = True
                warnings.warn(
                    f"torch.compile: {named(self.call)} was compiled {len(known)} times, for other shapes, settings or values each "
                    "time. It runs in eager mode from now on. autolab.compiler.explain(f) says what differed.",
                    stacklevel=3,
                )
            return self.call(*args, **kwargs)
        self.traces += 1
        guards = Guards(self.call, args, kwargs)
        with Tracer(guards.inputs, guards.outside) as tracer:
            if guards.impure:
                tracer.leave(f"it {guards.impure}")
            result = self.call(*args, **kwargs)
            tracer.finish()
        reason = tracer.broken
        guards.look_up_names()  # again, for what was loaded by its first use
        after = Guards(self.call, args, kwargs)
        if not reason and after.conditions != guards.conditions and plain(after) != plain(guards):
            reason = "it changes a setting, a list or an attribute outside of itself"
        if not reason:
            try:
                with collector_paused(), np.errstate(all="ignore"):  # of all that is made, nothing is garbage
                    known.append(Program(tracer, guards, result, self.call, self.kind, self.keeps_numbers))
                return result
            except CannotCompile as why:
                reason = str(why)
        if self.fullgraph:
            raise CompileError(f"torch.compile(fullgraph=True): {named(self.call)} cannot be compiled as a whole: {reason}")
        known.append(Eager(guards.compiled(), reason, self.call))
        return result


def lowering(tracer: Tracer, kind: Any) -> type[Lowering]:
    """How a trace is taken apart: with NumPy, images lie as (H, C, W, N) between convolutions, where there are any."""
    if kind is None and any(isinstance(e, Operation) and e.op.forward.__module__ == "autolab.rules.conv" for e in tracer.events):
        from autolab.compiler.layout import BatchLast  # with all kernels of images

        return BatchLast
    return Lowering


def chains(backend: Any) -> Any:
    """How a backend runs chains of elementwise steps: None for blocks of NumPy calls."""
    if backend != "numba":
        return None
    from autolab.compiler.machine import Machine  # needs numba, which is optional

    return Machine


def plain(guards: Guards) -> set[str]:
    """The conditions about values, without those that only name objects."""
    return {c for c in guards.conditions if " == " in c or " is True" in c or " is False" in c or " is None" in c}


def named(call: Any) -> str:
    return getattr(call, "__qualname__", type(getattr(call, "__self__", call)).__name__)


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "numpy", mode: str | None = None,
    options: dict[str, Any] | None = None, disable: bool = False,
) -> Any:  # fmt: skip
    """A faster version of a function, method or Module: the same results, its NumPy calls replayed without Python between them.

    The first call runs as always and is watched; later calls with tensors of the same shapes and dtypes, and the same Python
    values, replay it: forward, backward, optimizer steps, with buffers that are used again and chains of elementwise operations
    run in blocks. What cannot be replayed runs in eager mode; `explain(f)` says why, `fullgraph=True` makes it a CompileError.
    backend="numba", where numba is installed, makes one loop of machine code of each chain, which takes seconds once and pays on large
    arrays, sums convolutions in registers, and takes norms, losses, LSTMs and optimizers in one pass each; other backends, dynamic,
    mode and options are accepted for PyTorch programs. Each new shape is compiled anew.

    >>> f = compile(lambda x: (x * x).sum())
    >>> f(tensor([1., 2.]))
    tensor(5.)
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, backend=backend, disable=disable)
    if not callable(model):
        raise TypeError(f"torch.compile expects a function, a method or a Module, but got {type(model).__name__}")
    if disable:
        return model
    if isinstance(model, Module):
        model = model._orig_mod if isinstance(model, OptimizedModule) else model
        return OptimizedModule(model, fullgraph, backend)
    compiled = Compiled(model, fullgraph, backend)

    @functools.wraps(model)
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    call._compiled = compiled  # type: ignore[attr-defined]
    call._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return call


class OptimizedModule(Module):
    """A Module whose calls are compiled, with the module as its child `_orig_mod`. Attributes are read from there, and set there.

    >>> model = torch.compile(torch.nn.Linear(3, 2))
    >>> type(model).__name__, model(torch.ones(5, 3)).shape, model.in_features
    ('OptimizedModule', torch.Size([5, 2]), 3)
    >>> list(model.state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    def __init__(self, module: Any, fullgraph: bool, backend: Any = None) -> None:
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["_compiled"] = Compiled(module, fullgraph, backend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Hooks of this module run around the compiled one, hooks for all modules around that one alone."""
        own = self.__dict__
        return super().__call__(*args, **kwargs) if any(own[name] for name in HOOKS) else own["_compiled"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    @property
    def training(self) -> bool:  # type: ignore[override]
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if name == "_orig_mod" and module is not None:
            return module
        try:
            return super().__getattr__(name)
        except AttributeError:
            if module is None:  # while it is being copied or loaded
                raise
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ and name != "training":
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True  # a module is, whatever its length


class Explanation(NamedTuple):
    """What became of a compiled function, call by call.

    >>> f = compile(lambda x: (x * 2 + 1).exp())
    >>> found = explain(f, torch.ones(2, requires_grad=True))
    >>> found.name, len(found.programs), found.programs[0].back is not None  # there is a way back
    ('<lambda>', 1, True)
    """

    name: str
    programs: list[Program | Eager]

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.programs)} kind{'s' if len(self.programs) != 1 else ''} of call seen"]
        for i, p in enumerate(self.programs, 1):
            if isinstance(p, Eager):
                lines.append(f"{i}. left to eager mode: {p.reason}")
                continue
            chains = ", ".join(str(len(group)) for group in p.fused)
            lines.append(
                f"{i}. compiled: {p.count} steps" + (", with a way back" if p.back else "") + f", {p.bytes} bytes of buffers"
                + (f", chains of {chains} steps {p.way}" if chains else "")
            )  # fmt: skip
        return "\n".join(lines)

    __repr__ = __str__


def explain(f: Any, *args: Any, **kwargs: Any) -> Explanation:
    """What became of a compiled function; with arguments, of a call with those. Raises TypeError for what is not compiled.

    >>> f = compile(lambda x: x.exp() if x.sum() > 0 else x)
    >>> explain(f, torch.ones(2))
    <lambda>: 1 kind of call seen
    1. left to eager mode: Python looks at the numbers of a tensor (...)
    """
    compiled = getattr(f, "_compiled", None)
    if compiled is None:
        raise TypeError(f"explain() takes what compile() returned, but got {type(f).__name__}: f = compile(f) first.")
    if args or kwargs:
        f(*args, **kwargs)
    return Explanation(named(compiled.call), [*compiled.programs[True], *compiled.programs[False]])


compile.explain = explain  # type: ignore[attr-defined]


def source_of(f: Any) -> str:
    """The text of the programs of a compiled function, for reading.

    >>> f = compile(lambda x: x * 2 + 1)
    >>> _ = f(torch.ones(2))
    >>> print(source_of(f))
    def program(args, kwargs):
        v1 = args[0].payload
        multiply(v1, c2, b)  # v3
        v5 = add(b, c4)
        r0 = new_tensor(v5)
        return r0
    """
    found = [p for p in explain(f).programs if isinstance(p, Program)]
    return "\n".join(zlib.decompress(text).decode() for p in found for text in p.texts)
