"""The tag `nbval-tolerance`: an output whose numbers may differ a little from those that are saved.

What 300 training steps lead to differs from machine to machine in the third digit. So the lesson prints the number, and the
comparison allows 2 %; `nbval-tolerance=0.1` allows 10 %. Words have to be the same; spaces, which align columns, need not be.
Of pictures the text is compared, and not the SVG.
"""

import math
import re

TAG = re.compile(r"nbval-tolerance(=0\.\d+)?")
USUAL = 0.02
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.]*\d)", re.I)


def tolerance(tags):
    """The relative tolerance that the tags of a cell ask for, or None."""
    for tag in tags:
        if match := TAG.fullmatch(tag):
            return float(match[1][1:]) if match[1] else USUAL
    return None


class Nearly(str):
    """A text that equals another one if their words are the same and their numbers nearly so."""

    __slots__ = ("relative",)

    def __new__(cls, text, relative):
        nearly = super().__new__(cls, text)
        nearly.relative = relative
        return nearly

    def __eq__(self, other):
        if self.startswith("<svg") and other.startswith("<svg"):
            return True
        if _words(self) != _words(other):
            return False
        pairs = zip(map(float, NUMBER.findall(self)), map(float, NUMBER.findall(other)))
        return all(math.isclose(a, b, rel_tol=self.relative) for a, b in pairs)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def _words(text):
    return re.sub(r"\s+", " ", NUMBER.sub("#", text)).strip()


def allow(item):
    """Compare the outputs of a cell with the tolerance that its tags ask for."""
    relative = tolerance(item.cell.metadata.get("tags", []))
    if relative is not None:
        sanitize = item.sanitize
        item.sanitize = lambda text: Nearly(sanitize(text), relative)
