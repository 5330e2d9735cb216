"""Explorable: drag the inputs of a function; values and gradients follow on its graph, and its result on a curve for each input."""

import inspect
import itertools
import time
from dataclasses import dataclass

import numpy as np
import traitlets

import autolab as torch
from autolab.draw import chart
from autolab.draw.curves import heights, sample
from autolab.draw.style import ALONE
from autolab.draw.svg import grad_line, render, value_line
from autolab.draw.text import text
from autolab.trace import record, watch
from autolab.trace.values import number
from autolab.widgets.base import Filmed, spaced
from autolab.widgets.export import FRAMES
from autolab.widgets.expressions import as_python, function_of
from autolab.widgets.packing import compress, is_table, table, to_json

STOPS = 61
PAGE_FRAMES = 1500  # so many positions of all sliders together are computed for a page without a kernel,
PAGE_BYTES = 105_000  # and fewer where they take more than this: a page has less than 150 kB
FEWEST = 7  # stops of a slider
MOST_PLOTS = 4
CURVE = 61  # places of a curve
CURVES_PATIENCE = 0.15  # seconds that all curves of a position may take
TILE = 276, 220
PATIENCE = 1.0  # seconds spent on computing positions in advance before Python is asked for each


def explore(f, /, *, stops=STOPS, **inputs):
    """Slide the inputs of a function and watch values and gradients on its graph.

    Each input is made into a leaf that requires grad and passed to `f` by name. The gradient shown is that of the
    result of `f` with respect to each node: `f(...).backward()` at every position of the sliders.

    Parameters
    ----------
    f : function
        Takes the inputs by keyword and returns a tensor with a single number.
    stops : int
        How many positions a slider has.
    **inputs
        A pair `(low, high)` makes a slider, `(low, high, step)` one with that step. A number is a leaf that stays at
        its value. A Tensor is passed as it is. A slider of ipywidgets (anything with `min`, `max` and `value`) gives the
        range, and from then on the two move together.

    Returns
    -------
    Explorer

    Raises
    ------
    TypeError
        If `f` cannot be called, an input is none of the above, or `f` does not return a Tensor.
    ValueError
        If there is no slider, or its range is empty.
    RuntimeError
        If the result has more than one element, or depends on none of the inputs.
    ImportError
        If anywidget is not installed.

    Examples
    --------
    >>> import autolab as torch
    >>> explorer = explore(lambda x, y: x * y + x**2, x=(-3, 3), y=2.0)
    >>> explorer.move(x=3.0).sentence
    'x = 3, y = 2: the result is 15; its gradient is 8 for x and 3 for y.'
    """
    return Explorer(f, inputs, stops=stops)


class Explorer(Filmed):
    """What `explore` makes: sliders over the graph of a function.

    `values` holds where the inputs are and can be set; `move(x=1.5)` does so and returns the widget; `slider("x")` is an
    ipywidgets slider that drives an input from elsewhere.

    >>> explorer = explore(lambda x: x**2, x=(-3, 3))
    >>> explorer.move(x=1.5).values, explorer.sentence
    ({'x': 1.5}, 'x = 1.5: the result is 2.25; its gradient is 3 for x.')
    """

    inputs = traitlets.List().tag(sync=True)
    values = traitlets.Dict(help="where each slider is").tag(sync=True)
    pictures = traitlets.List().tag(sync=True)
    plots = traitlets.List(help="curves that positions computed in advance share").tag(sync=True)
    presets = traitlets.Dict(help="numbers for positions of the sliders, computed in advance").tag(sync=True)
    frame = traitlets.Dict(help="the numbers at `values`").tag(sync=True)

    _page_bytes = PAGE_BYTES

    def __init__(self, f, inputs, stops=STOPS):
        traits, driven = self._prepare(f, inputs, stops)
        super().__init__(view="explorer", **traits)
        for name, slider in driven.items():
            self._link(name, slider)

    def _prepare(self, f, inputs, stops=STOPS):
        """What the browser is to know of a function and its inputs, and the sliders of ipywidgets among them."""
        if not callable(f):
            raise TypeError(f"explore needs a function, got {type(f).__name__}: explore(lambda x: x**2, x=(-3, 3))")
        self._f = f
        self._fixed, self._sliders, driven = {}, {}, {}
        for name, given in inputs.items():
            if isinstance(given, tuple):
                self._sliders[name] = _slider(name, given, stops)
            elif isinstance(given, StartsAt):
                self._sliders[name] = _slider_from(name, given.place, stops)
            elif all(hasattr(given, what) for what in ("min", "max", "value", "observe")):
                self._sliders[name] = _slider(name, (given.min, given.max), stops)
                self._sliders[name]["start"] = float(given.value)
                driven[name] = given
            else:
                self._fixed[name] = _constant(name, given)
        if not self._sliders:
            raise ValueError("explore has no slider: give at least one input a range, as in explore(lambda x: x**2, x=(-3, 3)).")
        self._order = list(inputs)
        self._around = _variables_around(f)
        self._structures, self._curves, self._plots = {}, {}, {}
        self._pictures = []
        self._plotted = True
        start = {name: slider["start"] for name, slider in self._sliders.items()}
        began = time.process_time()
        first = self._frame(start, strict=True)
        cost = time.process_time() - began
        if cost > CURVES_PATIENCE:  # most of it is the curves
            self._plotted = False
            first = self._frame(start, strict=True)
        called = getattr(f, "__name__", "f").replace("<lambda>", "a function")
        presets = {}
        if len(self._sliders) == 1 and cost * stops < PATIENCE:
            presets = self._grid(self._sliders)
        for name in first["plots"]:
            self._add_track(self._sliders[name])
        traits = {
            "title": f"Explore {called}", "inputs": list(self._sliders.values()), "values": start, "frame": first,
            "pictures": list(self._pictures), "presets": presets, "plots": list(self._plots),
        }  # fmt: skip
        return traits, driven

    @traitlets.validate("values")
    def _in_range(self, proposal):
        given = proposal["value"]
        unknown = set(given) ^ set(self._sliders)
        if unknown:
            raise traitlets.TraitError(f"values names {sorted(unknown)}; the sliders are {list(self._sliders)}")
        out = {}
        for name, value in given.items():
            low, high = self._sliders[name]["stops"][0], self._sliders[name]["stops"][-1]
            out[name] = float(min(max(value, low), high))
        return out

    @traitlets.observe("values")
    def _follow(self, change):
        if not self._pictures or self.frame.get("values") == self.values:
            return
        frame = self._frame(self.values)
        with self.hold_sync():
            if len(self._pictures) > len(self.pictures):
                self.pictures = list(self._pictures)
            self.frame = frame

    def move(self, **values):
        """Put sliders somewhere, clipped to their range. Returns the widget."""
        self.values = {**self.values, **values}
        return self

    def slider(self, name):
        """An `ipywidgets.FloatSlider` that drives an input, and follows it; for a layout of your own.

        Raises
        ------
        KeyError
            If the input has no slider.
        """
        import ipywidgets

        if name not in self._sliders:
            raise KeyError(f"{name!r} has no slider; the sliders are {list(self._sliders)}")
        stops = self._sliders[name]["stops"]
        return self._link(
            name, ipywidgets.FloatSlider(value=self.values[name], min=stops[0], max=stops[-1], step=stops[1] - stops[0], description=name)
        )

    def _link(self, name, slider):
        slider.observe(lambda change: self.move(**{name: change["new"]}), "value")
        self.observe(lambda change: setattr(slider, "value", change["new"][name]), "values")
        return slider

    @property
    def sentence(self):
        """The result and the gradients at the present position, in words."""
        return self.frame["sentence"]

    @property
    def trace(self):
        """The backward pass at the present position, as an `autolab.trace.Trace`."""
        return self._record(self.values)

    # -- numbers for a position ------------------------------------------------------------------

    def _arguments(self, values):
        given = {name: values.get(name, self._fixed.get(name)) for name in self._order}
        return {name: torch.tensor(v, requires_grad=True) if isinstance(v, float) else v for name, v in given.items()}

    def _record(self, values):
        arguments = self._arguments(values)
        with np.errstate(all="ignore"):
            with watch():
                result = self._f(**arguments)
            _check(result)
            return record(result, names={**self._around, **arguments})

    def _frame(self, values, strict=False, shared=False):
        """The numbers at a position. Curves are in it, or, where they are shared, named by their place in `plots`."""
        try:
            trace = self._record(values)
        except Exception as error:
            if strict:
                raise
            sentence = f"{self._place(values)}: {type(error).__name__}: {error}"
            return {"picture": -1, "values": dict(values), "value": [], "grad": [], "sent": [], "sentence": sentence, "plots": {}}
        received = {step.node: step for step in trace.steps}
        sent = {one.edge: one.value for step in trace.steps for one in step.outgoing}
        return {
            "picture": self._picture(trace),
            "values": dict(values),
            "value": [value_line(node) for node in trace.nodes],
            "grad": [grad_line(node, received.get(node.id)) for node in trace.nodes],
            "sent": ["" if sent.get(edge.id) is None else sent[edge.id].label for edge in trace.edges],
            "sentence": self._sentence(trace, values, received),
            "plots": self._plots_at(trace, values, received, shared) if self._plotted else {},
        }

    def _plots_at(self, trace, values, received, shared):
        """For each input its curve, where the point is on it, and its tangent."""
        result = trace.node(trace.root).value.data
        slopes = {n.label: received[n.id].incoming[0].data for n in trace.nodes if n.kind == "leaf" and n.id in received}
        told = {}
        for name in list(self._sliders)[:MOST_PLOTS]:
            axes, drawn = self._curve(name, tuple(v for n, v in values.items() if n != name), values)
            x, y, slope = values[name], float(np.ravel(result)[0]), slopes.get(name)
            at = min(max(axes.y(y), axes.top), axes.top + axes.height) if np.isfinite(y) else axes.top + axes.height
            tangent = "" if slope is None else axes.straight(x, y, float(np.ravel(slope)[0]))
            curve = self._plots.setdefault(drawn, len(self._plots)) if shared else self._plots.get(drawn, drawn)
            told[name] = [curve, round(float(axes.x(x)), 1), round(float(at), 1), tangent]
        return told

    def _add_track(self, slider):
        """Says where on its curve each stop of a slider is, in pixels, and how it is taken hold of."""
        axes = chart.Axes((slider["stops"][0], slider["stops"][-1]), (0, 1), (0, 0), TILE, (slider["name"], ""), "result")
        slider["track"] = [round(float(axes.x(stop)), 1) for stop in slider["stops"]]
        slider["handle"], slider["size"] = chart.handle(0, 0, along_x=slider["name"], label=f"{slider['name']} on its curve"), TILE

    def _curve(self, name, others, values):
        """The result of f against one input, the others staying where they are: axes and what is drawn."""
        if (name, others) not in self._curves:
            stops = self._sliders[name]["stops"]
            places, results, _ = sample(lambda at: (self._result({**values, name: float(at)}),), stops[0], stops[-1], CURVE)
            axes = chart.Axes((stops[0], stops[-1]), chart.span(heights(results)), (0, 0), TILE, (name, ""), "result")
            if len(self._curves) > PAGE_FRAMES:
                self._curves.clear()
            self._curves[name, others] = axes, axes.frame() + axes.line(places, results[:, 0])
        return self._curves[name, others]

    def _result(self, values):
        try:
            with torch.no_grad(), np.errstate(all="ignore"):
                return float(self._f(**self._arguments(values)).item())
        except Exception:  # where it fails there is no curve; the sentence says why when a slider is there
            return float("nan")

    def _picture(self, trace):
        # A function with an `if` has more than one graph; each is drawn once.
        at = self._structures.setdefault(trace.structure, len(self._pictures))
        if at == len(self._pictures):
            self._pictures.append({
                "svg": render(trace, room=8),
                "tall": render(trace, room=8, direction="narrow"),  # for a narrow screen
                "nodes": [n.id for n in trace.nodes],
                "edges": [e.id for e in trace.edges],
                "names": [n.label if n.kind == "leaf" else n.title for n in trace.nodes],
            })  # fmt: skip
        return at

    def _place(self, values):
        shown = {**values, **{name: value for name, value in self._fixed.items() if isinstance(value, float)}}
        return ", ".join(f"{name} = {number(shown[name])}" for name in self._order if name in shown)

    def _sentence(self, trace, values, received):
        result = trace.node(trace.root).value.text
        leaves = [n for n in trace.nodes if n.kind == "leaf" and n.id in received]
        leaves.sort(key=lambda n: self._order.index(n.label) if n.label in self._order else len(self._order))
        parts = [f"{received[n.id].incoming[0].phrase} for {n.label}" for n in leaves]
        told = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        return f"{self._place(values)}: the result is {result}; its gradient is {told}."

    def _grid(self, sliders):
        """Numbers for every stop of every slider. The key is what the module looks for: the stops' numbers."""
        presets = {}
        for numbers in itertools.product(*[range(len(s["stops"])) for s in sliders.values()]):
            values = {name: s["stops"][i] for (name, s), i in zip(sliders.items(), numbers)}
            presets[",".join(map(str, numbers))] = self._frame(values, shared=True)
        return presets

    # -- other forms -------------------------------------------------------------------------------

    def picture(self):
        """The graph at the present position as SVG text."""
        return render(self.trace, style=ALONE)

    def _stills(self, states, most=FRAMES):
        if states is None:
            name, slider = next(iter(self._sliders.items()))
            states = [{name: slider["stops"][k]} for k in spaced(len(slider["stops"]) - 1)]
        return [self._still(self._in_range({"value": {**self.values, **state}})) for state in states]

    def _still(self, values):
        return render(self._record(values), style=ALONE), self._frame(values)["sentence"]

    def text(self):
        """The graph at the present position as plain text."""
        return f"{self.sentence}\n{text(self.trace)}"

    def offline(self):
        """The traits for a page without a kernel: every position is computed, on a coarser grid for several sliders."""
        per_slider = int(PAGE_FRAMES ** (1 / len(self._sliders)) + 1e-9)
        if per_slider < 5:
            raise ValueError(
                f"save_html computes every position in advance, and {len(self._sliders)} sliders have too many. "
                "Give some of the inputs a number instead of a range."
            )
        shared = self._plots
        few, many, found = FEWEST, min(per_slider, max(len(s["stops"]) for s in self._sliders.values())) + 1, None
        tried = many - 1
        try:
            while found is None or many - few > 1:  # so many have room or are the fewest, and so many have none
                self._plots = dict(shared)
                traits = self._on_grid(tried)
                size = len(compress(to_json({name: table(value) if is_table(value) else value for name, value in traits.items()}), 6))
                if size <= self._page_bytes or tried <= FEWEST:
                    few, found = tried, traits
                else:
                    many = tried
                tried = (few + many) // 2
            return found
        finally:
            self._plots = shared  # the places that the curves of the live widget have

    def _on_grid(self, per_slider):
        sliders = {name: _coarser(slider, per_slider) for name, slider in self._sliders.items()}
        presets = self._grid(sliders)
        for slider in sliders.values():
            if "track" in slider:
                self._add_track(slider)
        start = {name: min(s["stops"], key=lambda stop: abs(stop - self.values[name])) for name, s in sliders.items()}
        for name, slider in sliders.items():
            slider["start"] = start[name]
        return {
            **super().offline(), "inputs": list(sliders.values()), "presets": presets, "values": start,
            "frame": self._frame(start), "pictures": list(self._pictures), "plots": list(self._plots),
        }  # fmt: skip


@dataclass
class StartsAt:
    """An input with a slider that starts at a number."""

    place: float


def _slider_from(name, place, stops):
    """A slider that starts at a number, which is one of its stops; over (-3, 3), or wider where that is too narrow."""
    reach = max(3.0, 2 * abs(place))
    made = _slider(name, (-reach, reach), stops)
    return _slider_data(name, sorted({*made["stops"], float(place)}), float(place))


def _slider(name, given, stops):
    if len(given) not in (2, 3) or not all(isinstance(v, int | float) and np.isfinite(v) for v in given):
        raise TypeError(f"{name}={given!r}: expected (low, high) or (low, high, step) with finite numbers")
    low, high = float(given[0]), float(given[1])
    if low >= high:
        raise ValueError(f"{name}={given!r}: the range is empty; the first number must be the smaller one")
    if len(given) == 3:
        if given[2] <= 0:
            raise ValueError(f"{name}={given!r}: the step must be above 0")
        stops = int((high - low) / given[2] + 1e-9) + 1
        high = low + (stops - 1) * given[2]
    else:
        stops = _round_stops(low, high, stops)
    if stops < 2:
        raise ValueError(f"{name}={given!r} with {stops} stops: a slider needs at least 2")
    # Rounded, so that the stop at 1.1 is 1.1 and not 1.1000000000000005.
    digits = max(0, 4 - int(np.floor(np.log10((high - low) / (stops - 1)))))
    places = [round(low + (high - low) * i / (stops - 1), digits) for i in range(stops)]
    return _slider_data(name, places, _start(places))


def _start(places):
    """Where a slider opens: a number with few digits, about two thirds up. The middle of (-3, 3) is zero, where many gradients vanish."""
    low, high = places[0], places[-1]
    aim, reach = low + (high - low) * 2 / 3, (high - low) / 6

    def effort(place):
        digits = number(place).partition("e")[0].replace(".", "").strip("-0")
        return len(digits), len(number(place)), abs(place - aim)

    near = [place for place in places if place and abs(place - aim) <= reach * (1 + 1e-9)]
    return min(near or places, key=effort)


def _round_stops(low, high, most):
    """At most so many stops, such that they are round numbers: (0, 2) has 41, every 0.05."""
    least = (high - low) / max(most - 1, 1)
    power = 10.0 ** np.floor(np.log10(least))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= least * (1 - 1e-9))
    count = (high - low) / step
    return round(count) + 1 if abs(count - round(count)) < 1e-9 and most > 2 else most


def _slider_data(name, places, start):
    return {"name": name, "stops": places, "texts": [number(stop) for stop in places], "start": start}


def _coarser(slider, most):
    stops = slider["stops"]
    if len(stops) <= most:
        return dict(slider)
    picked = [stops[round(i * (len(stops) - 1) / (most - 1))] for i in range(most)]
    return {**slider, **_slider_data(slider["name"], picked, slider["start"])}


def _constant(name, given):
    if isinstance(given, torch.Tensor):
        return given
    if isinstance(given, complex | np.complexfloating):
        raise TypeError(
            f"{name} is complex: a slider moves one real number. Explore two of them, explore(lambda x, y: f(torch.complex(x, y)), "
            "x=(-3, 3), y=(-3, 3)); or give torch.tensor(z), which stays as it is."
        )
    if isinstance(given, bool) or not isinstance(given, int | float | np.integer | np.floating):
        raise TypeError(
            f"{name} is {type(given).__name__}, expected a range (low, high), a number or a Tensor. "
            "Bind anything else in the function: explore(lambda x: f(x, other), x=(-3, 3))."
        )
    return float(given)


def _variables_around(f):
    """The variables outside a function that it uses: a weight is to have its name in the picture."""
    try:
        found = inspect.getclosurevars(f)
    except TypeError:  # not written in Python, or an object that can be called
        return {}
    return {**found.globals, **found.nonlocals}


def _check(result):
    if not isinstance(result, torch.Tensor):
        kind = "None" if result is None else type(result).__name__
        hint = " Did you forget `return`?" if result is None else ""
        raise TypeError(f"explore shows functions that return a Tensor; this one returned {kind}.{hint}")
    if result.numel() != 1:
        raise RuntimeError(
            f"explore shows functions with a single number as result; this one has shape {list(result.shape)}. "
            "Reduce it: explore(lambda x: f(x).sum(), x=(-3, 3))."
        )
    if result.is_complex():
        raise TypeError(
            "explore shows functions with a real number as result; this one returned a complex one, which has no slope to draw. "
            "Return z.abs(), z.real or z.imag."
        )
    if not result.requires_grad:
        raise RuntimeError(
            "explore shows gradients, and this result does not require grad: it depends on none of the inputs, or the way to them "
            "was cut by detach(), no_grad() or item()."
        )


# -- live: the function is typed ------------------------------------------------------------------

OF_EXPRESSION = "_f", "_fixed", "_sliders", "_order", "_around", "_structures", "_pictures", "_curves", "_plots", "_plotted"
EXAMPLES = "(3 * x + 2) ** 2", "x ** 2", "sin(x) * x", "exp(-x ** 2)", "1 / (1 + exp(-x))", "relu(x)"


def live(expression="(3 * x + 2) ** 2", /, **inputs):
    """Type an expression, drag its inputs, and see values and gradients on its graph at once, while you type.

    Every name in the expression that is not a function becomes a leaf with a slider. In a notebook any expression can be typed;
    a page without a kernel knows the last one and a few examples, with their sliders.

    Parameters
    ----------
    expression : str
        Numbers, names, `+ - * / **`, and sin, exp, relu ...: what `KNOWN` lists. `x^2` is read as `x**2`, and that is said.
    **inputs
        Ranges for the sliders, as for `explore`, or numbers that they start at; (-3, 3) where none is given.

    Returns
    -------
    LiveExplorer

    Raises
    ------
    ValueError
        If the text is no such expression, or has no input.

    Examples
    --------
    >>> engine = live("x * y + sin(x)", y=2.0)
    >>> engine.move(x=0.0).sentence
    'x = 0, y = 2: the result is 0; its gradient is 3 for x and 0 for y.'
    >>> engine.type("x ** 3").move(x=2.0).sentence
    'x = 2: the result is 8; its gradient is 12 for x.'
    """
    return LiveExplorer(expression, inputs)


class LiveExplorer(Explorer):
    """What `live` makes: an Explorer whose function is typed. `type("x ** 2")` types another expression."""

    expression = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode(help="what is wrong with what was typed").tag(sync=True)
    hint = traitlets.Unicode(help="how Python writes what was typed").tag(sync=True)
    examples = traitlets.List(help="expressions to choose from").tag(sync=True)

    _page_bytes = PAGE_BYTES // 2  # the examples of the menu have the rest

    def __init__(self, expression, inputs):
        self._ranges = {name: StartsAt(float(v)) if _is_number(v) else v for name, v in inputs.items()}
        f, names = function_of(expression)
        super().__init__(f, self._inputs_for(names))
        with self.hold_sync():
            self.view, self.title, self.expression, self.hint = "live", "Live engine", expression, as_python(expression)[1]
            self.examples = list(dict.fromkeys([expression, *EXAMPLES]))

    def _inputs_for(self, names):
        return {name: self._ranges.get(name, (-3, 3)) for name in names}

    @traitlets.observe("expression")
    def _change_expression(self, change):
        if self.view != "live":
            return
        before = {name: self.__dict__[name] for name in OF_EXPRESSION}
        try:
            traits = self._traits_of(self.expression)
        except Exception as error:
            self.__dict__.update(before)
            self.problem, self.hint = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}", ""
            return
        with self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def _traits_of(self, expression):
        """What the browser is to know of an expression, which becomes the function that is explored."""
        f, names = function_of(expression)
        traits, _ = self._prepare(f, self._inputs_for(names))
        names = "inputs", "pictures", "plots", "presets", "frame", "values"
        return {**{name: traits[name] for name in names}, "problem": "", "hint": as_python(expression)[1]}

    def type(self, expression):
        """Type another expression. Returns the widget.

        Raises
        ------
        ValueError
            If it is not an expression of `KNOWN` functions, or cannot be shown.
        """
        self.expression = expression
        if self.problem:
            raise ValueError(self.problem)
        return self

    def answers(self):
        room = PAGE_BYTES - LiveExplorer._page_bytes
        return {"expression": {one: LiveExplorer(one, self._ranges)._told(room // len(self.examples)) for one in self.examples}}

    def _told(self, room):
        self._page_bytes = room
        data = self.offline()
        return {name: data[name] for name in ("inputs", "pictures", "plots", "presets", "frame", "values", "problem", "hint")}


def _is_number(given):
    return isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)
