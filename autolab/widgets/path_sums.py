"""The explorable of paths: as many as 2 to the number of blocks, against one visit of each node."""

import itertools
import math

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, words
from autolab.trace.values import number
from autolab.widgets.panel import Frame, StateMachine
from autolab.widgets.real_numbers import of_real_numbers

MOST_PATHS = 256
ARCS = 4  # paths through one block that a picture has room for
STRIDE, JOINT = 60, 110  # pixels from joint to joint, and where they stand
ROW, FOLD = 4, 54  # blocks in a row on a small screen, and what more the next one takes
SUMS = 296, 190  # pixels of the chart of sums
NEXT_PATH, ALL_PATHS, NEXT_JOINT, ALL_JOINTS, MORE, LESS = (
    "next path", "all paths", "next node back", "all nodes back", "one block more", "one block less",
)  # fmt: skip


def residual_block(h):
    """A value, and something computed from it, added."""
    return h + torch.exp(-h)


@of_real_numbers
def paths(f=residual_block, x=1.0, blocks=3):
    """The chain rule as a sum over all paths, and as the engine computes it: gradients are added at each node, which is visited once.

    Parameters
    ----------
    f : function
        Of one number, with several paths from its result to its argument. It is applied again and again, each time to its own result.
    x : float
        The first argument.
    blocks : int
        How often it is applied at the start.

    Returns
    -------
    StateMachine
        A path's number is the product of the derivatives along it; each is a step of their sum, which ends at `x.grad`.

    Raises
    ------
    TypeError, RuntimeError
        If the result of `f` is not a single number that depends on its argument.
    ValueError
        If `f` has more than 4 paths: a picture has no room for them.

    Examples
    --------
    >>> panel = paths(lambda h: 2 * h + 3 * h, blocks=2).press("all paths")
    >>> panel.sentence
    'All 4 paths: their products add to 25, and x.grad by backward() is 25.'
    """
    count = len(_run(f, float(x), 1)[1][0])
    most = max(1, min(8, int(math.log(MOST_PATHS, count) + 1e-9))) if count > 1 else 8
    joints, arcs, _ = _run(f, float(x), most)
    blocks = max(1, min(blocks, most))
    known = {n: _run(f, float(x), n)[2] for n in range(1, most + 1)}
    right = most > ROW  # there is room for the sums at the right
    place = (_x(ROW) + 28, 226) if right else (0, 320)
    size = max(_x(most) + 30, place[0] + SUMS[0]), place[1] + SUMS[1]

    def act(state, action):
        n, way, k = state
        if action in (MORE, LESS):
            return (n + (1 if action == MORE else -1), "paths", 0)
        now = "paths" if action in (NEXT_PATH, ALL_PATHS) else "joints"
        total = count**n if now == "paths" else n + 1
        return (n, now, total if action in (ALL_PATHS, ALL_JOINTS) else k + 1 if now == way else 1)

    def actions(state):
        n, way, k = state
        done = {"paths": way == "paths" and k == count**n, "joints": way == "joints" and k == n + 1}
        found = [] if done["paths"] else [NEXT_PATH, ALL_PATHS]
        found += [] if done["joints"] else [NEXT_JOINT, ALL_JOINTS]
        return found + [MORE] * (n < most) + [LESS] * (n > 1)

    def show(state):
        n, way, k = state
        gradient = known[n][0]
        every = list(itertools.product(range(count), repeat=n))
        ways = every[: k if way == "paths" else 0]
        products = [math.prod(arcs[i][a][0] for i, a in enumerate(path)) for path in every]
        chart_of_sums = _sums(products, len(ways), gradient, place)
        products = products[: len(ways)]
        used = sum(arcs[i][a][1] for path in ways for i, a in enumerate(path))
        in_all = sum(length for block in arcs[:n] for _, length, _ in block) * count ** (n - 1)
        nodes = sum(block[0][2] for block in arcs[:n])
        current = ways[-1] if ways and k < count**n else None
        visited = k if way == "joints" else 0
        parts = _draw(n, arcs, joints, current, bool(ways) and current is None, known[n], visited, n < most)
        lines = [
            f"{count}^{n} = {_many(count**n, 'path')}, {_many(in_all, 'derivative')}",
            f"followed {len(ways)}, sum {number(sum(products), 5)}",
            f"or {_many(nodes, 'node')}, each visited once",
        ]
        parts += [words(12, 256 + 24 * i, line) for i, line in enumerate(lines)] + chart_of_sums
        rows = [
            ["paths", str(count**n)], ["derivatives along all of them", str(in_all)], ["paths followed", str(len(ways))],
            ["derivatives used for them", str(used)], ["their sum", number(sum(products))], ["nodes of the graph", str(nodes)],
            ["x.grad by backward()", number(gradient)],
        ]  # fmt: skip
        flights = []
        if visited > 1:
            i = n + 1 - visited
            flights = [
                chart.flight(number(d * known[n][i + 1], 3), (_x(i + 1), JOINT), (_x(i), JOINT + 108), "grad") for d, _, _ in arcs[i][:ARCS]
            ]
        scene = "two rows" if n > ROW else ""
        return Frame(
            _sentence(state, count, ways, products, gradient, known[n], joints, nodes, in_all), parts, rows, flights=flights, scene=scene
        )

    title = "Paths: all of them, or one visit of each node"
    return StateMachine(
        title, (blocks, "paths", 0), act, show, actions, ["What", "Number"], size, breaks=[place[0]] * right,
        walk=[NEXT_PATH, NEXT_PATH, ALL_PATHS, *[NEXT_JOINT] * (blocks + 1)],
    )  # fmt: skip


def _sums(products, followed, gradient, place):
    """The sum of the products as far as the paths are followed: a stair with a step for each, and the gradient that it ends at."""
    sums = [0.0, *itertools.accumulate(products)]
    axes = Axes((0, len(products)), chart.span(sums, [gradient]), place, SUMS, ("paths", ""), "sum of the products")
    at = [(k + side, sums[k]) for k in range(followed) for side in (0, 1)] + [(followed, sums[followed])]
    key = chart.legend(place[0] + 42, axes.top + axes.height + 33, [("grad", "x.grad")])
    still = axes.frame() + axes.straight(0, gradient, 0.0) + key
    return [still, axes.line(*zip(*at)), chart.keyed("sum", axes.point(followed, sums[followed]))]


def _x(joint):
    return 30 + STRIDE * joint + FOLD * (joint > ROW)


def _many(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def _run(f, x, blocks):
    """Values at the joints; for each block its paths as (derivative, nodes on it, nodes of the block); gradients at the joints."""
    leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    values, arcs = [leaf], []
    for _ in range(blocks):
        start = values[-1].detach().requires_grad_()
        arcs.append(_paths_through(f, start))
        values.append(f(values[-1]))
    grads = torch.autograd.grad(values[-1], values)
    return [v.item() for v in values], arcs, [g.item() for g in grads]


def _paths_through(f, start):
    with np.errstate(all="ignore"):
        out = f(start)
    if not isinstance(out, torch.Tensor):
        raise TypeError(
            f"paths calls f with a Tensor, and it returned {type(out).__name__}; it must return a Tensor computed from its argument"
        )
    if out.numel() != 1 or out.grad_fn is None:
        raise RuntimeError(f"f of a single number has shape {list(out.shape)}; it must be a single number that depends on its argument")
    edges, nodes = {}, set()

    def sent(node):
        """What a node makes of a gradient of 1: (derivative, next node) for each input."""
        if node not in edges:
            made = node(torch.ones((), dtype=torch.float64))
            made = made if isinstance(made, tuple) else (made,)
            edges[node] = [(d.item(), child) for d, (child, _) in zip(made, node.next_functions) if child is not None]
        return edges[node]

    def follow(node, product, length):
        if not node.next_functions:
            yield product, length
            return
        nodes.add(node)
        for derivative, child in sent(node):
            yield from follow(child, product * derivative, length + 1)

    with torch.no_grad():
        found = list(itertools.islice(follow(out.grad_fn, 1.0, 0), ARCS + 1))
    if len(found) > ARCS:
        raise ValueError(f"f has more than {ARCS} paths from its result to its argument; the picture has room for {ARCS}")
    return [(d, length, len(nodes)) for d, length in found]


def _draw(n, arcs, joints, current, all_paths, grads, visited, room):
    parts = [words(12, 24, "x", "head"), words(_x(n), 24, "result", "head", "end" if n > 1 else "start")]
    for i in range(n):
        count = len(arcs[i])
        for a, (derivative, _, _) in enumerate(arcs[i]):
            lift = 0 if count == 1 else 62 - 124 * a / (count - 1)
            x0, x1 = _x(i) + 9, _x(i + 1) - 9
            on = all_paths or (current is not None and current[i] == a)
            lit = on or i >= n + 1 - visited
            path = f"M{x0} {JOINT}Q{(x0 + x1) / 2} {JOINT - lift * 1.35:.0f} {x1} {JOINT}"
            parts.append(f'<path d="{path}" class="al-l al-l-{"grad" if lit else "line"}"/>')
            text = number(derivative, 2)
            parts.append(words((x0 + x1) / 2, JOINT - lift * 0.68 + (-7 if lift >= 0 else 18), text, "grad" if lit else "note", "middle"))
    for i in range(n + 1):
        seen = i > n - visited
        joint = f'<circle cx="{_x(i)}" cy="{JOINT}" r="9" class="al-cell al-k-{"grad" if seen else "leaf"}"/>'
        action = NEXT_JOINT if i == n - visited else NEXT_PATH if i == 0 else ""
        if i == n == n - visited:  # the result is pulled onto the plus, or back onto the joint before it
            onto = {"more": MORE} if room else {}
            onto |= {"less": LESS} if n > 1 else {}
            arrows = {key: onto[drop] for key, drop in (("ArrowRight", "more"), ("ArrowLeft", "less")) if drop in onto}
            parts.append(chart.draggable([_hit(i), joint], action, onto, action, "result", arrows))
        else:
            joint = chart.pressable([_hit(i), joint], action=action, label=action, key=f"joint {i}") if action else joint
            parts.append(chart.drop(joint, "less") if i == n - 1 else joint)
        parts.append(words(_x(i), JOINT + 88, number(joints[i], 2), "value", "middle"))
        if seen:
            parts.append(words(_x(i), JOINT + 112, number(grads[i], 2), "grad", "middle"))
    if room:
        x, y = (_x(n), JOINT - 54) if n == ROW else (_x(n + 1), JOINT)  # at the end of a row it is above the result
        more = f'<circle cx="{x}" cy="{y}" r="9" class="al-cell al-k-empty"/>' + words(x, y + 5, "+", "", "middle")
        parts.append(chart.pressable(chart.drop(_circle(x, y) + more, "more"), action=MORE, label=MORE))
    return parts


def _hit(joint):
    return _circle(_x(joint), JOINT)


def _circle(x, y):
    return f'<circle cx="{x}" cy="{y}" r="16" class="al-hit"/>'


def _sentence(state, count, ways, products, gradient, grads, joints, nodes, in_all):
    n, way, k = state
    total = count**n
    if way == "joints":
        if k == n + 1:
            return (
                f"Back at x: {_many(nodes, 'node')}, each visited once, give x.grad = {number(gradient)}, as all {_many(total, 'path')} do."
            )
        at = n + 1 - k
        if k == 1:
            return "The gradient of the result is 1. The sweep goes back from here, one joint after another."
        return (
            f"Joint {at} adds what arrives along {_many(count, 'path')}: its gradient is {number(grads[at])}. "
            "All that comes before it needs this one sum only."
        )
    if not k:
        leads = f"{total} paths lead" if total > 1 else "1 path leads"
        return f"{_many(n, 'block')} of {_many(count, 'path')} each: {leads} from the result to x. Follow them, or visit each node once."
    if k < total:
        return f"Path {k} of {total}: the product of its derivatives is {number(products[-1])}; the sum so far is {number(sum(products))}."
    if total == 1:
        return f"The only path: the product along it is {number(sum(products))}, and x.grad by backward() is {number(gradient)}."
    return f"All {total} paths: their products add to {number(sum(products))}, and x.grad by backward() is {number(gradient)}."


__all__ = ["paths", "residual_block"]
