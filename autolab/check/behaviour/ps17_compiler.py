"""Problem set 17: a small compiler. Programs are lists of steps (target, operation, arguments); arguments are names or numbers.

Students have this file. So it has no pass that works: the programs of the scenes are fixed, and what is left of them is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, pair

OPS: dict[str, Callable] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "tanh": np.tanh, "exp": np.exp}
Steps = list[tuple]


def run_steps(program: Steps, inputs: dict[str, Any]) -> dict[str, Any]:
    """All values of a program, by name."""
    values = dict(inputs)
    for target, op, args in program:
        missing = [a for a in args if isinstance(a, str) and a not in values]
        if missing or op not in OPS:
            raise UnexpectedResult(f"result uses {missing[0] if missing else op!r} in {target}, and no step before it defines it")
        values[target] = OPS[op](*(values[a] if isinstance(a, str) else a for a in args))
    return values


def value_of(program: Steps, name: str, x: Any) -> Any:
    """The value of one name, for the input x."""
    values = run_steps(program, {"x": x})
    if name not in values:
        raise UnexpectedResult(f"result has no step for {name}, expected a program that computes it")
    return values[name]


def steps_of(value: Any) -> Steps:
    """A program that a student returned."""
    if not isinstance(value, (list, tuple)):
        raise UnexpectedResult(f"result is a {type(value).__name__}, expected a list of steps")
    for step in value:
        if not isinstance(step, (list, tuple)) or len(step) != 3 or not isinstance(step[2], (list, tuple)):
            raise UnexpectedResult(f"result has {str(step)[:60]} in it, expected steps (target, operation, arguments)")
    return [(str(target), str(op), tuple(args)) for target, op, args in value]


def told(program: Steps) -> list[str]:
    """The steps as words, without their numbers."""
    return ["{}={}({})".format(t, op, ",".join(a if isinstance(a, str) else "#" for a in args)) for t, op, args in program] or ["nothing"]


SAYS = {"steps": "the steps", "value": "the value of the result", "given": "the program that was passed in",
        "second": "the value of the second result", "other": "the value of a result besides y"}  # fmt: skip


def _numbers(*shapes: tuple[int, ...]):
    return lambda rng: tuple(draw(rng, shape, 0.1, 1.9) for shape in shapes)


def _with_steps(family: str, text: str, hint: str, steps: str) -> Slip:
    """A mistake that is known by the steps it leaves, in the words of `told`."""
    return Slip(family, text, hint, lambda *inputs: {"steps": steps})


# -- constant folding ---------------------------------------------------------------------------------------------


def _constants(a, b) -> Steps:
    a, b = float(a), float(b)
    return [("p", "mul", (a, b)), ("q", "mul", ("x", 3.0)), ("r", "sub", ("p", a)), ("s", "add", ("q", "r")), ("y", "mul", ("s", "s"))]


def _mixed(a, b) -> Steps:
    return [("p", "tanh", (float(a),)), ("q", "sub", (float(b), "x")), ("y", "mul", ("q", "p"))]


def _fold_scene(name, make, given, steps, value, passed, hint, slips) -> Scene:
    def play(f, x, a, b):
        program = make(a, b)
        found = steps_of(f(program))
        return {"steps": told(found), "value": value_of(found, "y", x), "given": told(program)}

    unchanged = _with_steps("unchanged", "Nothing is folded", "Which steps have numbers only?", given)
    return Scene(name, play, lambda x, a, b: {"steps": steps, "value": value(x, a, b), "given": given}, passed, hint, 2,
                 _numbers((), (), ()), [*slips, unchanged], SAYS)  # fmt: skip


FOLD = Behaviour("fold", (
    _fold_scene("a chain of numbers", _constants, "p=mul(#,#) q=mul(x,#) r=sub(p,#) s=add(q,r) y=mul(s,s)",
                "q=mul(x,#) s=add(q,#) y=mul(s,s)", lambda x, a, b: (3 * x + a * b - a) ** 2,
                "what is known is computed, and what follows from it",
                "When a step has become a number, the steps that use its name have a number among their arguments.", [
                    _with_steps("not carried on", "Only steps that had numbers from the start are computed",
                                "One step that is folded can make another one foldable.",
                                "q=mul(x,#) r=sub(#,#) s=add(q,r) y=mul(s,s)")]),
    _fold_scene("a number among names", _mixed, "p=tanh(#) q=sub(#,x) y=mul(q,p)", "q=sub(#,x) y=mul(q,#)",
                lambda x, a, b: (b - x) * np.tanh(a), "a step with a name in it stays", "b - x is known only when x is.", []),
    Scene("other numbers", lambda f, x, a, b: {"value": value_of(steps_of(f(_constants(a, b))), "y", x),
                                               "count": len(steps_of(f(_constants(a, b))))},
          lambda x, a, b: {"value": (3 * x + a * b - a) ** 2, "count": 3}, "the same value with three steps",
          "Compare the value before and after.", 2, _numbers((), (), ()), says={"count": "the number of steps", **SAYS}),
))  # fmt: skip

# -- dead code ---------------------------------------------------------------------------------------------------


def _wasteful(k: float) -> Steps:
    return [("a", "mul", ("x", float(k))), ("b", "exp", ("x",)), ("c", "add", ("b", 1.0)), ("d", "tanh", ("a",)), ("e", "mul", ("c", "d")),
            ("y", "add", ("d", 1.0)), ("z", "sub", ("y", "x"))]  # fmt: skip


FROM_THE_END = "From which end of the program can you tell what is needed?"
USED_BY_DEAD = _with_steps("kept", "Steps are kept whose results only dead steps use", FROM_THE_END,
                           "a=mul(x,#) b=exp(x) c=add(b,#) d=tanh(a) y=add(d,#)")  # fmt: skip
ALL_KEPT = _with_steps("unchanged", "Nothing is left out", FROM_THE_END,
                       "a=mul(x,#) b=exp(x) c=add(b,#) d=tanh(a) e=mul(c,d) y=add(d,#) z=sub(y,x)")  # fmt: skip


def _live_scene(name: str, results: dict[str, tuple[str, Callable]], steps: str, passed: str, slips: Sequence[Slip]) -> Scene:
    """`results`: for each name that is asked for, what its value is called here, and a formula for it."""

    def play(f, x, k):
        found = steps_of(f(_wasteful(k), list(results)))
        return {"steps": told(found), **{key: value_of(found, result, x) for result, (key, _) in results.items()}}

    return Scene(name, play, lambda x, k: {"steps": steps, **{key: formula(x, k) for key, formula in results.values()}}, passed,
                 FROM_THE_END, 3, _numbers((), ()), slips, SAYS)  # fmt: skip


Y = ("value", lambda x, k: np.tanh(k * x) + 1)
E = ("second", lambda x, k: (np.exp(x) + 1) * np.tanh(k * x))
LIVE = Behaviour("live_steps", (
    _live_scene("one result", {"y": Y}, "a=mul(x,#) d=tanh(a) y=add(d,#)", "what y needs, in the old order", [USED_BY_DEAD, ALL_KEPT]),
    _live_scene("two results", {"y": Y, "e": E}, "a=mul(x,#) b=exp(x) c=add(b,#) d=tanh(a) e=mul(c,d) y=add(d,#)",
                "what either of them needs", [ALL_KEPT]),
))  # fmt: skip

# -- common subexpressions -----------------------------------------------------------------------------------------


def _repeated(k: float) -> tuple[Steps, list[str]]:
    k = float(k)
    return [("a", "mul", ("x", k)), ("b", "tanh", ("a",)), ("c", "mul", ("x", k)), ("d", "tanh", ("c",)), ("y", "add", ("b", "d"))], ["y"]


def _turned(k: float) -> tuple[Steps, list[str]]:
    k = float(k)
    return [("a", "add", ("x", k)), ("b", "add", (k, "x")), ("c", "sub", ("x", k)), ("d", "sub", (k, "x")), ("e", "mul", ("a", "c")),
            ("f", "mul", ("b", "d")), ("y", "exp", ("f",)), ("z", "sub", ("y", "e"))], ["z", "f"]  # fmt: skip


def _last_one_twice(k: float) -> tuple[Steps, list[str]]:
    return [("a", "exp", ("x",)), ("b", "mul", ("a", float(k))), ("c", "exp", ("x",)), ("y", "mul", ("c", float(k)))], ["y"]


SHARING = {
    "names": ("not carried on", "Arguments keep the names of steps that are gone, so what follows from a repetition is not found",
              "d = tanh(c) is b = tanh(a) as soon as c is known to be a."),
    "differences": ("order", "a - b and b - a are taken for the same", "Of which operations may the arguments be exchanged?"),
    "sums": ("order", "a + b and b + a are taken for different", "Of which operations may the arguments be exchanged?"),
    "operation": ("operation", "Steps with the same arguments are taken for the same, whatever they do", "What makes two steps equal?"),
    "nothing": ("unchanged", "Nothing is shared", "Which steps have the same operation and the same arguments?"),
}  # fmt: skip


def _share_scene(name, make, steps, values, passed, hint, points, slips: Sequence[tuple[str, str]]) -> Scene:
    """`slips`: the mistakes that show in this scene, each with the steps that it leaves."""

    def play(f, x, k):
        found, results = pair(f(*make(k)), "the program, and the names of the results in it")
        found = steps_of(found)
        return {"steps": told(found), "value": [value_of(found, str(result), x) for result in results]}

    return Scene(name, play, lambda x, k: {"steps": steps, "value": values(x, k)}, passed, hint, points, _numbers((), ()),
                 [_with_steps(*SHARING[mistake], left) for mistake, left in slips], SAYS)  # fmt: skip


SHARE = Behaviour("share_steps", (
    _share_scene("what follows from a repetition", _repeated, "a=mul(x,#) b=tanh(a) y=add(b,b)", lambda x, k: [2 * np.tanh(k * x)],
                 "a repetition, and what follows from it, is computed once",
                 "Put the new names into the arguments before you look for a step like this one.", 3, [
                     ("names", "a=mul(x,#) b=tanh(a) d=tanh(a) y=add(b,d)"),
                     ("nothing", "a=mul(x,#) b=tanh(a) c=mul(x,#) d=tanh(c) y=add(b,d)")]),
    _share_scene("orders", _turned, "a=add(x,#) c=sub(x,#) d=sub(#,x) e=mul(a,c) f=mul(a,d) y=exp(f) z=sub(y,e)",
                 lambda x, k: [np.exp(k * k - x * x) - (x * x - k * k), k * k - x * x],
                 "sums and products in either order, differences not", "x - k is not k - x.", 2, [
                     ("differences", "a=add(x,#) c=sub(x,#) e=mul(a,c) y=exp(e) z=sub(y,e)"),
                     # all steps stay, as they do if nothing is shared
                     ("sums", "a=add(x,#) b=add(#,x) c=sub(x,#) d=sub(#,x) e=mul(a,c) f=mul(b,d) y=exp(f) z=sub(y,e)"),
                     ("operation", "a=add(x,#) d=sub(#,x) e=mul(a,a) f=mul(a,d) y=exp(f) z=sub(y,e)"),  # sums are written x + k
                     ("operation", "a=add(x,#) c=sub(x,#) e=mul(a,c) f=mul(a,a) y=exp(f) z=sub(y,e)")]),  # or k + x
    _share_scene("a result that repeats", _last_one_twice, "a=exp(x) b=mul(a,#)", lambda x, k: [k * np.exp(x)],
                 "the result has the name that is left", "If the last step is a repetition, by which name is the result known?", 2, [
                     ("names", "a=exp(x) b=mul(a,#) y=mul(a,#)"),
                     ("nothing", "a=exp(x) b=mul(a,#) c=exp(x) y=mul(c,#)")]),
))  # fmt: skip

# -- a fused chain, forward and backward ---------------------------------------------------------------------------

BLOCK = 4


class CountingOp:
    """An elementwise operation that notes how long the arrays are that it gets."""

    def __init__(self, forward: Callable, rule: Callable):
        self._forward, self._rule = forward, rule
        self.lengths: list[int] = []
        self.rules: list[int] = []

    def forward(self, v: Any) -> Any:
        """The values of a piece."""
        self.lengths.append(len(v))
        return self._forward(v)

    def rule(self, g: Any, v: Any, out: Any) -> Any:
        """What is sent back for g, with the piece that went in and the one that came out."""
        self.rules.append(len(v))
        return self._rule(g, v, out)


def _chain(a: float, b: float) -> list[CountingOp]:
    return [CountingOp(lambda v: v * a, lambda g, v, out: g * a), CountingOp(np.tanh, lambda g, v, out: g * (1 - out * out)),
            CountingOp(lambda v: v + b, lambda g, v, out: g), CountingOp(lambda v: v * v, lambda g, v, out: 2 * v * g)]  # fmt: skip


def _chain_values(x, a, b):
    return (np.tanh(a * x) + b) ** 2


def _chain_gradient(x, g, a, b):
    t = np.tanh(a * x)
    return g * 2 * (t + b) * (1 - t**2) * a


def _values_swapped(x, g, a, b):
    """The square gets x for its t + b, and tanh the result of the sum for its own."""
    return g * 2 * x * (1 - (np.tanh(a * x) + b) ** 2) * a


def _fused(f, x, g, a, b) -> tuple[Any, Any, list[CountingOp]]:
    chain = _chain(float(a), float(b))
    y, dx = pair(f(chain, x, g, BLOCK), "the results and the gradients")
    return np.asarray(y), np.asarray(dx), chain


def _fuse_values(f, *inputs) -> Data:
    y, dx, _ = _fused(f, *inputs)
    return {"y": y, "gradient": dx}


def _fuse_lengths(f, x, g, a, b) -> Data:
    _, dx, chain = _fused(f, x, g, a, b)
    right = bool(np.allclose(dx, _chain_gradient(x, g, a, b)))
    lengths, rules = ([n for op in chain for n in getattr(op, kind)] for kind in ("lengths", "rules"))
    return {"longest": max(lengths + rules, default=0), "forward": len(lengths), "back": len(rules), "right": right}


SWAPPED = Slip("variable", "The rules run backwards, and get the values in the order of the forward pass",
               "The last rule belongs to the last result and to what went into it.",
               lambda *inputs: {"gradient": _values_swapped(*inputs)})  # fmt: skip
IGNORED = Slip("upstream ignored", "The gradient that comes in is ignored", "The chain rule begins with g.",
               lambda x, g, a, b: {"gradient": _chain_gradient(x, 1.0, a, b)})  # fmt: skip
REST = Slip("rest", "The last piece, which is shorter, is left out", "The length need not be a multiple of the size of a block.",
            lambda x, g, a, b: {"y": np.where(np.arange(len(x)) < len(x) // BLOCK * BLOCK, _chain_values(x, a, b), 0.0)})  # fmt: skip


def _fuse_scene(name: str, length: int, passed: str, hint: str, slips: Sequence[Slip]) -> Scene:
    return Scene(name, _fuse_values, lambda x, g, a, b: {"y": _chain_values(x, a, b), "gradient": _chain_gradient(x, g, a, b)}, passed,
                 hint, 2, _numbers((length,), (length,), (), ()), slips, {"y": "the results", "gradient": "the gradients"})  # fmt: skip


FUSE = Behaviour("fuse", (
    _fuse_scene("two blocks", 8, "results and gradients of whole blocks",
                "Go through one block by hand: four values forward, four rules back.", [SWAPPED, IGNORED]),
    _fuse_scene("a shorter last block", 10, "and of a piece that is left",
                "The length need not be a multiple of the size of a block.", [SWAPPED, REST, IGNORED]),
    Scene("block by block", _fuse_lengths, lambda *inputs: {"longest": BLOCK, "forward": 12, "back": 12, "right": True},
          "no operation sees more than a block, and each sees it once", "All operations work on one block before the next begins.", 3,
          _numbers((10,), (10,), (), ()), [
              Slip("not fused", "Operations see the whole array", "Cut first, then run the chain on the piece.",
                   lambda *inputs: {"longest": 10}),
              Slip("computed twice", "The chain runs forward twice for each block", "Backward needs the values of the forward pass: keep "
                   "them for the block.", lambda *inputs: {"longest": BLOCK, "forward": 24, "back": 12})],
          {"longest": "the longest piece that an operation saw", "forward": "calls of operations", "back": "calls of rules",
           "right": "the gradient is right"}),
))  # fmt: skip

# -- replay into buffers -----------------------------------------------------------------------------------------------


class Recorder:
    """Operations that keep what they are to write into."""

    def __init__(self) -> None:
        self.outs: list[Any] = []

    def ops(self) -> dict[str, Callable]:
        """The operations by name."""
        return {name: self._noting(op) for name, op in OPS.items()}

    def _noting(self, op: Callable) -> Callable:
        def run(*args, out=None):
            self.outs.append(out)
            return op(*args, out=out)

        return run


PROGRAM = [("a", "mul", ("x", "w")), ("b", "tanh", ("a",)), ("c", "sub", ("b", "x")), ("y", "mul", ("c", 2.0))]


def _value(x, w):
    return (np.tanh(x * w) - x) * 2.0


def _three_calls(cls, x, w, u, v, *, take: Callable = np.asarray) -> tuple[list, list]:
    """The results of three calls, and what the operations got to write into."""
    recorder = Recorder()
    replay = cls(PROGRAM, "y", recorder.ops(), {"x": np.array(x), "w": np.array(w)})
    recorder.outs.clear()
    results = [take(replay({"x": np.array(one), "w": np.array(other)})) for one, other in ((x, w), (u, v), (x, v))]
    return results, recorder.outs


def _replay_values(cls, x, w, u, v) -> Data:
    results, _ = _three_calls(cls, x, w, u, v, take=np.array)
    return dict(zip(("first", "second", "third"), results, strict=True))


def _replay_memory(cls, x, w, u, v) -> Data:
    results, outs = _three_calls(cls, x, w, u, v)
    inner = [out for n, out in enumerate(outs) if n % len(PROGRAM) < len(PROGRAM) - 1]  # y may be a new array
    places = {out.__array_interface__["data"][0] for out in inner if out is not None}
    return {"calls": len(outs), "given": all(out is not None for out in inner), "places": len(places),
            "right": bool(np.allclose(results[2], _value(x, v)))}  # fmt: skip


def _replay_stays(cls, *inputs) -> Data:
    results, _ = _three_calls(cls, *inputs)
    return {"first": results[0], "second": results[1]}


def _replay_inputs(cls, x, w, u, v) -> Data:
    replay = cls(PROGRAM, "y", dict(OPS), {"x": np.array(x), "w": np.array(w)})
    given = {"x": np.array(u), "w": np.array(v)}
    result = np.array(replay(given))
    return {"x": given["x"], "w": given["w"], "value": result}


REPLAY_INPUTS = _numbers((5,), (5,), (5,), (5,))
REPLAY = Behaviour("replay", (
    Scene("values", _replay_values, lambda x, w, u, v: {"first": _value(x, w), "second": _value(u, v), "third": _value(x, v)},
          "each call computes with its own inputs", "A name stands for an input or for a buffer; which one is asked for in each call?", 2,
          REPLAY_INPUTS, [
              Slip("stale", "Every call returns what the first one did", "The buffers stay, the inputs change from call to call.",
                   lambda x, w, u, v: {"first": _value(x, w), "second": _value(x, w), "third": _value(x, w)})],
          {"first": "the first result", "second": "the second result", "third": "the third result"}),
    Scene("buffers", _replay_memory, lambda *inputs: {"calls": 12, "given": True, "places": 3, "right": True},
          "every step writes into a buffer of its own, the same in each call", "Make one buffer for each step when the program is made, "
          "and pass it as out.", 3, REPLAY_INPUTS, [
              Slip("allocates", "Operations make new arrays: they are called without out", "NumPy's functions take out=buffer.",
                   lambda *inputs: {"calls": 12, "given": False}),
              Slip("allocates", "Every call makes new buffers", "When are the buffers made: once, or in each call?",
                   lambda *inputs: {"calls": 12, "given": True, "places": 9})],
          {"calls": "operations that ran in three calls", "given": "each of them got a buffer", "places": "different buffers"}),
    Scene("results stay", _replay_stays, lambda x, w, u, v: {"first": _value(x, w), "second": _value(u, v)},
          "a later call leaves earlier results alone", "What is in the buffer of y after the next call, and who still holds it?", 3,
          REPLAY_INPUTS, [
              Slip("overwritten", "A later call overwrites the results of the earlier ones: all of them are one buffer",
                   "What is in the buffer of y after the next call, and who still holds it?",
                   lambda x, w, u, v: {"first": _value(x, v), "second": _value(x, v)})],
          {"first": "the first result, after the third call", "second": "the second result, after the third call"}),
    Scene("inputs stay", _replay_inputs, lambda x, w, u, v: {"x": u, "w": v, "value": _value(u, v)}, "inputs are not written to",
          "The buffers belong to the program, the inputs to the caller.", 1, REPLAY_INPUTS,
          says={"x": "the input x after the call", "w": "the input w after the call"}),
))  # fmt: skip

# -- guards -------------------------------------------------------------------------------------------------------------


class Traced:
    """A function that is traced: each trace gives a program for this kind of call, and is counted."""

    def __init__(self) -> None:
        self.factor, self.traces = 2.0, 0

    def trace(self, *args: Any) -> Callable:
        """The program of this call: what is a number in it, here or outside, is written into it."""
        self.traces += 1
        factor, numbers = self.factor, [a for a in args if not isinstance(a, np.ndarray)]
        kinds = [a.dtype for a in args if isinstance(a, np.ndarray)]
        shapes = [a.shape for a in args if isinstance(a, np.ndarray)]

        def program(*args):
            arrays = [a for a in args if isinstance(a, np.ndarray)]
            out = np.zeros(np.broadcast_shapes(*shapes), np.result_type(*kinds))
            for a in arrays:
                out = out + a[tuple(slice(n) for n in out.shape)].astype(kinds[0])
            for number in numbers:
                out = out * number if not isinstance(number, bool) else (-out if number else out)
            return np.asarray(out * factor)

        return program

    def outside(self) -> tuple:
        """The numbers from outside that a program has in it."""
        return (self.factor,)


def _calls(make: Callable) -> Callable:
    def play(cls, x, z):
        traced = Traced()
        guarded = cls(traced.trace, traced.outside)
        values: list[Any] = []
        traces = []
        for args, factor in make(x, z):
            traced.factor = factor
            result = guarded(*args)
            values.extend(np.ravel(np.asarray(result, float)))
            traces.append(traced.traces)
        return {"values": values, "traces": traces}

    return play


def _runs(make: Callable, programs: Sequence[int]) -> Callable:
    """What the calls give if call n runs the program of call programs[n]: with its own number, a new one."""

    def expect(x, z):
        traced = Traced()
        made: dict[int, Callable] = {}
        values: list[Any] = []
        traces = []
        for n, (args, factor) in enumerate(make(x, z)):
            traced.factor = factor
            if programs[n] == n:
                made[n] = traced.trace(*args)
            values.extend(np.ravel(np.asarray(made[programs[n]](*args), float)))
            traces.append(traced.traces)
        return {"values": values, "traces": traces}

    return expect


def _shape_calls(x, z):
    return [((x,), 2.0), ((x,), 2.0), ((z,), 2.0), ((x,), 2.0), ((z,), 2.0), ((x, x), 2.0)]


def _dtype_calls(x, z):
    return [((x,), 2.0), ((np.floor(x).astype(np.int64),), 2.0), ((x + 1,), 2.0), ((x.reshape(1, -1),), 2.0)]


def _number_calls(x, z):
    return [((x, 2), 2.0), ((x, 3), 2.0), ((x, 2), 2.0), ((x, 1), 2.0), ((x, True), 2.0)]


def _outside_calls(x, z):
    return [((x,), 2.0), ((x,), 5.0), ((z,), 5.0), ((x,), 2.0)]


# Each mistake with the scenes in which it shows, and whose program each call runs there.
GUARD_MISTAKES = (
    ("shape", "The guard does not look at shapes: a program runs on arrays that it was not written for",
     "A list of operations is right for the shapes with which it was traced.",
     {"shapes": (0, 0, 0, 0, 0, 5), "dtypes": (0, 1, 0, 0), "outside": (0, 1, 1, 0)}),
    ("dtype", "The guard does not look at dtypes", "Which dtype do the results of a program for whole numbers have?",
     {"dtypes": (0, 0, 0, 3)}),
    ("number", "The guard does not look at numbers: a program with an old number in it runs again",
     "A Python number is written into the program.", {"numbers": (0, 0, 0, 0, 4)}),
    ("number", "1 and True are one key: they are equal in Python, and a program for one runs for the other",
     "1 == True, and hash(1) == hash(True). What else can be in the key?", {"numbers": (0, 1, 0, 3, 3)}),
    ("outside", "The guard does not look outside: a number has changed there, and the old program runs",
     "Ask outside() in every call, and compare.", {"outside": (0, 0, 2, 0)}),
    ("one program", "Only the last program is kept: calls that alternate are traced again and again",
     "Keep a program for each kind of call.",
     {"shapes": (0, 0, 2, 3, 4, 5), "dtypes": (0, 1, 2, 3), "numbers": (0, 1, 2, 3, 4), "outside": (0, 1, 2, 3)}),
    ("always", "Every call is traced", "When may a program run again?", {"shapes": (0, 1, 2, 3, 4, 5)}),  # elsewhere as the one above
)  # fmt: skip


def _guard_scene(name, make, traces: Sequence[int], passed, hint, points) -> Scene:
    always_traced = _runs(make, range(len(traces)))
    return Scene(name, _calls(make), lambda *inputs: {"values": always_traced(*inputs)["values"], "traces": traces}, passed, hint, points,
                 _numbers((3,), (4,)),
                 [Slip(family, text, said, _runs(make, shows[name])) for family, text, said, shows in GUARD_MISTAKES if name in shows],
                 {"values": "the results", "traces": "the number of traces after each call"})  # fmt: skip


GUARD = Behaviour("guard", (
    _guard_scene("shapes", _shape_calls, [1, 1, 2, 2, 2, 3], "one program for each shape, and both are kept",
                 "When may a program run again?", 2),
    _guard_scene("dtypes", _dtype_calls, [1, 2, 2, 3], "dtypes and numbers of axes count", "What does a program know about an array?", 1),
    _guard_scene("numbers", _number_calls, [1, 2, 2, 3, 4], "numbers are in the key, with their types",
                 "A Python number is written into the program.", 2),
    _guard_scene("outside", _outside_calls, [1, 2, 3, 3], "a number outside is guarded as well",
                 "Ask outside() in every call, and compare.", 2),
))  # fmt: skip

COMPILER = (FOLD, LIVE, SHARE, FUSE, REPLAY, GUARD)
