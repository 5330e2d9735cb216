"""The explorable of vmap: a loop over samples folds into an axis."""

import inspect
from functools import cache

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.trace.values import shape_text
from autolab.widgets.functions import function_name
from autolab.widgets.listing import run_both
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers
from autolab.widgets.vmap_picture import (
    APART,
    MOST_NUMBERS,
    ROW,
    TILE,
    TOP,
    axis_columns,
    check_lines,
    flights,
    fold_tracks,
    gradients,
    hands,
    inputs,
    largest,
    listing,
    loop_rows,
)  # fmt: skip

MOST_SAMPLES = 6


def squared_error(w, x, y):
    """The loss of one sample."""
    return (w @ x - y) ** 2


@of_real_numbers
def loop_to_vmap(f=squared_error, args=None, in_dims=None):
    """A loop over samples becomes an axis: the same table of numbers, filled row by row by the loop and column by column by `vmap`.

    Parameters
    ----------
    f : function
        Of one sample; takes Tensors and returns a Tensor. If it returns a single number, the last steps show `vmap(grad(f))`.
    args : tuple of Tensor, optional
        The arguments for all samples, with the samples along axis 0. Without them, four samples of `w` (3,), `x` (3,) and `y` ().
    in_dims : list of tuple, optional
        What can be chosen for `in_dims`: for each argument 0, 1 (it is given transposed), or None (all share that of sample 0).
        By default each argument is shared once.

    Returns
    -------
    Panel
        Operations are counted by the engine, in the loop (with selecting and stacking) and in `vmap`. The number of the first argument's
        first entry can be dragged.

    Raises
    ------
    ValueError
        For more than 6 samples, more than 6 operations, or a tensor of more than 8 numbers for a sample: a picture has no room for them.
        For arguments that do not have as many samples as the others.
    TypeError
        If `f` does not return a Tensor.

    Examples
    --------
    >>> panel = loop_to_vmap().move(step=6)
    >>> panel.sentence
    'v1 = w · x, once for all 4 samples: f sees shape [], the engine computes [4]. It runs mv; 1 operation so far.'
    """
    args = _default_args() if args is None else [torch.as_tensor(a).detach().double() for a in args]
    names = _names(f, len(args))
    size = _check(names, args)
    choices = _choices(args) if in_dims is None else [tuple(dims) for dims in in_dims]
    _check_dims(choices, args, names)
    own = args[0].reshape(-1)[0].item()
    stops = [own - 1, own, own + 1]

    @cache
    def runs(dims, first):
        changed = args[0].clone()
        changed.reshape(-1)[0] = first
        batch = [changed, *args[1:]]
        shaped = [a[0] if d is None else a.transpose(0, 1) if d else a for a, d in zip(batch, dims)]
        plain = run_both(f, names, shaped, dims, size)
        if plain.out.ndim != 1:
            return plain, None, None
        leaf = shaped[0].clone().requires_grad_()
        torch.func.vmap(f, in_dims=dims)(leaf, *shaped[1:]).sum().backward()
        return plain, run_both(torch.func.grad(f), names, shaped, dims, size), leaf.grad.numpy() + 0.0

    @cache
    def cost(dims):
        """What one sample more costs: the loop, and vmap."""
        gradient = runs(dims, own)[1]
        fewer = [a if d is None else a.narrow(d, 0, size - 1) for a, d in zip(gradient.args, dims)]
        less = run_both(torch.func.grad(f), names, fewer, dims, size - 1)
        return gradient.loop_counts[-1] - less.loop_counts[-1], len(gradient.ran) - len(less.ran)

    first = runs(choices[0], own)
    count = len(first[0].lines)
    check_lines(function_name(f), first[0].lines)
    scale = max(largest(run) for dims in choices for v in stops for run in runs(dims, v)[:2] if run is not None)
    folded, ended = size + 1, size + 1 + count
    tall = max(inputs(names, runs(dims, own)[0].args, dims, None, 1.0)[1] for dims in choices)
    height = max(TOP + size * (ROW + APART) + 22 * count + 20, tall + 40)

    def make(in_dims, first, step):
        dims, step = choices[labels.index(in_dims)], int(step)
        run, gradient, summed = runs(dims, first)
        sample = step - 1 if 0 < step <= size else None
        parts, _ = inputs(names, run.args, dims, sample, scale)
        parts.append(chart.scale_legend(12, tall, -scale, scale))
        if step > ended:
            shown, flown = gradient, []
            parts += listing(gradient) + gradients(gradient, summed if step > ended + 1 else None, dims, scale)
            said = _gradient_said(names[0], dims, gradient, summed, step == ended + 1, cost(dims) if size > 1 else None)
        else:
            shown, flown = run, flights(run, sample, step - folded - 1)
            parts += loop_rows(run, sample, step, scale) + axis_columns(run, step - folded, scale) + hands(run, step)
            said = _said(f, names, dims, run, step)
        rows = [[n.text, shape_text(n.shape), shape_text(n.inside), n.told()] for n in shown.lines]
        rows.append(["operations: loop, vmap", str(shown.loop_counts[-1]), str(len(shown.ran))])
        rows.append(["results", str(np.round(shown.out + 0.0, 4).tolist())])
        focus = (TILE * (1 + (step > size)), 0, TILE, height) if step else None
        return Frame(said, parts, rows, _code(names, dims, size, step > ended), flights=flown, focus=focus)

    last = ended + 2 * (first[1] is not None)
    labels = [str(dims) for dims in choices]
    entry = names[0] + str([0] * (args[0].dim() - 1)) * (args[0].dim() > 1)
    controls = [choice("in_dims", labels), slider("first", stops, start=own, label=entry), timeline(last)]
    return Panel(
        f"A loop becomes an axis: vmap of {function_name(f)}", controls, make, ["Operation", "One sample", "With the axis", "vmap runs"],
        (3 * TILE, height), breaks=[TILE, 2 * TILE], tracks=fold_tracks(size, first[0].lines, last),
    )  # fmt: skip


# -- arguments -------------------------------------------------------------------------------------


def _default_args():
    w = [[1.0, 2.0, -1.0], [0.0, 1.0, 1.0], [2.0, -1.0, 0.0], [-1.0, 0.0, 1.0]]
    x = [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [2.0, 1.0, 0.0], [-1.0, 1.0, 1.0]]
    return [torch.tensor(v, dtype=torch.float64) for v in (w, x, [1.0, 1.0, 2.0, -1.0])]


def _names(f, count):
    try:
        names = list(inspect.signature(f).parameters)[:count]
    except (TypeError, ValueError):  # a function without a signature
        names = []
    return names + [f"a{k}" for k in range(len(names), count)]


def _choices(args):
    """The first argument shared, and the other way round, and the second one given transposed if it has an axis more."""
    count = len(args)
    if count == 1:
        return [(0,)] + [(1,)] * (args[0].dim() > 1)
    turned = [(None, 1, *[0] * (count - 2))] * (args[1].dim() > 1)
    return [(None, *[0] * (count - 1)), *turned, (0, *[None] * (count - 1))]


def _check(names, args):
    sizes = {name: (a.shape[0] if a.dim() else None) for name, a in zip(names, args)}
    if not args or None in sizes.values() or len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {shape_text(a.shape)}" for name, a in zip(names, args))
        raise ValueError(f"loop_to_vmap takes all arguments with the samples along axis 0, as many in each; it got {told or 'none'}")
    for name, a in zip(names, args):
        if a.shape[0] > MOST_SAMPLES or a.dim() > 2 or a[0].numel() > MOST_NUMBERS:
            room = f"the picture has room for {MOST_SAMPLES} samples of up to {MOST_NUMBERS} numbers in a vector"
            raise ValueError(f"{room}; {name} has shape {shape_text(a.shape)}")
    return args[0].shape[0]


def _check_dims(choices, args, names):
    for dims in choices:
        right = len(dims) == len(args) and all(d is None or d in range(a.dim()) for d, a in zip(dims, args))
        if not right or all(d is None for d in dims):
            told = ", ".join(f"{name} {shape_text(a.shape)}" for name, a in zip(names, args))
            raise ValueError(f"in_dims {dims} does not fit the arguments {told}: it needs 0, 1 or None for each, and not None for all")


# -- words -----------------------------------------------------------------------------------------


def _code(names, dims, size, grad):
    f = "grad(f)" if grad else "f"
    return (
        f"torch.stack([{f}({_picked(names, dims, 'i')}) for i in range({size})])\ntorch.func.vmap({f}, in_dims={dims})({', '.join(names)})"
    )


def _operations(k):
    return f"{k} operation{'' if k == 1 else 's'}"


def _picked(names, dims, i):
    """What the loop calls f with."""
    return ", ".join(n if d is None else f"{n}[{i}]" if d == 0 else f"{n}[:, {i}]" for n, d in zip(names, dims))


def _said(f, names, dims, run, step):
    size, loop = len(run.loop), run.loop_counts[-1]
    if not step:
        shapes = ", ".join(f"{n} {shape_text(a.shape if d is None else a.select(d, 0).shape)}" for n, a, d in zip(names, run.args, dims))
        return (
            f"{function_name(f)} is written for one sample ({shapes}): {_operations(len(run.lines))}. There are {size} samples. "
            "How many operations will a loop run, and how many vmap? Pull the ring down, over the rows."
        )
    if step <= size:
        ran = _operations(run.loop_counts[step - 1])
        return (
            f"Sample {step - 1}: the loop calls f({_picked(names, dims, step - 1)}) and fills one row. {ran} so far; selecting is one too."
        )
    if step == size + 1:
        return f"The loop stacks its results: {size} rows become one axis, after {_operations(loop)}. vmap begins with that axis."
    line = run.lines[step - size - 2]
    said = (
        f"{line.text}, once for all {size} samples: f sees shape {shape_text(line.shape)}, the engine computes {shape_text(line.inside)}. "
    )
    said += f"It runs {line.told() or 'nothing'}; {_operations(len(line.ran))} so far."
    return said if line is not run.lines[-1] else f"{said} The loop ran {loop}; the results differ by at most {run.apart:.1g}."


def _gradient_said(name, dims, run, summed, first, cost):
    if first:
        return (
            f"The gradient with respect to {name} for each sample: vmap(grad(f)) runs {_operations(len(run.ran))} and gives shape "
            f"{shape_text(run.out.shape)}; a loop of grad(f) runs {run.loop_counts[-1]}."
        )
    more = f" One sample more costs the loop {_operations(cost[0])}, and vmap {cost[1]}." if cost else ""
    if dims[0] is not None:
        return f"Each sample has its own {name} here, so backward() of the summed losses keeps them apart as well.{more}"
    return (
        f"backward() of the summed losses gives {shape_text(summed.shape)}, the sum of the rows: which sample wanted what is lost. "
        f"vmap(grad(f)) keeps them apart.{more}"
    )


__all__ = ["loop_to_vmap", "squared_error"]
