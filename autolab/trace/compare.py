"""Two recorded runs side by side: where they first part, forward and then backward."""

from dataclasses import dataclass, field
from itertools import zip_longest

from autolab.trace.model import Trace
from autolab.trace.values import TraceValue


@dataclass(slots=True)
class Difference:
    """A place where two runs differ. `where` is "forward" or "backward", `index` counts nodes in the order in which they
    were made, or steps; `a` and `b` are the ids of the nodes (None where a run has ended), `sentence` says what differs.

    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> first = compare(record(x * 3), record(x * 4)).first
    >>> first.where, first.index, first.a, first.b
    ('forward', 2, 'n0', 'n0')
    """

    where: str
    index: int
    a: str | None
    b: str | None
    sentence: str


@dataclass(slots=True)
class Comparison:
    """What `compare` found: every `Difference`, forward ones before backward ones, each in the order of the runs.

    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> compare(record(x * 3), record(x * 4))
    <Comparison, differences: 3. Forward 2: × (MulBackward0) made 6 in one run and 8 in the other.>
    """

    differences: list[Difference] = field(default_factory=list)

    @property
    def first(self) -> Difference | None:
        """The first difference, or None."""
        return self.differences[0] if self.differences else None

    @property
    def equal(self) -> bool:
        """Whether the two runs are the same, bit for bit."""
        return not self.differences

    @property
    def sentence(self) -> str:
        """The first difference in words."""
        return self.first.sentence if self.first else "The two runs are the same, bit for bit."

    def __repr__(self):
        return f"<Comparison, differences: {len(self.differences)}. {self.sentence}>"


def compare(a: Trace, b: Trace) -> Comparison:
    """Find where two recorded runs differ: in what was computed, what a node received or sent, or what became of `.grad`.

    Nodes are compared in the order in which they were made, then steps in the order in which they fired. Values are
    compared to the bit: small tensors by their numbers, large ones by their fingerprints. Once the two runs no longer do
    the same operations there is nothing to pair, so that is the last difference of its direction.

    Parameters
    ----------
    a, b : Trace

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        If one of them is not a Trace.

    Examples
    --------
    >>> import autolab as torch
    >>> from autolab.trace import record
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> compare(record(3 * x**2), record(3 * x**2)).equal
    True
    >>> compare(record(3 * x**2), record(3 * x**3)).sentence
    'Forward 2: xʸ (PowBackward0) made 4 in one run and 8 in the other.'
    """
    for given in (a, b):
        if not isinstance(given, Trace):
            raise TypeError(f"compare takes two traces, got {type(given).__name__}; make one with autolab.trace.record(loss)")
    return Comparison([*_forward(a, b), *_backward(a, b)])


def same(one: TraceValue | None, other: TraceValue | None) -> bool:
    """Whether two Values, or None, are equal to the bit."""
    if one is None or other is None:
        return one is other
    return (one.shape, one.dtype, one.data, one.fingerprint) == (other.shape, other.dtype, other.data, other.fingerprint)


def _forward(a, b):
    for i, (one, other) in enumerate(zip_longest(a.in_order_of_creation(), b.in_order_of_creation()), 1):
        ids = one and one.id, other and other.id
        if one is None or other is None or one.name != other.name:
            yield Difference("forward", i, *ids, f"Forward {i}: {_mismatch(one, other)}.")
            return
        if not same(one.value, other.value):
            verb = "is" if one.kind == "leaf" else "made"
            told = f"{one.display_name} {verb} {_contrast(one.value, other.value)}"
            yield Difference("forward", i, *ids, f"Forward {i}: {told}.")


def _backward(a, b):
    for i, (one, other) in enumerate(zip_longest(a.steps, b.steps), 1):
        nodes = one and a.node(one.node), other and b.node(other.node)
        ids = one and one.node, other and other.node
        if one is None or other is None or nodes[0].name != nodes[1].name:
            yield Difference("backward", i, *ids, f"Backward {i}: {_mismatch(*nodes)}.")
            return
        told = _step(nodes[0], one, other, a)
        if told:
            yield Difference("backward", i, *ids, f"Backward {i}: {nodes[0].display_name} {told}.")


def _step(node, one, other, trace):
    for v, w in zip_longest(one.incoming, other.incoming):
        if not same(v, w):
            return f"receives {_contrast(v, w)}"
    if one.grad is not None and other.grad is not None:
        if not same(one.grad.before, other.grad.before):
            return f"finds {_contrast(one.grad.before, other.grad.before)} in .grad"
        if not same(one.grad.after, other.grad.after):
            return f"leaves {_contrast(one.grad.after, other.grad.after)} in .grad"
    for v, w in zip_longest(one.outgoing, other.outgoing):
        if v is None or w is None:
            return f"sends {len(one.outgoing)} gradients in one run and {len(other.outgoing)} in the other"
        if not same(v.value, w.value):
            return f"sends {trace.node(trace.edge(v.edge).source).display_name} {_contrast(v.value, w.value)}"
    return None


def _contrast(one, other):
    one, other = ["nothing" if v is None else v.phrase for v in (one, other)]
    if one == other:
        return f"{one} in both runs, but not the same bits"
    return f"{one} in one run and {other} in the other"


def _mismatch(one, other):
    if one is None or other is None:
        return f"only the {'first' if other is None else 'second'} run has {(one or other).display_name}"
    return f"{one.title} in one run, {other.title} in the other"
