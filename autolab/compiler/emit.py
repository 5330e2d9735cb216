"""5. The program as Python source: buffers planned, chains of elementwise steps in blocks that stay in the cache.

A step that can write into a buffer (`out=`) gets one if its result is small: no memory is asked for, and views of it are known. A buffer
is free again after the last use of what it holds, so a few of them serve a whole training step. Everything else is made anew at each call,
over an array that ends there if it can be, and let go of after its last use: memory that a program keeps is of no use to its other steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.compiler.lower import Method, Step, Value
from autolab.compiler.program import Accumulate, Again, Load, Refuse, Store, Within, read_by
from autolab.engine.node import add_into
from autolab.engine.tensor import Tensor, new_tensor
from autolab.fast.blocks import clip, goes_along, in_blocks
from autolab.fast.kernel import INTO, is_rule
from autolab.rules.elementwise import keep

LARGE = 1 << 16  # entries: from here on chains are run in blocks
WASTE = 2  # a buffer may be so many times smaller than the memory it is in
LET_GO = 1 << 10  # entries: arrays from here on are let go of in the middle of a program
ANEW = 1 << 14  # bytes: a result of this size or more is made anew, and its memory is free for others after its last use
BLOCK = 1 << 15  # entries of a block: a few of them fit the second-level cache
# On single numbers Python's operators take a tenth of a ufunc's time.
OPERATORS = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}", np.true_divide: "{} / {}", np.negative: "-{}",
    np.square: "{0} * {0}", np.greater: "{} > {}", np.less: "{} < {}",
}  # fmt: skip


class Source:
    """Writes steps as lines. `names` are the globals of the text."""

    def __init__(self, steps: list[Any], leaving: list[Value], names: dict[str, Any], kind: type[Group] | None = None) -> None:
        self.names, self.lines = names, []
        self.texts: list[str] = []  # of functions that the text calls
        # taken: what the text itself says
        names.update(
            accumulate=accumulate, within=within, float64=np.float64, add_reduce=np.add.reduce, range=range, min=min, args=None, kwargs=None
        )
        self.given: dict[Value, str] = {}  # how the text speaks of a value
        self.static: dict[Value, np.ndarray[Any, Any]] = {}  # values that live in a buffer
        self.locals: dict[Value, list[str]] = {}  # the variables that hold the memory of a value
        self.shared: set[Value] = set()  # one of several results of a step, which may look into the same memory
        self.views: dict[Value, Any] = {}  # buffers and views of them, as arrays
        self.alike: dict[Any, Any] = {}  # the same arrays, by where they lie and what they look like
        self.free: list[np.ndarray[Any, Any]] = []  # memory of buffers that hold nothing, as bytes
        self.blocks: dict[Any, np.ndarray[Any, Any]] = {}  # for chains, one after the other
        self.bytes = 0
        self.fused: list[list[Step]] = []
        self.leaving = {v.root for v in leaving} | {s.value.root for s in steps if isinstance(s, Accumulate)}
        self.kind = kind = kind or Group
        self.steps = in_groups([q for s in useful(steps, leaving) for q in kind.quick(s)], self.leaving, kind)
        self.last: dict[Value, int] = {}
        for i, step in enumerate(self.steps):
            for v in uses(step):
                self.last[v.root] = i
        self.accumulated: set[Value] = set()
        for i, step in enumerate(self.steps):
            self.write(i, step)

    def speak(self, nest: Any) -> str:
        """An argument as source."""
        if isinstance(nest, Value):
            if nest not in self.given and nest.constant:
                self.given[nest] = self.bind(nest.sample, nest.name)
            return self.given.get(nest, nest.name)
        if type(nest) is tuple:
            return "(" + "".join(f"{self.speak(n)}, " for n in nest) + ")"
        if type(nest) is list:
            return "[" + ", ".join(map(self.speak, nest)) + "]"
        if type(nest) is dict:
            return "{" + ", ".join(f"{k!r}: {self.speak(n)}" for k, n in nest.items()) + "}"
        if type(nest) in (bool, int, str, type(None)):
            return repr(nest)
        if type(nest) is float and nest == nest and abs(nest) != np.inf:
            return repr(nest)
        return self.bind(nest, "k")

    def bind(self, thing: Any, hint: str) -> str:
        """A global name for an object."""
        for name, other in self.names.items():
            if other is thing and name.startswith(hint):
                return name
        name = hint if hint not in self.names else f"{hint}_{len(self.names)}"
        self.names[name] = thing
        return name

    def buffer(self, like: Any, dying: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        """A buffer of the shape and dtype of `like`: one that ends here, or in memory that is free, or in new memory."""
        for b in dying:
            if fits(b, like):
                return b
        fitting = [m for m in self.free if like.nbytes <= m.nbytes <= WASTE * like.nbytes]
        memory = min(fitting, key=len, default=None)
        if memory is None:
            memory = np.empty(like.nbytes, np.uint8)
            self.bytes += like.nbytes
        self.free = [m for m in self.free if m is not memory]
        return self.only(memory[: like.nbytes].view(like.dtype).reshape(like.shape))

    def only(self, array: Any) -> Any:
        """A buffer or a view of one, or the one that is like it already: memory that serves many times has one name for each shape."""
        if type(array) is not np.ndarray:
            return array
        key = array.__array_interface__["data"], array.shape, array.strides, array.dtype
        return self.alike.setdefault(key, array)

    def block(self, number: int, dtype: Any) -> str:
        """The name of a buffer for a block. The next chain uses the same."""
        key = number, dtype
        if key not in self.blocks:
            self.blocks[key] = np.empty(BLOCK, dtype)
            self.bytes += BLOCK * dtype.itemsize
        return self.bind(self.blocks[key], "block")

    # -- one step ----------------------------------------------------------------------------------

    def write(self, i: int, step: Any) -> None:
        if isinstance(step, Load):
            self.lines.append(f"{step.value.name} = {step.value.source}")
        elif isinstance(step, Again):
            run = f"{step.place}.grad = None"
            if not step.place:
                run = f"{self.bind(self.kind.effect(step.effect.run), 'again')}()  # {step.effect.what}"
            self.lines.append(run)
        elif isinstance(step, Store):
            self.lines.append(f"{self.bind(store, 'store')}({step.place}, {self.speak(step.value)})")
        elif isinstance(step, Within):
            self.lines.append(f"within({self.speak(step.value)}, {self.speak(step.low)}, {self.speak(step.high)})")
        elif isinstance(step, Refuse):
            self.lines.append(f"{self.bind(step.function, 'refuse')}({', '.join(map(self.speak, step.args))})")
        elif isinstance(step, Accumulate):
            v = step.value
            sole = v.root is v and not v.source and not v.constant and v not in self.accumulated
            self.accumulated.add(v.root)
            text = self.speak(v) if sole or not np.ndim(v.sample) else f"{self.speak(v)}.copy()"
            self.lines.append(f"accumulate({step.leaf}, {text})")
        elif isinstance(step, Group):
            step.write(self, i)
        else:
            self.write_step(i, step)
        self.release(i, step)

    def release(self, i: int, step: Any) -> None:
        """Give back the buffers, and let go of the arrays, whose values are not used after this step."""
        done = [root for root in dict.fromkeys(v.root for v in [*uses(step), *made_by(step)]) if self.last.get(root, i) == i]
        for root in done:
            if root in self.static:
                b = self.static.pop(root)
                if not any(b.base is other.base for other in self.static.values()):
                    self.free.append(b.base)
        gone = dict.fromkeys(name for root in done if root not in self.leaving for name in self.locals.pop(root, ()))
        if gone:
            self.lines.append(f"del {', '.join(gone)}")

    def local(self, v: Value, name: str) -> str:
        """The name of a variable that is about to hold a value, or to look into it. Small ones are kept until the program ends."""
        root = v.root
        if np.size(root.sample) >= LET_GO and not (root.constant or root.source or root in self.static):
            self.locals.setdefault(root, []).append(name)
        return name

    def write_step(self, i: int, step: Step) -> None:
        out = step.outs[0]
        if step.several or out is None:
            self.shared.update(o for o in step.outs if o is not None)
            names = ", ".join("_" if o is None else self.local(o, o.name) for o in step.outs)
            self.lines.append(f"{names}{',' if len(step.outs) == 1 else ''} = {self.call(step)}")
            return
        root = out.root
        if root is not out and root in self.static and all(v.constant or v in self.views for v in step.values()):
            view = step.function(*self.arrays(step.args), **self.arrays(step.kwargs))  # a buffer stays where it is: look once
            if np.may_share_memory(view, self.static[root]):
                view = self.only(view)
                self.given[out] = self.bind(view, "view")
                self.viewed(out, view)
                return
        over = self.name_to_overwrite(i, step, out)
        if not over and self.can_write_into(step, out) and out.sample.nbytes < ANEW:
            b = self.buffer(out.sample, [] if step.function is np.dot else self.ending(i, step))
            self.static[out] = b
            name = self.given[out] = self.bind(b, "b")
            self.viewed(out, b)
            self.lines.append(f"{self.call(step, into=name)}  # {out.name}")
        else:
            text = self.call(step, into=over)
            self.lines.append(f"{self.local(out, out.name)} = {text}")

    def ending(self, i: int, step: Step) -> list[np.ndarray[Any, Any]]:
        """The buffers, or views of them in order, that end with this step."""
        ending = [v for v in step.values() if v.root in self.static and self.last.get(v.root) == i and v in self.views]
        return [self.views[v] for v in ending if self.views[v].flags.c_contiguous]

    def name_to_overwrite(self, i: int, step: Step, out: Value) -> str:
        """The variable of an array that ends with this elementwise step, and in whose memory its result can be; "" if there is none."""
        if not step.elementwise or step.kwargs or out.root is not out:
            return ""
        if isinstance(step.function, np.ufunc):
            candidates = step.values()
        elif writes_over(step):
            candidates = step.values()[:1]
        else:
            return ""
        for v in candidates:
            root = v.root  # which may have another shape, and ends with v
            ends = self.last.get(root) == i and v.name in self.locals.get(root, ()) and not {v, root} & (self.leaving | self.shared)
            whole = v.sample.size == root.sample.size and root.sample.flags.owndata and v.sample.flags.c_contiguous
            if ends and whole and fits(v.sample, out.sample):
                return v.name
        return ""

    def viewed(self, v: Value, array: Any) -> None:
        self.views[v] = array

    def arrays(self, nest: Any) -> Any:
        """Arguments with the arrays that they stand for, where all of them are buffers or constants."""
        if isinstance(nest, Value):
            return nest.sample if nest.constant else self.views[nest]
        if isinstance(nest, tuple | list):
            return type(nest)(self.arrays(n) for n in nest)
        if isinstance(nest, dict):
            return {k: self.arrays(n) for k, n in nest.items()}
        return nest

    def can_write_into(self, step: Step, out: Value) -> bool:
        if out.root is not out or out in self.leaving or step.kwargs or not isinstance(out.sample, np.ndarray) or not out.sample.ndim:
            return False
        if step.function is np.dot:
            return out.sample.flags.c_contiguous
        return isinstance(step.function, np.ufunc) and step.function.nout == 1

    def call(self, step: Step, into: str = "") -> str:
        """A step as an expression."""
        args = [self.speak(a) for a in step.args]
        if step.function is np.dot:
            return f"{args[0]}.dot({args[1]}{', ' + into if into else ''})"
        if not into and step.function in OPERATORS and not any(np.ndim(v.sample) for v in step.values()) and not step.kwargs:
            return OPERATORS[step.function].format(*args)
        if step.function is np.transpose and len(args) == 1:
            return f"{args[0]}.T"
        if isinstance(step.function, Method):
            return f"{args[0]}.{step.function.name}({', '.join([*args[1:], *(f'{k}={self.speak(v)}' for k, v in step.kwargs.items())])})"
        if into and writes_over(step):
            return f"{self.bind(in_blocks, 'in_blocks')}({self.bind(INTO[step.function][0], 'rule')}, {', '.join(args)}, out={into})"
        if into:
            args.append(f"out={into}" if step.function in (np.maximum, np.minimum) else into)
        args += [f"{k}={self.speak(v)}" for k, v in step.kwargs.items()]
        name = self.bind(step.function, getattr(step.function, "__name__", "f").replace("<lambda>", "rule"))
        return f"{name}({', '.join(args)})"


# -- chains of elementwise steps on large arrays ------------------------------------------------------


class Group:
    """Elementwise steps of one shape, and full sums of their results, run block by block."""

    least, way = LARGE, "run in blocks"

    @classmethod
    def keeps(cls, function: Any, values: Any) -> bool:
        """Whether a function stays whole, since `quick` has something better than it."""
        return False

    @classmethod
    def effect(cls, run: Any) -> Any:
        """How something that is done again is done."""
        return run

    @classmethod
    def can(cls, step: Step) -> bool:
        return isinstance(step.function, np.ufunc) or step.function in (np.where, keep.compute)

    @classmethod
    def quick(cls, step: Any) -> list[Any]:
        """The step, or others with the same result: the clip of an array takes a third of the time of its maximum with a number."""
        if not isinstance(step, Step) or step.function is not np.maximum or step.kwargs or step.outs[0] is None:
            return [step]
        (x, least), out = step.args, step.outs[0].sample
        number = least.sample if isinstance(least, Value) and least.constant else least
        if isinstance(number, Value) or np.ndim(number) or not isinstance(x, Value) or np.shape(x.sample) != np.shape(out):
            return [step]
        if not isinstance(out, np.ndarray) or out.dtype.kind != "f" or x.sample.dtype != out.dtype:
            return [step]
        clipped = Step(clip, (x, least, math.inf), {}, step.elementwise)
        clipped.outs = step.outs
        return [clipped]

    def __init__(self, steps: list[Step], shape: tuple[int, ...], leaving: set[Value]) -> None:
        self.steps, self.shape = steps, shape
        self.leaving = leaving
        self.needed: set[Value] = set()  # values that are used after the group

    def write(self, to: Source, i: int) -> None:
        inner = {o for s in self.steps for o in s.outs if o is not None}
        n = math.prod(self.shape)
        flat: dict[Value, str] = {}
        outside = dict.fromkeys(v for s in self.steps for v in s.values() if v not in inner)
        for v in outside:
            if np.shape(v.sample) == self.shape:
                flat[v] = f"{to.speak(v)}_{v.name}" if v.constant else to.local(v, f"f_{v.name}")
                to.lines.append(f"{flat[v]} = {to.speak(v)}.reshape(-1)")
        sums: list[tuple[Value, str]] = []
        body: list[str] = []
        local: dict[Value, str] = {v: f"{name}[lo:hi]" for v, name in flat.items()}
        reads = {name: f"s_{name}" for name in flat.values()}
        body += [f"{short} = {name}[lo:hi]" for name, short in reads.items()]
        for v, name in flat.items():
            local[v] = to.local(v, reads[name])
        last = {v: k for k, s in enumerate(self.steps) for v in s.values()}
        free: list[str] = []
        held: dict[Value, str] = {}
        views: list[tuple[Value, str]] = []  # what looks into an array that is used after the group
        kinds: dict[str, Any] = {}  # the block buffers, by name, with their dtypes
        for k, s in enumerate(self.steps):
            out = s.outs[0]
            assert out is not None
            args = [local.get(v) or to.speak(v) if isinstance(v, Value) else to.speak(v) for v in s.args]
            if is_sum(s):
                body.append(f"t_{out.name} += float64(add_reduce({args[0]}))" if out.sample.dtype.kind == "f" else "")
                sums.append((out, f"t_{out.name}"))
            else:
                dying = [held.pop(v) for v in dict.fromkeys(s.values()) if v in held and last[v] == k]
                function = to.bind(s.function, getattr(s.function, "__name__", "f"))
                kind = out.sample.dtype
                if out in self.needed:
                    into = f"w_{out.name}[lo:hi]"
                    body.append(f"x_{out.name} = {into}")
                    into = f"x_{out.name}"
                    views.append((out, into))
                    free += dying
                elif isinstance(s.function, np.ufunc):
                    into = next((d for d in dying if kinds[d] == kind), "")
                    free += [d for d in dying if d != into]
                    if not into:
                        into = next((f for f in free if kinds[f] == kind), "")
                        if into:
                            free.remove(into)
                    if not into:
                        into = f"k{len(kinds)}"
                        kinds[into] = kind
                    held[out] = into
                else:
                    free += dying
                    body.append(f"{out.name} = {function}({', '.join(args)})")
                    local[out] = out.name
                    continue
                local[out] = into
                if isinstance(s.function, np.ufunc):
                    into = f"out={into}" if s.function in (np.maximum, np.minimum) else into
                    body.append(f"{function}({', '.join([*args, into])})")
                else:
                    body.append(f"{into}[...] = {function}({', '.join(args)})")
        for v in inner & self.needed:
            if np.shape(v.sample) == self.shape:
                self.whole(to, v)
        for v, name in views:
            to.local(v, name)
        to.lines += [f"{name} = 0.0" for _, name in sums]
        to.lines.append(f"for lo in range(0, {n}, {BLOCK}):")
        to.lines.append(f"    hi = min(lo + {BLOCK}, {n})")
        to.lines += [f"    {k} = {to.block(number, kind)}[:hi - lo]" for number, (k, kind) in enumerate(kinds.items())]
        to.lines += ["    " + line for line in body if line]
        for v, name in sums:
            to.lines.append(f"{v.name} = {to.bind(v.sample.dtype.type, v.sample.dtype.name)}({name})")
        to.fused.append(self.steps)

    def whole(self, to: Source, v: Value) -> None:
        """An array for a value that is used after the group."""
        if v in self.leaving or v.sample.nbytes >= ANEW:
            for name in (v.name, f"w_{v.name}"):
                to.local(v, name)
            to.lines.append(f"{v.name} = {to.bind(np.empty, 'empty')}({self.shape}, {to.bind(v.sample.dtype, 'dtype')})")
        else:
            b = to.buffer(v.sample, [])
            to.static[v] = b
            to.given[v] = to.bind(b, "b")
            to.viewed(v, b)
        to.lines.append(f"w_{v.name} = {to.speak(v)}.reshape(-1)")


def writes_over(step: Step) -> bool:
    """Whether this is the rule of a block kernel, which can write over the gradient, on arrays that it takes in blocks."""
    g = step.args[0]
    if step.function not in INTO or not is_rule(step.function) or not isinstance(g, Value) or not isinstance(g.sample, np.ndarray):
        return False
    return bool(g.sample.ndim) and all(goes_along(a.sample if isinstance(a, Value) else a, g.sample) for a in step.args[1:])


def fits(a: Any, like: Any) -> bool:
    return (a.shape, a.dtype) == (like.shape, like.dtype)


def is_sum(step: Step) -> bool:
    """A sum of all entries: it can be collected block by block."""
    return step.function == np.add.reduce and tuple(step.args[1:]) in ((None, None, None, False), (None,)) and not step.kwargs


def may_join(step: Any, shape: tuple[int, ...], kind: type[Group]) -> bool:
    """Whether a step can be part of a group on arrays of this shape."""
    if not isinstance(step, Step) or step.several or step.kwargs or step.outs[0] is None:
        return False
    if is_sum(step):
        v = step.args[0]
        return isinstance(v, Value) and np.shape(v.sample) == shape and v.sample.dtype.kind == "f"
    if not (step.elementwise and kind.can(step)):
        return False
    if np.shape(step.outs[0].sample) != shape or step.outs[0].root is not step.outs[0]:
        return False
    return all(np.shape(v.sample) == () or (np.shape(v.sample) == shape and v.sample.flags.c_contiguous) for v in step.values()) and any(
        np.shape(v.sample) == shape for v in step.values()
    )


def in_groups(steps: list[Any], leaving: set[Value], kind: type[Group]) -> list[Any]:
    """Gather elementwise steps on large arrays of one shape. A step moves up only past steps that it does not depend on."""
    result: list[Any] = []
    left = list(steps)
    while left:
        step = left[0]
        shape = np.shape(step.outs[0].sample) if isinstance(step, Step) and step.outs[0] is not None else ()
        if isinstance(step, Step) and is_sum(step):
            shape = np.shape(step.args[0].sample) if isinstance(step.args[0], Value) else ()
        if math.prod(shape) < kind.least or not may_join(step, shape, kind):
            result.append(left.pop(0))
            continue
        group, late = [], set()  # late: values that are not there yet when the group runs
        barrier = False
        for s in left:
            depends = any(v in late for v in uses(s))
            if isinstance(s, Again | Store):
                barrier = True
            if not barrier and not depends and may_join(s, shape, kind):
                group.append(s)
                if is_sum(s):
                    late.update(o for o in s.outs if o is not None)
            else:
                late.update(o for o in getattr(s, "outs", ()) if o is not None)
                if isinstance(s, Load):
                    late.add(s.value)
        group = connected(group)  # others would be computed long before they are used
        behind = [s for s in left if s not in group]
        if len([s for s in group if not is_sum(s)]) < 2:
            result.append(left.pop(0))
            continue
        made = kind(group, shape, leaving)
        used = {v.root for s in behind for v in uses(s)} | leaving
        made.needed = {o for s in group for o in s.outs if o is not None and o in used}
        loads = [s for s in behind if isinstance(s, Load) and any(s.value in g.values() for g in group)]
        result += [*loads, made]
        left = [s for s in behind if s not in loads]
    return result


def connected(steps: list[Step]) -> list[Step]:
    """The steps that share arrays with the first one, or with those that do."""
    arrays = [{v for v in [*s.values(), *made_by(s)] if np.ndim(v.sample)} for s in steps]
    reached, count = arrays[0], 0
    while len(reached) > count:
        count = len(reached)
        reached = reached.union(*[a for a in arrays if a & reached])
    return [s for s, a in zip(steps, arrays) if a & reached]


def useful(steps: list[Any], leaving: list[Value]) -> list[Any]:
    """The steps without those whose results nobody uses."""
    wanted = set(leaving)
    kept: list[Any] = []
    for step in reversed(steps):
        if isinstance(step, Step) and not any(o in wanted for o in step.outs if o is not None):
            continue
        if isinstance(step, Load) and step.value not in wanted:
            continue
        wanted.update(uses(step))
        kept.append(step)
    return kept[::-1]


def uses(step: Any) -> list[Value]:
    """The values that a step reads, or the steps of a group."""
    return [v for s in step.steps for v in s.values()] if isinstance(step, Group) else read_by(step)


def made_by(step: Any) -> list[Value]:
    """The values that a step makes. (Those of a group are used after it, or are blocks.)"""
    return [o for o in step.outs if o is not None] if isinstance(step, Step) else []


# -- what programs call --------------------------------------------------------------------------------


class OutOfRange(Exception):
    """A number is not among those that the program is right for."""


def within(array: Any, low: Any, high: Any) -> None:
    if array.size and not (array.min() >= low and array.max() < high):
        raise OutOfRange


def store(t: Tensor, new: Any) -> None:
    """Write numbers into a tensor."""
    if type(t.payload) is np.ndarray:
        t.payload[...] = new
    else:
        t.payload = t.payload.dtype.type(new)
    t.version[0] += 1


def accumulate(leaf: Tensor, g: Any) -> None:
    """leaf.grad += g, where g belongs to nobody else."""
    if leaf._grad is None:
        leaf._grad = new_tensor(g)
    else:
        add_into(leaf._grad, g)


def function(name: str, arguments: str, source: Source, result: str) -> tuple[Callable[..., Any], str]:
    """The text as a function, and the text.

    What the text speaks of are defaults of more arguments: a local variable takes a sixth of a global one's bytecode, and no more time.
    """
    body = "\n".join("    " + line for line in [*source.lines, f"return {result}"])
    spoken_of = {n: thing for n, thing in source.names.items() if n not in ("args", "kwargs")}
    place: dict[str, Any] = {}
    exec(compile(f"def {name}({', '.join([arguments, *spoken_of])}):\n{body}\n", f"<compiled {name}>", "exec"), place)
    place[name].__defaults__ = tuple(spoken_of.values())
    return place[name], "\n\n".join([*source.texts, f"def {name}({arguments}):\n{body}\n"])
