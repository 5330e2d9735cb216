"""How a learner's rule is called: arrays go in, arrays come out, and nothing else crosses.

The verdict is made from an `Answer` alone, so the rule may run in another process: write a class with the
same `call` and hand it to `judge`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import linecache
import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import autolab
from autolab.autograd import Function, enable_grad, grad, no_grad
from autolab.engine.node import next_number
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from .limit import SECONDS, limit
from .meter import TooLong, of_library
from .reference import Reference, parameters

Arrays = Sequence[np.ndarray]
Settings = Mapping[str, Any]
Gradients = tuple[np.ndarray | None, ...]  # one for each input


@dataclass(frozen=True)
class Fault:
    """Why a call gave no gradients: where it stopped, what it said, and the learner's line if there is one.

    >>> rule = LocalCandidate(lambda g, x: g / None, Reference.of("exp"))
    >>> rule.call([np.array([1.0])], {}, [np.array([1.0])]).fault.kind
    'exception'
    """

    phase: str  # "forward" or "backward"
    kind: str  # "blank", "exception", "syntax", "time", "count", "type"
    text: str
    line: str | None = None


@dataclass(frozen=True)
class Answer:
    """All that is known of one call: what came back, and what the arguments looked like afterwards.

    >>> answer = LocalCandidate(lambda g, x: g * x, Reference.of("exp")).call([np.array([2.0])], {}, [np.array([3.0])])
    >>> answer.gradients, answer.inputs, answer.fault
    (((array([6.]),),), (array([2.]),), None)
    """

    out: np.ndarray | None
    gradients: tuple[tuple[np.ndarray | None, ...], ...]  # one tuple for each incoming gradient
    inputs: tuple[np.ndarray, ...]
    upstream: tuple[np.ndarray, ...]
    fault: Fault | None = None
    recorded: bool = False  # the engine recorded a graph inside backward, or went forward with tangents
    printed: str = ""  # what the rule printed, cut after a few lines
    seconds: float = 0.0
    bare: bool = False  # a Function on tensors returned arrays
    listed: bool = False  # and not in a tuple but in a list
    left_out: bool = False  # a plain function gave several gradients, and none for an input that has none


class Candidate(Protocol):
    """Something that answers one kind of question: call the rule on these arrays. `judge` needs no more.

    It may sit in another process; arrays go in, arrays come out.

    >>> class Remembers:
    ...     judges_forward = False
    ...
    ...     def call(self, inputs, settings, upstream, between=None):
    ...         return Answer(None, tuple((2 * inputs[0] * g,) for g in upstream), tuple(inputs), tuple(upstream))
    >>> from autolab.check import check
    >>> check("square", Remembers()).passed
    True
    """

    judges_forward: bool

    def call(self, inputs: Arrays, settings: Settings, upstream: Arrays, between: Arrays | None = None) -> Answer:
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

    def save_for_backward(self, *values: Any) -> None:
        """Keep these values for backward."""
        for value in values:
            if value is not None and not isinstance(value, self._tensors):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(value).__name__}. "
                    "Keep other things as attributes: ctx.n = n."
                )
        self.saved_tensors = values

    def mark_dirty(self, *values: Any) -> None:
        """Accepted, and of no consequence here."""

    mark_non_differentiable = mark_dirty
    set_materialize_grads = mark_dirty


class LocalCandidate:
    """A rule called in this process: a Function class, a pair (forward, backward), or a backward function on arrays.

    `seconds` limits each call. Raises TypeError if `rule` is none of these, or a Function without static methods.

    >>> square = LocalCandidate((lambda x: x**2, lambda g, x: 2 * g * x), Reference.of("square"))
    >>> answer = square.call([np.array([3.0])], {}, [np.array([1.0]), np.array([10.0])])
    >>> answer.out, answer.gradients
    (array([9.]), ((array([6.]),), (array([60.]),)))
    """

    def __init__(self, rule: Any, reference: Reference, seconds: float = SECONDS):
        self.names, self.judges_forward, self.reference = reference.inputs, True, reference
        self.defaults: Mapping[str, Any] = getattr(reference, "defaults", {})  # settings that a call may leave out
        self.tensors: type = object
        self.wants: tuple[str, ...] = ()  # the names that a plain backward asks for, after g
        needed = getattr(reference, "differentiable", None)  # a box knows the names only
        self.needed, self.seconds = tuple(needed()) if needed else self.names, seconds
        self.wrap: Callable = lambda array: array
        self.guarded = False
        self._has_apply = False  # is it a Function on tensors? Its `apply` asks more of what backward returns than we need here
        self._asked_for: tuple[np.ndarray, list[Any]] | None = None
        self._class: Any = rule
        if isinstance(rule, type):
            _require_static(rule)
            self.wrap, self.tensors = _tensor_of(rule)
            self._has_apply = self.tensors is not object
            self._forward, self._backward = self._class_methods(rule)
            return
        if callable(rule):
            self.judges_forward, rule = False, (lambda *inputs, **settings: reference.result(inputs, settings), rule)
        try:
            self._plain_forward, self._plain_backward = rule
            self.wants = parameters(self._plain_backward)[1:]
            signature = inspect.signature(self._plain_backward, follow_wrapped=False).parameters
            defaults = {name: signature[name].default for name in self.wants}
            self.optional = {name: value for name, value in defaults.items() if value is not inspect.Parameter.empty}
        except (TypeError, ValueError):
            raise TypeError(
                f"check() takes a Function class, a pair (forward, backward), or one backward function; "
                f"got {type(rule).__name__}. Pass the class itself: check('mul', Mul), not Mul() or 'Mul'."
            ) from None
        self._forward, self._backward = self._run_forward, self._run_backward

    def call(self, inputs: Arrays, settings: Settings, upstream: Arrays, between: Arrays | None = None) -> Answer:
        """Run forward once, then backward for each incoming gradient, on copies of the arrays."""
        copies = {id(a): np.array(a) for a in inputs}  # the same array given twice stays the same array
        given = [copies[id(a)] for a in inputs]
        gs = [np.array(g) for g in upstream]
        out, gradients, fault, phase, bare, listed, left_out = None, [], None, "forward", False, False, False
        recorded = False
        start = 0.0 if self.guarded else own_time()  # its own time: that of a busy machine is not its fault
        with _here if self.guarded else quiet() as printed:
            try:
                with _here if self.guarded else limit(self.seconds):
                    context = self._context(given, settings)
                    result = self._forward(context, [self.wrap(a) for a in given], settings)
                    bare = self._is_bare(result)
                    arrays = isinstance(result, tuple) and any(np.shape(part) for part in result)
                    if arrays or (self._has_apply and isinstance(result, list)):
                        kind = "tuple" if arrays else "list"
                        raise UnusableResult("type", f"returned a {kind} of {len(result)}, expected one array or tensor of numbers")
                    out = np.array(as_array(result))  # a copy: it may be a view of an input
                    if between is not None:
                        self._forward(self._context(given, settings), [self.wrap(np.array(a)) for a in between], settings)
                    phase, number = "backward", next_number()
                    try:
                        for g in gs:
                            returned = self._backward(context, self.wrap(g))
                            gradients.append(self._gradients(returned, len(settings)))
                            bare |= self._is_bare(returned)
                            listed |= self._has_apply and isinstance(returned, list)
                            left_out |= not self._has_apply and isinstance(returned, (tuple, list)) and 1 < len(returned) < len(self.names)
                    finally:  # every node takes a number, and every step of forward mode
                        recorded = next_number() - number > 1
            except UnusableResult as refused:
                fault = Fault(phase, refused.kind, f"{phase} {refused}")
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # SystemExit and TooLong among them
                fault = fault_of(phase, error, self.seconds)
        spent = 0.0 if self.guarded else own_time() - start  # a system call, which is not asked for in a batch
        kept = out, tuple(gradients), tuple(given), tuple(gs)
        return Answer(*kept, fault, recorded, printed.getvalue() if printed else "", spent, bare, listed, left_out)

    def attempt(self, inputs: Arrays, settings: Settings, g: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, Gradients] | None:
        """In a batch: the result and the gradients for one g, or None if there are none; why is not asked.

        `out` is the right result: only a forward of its author's is run.
        """
        given = inputs if self.judges_forward else self._known_arguments(inputs, settings, out)
        copies = {id(a): np.array(a) for a in given if isinstance(a, np.ndarray)}
        given = [copies.get(id(a), a) for a in given]
        try:
            if not self.judges_forward:
                return out, self._gradients(self._plain_backward(np.array(g), *given), len(settings))
            context = self._context(given, settings)
            out = np.array(as_array(self._forward(context, [self.wrap(a) for a in given], settings)))  # it may be a view of an input
            return out, self._gradients(self._backward(context, self.wrap(np.array(g))), len(settings))
        except KeyboardInterrupt:
            raise
        except BaseException:  # SystemExit and TooLong among them
            return None

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Many calls in one silence and one limit of time, where the calls are short and what they print is not asked for."""
        with quiet(), limit(self.seconds, busy=True):
            self.guarded = True
            try:
                yield
            finally:
                self.guarded = False

    def _is_bare(self, returned: Any) -> bool:
        """Did a Function on tensors give back something else than tensors? `apply` would refuse it."""
        if type(returned) is Tensor or not self._has_apply:
            return False
        several = returned if isinstance(returned, (tuple, list)) else (returned,)
        return any(a is not None and not isinstance(a, Tensor) for a in several)

    def _gradients(self, returned: Any, settings: int) -> tuple[np.ndarray | None, ...]:
        """One for each input, as arrays. A plain function may leave out inputs without a gradient, such as an index."""
        values = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        if self._has_apply:
            for v in values:
                if isinstance(v, (list, tuple)):
                    raise UnusableResult("type", f"returned a {type(v).__name__} as a gradient, expected a tensor or None for each input")
        elif len(values) == len(self.needed) < len(self.names) and not any(v is None for v in values):
            given = dict(zip(self.needed, values, strict=True))
            values = tuple(given.get(x) for x in self.names)
        # A Function returns one for each argument of forward; a plain function need not know of settings.
        expected = len(self.names)
        least = expected + (settings if settings and not self._plain else 0)
        if len(values) < least or (len(values) > expected and any(v is not None for v in values[expected:])):
            raise UnusableResult(
                "count",
                f"returned {len(values)} gradient{'s' * (len(values) != 1)}, expected {least}: "
                "one for each argument of forward, in that order (None for a setting, an index or a mask)",
            )
        return tuple([None if v is None else _gradient(v) for v in values[:expected]])

    @property
    def methods(self) -> dict[str, Callable]:
        """The functions that its author wrote."""
        if not self._plain:
            found = {name: inspect.getattr_static(self._class, name, None) for name in ("forward", "setup_context", "backward")}
            written = {name: method.__func__ for name, method in found.items() if isinstance(method, (staticmethod, classmethod))}
            return {
                name: f for name, f in written.items() if not of_library(getattr(getattr(f, "__code__", None), "co_filename", "<frozen"))
            }
        return (
            {"forward": self._plain_forward, "backward": self._plain_backward}
            if self.judges_forward
            else {"backward": self._plain_backward}
        )

    def with_methods(self, methods: Mapping[str, Callable]) -> LocalCandidate:
        """The same rule with other functions in the place of its author's."""
        rule: Any = tuple({**self.methods, **methods}.values())
        if not self._plain:
            kinds = {name: type(inspect.getattr_static(self._class, name)) for name in methods}
            rule = type(self._class.__name__, (self._class,), {name: kinds[name](method) for name, method in methods.items()})
        elif not self.judges_forward:
            (rule,) = rule
        return LocalCandidate(rule, self.reference, self.seconds)

    def second(
        self, inputs: Arrays, settings: Settings, g: np.ndarray, directions: Arrays
    ) -> tuple[list[np.ndarray | None] | None, Fault | None]:
        """Derivatives of sum(v * gradient) for each input and g, through the backward that the learner wrote."""
        if self._plain or self.tensors is not Tensor:
            return None, None
        with quiet(), enable_grad():
            try:
                with limit(self.seconds):
                    apply = _with_tuples(self._class).apply
                    return second_order(apply, inputs, settings.values(), {}, self.needed, self.names, g, directions), None
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                return None, fault_of("the second backward", error, self.seconds)

    def _context(self, given, settings) -> Context:
        return Context(len(given) + len(settings), self.tensors)

    @property
    def _plain(self) -> bool:
        return hasattr(self, "_plain_backward")

    def _class_methods(self, cls: Any) -> tuple[Callable, Callable]:
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

        return forward, cls.backward

    def _run_forward(self, context, inputs, settings):
        out = self._plain_forward(*inputs, **settings)
        cache = None
        if "cache" in self.wants and isinstance(out, tuple) and len(out) == 2:
            out, cache = out
        self._keep(context, inputs, settings, out, cache)
        return out

    def _keep(self, context, inputs, settings, out, cache=None):
        """What backward may ask for by name."""
        context.names = {**self.defaults, **settings, **dict(zip(self.names, inputs, strict=False)), "out": out, "cache": cache}
        context.names |= {f"{x}_shape": np.shape(a) for x, a in zip(self.names, inputs, strict=False)}
        context.inputs = inputs

    def _run_backward(self, context, g):
        return self._plain_backward(g, *self._arguments(context))

    def _arguments(self, context) -> list[Any]:
        """What a plain backward is given after g: what it asks for by name, or the inputs in order."""
        unknown = [name for name in self.wants if name not in context.names]
        if not self.optional.keys() >= set(unknown):
            return list(context.inputs)
        return [self.optional[name] if name in unknown else context.names[name] for name in self.wants]

    def _known_arguments(self, inputs, settings, out) -> list[Any]:
        """The same, worked out once for many calls with these arrays."""
        if self._asked_for is None or self._asked_for[0] is not out:
            context = self._context(inputs, settings)
            self._keep(context, inputs, settings, out)
            self._asked_for = out, self._arguments(context)
        return self._asked_for[1]


def _with_tuples(cls: Any) -> Any:
    """The same Function, whose backward may return a list."""

    def backward(ctx, *gs):
        returned = cls.backward(ctx, *gs)
        return tuple(returned) if isinstance(returned, list) else returned

    return type(cls.__name__, (cls,), {"backward": staticmethod(backward)})


def second_order(
    call: Callable, inputs: Arrays, positional: Iterable, keywords: Settings, needed: Sequence[str], names: Sequence[str],
    g: np.ndarray, directions: Arrays,
) -> list[np.ndarray | None]:  # fmt: skip
    """Of a differentiable operation: d sum(v * d out / d x) / d each input and g, by the engine."""
    tensors = {x: from_numpy(np.array(a)) for x, a in zip(names, inputs, strict=True)}
    watched = [tensors[x].requires_grad_() for x in needed]
    incoming = from_numpy(np.array(g)).requires_grad_()
    out = call(*tensors.values(), *positional, **keywords)
    first = grad(out, watched, incoming, create_graph=True)
    total = sum((from_numpy(v) * a).sum() for v, a in zip(directions, first, strict=True))
    if not total.requires_grad:
        raise RuntimeError("the gradient does not depend on anything any more: it was computed outside of the engine (numpy, detach)")
    found = grad(total, [*watched, incoming], allow_unused=True)
    return [None if a is None else a.numpy() for a in found]


def _gradient(value: Any) -> np.ndarray:
    """A copy of what came back for one input; a mask counts as numbers, as the engine and PyTorch cast it."""
    if type(value) is np.ndarray and value.dtype.kind == "f":
        return value.copy()
    array = np.array(as_array(value))
    return array.astype(float) if array.dtype.kind == "b" else array


def as_array(value: Any) -> np.ndarray:
    """An ndarray from an array, a number, or a tensor of autolab or PyTorch."""
    if type(value) is Tensor and not value.requires_grad:
        value = value.numpy()
    elif hasattr(value, "detach"):
        value = value.detach().numpy()
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        said = "None" if value is None else f"a {type(value).__name__}"
        raise UnusableResult("type", f"returned {said}, expected an array or a tensor of numbers")
    return array


class UnusableResult(Exception):
    """What came back cannot be a gradient."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


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


own_time = getattr(time, "thread_time", time.process_time)  # in a browser there is one thread
_here = contextlib.nullcontext()


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Nothing that the block prints or warns of is shown; gradients are not recorded."""
    # A printed line or a NumPy warning is not a verdict; on stderr it would cost all points in nbgrader.
    sink = ShortOutput()
    with (
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        no_grad(),
    ):
        warnings.simplefilter("ignore")
        yield sink


class ShortOutput(io.StringIO):
    """Keeps the first lines only: a loop without end may print without end."""

    def write(self, text: str) -> int:
        """Keep the text if there is room."""
        return super().write(text[:400]) if self.tell() < 400 else len(text)


def fault_of(phase: str, error: BaseException, seconds: float = SECONDS) -> Fault:
    """What an exception says about the learner's code: the kind, a sentence, and their line."""
    if isinstance(error, NotImplementedError):
        return Fault(phase, "blank", f"{phase} is not written yet")
    line, outer, caller = None, None, ""  # the innermost of the learner's lines, the outermost with its file, and the one before
    for frame, number in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        source = linecache.getline(file, number).strip()
        if source and not of_library(file):
            line = f"line {number}: {source.rstrip(',')}{_shapes_in(source, frame.f_locals)}{_loop_around(frame, number)}"
            outer = outer or (file, source.rstrip(","))
            if outer[0] != file:  # a line of another cell: its number alone would mislead
                line += f", called by `{outer[1]}`"
            elif caller and file.endswith(".py"):  # a line of a module, that much may come through
                line += f", called by {caller}"
            caller = f"line {number}: `{source.rstrip(',')}`"
    if isinstance(error, TooLong):
        return Fault(phase, "time", f"{phase} did not come to an end within {seconds:g} seconds", line)
    if isinstance(error, RecursionError):
        return Fault(phase, "recursion", f"{phase} calls itself without end", line)
    try:
        said = str(error)
    except Exception:
        said = "its message cannot be shown"
    return Fault(phase, "exception", f"{phase} raised {type(error).__name__}: {said}", line)


def _loop_around(frame: Any, number: int) -> str:
    """The head of the innermost loop over numbers that a line is in."""
    lines = [linecache.getline(frame.f_code.co_filename, k) for k in range(frame.f_code.co_firstlineno, number + 1)]
    indent = len(lines[-1]) - len(lines[-1].lstrip())
    for line in reversed(lines[:-1]):
        before = len(line) - len(line.lstrip())
        if not line.strip() or before >= indent:
            continue
        if re.match(r"for \w+ in .*\brange\(", line.strip()):
            return f", in `{line.strip().rstrip(':')}`"
        indent = before
    return ""


def _shapes_in(source: str, values: Mapping[str, Any]) -> str:
    """The shapes of the arrays that a line names."""
    names = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", source))
    known = [f"{name} {tuple(a.shape)}" for name in names if isinstance(a := values.get(name), (np.ndarray, Tensor))]
    return f", with {', '.join(known[:5])}" if known else ""


class BrokenSource:
    """Source text that is no Python: every question has the same answer."""

    judges_forward = True

    def __init__(self, error: SyntaxError):
        line = f"line {error.lineno}: {(error.text or '').strip()}"
        self.fault = Fault("forward", "syntax", f"This is not Python yet: {error.msg}", line)

    def call(self, inputs: Arrays, settings: Settings, upstream: Arrays, between: Arrays | None = None) -> Answer:
        """Say what is wrong with the text."""
        return Answer(None, (), tuple(inputs), tuple(upstream), self.fault)


def from_source(text: str) -> Any:
    """The Function class in a piece of source text, or its `backward` (and `forward`), or what its syntax lacks."""
    names: dict[str, Any] = {"__name__": "answer", "np": np, "autolab": autolab, "Function": Function}
    try:
        exec(compile(text, "<answer>", "exec"), names)
    except SyntaxError as error:
        return BrokenSource(error)
    linecache.cache["<answer>"] = (len(text), None, text.splitlines(True), "<answer>")
    own = [v for k, v in names.items() if isinstance(v, type) and v is not Function and hasattr(v, "backward")]
    if own:
        return own[-1]
    functions = [v for v in names.values() if inspect.isfunction(v)]
    backward = names.get("backward") or (functions[-1] if functions else None)
    return (names["forward"], backward) if "forward" in names else backward
