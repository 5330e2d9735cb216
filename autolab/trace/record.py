"""From a loss to a trace: walk the engine's own backward pass and write down what happens."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from autolab.engine.tensor import Tensor
from autolab.trace import adapter
from autolab.trace.model import GradUpdate, HookEvent, SavedItem, SentGradient, Trace, TraceEdge, TraceNode, TraceStep
from autolab.trace.names import find_names
from autolab.trace.sentences import broadcast_axes, conjugated, equation, step_sentence, symbol
from autolab.trace.values import shape_text, value_of
from autolab.utils.collector import collector_paused

ARRAYS = np.ndarray, np.generic
RECOMPUTE = 4096  # a result that nobody remembers is computed again if its inputs are known and this small


def graph(loss: Tensor, names: dict | None = None) -> Trace:
    """The graph behind a tensor as a trace without steps. Nothing is computed.

    Parameters
    ----------
    loss : Tensor
        Any result of recorded operations; its shape does not matter.
    names : dict, optional
        Name -> Tensor. Without it the caller's variables are searched.

    Returns
    -------
    Trace

    Raises
    ------
    RuntimeError
        If nothing was recorded for this tensor.

    Examples
    --------
    >>> import autolab as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> graph((3 * x + 1) ** 2)
    <Trace of PowBackward0: 4 nodes, 0 steps>
    """
    adapter.check_recorded(loss)
    return _Recorder(loss, names).trace


def record(loss: Tensor, gradient: Tensor | ArrayLike | None = None, names: dict | None = None) -> Trace:
    """Run backward once, by the engine's own `steps()`, and write down every step.

    The graph stays usable and no `.grad` is touched: `loss.backward()` afterwards does what it would have done.
    Hooks on tensors do run, as in any backward pass.

    Parameters
    ----------
    loss : Tensor
        A single number, or any shape if `gradient` is given.
    gradient : Tensor or array, optional
        The gradient to start with, of the shape of `loss`.
    names : dict, optional
        Name -> Tensor. Without it the caller's variables are searched.

    Returns
    -------
    Trace

    Raises
    ------
    RuntimeError
        If nothing was recorded, the graph has been freed, or `loss` is not a single number.

    Examples
    --------
    >>> import autolab as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> for step in record((3 * x + 1) ** 2).steps:
    ...     print(step.sentence)
    xʸ (PowBackward0) receives 1; + (AddBackward0) gets 1 × (2 × 7 ** (2 - 1)) = 14.
    + (AddBackward0) receives 14; × (MulBackward0) gets 14.
    × (MulBackward0) receives 14; x gets 14 × 3 = 42.
    x (AccumulateGrad) receives 42; x.grad becomes 42.
    """
    adapter.check_recorded(loss)
    gradient = adapter.first_gradient(loss, gradient)
    with collector_paused():
        recorder = _Recorder(loss, names)
        for node, incoming, outgoing in adapter.run_backward(loss, gradient, recorder.engine_nodes, recorder.hear):
            recorder.step(node, incoming, outgoing)
    return recorder.trace


class _Recorder:
    def __init__(self, loss, names):
        self.values = {}
        self.engine_nodes = adapter.nodes_below(loss)
        self.input_names = {node: () if adapter.is_leaf(node) else adapter.input_names(node) for node in self.engine_nodes}
        self.ids = {node: f"n{i}" for i, node in enumerate(self.engine_nodes)}
        named = find_names(self._key, names)
        self.raw = {node: tensor.payload for (node, output), (_, tensor) in named.items() if output == 0}
        self.raw[loss.grad_fn] = loss.payload
        self.saved = {node: self._saved_values(node) for node in self.engine_nodes}
        self._find_values()
        labels = _labels(named)
        self._number_leaves(labels)
        self.nodes = {node: self._node(node, labels.get(node, "")) for node in self.engine_nodes}
        self.edges, self.heard = {}, []  # edges by node of the engine and number of its input
        self._edges()
        self.trace = Trace(self.ids[loss.grad_fn], list(self.nodes.values()), list(self.edges.values()))

    def _key(self, tensor):
        key = adapter.key_of(tensor)
        return key if key is not None and key[0] in self.ids else None

    def _value(self, raw):
        """The TraceValue of an array, made once: what one node gives another remembers, and the number that one sends another receives."""
        known = self.values.get(id(raw))
        if known is None:
            known = self.values[id(raw)] = value_of(raw), raw  # held, so that no other array comes to its id
        return known[0]

    def _number_leaves(self, labels):
        taken, n = set(labels.values()), 0
        for node in self.engine_nodes:
            if adapter.is_leaf(node) and node not in labels:
                n += 1
                while f"x{n}" in taken:
                    n += 1
                labels[node] = f"x{n}"

    # -- what is known about results ---------------------------------------------------------------

    def _saved_values(self, node):
        """The saved values of a node by name; a setting or a shape is saved as itself."""
        return {saved.name: saved.value for saved in node.saved_values()}

    def _find_values(self):
        """Find the value of each result: in a variable, in a node that saved it, or by computing it again."""
        raw = self.raw
        for node in self.engine_nodes:
            if adapter.is_leaf(node):
                raw[node] = node.variable.payload
                continue
            saved = self.saved[node]
            if saved.get("out") is not None and node.outputs == 1:
                raw.setdefault(node, saved["out"])
            for name, (child, output) in zip(self.input_names[node], self.engine_nodes[node]):
                if child is not None and output == 0 and _is_array(saved.get(name)):
                    raw.setdefault(child, saved[name])
        with np.errstate(all="ignore"):
            for node in reversed(self.engine_nodes):
                if node not in raw and adapter.watched_value(node) is None:
                    result = self._recompute(node)
                    if result is not None:
                        raw[node] = result

    def _recompute(self, node):
        values = []
        for name, (child, output) in zip(self.input_names[node], self.engine_nodes[node]):
            value = self.saved[node].get(name)
            if child is not None:
                value = self.raw.get(child) if output == 0 and child.outputs == 1 else None
            if value is None or np.size(value) > RECOMPUTE:
                return None
            values.append(value)
        return adapter.recompute(node, values)

    # -- nodes and edges ---------------------------------------------------------------------------

    def _node(self, node, label):
        value = adapter.watched_value(node)
        if value is None and node in self.raw and node.outputs == 1:
            value = self._value(self.raw[node])
        kind = "leaf" if adapter.is_leaf(node) else "custom" if adapter.is_custom(node) else "op"
        made = TraceNode(self.ids[node], kind, type(node).__name__, label, value=value, outputs=node.outputs)
        if value is not None:
            made.shape, made.dtype = value.shape, value.dtype
        if kind == "leaf":
            return made
        made.saved = [self._saved_item(name, raw) for name, raw in self.saved[node].items() if raw is not None]
        if node.op is not None:
            op, settings = node.op, adapter.settings_of(node)
            made.op, made.symbol, made.forward = op.name, symbol(op.name), adapter.forward_formula(op)
            made.settings = ", ".join([f"{k}={v!r}" for k, v in settings.items() if not _is_array(v)])
            needed = [name for name, (child, _) in zip(self.input_names[node], self.engine_nodes[node]) if child is not None]
            made.rules = [self._rule(node, name)[0] for name in needed]
        return made

    def _saved_item(self, name, raw):
        if _is_array(raw):
            value = self._value(raw)
            return SavedItem(name, value.text, value, raw.nbytes)
        if isinstance(raw, list) and raw and all(_is_array(item) for item in raw):
            shapes = ", ".join(shape_text(item.shape) for item in raw)
            return SavedItem(name, f"{len(raw)} tensors: {_short(shapes)}", None, sum(item.nbytes for item in raw))
        return SavedItem(name, _short(repr(raw)))

    def _edges(self):
        for node, inputs in self.engine_nodes.items():
            names, target = self.input_names[node], self.ids[node]
            for index, (child, output) in enumerate(inputs):
                if child is not None:
                    self.edges[node, index] = TraceEdge(f"e{len(self.edges)}", self.ids[child], target, output, names[index], index)

    def _rule(self, node, name):
        """The rule for an input as it runs at this node, which may conjugate, and its name for the gradient."""
        rule, gradient = adapter.rule_of(node.op, name)
        if node.numbers == "complex" and gradient is not None:
            rule = replace(rule, formula=conjugated(rule.formula, gradient))
        return rule, gradient

    # -- steps -------------------------------------------------------------------------------------

    def hear(self, *told):
        """Write down that a hook ran; it belongs to the step that follows."""
        self.heard.append(HookEvent(told[1], told[0], *told[2:]))

    def step(self, node, incoming, outgoing):
        """Write down that `node` fired."""
        hooks, self.heard = self.heard, []
        described = self.nodes[node]
        received = [self._gradient(g) for g in incoming]
        if adapter.is_leaf(node):
            grad = _grad_update(node.variable, incoming[0], received[0])
            sentence = step_sentence(described, received, [], grad, hooks)
            self.trace.steps.append(TraceStep(described.id, received, [], [], grad, sentence, hooks))
            return
        if described.shape is None and described.outputs == 1 and received[0] is not None:
            described.shape, described.dtype = received[0].shape, received[0].dtype
        inputs = self.engine_nodes[node]
        sent = [self._sent_gradient(node, i, g, incoming, received) for i, g in enumerate(outgoing) if inputs[i][0] is not None]
        receivers = [self.nodes[child].display_name for child, _ in inputs if child is not None]
        told = [(receiver, s.value, s.filled) for receiver, s in zip(receivers, sent)]
        frees = [saved.name for saved in described.saved if saved.bytes]
        sentence = step_sentence(described, received, told, None, hooks)
        self.trace.steps.append(TraceStep(described.id, received, sent, frees, None, sentence, hooks))

    def _gradient(self, g):
        # An array may be changed on its way, by a hook or a Function; a number cannot.
        return None if g is None else self._value(g) if isinstance(g, np.generic) else value_of(g)

    def _sent_gradient(self, node, index, g, incoming, received):
        edge = self.edges[node, index]
        if g is None:
            return SentGradient(edge.id, None)
        value = self._gradient(g)
        if node.op is None or node.outputs > 1 or adapter.has_post_hooks(node):
            return SentGradient(edge.id, value)
        rule, gradient = self._rule(node, edge.input)
        if gradient is None:
            return SentGradient(edge.id, value, rule.formula)
        known = {**adapter.settings_of(node), **self.saved[node], gradient: incoming[0]}
        axes = broadcast_axes(value.shape, received[0].shape) if node.op.kind == "elementwise" else ()
        formula = f"real({rule.formula})" if node.numbers == "complex" and "complex" not in value.dtype else rule.formula
        return SentGradient(edge.id, value, formula, equation(formula, known, value, axes))


def _labels(named):
    """A label for each node that has a named result; of several results all names, in order: "low, high"."""
    outputs = {}
    for (node, output), (name, _) in named.items():
        outputs.setdefault(node, {})[output] = name
    return {node: ", ".join(names.get(k, "…") for k in range(node.outputs)) for node, names in outputs.items()}


def _is_array(value):
    return isinstance(value, ARRAYS)


def _short(text, width=60):
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _grad_update(leaf, g, received):
    before = leaf.grad
    if before is None:
        return GradUpdate(None, received)
    return GradUpdate(value_of(before.payload), value_of(before.payload + g))
