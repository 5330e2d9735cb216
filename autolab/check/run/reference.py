"""The right answer: a row of the table, called on plain arrays."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autolab.autograd import enable_grad, grad, no_grad
from autolab.engine.op import Op, without_defaults
from autolab.rules import TABLE
from autolab.torch_api.creation import from_numpy

from . import complex_steps, differences, numpy_tensor
from .meter import TooLong
from .spec import Spec
from .specs import row, told_domain

EXACT = 1e-12  # relative: a formula in float64 is this exact; a difference quotient is not
BY_DIFFERENCES = 1e-7  # relative: what differences say of a derivative
ENOUGH = 1e-9  # relative: when no smaller step is asked
OUT_OF_GRAPH = 1e-3  # relative: by how much the engine's derivative and the slope of forward differ where numbers left the graph
LOOKS = 3  # calls, for each setting, until differences settle, and of which forward has to give the same on tensors
MOST_CALLS = 5000  # of either rule, while explanations are tried in one check: what is tried most takes some hundreds
GRAPHS = 32  # calls whose graphs are kept: a check goes back and forth between its calls


def sum_to(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Add up the axes along which an array of this shape was stretched."""
    if g.shape == shape:
        return g
    return g.sum(stretched_axes(shape, g.shape), keepdims=True).reshape(shape)


def stretched_axes(shape: tuple[int, ...], stretched: tuple[int, ...]) -> tuple[int, ...]:
    """Which axes of `stretched` an array of `shape` does not have, or has with size 1.

    >>> stretched_axes((5,), (3, 5)), stretched_axes((3, 1), (3, 5)), stretched_axes((1, 5), (1, 5))
    ((0,), (1,), ())
    """
    extra = len(stretched) - len(shape)
    narrow = (axis for axis, n in enumerate(shape, extra) if n == 1 and stretched[axis] != 1)
    return (*range(extra), *narrow)


@dataclass(eq=False)
class Reference:
    """One operation as the checker knows it: forward, and one rule for each input that has a gradient.

    `Reference.of` makes one from a row of the table, its name, an exercise, a pair of functions or a function on tensors.

    Raises KeyError if no operation has the name; the message tells which look like it.

    >>> mul = Reference.of("mul")
    >>> names = mul.environment([np.array([[2.0], [3.0]]), np.array([5.0, 7.0])], {})
    >>> mul.gradient("y", np.ones((2, 2)), names)  # summed to the shape of y; `raw` is the rule before that
    array([5., 5.])
    """

    name: str
    forward: Callable
    rules: Mapping[str, tuple[Callable, Sequence[str]]]  # for each input its rule, and the names that the rule asks for
    inputs: tuple[str, ...]
    elementwise: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    settings: Sequence[str] = ()
    row: Any = None  # the row of the table, which runs on tensors too
    function: Callable | None = None  # the operation as a function on tensors, if it was given as one
    backward: Callable | None = None  # the right rule as one function for all inputs, if it was given as one
    on_tensors: bool = True  # whether it is the same function there: the standard deviation of a tensor divides by n - 1
    precision: float = EXACT  # relative: to how many digits its gradients are right in the calls of a check
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # between which numbers forward takes an input, if told
    together: Mapping[str, Callable] = field(default_factory=dict)  # the rules of a function on tensors, for a stack of g
    drawn: dict[int, Sequence[Any]] | None = None  # the cases by their seed, where they are kept for the next check
    tried: float = 0.0  # how much a check has tried to explain, and had when it came to this input: see `diagnosis/budget.py`
    began: float = 0.0
    explained: int = 0  # inputs, up to now
    repairing: int = 0  # the work of repairs: see `diagnosis/repairs/search.py`
    repaired: set[Any] = field(default_factory=set)  # what was changed for other inputs of a check
    stopped: bool = False  # whether a look for an explanation had to be ended
    calls: int = 0  # of either rule, while explanations are tried
    weight: int = 1  # what a call of the other rule counts for
    hypothetical: bool = False  # while explanations are tried: what is right for other calls than those of the check, which needs no proof

    @functools.cached_property
    def formulas(self) -> Mapping[str, str]:
        """The rules as text, where they are rows."""
        return {} if self.row is None else {x: self.row.formula(x) for x in self.rules}

    @classmethod
    def of(cls, reference: Any, arrays: Sequence[np.ndarray] = ()) -> Reference:
        """From a row, its name, an exercise, a pair (forward, backward) of functions on arrays, or a function on tensors.

        `arrays`: what a function will be called with; it says which of its parameters are inputs, and which have a gradient.
        """
        if isinstance(reference, Reference):
            return reference
        if isinstance(reference, Spec):
            found = cls.of(reference.row or reference.name)
            found.domain = told_domain(reference)
            return found
        if isinstance(reference, str):
            reference = row(reference)
        if isinstance(reference, tuple):
            forward, backward = reference
            return cls._of_pair(forward, backward, arrays)
        if callable(reference) and not hasattr(reference, "rules"):
            return cls._of_function(reference, arrays)
        if any(rule.function is differences.derivative_of_forward for rule in reference.rules.values()):
            return cls._of_forward(reference)
        reference.plan(reference.mask)  # raises TypeError if a rule asks for what is no value
        return cls(
            reference.name,
            reference,
            {x: (rule.function, rule.needs) for x, rule in reference.rules.items()},
            inputs=reference.inputs,
            elementwise=reference.kind == "elementwise",
            defaults=defaults(reference.forward),
            settings=reference.settings,
            row=reference,
        )

    @classmethod
    def _of_pair(cls, forward: Callable, backward: Callable, arrays: Sequence[np.ndarray]) -> Reference:
        inputs, wants = input_names(forward, arrays), parameters(backward)[1:]
        known = {*inputs, *(f"{x}_shape" for x in inputs), "out", *settings_of(forward, arrays)}
        if getattr(backward, "__defaults__", None) and not known.issuperset(wants):
            wants = without_defaults(backward, [*wants], known.__contains__)
        needs = wants if known.issuperset(wants) else inputs  # by name if the names are known, else in order

        def rule(position: int) -> Callable:
            def one(g, *values):
                returned = backward(g, *values)
                return returned[position] if isinstance(returned, (tuple, list)) else returned

            return one

        rules = {x: (rule(i), needs) for i, x in enumerate(inputs) if has_gradient(arrays, i)}
        name, settings = getattr(forward, "__name__", "f"), settings_of(forward, arrays)
        return cls(name, forward, rules, inputs=inputs, settings=settings, defaults=defaults(forward, arrays), backward=backward)

    @classmethod
    def _of_function(cls, function: Callable, given: Sequence[np.ndarray], on_arrays: bool = False) -> Reference:
        """A function on tensors: the engine knows its derivative. One `on_arrays` has to give the same on both."""
        inputs, keywords = input_names(function, given), settings_of(function, given)

        def forward(*arrays, **settings):
            with no_grad():
                return function(*map(_tensor, arrays), **settings).numpy()

        graphs, looks = threading.local(), dict[Any, int]()

        def rule(x: str, stacked: bool = False) -> Callable:
            def one(g, *values):
                kept = graphs.__dict__.setdefault("kept", {})  # calls, and their graphs: many g are asked about for the same inputs
                if (call := (found.function, *_key(values))) not in kept:
                    if len(kept) == GRAPHS:
                        del kept[next(iter(kept))]
                    kept[call] = ran(values)
                (tensors, result), gradient = kept[call], None
                watched, g = tensors[inputs.index(x)], from_numpy(np.array(g))
                if result.requires_grad and watched.requires_grad:  # not of an input without a gradient, such as weights of a loss
                    (gradient,) = grad(result, watched, g, retain_graph=True, allow_unused=True, is_grads_batched=stacked)
                return np.zeros((*g.shape[:stacked], *watched.shape)) if gradient is None else gradient.numpy()

            return one

        def ran(values: Sequence[Any]) -> tuple[Any, Any]:
            arrays, settings = values[: len(inputs)], dict(zip(keywords, values[len(inputs) :], strict=True))
            if found.elementwise:  # before any axis is summed
                arrays = np.broadcast_arrays(*arrays)
            with enable_grad():
                tensors = [_tensor(np.array(a)) for a in arrays]
                for x, t in zip(inputs, tensors, strict=True):
                    t.requires_grad_(x in found.rules and t.is_floating_point())
                result = (found.function or function)(*tensors, **settings)
            shapes = (*map(np.shape, arrays), str(settings))
            if on_arrays and not found.hypothetical and looks.setdefault(shapes, 0) < LOOKS:
                looks[shapes] += 1
                if not _alike(result.detach().numpy(), function(*arrays, **settings), found.function is function):
                    looks[shapes] = 0
                    raise numpy_tensor.NotFollowed("on tensors it is another function")
            return tensors, result

        rules = {x: (rule(x), (*inputs, *keywords)) for i, x in enumerate(inputs) if has_gradient(given, i)}
        name, left_out = getattr(function, "__name__", "f"), defaults(function, given)
        found = cls(name, forward, rules, inputs=inputs, defaults=left_out, settings=keywords, function=function)
        found.together = {x: rule(x, stacked=True) for x in rules}
        return found

    @classmethod
    def _of_forward(cls, row: Op) -> Reference:
        """A row whose rules are left out: the engine differentiates its forward, and differences what is not an operation on tensors."""
        found = cls._of_function(row.forward, (), on_arrays=True)
        found.name, found.forward, found.elementwise = row.name, row, row.kind == "elementwise"
        n, kept, looks = len(found.inputs), dict[Any, Any](), dict[Any, int]()

        def require_all_of_it(x: str, value: np.ndarray, g: np.ndarray, inputs: Sequence[np.ndarray], settings: Mapping[str, Any]) -> None:
            """Raise LookupError if forward takes numbers out of the graph: the engine then knows the derivative of the rest alone."""
            if found.hypothetical or looks.setdefault((x, str(settings)), 0) >= LOOKS:
                return
            looks[x, str(settings)] += 1
            direction = np.random.default_rng(0).uniform(0.5, 1.5, value.shape)  # of no place's own
            k, within = found.inputs.index(x), found.domain.get(x, differences.EVERYWHERE)
            try:
                slope, unsure = differences.along(lambda *a: found.result(a, settings), inputs, k, g, direction, within, OUT_OF_GRAPH**2)
            except Exception:  # a step led to where its author's forward is not defined, and what that raises is not known
                return
            engine, size = float(np.vdot(value, direction)), float(np.abs(value * direction).sum())
            if not np.isfinite(unsure):
                return
            looks[x, str(settings)] = LOOKS
            if abs(slope - engine) > OUT_OF_GRAPH * (size + abs(slope)) + 10 * unsure:
                raise LookupError(
                    f"the rule for {x} of {found.name!r} is left out, and the engine does not see all of its forward: along one direction "
                    f"it gives {engine:.6g}, differences of forward {slope:.6g}. Something there takes numbers out of the graph (tolist(), "
                    f"float(), item(), detach(), NumPy). Use operations on tensors, or write the rule: Op(..., {x}=lambda g, {x}: ...); "
                    "a rule that is meant to be another one is declared with Spec(..., surrogate=True)."
                )

        def by_differences(x: str, g: np.ndarray, inputs: Sequence[np.ndarray], settings: Mapping[str, Any]) -> np.ndarray:
            key = x, np.shape(g), str(settings), *(np.asarray(a).tobytes() for a in inputs)
            k, within = found.inputs.index(x), found.domain.get(x, differences.EVERYWHERE)
            if key not in kept:
                if len(kept) > 200:
                    kept.clear()
                exact = None
                if not found.elementwise:
                    exact = complex_steps.jacobian(lambda *a: found.forward(*a, **found.call_settings(settings)), inputs, k, within)
                plain = None
                if exact is None:
                    plain = differences.derivative(
                        lambda *a: found.result(a, settings), inputs, k, np.shape(g), found.elementwise, within, enough=ENOUGH
                    )
                kept[key] = exact, plain
            exact, plain = kept[key]
            if exact is not None:
                return np.tensordot(exact, g, np.ndim(g))
            value, off = (
                differences.applied(d, f, np.shape(inputs[k]), found.elementwise) for d, f in zip(plain, (g, np.abs(g)), strict=True)
            )
            return np.where(off <= BY_DIFFERENCES * (np.abs(value) + 1), value, np.nan)

        def followed(x: str, by_engine: Callable, g: Any, values: Any, inputs: Any, settings: Any) -> np.ndarray | None:
            """What leaves the graph may only go into an array that forward makes: then it can be followed there."""
            if found.function is not row.forward:
                return None
            found.function = numpy_tensor.on_tensors(row.forward)
            try:
                value = by_engine(g, *values)
                require_all_of_it(x, value, np.asarray(g), inputs, settings)
            except Exception:
                found.function = row.forward
                return None
            return value

        def rule(x: str, by_engine: Callable) -> Callable:
            def one(g, *values):
                value: Any = np.nan
                while found.on_tensors:
                    try:
                        with warnings.catch_warnings():
                            warnings.filterwarnings("ignore", "Converting a tensor with requires_grad")  # written into an array
                            value = by_engine(g, *values)
                        break
                    except Exception as problem:  # a forward for arrays may raise anything on tensors; differences call it on arrays
                        if found.hypothetical:  # a call that no check makes decides nothing for those of others
                            break
                        if found.function is not row.forward:
                            found.on_tensors = not isinstance(problem, numpy_tensor.NotFollowed)
                            break
                        found.function = numpy_tensor.on_tensors(row.forward)  # whose words are those of arrays
                inputs = np.broadcast_arrays(*values[:n]) if found.elementwise else values[:n]
                settings = dict(zip(found.settings, values[n:], strict=True))
                if np.all(np.isfinite(value)):
                    try:
                        require_all_of_it(x, value, np.asarray(g), inputs, settings)
                    except LookupError:
                        if (value := followed(x, by_engine, g, values, inputs, settings)) is None:
                            raise
                    return value
                if not found.hypothetical:
                    found.precision = BY_DIFFERENCES
                return np.where(np.isfinite(value), value, by_differences(x, np.asarray(g), inputs, settings))

            return one

        found.rules = {x: (rule(x, found.rules[x][0]), found.rules[x][1]) for x in found.inputs if x in row.rules}
        return found

    def require_one_result(self) -> None:
        """Raise LookupError for a row with several results: a rule that is checked has one g."""
        if self.row is not None and self.row.outputs != 1:
            several = "several results" if self.row.outputs < 0 else f"{self.row.outputs} results"
            raise LookupError(
                f"{self.name!r} has {several}, and the checker looks at rules of operations with one. Name the result that is meant, in a "
                f"function on tensors: diagnose(rule, lambda x: autolab.sort(x)[0], [x]) looks at the first result of sort."
            )

    def environment(self, inputs: Sequence[np.ndarray], settings: Mapping[str, Any]) -> dict[str, Any]:
        """Every name that a rule may ask for."""
        names = dict(zip(self.inputs, inputs, strict=False))
        shapes = {f"{x}_shape": np.shape(value) for x, value in names.items()}
        out = np.asarray(self.result(inputs, settings))
        return {**self.defaults, **settings, **names, **shapes, "out": out}

    def result(self, inputs: Sequence[np.ndarray], settings: Mapping[str, Any]) -> Any:
        """What forward gives; ValueError if an input is outside of the domain that it was told."""
        if not self.takes(inputs):
            raise ValueError(f"an input is outside of the domain of the exercise, {dict(self.domain)}")
        return self.forward(*inputs, **self.call_settings(settings))

    def takes(self, inputs: Sequence[np.ndarray]) -> bool:
        """Are these inside of the domain that it was told?"""
        limits = (self.domain.get(x) for x in self.inputs) if self.domain else ()
        return not any(limit and np.any((a < limit[0]) | (a > limit[1])) for a, limit in zip(inputs, limits, strict=False))

    def call_settings(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings as forward takes them: the reductions of the table take a tuple of axes, where people write one number."""
        axis = settings.get("axis")
        if isinstance(axis, int) and self.defaults.get("axis", 0) is None and self.row is not None and self.row is TABLE.get(self.name):
            return {**settings, "axis": (axis,)}
        return settings

    def raw(self, x: str, g: Any, names: Mapping[str, Any]) -> np.ndarray:
        """The rule for input `x` with these values, before any axis is summed."""
        self.count()
        function, needs = self.rules[x]
        names = self.call_settings(names)
        return np.asarray(function(g, *(names.get(n) for n in needs)))

    def count(self, calls: int = 1) -> None:
        """Count calls of a rule, while explanations are tried; raise TooLong if they are too many."""
        self.calls += self.hypothetical * calls
        if self.hypothetical and self.calls > MOST_CALLS:
            raise TooLong

    def gradient(self, x: str, g: Any, names: Mapping[str, Any]) -> np.ndarray:
        """What backward has to return for input `x`."""
        value = self.raw(x, g, names)
        return sum_to(value, names[f"{x}_shape"]) if self.elementwise else value

    def right(self, x: str, g: Any, names: Mapping[str, Any]) -> np.ndarray:
        """The gradient in a call of the check: a rule that was left out is held against forward, whatever is tried meanwhile."""
        with self.trying(False):
            return self.gradient(x, g, names)

    @contextlib.contextmanager
    def trying(self, hypothetical: bool = True) -> Iterator[None]:
        """In this block, what is right for other calls than those of the check is not proven, or is."""
        before, self.hypothetical = self.hypothetical, hypothetical
        try:
            yield
        finally:
            self.hypothetical = before

    def gradients(self, x: str, gs: Sequence[np.ndarray], names: Mapping[str, Any]) -> list[np.ndarray]:
        """What backward has to return for input `x` for each g: the engine goes back once for all of them."""
        if self.on_tensors and x in self.together and len(gs) > 1:
            with contextlib.suppress(Exception):  # one by one, then, which raises again what is its author's
                known = self.call_settings(names)
                values = self.together[x](np.stack(gs), *(known.get(n) for n in self.rules[x][1]))
                if np.all(np.isfinite(values)):
                    return [sum_to(value, names[f"{x}_shape"]) if self.elementwise else value for value in values]
        return [self.gradient(x, g, names) for g in gs]

    def differentiable(self) -> Iterator[str]:
        """The inputs that have a gradient."""
        return (x for x in self.inputs if x in self.rules)

    def names_of_rule(self, x: str, g: Any, names: Mapping[str, Any]) -> dict[str, Any]:
        """Every name that a formula in place of the rule for `x` may use, its functions among them."""
        function, _ = self.rules[x]
        by_default = {name: p.default for name, p in inspect.signature(function).parameters.items() if p.default is not p.empty}
        return {**function.__globals__, **by_default, **self.call_settings(names), "g": g}


def _alike(a: np.ndarray, b: np.ndarray, exactly: bool = False) -> bool:
    """Are these results of one function? Of float32, too, unless exactly: on tensors, whole numbers times 0.8 are float32."""
    scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    near = 1e-9 if exactly and b.dtype == np.float64 else 1e-4
    return a.shape == b.shape and np.allclose(a, b, rtol=near, atol=near * scale, equal_nan=True)


def _key(values: Sequence[Any]) -> tuple[Any, ...]:
    """What tells these inputs and settings from others."""
    return tuple((v.shape, v.dtype.str, v.tobytes()) if isinstance(v, np.ndarray) else (type(v), str(v)) for v in values)


def _tensor(array: Any) -> Any:
    """An array of numbers as a tensor; an index or a mask too."""
    return from_numpy(np.asarray(array))


def parameters(function: Callable) -> tuple[str, ...]:
    """The names of the positional parameters of a function, as it is called: not of what it wraps."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = inspect.signature(function, follow_wrapped=False).parameters.values()
    return tuple(p.name for p in found if p.kind in kinds)


def input_names(function: Callable, arrays: Sequence[np.ndarray]) -> tuple[str, ...]:
    """The names of the parameters that receive these arrays; of all positional ones if no arrays are given."""
    if isinstance(function, np.ufunc):
        return ("x", "y", "z")[: function.nin]
    names = parameters(function)
    if len(names) < len(arrays):  # *args
        names += tuple(f"x{i + 1}" for i in range(len(names), len(arrays)))
    return names[: len(arrays)] if arrays else names


def has_gradient(arrays: Sequence[np.ndarray], i: int) -> bool:
    """Indices, masks and whole numbers have none."""
    return not arrays or (i < len(arrays) and arrays[i].dtype.kind == "f")


def settings_of(function: Callable, arrays: Sequence[np.ndarray] = ()) -> tuple[str, ...]:
    """The parameters that are given by keyword only, and those that come after the arrays. `out=` says where the result goes."""
    if isinstance(function, np.ufunc):
        return ()
    found = inspect.signature(function, follow_wrapped=False).parameters.values()
    names = (parameters(function)[len(arrays) :] if arrays else ()) + tuple(p.name for p in found if p.kind is p.KEYWORD_ONLY)
    return tuple(n for n in names if n != "out")


def defaults(function: Callable, arrays: Sequence[np.ndarray] = ()) -> dict[str, Any]:
    """The settings of a forward that a call may leave out."""
    if isinstance(function, np.ufunc):
        return {}
    found = inspect.signature(function, follow_wrapped=False).parameters
    return {name: found[name].default for name in settings_of(function, arrays) if found[name].default is not inspect.Parameter.empty}
