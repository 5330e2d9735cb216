"""A recorded run as plain data. docs/trace-format.md describes the JSON, schema.json checks it."""

import json
from dataclasses import dataclass, field
from importlib import resources

from autolab.trace.values import TraceValue, collector_paused

FORMAT = "autolab-trace"
VERSION = 2


def _value(d):
    return None if d is None else TraceValue.from_dict(d)


def _dict(value):
    return None if value is None else value.to_dict()


@dataclass(slots=True)
class TraceRule:
    """How one input of a node gets its gradient: the formula of the table, and what it asks for besides `g`."""

    input: str
    formula: str | None
    needs: tuple = ()

    def to_dict(self):
        return {"input": self.input, "formula": self.formula, "needs": list(self.needs)}

    @classmethod
    def from_dict(cls, d):
        return cls(d["input"], d["formula"], tuple(d["needs"]))


@dataclass(slots=True)
class SavedItem:
    """What a node remembers for its rules: a tensor, or (`value` None, no bytes) a shape or a setting of the call."""

    name: str
    text: str
    value: TraceValue | None = None
    bytes: int = 0

    def to_dict(self):
        return {"name": self.name, "text": self.text, "value": _dict(self.value), "bytes": self.bytes}

    @classmethod
    def from_dict(cls, d):
        return cls(d["name"], d["text"], _value(d["value"]), d["bytes"])


@dataclass(slots=True)
class TraceNode:
    """An operation that ran, or a leaf.

    `kind` is "op" (a row of the table, or a node of the engine's own such as CopySlices), "custom" (a Function) or "leaf";
    `label` is what the caller calls its result, or "". `value` is the result where something still remembers it, else None.
    """

    id: str
    kind: str
    name: str
    label: str = ""
    op: str | None = None
    symbol: str = ""
    forward: str | None = None
    settings: str = ""
    value: TraceValue | None = None
    shape: tuple | None = None
    dtype: str | None = None
    outputs: int = 1
    rules: list = field(default_factory=list)
    saved: list = field(default_factory=list)

    @property
    def called(self):
        """How a sentence refers to this node: the caller's name for it, else the node's own."""
        return self.label or self.name

    def to_dict(self):
        return {
            "id": self.id, "kind": self.kind, "name": self.name, "label": self.label, "op": self.op,
            "symbol": self.symbol, "forward": self.forward, "settings": self.settings, "value": _dict(self.value),
            "shape": None if self.shape is None else list(self.shape), "dtype": self.dtype, "outputs": self.outputs,
            "rules": [rule.to_dict() for rule in self.rules], "saved": [saved.to_dict() for saved in self.saved],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, d):
        shape = None if d["shape"] is None else tuple(d["shape"])
        rules = [TraceRule.from_dict(r) for r in d["rules"]]
        saved = [SavedItem.from_dict(s) for s in d["saved"]]
        return cls(**{**d, "value": _value(d["value"]), "shape": shape, "rules": rules, "saved": saved})


@dataclass(slots=True)
class TraceEdge:
    """Data went from `source` (its output number `output`) into `input` of `target`; the gradient goes back."""

    id: str
    source: str
    target: str
    output: int
    input: str
    index: int

    def to_dict(self):
        return {"id": self.id, "from": self.source, "to": self.target, "output": self.output, "input": self.input, "index": self.index}

    @classmethod
    def from_dict(cls, d):
        return cls(d["id"], d["from"], d["to"], d["output"], d["input"], d["index"])


@dataclass(slots=True)
class SentGradient:
    """What a node sends along one edge, and the rule it came from: as written, and with its numbers."""

    edge: str
    value: TraceValue | None
    formula: str | None = None
    filled: str | None = None

    def to_dict(self):
        return {"edge": self.edge, "value": _dict(self.value), "formula": self.formula, "filled": self.filled}

    @classmethod
    def from_dict(cls, d):
        return cls(d["edge"], _value(d["value"]), d["formula"], d["filled"])


@dataclass(slots=True)
class GradUpdate:
    """What a backward pass does to `.grad` of a leaf."""

    before: TraceValue | None
    after: TraceValue

    def to_dict(self):
        return {"before": _dict(self.before), "after": self.after.to_dict()}

    @classmethod
    def from_dict(cls, d):
        return cls(_value(d["before"]), TraceValue.from_dict(d["after"]))


@dataclass(slots=True)
class HookEvent:
    """A hook that ran as a node fired. `kind` is "tensor", "before" or "after" the node; `sees` what it was given;
    `gives` what it put in place of that, or None if it only looked."""

    name: str
    kind: str
    sees: list
    gives: list | None = None

    def to_dict(self):
        gives = None if self.gives is None else [_dict(v) for v in self.gives]
        return {"name": self.name, "kind": self.kind, "sees": [_dict(v) for v in self.sees], "gives": gives}

    @classmethod
    def from_dict(cls, d):
        gives = None if d["gives"] is None else [_value(v) for v in d["gives"]]
        return cls(d["name"], d["kind"], [_value(v) for v in d["sees"]], gives)


@dataclass(slots=True)
class TraceStep:
    """One node fires: what it receives (per output), what it sends (per edge), what backward() then frees."""

    node: str
    incoming: list
    outgoing: list
    frees: list
    grad: GradUpdate | None
    sentence: str
    hooks: list = field(default_factory=list)

    def to_dict(self):
        return {
            "node": self.node, "incoming": [_dict(v) for v in self.incoming],
            "outgoing": [sent.to_dict() for sent in self.outgoing], "frees": list(self.frees),
            "grad": None if self.grad is None else self.grad.to_dict(), "sentence": self.sentence,
            "hooks": [hook.to_dict() for hook in self.hooks],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, d):
        grad = None if d["grad"] is None else GradUpdate.from_dict(d["grad"])
        return cls(d["node"], [_value(v) for v in d["incoming"]], [SentGradient.from_dict(s) for s in d["outgoing"]],
                   list(d["frees"]), grad, d["sentence"], [HookEvent.from_dict(h) for h in d["hooks"]])  # fmt: skip


@dataclass(slots=True)
class Trace:
    """A graph and, if it was recorded, the backward pass over it, one step per node that fires.

    Nodes stand in reverse order of creation, the root first, leaves last; so two runs of the same code have the same
    ids, and a picture keeps its places while numbers change.
    """

    root: str
    nodes: list
    edges: list
    steps: list = field(default_factory=list)

    def __repr__(self):
        return f"<Trace of {self.node(self.root).name}: {len(self.nodes)} nodes, {len(self.steps)} steps>"

    def node(self, id):
        """The node with this id.

        Raises
        ------
        KeyError
            If the trace has no such node.
        """
        return self._index("nodes", id)

    def edge(self, id):
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

    @property
    def structure(self):
        """Equal for two traces exactly if their pictures have the same boxes and lines."""
        nodes = tuple((n.kind, n.name, n.label, n.outputs) for n in self.nodes)
        return self.root, nodes, tuple((e.source, e.target, e.output, e.index) for e in self.edges)

    def to_dict(self):
        """The trace as JSON-ready data, in the format of docs/trace-format.md."""
        return {
            "format": FORMAT, "version": VERSION, "root": self.root,
            "nodes": [n.to_dict() for n in self.nodes], "edges": [e.to_dict() for e in self.edges],
            "steps": [s.to_dict() for s in self.steps],
        }  # fmt: skip

    def to_json(self, indent=None):
        """The trace as JSON text; strict JSON, without NaN."""
        with collector_paused():
            return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, d):
        """Read what `to_dict` wrote.

        Raises
        ------
        ValueError
            If it is not a trace, or of a version that this autolab does not know.
        """
        if d.get("format") != FORMAT:
            raise ValueError(f'not a trace: "format" is {d.get("format")!r}, expected {FORMAT!r}')
        if d.get("version") != VERSION:
            raise ValueError(
                f"a trace of version {d.get('version')!r}; this autolab reads version {VERSION}. "
                "Record it again, or install the autolab that wrote it."
            )
        return cls(d["root"], [TraceNode.from_dict(n) for n in d["nodes"]], [TraceEdge.from_dict(e) for e in d["edges"]],
                   [TraceStep.from_dict(s) for s in d["steps"]])  # fmt: skip

    @classmethod
    def from_json(cls, text):
        """Read what `to_json` wrote; ValueError if it is something else."""
        return cls.from_dict(json.loads(text))


def schema():
    """The JSON schema of the trace format, as a dict."""
    return json.loads(resources.files("autolab.trace").joinpath("schema.json").read_text("utf-8"))
