"""7. The numba backend: a chain of elementwise steps as one loop of machine code that reads each input once.

`compile(f, backend="numba")`. Convolutions are those of `direct`, norms, losses, recurrent layers those of `one_pass`, optimizers move as
`moves` says; everything else is as with the NumPy backend. Arithmetic is rounded as NumPy rounds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.compiler.emit import Group, Source, is_sum
from autolab.compiler.lower import Step, Value, samples

try:
    import numba  # noqa: F401
except ImportError:
    raise ImportError(
        'torch.compile(backend="numba") needs numba, which is not installed: pip install "autolab-grad[numba]", or leave `backend` out.'
    ) from None

from autolab.compiler.direct import DIRECT  # these need numba, too
from autolab.compiler.loops import FLOATS, expression, literal, loop
from autolab.compiler.moves import with_loops
from autolab.compiler.notes import NotEntrywise, Notes
from autolab.compiler.one_pass import ONE_PASS
from autolab.fast.kernel import INTO

BLOCK = 1 << 12  # entries that are summed in float32 before the sum goes on in float64


class Machine(Group):
    """A group that is written as one loop."""

    way = "run as machine code"
    least = 1 << 12  # entries: below that a call of the loop costs as much as it saves

    @classmethod
    def quick(cls, step: Any) -> list[Any]:
        """The step, or that which sums a convolution in registers, or goes once over its arrays, or what a kernel does entry by entry."""
        if not isinstance(step, Step):
            return [step]
        direct = DIRECT.get(step.function) or (ONE_PASS[step.function] if cls.keeps(step.function, step.values()) else None)
        if direct is None:
            return entrywise(step) if step.function in INTO else [step]
        direct(*samples(step.args), **samples(step.kwargs))  # compiled now, or read from disk
        made = Step(direct, step.args, step.kwargs, step.elementwise)
        made.outs, made.several = step.outs, step.several
        return [made]

    @classmethod
    def keeps(cls, function: Any, values: Any) -> bool:
        return function in ONE_PASS and any(np.size(v.sample) >= cls.least for v in values)

    @classmethod
    def effect(cls, run: Any) -> Any:
        return with_loops(run)

    @classmethod
    def can(cls, step: Step) -> bool:
        return formula(step) is not None or is_sum(step)

    def write(self, to: Source, i: int) -> None:
        inner = {o for s in self.steps for o in s.outs if o is not None}
        names: dict[Value, str] = {}  # in the text of the loop, the same in every program
        given, places, parts, body, samples = [], [], [], [], []  # its arguments, how the program speaks of them, blocks, lines, examples
        for v in dict.fromkeys(v for s in self.steps for v in s.values() if v not in inner):
            if np.shape(v.sample) == self.shape:
                names[v] = f"x{len(given)}"
                parts.append(f"r{len(given)} = a{len(given)}[lo:hi]")
                body.append(f"{names[v]} = r{len(given)}[i]")
                places.append(f"{to.speak(v)}.reshape(-1)")
                samples.append(np.ascontiguousarray(v.sample).reshape(-1))
            elif v.constant:
                names[v] = literal(v.sample[()])
                continue
            else:
                names[v] = f"a{len(given)}"
                places.append(f"{to.speak(v)}[()]")
                samples.append(v.sample[()])
            given.append(f"a{len(given)}")
        sums: dict[Value, int] = {}
        for k, s in enumerate(self.steps):
            out = s.outs[0]
            assert out is not None
            if is_sum(s):
                number = sums[out] = len(sums)
                body.append(f"p{number} = any_order(p{number}, {names[s.args[0]]})")
                continue
            names[out] = f"v{k}"
            body.append(f"v{k} = {formula(s, names)}")
            if out in self.needed:
                self.whole(to, out)
                parts.append(f"r{len(given)} = a{len(given)}[lo:hi]")
                body.append(f"r{len(given)}[i] = v{k}")
                given.append(f"a{len(given)}")
                places.append(f"w_{out.name}")
                samples.append(np.empty(out.sample.size, out.sample.dtype))
        array = parts[0].split(" = ")[1].removesuffix("[lo:hi]")
        text = "\n".join([
            f"def loop({', '.join(given)}):",
            *(f"    t{k} = 0.0" for k in sums.values()),
            f"    for lo in range(0, {array}.size, {BLOCK}):",
            *(f"        p{k} = {v.sample.dtype.name}(0)" for v, k in sums.items()),
            f"        hi = min(lo + {BLOCK}, {array}.size)",
            *(f"        {line}" for line in parts),
            "        for i in range(hi - lo):",  # from 0 on, or numba would look for negative indices
            *(f"            {line}" for line in body),
            *(f"        t{k} += p{k}" for k in sums.values()),
            f"    return ({''.join(f't{k}, ' for k in sums.values())})",
            "",
        ])  # fmt: skip
        run = loop(text)
        run(*samples)  # compiled now, and not in the middle of somebody's measurement
        name = to.bind(run, "loop")
        to.texts.append(text.replace("def loop(", f"def {name}("))
        results = "".join(f"t_{v.name}, " for v in sums)
        to.lines.append(f"{results + '= ' if sums else ''}{name}({', '.join(places)})")
        for v in sums:
            to.lines.append(f"{v.name} = {to.bind(v.sample.dtype.type, v.sample.dtype.name)}(t_{v.name})")
        to.fused.append(self.steps)


def formula(step: Step, names: dict[Value, str] | None = None) -> str | None:
    """A step as an expression on single entries; None if it is not one of those that are exactly NumPy's."""
    out = step.outs[0]
    if out is None or step.several or step.kwargs or not all(isinstance(a, Value) for a in step.args):
        return None
    said = [a.name if names is None else names[a] for a in step.args]
    return expression(step.function, out.sample.dtype, [a.sample.dtype for a in step.args], said)


def entrywise(step: Step) -> list[Step]:
    """The operations of a kernel that works in place, as steps of a chain; the step itself if it cannot be one."""
    into, settings = INTO[step.function]
    x, out = step.args[0], step.outs[0]
    if not isinstance(x, Value) or out is None or x.sample.size < Machine.least or {x.sample.dtype, out.sample.dtype} != {FLOATS[0]}:
        return [step]
    notes = Notes(x.sample.dtype)
    values: dict[int, Value] = {}  # by their numbers in the notes
    given: list[Any] = []
    for a in (*step.args, *[step.kwargs.get(name, default) for name, default in settings.items()]):
        if not isinstance(a, Value):
            given.append(a)
        elif a.sample.shape == x.sample.shape and a.sample.dtype == x.sample.dtype:
            given.append(notes.array(x.sample))
            values[given[-1].value] = a
        else:
            return [step]
    result = notes.array(x.sample)
    try:
        into(*given, result)
    except NotEntrywise:
        return [step]
    if not notes.calls or result.value != notes.calls[-1][2] or not notes.can_be_a_loop():
        return [step]
    made = []
    for function, args, number in notes.calls:
        inner = Value(np.empty(x.sample.shape, notes.kinds[number]), f"{out.name}_{number}")
        values[number] = out if number == result.value else inner
        constants = [Value(np.array(notes.numbers[~a], notes.dtype), "", constant=True) if a < 0 else values[a] for a in args]
        made.append(Step(function, tuple(constants), {}, True))
        made[-1].outs = [values[number]]
    return made
