"""A recorded run as plain data. docs/trace-format.md describes the JSON, schema.json checks it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from operator import attrgetter
from typing import Any, ClassVar, Self

from autolab.trace.values import TraceValue
from autolab.utils.collector import collector_paused

FORMAT = "autolab-trace"
VERSION = 3
READABLE = 2, 3  # 2 had no histogram


class Record:
    """Data that JSON can hold, a member for each field. `READERS` makes what is in a field from JSON, `KEYS` renames a field there."""

    __slots__ = ()
    READERS: ClassVar[dict[str, Callable]] = {}
    KEYS: ClassVar[dict[str, str]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; of a trace, in the format of docs/trace-format.md."""
        return json.loads(self.to_json())

    def to_json(self, indent: int | None = None) -> str:
        """JSON text; strict JSON, without NaN."""
        with collector_paused():
            return json.dumps(self, default=_members, indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(*[_read(cls.READERS.get(name), d[key]) for name, key in zip(cls.__slots__, _layout(cls)[0])])


@cache
def _layout(cls: type[Record]) -> tuple[list[str], Callable[[Record], tuple]]:
    """The keys of a record in JSON, and what gives all that is under them at once."""
    return [cls.KEYS.get(name, name) for name in cls.__slots__], attrgetter(*cls.__slots__)


def _members(value: Record | TraceValue) -> dict[str, Any]:
    if isinstance(value, TraceValue):
        return value.to_dict()
    keys, fields = _layout(type(value))
    members = dict(zip(keys, fields(value)))
    return {"format": FORMAT, "version": VERSION, **members} if isinstance(value, Trace) else members


def _read(reader: Callable | None, value: Any) -> Any:
    if value is None or reader is None:
        return value
    return [_read(reader, item) for item in value] if isinstance(value, list) and reader is not tuple else reader(value)


@dataclass(slots=True)
class TraceRule(Record):
    """How one input of a node gets its gradient: the formula of the table, and what it asks for besides `g`.

    >>> from autolab.trace import graph
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> graph(x.exp()).nodes[0].rules
    [TraceRule(input='x', formula='g * out', needs=('out',))]
    """

    READERS: ClassVar = {"needs": tuple}
    input: str
    formula: str | None
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class SavedItem(Record):
    """What a node remembers for its rules: a tensor, or (`value` None, no bytes) a shape or a setting of the call.

    >>> from autolab.trace import graph
    >>> x = torch.ones(3, requires_grad=True)
    >>> saved = graph(x.exp().sum()).nodes[1].saved[0]
    >>> saved.name, saved.text, saved.bytes
    ('out', '[2.71828, 2.71828, 2.71828]', 12)
    """

    READERS: ClassVar = {"value": TraceValue.from_dict}
    name: str
    text: str
    value: TraceValue | None = None
    bytes: int = 0


@dataclass(slots=True)
class TraceNode(Record):
    """An operation that ran, or a leaf.

    `kind` is "op" (a row of the table, or a node of the engine's own such as CopySlices), "custom" (a Function) or "leaf";
    `label` is what the caller calls its result, or "". `value` is the result where something still remembers it, else None.

    >>> from autolab.trace import graph
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> node = graph(x.exp()).nodes[0]
    >>> node.kind, node.name, node.value.text, [rule.formula for rule in node.rules]
    ('op', 'ExpBackward0', '7.38906', ['g * out'])
    """

    READERS: ClassVar = {
        "value": TraceValue.from_dict, "shape": tuple, "rules": TraceRule.from_dict, "saved": SavedItem.from_dict,
    }  # fmt: skip
    id: str
    kind: str
    name: str
    label: str = ""
    op: str | None = None
    symbol: str = ""
    forward: str | None = None
    settings: str = ""
    value: TraceValue | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    outputs: int = 1
    rules: list[TraceRule] = field(default_factory=list)
    saved: list[SavedItem] = field(default_factory=list)

    @property
    def sign(self) -> str:
        """What the node does, in short: "×", "relu"; of a leaf its name, of a Function's node PyTorch's."""
        return (self.label if self.kind == "leaf" else self.symbol or self.op) or self.name

    @property
    def title(self) -> str:
        """What the node does, and PyTorch's name of it: "× (MulBackward0)", of a leaf "x (AccumulateGrad)"."""
        return f"{self.sign} ({self.name})" if self.sign != self.name else self.name

    @property
    def display_name(self) -> str:
        """How a sentence refers to this node: the caller's name for it, else its title."""
        return self.label or self.title


@dataclass(slots=True)
class TraceEdge(Record):
    """Data went from `source` (its output number `output`) into `input` of `target`; the gradient goes back.

    >>> from autolab.trace import graph
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> for edge in graph(x * x).edges:
    ...     print(edge.source, edge.target, edge.input)
    n1 n0 x
    n1 n0 y
    """

    KEYS: ClassVar = {"source": "from", "target": "to"}
    id: str
    source: str
    target: str
    output: int
    input: str
    index: int


@dataclass(slots=True)
class SentGradient(Record):
    """What a node sends along one edge, and the rule it came from: as written, and with its numbers.

    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> sent = record(x**3).steps[0].outgoing[0]
    >>> sent.formula, sent.filled, sent.value.text
    ('g * (exponent * x ** (exponent - 1)) if exponent != 0 else np.zeros_like(g)', '1 * (3 * 2 ** (3 - 1)) = 12', '12')
    """

    READERS: ClassVar = {"value": TraceValue.from_dict}
    edge: str
    value: TraceValue | None
    formula: str | None = None
    filled: str | None = None


@dataclass(slots=True)
class GradUpdate(Record):
    """What a backward pass does to `.grad` of a leaf.

    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> x.grad = torch.tensor(100.0)
    >>> update = record(x * 3).steps[-1].grad
    >>> update.before.text, update.after.text
    ('100', '103')
    """

    READERS: ClassVar = {"before": TraceValue.from_dict, "after": TraceValue.from_dict}
    before: TraceValue | None
    after: TraceValue | None


@dataclass(slots=True)
class HookEvent(Record):
    """A hook that ran as a node fired. `kind` is "tensor", "before" or "after" the node; `sees` what it was given;
    `gives` what it put in place of that, or None if it only looked.

    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * 3
    >>> handle = y.register_hook(lambda g: g * 10)
    >>> event = record(y).steps[0].hooks[0]
    >>> event.kind, event.sees[0].text, event.gives[0].text
    ('tensor', '1', '10')
    """

    READERS: ClassVar = {"sees": TraceValue.from_dict, "gives": TraceValue.from_dict}
    name: str
    kind: str
    sees: list[TraceValue | None]
    gives: list[TraceValue | None] | None = None


@dataclass(slots=True)
class TraceStep(Record):
    """One node fires: what it receives (per output), what it sends (per edge), what backward() then frees.

    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> step = record(x * 3).steps[0]
    >>> step.incoming[0].text, [sent.value.text for sent in step.outgoing], step.sentence
    ('1', ['3'], '× (MulBackward0) receives 1; x gets 1 × 3 = 3.')
    """

    READERS: ClassVar = {
        "incoming": TraceValue.from_dict, "outgoing": SentGradient.from_dict, "grad": GradUpdate.from_dict, "hooks": HookEvent.from_dict,
    }  # fmt: skip
    node: str
    incoming: list[TraceValue | None]
    outgoing: list[SentGradient]
    frees: list[str]
    grad: GradUpdate | None
    sentence: str
    hooks: list[HookEvent] = field(default_factory=list)


@dataclass(slots=True)
class Trace(Record):
    """A graph and, if it was recorded, the backward pass over it, one step per node that fires.

    Nodes are in reverse order of creation, the root first, leaves last; so two runs of the same code have the same
    ids, and a picture keeps its places while numbers change.

    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> trace = record(x * 3)
    >>> trace
    <Trace of MulBackward0: 2 nodes, 2 steps>
    >>> [node.name for node in trace.nodes], trace.node("n0").value.text
    (['MulBackward0', 'AccumulateGrad'], '6')
    >>> type(trace).from_json(trace.to_json()) == trace
    True
    """

    READERS: ClassVar = {"nodes": TraceNode.from_dict, "edges": TraceEdge.from_dict, "steps": TraceStep.from_dict}
    root: str
    nodes: list[TraceNode]
    edges: list[TraceEdge]
    steps: list[TraceStep] = field(default_factory=list)

    def __repr__(self):
        return f"<Trace of {self.node(self.root).name}: {len(self.nodes)} nodes, {len(self.steps)} steps>"

    def node(self, id: str) -> TraceNode:
        """The node with this id.

        Raises
        ------
        KeyError
            If the trace has no such node.
        """
        return self._index("nodes", id)

    def edge(self, id: str) -> TraceEdge:
        """The edge with this id; KeyError if there is none."""
        return self._index("edges", id)

    def _index(self, what, id):
        # ids are the position behind one letter
        try:
            found = getattr(self, what)[int(id[1:])]
        except (ValueError, IndexError, TypeError):
            found = None
        if found is None or found.id != id:
            raise KeyError(f"this trace has no {what[:-1]} {id!r}; it has {len(getattr(self, what))}")
        return found

    def in_order_of_creation(self) -> list[TraceNode]:
        """The leaves, then the operations from the oldest on."""
        leaves = [node for node in self.nodes if node.kind == "leaf"]
        return leaves + [node for node in self.nodes[::-1] if node.kind != "leaf"]

    @property
    def structure(self) -> tuple:
        """Equal for two traces exactly if their pictures have the same boxes and lines."""
        nodes = tuple((n.kind, n.name, n.label, n.outputs) for n in self.nodes)
        return self.root, nodes, tuple((e.source, e.target, e.output, e.index) for e in self.edges)

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> "Trace":
        """Read what `to_dict` wrote.

        Raises
        ------
        ValueError
            If it is not a trace, or of a version that this autolab does not know.
        """
        if d.get("format") != FORMAT:
            raise ValueError(f'not a trace: "format" is {d.get("format")!r}, expected {FORMAT!r}')
        if d.get("version") not in READABLE:
            raise ValueError(
                f"a trace of version {d.get('version')!r}; this autolab reads versions {' and '.join(map(str, READABLE))}. "
                "Record it again, or install the autolab that wrote it."
            )
        return cls(*[_read(cls.READERS.get(name), d[name]) for name in cls.__slots__])

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """Read what `to_json` wrote; ValueError if it is something else."""
        return cls.from_dict(json.loads(text))


def schema() -> dict[str, Any]:
    """The JSON schema of the trace format, as a dict.

    >>> schema()["title"], sorted(schema()["properties"])
    ('autolab trace, version 3', ['edges', 'format', 'nodes', 'root', 'steps', 'version'])
    """
    return json.loads(resources.files("autolab.trace").joinpath("schema.json").read_text("utf-8"))
