"""Explorable: one backward pass, a node at a time, forwards and back."""

import traitlets

from autolab.draw.collapse import Groups
from autolab.draw.style import ALONE
from autolab.draw.svg import render
from autolab.draw.text import text
from autolab.engine.tensor import Tensor
from autolab.trace import Trace, record, watch
from autolab.widgets.base import Filmed, spaced
from autolab.widgets.export import FRAMES


class Stepper(Filmed):
    """Step through `loss.backward()`, one node at a time, and back again.

    The picture, the numbers and the sentences are those of the engine's own backward pass. Your tensors stay as they
    are: no `.grad` changes, and `loss.backward()` works afterwards.

    Buttons: Step, Undo, Reset, Play. Keys, with the focus anywhere in the widget: right and left arrow step and undo,
    Home and End go to either end, the space bar plays. Up and down arrow move through the nodes; a click on a node
    inspects it. Shift with left and right arrow follows an edge to an input and to a user, Shift with up and down arrow
    takes another one. Plus, minus and 0 zoom, and so does the wheel with Ctrl; dragging moves the picture.

    A graph of more than 60 nodes shows groups: modules, rounds of a loop, stretches of operations. A click or Enter opens
    one, Escape closes it again, and Find opens whatever holds the node.

    Parameters
    ----------
    loss : Tensor, Trace or function
        A single number, or any shape if `gradient` is given; or a trace that was recorded before; or a function without
        arguments that computes the loss: then every result is written down, also those that no rule asks for.
    gradient : Tensor or array, optional
        The gradient to start with, of the shape of `loss`.
    names : dict, optional
        Name -> Tensor. Without it the variables of the caller are searched.

    Raises
    ------
    RuntimeError
        If nothing was recorded, the graph has been freed, or `loss` is not a single number and there is no `gradient`.
    ImportError
        If anywidget is not installed.

    Examples
    --------
    >>> import autolab as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> stepper = Stepper((3 * x + 1) ** 2)
    >>> stepper.step().step().sentence
    '+ (AddBackward0) receives 14; × (MulBackward0) gets 14.'
    >>> stepper.undo().position
    1
    """

    position = traitlets.Int(0, help="how many steps have been taken").tag(sync=True)
    selected = traitlets.Unicode("", help="id of the inspected node; empty: the node that fired last").tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    speed = traitlets.Float(1.0, help="steps in 0.7 seconds").tag(sync=True)
    # as text: ipywidgets would search every part of it for buffers
    trace = traitlets.Any().tag(sync=True, to_json=lambda _, stepper: stepper._json)
    svg = traitlets.Unicode().tag(sync=True)
    tall = traitlets.Unicode("", help="the picture for a phone; empty: the graph is in groups").tag(sync=True)
    opened = traitlets.Unicode("", help="id of the group that is open; empty: the whole graph").tag(sync=True)
    groups = traitlets.Dict(help="names of the groups, and the group that each node or group is in").tag(sync=True)

    def __init__(self, loss, gradient=None, names=None):
        if callable(loss) and not isinstance(loss, Tensor):
            with watch():
                loss = loss()
        trace = loss if isinstance(loss, Trace) else record(loss, gradient, names)
        if not trace.steps:
            raise ValueError("this trace has no steps; record one with autolab.trace.record(loss)")
        root = trace.node(trace.root)
        self._groups = Groups(trace)
        self._json = trace.to_json()
        names = {id: group.name for id, group in self._groups.by_id.items()}
        super().__init__(
            view="stepper", title=f"Backward pass of {root.display_name}", trace=trace, opened=self._groups.start,
            svg=self._render(self._groups.start, "end"), tall=self._phone_picture() if len(names) == 1 else "",
            groups={"names": names, "homes": self._groups.homes()} if len(names) > 1 else {},
        )  # fmt: skip

    def _render(self, open, step, **options):
        return render(self._groups.trace, step, view=self._groups.view(open), cells=True, **options)

    def _phone_picture(self):
        return self._render(self._groups.start, "end", direction="narrow")

    @traitlets.validate("opened")
    def _valid_group(self, proposal):
        self._groups.path(proposal["value"])
        return proposal["value"]

    @traitlets.observe("opened")
    def _redraw(self, change):
        if self.svg:  # it is there from the start
            self.svg = self._render(change["new"], "end")

    @traitlets.validate("position")
    def _valid_position(self, proposal):
        return max(0, min(proposal["value"], len(self.trace.steps)))

    @traitlets.validate("selected")
    def _valid_node(self, proposal):
        if proposal["value"]:
            self.trace.node(proposal["value"])
        return proposal["value"]

    @traitlets.validate("speed")
    def _valid_speed(self, proposal):
        if not proposal["value"] > 0:
            raise traitlets.TraitError(f"speed is {proposal['value']}, expected a number above 0")
        return proposal["value"]

    def step(self):
        """Let the next node fire; at the end nothing happens. Returns the widget."""
        return self._go(self.position + 1)

    def undo(self):
        """Take the last step back; at the start nothing happens. Returns the widget."""
        return self._go(self.position - 1)

    def reset(self):
        """Go back to the start. Returns the widget."""
        return self._go(0)

    def _go(self, position):
        self.selected = ""
        self.position = position
        return self

    @property
    def sentence(self):
        """What happened at the last step, as the widget says it."""
        return self.trace.steps[self.position - 1].sentence if self.position else ""

    def picture(self):
        """The graph as SVG text: as far as the steps go, or with the whole backward pass before the first."""
        return self._render(self.opened, self.position or "end", style=ALONE)

    def _stills(self, states, most=FRAMES):
        last = len(self.trace.steps)
        if states is not None and any(k not in range(last + 1) for k in states):
            raise ValueError(f"states are {states}; this backward pass has the steps 0 to {last}")
        ready = f"Ready. {self.trace.node(self.trace.root).display_name} fires first."
        told = [ready, *(step.sentence for step in self.trace.steps)]
        return [
            (self._render(self.opened, k, direction="right", style=ALONE), told[k])
            for k in (spaced(last, most) if states is None else states)
        ]

    def text(self):
        """The graph and the table of its backward pass as plain text."""
        return str(text(self.trace))

    def state(self):
        return {**super().state(), "trace": self._json}

    def answers(self):
        """For a page without a kernel: the picture of each group that can be opened."""
        ids = self._groups.by_id
        return {"opened": {id: {"svg": self._render(id, "end")} for id in ids}} if len(ids) > 1 else {}
