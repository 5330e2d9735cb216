"""Explorables of training: the bucket that gradients fall into, an optimizer race, and a room to train a network in."""

import asyncio
import math
import sys
import threading
import time

import numpy as np
import traitlets

import autolab as torch
from autolab import datasets, nn
from autolab.draw import plot
from autolab.draw.plot import Axes, short
from autolab.trace.values import number
from autolab.widgets import static_chart
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, StateMachine, slider, timeline

# -- 5: accumulation -------------------------------------------------------------------------------

ONE_THREAD = sys.platform == "emscripten"  # as in a browser
BACKWARD, ZERO, STEP = "Backward", "Zero grad", "Step"


def square(w):
    """The loss that the lessons begin with."""
    return w**2


def accumulation(f=square, w=3.0, lr=0.1):
    """Press Backward, Zero grad and Step in any order, and watch what is in `.grad`: every backward pass adds.

    Parameters
    ----------
    f : function
        The loss, of one number.
    w : float
        Where the parameter starts.
    lr : float
        Learning rate of the `torch.optim.SGD` that takes the steps.

    Returns
    -------
    StateMachine

    Raises
    ------
    TypeError, RuntimeError
        If `f` does not return a single number that depends on w.

    Examples
    --------
    >>> bucket = accumulation(lambda w: w**2, w=3.0)
    >>> bucket.press("Backward").press("Backward").sentence
    'Backward adds 6: w.grad is 12. w is 3.'
    >>> bucket.undo().sentence
    'Backward adds 6: w.grad is 6. w is 3.'
    """
    if not callable(f):
        raise TypeError(f"accumulation needs a loss of one number, and got {type(f).__name__}: accumulation(lambda w: w**2, w=3.0)")

    # a state: (w, grad or None, what was last poured in, the last action)
    def act(state, action):
        value, grad, _, _ = state
        leaf = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        leaf.grad = None if grad is None else torch.tensor(grad, dtype=torch.float64)
        added = 0.0
        if action == BACKWARD:
            loss = f(leaf)
            if not isinstance(loss, torch.Tensor):
                raise TypeError(f"{function_name(f)} returned {type(loss).__name__}; the loss must be a Tensor computed from w")
            loss.backward()
            added = leaf.grad.item() - (grad or 0.0)
        else:
            optimizer = torch.optim.SGD([leaf], lr=lr)
            optimizer.zero_grad() if action == ZERO else optimizer.step()
        return leaf.item(), None if leaf.grad is None else leaf.grad.item(), added, action

    def show(state):
        value, grad, added, action = state
        held = "none" if grad is None else number(grad)
        said = {
            "": f"w is {number(value)} and w.grad is {held}.",
            BACKWARD: f"Backward adds {number(added)}: w.grad is {held}. w is {number(value)}.",
            ZERO: f"Zero grad empties the bucket: w.grad is {held}. w is {number(value)}.",
            STEP: "Step changes nothing: there is no gradient." if grad is None else
                  f"Step moves w by -{short(lr)} × {held}, to {number(value)}. The bucket stays as it is.",
        }[action]  # fmt: skip
        return Frame(said, _bucket(value, grad, added, scale), [["w", number(value)], ["w.grad", held], ["last poured in", number(added)]])

    first = act((float(w), None, 0.0, ""), BACKWARD)
    scale = max(abs(first[1]), 1e-12) * 4
    title = f"The bucket of gradients of {function_name(f)}"
    begin, actions = (float(w), None, 0.0, ""), [BACKWARD, ZERO, STEP]
    return StateMachine(title, begin, act, show, lambda s: actions, ["What", "Number"], (720, 300), breaks=[280])


def _bucket(value, grad, added, scale):
    held = 0.0 if grad is None else grad
    fill = min(abs(held) / scale, 1.1) * 180
    fresh = min(abs(added) / scale, 1.1) * 180 if abs(added) <= abs(held) else 0
    parts = [
        plot.words(60, 28, "w.grad", "head"), '<path d="M60 40V232H200V40" class="al-l al-l-line"/>',
        plot.rectangle(64, 230 - fill, 132, fill, "leaf") if fill else "",
        plot.rectangle(64, 230 - fill, 132, fresh, "grad") if fresh else "",
        plot.words(130, 255, "none" if grad is None else number(held), "grad", "middle"),
        plot.words(205, 226 - fill + fresh / 2, f"+ {number(added)}", "grad") if fresh else "",
    ]  # fmt: skip
    low, high = -scale, scale
    axis = Axes((low, high), (0, 1), (290, 40), (420, 110), ("", ""), "")
    line = [plot.words(346, 60, "the number line of w.grad", "head"), '<path d="M346 110H696" class="al-l al-l-line"/>']
    for tick in plot.ticks(low, high, 6):
        x = axis.x(tick)
        line += [f'<path d="M{x:.1f} 104v12" class="al-l al-l-line"/>', plot.words(x, 132, short(tick), "note", "middle")]
    was, at = (axis.x(max(low, min(size, high))) for size in (held - added, held))
    line.append(plot.arrow(was, 96, at, 96, "grad") if added and abs(at - was) > 9 else "")
    return [*parts, *line, plot.mark(at, 110, "grad" if grad is not None else "a", 6), plot.words(346, 200, f"w = {number(value)}", "head")]


# -- 14: optimizer race ----------------------------------------------------------------------------

RATES = 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0


def valley(x, y):
    """A bent valley: steep across, shallow along."""
    return 0.1 * x**2 + 2 * (y - 0.3 * x**2) ** 2


def optimizer_race(f=valley, start=(-2.5, 1.0), x=(-3, 3), y=(-1, 3), steps=40, rates=RATES, optimizers=None):
    """SGD, momentum and Adam go down the same surface; slide the learning rate.

    Parameters
    ----------
    f : function
        The loss, of two numbers (two tensors).
    start : tuple
        Where all begin.
    x, y : tuple
        The part of the plane that is shown.
    steps : int
        How far the race goes.
    rates : tuple of float
        The learning rates of the slider.
    optimizers : dict, optional
        Name -> function of (parameters, lr); at most three. By default SGD, SGD with momentum 0.9, and Adam.

    Returns
    -------
    Panel

    Raises
    ------
    TypeError
        If `f` does not take two numbers and return one.
    ValueError
        For more than three optimizers.

    Examples
    --------
    >>> race = optimizer_race(lambda x, y: x**2 + y**2, start=(1.0, 1.0), steps=4, rates=(0.1,))
    >>> race.move(step=1).sentence
    'Learning rate 0.1, step 1: SGD is at loss 1.28, momentum is at loss 1.28, Adam is at loss 1.62.'
    """
    optimizers = optimizers or {
        "SGD": lambda p, lr: torch.optim.SGD(p, lr=lr), "momentum": lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9),
        "Adam": lambda p, lr: torch.optim.Adam(p, lr=lr),
    }  # fmt: skip
    if len(optimizers) > 3:
        raise ValueError(f"a race has room for three optimizers, and got {len(optimizers)}: {', '.join(optimizers)}")
    kinds = dict(zip(optimizers, "abc"))
    paths = {(r, name): _descend(f, start, make, r, steps) for r in rates for name, make in optimizers.items()}
    axes = Axes(x, y, (0, 0), (560, 380), ("x", "y"), "from band to band the loss is four times as large")
    base = [
        axes.frame(),
        _bands(f, axes, x, y),
        plot.legend(60, 398, [(k, n) for n, k in kinds.items()]),
        axes.point(*start, "grad", "start"),
    ]

    def make(rate, step):
        picture, rows, said = list(base), [], []
        for name, kind in kinds.items():
            path = paths[rate, name]
            for k in range(step):
                (x0, y0, _), (x1, y1, _) = path[k], path[k + 1]
                inside = all(axes.xlim[0] <= a <= axes.xlim[1] and axes.ylim[0] <= b <= axes.ylim[1] for a, b in ((x0, y0), (x1, y1)))
                picture.append(axes.line([x0, x1], [y0, y1], kind) if inside else "")
            at = path[step]
            picture.append(axes.point(at[0], at[1], kind))
            where = "" if np.isfinite(at[2]) else " (it has left every number behind)"
            said.append(f"{name} is at loss {number(at[2], 3)}{where}")
            rows.append([name, number(at[0], 4), number(at[1], 4), number(at[2], 4)])
        board = [plot.words(590, 40, "loss", "head")]
        for i, (name, kind) in enumerate(kinds.items()):
            board += [plot.mark(598, 66 + 30 * i, kind), plot.words(612, 70 + 30 * i, f"{name}: {rows[i][3]}")]
        return Frame(f"Learning rate {short(rate)}, step {step}: {', '.join(said)}.", picture + board, rows)

    rate = slider("rate", rates, start=rates[(len(rates) - 1) // 2], label="learning rate")
    columns = ["Optimizer", "x", "y", "Loss"]
    return Panel(f"Optimizer race on {function_name(f)}", [rate, timeline(steps)], make, columns, (800, 412))


def _descend(f, start, make, rate, steps):
    p = [torch.tensor(float(s), dtype=torch.float64, requires_grad=True) for s in start]
    optimizer, path = make(p, rate), []
    with np.errstate(all="ignore"):
        for _ in range(steps + 1):
            loss = _loss_at(f, p)
            path.append((p[0].item(), p[1].item(), loss.item()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return path


def _loss_at(f, p):
    try:
        loss = f(*p)
    except TypeError as error:
        raise TypeError(f"optimizer_race calls f with two numbers, as in lambda x, y: x**2 + y**2; here: {error}") from error
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
        raise TypeError("optimizer_race goes down a surface: f is to return one number that depends on x and y")
    return loss


def _bands(f, axes, x, y):
    across, down = torch.linspace(*map(float, x), 60), torch.linspace(float(y[1]), float(y[0]), 48)
    with torch.no_grad():
        try:
            values = f(across.reshape(1, -1), down.reshape(-1, 1)).expand(48, 60).numpy()
        except (TypeError, RuntimeError):  # a function of single numbers
            values = np.array([[f(a, b).item() for a in across] for b in down])
    low = values.min()
    level = np.floor(np.log(np.maximum(values - low, 1e-3 * (values.max() - low))) / np.log(4)).astype(int)
    return plot.regions(axes, level % 2, ["paper", "op"])


# -- 15: training room -----------------------------------------------------------------------------

LOOKS = 40  # so often at most the room is looked at while it trains
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU}


class TrainingRoom(Panel):
    """What `train` makes: it trains in the background; the timeline goes back to every look that was taken.

    `stop()` and `start()` do as the button, `wait()` returns when it has finished, `model` is the network, `figure()` is for paper.
    """

    running = traitlets.Bool(False).tag(sync=True)
    progress = traitlets.Float(0.0, help="from 0 to 1").tag(sync=True)

    def __init__(self, model, data, optimizer, steps, loss_function, title):
        self.model, self._data, self._optimizer, self._steps, self._loss = model, data, optimizer, steps, loss_function
        self._done, self._losses, self._looks, self._thread, self._error = 0, [], [], None, None
        self._turns = iter(())
        self._lock, self._at_work = threading.RLock(), False  # whoever starts and whoever ends must not miss each other
        self._every = max(-(-steps // LOOKS), 1)
        self._axes()
        self._look()
        looks = timeline(-(-steps // self._every), label="Look")
        super().__init__(title, [looks], self._frame_at, ["What", "Number"], (860, 350), breaks=[435])

    def _axes(self):
        points = self._data[0].numpy()
        self._plane = Axes(plot.span(points[:, 0]), plot.span(points[:, 1]), (440, 0), (420, 340), ("", ""), "decision")
        with torch.no_grad():
            first = self._loss(self.model(self._data[0]), self._data[1]).item()
        self._curve = Axes((0, self._steps), (0, 1.15 * max(first, 1e-6)), (0, 0), (430, 340), ("step", "loss"), "loss")
        labels = self._data[1].numpy()
        kinds = "abc"
        self._points = "".join(plot.mark(self._plane.x(px), self._plane.y(py), kinds[int(c) % 3], 3) for (px, py), c in zip(points, labels))
        (x0, x1), (y0, y1) = self._plane.xlim, self._plane.ylim
        across, down = np.meshgrid(np.linspace(x0, x1, 56), np.linspace(y1, y0, 44))
        self._cells = torch.from_numpy(np.stack([across.ravel(), down.ravel()], 1).astype(np.float32))

    def _look(self):
        was = self.model.training
        self.model.eval()
        with torch.no_grad():
            scores = self.model(self._data[0])
            chosen = self.model(self._cells).argmax(1).numpy().reshape(44, 56)
            loss, right = self._loss(scores, self._data[1]).item(), (scores.argmax(1) == self._data[1]).float().mean().item()
        self.model.train(was)
        self._looks.append((self._done, loss, right, chosen))

    def _frame_at(self, step):
        if step >= len(self._looks):
            return Frame(f"Not trained so far yet: {len(self._looks) - 1} looks were taken. Press Train.", [], [])
        done, loss, right, chosen = self._looks[step]
        seen = self._looks[: step + 1]
        losses = [min(look[1], self._curve.ylim[1]) for look in seen]
        picture = [
            self._curve.frame(), *(self._curve.line([a[0], b[0]], [la, lb]) for a, b, la, lb in zip(seen, seen[1:], losses, losses[1:])),
            self._curve.point(done, losses[-1], "a", short(loss, 3)),
            self._plane.frame(), plot.regions(self._plane, chosen % 3, "abc"), self._points,
        ]  # fmt: skip
        share = f"{right:.0%} of {len(self._data[1])} points"
        said = f"After {done} of {self._steps} steps the loss is {number(loss, 3)}, and {share} are on the right side."
        return Frame(said, picture, [["steps", str(done)], ["loss", number(loss)], ["right", f"{right:.1%}"]])

    def _cached_frame(self, at):
        key = self._key(at)
        if at["step"] >= len(self._looks):
            return self._pack(key, self._frame_at(at["step"]))  # it will be another one later
        return super()._cached_frame(at)

    def _fill(self, patience, most=0):
        for step in range(len(self._looks)):
            Panel._cached_frame(self, {"step": step})

    @traitlets.observe("running")
    def _switch(self, change):
        with self._lock:
            if not self.running or self._at_work:
                return
            if self._done >= self._steps:
                self.running = False
                return
            self._at_work, self._error = True, None
            self._begin()

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
        points, labels = self._data
        while self.running and self._done < self._steps:
            began = time.perf_counter()
            for _ in range(min(self._every, self._steps - self._done)):
                self._optimizer.zero_grad()
                loss = self._loss(self.model(points), labels)
                loss.backward()
                self._optimizer.step()
                self._done += 1
            self._look()
            self._show()
            yield max(0.0, 0.04 - (time.perf_counter() - began))  # a person cannot see more than so many

    def _show(self):
        at = {"step": len(self._looks) - 1}
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
        looks = self._looks[: self.at["step"] + 1]
        return static_chart.training(looks, self._data[0].numpy(), self._data[1].numpy(), self._plane.xlim, self._plane.ylim)

    def offline(self):
        self.wait()
        return super().offline()


def train(model=None, data=None, *, layers=(16, 16), activation="tanh", lr=0.03, steps=400, optimizer=None, loss=None, start=True):
    """Train a network on points in the plane in the background: loss curve and decision boundary as they come, with stop and progress.

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
    if model is None:
        sizes = [2, *layers]
        hidden = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), ACTIVATIONS[activation]())]
        model = nn.Sequential(*hidden, nn.Linear(sizes[-1], classes))
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr)
    room = TrainingRoom(model, (points, labels), optimizer, steps, loss or nn.functional.cross_entropy, "Training room")
    return room.start() if start else room


__all__ = ["TrainingRoom", "accumulation", "optimizer_race", "train"]
