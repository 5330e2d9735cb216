"""Formulas as MathML, which browsers draw themselves: no script, no fonts to fetch, and a screen reader reads them."""

from __future__ import annotations

from latex2mathml.converter import convert
from sphinx.util import logging

log = logging.getLogger(__name__)


def as_mathml(latex, display):
    try:
        return convert(latex, display=display)
    except Exception as error:  # any: the page is shown all the same
        log.warning("not a formula: %s (%s)", latex, error)
        return f"<code>{latex}</code>"


def visit_math(self, node):
    from docutils import nodes

    self.body.append(as_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_math_block(self, node):
    from docutils import nodes

    self.body.append(f'<div class="math">{as_mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
