"""Problem set 13: estimators of gradients from draws. What they give on average is found by playing every outcome."""

from __future__ import annotations

import itertools

import numpy as np

from ..run.exercises import softmax
from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, arrays, pair


def _drawn(count):
    """Logits of four classes, as many draws as `count`, and what they paid."""
    return lambda rng: (draw(rng, (4,)) / 2, rng.permutation(np.resize(np.arange(3), count)), draw(rng, (count,), 1, 9))


def _scores(logits, drawn) -> np.ndarray:
    return np.eye(len(logits))[drawn] - softmax(logits)


def _others(payoffs) -> np.ndarray:
    """The mean of all other payoffs, for each."""
    return (payoffs.sum() - payoffs) / (len(payoffs) - 1)


def _estimate(weigh, total=np.mean):
    """An estimate that weighs each score with `weigh(payoffs)`."""
    return lambda logits, drawn, payoffs: {"gradient": total(weigh(payoffs)[:, None] * _scores(logits, drawn), axis=0)}


def _gradient(f, logits, drawn, payoffs) -> Data:
    return {"gradient": f(logits, drawn, payoffs)}


def _average(f, logits, values) -> Data:
    """The mean of what f gives over all pairs of draws, each with its probability."""
    p, total = softmax(logits), np.zeros_like(logits)
    for a, b in itertools.product(range(len(p)), repeat=2):
        total = total + p[a] * p[b] * np.asarray(f(logits.copy(), np.array([a, b]), values[[a, b]]), float)
    return {"average": total}


def _truth(logits, values) -> np.ndarray:
    p = softmax(logits)
    return p * (values - p @ values)


OTHERS = "The baseline of a draw is the mean of the other payoffs: how many are they?"
SLIPS = (
    Slip("own payoff", "The baseline is the mean of all payoffs, the draw's own among them", OTHERS, _estimate(lambda f: f - f.mean())),
    Slip("no baseline", "There is no baseline: each score is multiplied by the whole payoff", "Which number is taken off each payoff?",
         _estimate(lambda f: f)),
    Slip("constant", "The mean of the others is divided by n, not by n - 1", OTHERS,
         _estimate(lambda f: f - (f.sum() - f) / len(f))),
    Slip("not divided", "The estimates of the draws are added up, not averaged", "An estimate from more draws is no larger.",
         _estimate(lambda f: f - _others(f), np.sum)),
    Slip("sign", "The sign is turned round: this would make what pays well less probable", "Which way does log p of the drawn class grow?",
         _estimate(lambda f: _others(f) - f)),
    Slip("baseline only", "The scores are multiplied by the baseline alone", "Payoff minus baseline.", _estimate(_others)),
)  # fmt: skip
LEAVE_ONE_OUT = Behaviour("leave_one_out", (
    Scene("two draws", _gradient, _estimate(lambda f: f - _others(f)), "each is the other's baseline",
          "Write down both estimates on paper; the baseline of the first is the payoff of the second.", 2, _drawn(2), slips=SLIPS),
    Scene("six draws", _gradient, _estimate(lambda f: f - _others(f)), "the mean of the other five", OTHERS, 3, _drawn(6), slips=SLIPS),
    Scene("on average", _average, lambda logits, values: {"average": _truth(logits, values)}, "right on average, over all nine outcomes",
          "Play all pairs of outcomes, each with its probability: the mean must be the derivative of the expected payoff.", 3,
          lambda rng: (draw(rng, (3,)) / 2, draw(rng, (3,), 1, 9)), slips=[
              Slip("biased", "On average this is half of the derivative: a payoff is in its own baseline", OTHERS,
                   lambda logits, values: {"average": _truth(logits, values) / 2}),
              Slip("not divided", "On average this is twice the derivative", "An estimate from more draws is no larger.",
                   lambda logits, values: {"average": 2 * _truth(logits, values)}),
              Slip("sign", "On average this is minus the derivative", "Which way does log p of the drawn class grow?",
                   lambda logits, values: {"average": -_truth(logits, values)})]),
    Scene("equal payoffs", lambda f, logits, drawn: _gradient(f, logits, drawn, np.full(len(drawn), 7.5)),
          lambda logits, drawn: {"gradient": np.zeros(4)}, "nothing to learn where all pay the same",
          "If every draw paid the same, no class is better than another.", 1, lambda rng: _drawn(5)(rng)[:2], side=True),
))  # fmt: skip


def _moments(g, h) -> tuple[float, float]:
    """The covariance of g and h, and the variance of h."""
    return ((g - g.mean()) * (h - h.mean())).mean(), ((h - h.mean()) ** 2).mean()


def _corrected(coefficient):
    """A slip: the estimate and the coefficient, as they are with another coefficient."""

    def expect(g, h, mean):
        c = coefficient(g, h, mean)
        return {"estimate": g.mean() - c * (h.mean() - mean), "c": c}

    return expect


def _best(g, h, mean=None) -> float:
    covariance, variance = _moments(g, h)
    return covariance / variance


def _controlled(f, g, h, mean) -> Data:
    return dict(zip(("estimate", "c"), pair(f(g, h, float(mean)), "the estimate and c"), strict=True))


def _related(rng):
    """An estimator and a quantity that goes with it, far from 0; the known mean of that."""
    h = draw(rng, (12,)) + 4
    return draw(rng, (12,)) + 0.7 * h, h, np.asarray(4.3 + rng.random())


WHICH = "c is the covariance of g and h over the variance of h."
CONTROL_VARIATE = Behaviour("control_variate", (
    Scene("value", _controlled, _corrected(_best), "the mean of g, corrected by what h is known to be off", WHICH, 4, _related, slips=[
        Slip("sign", "The correction is added, not subtracted", "If h came out too large, and g goes with h: is g too large or too small?",
             lambda g, h, mean: {"estimate": g.mean() + _best(g, h) * (h.mean() - mean), "c": _best(g, h)}),
        Slip("mean", "The known mean of h is not used", "Subtract c times (h minus its mean).",
             lambda g, h, mean: {"estimate": g.mean() - _best(g, h) * h.mean(), "c": _best(g, h)}),
        Slip("not divided", "The covariance is not divided by the variance", WHICH, _corrected(lambda g, h, mean: _moments(g, h)[0])),
        Slip("other variance", "The covariance is divided by the variance of g", WHICH,
             _corrected(lambda g, h, mean: _moments(g, h)[0] / g.var())),
        Slip("correlation", "c is the correlation, not cov / var", WHICH,
             _corrected(lambda g, h, mean: _moments(g, h)[0] / (g.std() * h.std()))),
        Slip("not centred", "The means are not taken off before multiplying: this is not a covariance",
             "cov(g, h) = mean of (g - mean g)(h - mean h).", _corrected(lambda g, h, mean: np.mean(g * h) / np.mean(h * h))),
        Slip("not centred", "The means are not taken off before g and h are multiplied: this is not a covariance",
             "cov(g, h) = mean of (g - mean g)(h - mean h).", _corrected(lambda g, h, mean: np.mean(g * h) / h.var())),
        Slip("degrees of freedom", "Covariance and variance are divided by different numbers, n - 1 and n",
             "np.cov divides by n - 1, np.var by n. Take both in the same way.", _corrected(lambda g, h, mean: _best(g, h) * 12 / 11)),
        Slip("no correction", "The estimate is the plain mean of g", "What is subtracted from it?",
             lambda g, h, mean: {"estimate": g.mean(), "c": _best(g, h)}),
        Slip("exchanged", "c comes first: the estimate and c are exchanged", "Return the estimate first.",
             lambda g, h, mean: {"estimate": _best(g, h), "c": g.mean() - _best(g, h) * (h.mean() - mean)})]),
    Scene("a straight line", lambda f, h: {"estimate": _controlled(f, 3 * h - 2, h, 4.5)["estimate"]}, lambda h: {"estimate": 11.5},
          "where g is a straight line in h, no error is left", "For g = 3h - 2 the right c is 3.", 2,
          lambda rng: (draw(rng, (7,)) + 4,)),
    Scene("of no use", lambda f, g: _controlled(f, g, np.full(5, 2.0), 2.0), lambda g: {"estimate": g.mean(), "c": 0.0},
          "an h that never changes corrects nothing", "What is the variance of a constant, and what happens when you divide by it?", 1,
          arrays((5,)), slips=[
              Slip("nan", "Without variance in h the result is not a number", "What is the variance of a constant?",
                   lambda g: {"estimate": np.nan, "c": np.nan})]),
))  # fmt: skip

EXPECTATION = (LEAVE_ONE_OUT, CONTROL_VARIATE)
