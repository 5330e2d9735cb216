"""The explorable of gradients of expectations: the score function against reparameterisation, as two clouds of estimates."""

from functools import cache
from math import sqrt

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, words
from autolab.draw.curves import sample
from autolab.trace.values import number
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, choice, slider
from autolab.widgets.real_numbers import of_real_numbers

CLOUD = 400  # estimates in a cloud
BIN = 8  # pixels
NODES = 4001  # of the quadrature, over eight standard deviations to either side
TILE, TOPS, TALL = 296, (34, 178), 96  # of the two clouds: where they begin, and how high they are
MUS = tuple(k / 4 for k in range(-6, 7))
SHOWN = 8  # samples that are drawn
LANES, TALLEST = (316, 356), 18  # of what they add: where its zeros are, and pixels of what is large or larger
METHODS = ("score function", "c"), ("reparameterisation", "b")
BASELINES = "none", "mean of f"
CODE = """normal = torch.distributions.Normal(mu, sigma)
x = normal.sample((n,)); (normal.log_prob(x) * (f(x) - baseline)).mean().backward()  # score function
f(normal.rsample((n,))).mean().backward()  # reparameterisation"""


def square(x):
    """A smooth function."""
    return x**2


def step(x):
    """0 below 0 and 1 above: its slope is 0 wherever it has one."""
    return (torch.sign(x) + 1) / 2


def ripples(x):
    """A line with small waves, whose slopes are large."""
    return x + torch.sin(8 * x)


@of_real_numbers
def expectation_gradients(f=None, mus=MUS, sigmas=(0.5, 0.7, 1.0), samples=(4, 32), seed=0):
    """Two ways to estimate the gradient, with respect to mu, of the mean of f(x) for x from the normal distribution N(mu, sigma).

    The score function averages `(f(x) - baseline) * d log p(x) / d mu`, reparameterisation averages `df(x) / d mu` for
    `x = mu + sigma * noise`.

    Parameters
    ----------
    f : function or list of function, optional
        Of a Tensor, number by number. By default a square, a step and ripples. Where `f` has no gradient, that of reparameterisation is 0.
    mus, sigmas : tuple of float
        The stops of two handles: one moves the density, the other one widens it.
    samples : tuple of int
        How many samples an estimate may take, the stops of another slider.
    seed : int
        Of the noise; every position has the same.

    Returns
    -------
    Panel
        Both clouds are of 400 estimates from the same samples. Eight samples are drawn on f; the bars below say what each adds to an
        estimate. The true gradient is computed by quadrature.

    Raises
    ------
    TypeError
        If `f` does not return a Tensor.
    RuntimeError
        If its result has another shape than its argument.
    ValueError
        If a sigma is not above 0, or a number of samples below 1.

    Examples
    --------
    >>> panel = expectation_gradients(lambda x: 3 * x, mus=(0.0, 1.0), sigmas=(1.0,), samples=(4,))
    >>> panel.rows[2]
    ['reparameterisation', '3', '0', '0']
    """
    functions = [square, step, ripples] if f is None else list(f) if isinstance(f, list | tuple) else [f]
    functions = {function_name(one): one for one in functions}
    mus, sigmas, samples = (sorted(set(stops)) for stops in (mus, sigmas, samples))
    if sigmas[0] <= 0 or samples[0] < 1:
        raise ValueError(f"sigma must be above 0 and samples at least 1; the lowest here are {sigmas[0]:g} and {samples[0]:g}")
    samples_of = cache(lambda f, mu, sigma: _samples(functions[f], mu, sigma, seed))
    known = {name: _setting(name, one, mus, sigmas, samples, seed, samples_of) for name, one in functions.items()}

    def make(f, mu, sigma, samples, baseline):
        axes, clouds, frame, shared, largest = known[f]
        mean, true = _quadrature(functions[f], mu, sigma)
        baseline = 0.0 if baseline == BASELINES[0] else mean
        found = _estimates(functions[f], mu, sigma, int(samples), seed, baseline)
        parts = [frame, _density(axes, mu, sigma, sigmas[0]), shared]
        parts += [_cloud(clouds, e, top, kind) for e, top, (_, kind) in zip(found, TOPS, METHODS)]
        parts += [f'<path d="M{clouds.x(true):.1f} {top}v{TALL}" class="al-l al-l-grad"/>' for top in TOPS]
        parts += _drawn(axes, samples_of(f, mu, sigma), baseline, largest)
        parts.append(chart.handle(axes.x(mu), axes.top + axes.height, "mu", label="mu"))
        parts.append(chart.handle(*_flank(axes, mu, sigma, sigmas[0]), "sigma", label="sigma"))
        rows = [["true gradient", number(true, 4), "", ""]]
        rows += [[name, number(e.mean(), 3), number(e.std(), 2), number(e.var(), 2)] for e, (name, _) in zip(found, METHODS)]
        return Frame(_sentence(mu, sigma, samples, baseline, true, *found), parts, rows, CODE)

    controls = [
        choice("f", list(functions)), slider("mu", mus, start=1.0), slider("sigma", sigmas, start=1.0),
        slider("samples", samples, [str(n) for n in samples], start=samples[0], label="samples"),
        choice("baseline", list(BASELINES)),
    ]  # fmt: skip
    axes = next(iter(known.values()))[0]
    tracks = {"mu": [axes.x(m) for m in mus], "sigma": [axes.x(s) for s in sigmas]}
    columns = ["Gradient", "Mean", "Standard deviation", "Variance"]
    return Panel(
        "Gradient of an expectation: two clouds of estimates", controls, make, columns, (2 * TILE, 406), breaks=[TILE], tracks=tracks
    )


def _estimates(f, mu, sigma, samples, seed, baseline):
    """400 estimates by the score function and as many by reparameterisation, from the same samples."""
    with torch.random.fork_rng(), np.errstate(all="ignore"):
        torch.manual_seed(seed)
        loc = torch.full((CLOUD,), mu, dtype=torch.float64, requires_grad=True)
        normal = torch.distributions.Normal(loc, sigma)
        x = normal.rsample((samples,))
        y = f(x)
        weighted = normal.log_prob(x.detach()) * (y.detach() - baseline)
        (score,) = torch.autograd.grad(weighted.mean(0).sum(), loc)
        if not y.requires_grad:
            return score.numpy(), np.zeros(CLOUD)
        (path,) = torch.autograd.grad(y.mean(0).sum(), loc)
    return score.numpy(), path.numpy()


def _quadrature(f, mu, sigma):
    """The mean of f and its gradient, by the midpoint rule."""
    loc = torch.tensor(mu, dtype=torch.float64, requires_grad=True)
    x = torch.linspace(mu - 8 * sigma, mu + 8 * sigma, NODES, dtype=torch.float64)
    with torch.no_grad():
        y = f(x)
    mean = (y * torch.distributions.Normal(loc, sigma).log_prob(x).exp()).sum() * (x[1] - x[0])
    return tuple(round(v.item(), 9) + 0.0 for v in (mean, *torch.autograd.grad(mean, loc)))  # what is 0 is not shown as 1e-17


def _setting(name, f, mus, sigmas, samples, seed, samples_of):
    """The axes of f and of the clouds, and what of the picture is the same for all positions of a function."""
    _check(name, f)
    reach = 1.5 * sigmas[-1]
    xlim = mus[0] - reach, mus[-1] + reach
    with torch.no_grad(), np.errstate(all="ignore"):
        xs, ys, _ = sample(lambda x: (f(torch.tensor(x, dtype=torch.float64)).item(),), *xlim)
        ys = ys[:, 0]
    axes = Axes(xlim, chart.span(ys), (0, 0), (TILE, 300), ("x", ""), "f, density of x")
    widest = np.concatenate([np.concatenate(_estimates(f, mu, sigma, samples[0], seed, 0.0)) for mu in mus for sigma in sigmas])
    trues = [_quadrature(f, mu, sigma)[1] for mu in mus for sigma in sigmas]
    clouds = Axes(chart.span(np.percentile(widest, [2, 98]), trues), (0, 1), (TILE, 0), (TILE, 300))
    shared = axes.line(xs, ys, "a")
    shared += words(12, 396, "Which is wider? Which is right?", "note")
    for y, word in zip(LANES, ("score", "slope")):
        shared += words(12, y + 5, word) + f'<path d="M{axes.left} {y}h{axes.width}" class="al-grid"/>'
    for top, (title, _) in zip(TOPS, METHODS):
        shared += words(TILE + 12, top - 10, title, "head")
        shared += f'<rect x="{clouds.left}" y="{top}" width="{clouds.width}" height="{TALL}" class="al-axes"/>'
    for tick in chart.ticks(*clouds.xlim, 3):
        shared += words(clouds.x(tick), TOPS[1] + TALL + 36, chart.short(tick, 3), "note", "middle")
    shared += chart.legend(TILE + 62, 332, [("grad", "true gradient")]) + words(TILE + 62, 357, "end bars count all beyond", "note")
    adds = [np.abs(_adds(samples_of(name, mu, sigma), 0.0)).max() for mu in mus for sigma in sigmas]
    return axes, clouds, axes.frame(), shared, max(np.median(adds), 1e-12)


def _check(name, f):
    y = f(torch.zeros((2, 3), dtype=torch.float64))
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"{name} returned {type(y).__name__}; it must return a Tensor computed from its argument")
    if y.shape != (2, 3):
        raise RuntimeError(
            f"{name} of a tensor of shape [2, 3] has shape {list(y.shape)}; it must work number by number and keep the shape"
        )


def _density(axes, mu, sigma, least):
    """The density of N(mu, sigma) on the lower edge, as high as its share of the narrowest one."""
    xs = np.clip(mu + sigma * np.linspace(-3, 3, 25), *axes.xlim)
    tall = 0.4 * axes.height * least / sigma * np.exp(-(((xs - mu) / sigma) ** 2) / 2)
    foot = axes.top + axes.height
    line = "".join(f"L{axes.x(x):.0f} {foot - t:.0f}" for x, t in zip(xs, tall))
    return chart.keyed("density", f'<path d="M{axes.x(xs[0]):.0f} {foot}{line}V{foot}z" fill-opacity=".6" class="al-cell al-k-c"/>')


def _flank(axes, mu, sigma, least):
    """Where a standard deviation right of the mean meets the density; left of it where there is no room."""
    x = mu + sigma if mu + sigma < axes.xlim[1] else axes.xlim[1]
    return axes.x(x), axes.top + axes.height - 0.4 * axes.height * least / sigma * np.exp(-(((x - mu) / sigma) ** 2) / 2)


def _samples(f, mu, sigma, seed):
    """Some samples: x, f(x), the slope of log p, and that of f, both with respect to mu. All have the same noise."""
    with torch.random.fork_rng(), np.errstate(all="ignore"):
        torch.manual_seed(seed)
        loc = torch.full((CLOUD,), mu, dtype=torch.float64, requires_grad=True)
        normal = torch.distributions.Normal(loc, sigma)
        x = normal.rsample((SHOWN,))[:, 0]
        y = f(x)
        scores = normal.log_prob(x.detach()[:, None])[:, 0]
        score = [torch.autograd.grad(s, loc, retain_graph=True)[0][0].item() for s in scores]
        slope = [torch.autograd.grad(v, loc, retain_graph=True)[0][0].item() if y.requires_grad else 0.0 for v in y]
    return np.array([x.tolist(), y.tolist(), score, slope])


def _adds(samples, baseline):
    """What each sample adds to an estimate by the score function and by reparameterisation."""
    _, y, score, slope = samples
    return np.array([(y - baseline) * score, slope])


def _drawn(axes, samples, baseline, largest):
    """Samples on f, and below the axis what each adds to an estimate, as bars up and down."""
    samples = np.array([*samples[:2], *_adds(samples, baseline)])
    inside = [one for one in samples.T if axes.left <= axes.x(one[0]) <= axes.left + axes.width]
    bars = ""
    for lane, (_, kind) in enumerate(METHODS):
        for x, _, *adds in inside:
            tall = round(TALLEST * float(np.clip(adds[lane] / largest, -1, 1)))
            place = f'x="{axes.x(x) - 3:.0f}" y="{LANES[lane] - max(tall, 0)}" width="6" height="{abs(tall)}"'
            bars += f'<rect {place} class="al-cell al-k-{kind}"/>' if tall else ""
    yield bars
    for k, (x, y, *_) in enumerate(inside):
        yield chart.keyed(f"sample {k}", chart.mark(axes.x(x), axes.y(y), "a", 5))


def _cloud(axes, estimates, top, kind):
    """A histogram of the estimates; what is outside is counted at the ends. Below it, the mean and a standard deviation to either side."""
    counts = np.histogram(np.clip(estimates, *axes.xlim), axes.width // BIN, tuple(axes.xlim))[0]
    heights = [0, *(3 * np.ceil(counts * (TALL // 3 - 2) / counts.max())).astype(int)]
    steps = "".join(f"v{a - b}h{BIN}" if a != b else f"h{BIN}" for a, b in zip(heights, heights[1:])) + f"v{heights[-1]}"
    mean, spread = estimates.mean(), estimates.std()
    low, high = (axes.x(v) for v in np.clip([mean - spread, mean + spread], *axes.xlim))
    y = top + TALL + 9
    return (
        f'<path d="M{axes.left} {top + TALL}{steps}" class="al-cell al-k-{kind}"/>'
        f'<path d="M{low:.0f} {y}H{high:.0f}" class="al-l al-l-{kind}"/>'
        + chart.mark(axes.x(float(np.clip(mean, *axes.xlim))), y, kind, 4)
        + words(axes.left + axes.width, top - 10, f"± {number(spread, 2)}", "note", "end")
    )


def _sentence(mu, sigma, samples, baseline, true, score, path):
    where = f"mu = {number(mu, 3)}, sigma = {number(sigma, 3)}, {samples:.0f} samples{f', baseline {number(baseline, 3)}' * bool(baseline)}"
    told = f"{where}: the true gradient is {number(true, 3)}. Score function: {number(score.mean(), 3)} ± {number(score.std(), 2)}; "
    told += f"reparameterisation: {number(path.mean(), 3)} ± {number(path.std(), 2)}. "
    if abs(path.mean() - true) > 5 * path.std() / sqrt(CLOUD) + 1e-3 * max(abs(true), sigma):
        why = "the slope of f is 0 at every sample" if not path.any() else "f jumps, and no slope tells it"
        told += f"Reparameterisation is wrong, and its spread does not tell: {why}."
        return f"{told} The score function needs no slope, and is right on average."
    if path.var() < 1e-20:
        return f"{told}The slope of f is the same at every sample, and so is what reparameterisation returns."
    ratio = score.var() / path.var()
    wider = "The score function" if ratio > 1 else "Reparameterisation"
    factor = number(max(ratio, 1 / ratio), 2)
    return f"{told}{wider} has {factor} times the variance: it needs {factor} times the samples for the same spread."


__all__ = ["expectation_gradients", "ripples", "square", "step"]
