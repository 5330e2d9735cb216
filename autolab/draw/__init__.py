"""Pictures of a graph: SVG with a layout of its own, a tree of text, and DOT for Graphviz. Pictures of numbers. No Jupyter here."""

from autolab.draw.dot import dot
from autolab.draw.images import images
from autolab.draw.plot import histogram, plot
from autolab.draw.svg import Picture, svg
from autolab.draw.text import text

__all__ = ["svg", "dot", "text", "plot", "histogram", "images", "Picture"]
