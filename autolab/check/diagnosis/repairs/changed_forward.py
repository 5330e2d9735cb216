"""A forward that runs on tensors with changes in its source: a computation that differs from it in one place, and its gradients."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import autolab
from autolab.autograd import enable_grad, grad

from ...run import numpy_tensor
from ...run.meter import TooLong
from ...run.numpy_tensor import NumPyTensor
from ...run.observation import Observation, close
from .schema import Schema

Changes = Mapping[int, Callable]


class ChangedForward:
    """The source of forward, ready to be changed at any place. It is run on the numbers of a call."""

    def __init__(self, o: Observation):
        function: Any = o.reference.function
        self.wraps = hasattr(function, "forward")  # is it for arrays, and are its words NumPy's?
        forward = numpy_tensor.with_makers(function.forward) if self.wraps else function
        self.schema = Schema({"backward": forward})
        self.work = 0
        self.values: dict[int, list[Any]] = defaultdict(list)  # what each place gives, each time the unchanged forward comes there
        self.moving: set[int] = set()  # the places through which something comes back at one time at least
        self.last: dict[str, Any] = {}  # what the names stand for in the end
        self.turn: Counter[int] = Counter()  # how often this run has been there

    def note(self, o: Observation) -> bool:
        """Run it unchanged: every place learns what it works on, and how often it is run. Is its gradient the right one?"""
        if "backward" not in self.schema.methods:
            return False
        right = self.schema.first_run(lambda: self._gradients(o))
        self._run(o, {site.number: partial(self._kept, site.number) for site in self.schema.visited() if site.block is None})
        return all(right is not None and close(right[x], o.want[x]) for x in o.reference.rules if o.got[x] is not None)

    def _kept(self, number: int, do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
        value = do(*args, **kwargs)
        is_known = isinstance(getattr(value, "tensor", value), (autolab.Tensor, float))  # a state may begin with a number
        self.values[number].append(numbers(value) if is_known else None)
        self.moving |= {number} if has_gradient(value) else set()
        self.last.update((name, numbers(v)) for name, v in names.items() if has_gradient(v))
        return value

    def counted(self, change: Callable[[int, Any, Any], Any], number: int, do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
        """A change that is told the how manieth time forward comes to its place."""
        k = self.turn[number]
        self.turn[number] += 1
        return change(k, do(*args, **kwargs), names)

    def close(self) -> None:
        """Forget it: the changed functions live in its names, and these in them."""
        self.schema.names.clear()

    def gives(self, o: Observation, x: str, changes: Changes) -> bool:
        """Is what came back for x the gradient of forward with these changes?"""
        found = self._run(o, changes)
        return found is not None and found.get(x) is not None and close(found[x], o.got[x])

    def _run(self, o: Observation, changes: Changes) -> Mapping[str, Any] | None:
        self.turn.clear()
        try:
            return self.schema.run(lambda: self._gradients(o), changes)
        except TooLong:
            return None
        finally:
            self.work += self.schema.visits

    def _gradients(self, o: Observation) -> Mapping[str, Any] | None:
        reference = o.reference
        with enable_grad():
            tensors = [autolab.from_numpy(np.array(a)) for a in o.inputs]
            for x, t in zip(reference.inputs, tensors, strict=True):
                t.requires_grad_(x in reference.rules and t.is_floating_point())
            given = [NumPyTensor(t) if self.wraps and t.payload.dtype.kind in "fc" else t for t in tensors]
            try:
                result = self.schema.methods["backward"](*given, **reference.call_settings(o.settings))
            except TooLong:
                raise
            except Exception:  # what is changed does not fit what comes after it
                return None
            result = getattr(result, "tensor", result)
            if not isinstance(result, autolab.Tensor) or result.shape != o.g.shape or not result.requires_grad:
                return None
            watched = {x: t for x, t in zip(reference.inputs, tensors, strict=True) if t.requires_grad}
            found = grad(result, list(watched.values()), autolab.from_numpy(np.array(o.g)), allow_unused=True)
        return {x: np.zeros(t.shape) if d is None else d.numpy() for (x, t), d in zip(watched.items(), found, strict=True)}


def detached(value: Any) -> Any:
    """The same numbers, through which nothing comes back."""
    if not has_gradient(value):
        return value
    return NumPyTensor(value.tensor.detach()) if isinstance(value, NumPyTensor) else value.detach()


def numbers(value: Any) -> np.ndarray:
    """The numbers of a tensor, or a number."""
    value = getattr(value, "tensor", value)
    return np.array(value.detach().numpy() if isinstance(value, autolab.Tensor) else value)


def has_gradient(value: Any) -> bool:
    """Does anything come back through this?"""
    value = getattr(value, "tensor", value)
    return isinstance(value, autolab.Tensor) and value.requires_grad
