"""7. The numba backend: a chain of elementwise steps as one loop of machine code that reads each input once.

`compile(f, backend="numba")`. Convolutions are those of `direct`; everything else is as with the NumPy backend. Arithmetic is rounded as
NumPy rounds it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.compiler.emit import Group, Source, is_sum
from autolab.compiler.lower import Step, Value, samples
from autolab.rules.elementwise import keep

try:
    import numba
except ImportError:
    raise ImportError(
        'torch.compile(backend="numba") needs numba, which is not installed: pip install "autolab-grad[numba]", or leave `backend` out.'
    ) from None

from autolab.compiler.direct import DIRECT  # these need numba, too
from autolab.compiler.lanes import any_order, exp, log, tanh
from autolab.compiler.one_pass import ONE_PASS

BLOCK = 1 << 12  # entries that are summed in float32 before the sum goes on in float64
ARITHMETIC = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}", np.true_divide: "{} / {}", np.negative: "-{}",
    np.square: "{0} * {0}", np.reciprocal: "one / {}", np.absolute: "abs({})", np.sqrt: "sqrt({})",
    np.maximum: "{0} if {0} >= {1} or {0} != {0} else {1}", np.minimum: "{0} if {0} <= {1} or {0} != {0} else {1}",
}  # fmt: skip
COMPARISONS = {
    np.greater: "{} > {}", np.greater_equal: "{} >= {}", np.less: "{} < {}", np.less_equal: "{} <= {}",
    np.equal: "{} == {}", np.not_equal: "{} != {}",
}  # fmt: skip
LOGIC = {np.logical_and: "{} and {}", np.logical_or: "{} or {}", np.logical_not: "not {}"}
FLOAT32_ONLY = {np.exp: "exp({})", np.log: "log({})", np.tanh: "tanh({})"}
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
BOOL = np.dtype(bool)


class Machine(Group):
    """A group that is written as one loop."""

    way = "run as machine code"
    least = 1 << 12  # entries: below that a call of the loop costs as much as it saves
    calls = ONE_PASS

    @classmethod
    def quick(cls, step: Any) -> Any:
        """The step, or that which sums a convolution in registers, or goes once over its arrays."""
        direct = DIRECT.get(step.function) or ONE_PASS.get(step.function) if isinstance(step, Step) else None
        if direct is None:
            return step
        direct(*samples(step.args), **samples(step.kwargs))  # compiled now, or read from disk
        made = Step(direct, step.args, step.kwargs, step.elementwise)
        made.outs, made.several = step.outs, step.several
        return made

    @classmethod
    def can(cls, step: Step) -> bool:
        return formula(step) is not None or is_sum(step)

    def write(self, to: Source, i: int) -> None:
        inner = {o for s in self.steps for o in s.outs if o is not None}
        outside = dict.fromkeys(v for s in self.steps for v in s.values() if v not in inner)
        names: dict[str, Any] = dict(FUNCTIONS)
        given, parts, body, samples = [], [], [], []  # arguments of the loop, their blocks, its lines, arguments to try it with
        for v in outside:
            if np.shape(v.sample) == self.shape:
                given.append((f"f_{v.name}", f"{to.speak(v)}.reshape(-1)"))
                parts.append(f"r_{v.name} = f_{v.name}[lo:hi]")
                body.append(f"{v.name} = r_{v.name}[i]")
                samples.append(np.ascontiguousarray(v.sample).reshape(-1))
            elif v.constant:
                names[v.name] = v.sample[()]
            else:
                given.append((v.name, f"{to.speak(v)}[()]"))
                samples.append(v.sample[()])
        sums: list[Value] = []
        for s in self.steps:
            out = s.outs[0]
            assert out is not None
            if is_sum(s):
                body.append(f"p_{out.name} = any_order(p_{out.name}, {s.args[0].name})")
                names[f"zero_{out.name}"] = out.sample.dtype.type(0)
                sums.append(out)
                continue
            body.append(f"{out.name} = {formula(s)}")
            if out in self.needed:
                self.whole(to, out)
                given.append((f"w_{out.name}", f"w_{out.name}"))
                parts.append(f"r_{out.name} = w_{out.name}[lo:hi]")
                body.append(f"r_{out.name}[i] = {out.name}")
                samples.append(np.empty(out.sample.size, out.sample.dtype))
        n = math.prod(self.shape)
        text = "\n".join([
            f"def loop({', '.join(name for name, _ in given)}):",
            *(f"    t_{v.name} = 0.0" for v in sums),
            f"    for lo in range(0, {n}, {BLOCK}):",
            *(f"        p_{v.name} = zero_{v.name}" for v in sums),
            f"        hi = min(lo + {BLOCK}, {n})",
            *(f"        {line}" for line in parts),
            "        for i in range(hi - lo):",  # from 0 on, or numba would look for negative indices
            *(f"            {line}" for line in body),
            *(f"        t_{v.name} += p_{v.name}" for v in sums),
            f"    return ({''.join(f't_{v.name}, ' for v in sums)})",
        ])  # fmt: skip
        place: dict[str, Any] = {}
        exec(compile(text, "<loop>", "exec"), names, place)
        loop = numba.njit(error_model="numpy")(place["loop"])
        loop(*samples)  # compiled now, and not in the middle of somebody's measurement
        name = to.bind(loop, "loop")
        to.texts.append(text.replace("def loop(", f"def {name}("))
        results = "".join(f"t_{v.name}, " for v in sums)
        to.lines.append(f"{results + '= ' if sums else ''}{name}({', '.join(place for _, place in given)})")
        for v in sums:
            to.lines.append(f"{v.name} = {to.bind(v.sample.dtype.type, v.sample.dtype.name)}(t_{v.name})")
        to.fused.append(self.steps)


def formula(step: Step) -> str | None:
    """A step as an expression on single entries; None if it is not one of those that are exactly NumPy's."""
    function, out, args = step.function, step.outs[0], step.args
    if out is None or step.several or step.kwargs or not all(isinstance(a, Value) for a in args):
        return None
    kind, kinds = out.sample.dtype, [a.sample.dtype for a in args]
    names = [a.name for a in args]
    if function is np.where and len(args) == 3:
        return "{1} if {0} else {2}".format(*names) if kinds[0] == BOOL and kinds[1] == kinds[2] == kind else None
    if function is keep.compute:
        return f"{names[0]} if {names[1]} else {kind.name}(0)" if kinds == [kind, BOOL] and kind in FLOATS else None
    if function in LOGIC or function in COMPARISONS:
        wanted = (BOOL,) if function in LOGIC else FLOATS
        same = kinds[0] in wanted and all(k == kinds[0] for k in kinds)
        return {**LOGIC, **COMPARISONS}[function].format(*names) if same else None
    if kind not in FLOATS or not any(k == kind for k in kinds) or any(k not in (kind, BOOL) for k in kinds):
        return None
    # a mask as a factor: its entries are the numbers 0 and 1
    names = [f"({kind.name}(1) if {n} else {kind.name}(0))" if k == BOOL else n for n, k in zip(names, kinds)]
    found = ARITHMETIC.get(function) or (FLOAT32_ONLY.get(function) if kind == FLOATS[0] else None)
    return found.replace("one", f"{kind.name}(1)").format(*names) if found else None


FUNCTIONS = {"float32": np.float32, "float64": np.float64, "sqrt": math.sqrt, "exp": exp, "log": log, "tanh": tanh, "any_order": any_order}
