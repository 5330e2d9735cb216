"""A graph for Graphviz, in the same groups and colours as the SVG."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from autolab.draw.collapse import LIMIT
from autolab.draw.style import PALETTE
from autolab.draw.svg import view_of
from autolab.engine.tensor import Tensor
from autolab.trace.model import Trace
from autolab.trace.record import graph

if TYPE_CHECKING:
    import graphviz

NO_PROGRAM = (
    "drawing with Graphviz needs its program `dot`, which is not on the path. Install it (`apt install graphviz`, "
    "`brew install graphviz`, `conda install graphviz`), or use draw.svg, which needs nothing. The source is there without it: `.source`."
)


def dot(loss: Tensor | Trace, direction: str = "right", open: str | None = None, limit: int | None = LIMIT) -> graphviz.Digraph:
    """The graph behind a tensor as a `graphviz.Digraph`, for PDF, PostScript and other layouts.

    The source is made without the `dot` program; `.render()`, `.pipe()` and the picture in a notebook need it. A graph of more than
    `limit` nodes is drawn in the same groups as by `svg`.

    Parameters
    ----------
    loss : Tensor or Trace
    direction : {"right", "down"}
        Which way the data flows.
    open : str, optional
        Which group to show the inside of, by its name in the picture (`model.0`).
    limit : int or None
        How many boxes to draw at most. None draws every node.

    Returns
    -------
    graphviz.Digraph

    Raises
    ------
    ImportError
        If the Python package graphviz is not installed.
    RuntimeError
        If nothing was recorded for the tensor; and from `.render()` and `.pipe()` if the program is not installed.
    ValueError
        If `direction` or `open` is none of the above.

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
    view = view_of(trace, open, limit)
    made = _digraph()(trace.node(trace.root).name)
    made.attr(rankdir="LR" if direction == "right" else "TB")
    made.attr("node", fontname="Helvetica", fontsize="11", style="filled")
    made.attr("edge", fontname="Helvetica", fontsize="10", color=PALETTE["line"][0])
    for node in view.nodes:
        made.node(node.id, r"\n".join(graphviz.escape(line) for line in _lines(node)), **_look(node, node.id == view.root))
    sent = {one.edge: one.value for step in trace.steps for one in step.outgoing}
    for edge in view.edges:
        value = sent.get(edge.id)
        label = f"{edge.count} edges" if edge.count > 1 else "" if value is None else f"grad {value.label}"
        made.edge(edge.source, edge.target, **({"label": graphviz.escape(label)} if label else {}))
    return made


@cache
def _digraph():
    """graphviz.Digraph, which tells what to do where the program is missing."""
    import graphviz

    class Digraph(graphviz.Digraph):
        def render(self, *args, **settings):
            return _told(super().render, *args, **settings)

        def pipe(self, *args, **settings):
            return _told(super().pipe, *args, **settings)

        def _repr_mimebundle_(self, *args, **settings):
            try:
                return super()._repr_mimebundle_(*args, **settings)
            except RuntimeError as error:
                return {"text/plain": str(error)}

    def _told(work, *args, **settings):
        try:
            return work(*args, **settings)
        except graphviz.ExecutableNotFound:
            raise RuntimeError(NO_PROGRAM) from None

    return Digraph


def _lines(node):
    if node.kind == "group":
        return [node.name, f"{node.size} nodes"]
    lines = [node.label] if node.label else []
    if node.kind != "leaf":
        lines.append(node.name)
    if node.value is not None:
        lines.append(node.value.text)
    elif node.shape is not None:
        lines.append(f"{node.dtype} {list(node.shape)}")
    return lines


SHAPES = {"leaf": "ellipse", "op": "box", "custom": "octagon", "group": "box3d", "out": "box"}


def _look(node, root):
    kind = "out" if root else node.kind
    look = {"shape": SHAPES[kind], "fillcolor": PALETTE[f"{kind}-fill"][0], "color": PALETTE[f"{kind}-edge"][0]}
    return look | ({"peripheries": "2"} if root else {})
