"""The operations of problem set 13: draws whose noise is an input, so that each has a rule, and a divergence."""

from __future__ import annotations

import numpy as np

from autolab.engine.op import GENERAL, Op
from autolab.rules.elementwise import log1p_exp

from .exercises import LAYER, sigmoid, softmax, softmax_back
from .inputs import LARGE, ROW_PAIRS, draw
from .spec import Spec

SCALES = (0.3, 2.5)
SHARED = {"not summed": "Every draw uses the same parameter: what happens to the contributions of all draws?"}


def with_uniform(rng, shapes, settings):
    """Logits, and a uniform random number for each."""
    return draw(rng, shapes[0]), rng.random(shapes[1])


EXPECTATIONS = (
    Spec("normal_sample", Op("normal_sample", lambda loc, raw, noise: loc + log1p_exp(raw) * noise, GENERAL,
                             loc=lambda g: g.sum(axis=0), raw=lambda g, raw, noise: (g * noise).sum(axis=0) * sigmoid(raw)),
         points=LAYER, shapes=(((5,), (5,), (3, 5)), ((4,), (4,), (4, 4)), ((3,), (3,), (6, 3))), extreme={"raw": LARGE}, hints=SHARED),
    Spec("gaussian_kl", Op("gaussian_kl", lambda loc, scale, prior_loc, prior_scale: (
             np.log(prior_scale / scale) + (scale**2 + (loc - prior_loc) ** 2) / (2 * prior_scale**2) - 0.5).sum(axis=-1), GENERAL,
                           loc=lambda g, loc, prior_loc, prior_scale: g[..., None] * (loc - prior_loc) / prior_scale**2,
                           scale=lambda g, scale, prior_scale: g[..., None] * (scale / prior_scale**2 - 1 / scale),
                           prior_loc=lambda g, loc, prior_loc, prior_scale: g[..., None] * (prior_loc - loc) / prior_scale**2,
                           prior_scale=lambda g, loc, scale, prior_loc, prior_scale: g[..., None] * (
                               1 / prior_scale - (scale**2 + (loc - prior_loc) ** 2) / prior_scale**3)),
         points=LAYER, shapes=(((3, 5),) * 4, ((4, 4),) * 4), domain={"scale": SCALES, "prior_scale": SCALES}),
    Spec("gumbel_softmax", Op("gumbel_softmax", lambda logits, noise, *, tau: softmax((logits + noise) / tau), GENERAL,
                              logits=lambda g, logits, noise, tau: softmax_back(g, softmax((logits + noise) / tau)) / tau),
         settings=({"tau": 0.6}, {"tau": 1.7}), shapes=ROW_PAIRS, extreme={"logits": LARGE}),
    Spec("straight_through", Op("straight_through", lambda logits, u: (u < sigmoid(logits)).astype(logits.dtype), GENERAL,
                                logits=lambda g, logits: g * sigmoid(logits) * (1 - sigmoid(logits))),
         shapes=ROW_PAIRS, make=with_uniform, surrogate=True),
)  # fmt: skip
