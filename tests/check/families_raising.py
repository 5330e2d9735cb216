"""Right rules with a line put in that raises: always, or for some shapes and settings only."""

from __future__ import annotations

import inspect

import numpy as np

from autolab.check import SPECS, Reference
from autolab.check.run.cases import cases
from autolab.check.run.specs import ALIASES

from . import right_more, right_styles  # noqa: F401  (they fill the list)
from .generated import wrong
from .right import RIGHT


def first(values):
    """The first gradient of several."""
    return values[0] if isinstance(values, (tuple, list)) else values


def put(values, a):
    """With another first gradient."""
    return (a, *values[1:]) if isinstance(values, (tuple, list)) else a


# name: kinds, words, what is done with g, the names that the rule asked for, and its gradients
LINES = {
    "two axes only": ("2-D only", ("axes", "axis"), lambda g, x, r: (lambda n, m: r)(*_two(g))),
    "a fixed shape": ("flattened|number|setting|2-D only|square only", (), lambda g, x, r: put(r, np.reshape(first(r), x["first"]))),
    "a fixed axis": ("axis|2-D only", (), lambda g, x, r: (np.sum(g, axis=2), r)[1]),
    "an index past the end": ("places|number|setting|2-D only", (), lambda g, x, r: ([g[i] for i in range(4)], r)[1]),
    "if of an array": ("mask|2-D only", (), lambda g, x, r: (bool(g > 0), r)[1]),
    "an array of whole numbers": ("integer|dtype", (), lambda g, x, r: put(r, np.add(first(r), 0, out=np.zeros(np.shape(first(r)), int)))),
    "a name that is not there": ("name", (), lambda g, x, r: gradient * r),  # noqa: F821
    "an attribute that is not there": ("name", (), lambda g, x, r: put(r, first(r).transposed)),
    "added to a fixed array": ("keepdims|not spread|wrong axis|number", (), lambda g, x, r: put(r, first(r) + np.zeros((3, 5)))),
    "a product of matrices": ("order|transposed|square only|2-D only", (), lambda g, x, r: (g @ g, r)[1]),
    "None": ("none", (), lambda g, x, r: put(r, x["nothing"] * first(r))),
    "cut to a piece": ("pieces|places|number|keepdims|not spread", (), lambda g, x, r: put(r, _written(first(r)))),
    "an inverse": ("square only|variable|2-D only", (), lambda g, x, r: (np.linalg.inv(g), r)[1]),
    "a number": ("not spread", (), lambda g, x, r: (float(g), r)[1]),
}  # fmt: skip


def _two(g):
    n, m = g.shape
    return n, m


def _written(a):
    out = np.zeros_like(a)
    out[:2] = a[:3]
    return out


def shapes_of(operation):
    spec = SPECS.get(operation) or SPECS[ALIASES.get(operation, operation)]
    reference = Reference.of(spec.row or spec.name)
    with np.errstate(all="ignore"):
        return reference, list(cases(spec, reference, np.random.default_rng(0)))


def make(operation, rule, line):
    kinds, words, f = LINES[line]
    reference, every = shapes_of(operation)
    asked = list(inspect.signature(rule).parameters)
    known = {*reference.inputs, *(f"{x}_shape" for x in reference.inputs), "out", *reference.settings}
    if not known.issuperset(asked[1:]):
        return
    x = next(reference.differentiable())
    more = {"first": np.shape(every[0].inputs[reference.inputs.index(x)]), "nothing": None}

    def broken(*values):
        return f(values[0], more, rule(*values))

    made = {"broken": broken}
    exec(f"def rule({', '.join(asked)}): return broken({', '.join(asked)})", made)
    raised = []
    for case in every:
        if case.purpose not in ("value", "broadcast"):
            continue
        names = reference.environment(case.inputs, case.settings)
        try:
            broken(case.upstream[0], *(names[n] for n in asked[1:]))
        except Exception as error:
            raised.append(error)
    if raised:
        wrong(f"raising: {line}", operation, operation, made["rule"], kinds, words)


def fill() -> None:
    """Put each line into one right rule of every operation."""
    seen = set()
    for operation, rule in RIGHT:
        if not inspect.isfunction(rule) or operation not in SPECS or operation in seen:
            continue
        asked = inspect.signature(rule).parameters.values()
        if any(p.kind is not p.POSITIONAL_OR_KEYWORD or p.default is not p.empty for p in asked):
            continue
        seen.add(operation)
        for line in LINES:
            make(operation, rule, line)
