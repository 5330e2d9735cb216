"""An operation without its rules: the engine differentiates forward, so that a check can stand where learners read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autolab.autograd import enable_grad, grad
from autolab.engine.op import GENERAL, Op
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy


class RowByEngine(Op):
    """A row whose rules are forward itself, differentiated: right, also twice, and no text that could be read or mutated.

    `gradients`: the inputs that have one; all of them if not given. Forward is a function in NumPy's words that runs on tensors too.

    >>> row = RowByEngine("swirl", lambda x: x * np.sin(x))
    >>> row.rules["x"].function(np.array([2.0]), np.array([0.0])), row.formula("x")
    (array([0.]), '')
    """

    def __init__(self, name: str, forward: Callable[..., Any], kind: str = GENERAL, gradients: Sequence[str] = (), **options: Any):
        plain = Op(name, forward, kind, **options)
        wanted = [x for x in plain.inputs if not gradients or x in gradients]
        rules: dict[str, Any] = {x: _rule(plain, x) for x in wanted}
        super().__init__(name, forward, kind, **options, **rules)

    def formula(self, argument: str) -> str:
        """Nothing: a rule by the engine has no formula."""
        return ""


def _rule(row: Op, x: str) -> Callable[..., Any]:
    """A backward rule for input `x`: a row reads from the names of its parameters what it needs, so they are those of forward."""
    at, names = row.inputs.index(x), [*row.inputs, *row.settings]

    def back(g: Any, *values: Any) -> Any:
        inputs, settings = list(values[: len(row.inputs)]), dict(zip(row.settings, values[len(row.inputs) :], strict=True))
        again = any(isinstance(value, Tensor) for value in (g, *inputs))
        if row.kind == "elementwise" and len(inputs) > 1:  # the sum over stretched axes comes after the rule
            inputs = _stretched(inputs)
        with enable_grad():
            tensors = [a if isinstance(a, Tensor) else from_numpy(np.array(a)) for a in inputs]
            watched = tensors[at] if tensors[at].requires_grad else tensors[at].detach().requires_grad_()
            out = row.forward(*tensors[:at], watched, *tensors[at + 1 :], **settings)
            if not (isinstance(out, Tensor) and out.requires_grad):
                return 0 * watched if again else np.zeros(watched.shape)
            incoming = g if isinstance(g, Tensor) else from_numpy(np.array(g))
            (found,) = grad(out, watched, incoming, create_graph=again, allow_unused=True)
        if found is None:
            return 0 * watched if again else np.zeros(watched.shape)
        return found if again else found.numpy()

    return eval(f"lambda g, {', '.join(names)}: back(g, {', '.join(names)})", {"back": back})


def _stretched(inputs: list[Any]) -> list[Any]:
    shape = np.broadcast_shapes(*(np.shape(a) for a in inputs))
    return [a.expand(shape) if isinstance(a, Tensor) else np.broadcast_to(a, shape) for a in inputs]
