"""Explorable: a room to train a network in."""

import asyncio
import math
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
import traitlets

import autolab as torch
from autolab import datasets, nn
from autolab.draw import chart
from autolab.draw.chart import Axes, short
from autolab.trace.values import number
from autolab.widgets import static_chart
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline

ONE_THREAD = sys.platform == "emscripten"  # as in a browser
LOOKS = 40  # so often at most the room is looked at while it trains
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU}
TILE, HIGH = 276, 330
RATES = 0.003, 0.01, 0.03, 0.1, 0.3
LAYERS = (4,), (8, 8), (16, 16)
NOISES = 0.0, 0.1, 0.2, 0.3
WEIGHTS = 5  # so many random beginnings
NEURONS, SEEN = 8, (12, 10)  # of a layer so many are shown, each on a grid of so many columns and rows


class Run:
    """One training: a network, its data, its optimizer, and what was seen of it so far."""

    def __init__(self, model, data, optimizer, steps, loss_function):
        self.model, self.data, self.optimizer, self.loss_function = model, data, optimizer, loss_function
        self.done, self.looks = 0, []
        points, labels = data[0].numpy(), data[1].numpy()
        self.plane = Axes(chart.span(points[:, 0]), chart.span(points[:, 1]), (TILE, 0), (TILE, HIGH), ("", ""), "decision")
        (x0, x1), (y0, y1) = self.plane.xlim, self.plane.ylim
        self._cells, self._seen = (_grid(np.linspace(x0, x1, n), np.linspace(y1, y0, m)) for n, m in ((56, 44), SEEN))
        self.dots = "".join(chart.mark(self.plane.x(px), self.plane.y(py), "abc"[int(c) % 3], 3) for (px, py), c in zip(points, labels))
        self.look()
        self.curve = Axes((0, steps), (0, 1.15 * max(self.looks[0].loss, 1e-6)), (0, 0), (TILE, HIGH), ("step", ""), "loss")

    def step(self):
        """One step of the optimizer over all the data."""
        self.optimizer.zero_grad()
        self.loss_function(self.model(self.data[0]), self.data[1]).backward()
        self.optimizer.step()
        self.done += 1

    def look(self):
        """Remember loss, decision and hidden neurons as they are now."""
        was = self.model.training
        self.model.eval()
        with torch.no_grad():
            scores = self.model(self.data[0])
            chosen = self.model(self._cells).argmax(1).numpy().reshape(44, 56)
            loss, right = self.loss_function(scores, self.data[1]).item(), (scores.argmax(1) == self.data[1]).float().mean().item()
            hidden = _hidden(self.model, self._seen)
        self.model.train(was)
        self.looks.append(Look(self.done, loss, right, chosen, hidden))


class Look(NamedTuple):
    """What is seen of a network after `done` steps; `hidden`: for each hidden layer, each neuron over the plane."""

    done: int
    loss: float
    right: float
    chosen: np.ndarray
    hidden: list


def _spirals(noise):
    points, labels = datasets.spirals(200, 2, noise=noise / 2)
    return 2 * points, labels


POINTS = {"two moons": datasets.two_moons, "circles": datasets.circles, "spirals": _spirals}


def _grid(across, down):
    return torch.from_numpy(np.stack([axis.ravel() for axis in np.meshgrid(across, down)], 1).astype(np.float32))


def _hidden(model, points):
    """What the activations of a network give at points: for each its array (points, neurons)."""
    found, kinds = [], tuple(ACTIVATIONS.values())
    hooks = [
        part.register_forward_hook(lambda module, inputs, output: found.append(output.detach().numpy()))
        for part in model.modules()
        if isinstance(part, kinds)
    ]
    try:
        model(points)
    finally:
        for hook in hooks:
            hook.remove()
    return [values for values in found if values.ndim == 2]


class TrainingRoom(Panel):
    """What `train` makes: it trains in the background; the timeline goes back to every look that was taken.

    `stop()` and `start()` do as the button, `wait()` returns when it has finished, `model` is the network, `figure()` is for paper.
    Each position of the sliders is a training of its own, which begins where it was left.
    """

    running = traitlets.Bool(False).tag(sync=True)
    progress = traitlets.Float(0.0, help="from 0 to 1").tag(sync=True)

    def __init__(self, make_run, settings, steps, title):
        self._make_run, self._steps = make_run, steps
        self._runs, self._thread, self._error = {}, None, None
        self._turns = iter(())
        self._lock, self._at_work = threading.RLock(), False  # the start and the end of a run must not miss each other
        self._every = max(-(-steps // LOOKS), 1)
        looks = timeline(-(-steps // self._every), label="Look")
        super().__init__(title, [looks, *settings], self._frame_at, ["What", "Number"], (3 * TILE, HIGH), breaks=[TILE, 2 * TILE])

    # -- runs ------------------------------------------------------------------------------------------

    def _run_at(self, at):
        """The training that a position of the controls is about; a new one has not begun."""
        settings = {name: self._controls[name]["stops"][k] for name, k in at.items() if name != "step"}
        key = tuple(settings.values())
        with self._lock:
            if key not in self._runs:
                self._runs[key] = self._make_run(**settings)
            return self._runs[key]

    @property
    def _run(self):
        return self._run_at(self.at)

    @property
    def model(self):
        """The network that is shown."""
        return self._run.model

    @property
    def _done(self):
        return self._run.done

    def _look(self):
        self._run.look()

    @traitlets.validate("at")
    def _in_range(self, proposal):
        given = {**self.at, **proposal["value"]}  # a page that was saved knows fewer controls
        if set(given) != set(self._controls):
            raise traitlets.TraitError(f"at names {sorted(given)}; the controls are {list(self._controls)}")
        at = {name: int(min(max(k, 0), len(self._controls[name]["stops"]) - 1)) for name, k in given.items()}
        if any(at[name] != k for name, k in self.at.items() if name != "step"):
            at["step"] = min(at["step"], len(self._run_at(at).looks) - 1)
        return at

    @traitlets.observe("at")
    def _change_run(self, change):
        old, new = change["old"], change["new"]
        if not self.view or not old or all(old[name] == k for name, k in new.items() if name != "step"):
            return
        self.progress = self._done / self._steps
        if self._run_at(old).done and not self._done:
            self.running = True  # what was tried with other settings is tried with these

    # -- what is shown ---------------------------------------------------------------------------------

    def _frame_at(self, step, **settings):
        run = self._run_at({"step": 0, **{name: self._controls[name]["stops"].index(value) for name, value in settings.items()}})
        if step >= len(run.looks):
            return Frame(f"Not trained so far yet: {len(run.looks) - 1} looks were taken. Press Train.", [], [])
        look, seen, curve = run.looks[step], run.looks[: step + 1], run.curve
        losses = [min(one.loss, curve.ylim[1]) for one in seen]
        picture = [
            curve.frame(), curve.line([one.done for one in seen], losses), curve.point(look.done, losses[-1], "a", short(look.loss, 3)),
            run.plane.frame(), chart.regions(run.plane, look.chosen % 3, "abc"), run.dots, *_neurons(look.hidden),
        ]  # fmt: skip
        share = f"{look.right:.0%} of {len(run.data[1])} points"
        said = f"After {look.done} of {self._steps} steps the loss is {number(look.loss, 3)}, and {share} are on the right side."
        told = [[self._controls[name]["label"], str(value)] for name, value in settings.items()]
        return Frame(said, picture, [["steps", str(look.done)], ["loss", number(look.loss)], ["right", f"{look.right:.1%}"], *told])

    def _cached_frame(self, at):
        if at["step"] >= len(self._run_at(at).looks):
            return self._pack(self._key(at), self._compute(at))  # it will be another one later
        return super()._cached_frame(at)

    def _positions(self):
        """Every look of every training that was begun."""
        names = [name for name in self._controls if name != "step"]
        for key, run in list(self._runs.items()):
            settings = {name: self._controls[name]["stops"].index(value) for name, value in zip(names, key)}
            yield from ({"step": step, **settings} for step in range(len(run.looks)))

    def _fill(self, patience, most=0):
        for at in list(self._positions()):
            Panel._cached_frame(self, at)

    # -- training --------------------------------------------------------------------------------------

    @traitlets.observe("running")
    def _switch(self, change):
        with self._lock:
            if not self.running or self._at_work:
                return
            if self._done >= self._steps and not self._begin_again():
                self.running = False
                return
            self._at_work, self._error = True, None
            self._begin()

    def _begin_again(self):
        """Other random weights where there are some; else it is said that nothing is left to do."""
        if "weights" in self._controls:
            count = len(self._controls["weights"]["stops"])
            for k in range(1, count):
                at = {**self.at, "weights": (self.at["weights"] + k) % count}
                if self._run_at(at).done < self._steps:
                    self._go({**at, "step": len(self._run_at(at).looks) - 1})
                    return True
        said = f"All {self._steps} steps are taken: the timeline goes back to each look, and train() begins again."
        self.frame = {**self._cached_frame(self.at), "sentence": said}
        return False

    def _begin(self):
        """Train beside everything else: in a thread, or where there is but one, as in a browser, in turn with what the page does."""
        self._turns = self._work()
        if ONE_THREAD:
            self._task = asyncio.ensure_future(self._take_turns())
        else:
            self._thread = threading.Thread(target=self._go_on, daemon=True, name="autolab training room")
            self._thread.start()

    def _go_on(self):
        for pause in self._turns:
            time.sleep(pause)

    async def _take_turns(self):
        for pause in self._turns:
            await asyncio.sleep(pause)

    def _work(self):
        """Train until it is stopped or done. Each time that something was shown it yields the seconds to wait."""
        while self._at_work:
            try:
                yield from self._train()
            except Exception as error:
                self._error = error
            self._fill(0)
            with self.hold_sync():
                self.frames, self.parts = self._known_frames(), list(self._parts)
                if self._error is not None:
                    said = f"Training stopped after {self._done} steps: {type(self._error).__name__}: {self._error}"
                    self.frame = {**self.frame, "sentence": said, "error": True}
            with self._lock:
                if self._error is not None or self._done >= self._steps:
                    self.running = False
                self._at_work = self.running  # it may have been stopped and started again meanwhile

    def _train(self):
        while self.running and self._run.done < self._steps:
            began, run = time.perf_counter(), self._run
            for _ in range(min(self._every, self._steps - run.done)):
                run.step()
            if run is self._run:
                self._look()
                self._show()
            else:
                run.look()  # the sliders have moved meanwhile
            yield max(0.0, 0.04 - (time.perf_counter() - began))  # a person cannot see more than so many

    def _show(self):
        at = {**self.at, "step": len(self._run.looks) - 1}
        frame = Panel._cached_frame(self, at)
        with self.hold_sync():
            self.parts, self.progress = list(self._parts), self._done / self._steps
            self.frame = frame
            self.at = at

    def start(self):
        """Train on, in the background. Returns the widget."""
        self.running = True
        return self

    def stop(self):
        """Stop after the step that is being taken; `start()` goes on from there. Returns the widget."""
        self.running = False
        return self.wait()

    def wait(self, timeout=None):
        """Wait until training has stopped or finished. Returns the widget.

        Raises
        ------
        Exception
            What the network or the loss raised in the background.
        """
        if self._thread is not None:
            self._thread.join(timeout)
        else:
            end = math.inf if timeout is None else time.perf_counter() + timeout
            while time.perf_counter() < end and next(self._turns, None) is not None:
                pass
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return self

    def figure(self):
        """Loss curve and decision boundary at the look that is shown, as a matplotlib Figure: `room.figure().savefig("room.pdf")`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        run = self._run
        looks = [look[:4] for look in run.looks[: self.at["step"] + 1]]
        return static_chart.training(looks, run.data[0].numpy(), run.data[1].numpy(), run.plane.xlim, run.plane.ylim)

    def state(self):
        """The traits without Python: of the sliders those are left that were moved, at the places where they have been."""
        data, names = super().state(), list(self._controls)
        begun = [self._key(at).split(",") for at in self._positions()]
        moved = [k for k, name in enumerate(names) if name == "step" or len({key[k] for key in begun}) > 1]
        here = self._key(self.at).split(",")

        def fits(key):
            return all(key[k] == here[k] for k in range(len(names)) if k not in moved)

        def shorter(frame):
            return {**frame, "key": ",".join(frame["key"].split(",")[k] for k in moved)}

        frames = {told["key"]: told for key, f in data["frames"].items() if fits(key.split(",")) for told in [shorter(f)]}
        return {
            **data, "controls": [c for k, c in enumerate(data["controls"]) if k in moved], "frames": frames,
            "frame": shorter(data["frame"]), "at": {names[k]: self.at[names[k]] for k in moved}, "past": [],
        }  # fmt: skip

    def offline(self):
        self.wait()
        self._fill(0)
        return self.state()


def _neurons(layers):
    """Small pictures of the plane as the neurons of the hidden layers see it: blue where they are above zero, orange below."""
    if not layers:
        return [chart.words(2 * TILE + 12, 22, "no hidden neurons", "head")]
    parts, top = [chart.words(2 * TILE + 12, 22, "what neurons see", "head")], 50
    columns, rows = SEEN
    size = min(60, (HIGH - 40 - 24 * len(layers)) / len(layers) / 2)
    for n, values in enumerate(layers):
        shown = values[:, :NEURONS].T.reshape(-1, rows, columns)
        more = f" ({len(shown)} of {values.shape[1]})" if len(shown) < values.shape[1] else ""
        parts.append(chart.words(2 * TILE + 12, top, f"layer {n + 1}{more}", "note"))
        for k, seen in enumerate(shown):
            left, above = 2 * TILE + 12 + (k % 4) * (size + 5), top + 8 + (k // 4) * size
            parts.append(_neuron(left, above, seen, (size - 3) / columns, (size - 3) / rows))
        top += 24 + size * -(-len(shown) // 4)
    return parts


def _neuron(left, top, seen, across, down):
    most = float(np.abs(seen).max()) or 1.0
    level = np.clip(np.round(2.4 * seen / most), -2, 2).astype(int)
    drawn = "".join(
        f'<path d="{chart.outline(level * k >= k * k)}" class="al-heat-{"high" if k > 0 else "low"}" fill-opacity="{abs(k) / 2:g}"/>'
        for k in (-1, -2, 1, 2)  # the deeper colour lies on the paler one
        if (level * k >= k * k).any()
    )
    rows, columns = seen.shape
    return (
        f'<g transform="translate({left:.1f} {top:.1f})"><g transform="scale({across:.3f} {down:.3f})">{drawn}</g>'
        f'<rect width="{across * columns:.1f}" height="{down * rows:.1f}" class="al-heat-edge"/></g>'
    )


def train(model=None, data=None, *, layers=(16, 16), activation="tanh", lr=0.03, steps=400, optimizer=None, loss=None, start=True):
    """Train a network on points in the plane in the background: its loss, its decision, and what its hidden neurons see, as they come.

    Controls try other points, noise, learning rates, layers, activations and random weights, as far as these were not given; each is a
    training of its own. Train at the end begins again from other random weights.

    Parameters
    ----------
    model : Module, optional
        Takes (n, 2), returns (n, classes). Without it one is made of `layers` and `activation`.
    data : tuple of Tensor, optional
        Points (n, 2) and labels (n,) in at most three classes; `datasets.two_moons()` by default.
    layers : tuple of int
        Width of each hidden layer.
    activation : {"relu", "tanh", "sigmoid", "gelu"}
        What stands between them.
    lr : float
        Learning rate of Adam, unless `optimizer` is given.
    steps : int
        How many steps over all the data are taken.
    optimizer : Optimizer, optional
        Of the parameters of `model`.
    loss : function, optional
        Of scores and labels; cross entropy by default.
    start : bool
        Whether training begins at once.

    Returns
    -------
    TrainingRoom

    Raises
    ------
    TypeError
        If the model is no Module.
    ValueError
        If the data are not points in the plane with a label each, or the activation is unknown.

    Examples
    --------
    >>> room = train(steps=40, start=False)
    >>> room.sentence.startswith("After 0 of 40 steps")
    True
    >>> room.start().wait().progress
    1.0
    """
    if model is not None and not isinstance(model, nn.Module):
        raise TypeError(
            f"train takes a Module from points (n, 2) to scores (n, classes), and got {type(model).__name__}; data go in as data=..."
        )
    points, labels = datasets.two_moons() if data is None else data
    if points.dim() != 2 or points.shape[1] != 2 or labels.shape != points.shape[:1]:
        raise ValueError(
            "the room draws points in the plane: data is (points (n, 2), labels (n,)), "
            f"and got shapes {list(points.shape)} and {list(labels.shape)}"
        )
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}, expected one of {', '.join(ACTIVATIONS)}")
    classes = int(labels.max().item()) + 1
    if classes > 3:
        raise ValueError(f"the room has three shapes for points, and the labels have {classes} classes")
    settings, given, widths = [], data is not None, list(dict.fromkeys([tuple(layers), *LAYERS]))
    if model is None and optimizer is None:
        settings = [
            slider("rate", sorted({*RATES, float(lr)}), start=lr, label="learning rate"),
            *([] if given else [slider("noise", NOISES, start=0.1), choice("points", POINTS)]),
            choice("activation", dict.fromkeys([activation, *ACTIVATIONS])),
            choice("layers", ["+".join(map(str, w)) or "none" for w in widths], label="hidden neurons"),
            choice("weights", [str(k + 1) for k in range(WEIGHTS)], label="random weights"),
        ]  # fmt: skip
    state = torch.get_rng_state()

    def make_run(rate=lr, layers=None, activation=activation, points="two moons", noise=0.1, weights="1"):
        net, points = model, data if given else POINTS[points](noise=noise)
        if net is None:
            before = torch.get_rng_state()
            torch.set_rng_state(state)  # the same weights, whatever else is tried
            if weights != "1":
                torch.manual_seed(int(weights))
            net = _network(widths[0] if layers is None else () if layers == "none" else map(int, layers.split("+")), activation, classes)
            if room:
                torch.set_rng_state(before)
        return Run(net, points, optimizer or torch.optim.Adam(net.parameters(), lr=rate), steps, loss or nn.functional.cross_entropy)

    room = None
    room = TrainingRoom(make_run, settings, steps, "Training room")
    return room.start() if start else room


def _network(widths, activation, classes):
    sizes = [2, *widths]
    hidden = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), ACTIVATIONS[activation]())]
    return nn.Sequential(*hidden, nn.Linear(sizes[-1], classes))


__all__ = ["TrainingRoom", "train"]
