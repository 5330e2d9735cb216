"""Markdown as HTML whose formulas the browser sets itself (MathML): no script, no fonts to fetch, no network.

latex2mathml reads the TeX. A formula that it cannot read, and every formula where it is not installed, is shown as it was written.
"""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element, tostring

from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import InvalidNotebook, IPythonRenderer, MarkdownWithMath

from .pictures import pictures

LONG, LONG_FORMULA = 20_000, 600  # characters of a text, and of a formula, that are set; what is longer is shown as it was written
TAGS = set(
    "math maction mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup "
    "mtable mtd mtext mtr munder munderover none".split()
)
ATTRIBUTES = set(
    "accent accentunder columnalign columnlines columnspacing columnspan depth display displaystyle fence form height linethickness "
    "lspace mathvariant maxsize minsize movablelimits rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset "
    "width xmlns".split()
)
INVISIBLE = re.compile("[\u2060\u200b]")  # `submission.disarm` puts such characters between


class _Renderer(IPythonRenderer):
    """nbconvert's, with formulas as MathML, pictures of the cell itself, and without marks beside headings."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """A picture; where there is no such attachment, what was written. (mistune 2 has the first two the other way round.)"""
        written = html.escape(f"![{text}]({url})")
        try:
            return super().image(_named(text), _named(url), title)
        except InvalidNotebook:
            return written

    def inline_math(self, body: str) -> str:
        return formula(html.unescape(body), "inline")

    def block_math(self, body: str) -> str:
        return formula(html.unescape(body), "block")

    def latex_environment(self, name: str, body: str) -> str:
        return formula(html.unescape(f"\\begin{{{name}}}{body}\\end{{{name}}}"), "block")


def _named(link: str) -> str:
    """A link to an attachment by its name, which is quoted in an address."""
    return html.unescape(unquote(link)) if link.startswith("attachment:") else link


def markdown(source: str, attachments: Mapping[str, Any] | None = None) -> str:
    """The HTML of a Markdown text, in which HTML is text: pages are also opened by the people who grade."""
    return _html(source, pictures(attachments)) if attachments else _without_pictures(source)


@lru_cache(1024)
def _without_pictures(source: str) -> str:
    return _html(source, {})


def _html(source: str, attachments: dict[str, Any]) -> str:
    if len(source) > LONG:
        return f"<pre>{html.escape(source)}</pre>"
    renderer = _Renderer(escape=False, exclude_anchor_links=True, allow_harmful_protocols=False, attachments=attachments)
    return MarkdownWithMath(renderer=renderer).render(html.escape(source, quote=False))


@pass_context
def cell_markdown(context: Context, source: str) -> str:
    """The filter of Formgrader's templates: a text of a cell, with the pictures that are attached to it."""
    return markdown(source, (context.get("cell") or {}).get("attachments"))


def trusted(source: str) -> str:
    """The HTML of a Markdown text of the project's own, whose HTML is kept."""
    return MarkdownWithMath(renderer=_Renderer(escape=False, exclude_anchor_links=True)).render(source)


@lru_cache(4096)
def formula(tex: str, display: str) -> str:
    """A formula as MathML; as it was written, if that is not possible."""
    tex = INVISIBLE.sub("", tex)
    if len(tex) <= LONG_FORMULA:
        with contextlib.suppress(Exception):  # a student's formula may be anything; so may the error
            from latex2mathml.converter import convert_to_element

            return tostring(_plain(convert_to_element(tex, display=display)), encoding="unicode")
    mark = "$$" if display == "block" else "$"
    return f"<code>{html.escape(f'{mark}{tex}{mark}')}</code>"


def _plain(element: Element) -> Element:
    """In place: what MathML has to set a formula, no links and no styles. Raises ValueError for an element that is none of its own."""
    for one in element.iter():
        if one.tag not in TAGS:
            raise ValueError(one.tag)
        for name in set(one.attrib) - ATTRIBUTES:
            del one.attrib[name]
        one.text = html.unescape(one.text) if one.text else one.text  # it has its symbols as references to characters
    return element
