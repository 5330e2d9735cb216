"""A graph for Graphviz."""

from autolab.trace.model import Trace
from autolab.trace.record import graph


def dot(loss, direction="right"):
    """The graph behind a tensor as a `graphviz.Digraph`, for PDF, PostScript and other layouts.

    The source is made without the `dot` program; `.render()`, `.pipe()` and the picture in a notebook need it.

    Parameters
    ----------
    loss : Tensor or Trace
    direction : {"right", "down"}
        Which way the data flows.

    Returns
    -------
    graphviz.Digraph

    Raises
    ------
    ImportError
        If the Python package graphviz is not installed.
    RuntimeError
        If nothing was recorded for the tensor.

    Examples
    --------
    >>> import autolab as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> print(dot(3 * x).source.splitlines()[0])
    digraph MulBackward0 {
    """
    try:
        import graphviz
    except ImportError:
        raise ImportError(
            "draw.dot needs the Python package graphviz, which is not installed. "
            'Install it with: pip install "autolab-grad[lab]". draw.svg and draw.text need nothing.'
        ) from None
    if direction not in ("right", "down"):
        raise ValueError(f'direction is {direction!r}, expected "right" or "down"')
    trace = loss if isinstance(loss, Trace) else graph(loss)
    root = trace.node(trace.root)
    made = graphviz.Digraph(root.name)
    made.attr(rankdir="LR" if direction == "right" else "TB")
    made.attr("node", fontname="Helvetica", fontsize="11", style="filled")
    made.attr("edge", fontname="Helvetica", fontsize="10", color="#7d7870")
    for node in trace.nodes:
        made.node(node.id, r"\n".join(graphviz.escape(line) for line in _lines(node)), **_look(node, root))
    sent = {one.edge: one.value for step in trace.steps for one in step.outgoing}
    for edge in trace.edges:
        value = sent.get(edge.id)
        label = {} if value is None else {"label": graphviz.escape(f"grad {value.label}")}
        made.edge(edge.source, edge.target, **label)
    return made


def _lines(node):
    lines = [node.label] if node.label else []
    if node.kind != "leaf":
        lines.append(node.name)
    if node.value is not None:
        lines.append(node.value.text)
    elif node.shape is not None:
        lines.append(f"{node.dtype} {list(node.shape)}")
    return lines


def _look(node, root):
    if node is root:
        return {"shape": "box", "peripheries": "2", "fillcolor": "#dff3ea", "color": "#00714e"}
    return {
        "leaf": {"shape": "ellipse", "fillcolor": "#e2f0fb", "color": "#0a66a8"},
        "op": {"shape": "box", "fillcolor": "#f5f4f1", "color": "#79746b"},
        "custom": {"shape": "octagon", "fillcolor": "#f8e9f3", "color": "#97397a"},
    }[node.kind]
