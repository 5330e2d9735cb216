"""Checkpointing: keep a segment's inputs instead of what it computes, and compute it again when backward asks.

The usual form (use_reentrant=False) is a pair of saved-tensor hooks and nothing else: the engine does not know of it. While the
segment runs, each value that a node wants to keep is exchanged for a `Ticket`. The first ticket that comes back in the backward pass
runs the segment again, under hooks that fill the tickets in the same order.

Source of the idea: Chen, Xu, Zhang and Guestrin 2016, Training Deep Nets with Sublinear Memory Cost.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autolab import dtypes
from autolab.autograd.api import backward as run_backward
from autolab.autograd.function import Function
from autolab.autograd.graph import saved_tensors_hooks
from autolab.autograd.running import running
from autolab.engine.modes import modes, recording
from autolab.engine.node import edge_of
from autolab.engine.tensor import Tensor, new_tensor
from autolab.size import Size
from autolab.torch_api.device import CPU
from autolab.torch_api.dims import whole
from autolab.torch_api.generator import fork_rng, get_rng_state, set_rng_state

__all__ = [
    "CheckpointError", "CheckpointFunction", "GraphExecGroup", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "detach_variable", "noop_context_fn", "revolve", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
]  # fmt: skip

PASS_EXPLICITLY = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint "
    "without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the current "
    "default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two variants."
)
TIP = (
    "The segment must do the same both times: look for what depends on a global, on the clock or on an unseeded generator. "
    "checkpoint(..., debug=True) lists the operations of both runs."
)
CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": lambda x: (x.payload.shape, x.payload.dtype), "none": lambda x: None}
_early_stop: bool | None = None
_debug: bool | None = None


ONCE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. What a segment computes again is "
    "handed out once in a backward pass: if you are calling ctx.saved_tensors in backward, make sure to do so only once."
)
OVERLAP = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. Performing two backward calls that "
    "overlap (i.e. need the same saved values) in the same GraphExecGroup is not allowed, also with retain_graph=True. Each segment "
    "runs again once in a group."
)


class CheckpointError(RuntimeError):
    """Raised in backward if a segment did something else when it was run again.

    >>> calls = []
    >>> def forgetful(x):
    ...     calls.append(x)
    ...     return x.exp() if len(calls) == 1 else x.exp().exp()
    >>> y = checkpoint(forgetful, torch.ones(1, requires_grad=True), use_reentrant=False, early_stop=False)
    >>> y.backward()
    Traceback (most recent call last):
        ...
    autolab.utils.checkpoint.CheckpointError: torch.utils.checkpoint: trying to save more tensors during...
    """


class GraphExecGroup:
    """Within it, several backward calls over parts of one graph count as one: each segment runs again once for all of them.

    Raises CheckpointError in a call that needs a value which an earlier one of the group has used, RuntimeError inside another group.

    >>> def segment(x):
    ...     print("runs")
    ...     return x.exp(), x.sin()
    >>> a, b = checkpoint(segment, torch.ones(1, requires_grad=True), use_reentrant=False)
    runs
    >>> with GraphExecGroup():
    ...     a.backward(retain_graph=True)
    ...     b.backward()
    runs
    """

    current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup.current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {GraphExecGroup.current}: its passes count as one already."
            )
        GraphExecGroup.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        GraphExecGroup.current = None


class _Enough(Exception):
    """All tickets are filled: the rest of the segment need not run."""


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: for the segment's first run, and for the second.

    >>> first, second = noop_context_fn()
    >>> with first:
    ...     x = torch.ones(1)
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether segments made in the block stop running again once all that is needed is there (they do by default).

    >>> def segment(x):
    ...     y = x.exp()
    ...     print("to the end")
    ...     return y
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(segment, torch.ones(1, requires_grad=True), use_reentrant=False)
    to the end
    >>> y.backward()
    to the end
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether errors of checkpoints made in the block list the operations of both runs, whatever their `debug` says.

    >>> calls = []
    >>> def forgetful(x):
    ...     calls.append(x)
    ...     return x.exp() if len(calls) == 1 else x.exp().exp()
    >>> with set_checkpoint_debug_enabled(True):
    ...     y = checkpoint(forgetful, torch.ones(1, requires_grad=True), use_reentrant=False, early_stop=False)
    >>> try:
    ...     y.backward()
    ... except CheckpointError as error:
    ...     "Operations executed during recomputation" in str(error)
    True
    """
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), of which only the arguments are kept; backward runs it again.

    use_reentrant: False is the form to use; True runs the segment unrecorded, and once more inside backward(); then at least one
    argument must require grad, and grad() and `inputs=` are refused. preserve_rng_state (default True): the second run draws the
    same random numbers. context_fn: gives two contexts, for the first and the second run. determinism_check: "default" compares
    shapes and dtypes of what both runs save, "none" does not. early_stop: end the second run once all that is needed is there.

    Inside a transform of `autolab.func` the segment runs once and all is kept.

    Raises CheckpointError in backward if the second run saves other tensors than the first; ValueError for arguments that the
    reentrant form does not take.

    >>> w = torch.tensor(2., requires_grad=True)
    >>> y = checkpoint(lambda x: (x * w).exp(), torch.tensor(1.), use_reentrant=False)
    >>> torch.autograd.grad(y, w)
    (tensor(7.3891),)
    """
    if use_reentrant is None:
        warnings.warn(PASS_EXPLICITLY, UserWarning, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"Unexpected keyword arguments: {','.join(kwargs)}. The reentrant form takes positional arguments only: pass "
                "use_reentrant=False."
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in CHECKS:
        raise ValueError(f"determinism_check should be one of {list(CHECKS)}, but got {determinism_check}")
    log = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        log = Log()
        context_fn = log.contexts
    first, second = context_fn()
    again = functools.partial(run_again, function, second, get_rng_state() if preserve else None, modes.autocast)
    if not modes.grad or modes.levels:  # inside a transform of `func` all is kept: its boxes are gone when backward asks
        with first:
            return function(*args, **kwargs)
    segment = Segment(again, early_stop if _early_stop is None else _early_stop, CHECKS[determinism_check], log)
    segment.keep_inputs(args, kwargs)
    with saved_tensors_hooks(segment.give_ticket, segment.take_ticket), first:
        result = function(*args, **kwargs)
        segment.first_run_is_over = True
    if not segment.first_run_is_over:
        raise RuntimeError(
            "torch.utils.checkpoint: context_fn suppressed an exception of the segment, which therefore has no result. A context's "
            "__exit__ must not return True."
        )
    return result


def run_again(function: Any, context: Any, rng_state: Any, autocast: Any, args: Any, kwargs: Any) -> Any:
    """The segment once more: recorded, with the random numbers and the autocasting of its first run."""
    with fork_rng(enabled=rng_state is not None), autocasting(autocast), recording(True), context:
        if rng_state is not None:
            set_rng_state(rng_state)
        return function(*args, **kwargs)


@contextlib.contextmanager
def autocasting(state: Any) -> Iterator[None]:
    before, modes.autocast = modes.autocast, state
    modes.settle()
    try:
        yield
    finally:
        modes.autocast = before
        modes.settle()


class Ticket:
    """Stands in a node for one saved value of a segment."""

    __slots__ = ("__weakref__", "value")

    def __init__(self) -> None:
        self.value: Tensor | None = None


class Segment:
    """One checkpointed call: how to run it again, its inputs, and the tickets given out for what it would have saved."""

    def __init__(self, again: Callable[..., Any], early_stop: bool, describe: Callable[[Tensor], Any], log: Log | None) -> None:
        self.again, self.early_stop, self.describe, self.log = again, early_stop, describe, log
        self.tickets: list[weakref.ref[Ticket]] = []  # weak: a ticket lives as long as its node
        self.met: list[Any] = []  # what the first run saved, described
        self.count = 0  # tensors saved by the current run
        self.filled_in: Any = None  # the number of the backward pass, or the group of passes, that ran the segment again
        self.first_run_is_over = self.saved_more = False

    def keep_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep the arguments. Inside another segment they, too, are exchanged for its tickets."""
        self.args = [Input(a) if isinstance(a, Tensor) else a for a in args]
        self.kwargs = {name: Input(a) if isinstance(a, Tensor) else a for name, a in kwargs.items()}

    def inputs(self) -> tuple[list[Any], dict[str, Any]]:
        args = [a.tensor() if type(a) is Input else a for a in self.args]
        return args, {name: a.tensor() if type(a) is Input else a for name, a in self.kwargs.items()}

    def give_ticket(self, x: Tensor) -> Ticket:
        """First run: keep a description instead of the value."""
        ticket = Ticket()
        self.tickets.append(weakref.ref(ticket))
        self.met.append(self.describe(x))
        return ticket

    def take_ticket(self, ticket: Ticket) -> Tensor:
        """Backward: the value, after running the segment again if it is not there. It is handed out once and forgotten."""
        now = running()
        number = None if now is None else GraphExecGroup.current or now["number"]
        if ticket.value is None and number is not None and number == self.filled_in:
            raise CheckpointError(ONCE if number is not GraphExecGroup.current else OVERLAP)
        if ticket.value is None or number != self.filled_in:
            self.filled_in = number  # what another pass left over may be out of date
            try:
                self.fill_tickets()
            except CheckpointError as error:
                if self.log is not None:
                    raise CheckpointError(self.log.compared(error)) from error
                raise
        value, ticket.value = ticket.value, None
        assert value is not None
        return value

    def fill_tickets(self) -> None:
        self.count, self.saved_more = 0, False
        args, kwargs = self.inputs()
        with contextlib.suppress(_Enough), saved_tensors_hooks(self.fill_next, lambda x: x):
            self.again(args, kwargs)
        if not self.saved_more and self.count != len(self.tickets):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.tickets)}\n"
                f"Number of tensors saved during recomputation: {self.count}.\n{TIP}"
            )
        self.compare()

    def fill_next(self, x: Tensor) -> Tensor:
        """Second run: the n-th value belongs to the n-th ticket. The nodes of this run keep it as it is."""
        x = new_tensor(x.payload) if x.requires_grad else x
        self.count += 1
        if self.count > len(self.tickets):
            if self.first_run_is_over:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
                    f"The original forward saved {len(self.tickets)}.\n{TIP}"
                )
            self.saved_more = True  # a gradient was asked for within the segment, before it had saved all
            return x
        ticket = self.tickets[self.count - 1]()
        if ticket is not None:
            ticket.value = x
        if self.early_stop and self.count == len(self.tickets):
            raise _Enough
        return x

    def compare(self) -> None:
        other = []
        for i, (reference, expected) in enumerate(zip(self.tickets, self.met)):
            ticket = reference()
            if ticket is not None and ticket.value is not None and (found := self.describe(ticket.value)) != expected:
                saved, again = metadata(*expected), metadata(*found)
                other.append(f"tensor at position {i}:\nsaved metadata: {saved}\nrecomputed metadata: {again}\n")
        if other:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                f"pass.\n{''.join(other)}{TIP}"
            )


def metadata(shape: tuple[int, ...], dtype: Any) -> dict[str, Any]:
    """How a message shows what is compared."""
    return {"shape": Size(shape), "dtype": dtypes.of(dtype), "device": CPU}


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as leaves that require grad where they did: what a second run starts from. Raises RuntimeError for no tuple.

    >>> detach_variable((ones(2, requires_grad=True) * 2, 3))
    (tensor([2., 2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any], stacklevel: int = 2) -> None:
    """Warn if no input requires grad: then the reentrant form gives no gradients.

    >>> check_backward_validity([torch.ones(1), torch.ones(1, requires_grad=True)])  # there is one: no warning
    """
    if not any(isinstance(a, Tensor) and a.requires_grad for a in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=stacklevel)


class Input:
    """An argument of a segment, with the history that it had."""

    __slots__ = ("back", "edge", "kept", "version")

    def __init__(self, t: Tensor) -> None:
        self.edge, self.version, self.back = edge_of(t), t.version[0], None
        self.kept: Any = t
        if modes.saved_hooks and not t.wants_grad:
            pack, self.back = modes.saved_hooks[-1]
            with recording(False):
                self.kept = pack(t)

    def tensor(self) -> Tensor:
        if self.back is None:
            if self.kept.version[0] != self.version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: an argument of a "
                    f"checkpointed segment, {self.kept.dtype} of shape {list(self.kept.shape)}, is at version {self.kept.version[0]}; "
                    f"expected version {self.version} instead.\nUse the out-of-place form, or clone before modifying."
                )
            return self.kept
        t = new_tensor(self.back(self.kept).payload)
        t.edge = self.edge
        return t


class Log:
    """The names of the operations of both runs, for debug=True."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.second: list[str] = []

    def contexts(self) -> tuple[Any, Any]:
        return self.listening("first"), _Fresh(lambda: self.listening("second"))

    @contextlib.contextmanager
    def listening(self, which: str) -> Iterator[None]:
        names: list[str] = []
        setattr(self, which, names)
        before, modes.watch = modes.watch, lambda node, results: names.append(f"{node.name()} {[list(r.shape) for r in results]}")
        modes.settle()
        try:
            yield
        finally:
            modes.watch = before
            modes.settle()

    def compared(self, error: Exception) -> str:
        both = [f"{i}: {name}" for i, name in enumerate(self.first)], [f"{i}: {name}" for i, name in enumerate(self.second)]
        return (
            "An error happened while unpacking tensors; dumping logs of latest computation because you passed `debug=True` to "
            "`torch.utils.checkpoint.checkpoint()`.\n\nOperations executed during the original forward:\n"
            + "\n".join(both[0]) + "\n\nOperations executed during recomputation:\n" + "\n".join(both[1])
            + f"\n\nYou are seeing this error because you passed `debug=True` to checkpoint, and both runs differ.\n{error}"
        )  # fmt: skip


class _Fresh:
    """A context that can be entered more than once: a new one each time."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def __enter__(self) -> Any:
        self.context = self.make()
        return self.context.__enter__()

    def __exit__(self, *exc: Any) -> Any:
        return self.context.__exit__(*exc)


# -- the reentrant form ------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """The older form: a Function whose forward runs the segment unrecorded, and whose backward runs it again and differentiates it.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = CheckpointFunction.apply(torch.exp, True, x)  # True: with the same random numbers
    >>> y.grad_fn.name()
    'CheckpointFunctionBackward'
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Run the segment; keep its tensors for backward."""
        check_backward_validity(args, 6)
        state = get_rng_state() if preserve_rng_state else None
        ctx.again = functools.partial(run_again, run_function, contextlib.nullcontext(), state, modes.autocast)
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the segment again, recorded, and differentiate it."""
        now = running()
        if now is None or now["inputs"] is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."
            )
        args = list(ctx.others)
        for i, t in zip(ctx.places, ctx.saved_tensors):
            args[i] = t
        detached = detach_variable(tuple(args))
        outputs = ctx.again(detached, {})
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(out, g) for out, g in zip(outputs, grads) if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([out for out, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a._grad if isinstance(a, Tensor) else None for a in detached))


# -- a chain of segments -----------------------------------------------------------------------------


def checkpoint_sequential(
    functions: Iterable[Callable[..., Any]], segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run functions (a Sequential, or a list) one after another in `segments` segments, of which all but the last are checkpointed.

    With n layers in about sqrt(n) segments, what is kept grows as sqrt(n) instead of n.
    Raises ValueError for keywords other than preserve_rng_state, and for more segments than functions or none.

    >>> checkpoint_sequential([torch.exp, torch.sin, torch.log], 2, tensor(1.0), use_reentrant=False)
    tensor(-0.8897)
    """
    if use_reentrant is None:
        warnings.warn(
            PASS_EXPLICITLY.replace("torch.utils.checkpoint:", "torch.utils.checkpoint.checkpoint_sequential:", 1),
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    layers = _layers(functions, "checkpoint_sequential")
    if not 1 <= whole(segments, "checkpoint_sequential: segments") <= max(len(layers), 1):
        raise ValueError(
            f"checkpoint_sequential expects 1 <= segments <= {len(layers)} for {len(layers)} functions, but got segments={segments}"
        )
    length = len(layers) // segments

    def run(first: int, last: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for layer in layers[first:last]:
                x = layer(x)
            return x

        return forward

    begin = 0
    for begin in range(0, length * (segments - 1), length):
        input = checkpoint(run(begin, begin + length), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(length * (segments - 1), len(layers))(input)


def _layers(functions: Any, caller: str) -> list[Callable[..., Any]]:
    """The functions of a chain, of a Sequential or of a list; anything else would fail far away, in the middle of a run."""
    children = getattr(functions, "children", None)
    if children is None and not isinstance(functions, Iterable):
        raise TypeError(f"{caller}: functions must be a Sequential or a list of functions, not {type(functions).__name__}")
    layers = list(functions if children is None else children())
    for i, layer in enumerate(layers):
        if not callable(layer):
            raise TypeError(f"{caller}: function {i} is of type {type(layer).__name__}, which cannot be called")
    return layers


def revolve(functions: Iterable[Callable[..., Any]], slots: int, input: Any, preserve_rng_state: bool = True) -> Any:
    """Run functions (a Sequential, or a list) one after another, with the checkpoints that need the fewest runs in `slots` slots.

    Between two runs of the backward pass at most `slots` values are kept beside the input, and no schedule with as many slots runs the
    functions less often: C(s + 1 + r, r) of them are reversed if none runs more than r times before it is recorded. The schedule is a
    nest of `checkpoint` calls, as deep as there are slots and repetitions, and with no slot as there are functions. While a part runs
    for the first time, the calls nested in it keep their inputs, too.

    PyTorch has no such function. The name and the schedule are from Griewank and Walther 2000, Algorithm 799: Revolve.

    Raises ValueError if there is no function, or if slots is negative; TypeError for what is not a list of functions or not a number.

    >>> x = torch.tensor(0.5, requires_grad=True)
    >>> calls = []
    >>> y = torch.utils.checkpoint.revolve([lambda h: calls.append(1) or h.sin()] * 10, 2, x)
    >>> y.backward()
    >>> len(calls)  # with no slot 55, with nine 19
    25
    """
    layers = _layers(functions, "revolve")
    if not layers or whole(slots, "revolve: slots") < 0:
        raise ValueError(f"revolve expects at least one function and slots >= 0, but got {len(layers)} functions and slots={slots}")

    def run(first: int, last: int, slots: int, x: Any) -> Any:
        while last - first > 1:
            middle = first + first_slot(last - first, slots)
            x = checkpoint(run, first, middle, slots, x, use_reentrant=False, preserve_rng_state=preserve_rng_state)
            first, slots = middle, max(slots - 1, 0)
        return layers[first](x)

    return run(0, len(layers), slots, input)


def first_slot(steps: int, slots: int) -> int:
    """After how many of several steps the first value is kept: each part is then as long as its share of repetitions allows.

    >>> first_slot(10, 1), first_slot(10, 2)
    (6, 4)
    """
    if slots == 0:
        return steps - 1
    reach = lambda places, repetitions: math.comb(places + repetitions, places) if repetitions >= 0 else 0
    repetitions = next(r for r in itertools.count() if steps <= reach(slots + 1, r))
    return max(1, steps - reach(slots, repetitions), reach(slots + 1, repetitions - 2))
