"""An operation as chains of rows of the table, one for each way to spell it out."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from ...run.numpy_tensor import on_tensors
from ...run.observation import Observation, close
from ...run.reference import Reference
from ..formulas.decompositions import DECOMPOSITIONS
from .row_call import RowCall
from .stepwise import Chain


def is_elementwise(function: Callable, inputs: Sequence[np.ndarray], settings: Mapping[str, Any]) -> bool:
    """Does each entry of the result depend on the entries in its own place only: are all its steps so?"""
    try:
        chain = Chain(function, {str(k): a for k, a in enumerate(inputs)}, settings, np.ones(()))
    except Exception:  # it does not run on tensors alone
        return False
    return all(step.row.kind == "elementwise" for step in chain.steps)


def chains(o: Observation, x: str) -> list[Chain | None]:
    """The operation of an observation as chains of rows, one for each way to spell it out; those that give the right gradient."""
    reference = o.reference
    shapes = tuple(o.shape(y) for y in reference.inputs)
    if (key := ("chains", x, shapes)) not in o.memo:
        if ("chains", shapes) not in o.about_right:
            inputs = {y: np.broadcast_to(a, shape) for y, a, shape in zip(reference.inputs, o.inputs, shapes, strict=True)}
            functions = [reference.function] if reference.function else DECOMPOSITIONS.get(reference.name, ())
            made = [_chain(f, inputs, o.settings, o.g) for f in functions]
            if not any(made) and (written := as_arrays(reference)):
                made = [_chain(written, inputs, o.settings, o.g)]
            if reference.function and made[0] and len(made[0].steps) == 1:
                made += [_chain(f, inputs, o.settings, o.g) for f in _spelled_out(made[0].steps[0])]
            if reference.row is not None and not functions:
                made = [_chain(reference.row.forward, inputs, reference.call_settings(o.settings), o.g)]
            o.about_right["chains", shapes] = made
        found = [_with_received(chain, o, x) for chain in o.about_right["chains", shapes]]
        o.memo[key] = found if reference.function else [c for c in found if c is None or len(c.steps) > 1]
    return o.memo[key]


def first_chain(o: Observation, x: str) -> Chain | None:
    """The simplest of them, if there is one."""
    return next(filter(None, chains(o, x)), None)


def as_arrays(reference: Reference) -> Callable | None:
    """A forward for arrays that writes into some of them: on tensors that is no step, and on what passes for arrays it is."""
    is_own = reference.function is not None and reference.function is getattr(reference.forward, "forward", None)
    return on_tensors(reference.function) if is_own else None  # type: ignore[arg-type]


def stretched(o: Observation, x: str) -> Iterator[tuple[np.ndarray, tuple[int, ...]]]:
    """What the step that stretches x, as a layer does with its bias, passes on before that is summed, and to which shape."""
    for chain in filter(None, chains(o, x)):
        at = chain.inputs.index(x)
        uses = [(step, k) for step in chain.steps for k, source in enumerate(step.sources) if source == at]
        if len(uses) == 1 and uses[0][0].row.name in ("expand_dims", "reshape"):  # x with an axis of size 1 put in
            at = uses[0][0].place
            uses = [(step, k) for step in chain.steps for k, source in enumerate(step.sources) if source == at]
        for step, k in uses if len(uses) == 1 else ():
            if step.row.kind == "elementwise" and step.has_rule(k) and step.incoming is not None:
                full = np.broadcast_to(step.rule(k, step.incoming), step.names["out"].shape)
                if full.shape != step.shape(k):
                    yield full, step.shape(k)


def _chain(function: Callable, inputs: Mapping[str, np.ndarray], settings: Mapping[str, Any], g: np.ndarray) -> Chain | None:
    try:
        return Chain(function, inputs, settings, g)
    except Exception:  # not every formula runs on tensors, and not every function is made of rows
        return None


def _spelled_out(step: RowCall) -> Iterator[Callable]:
    """A function that is one row of the table, in simpler ones."""

    def spelled(*tensors: Tensor, function: Callable, **_: Any) -> Tensor:
        taken = inspect.signature(function).parameters
        settings = {name: step.names[name] for name in step.row.settings if name in taken}
        constants = step.names["raw"]
        return function(*(tensors[s] if s is not None else from_numpy(constants[k]) for k, s in enumerate(step.sources)), **settings)

    for function in DECOMPOSITIONS.get(step.row.name, ()):
        yield partial(spelled, function=function)


def _with_received(chain: Chain | None, o: Observation, x: str) -> Chain | None:
    """The chain for one input and what came back for it, if it gives the right gradient; the steps are the same for all checks."""
    at = chain.inputs.index(x) if chain else None
    if chain is None or at not in chain.gradients or not close(chain.gradients[at], o.want[x]):
        return None
    mine = copy.copy(chain)
    mine.received = o.got[x] if np.shape(o.got[x]) == o.want[x].shape else None
    return mine
