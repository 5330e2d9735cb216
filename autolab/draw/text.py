"""A graph as a tree of text, and a backward pass as a table: for terminals, logs and notebooks without pictures."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from autolab.engine.tensor import Tensor
from autolab.trace.model import Trace
from autolab.trace.record import graph
from autolab.trace.sentences import sum_of
from autolab.trace.values import shape_text

WIDTH = 96  # characters of a line that a notebook shows whole
NODE = 28  # of them for a node with its sign; a longer one has PyTorch's name alone


def text(loss: Tensor | Trace, limit: int | None = 200) -> Text:
    """Print the graph behind a tensor as a tree: each line a node, below it what it was made from.

    A node that is used more than once is written out at its first place and referred to by number afterwards. A trace
    with steps is followed by its table: which node fires, what it receives, what it sends.

    Parameters
    ----------
    loss : Tensor or Trace
    limit : int or None
        How many lines of the tree, and how many steps of the table, to print; how many are left is said. None prints all.

    Returns
    -------
    Text
        A str whose repr in a notebook is the text itself.

    Raises
    ------
    RuntimeError
        If nothing was recorded for the tensor.

    Examples
    --------
    >>> import autolab as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> text((3 * x + 1) ** 2)
    xʸ (PowBackward0)  49
    └─ + (AddBackward0)  7
       └─ × (MulBackward0)  6
          └─ x (AccumulateGrad)  2
    """
    trace = loss if isinstance(loss, Trace) else graph(loss)
    lines = list(itertools.islice(_tree(trace), limit))
    left = 1 + len(trace.edges) - len(lines)  # each edge has a line, and the root
    if left:
        lines.append(f"... {left} more lines; limit=None prints them all")
    if trace.steps:
        lines += ["", *table(trace, limit)]
    return Text("\n".join(lines))


class Text(str):
    """Text that shows itself without quotes at the prompt and in a notebook."""

    __slots__ = ()

    def __repr__(self):
        return str(self)

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))


def _tree(trace):
    inputs = {}
    for edge in trace.edges:
        inputs.setdefault(edge.target, []).append(edge)
    uses = {}
    for edge in trace.edges:
        uses[edge.source] = uses.get(edge.source, 0) + 1
    shared = {id: i for i, id in enumerate((id for id, n in uses.items() if n > 1 and id in inputs), 1)}
    written = set()
    # (node, what is before its line, what is before the lines below it, output number)
    stack = [(trace.root, "", "", 0)]
    while stack:
        id, before, below, output = stack.pop()
        node = trace.node(id)
        number = f" ({shared[id]})" if id in shared else ""
        which = f"output {output} of " if node.outputs > 1 else ""
        if id in written and id in inputs:
            yield f"{before}{which}{node.title}{number}, see above"
            continue
        written.add(id)
        yield f"{before}{which}{_line(node, number)}"
        children = inputs.get(id, [])
        for i in reversed(range(len(children))):
            last = i == len(children) - 1
            mark, pad = ("└─ ", "   ") if last else ("├─ ", "│  ")
            stack.append((children[i].source, below + mark, below + pad, children[i].output))


def _line(node, number):
    parts = [node.title + number]
    if node.label and node.kind != "leaf":
        parts.append(node.label)
    if node.value is not None:
        parts.append(node.value.text if not node.shape else f"{node.dtype} {list(node.shape)}")
    elif node.shape is not None:
        parts.append(f"{node.dtype} {list(node.shape)}")
    return "  ".join(parts)


def _sends(trace, sent, room):
    receiver = trace.node(trace.edge(sent.edge).source)
    to = receiver.label or receiver.sign
    if sent.value is None:
        return f"{to}: no gradient"
    over = sum_of(sent.filled or "")
    forms = [sent.filled or sent.value.text, sent.value.text + over, shape_text(sent.value.shape) + over]
    return _first_that_fits([f"{to}: {form}" for form in forms], room)


def _first_that_fits(texts, room):
    return next((text for text in texts if len(text) <= room), texts[-1])


def table(trace: Trace, limit: int | None = None) -> Iterator[str]:
    """The lines of the table of a backward pass: step, node, what it receives, what it sends, by which rule; of the first `limit` steps.

    Each gradient that is sent has a line. Where the rule would make it too long, the result is shown, or its shape.
    """
    rows = [("step", "node", "receives")]
    steps = trace.steps[:limit]
    for i, step in enumerate(steps, 1):
        node = trace.node(step.node)
        received = ", ".join("-" if v is None else v.text for v in step.incoming)
        rows.append((str(i), node.label if node.kind == "leaf" else _first_that_fits([node.title, node.name], NODE), received))
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    room = WIDTH - sum(widths) - 6
    told = [["sends"]]
    for step in steps:
        if step.grad is not None:
            after = step.grad.after
            forms = [f"{trace.node(step.node).label}.grad = {form}" for form in (after.text, shape_text(after.shape))]
            told.append([_first_that_fits(forms, room)])
        else:
            told.append([_sends(trace, one, room) for one in step.outgoing])
    for row, sends in zip(rows, told):
        first = "  ".join(cell.ljust(w) for cell, w in zip(row, widths))
        for start, send in itertools.zip_longest([first], sends or [""], fillvalue=" " * len(first)):
            yield f"{start}  {send}".rstrip()
    if len(steps) < len(trace.steps):
        yield f"... {len(trace.steps) - len(steps)} more steps; limit=None prints them all"
