"""What most explorables are: controls, and for each of their positions a frame (picture, sentence, table) that Python computed.

A frame is what `make` returns for a position. Frames are computed in advance where that is quick, so that a page without a kernel has
them all; else Python is asked. Pictures are lists of parts, and a part that many frames share is sent once.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field

import traitlets

from autolab.draw import chart
from autolab.draw.style import STYLE
from autolab.widgets.base import Undoable, spaced
from autolab.widgets.export import FRAMES

PATIENCE = 1.5  # seconds spent on frames in advance when the widget is made
MOST = 1600  # so many frames go into a page without a kernel
STATES = 120  # so many states of a widget with actions are computed in advance
PAGE_STATES = 2801  # and for a page without a kernel: of seven actions, every four in a row
FLIGHTS = 12  # so many numbers travel at once
TOUR = 6  # so many actions are filmed where none has been done


@dataclass
class Frame:
    """One position: what is seen, said and listed there. `next`: action -> the state that it leads to.

    `flights`: numbers that travel when the frame is reached by a step (`chart.flight`), twelve at most; a step back reverses them.
    `focus`: (x, y, width, height) of what a small screen scrolls to. `scene`: frames of one scene have pictures of one size in the
    browser; the positions of choices make scenes by themselves.
    """

    sentence: str
    picture: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    code: str = ""
    next: dict | None = None
    flights: list = field(default_factory=list)
    focus: tuple | None = None
    scene: str = ""
    error: bool = False


def slider(name, stops, texts=None, start=None, label=None):
    """A control with stops. `texts`: what each is called; `start`: the value to start at (the nearest stop is taken)."""
    stops = [float(s) if not isinstance(s, str) else s for s in stops]
    texts = [chart.short(s) if not isinstance(s, str) else s for s in stops] if texts is None else list(texts)
    at = 0 if start is None else nearest(stops, start)
    return {"kind": "slider", "name": name, "label": label or name, "stops": stops, "texts": texts, "start": at}


def choice(name, texts, start=0, label=None):
    """A control that chooses one of several words."""
    return {"kind": "choice", "name": name, "label": label or name, "stops": list(texts), "texts": list(texts), "start": start}


def timeline(count, name="step", label="Step"):
    """A control with Step, Undo, Play: positions 0 to `count`."""
    texts = [str(k) for k in range(count + 1)]
    return {"kind": "steps", "name": name, "label": label, "stops": list(range(count + 1)), "texts": texts, "start": 0}


def nearest(stops, value):
    """The index of the stop that is nearest to a value, or equal to a word."""
    if value in stops:
        return stops.index(value)
    if isinstance(value, str) or isinstance(stops[0], str):
        raise ValueError(f"{value!r} is none of {', '.join(map(str, stops))}")
    return min(range(len(stops)), key=lambda k: abs(stops[k] - value))


class Panel(Undoable):
    """Controls over frames. `move(x=1.5)` puts a control somewhere, `step()`, `undo()` and `reset()` do as the buttons.

    `sentence` is what the frame says, `rows` is its table, `picture()` and `text()` show it without a browser.
    """

    controls = traitlets.List().tag(sync=True)
    at = traitlets.Dict(help="control -> index of its stop").tag(sync=True)
    columns = traitlets.List().tag(sync=True)
    size = traitlets.List().tag(sync=True)
    breaks = traitlets.List(help="on a narrow screen what is right of these x goes below").tag(sync=True)
    tracks = traitlets.Dict(help='control, or control and " x" or " y" -> the pixel of each of its stops, for handles').tag(sync=True)
    parts = traitlets.List(help="pieces of pictures, each once").tag(sync=True)
    frames = traitlets.Dict(help="frames computed in advance, by the indices of the controls").tag(sync=True)
    frame = traitlets.Dict(help="the frame that Python was asked for last").tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    speed = traitlets.Float(1.0, help="steps in 0.7 seconds").tag(sync=True)

    def __init__(self, title, controls, make, columns, size, tracks=None, **more):
        self._make, self._known, self._numbers, self._parts = make, {}, {}, []
        self._controls = {c["name"]: c for c in controls}
        start = {c["name"]: c["start"] for c in controls}
        self._strict = True
        first = self._cached_frame(start)
        self._strict = False
        self._fill(PATIENCE)
        super().__init__(
            view="panel", title=title, controls=list(controls), at=start, columns=list(columns), frame=first,
            size=[math.ceil(v) for v in size], frames=self._known_frames(), parts=list(self._parts),
            tracks=self._checked_tracks(tracks or {}), **more,
        )  # fmt: skip

    def _checked_tracks(self, tracks):
        for name, pixels in tracks.items():
            stops = len(self._controls[name.removesuffix(" x").removesuffix(" y")]["stops"])
            if len(pixels) != stops:
                raise ValueError(f"the track of {name!r} has {len(pixels)} pixels, and the control has {stops} stops")
        return {name: [round(float(p), 1) for p in pixels] for name, pixels in tracks.items()}

    # -- frames --------------------------------------------------------------------------------------

    def _key(self, at):
        return ",".join(str(at[name]) for name in self._controls)

    def _positions(self):
        return [dict(zip(self._controls, at)) for at in itertools.product(*(range(len(c["stops"])) for c in self._controls.values()))]

    def _fill(self, patience, most=MOST):
        end = time.perf_counter() + patience
        for at in self._positions()[:most]:
            if time.perf_counter() > end:
                break
            self._cached_frame(at)

    def _known_frames(self):
        return {key: f for key, f in self._known.items() if key is not None}

    def _cached_frame(self, at):
        key = self._key(at)
        if key not in self._known:
            self._known[key] = self._pack(key, self._compute(at))
        return self._known[key]

    def _compute(self, at):
        values = {name: self._controls[name]["stops"][k] for name, k in at.items()}
        try:
            return self._make(**values)
        except Exception as error:
            if self._strict:
                raise
            where = ", ".join(f"{c['label']} = {c['texts'][at[n]]}" for n, c in self._controls.items())
            return Frame(f"{where}: {type(error).__name__}: {error}", error=True)

    def _pack(self, key, frame):
        picture = [self._numbers.setdefault(part, len(self._numbers)) for part in frame.picture if part]
        self._parts.extend(itertools.islice(self._numbers, len(self._parts), None))
        packed = {"key": key, "picture": picture, "sentence": frame.sentence, "rows": [[str(c) for c in r] for r in frame.rows]}
        packed |= {"code": frame.code} if frame.code else {}
        packed |= {"flights": frame.flights[:FLIGHTS]} if frame.flights else {}
        packed |= {"focus": [round(float(v), 1) for v in frame.focus]} if frame.focus else {}
        packed |= {"scene": frame.scene} if frame.scene else {}
        packed |= {"next": frame.next} if frame.next is not None else {}
        return packed | ({"error": True} if frame.error else {})

    # -- moving --------------------------------------------------------------------------------------

    @traitlets.validate("at")
    def _in_range(self, proposal):
        given = proposal["value"]
        if set(given) != set(self._controls):
            raise traitlets.TraitError(f"at names {sorted(given)}; the controls are {list(self._controls)}")
        return {name: int(min(max(k, 0), len(self._controls[name]["stops"]) - 1)) for name, k in given.items()}

    @traitlets.observe("at")
    def _follow(self, change):
        if not self.view:
            return
        frame = self._cached_frame(self.at)
        if frame != self.frame:
            with self.hold_sync():
                if len(self._parts) > len(self.parts):
                    self.parts = list(self._parts)
                self.frame = frame

    def _go(self, at):
        if at != self.at:
            self.past = [*self.past, dict(self.at)]
            self.at = at
        return self

    def move(self, **values):
        """Put controls somewhere: a number (the nearest stop is taken) or a word. Returns the widget.

        Raises
        ------
        KeyError
            If there is no such control.
        """
        unknown = set(values) - set(self._controls)
        if unknown:
            raise KeyError(f"there is no control {sorted(unknown)[0]!r}; the controls are {list(self._controls)}")
        return self._go({**self.at, **{name: nearest(self._controls[name]["stops"], v) for name, v in values.items()}})

    def step(self):
        """One step on, where there are steps. Returns the widget."""
        names = [name for name, c in self._controls.items() if c["kind"] == "steps"]
        if not names:
            raise TypeError(f"this explorable has no steps; move its controls: {list(self._controls)}")
        at = min(self.at[names[0]] + 1, len(self._controls[names[0]]["stops"]) - 1)
        return self._go({**self.at, names[0]: at})

    def reset(self):
        """Back to where it started. Returns the widget."""
        return self._go({c["name"]: c["start"] for c in self._controls.values()})

    # -- other forms -----------------------------------------------------------------------------------

    @property
    def sentence(self):
        """What is said at the present position."""
        return self._cached_frame(self.at)["sentence"]

    @property
    def rows(self):
        """The table here, as lists of texts."""
        return self._cached_frame(self.at)["rows"]

    def picture(self):
        return self._still(self.at)[0]

    def printed(self):
        """The picture here; of steps that nobody has taken the last, which has everything."""
        steps = next((c for c in self._controls.values() if c["kind"] == "steps"), None)
        if steps is None or self.past or self.at[steps["name"]] != steps["start"]:
            return self.picture()
        return self._still(self.at | {steps["name"]: len(steps["stops"]) - 1})[0]

    def _still(self, at):
        frame = self._cached_frame(at)
        label = f"{self.title}. {frame['sentence']}"
        svg = chart.picture([self._parts[i] for i in frame["picture"]], *self.size, label, STYLE)
        return chart.at_rest(svg), frame["sentence"]

    def _stills(self, states, most=FRAMES):
        return [self._still(at) for at in self._film_positions(states, most)]

    def _film_positions(self, states, most):
        if states is not None:
            return [self.at | {name: nearest(self._controls[name]["stops"], v) for name, v in state.items()} for state in states]
        steps = next((c for c in self._controls.values() if c["kind"] == "steps"), None)
        if steps is None:
            return [*self.past, dict(self.at)] if self.past else self._tour(most)
        return [self.at | {steps["name"]: k} for k in spaced(len(steps["stops"]) - 1, most)]

    def _tour(self, most):
        """What is filmed where nobody has moved anything: the way of the first slider, or of the first choice."""
        ways = [c for c in self._controls.values() if len(c["stops"]) > 1]
        way = next((c for c in ways if c["kind"] == "slider"), ways[0] if ways else None)
        return [self.at | {way["name"]: k} for k in spaced(len(way["stops"]) - 1)] if way else [dict(self.at)]

    def text(self):
        frame = self._cached_frame(self.at)
        lines = [self.columns, *frame["rows"]]
        widths = [max(len(line[i]) for line in lines if i < len(line)) for i in range(len(self.columns))] if lines else []
        table = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([f"{self.title}: {frame['sentence']}", *([frame["code"], ""] if "code" in frame else []), *table])

    def state(self):
        return {**super().state(), "frames": self._known_frames(), "parts": list(self._parts)}

    def offline(self, most=MOST):
        self._fill(60, most)
        return self.state()


class StateMachine(Panel):
    """A panel whose state changes by actions: `begin` is the first state, `act(state, action)` gives the next one, `make(state)` its
    frame, `actions(state)` what can be done in it. States are immutable, hashable values; the buttons are the actions.

    `walk`: actions that are likely, in their order; what is a few actions away from it is computed in advance, and so are `walks`, which a
    hand may take. `page_states`: so many states fit into a page.
    """

    ask = traitlets.Dict(help="an action whose result is not known in advance").tag(sync=True)

    def __init__(self, title, begin, act, show, actions, columns, size, walk=(), walks=(), page_states=None, **more):
        self._act, self._show, self._actions, self._page_states = act, show, actions, page_states
        self._states = {begin: 0}
        self._edges = {}
        self._walk = tuple(walk)
        self._follow_walk(begin, walk)
        self._near = list(self._states)
        for way in walks:
            self._follow_walk(begin, way)
        self._explore(STATES)
        control = {"kind": "actions", "name": "state", "label": "State", "stops": list(range(len(self._states))), "texts": [], "start": 0}
        super().__init__(title, [control], self._frame_of, columns, size, **more)

    def _follow_walk(self, here, actions):
        for action in actions:
            here = self._successor(here, action)

    def _explore(self, most):
        found = dict.fromkeys(self._near)
        waiting = list(found)
        for state in waiting:
            if len(self._states) >= most:
                return
            for action in self._actions(state):
                after = self._successor(state, action)
                if after not in found:
                    found[after] = None
                    waiting.append(after)

    def _successor(self, state, action):
        if (state, action) not in self._edges:
            after = self._act(state, action)
            self._states.setdefault(after, len(self._states))
            self._edges[state, action] = after
        return self._edges[state, action]

    def _frame_of(self, state):
        here = list(self._states)[int(state)]
        frame = self._show(here)
        known = {a: self._edges.get((here, a)) for a in self._actions(here)}
        frame.next = {a: None if s is None else self._states[s] for a, s in known.items()}
        return frame

    def _tour(self, most):
        """The likely actions, of many some, with the first and the last; or a few of all in turn."""
        here = list(self._states)[self.at["state"]]
        states = [here]
        for k in range(len(self._walk) or TOUR):
            can = list(self._actions(here))
            action = self._walk[k] if k < len(self._walk) and self._walk[k] in can else can[k % len(can)] if can else None
            if action is None:
                break
            here = self._successor(here, action)
            states.append(here)
        self._count()
        return [{"state": self._states[states[k]]} for k in spaced(len(states) - 1, most)]

    @traitlets.observe("ask")
    def _answer(self, change):
        if self.ask and self.ask["state"] == self.at["state"]:
            self.press(self.ask["action"])

    def press(self, action):
        """Do one of the actions that the buttons do. Returns the widget.

        Raises
        ------
        KeyError
            If that cannot be done here; the message lists what can.
        """
        here = list(self._states)[self.at["state"]]
        can = list(self._actions(here))
        if action not in can:
            raise KeyError(f"{action!r} is none of what can be done here: {', '.join(can)}")
        after = self._states[self._successor(here, action)]
        self._count()
        self._known.pop(self._key(self.at), None)  # it knows now where the action leads
        return self._go({"state": after})

    def _count(self):
        stops = self._controls["state"]["stops"]
        stops.extend(range(len(stops), len(self._states)))

    def offline(self):
        most = self._page_states or PAGE_STATES
        self._explore(most)
        self._count()
        data = super().offline(most)
        frames = {key: {**frame, "next": dict.fromkeys(frame["next"])} for key, frame in data["frames"].items()}
        for (state, action), after in self._edges.items():
            here, to = (str(self._states[one]) for one in (state, after))
            if here in frames and to in frames:
                frames[here]["next"][action] = int(to)
        controls = [{**control, "stops": []} for control in data["controls"]]  # the browser does not ask for them
        return {**data, "controls": controls, "frames": frames, "frame": frames[self._key(self.at)]}
