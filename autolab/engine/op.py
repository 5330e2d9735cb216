"""3. What a row of the table means.

    mul = op("mul", lambda x, y: x * y, ELEMENTWISE, x=lambda g, y: g * y,
                                                     y=lambda g, x: g * x)

The parameter names of a rule say what is remembered: `g` is the incoming gradient, `out` the result, an input's own name its value,
`<input>_shape` only its shape, a keyword of the forward its setting. For each set of inputs that need a gradient a *plan* is made,
once: which rules to run, and the fewest values to save for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from autolab.engine.apply import apply_general
from autolab.engine.node import MultiOpNode, OpNode
from autolab.engine.saved import NEVER, Saved, checked, save, show_value, with_history
from autolab.engine.tensor import NUMPY_FUNCTIONS, TABLE, Tensor
from autolab.formula import body

ELEMENTWISE, LINEAR, BILINEAR, GENERAL = "elementwise", "linear", "bilinear", "general"


# What a row does with complex numbers, `op.complex`. None: it refuses them. Its rules hold for them as they stand, as multiplication by a
# complex derivative (`g * y`): the node turns that into PyTorch's gradient (`Node.vjp`). Or its rules say what PyTorch's gradient is, for
# functions that have no complex derivative (`abs`, `conj`). Or it is another row, which then runs in its place.
HOLOMORPHIC, ADJOINT = "holomorphic", "adjoint"

NO_SETTINGS: dict[str, Any] = {}
# What exists for speed, and writes functions out for a row. A hook that is not there, or gives None, leaves all to the general way, which
# gives the same.
#   forward(op, general, settle, otherwise)  `op.run`, which does what `general` does. What comes in its place later is given to `settle`.
#                           Of a row of matrices otherwise(x, y), if that is given, takes all but two matrices  autolab.fast.first_calls
#   run(op, plan, general, settle)  `run` of the class of its nodes, which does what `OpNode.run` does          autolab.fast.first_calls
#   backward(roots, gradients, **options)  runs dry what `steps` gives                                              autolab.fast.backward
#   taped(op)               run(tape, *inputs, settings), which does what `Tape.apply` does                         autolab.fast.in_grad
#   batched(op)             run(batch, *inputs, settings), which does what `Batch.apply` does, or gives None        autolab.fast.in_vmap
#   mapped(op)              run(tape, batch, *inputs, settings), both for a tape right inside vmap, or gives None   autolab.fast.in_both
#   attributes(op, plan)    members of the class of its nodes: the names under which they show what they keep   autolab.autograd.node_names
#   parts(op)               what makes a node of the row several, where PyTorch has several; or None            autolab.autograd.node_names
CODEGEN: dict[str, Callable[..., Any]] = {}


class Rule:
    """A backward rule for one input: the function, and the names of what it asks for besides `g`.

    function: the formula, for arrays and Tensors. compute: what runs on arrays: the same, or a kernel that is equal to it and faster.
    defaults: parameters that name no value, which keep their defaults.
    """

    __slots__ = ("compute", "defaults", "function", "incoming", "needs")

    def __init__(self, function: Callable[..., Any], is_known: Callable[[str], bool] = lambda name: True) -> None:
        self.function = self.compute = function
        self.incoming, *needs = function.__code__.co_varnames[: function.__code__.co_argcount]
        self.needs = without_defaults(function, needs, is_known) if function.__defaults__ else tuple(needs)
        self.defaults = dict(zip(needs[::-1], (function.__defaults__ or ())[::-1])) if len(self.needs) < len(needs) else {}


class Op:
    """One row: a forward function in NumPy's words, and a backward rule for each input that has a gradient."""

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        kind: str,
        *,
        node: str | Callable[..., str] | None = None,
        numpy: Any = (),
        promote: str | None = None,
        together: tuple[str, ...] | None = None,
        outputs: int = 1,
        view: bool = False,
        matrices: bool = False,
        products: bool = False,
        holds: bool = False,
        complex: str | None = None,
        jvp: Callable[..., Any] | None = None,
        batch: Callable[..., Any] | None = None,
        check: Callable[..., None] | None = None,
        shared: dict[str, Callable[..., Any]] | None = None,
        number: dict[str, str] | None = None,
        **rules: Callable[..., Any],
    ) -> None:
        self.name, self.forward, self.kind = name, forward, kind
        self.compute = forward  # what runs: the formula, or a kernel that is equal to it and faster (autolab.fast.kernel)
        self.inputs, self.settings, self.variadic = signature(forward)
        # What several rules ask for and nobody keeps: by name, the function, and what it asks for itself.
        self.shared = {name: (function, signature(function)[0]) for name, function in (shared or {}).items()}
        self.rules = {argument: Rule(function, self.is_known) for argument, function in rules.items()}
        unknown = [argument for argument in rules if argument not in self.inputs]
        if unknown:
            raise TypeError(f"op {name!r}: rules for {unknown}, but forward takes {self.inputs}")
        self.promote = promote if promote is not None else "join" if kind == ELEMENTWISE else ""
        self.promoted_inputs = [i for i, n in enumerate(self.inputs) if together is None or n in together]
        self.outputs, self.view, self.matrices, self.holds = outputs, view, matrices, holds
        self.products = products or matrices
        self.moves_entries = view or (kind == ELEMENTWISE and not self.promote)  # or keeps some of them, whatever their dtype
        self.broadcasts = kind == ELEMENTWISE and len(self.inputs) > 1  # inputs may be broadcast, or cast
        self.jvp, self.batch, self.check = jvp, batch, check
        self.complex: Any = complex
        self.complex_row: Op | None = None
        self.refusal = f'"{name}_cpu" not implemented for'  # how it refuses complex numbers
        self.unsigned_refusal: str | None = None  # and uint16, uint32, uint64
        self.mask = ~0 if self.variadic else sum(1 << i for i, n in enumerate(self.inputs) if n in self.rules)
        self.plans: dict[int, Plan] = {}
        self.namer = node if callable(node) else None
        self.number = number or {}
        self.node_name = node if isinstance(node, str) else "".join(w.capitalize() for w in name.split("_")) + "Backward0"
        self._classes: dict[tuple[int, str, str], type[OpNode]] = {}
        for function in numpy if isinstance(numpy, tuple) else (numpy,):
            NUMPY_FUNCTIONS[function] = self.as_numpy

    def __call__(self, *args: Any, **settings: Any) -> Any:
        """Run the row: recorded if an argument is a Tensor, plain NumPy otherwise."""
        for a in args:
            if isinstance(a, Tensor):
                return self.run(*args, settings=settings)
        return self.compute(*args, **settings)

    def generated(self, hook: str, *args: Any) -> Any:
        """What a hook of CODEGEN gives for the row; None without the hook."""
        return CODEGEN[hook](self, *args) if hook in CODEGEN else None

    # Each is made when it is first asked for, and is a function, not a method: Tensor's operators bind it as theirs.
    run: Callable[..., Any] = cached_property(lambda self: run_of(self))  # type: ignore[assignment]
    taped: Any = cached_property(lambda self: self.generated("taped"))
    batched: Any = cached_property(lambda self: self.generated("batched"))
    mapped: Any = cached_property(lambda self: self.generated("mapped"))

    def as_numpy(self, *args: Any, **settings: Any) -> Any:
        """Run the row when called with NumPy's signature: a list of arrays for a variadic row, settings by position."""
        if self.variadic:
            return self(*args[0], **dict(zip(self.settings, args[1:]), **settings))
        n = len(self.inputs)
        return self(*args[:n], **dict(zip(self.settings, args[n:]), **settings))

    def plan(self, mask: int) -> Plan:
        """What to save and to run when the inputs in `mask` need a gradient."""
        key = -1 if self.variadic else mask
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = Plan(self, mask)
        return plan

    def node_class(self, mask: int, name: str, numbers: str = "") -> type[OpNode]:
        """The class of the nodes of this row under PyTorch's name for them, for one set of inputs that need a gradient.

        numbers: "narrow" or "complex" where the operands are so: such nodes take the general way.
        """
        cls = self._classes.get((mask, name, numbers))
        if cls is None:
            plan = self.plan(mask)
            base = OpNode if self.outputs == 1 else MultiOpNode
            members = {"__slots__": (), "__module__": __name__, "op": self, "plan": plan, "holds_values": plan.holds_values}
            members |= {"numbers": numbers, "shown": self.shown(name), **(self.generated("attributes", plan) or {})}
            if not numbers and self.complex != ADJOINT:
                members["run"] = self.generated("run", plan, base.run, lambda run: setattr(cls, "run", run)) or base.run
            if not self.settings:
                members["settings"] = {}  # of the class: saves a write for each node
            if not self.broadcasts:
                members["input_meta"] = None
            cls = self._classes[mask, name, numbers] = type(name, (base,), members)
        return cls

    def is_known(self, name: str) -> bool:
        """Is this the name of a value that a rule may ask for?"""
        return name in self.shared or slot_for(self, name) is not None

    def shown(self, name: str) -> tuple[int, ...] | None:
        """The inputs that a node of this name shows: neither an index or a mask, nor what is a number under that name; None for all."""
        shown = tuple(i for i, n in enumerate(self.inputs) if n in self.rules and n != self.number.get(name))
        return None if self.variadic or len(shown) == len(self.inputs) else shown

    def formula(self, argument: str) -> str:
        """The source of the rule for one input, for reading: `g * y`."""
        return body(self.rules[argument].function)

    def forward_formula(self) -> str:
        """The source of the forward computation, for reading: `x * y`."""
        return body(self.forward)

    def __repr__(self) -> str:
        return f"<row {self.name}({', '.join([*self.inputs, *self.settings])}): {self.kind}>"


def run_of(op: Op) -> Callable[..., Any]:
    general = plain_run(op)
    return op.generated("forward", general, lambda run: setattr(op, "run", run)) or general


def plain_run(op: Op) -> Callable[..., Any]:
    """`op.run` by `apply_general`. The settings may stand last, as in a function that is written out for a row of fixed inputs."""
    count = len(op.inputs)

    def run(*args: Any, settings: dict[str, Any] = NO_SETTINGS) -> Any:
        if not op.variadic and len(args) > count:
            settings, args = args[count], args[:count]
        return apply_general(op, args, settings)

    return run


def signature(forward: Callable[..., Any]) -> tuple[list[str], dict[str, Any], bool]:
    """The inputs of a forward function, its settings with their defaults, and whether it takes any number of inputs.

    What `inspect.signature` says, for a tenth of its time: the table has hundreds of rows.
    """
    code = forward.__code__
    names, n, last = code.co_varnames, code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    defaults = forward.__kwdefaults__ or {}
    variadic = bool(code.co_flags & inspect.CO_VARARGS)
    inputs = [*names[:n], names[last]] if variadic else list(names[:n])
    return inputs, {name: defaults.get(name) for name in names[n:last]}, variadic


def without_defaults(function: Callable[..., Any], needs: list[str], is_known: Callable[[str], bool]) -> tuple[str, ...]:
    """What a rule asks for. A parameter that names no value keeps its default, as in any function; values come by position, before it."""
    optional = needs[len(needs) - len(function.__defaults__ or ()) :]
    kept = [name for name in needs if name not in optional or is_known(name)]
    if kept != needs[: len(kept)]:
        own = next(name for name in needs if name not in kept)
        raise TypeError(f"a rule has the parameter {own!r}, which keeps its default, before {kept[-1]!r}: move it to the end")
    return tuple(kept)


class Plan:
    """Which rules to run for one set of inputs that need a gradient, and the fewest values to remember for them."""

    __slots__ = ("holds_values", "one_dtype", "rules", "shared", "slots")

    def __init__(self, op: Op, mask: int) -> None:
        self.slots: list[Slot] = []  # in the order in which they are in node.saved
        active = [
            (-1 if op.variadic else i, op.rules[argument])
            for i, argument in enumerate(op.inputs)
            if argument in op.rules and (op.variadic or mask >> i & 1)
        ]
        wanted = list(dict.fromkeys(name for _, rule in active for name in rule.needs))
        shared = [name for name in wanted if name in op.shared]
        kept = [part for name in wanted for part in (op.shared[name][1] if name in op.shared else (name,))]
        for name in dict.fromkeys(kept):
            slot = slot_for(op, name)
            if slot is None:
                raise TypeError(f"op {op.name!r}: a rule asks for {name!r}, which is not an input, shape, setting or `out`")
            slot.start = sum(s.width for s in self.slots)
            self.slots.append(slot)
        # Rules are given values by number: first what was kept, then what they share.
        number = {name: k for k, name in enumerate([*(slot.name for slot in self.slots), *shared])}
        self.shared = [(op.shared[n][0], tuple(number[m] for m in op.shared[n][1])) for n in shared]
        self.rules = [(i, rule, tuple(number[n] for n in rule.needs)) for i, rule in active]
        # Whether gradients have the dtype of the one that came in; inputs that promotion changed are looked at one by one.
        self.one_dtype = op.outputs == 1 and not op.variadic and "dtype" not in op.settings and op.complex != ADJOINT
        self.holds_values = op.holds or any(isinstance(slot, Value | Out | Values) for slot in self.slots)


def slot_for(op: Op, name: str) -> Slot | None:
    """The kind of memory that a parameter name of a rule stands for; None if it stands for nothing."""
    if name == "out":
        return Out(name, 0)
    if name.startswith("out_") and name[4:].isdigit():
        return Out(name, int(name[4:]))
    if name in op.settings:
        return Setting(name, op.settings[name])
    if name in op.inputs:
        return Values(name, 0) if op.variadic else Value(name, op.inputs.index(name))
    if name.endswith("_shape") and name[:-6] in op.inputs:
        return Shapes(name, 0) if op.variadic else Shape(name, op.inputs.index(name[:-6]))
    return None


def from_the_end(axis: Any, ndim: int) -> Any:
    """An axis, or several, as rows have them: counted from the end, so that an axis more in front changes nothing."""
    if isinstance(axis, int | np.integer):
        return int(axis) if axis < 0 else int(axis) - ndim
    return axis if axis is None else tuple(from_the_end(a, ndim) for a in axis)


class Slot:
    """One thing that a node remembers: how to take it when the operation runs, and how to give it back to a rule."""

    __slots__ = ("index", "name", "start")

    width = 1  # places in node.saved from `start` on: the value, and for what can be written to its version counter and version

    def __init__(self, name: str, index: int) -> None:
        self.name, self.index, self.start = name, index, 0

    def take(self, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...]) -> tuple[Any, ...]:
        raise NotImplementedError

    def unpack(self, node: OpNode, create_graph: bool) -> Any:
        return self.entry(node)[0]

    def entry(self, node: OpNode) -> tuple[Any, ...]:
        assert node.saved is not None
        return node.saved[self.start : self.start + self.width]

    def show(self, node: OpNode) -> Saved:
        return Saved(self.name, self.entry(node)[0], True)


class Setting(Slot):
    """A keyword of the call, or its default."""

    __slots__ = ("default",)

    def __init__(self, name: str, default: Any) -> None:
        super().__init__(name, 0)
        self.default = default

    def take(self, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...]) -> tuple[Any, ...]:
        return (settings.get(self.name, self.default),)


class Shape(Slot):
    """Only the shape of an input."""

    __slots__ = ()

    def take(self, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...]) -> tuple[Any, ...]:
        return (np.shape(raw[self.index]),)


class Shapes(Slot):
    """The shapes of all inputs of a variadic row."""

    __slots__ = ()

    def take(self, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...]) -> tuple[Any, ...]:
        return (tuple([np.shape(a) for a in raw]),)


class Value(Slot):
    """The value of an input, with the version it had."""

    __slots__ = ()
    width = 3

    def take(self, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...]) -> tuple[Any, ...]:
        return save(args[self.index], raw[self.index])

    def unpack(self, node: OpNode, create_graph: bool) -> Any:
        raw, version = checked(node, self.name, self.entry(node), node.edges[self.index])
        if not create_graph or version is NEVER:
            return raw
        return with_history(raw, node.edges[self.index], version)

    def show(self, node: OpNode) -> Saved:
        return show_value(self.name, self.entry(node))


class Out(Slot):
    """The result itself. The node holds its numbers, not the tensor, so that neither keeps the other alive."""

    __slots__ = ()
    width = 3

    def take(self, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...]) -> tuple[Any, ...]:
        result: Any = results[self.index]
        return save(result, result.value if result.level else result.payload, is_result=True)

    def unpack(self, node: OpNode, create_graph: bool) -> Any:
        edge = (node, self.index) if self.index else node
        raw, version = checked(node, self.name, self.entry(node), edge)
        return with_history(raw, edge, version) if create_graph else raw

    def show(self, node: OpNode) -> Saved:
        return show_value(self.name, self.entry(node))


class Values(Slot):
    """The values of all inputs of a variadic row."""

    __slots__ = ()

    def take(self, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...]) -> tuple[Any, ...]:
        return (tuple(save(a, r) for a, r in zip(args, raw)),)

    def unpack(self, node: OpNode, create_graph: bool) -> Any:
        found = [checked(node, self.name, one, edge) for one, edge in zip(self.entry(node)[0], node.edges)]
        if not create_graph:
            return [raw for raw, _ in found]
        return [raw if version is NEVER else with_history(raw, e, version) for (raw, version), e in zip(found, node.edges)]

    def show(self, node: OpNode) -> Saved:
        shown = [show_value(self.name, one) for one in self.entry(node)[0]]
        return Saved(self.name, [one.value for one in shown], all(one.version_ok for one in shown))


def op(name: str, forward: Callable[..., Any], kind: str = GENERAL, **details: Any) -> Op:
    """Add a row to the table.

    forward(x, y, *, setting=...) computes on raw arrays; for each input with a gradient there is a rule under its name. Besides:
    `node` PyTorch's name for the node (or a function of the call that gives it); `numpy` the NumPy function(s) that mean this
    row; `promote` "join" brings the inputs named in `together` (default all) to one dtype, "float" also takes integers to the
    default float; `outputs` how many results, -1 if it depends on the call; `view` the result looks into the input's memory;
    `number` under which of its names which input is a number, without an edge that users see;
    `matrices` the row is a product of two matrices; `products` both sides of each `@` in its rules are matrices;
    `holds` its settings may be arrays (an index), and are freed as saved values are;
    `jvp` and `batch` are for GENERAL rows that want more than what follows from the rules; `shared` names what several rules ask for
    and is computed once for all of them, `{"xhat": lambda x, axes: ...}`; `check` is called on the raw
    operands first, and raises for those that NumPy would take and PyTorch does not (the shortcuts see only float32 and float64).
    """
    if name in TABLE:
        raise ValueError(f"there is a row {name!r} already")
    row = TABLE[name] = Op(name, forward, kind, **details)
    return row
