"""The explorable of softmax: every output depends on every input, and the rule needs no Jacobian."""

from functools import cache

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import rectangle, words
from autolab.trace.values import number, shape_text
from autolab.widgets.heat_maps import GAP, TILE, brief, factor, heat_map, middle
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers
from autolab.widgets.shapes import ring

MOST = 6  # logits that a picture has room for
STOPS = -2.0, 0.0, 2.0, 4.0  # of the logit that is dragged
CELL = 50, 30
LEFT, ZERO = 60, 58  # pixels: where the columns begin, and where a bar of a logit does
UNIT = 11  # of a bar, for 1
Z, P, J = 112, 154, 222  # from the top


@of_real_numbers
def softmax_backward(z=(2.0, 1.0, 0.0, -1.0), temperatures=(0.5, 1.0), target=1):
    """Backward through softmax: which logits a gradient of the probabilities reaches, with the Jacobian and without it.

    Parameters
    ----------
    z : tuple or Tensor
        From 2 to 6 logits between -4 and 4; the first one is dragged.
    temperatures : tuple of float
        The stops of a slider; p is softmax(z / temperature).
    target : int
        The class of the cross entropy.

    Returns
    -------
    Panel
        A choice of losses gives g, the gradient of p; each step is an entry of z.grad, and the last one is the rule p * (g - <g, p>).

    Raises
    ------
    ValueError
        If z is not a vector of 2 to 6 logits between -4 and 4, a temperature is not above 0, or there is no such target.

    Examples
    --------
    >>> panel = softmax_backward((0.0, 0.0)).move(step=2)
    >>> panel.sentence
    'z.grad[1] is g times column 1 of J: 1 × (-0.25) + 0 × 0.25 = -0.25. A larger z[1] lowers p[0], though the loss has no z[1] in it.'
    """
    start = torch.as_tensor(z, dtype=torch.float64).detach().clone()
    _check(start, temperatures, target)
    n = len(start)
    losses = {f"p[{k}]": lambda p, k=k: p[k] for k in (0,)} | {
        "sum of p": torch.sum,
        f"cross entropy, class {target}": lambda p: -torch.log(p[target]),
    }
    entropy = list(losses)[-1]
    lefts = [LEFT + k * CELL[0] for k in range(n)]
    low = J + n * CELL[1] + 14
    wide = max(lefts[-1] + CELL[0] + 2, TILE)

    @cache
    def computed(z0, temperature, loss):
        """z, p, g, J, z.grad, and the gradient of `cross_entropy` itself: all by the engine."""
        leaf = start.clone()
        leaf[0] = z0
        leaf.requires_grad_()
        p = torch.softmax(leaf / temperature, 0)
        g = torch.autograd.grad(losses[loss](p), p, retain_graph=True)[0]
        jacobian = torch.stack([torch.autograd.grad(p, leaf, unit, retain_graph=True)[0] for unit in torch.eye(n, dtype=torch.float64)])
        fused = torch.nn.functional.cross_entropy(leaf / temperature, torch.tensor(target))
        grads = torch.autograd.grad(p, leaf, g)[0], torch.autograd.grad(fused, leaf)[0]
        return [t.detach().numpy() for t in (leaf, p, g, jacobian, *grads)]

    def make(z0, temperature, loss, step):
        logits, p, g, jacobian, grad, fused = computed(z0, temperature, loss)
        step = int(step)
        column, ended = (step - 1 if 0 < step <= n else None), step > n
        steps = [[k + 1 for k in range(n)]]
        parts = [words(GAP, 24, "logits", "note"), *_bars(logits, lefts)]
        for name, y, values in (("z", Z, logits), ("p", P, p)):
            parts += [words(GAP, y + 19, name, "head"), *heat_map(LEFT, y, values, name, CELL, 1)]
        parts += [words(GAP, J - 12, "g", "head"), *heat_map(GAP, J, g[:, None], "g", CELL, 1)]
        parts.append(words(LEFT, J - 12, "J, never built" if ended else "J", "head"))
        parts += (
            [rectangle(x, J + i * CELL[1], CELL[0] - 2, CELL[1] - 2, "empty") for x in lefts for i in range(n)] if ended
            else heat_map(LEFT, J, jacobian, "J", CELL, 1)
        )  # fmt: skip
        known = [[k < step for k in range(n)]]
        parts.append(words(GAP, low + 19, "z.grad", "grad"))
        parts += heat_map(LEFT, low, grad, "z.grad", CELL, 1, "step", steps, known)
        parts.append(chart.scale_legend(LEFT, low + 38, -1, 1, True))
        if column is not None:
            parts += [ring(GAP, J, 0, 0, n, 1, CELL), ring(LEFT, J, 0, column, n, 1, CELL), ring(LEFT, low, 0, column, 1, 1, CELL)]
        parts += [words(wide + GAP, 24 + 24 * i, line, kind) for i, (line, kind) in enumerate(
            _lines(step, n, p, g, jacobian, grad, temperature, loss == entropy, target))]  # fmt: skip
        parts.append(chart.handle(lefts[0] + CELL[0] / 2, _height(z0), along_y="z0", label="z[0]"))
        flights = [
            chart.flight(brief(g[i] * jacobian[i, column]), middle(LEFT, J, i, column, CELL), middle(LEFT, low, 0, column, CELL), "grad")
            for i in range(n) if column is not None and g[i]
        ]  # fmt: skip
        rows = [["z", _listed(logits)], ["p", _listed(p)], ["g", _listed(g)], ["<g, p>", number(g @ p)],
                ["z.grad, by backward()", _listed(grad) if step else "not yet"],
                [f"by cross_entropy, class {target}", _listed(fused)]]  # fmt: skip
        said = _said(loss, column, ended, p, g, jacobian, grad, temperature, target, loss == entropy)
        return Frame(said, parts, rows, flights=flights)

    stops = sorted({*STOPS, float(start[0])})
    controls = [
        slider("z0", stops, start=start[0].item(), label="z[0]"), slider("temperature", sorted(temperatures), start=1.0),
        choice("loss", list(losses), label="Loss"), timeline(n + 1, label="Entry"),
    ]  # fmt: skip
    return Panel(
        "Backward through softmax", controls, make, ["What", "Numbers"], (wide + 280, low + 68), breaks=[wide],
        tracks={"z0": [_height(v) for v in stops]},
    )  # fmt: skip


def _check(z, temperatures, target):
    if z.dim() != 1 or not 2 <= len(z) <= MOST or not bool((z.abs() <= 4).all()):
        what = f"z has shape {shape_text(z.shape)}" + (f" and the numbers {z.tolist()}" if z.numel() <= MOST else "")
        raise ValueError(f"softmax_backward shows a vector of 2 to {MOST} logits between -4 and 4; {what}")
    if not min(temperatures, default=0) > 0:
        raise ValueError(f"temperatures must be above 0; they are {tuple(temperatures)}")
    if not 0 <= target < len(z):
        raise ValueError(f"target is {target}, expected a class from 0 to {len(z) - 1}")


def _height(value):
    return ZERO - UNIT * value


def _bars(logits, lefts):
    """The logits as bars from a line at zero."""
    parts = [f'<path d="M{LEFT} {_height(0):.1f}h{lefts[-1] + CELL[0] - LEFT}" class="al-axes"/>']
    for x, value in zip(lefts, logits):
        y = min(_height(value), _height(0))
        parts.append(rectangle(x + 18, y, 20, max(abs(value) * UNIT, 1), "leaf"))
    return parts


def _listed(values):
    return ", ".join(number(v, 3) for v in values)


def _lines(step, n, p, g, jacobian, grad, temperature, entropy, target):
    """What is beside the matrices, as (text, kind) of each line."""
    over = "" if temperature == 1 else f" / {number(temperature)}"
    if 0 < step <= n:
        k = step - 1
        return [(f"z.grad[{k}]", "head"), (f"g times column {k} of J", ""), (f"= {number(grad[k], 4)}", "grad")]
    if step > n:
        mean = g @ p
        terms = [(f"{brief(p[k])} × ({brief(g[k])} - {factor(mean, 2)}){over}", "") for k in range(n)]
        lines = [(f"p * (g - <g, p>){over}", "head"), (f"<g, p> = {number(mean, 4)}", ""), *terms]
        return lines + [("or p - onehot(class)" + over, "grad")] * entropy
    rule = [("p[i] × (1 - p[i]) if i = k", ""), ("-p[i] × p[k] if not", ""), *([(f"both{over}", "")] if over else [])]
    return [("J = diag(p) - p pᵀ", "head"), ("J[i, k]: what p[i] does", ""), ("when z[k] grows:", ""), *rule]


def _said(loss, column, ended, p, g, jacobian, grad, temperature, target, entropy):
    n, over = len(p), "" if temperature == 1 else f" over {number(temperature)}"
    if ended:
        rule = f"The engine computes z.grad as p * (g - <g, p>){over}: {n} numbers for {n}, and no J of {n * n}."
        if entropy:
            return f"{rule} For cross entropy that is p - onehot({target}){over}: g is {number(g[target], 3)}, and dividing by p cancels."
        if "sum" in loss:
            return f"{rule} The probabilities add to 1 whatever the logits are, so their sum has gradient 0."
        return f"{rule} The entries of z.grad add to 0: what one probability gains, the others lose."
    if column is None:
        asks = {"sum": "Every output has g = 1. How large is z.grad?", "cross": f"g is -1 / p[{target}] at class {target}, else 0."}
        ask = next((text for word, text in asks.items() if loss.startswith(word)), "Which logits receive a gradient?")
        shown = f"g is 1 for {loss}, 0 for the others. " if loss.startswith("p[") else ""
        return f"The loss is {loss}. {shown}{ask}{' And how large is it for the logits?' if entropy else ''}"
    terms = " + ".join(f"{factor(a)} × {factor(b, 2)}" for a, b in zip(g, jacobian[:, column]))
    said = f"z.grad[{column}] is g times column {column} of J: {terms} = {number(grad[column], 3)}."
    if loss.startswith("p[") and loss != f"p[{column}]":
        return f"{said} A larger z[{column}] lowers {loss}, though the loss has no z[{column}] in it."
    if entropy:
        return f"{said} That is p[{column}]{' - 1' if column == target else ''}{over}, the error of class {column}."
    return said


__all__ = ["softmax_backward"]
