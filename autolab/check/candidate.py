"""How a learner's rule is called: arrays go in, arrays come out, and nothing else crosses.

The verdict is made from an `Answer` alone, so whoever calls the rule may sit in another process: write a class with the
same `call` and hand it to `judge`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import linecache
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from autolab.autograd import Function, no_grad
from autolab.engine.node import next_number
from autolab.engine.tensor import Tensor
from autolab.surface.creation import from_numpy

from .reference import Reference, parameters

HERE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Fault:
    """Why a call gave no gradients: where it stopped, and what it said."""

    phase: str  # "forward" or "backward"
    kind: str  # "blank", "exception", "count", "type"
    text: str
    line: str | None = None


@dataclass(frozen=True)
class Answer:
    """All that is known of one call: what came back, and what the arguments looked like afterwards."""

    out: np.ndarray | None
    gradients: tuple[tuple[np.ndarray | None, ...], ...]  # one tuple for each incoming gradient
    inputs: tuple[np.ndarray, ...]
    upstream: tuple[np.ndarray, ...]
    fault: Fault | None = None
    recorded: bool = False  # the engine recorded a graph inside backward


class Candidate(Protocol):
    """Something that answers one kind of question: call the rule on these arrays."""

    judges_forward: bool

    def call(
        self,
        inputs: Sequence[np.ndarray],
        settings: Mapping[str, Any],
        upstream: Sequence[np.ndarray],
        between: Sequence[np.ndarray] | None = None,
    ) -> Answer:
        """Run forward once, then backward for each incoming gradient, on copies of the arrays.

        `between`: other inputs that go forward after the first forward and before the first backward.
        """
        ...


class Context:
    """What forward leaves for backward, with the names of PyTorch's ctx.

    A Function is called directly and not with `apply`: the engine would sum a gradient that has the shape of the
    result, convert its dtype, and so hide the mistakes.
    """

    def __init__(self, needs: int, tensors: type = object):
        self.needs_input_grad = (True,) * needs
        self.saved_tensors: tuple = ()
        self._tensors = tensors

    def save_for_backward(self, *values):
        """Keep these values for backward."""
        for value in values:
            if value is not None and not isinstance(value, self._tensors):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(value).__name__}. "
                    "Keep other things as attributes: ctx.n = n."
                )
        self.saved_tensors = values

    def mark_dirty(self, *values):
        """Accepted, and of no consequence here."""

    mark_non_differentiable = mark_dirty
    set_materialize_grads = mark_dirty


class LocalCandidate:
    """A rule called in this process: a Function class, or plain functions on arrays."""

    def __init__(self, rule: Any, reference: Reference):
        self.names, self.judges_forward, self.tensors = reference.inputs, True, object
        self.wrap: Callable = lambda array: array
        if isinstance(rule, type):
            _require_static(rule)
            self.wrap, self.tensors = _tensor_of(rule)
            self._forward, self._backward = self._class_forward(rule), rule.backward
            return
        if callable(rule):
            self.judges_forward, rule = False, (lambda *inputs, **settings: reference.result(inputs, settings), rule)
        try:
            self._plain_forward, self._plain_backward = rule
            self.wants = parameters(self._plain_backward)[1:]
        except (TypeError, ValueError):
            raise TypeError(
                f"check() takes a Function class, a pair (forward, backward), or one backward function; "
                f"got {type(rule).__name__}. Pass the class itself: check('mul', Mul), not Mul() or 'Mul'."
            ) from None
        self._forward, self._backward = self._run_forward, self._run_backward

    def call(self, inputs, settings, upstream, between=None) -> Answer:
        """Run forward once, then backward for each incoming gradient, on copies of the arrays."""
        copies = {id(a): np.array(a) for a in inputs}  # the same array given twice stays the same array
        given = [copies[id(a)] for a in inputs]
        gs = [np.array(g) for g in upstream]
        out, gradients, fault, phase, recorded = None, [], None, "forward", False
        with _quiet():
            try:
                context = self._context(given, settings)
                result = self._forward(context, [self.wrap(a) for a in given], settings)
                out = np.array(as_array(result))  # a copy: it may be a view of an input
                if between is not None:
                    self._forward(self._context(given, settings), [self.wrap(np.array(a)) for a in between], settings)
                phase, start = "backward", next_number()
                for g in gs:
                    returned = self._backward(context, self.wrap(g))
                    gradients.append(_gradients(returned, len(given), len(settings), self._plain))
                recorded = next_number() != start + 1
            except _Refused as refused:
                fault = Fault(phase, refused.kind, f"{phase} {refused}")
            except (Exception, SystemExit) as error:
                fault = _fault(phase, error)
        return Answer(out, tuple(gradients), tuple(given), tuple(gs), fault, recorded)

    def _context(self, given, settings) -> Context:
        return Context(len(given) + len(settings), self.tensors)

    @property
    def _plain(self) -> bool:
        return hasattr(self, "_plain_backward")

    def _class_forward(self, cls: type) -> Callable:
        # forward(ctx, ...) as always, or forward(...) with setup_context(ctx, inputs, output) beside it
        library = ("torch.", "autolab.autograd.")
        split = any("setup_context" in vars(c) for c in cls.__mro__ if not c.__module__.startswith(library))

        def forward(context, inputs, settings):
            arguments = (*inputs, *settings.values())
            if not split:
                return cls.forward(context, *arguments)
            out = cls.forward(*arguments)
            cls.setup_context(context, arguments, out)
            return out

        return forward

    def _run_forward(self, context, inputs, settings):
        out = self._plain_forward(*inputs, **settings)
        context.cache = None
        if "cache" in self.wants and isinstance(out, tuple) and len(out) == 2:
            out, context.cache = out
        context.names = {**settings, **dict(zip(self.names, inputs, strict=False)), "out": out, "cache": context.cache}
        context.names |= {f"{x}_shape": np.shape(a) for x, a in zip(self.names, inputs, strict=False)}
        context.inputs = inputs
        return out

    def _run_backward(self, context, g):
        if all(name in context.names for name in self.wants):
            return self._plain_backward(g, *(context.names[name] for name in self.wants))
        return self._plain_backward(g, *context.inputs)


def as_array(value: Any) -> np.ndarray:
    """An ndarray from an array, a number, or a tensor of autolab or PyTorch."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        said = "None" if value is None else f"a {type(value).__name__}"
        raise _Refused("type", f"returned {said}, expected an array or a tensor of numbers")
    return array


class _Refused(Exception):
    """What came back cannot be a gradient."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


def _gradients(returned: Any, inputs: int, settings: int, plain: bool) -> tuple[np.ndarray | None, ...]:
    values = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
    expected = inputs if plain else inputs + settings
    surplus = values[expected:]
    if len(values) < expected or any(v is not None for v in surplus):
        raise _Refused(
            "count",
            f"returned {len(values)} gradient{'s' * (len(values) != 1)}, expected {expected}: "
            f"one for each argument of forward, in that order (None for a setting).",
        )
    return tuple(None if v is None else np.array(as_array(v)) for v in values[:inputs])


def _tensor_of(cls: type) -> tuple[Callable, type]:
    """How an array becomes what this Function computes with, and the type of that."""
    roots = {c.__module__.partition(".")[0] for c in cls.__mro__}
    if issubclass(cls, Function):
        return from_numpy, Tensor
    if "torch" in roots:
        import torch

        return torch.from_numpy, torch.Tensor
    return (lambda array: array), object


def _require_static(cls: type) -> None:
    for name in ("forward", "backward"):
        method = inspect.getattr_static(cls, name, None)
        if method is None:
            raise TypeError(f"{cls.__name__} has no {name}. A Function has two static methods, forward and backward.")
        if not isinstance(method, (staticmethod, classmethod)):
            raise TypeError(f"{cls.__name__}.{name} is not a static method. Write @staticmethod above `def {name}`.")


@contextlib.contextmanager
def _quiet():
    # A printed line or a NumPy warning is no verdict; on stderr it would cost all points in nbgrader.
    sink = io.StringIO()
    with (
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        no_grad(),
    ):
        warnings.simplefilter("ignore")
        yield


def _fault(phase: str, error: BaseException) -> Fault:
    if isinstance(error, NotImplementedError):
        return Fault(phase, "blank", f"{phase} is not written yet")
    line = None
    for frame in traceback.extract_tb(error.__traceback__):
        source = linecache.getline(frame.filename, frame.lineno or 0).strip()
        theirs = not Path(frame.filename).is_relative_to(HERE) and "site-packages" not in frame.filename
        if source and theirs and not frame.filename.startswith("<__"):  # NumPy's dispatch calls itself <__array_...>
            line = f"line {frame.lineno}: {source}"
    return Fault(phase, "exception", f"{phase} raised {type(error).__name__}: {error}", line)
