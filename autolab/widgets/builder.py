"""Explorable: a graph that is built by hand, one operation at a time.

A page without a kernel knows more graphs than it could list. What the page is sent are not graphs but *programs*: the operations that
one result depends on, with its value and the gradients that the engine computed for them. Whatever graph is built here consists of
such programs, so the page puts it together from them and computes nothing.

A program is written as its operations, each as move:operand or move:operand:other; leaves are numbered first, then results.
"""

import time

import numpy as np
import traitlets

import autolab as torch
from autolab.draw import chart
from autolab.draw.style import ALONE, STYLE
from autolab.draw.svg import render
from autolab.trace import graph, record, watch
from autolab.trace.values import narrow, number
from autolab.widgets.base import Undoable
from autolab.widgets.export import FRAMES
from autolab.widgets.real_numbers import of_real_numbers

UNARY = {"square": lambda h: h**2, "exp": torch.exp, "sin": torch.sin, "relu": torch.relu}
BINARY = {"+": lambda h, v: h + v, "×": lambda h, v: h * v}
PYTHON = {"+": "+", "×": "*"}
SELF = "itself"
ANOTHER = "another"  # the second operand is any other node
BACK = "backward()"
PATIENCE = 1.0  # seconds spent on programs in advance when the widget is made
CHAINS = 2300  # so many are sent with a widget: with two leaves, all chains of three operations
PAGE_CHAINS = 4800  # and with a page without a kernel: also those that join the results of two operations

SAID = {
    "start": "Only leaves: {leaves}. Drag an operation onto one of them, or press it: it is applied to {onto}. "
    "The ring of a node leads to another one.",
    "chosen": "{name} is chosen: the next operation is applied to it.",
    "join": "{sign} joins {name} with another node: choose that one. Escape takes it back.",
    "pair": "{name} and {other}: press + or × to join them. Escape takes it back.",
    "made": "{move} made a node: {node}, value {value}. Its next_functions: {next}.",
    "back": "backward() from {name} has run: {grads}.",
    "raises": "backward() from {name} raises {error}",
    # what a page without a kernel says where it ends
    "further": "From {name} on, what is greyed out was not computed in advance, and no Python is running here.{others} "
    "Run it here, in a notebook, to go on with all of it:",
    "fails": "{move} cannot be applied to {onto}: {error}",
}


def _gradient_text(t):
    return "none" if t.grad is None else narrow(t.grad.item())


class GraphBuilder(Undoable):
    """A graph that grows under the hand. `press("square")` does what a button does, `undo()` takes the last change back.

    `sentence` says what happened last, `rows` is the table of the graph, `picture()` and `text()` show it without a browser.
    """

    leaves = traitlets.List(help="name and value of each leaf").tag(sync=True)
    moves = traitlets.List(help="what can be done: its name, its sign, the Python code of its result").tag(sync=True)
    at = traitlets.Dict(help="the operations with their operands, what is chosen, whether backward() has run").tag(sync=True)
    chains = traitlets.Dict(help="what the engine computed, by program").tag(sync=True)
    facts = traitlets.List(help="what recorded nodes are called, where their edges go, what they keep").tag(sync=True)
    said = traitlets.Dict(SAID).tag(sync=True)
    columns = traitlets.List(["Node", "Value", "grad_fn", "Gradient"]).tag(sync=True)

    def __init__(self, functions, values):
        self._unary = functions
        self._values = values
        self._chains, self._facts = {}, []
        names = list(values)
        self._moves = [(sign, name) for sign in BINARY for name in [*names, SELF, ANOTHER]] + [(name, None) for name in functions]
        moves = [
            {"name": f"{sign} {other}", "sign": sign, "other": {SELF: -1, ANOTHER: -2}.get(other) or names.index(other),
             "code": f"{{h}} {PYTHON[sign]} {{o}}"} if other is not None
            else {"name": sign, "sign": sign, "other": None, "code": f"{sign}({{h}})"}
            for sign, other in self._moves
        ]  # fmt: skip
        self._fill(CHAINS, PATIENCE)
        leaves = [{"name": n, "value": number(v), "code": repr(v)} for n, v in values.items()]
        super().__init__(
            view="builder", title="Graph builder", leaves=leaves, moves=moves,
            at=self._start(), chains=dict(self._chains), facts=list(self._facts),
        )  # fmt: skip

    @staticmethod
    def _start():
        return {"program": [], "chosen": 0, "back": False}

    # -- programs --------------------------------------------------------------------------------------

    def _operands(self, operation):
        """The nodes that an operation is applied to: one or two."""
        move, onto, *other = operation
        second = self._moves[move][1]
        if second is None:
            return (onto,)
        return onto, onto if second == SELF else other[0] if other else list(self._values).index(second)

    def _apply(self, move, *operands):
        sign, second = self._moves[move]
        return self._unary[sign](*operands) if second is None else BINARY[sign](*operands)

    def _run(self, key):
        """A program as tensors: its operations, the leaves, and the results from the first to the last."""
        program = [tuple(map(int, operation.split(":"))) for operation in key.split(" ")]
        leaves = {n: torch.tensor(v, requires_grad=True) for n, v in self._values.items()}
        nodes = list(leaves.values())
        with watch(), np.errstate(all="ignore"):
            for operation in program:
                made = self._apply(operation[0], *(nodes[k] for k in self._operands(operation)))
                if not isinstance(made, torch.Tensor):
                    raise TypeError(f"it returned {type(made).__name__}; it must return a Tensor computed from its argument")
                nodes.append(made)
        return program, leaves, nodes[len(leaves) :]

    def _chain(self, key):
        """What the engine says of the last result of a program: value, fact, gradients of the results before it and of the leaves.

        Its `s` has for each operation, behind a semicolon, what it sends to each operand, where that is not the operand's gradient.
        """
        if key not in self._chains:
            try:
                program, leaves, results = self._run(key)
                nodes, made = [*leaves.values(), *results], results[-1]
                told = {
                    "v": number(made.item()) if made.numel() == 1 else f"of shape {list(made.shape)}",
                    "f": self._fact(leaves, [nodes[k] for k in self._operands(program[-1])], made),
                }
            except Exception as error:
                self._chains[key] = {"e": f"{type(error).__name__}: {error}"}
                return self._chains[key]
            try:
                for result in results:
                    if result.requires_grad:
                        result.retain_grad()
                with np.errstate(all="ignore"):
                    made.backward()
                    told |= {"g": " ".join(map(_gradient_text, [*results[:-1], *leaves.values()])), "s": self._sent(program, nodes)}
            except RuntimeError as error:
                told["b"] = f"RuntimeError: {error}"
            self._chains[key] = told
        return self._chains[key]

    def _sent(self, program, nodes):
        used = [k for operation in program for k in self._operands(operation)]
        found = []
        for operation, result in zip(program, nodes[len(self._values) :]):
            operands = self._operands(operation)
            found.append("")
            if result.grad is None or all(used.count(k) == 1 for k in operands):
                continue
            alone = [nodes[k].detach().requires_grad_() for k in operands]
            grads = torch.autograd.grad(self._apply(operation[0], *alone), alone, result.grad, allow_unused=True)
            reached = [None if nodes[k].grad is None else g for k, g in zip(operands, grads)]
            found[-1] = ",".join("none" if g is None else narrow(g.item()) for g in reached)
        return ";".join(found).rstrip(";")

    def _fact(self, leaves, operands, made):
        """Index of what is recorded: the node's name, the names of its next_functions ({h}, {o}: its operands), what it keeps."""
        node = made.grad_fn
        if node is None:
            fact = {"node": "no grad_fn", "next": "none", "keeps": ""}
        else:
            into = []
            for f, _ in node.next_functions:
                leaf = getattr(f, "variable", None)
                into.append(next(
                    (sign for sign, t in zip(("{h}", "{o}"), operands) if f is not None and (f is t.grad_fn or leaf is t)),
                    "None" if f is None else next((f"AccumulateGrad of {n}" for n, t in leaves.items() if leaf is t), f.name()),
                ))  # fmt: skip
            fact = {"node": node.name(), "next": ", ".join(into)}
            known = [k for k, one in enumerate(self._facts) if fact.items() <= one.items()]
            if known:
                return known[0]
            keeps = sorted("its result" if one.name == "out" else f"input {one.name}" for one in graph(made).nodes[0].saved if one.bytes)
            fact["keeps"] = " and ".join(keeps)
        if fact not in self._facts:
            self._facts.append(fact)
        return self._facts.index(fact)

    def _programs(self):
        """What is computed in advance: one, two and three operations, each on the result before it; then two results that are joined."""
        count = len(self._values)
        joins = [m for m, (_, second) in enumerate(self._moves) if second == ANOTHER]
        moves = [m for m in range(len(self._moves)) if m not in joins]
        one = [f"{m}:{leaf}" for leaf in range(count) for m in moves]
        yield from one
        two = [f"{key} {m}:{count}" for key in one if "e" not in self._chain(key) for m in moves]
        yield from two
        yield from (f"{key} {m}:{count + 1}" for key in two if "e" not in self._chain(key) for m in moves)
        for key in [*two, *(f"{a} {b}" for a in one for b in one)]:
            yield from (f"{key} {m}:{count + k}:{count + 1 - k}" for m in joins for k in (0, 1))

    def _fill(self, most, patience):
        """Programs in advance, for that many of them or seconds."""
        end = time.perf_counter() + patience
        for key in self._programs():
            if len(self._chains) >= most or time.perf_counter() > end:
                return
            self._chain(key)

    # -- states ----------------------------------------------------------------------------------------

    def _name(self, at, node):
        count = len(self._values)
        return list(self._values)[node] if node < count else f"h{node - count + 1}"

    def _needed(self, at, node):
        """The results that a result depends on, and itself, in order."""
        count, needed = len(self._values), {node}
        for k in range(node, count - 1, -1):
            if k in needed:
                needed.update(self._operands(at["program"][k - count]))
        return sorted(k for k in needed if k >= count)

    def _key(self, at, node):
        count = len(self._values)
        needed = self._needed(at, node)
        name = {k: k for k in range(count)} | {k: count + i for i, k in enumerate(needed)}
        operations = [at["program"][k - count] for k in needed]
        return " ".join(":".join(map(str, [move, *(name[k] for k in operands)])) for move, *operands in operations)

    def _label(self, at, operation):
        """What an operation is called: square, + x, × h2."""
        move, _, *other = operation
        return f"{self._moves[move][0]} {self._name(at, other[0])}" if other else self.moves[move]["name"]

    @traitlets.validate("at")
    def _valid_at(self, proposal):
        at = proposal["value"]
        for k, (move, *operands) in enumerate(at["program"]):
            here = range(len(self._values) + k)
            if move not in range(len(self._moves)) or any(node not in here for node in operands):
                onto = ", ".join(map(str, operands))
                raise traitlets.TraitError(f"operation {k + 1} is move {move} onto node {onto}, which are not there")
            if len(operands) != 1 + (self._moves[move][1] == ANOTHER):
                raise traitlets.TraitError(f"operation {k + 1} is {self.moves[move]['name']} with {len(operands)} operands")
        if not 0 <= at["chosen"] < len(self._values) + len(at["program"]):
            raise traitlets.TraitError(f"node {at['chosen']} is chosen, which is not there")
        return at

    @traitlets.observe("at")
    def _answer(self, change):
        if not self.view:
            return
        for k in range(len(self.at["program"])):
            self._chain(self._key(self.at, len(self._values) + k))
        if len(self._chains) > len(self.chains):
            with self.hold_sync():
                self.facts = list(self._facts)
                self.chains = dict(self._chains)

    def _go(self, **change):
        at = {**self.at, **change}
        if at != self.at:
            self.past = [*self.past, self.at]
            self.at = at
        return self

    def _index(self, name):
        names = [self._name(self.at, k) for k in range(len(self._values) + len(self.at["program"]))]
        if name not in names:
            raise KeyError(f"{name!r} is not a node here; there are {', '.join(names)}")
        return names.index(name)

    @property
    def actions(self):
        """What can be pressed now."""
        if self.at["back"]:
            return []
        count = len(self._values)
        results = [self._name(self.at, count + k) for k in range(len(self.at["program"]))]
        names = [name for sign, second in self._moves for name in (
            [f"{sign} {h}" for h in results] if second == ANOTHER else [sign] if second is None else [f"{sign} {second}"])]  # fmt: skip
        return names + [BACK] * (self.at["chosen"] >= count)

    def press(self, action, onto=None):
        """Apply an operation to a node, by default to the one that is chosen; or run "backward()" from it. Returns the widget.

        Two results are joined by the name of the second: `press("× h1", onto="h2")`.

        Raises
        ------
        KeyError
            If that cannot be done here, or there is no such node; the message lists what there is.
        ValueError
            If the operation itself raises.
        """
        if onto is not None:
            self.choose(onto)
        if action not in self.actions:
            raise KeyError(f"{action!r} is none of what can be done here: {', '.join(self.actions) or 'undo and reset'}")
        if action == BACK:
            return self._go(back=True)
        at, names = self.at, [m["name"] for m in self.moves]
        if action in names:
            operation = [names.index(action), at["chosen"]]
        else:
            sign, other = action.split(" ", 1)
            operation = [self._moves.index((sign, ANOTHER)), at["chosen"], self._index(other)]
        program = [*at["program"], operation]
        after = {**at, "program": program, "chosen": len(self._values) + len(program) - 1}
        chain = self._chain(self._key(after, after["chosen"]))
        if "e" in chain:
            raise ValueError(SAID["fails"].format(move=action, onto=self._name(at, at["chosen"]), error=chain["e"]))
        return self._go(**after)

    def choose(self, name):
        """Choose the node that the next operation is applied to. Returns the widget."""
        return self._go(chosen=self._index(name))

    def reset(self):
        """Back to the leaves. Returns the widget."""
        return self._go(**self._start())

    # -- other forms -----------------------------------------------------------------------------------

    def _told(self, at, node):
        """Of a result: its chain, its fact, the names of its next_functions."""
        chain = self._chain(self._key(at, node))
        fact = self._facts[chain["f"]]
        into = fact["next"]
        for sign, operand in zip(("{h}", "{o}"), self._operands(at["program"][node - len(self._values)])):
            if sign in into:
                leaf = operand < len(self._values)
                into = into.replace(sign, f"AccumulateGrad of {self._name(at, operand)}" if leaf else self._told(at, operand)[1]["node"])
        return chain, fact, into

    def _gradients(self, at):
        """Index of each node that backward() reached -> its gradient."""
        node, count = at["chosen"], len(self._values)
        told = at["back"] and self._told(at, node)[0].get("g")
        if not told:
            return {}
        reached = zip([*self._needed(at, node)[:-1], *range(count)], told.split(" "))
        return {node: "1"} | {k: g for k, g in reached if g != "none"}

    @property
    def sentence(self):
        """What happened last, as the widget says it."""
        return self._sentence(self.at)

    def _sentence(self, at):
        names, chosen = list(self._values), self._name(at, at["chosen"])
        if at["back"]:
            error = self._told(at, at["chosen"])[0].get("b")
            if error:
                return SAID["raises"].format(name=chosen, error=error)
            found = self._gradients(at)
            return SAID["back"].format(name=chosen, grads=", ".join(f"{n}.grad is {found.get(k, 'None')}" for k, n in enumerate(names)))
        if not at["program"] and not at["chosen"]:
            return SAID["start"].format(leaves=", ".join(f"{one['name']} = {one['value']}" for one in self.leaves), onto=chosen)
        if at["chosen"] != len(names) + len(at["program"]) - 1 or not at["program"]:
            return SAID["chosen"].format(name=chosen)
        chain, fact, into = self._told(at, at["chosen"])
        return SAID["made"].format(move=self._label(at, at["program"][-1]), node=fact["node"], value=chain["v"], next=into)

    @property
    def rows(self):
        """The table of the graph: node, value, grad_fn, gradient."""
        found, none = self._gradients(self.at), "none" if self.at["back"] else "not yet"
        leaves = [[one["name"], one["value"], "None, a leaf", found.get(k, none)] for k, one in enumerate(self.leaves)]
        results = []
        for k in range(len(self._values), len(self._values) + len(self.at["program"])):
            chain, fact, _ = self._told(self.at, k)
            results.append([self._name(self.at, k), chain["v"], fact["node"], found.get(k, none)])
        return leaves + results

    def picture(self):
        return self._still(self.at)[0]

    def _still(self, at):
        """The picture of a state, and its sentence."""
        count, said = len(self._values), self._sentence(at)
        if not at["program"]:
            return chart.picture(
                [part for k, one in enumerate(self.leaves) for part in (
                    f'<rect x="{20 + 170 * k}" y="20" width="150" height="56" rx="28" class="al-cell al-k-leaf"/>',
                    chart.words(38 + 170 * k, 42, one["name"], "head"), chart.words(38 + 170 * k, 64, f"= {one['value']}"))],
                40 + 170 * len(self.leaves), 96, f"{self.title}. {said}", STYLE,
            ), said  # fmt: skip
        node = at["chosen"] if at["chosen"] >= count else count + len(at["program"]) - 1
        _, leaves, results = self._run(self._key(at, node))
        names = leaves | {self._name(at, k): result for k, result in zip(self._needed(at, node), results)}
        trace = (record if self._gradients(at) else graph)(results[-1], names=names)
        return render(trace, style=ALONE), said

    def _stills(self, states, most=FRAMES):
        visited = [*self.past, self.at] if self.past else self._tour()
        return [self._still(at) for at in (visited if states is None else states)]

    def _tour(self):
        """What is filmed of a graph that nobody has built: a product, two operations on it, and backward()."""
        wanted = [("×", list(self._values)[-1]), *((name, None) for name in list(self._unary)[:3:2])]  # exp of a square would be huge
        count, states = len(self._values), [self._start()]
        for k, move in enumerate(wanted):
            operation = [self._moves.index(move), count + k - 1 if k else 0]
            states.append({"program": [*states[-1]["program"], operation], "chosen": count + k, "back": False})
        return [*states, states[-1] | {"back": True}]

    def text(self):
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines)]
        table = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([f"{self.title}: {self.sentence}", *table])

    def state(self):
        return {**super().state(), "chains": dict(self._chains), "facts": list(self._facts)}

    def offline(self):
        self._fill(PAGE_CHAINS, 60)
        return self.state()


@of_real_numbers
def graph_builder(functions=None, **leaves):
    """Build a graph one operation at a time, and see node, value and `grad_fn`; then run backward through it. Every press can be undone.

    An operation is dragged onto a leaf or a result, or pressed: then it is applied to the one that is chosen. "+ another" and
    "× another" join it with any other node: with the one that they are dragged onto, or that is chosen next. So does the ring of the chosen
    node, when a line is drawn from it to the other one.

    Parameters
    ----------
    functions : dict, optional
        Name -> function of one tensor: what can be applied. By default square, exp, sin and relu.
    **leaves : float
        The leaves, each of which can be added and multiplied; x = 2 and w = 3 if none is given. The first one is the start.

    Returns
    -------
    GraphBuilder

    Examples
    --------
    >>> builder = graph_builder(x=2.0, w=3.0).press("× w").press("square")
    >>> builder.sentence
    'square made a node: PowBackward0, value 36. Its next_functions: MulBackward0.'
    >>> builder.press("backward()").sentence
    'backward() from h2 has run: x.grad is 36, w.grad is 24.'
    >>> builder.undo().press("+ itself", onto="h1").rows[-1]
    ['h3', '12', 'AddBackward0', 'not yet']
    >>> builder.press("× h2").sentence  # two results joined
    '× h2 made a node: MulBackward0, value 432. Its next_functions: AddBackward0, PowBackward0.'
    """
    return GraphBuilder(UNARY if functions is None else functions, {n: float(v) for n, v in (leaves or {"x": 2.0, "w": 3.0}).items()})


__all__ = ["GraphBuilder", "graph_builder"]
