"""What can be taken in the hand, as SVG text: handles, numbers to drag, what can be pressed and dropped; and what moves.

`chart` has these names as well. The browser's side is in widgets/static/touch.mjs and motion.mjs.
"""

import json
import re
from collections.abc import Iterable
from html import escape

from autolab.draw.marks import CHAR, Pair, words


def keyed(key: str, part: str) -> str:
    """A part that is the same thing in every frame: between two frames it glides from its old place to its new one.

    Its first element says where it is.
    """
    return f'<g data-key="{escape(key)}">{part}</g>'


def flight(text: object, start: Pair, end: Pair, kind: str = "value") -> dict:
    """A number that travels from `start` to `end` when a frame is reached: for `Frame(flights=[...])`. `kind`: "value" or "grad"."""
    return {"text": str(text), "start": [round(v, 1) for v in start], "end": [round(v, 1) for v in end], "kind": kind}


def handle(x: float, y: float, along_x: str = "", along_y: str = "", label: str = "", point: bool = True) -> str:
    """A ring to drag: across it moves the control `along_x`, up and down the control `along_y`. Arrows do the same.

    Where it goes is what `Panel(tracks=...)` says of these controls, in pixels of the picture. In print it is a point, or nothing.
    """
    grip = ("M-3 0h6" if along_x else "") + ("M0 -3v6" if along_y else "")
    resting = '<circle r="4.5" class="al-rest al-m-a"/>' * point
    return _hold(along_x, along_y, label, f"{x:.1f} {y:.1f}",
                 f'<circle r="16" class="al-hit"/><circle r="8" class="al-ring"/><path d="{grip}" class="al-grip"/>{resting}')  # fmt: skip


def number_handle(
    x: float, y: float, text: object, control: str, label: str = "", kind: str = "value", resting: str | None = None
) -> str:  # fmt: skip
    """A number to drag sideways, centred at (x, y): every six pixels are one stop of the control. Arrows do the same.

    `resting`: what print has in its place, with (x, y) as its origin; by default the number where it is.
    """
    half = len(str(text)) * CHAR / 2 + 6
    box = f'<rect x="{-half - 9:.1f}" y="-15" width="{2 * half + 18:.1f}" height="30" rx="6" class="al-ring"/>'
    sides = f'<path d="M{-half:.1f} -4l-4 4l4 4M{half:.1f} -4l4 4l-4 4" class="al-grip"/>'
    told = words(0, 5, text, kind if resting is None else f"{kind} al-held", "middle")
    rest = f'<g class="al-rest">{resting}</g>' if resting else ""
    return _hold(control, "", label or control, f"{x:.1f} {y:.1f}", box + sides + told + rest, " al-number-handle")


def pull_handle(x: float, y: float, text: object, up: str, down: str, label: str) -> str:
    """A number to pull up and down, centred at (x, y): every so many pixels one action of a StateMachine, `up` or `down`.

    Arrows do the same, and so does a press on its upper or lower half. `up` and `down` need no buttons then.
    """
    half = len(str(text)) * CHAR / 2 + 6
    box = f'<rect x="{-half - 9:.1f}" y="-21" width="{2 * half + 18:.1f}" height="42" rx="6" class="al-ring"/>'
    ways = '<path d="M-4 -12l4 -4l4 4M-4 12l4 4l4 -4" class="al-grip"/>'
    return (
        f'<g data-key="pull {escape(label)}" class="al-handle al-number-handle" data-up="{escape(up)}" data-down="{escape(down)}" '
        f'data-along-x="" data-along-y="" tabindex="0" role="spinbutton" aria-label="{escape(label)}" aria-valuenow="{escape(str(text))}">'
        f'<g transform="translate({x:.1f} {y:.1f})">{box}{ways}{words(0, 5, text, "value", "middle")}</g></g>'
    )


def _hold(along_x, along_y, label, place, inside, more=""):
    label = label or " and ".join(filter(None, (along_x, along_y)))
    return (
        f'<g data-key="handle {escape(along_x)} {escape(along_y)}" class="al-handle{more}" data-along-x="{escape(along_x)}" '
        f'data-along-y="{escape(along_y)}" tabindex="0" role="slider" aria-label="{escape(label)}"><g transform="translate({place})">'
        f"{inside}</g></g>"
    )


def at_rest(svg: str) -> str:
    """A picture as it is printed: nothing in it can be dragged or pressed, so nothing looks so or says so."""
    svg = re.sub(r'<(?:rect|circle|path)[^>]* class="al-(?:hit|hit-line|ring|grip)"/>', "", svg)
    svg = re.sub(r'<text[^>]* class="[^"]*al-held[^"]*"[^>]*>[^<]*</text>', "", svg)
    return re.sub(r' tabindex="0" role="(?:slider|button|spinbutton)"(?: aria-label="[^"]*")?(?: aria-valuenow="[^"]*")?', "", svg)


def hit(path: str) -> str:
    """An invisible line of 24 pixels along an SVG path, so that a thin one can be pressed."""
    return f'<path d="{path}" class="al-hit-line"/>'


def pressable(
    parts: str | Iterable[str], set: tuple[str, object] | None = None, action: str = "", label: str = "", key: str = ""
) -> str:  # fmt: skip
    """Parts that can be pressed: they set a control (`set=("cut", "detach()")`) or do an action of a StateMachine.

    `label` is what a screen reader says; without one it reads the words inside. `key`: see `keyed`.
    """
    if (set is None) == (not action):
        raise ValueError("pressable sets a control or does an action: give one of set=(control, stop) and action=name")
    what = f'data-action="{escape(action)}"' if action else f'data-set="{escape(set[0])}" data-stop="{escape(json.dumps(set[1]))}"'
    return _pressed("al-press", key or f"press {action or set[0]} {set and set[1]}", what, label, parts)


def draggable(
    parts: str | Iterable[str], action: str, onto: str | dict[str, str], label: str = "", key: str = "",
    arrows: dict[str, str] | None = None,
) -> str:  # fmt: skip
    """Parts that do an action of a StateMachine when they are dragged onto the `drop` of that name, or pressed.

    `onto` may also name several drops, each with its action: `{"layer": "Run", "slots": "Keep"}`. `key`: see `keyed`.
    `arrows`: what arrow keys do, which is what a drag that way does: `{"ArrowRight": "Run"}`.
    """
    drops = json.dumps(onto if isinstance(onto, dict) else {onto: action})
    what = f'data-action="{escape(action)}" data-onto="{escape(drops)}"'
    if arrows:
        what += f' data-arrows="{escape(json.dumps(arrows))}" aria-keyshortcuts="{" ".join(arrows)}"'
    return _pressed("al-press al-drag", key or f"drag {action}", what, label, parts)


def _pressed(kind, key, what, label, parts):
    named = f' aria-label="{escape(label)}"' if label else ""
    return f'<g data-key="{escape(key)}" class="{kind}" {what} tabindex="0" role="button"{named}>{_join(parts)}</g>'


def drop(parts: str | Iterable[str], name: str) -> str:
    """Where a `draggable` may be dropped."""
    return f'<g class="al-drop" data-drop="{escape(name)}">{_join(parts)}</g>'


def _join(parts):
    return parts if isinstance(parts, str) else "".join(parts)
