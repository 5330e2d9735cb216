"""The capstone, milestone 8: embeddings, layer norm and Adam, and a GPT that learns."""

from __future__ import annotations

import numpy as np

from .live_module import numbers, set_numbers
from .ps_capstone_scene import program_scene, upstream, weighted
from .ps_capstone_training import three_steps
from .scenes import Behaviour, Data, Slip, arrays
from .tiny_gpt import GPT

WORDS = np.array([[2, 0, 2], [1, 2, 0]])


def _embedding(engine, table) -> Data:
    layer = engine.Embedding(5, 3, np.random.default_rng(0))
    set_numbers(layer.weight, table)
    out = layer(WORDS)
    weighted(engine, out).backward()
    return {"result": numbers(out), "gradient": numbers(layer.weight.grad), "parameters": len(layer.parameters())}


def _fresh_embedding(engine) -> Data:
    weight = np.asarray(numbers(engine.Embedding(200, 40, np.random.default_rng(1)).weight))
    return {"shape": weight.shape, "width": bool(abs(weight.std() - 0.02) < 0.001), "centred": bool(abs(weight.mean()) < 0.001)}


def _norm(engine, x, weight, bias) -> Data:
    layer = engine.LayerNorm(6)
    begins = [numbers(layer.weight), numbers(layer.bias)]
    set_numbers(layer.weight, weight)
    set_numbers(layer.bias, bias)
    x = engine.Tensor(x, requires_grad=True)
    out = layer(x)
    weighted(engine, out).backward()
    return {"begins": np.array(begins), "result": numbers(out), "x.grad": numbers(x.grad), "weight.grad": numbers(layer.weight.grad),
            "bias.grad": numbers(layer.bias.grad)}  # fmt: skip


def _normal(x, axis=-1, ddof=0, eps=1e-5) -> np.ndarray:
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True, ddof=ddof) + eps)


def _adam_with(first: bool, second: bool):
    """Two steps of Adam with some of its corrections left out."""

    def expect(w, a, b, c) -> Data:
        m, v, found = 0.0, 0.0, {}
        for k, g in enumerate((a, b), 1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            w = w - 0.05 * (m / (1 - 0.9**k) if first else m) / (np.sqrt(v / (1 - 0.999**k) if second else v) + 1e-8)
            found[f"after step {k}"] = w
        return found

    return expect


def _gpt(engine, seed) -> Data:
    rng = np.random.default_rng(int(seed))
    model = GPT(engine, 11, 8, 12, 2, 2, np.random.default_rng(0))
    parameters = model.parameters()
    for parameter in parameters:
        shape = np.shape(numbers(parameter))
        set_numbers(parameter, rng.normal(0, 0.3, shape) if len(shape) > 1 else numbers(parameter))
    text = np.cumsum(rng.integers(0, 3, (24, 9)), axis=1) % 11  # each letter is one of three that follow the last
    optimizer, losses = engine.Adam(parameters, lr=0.01), []
    for k in range(20):
        optimizer.zero_grad()
        loss = model.loss(text[4 * (k % 6) : 4 * (k % 6) + 4])
        loss.backward()
        optimizer.step()
        losses.append(float(numbers(loss)))
    return {"first loss": losses[0], "losses": np.array(losses)}


NEXT = Behaviour(
    "capstone_gpt",
    (
        program_scene(
            "embedding",
            _embedding,
            "rows for whole numbers",
            "weight[index] does all of it, if your tensors can.",
            1.5,
            arrays((5, 3)),
            slips=[
                Slip(
                    "overwritten",
                    "A letter that occurs twice receives one of its gradients only",
                    "np.add.at adds for each place.",
                    lambda table: {"gradient": _last_only()},
                )
            ],
        ),
        program_scene(
            "a fresh embedding",
            _fresh_embedding,
            "what it begins with",
            "rng.normal(0, 0.02, (n, d)).",
            0.5,
            says={"width": "the width of the distribution is 0.02", "centred": "its middle is 0"},
        ),
        program_scene(
            "layer norm",
            _norm,
            "layer norm and its gradients",
            "Mean and variance of each row depend on every x of it: let your own operations compute them.",
            3,
            arrays((5, 6), (6,), (6,)),
            slips=[
                Slip(
                    "axis",
                    "The mean runs over the batch and not along each row",
                    "Each row has mean 0 and variance 1.",
                    lambda x, w, b: {"result": _normal(x, 0) * w + b},
                ),
                Slip(
                    "constant",
                    "The variance is divided by n - 1",
                    "The variance is a mean of squares.",
                    lambda x, w, b: {"result": _normal(x, ddof=1) * w + b},
                ),
                Slip(
                    "term",
                    "1e-5 is missing, or added after the root",
                    "sqrt(variance + 1e-5)",
                    lambda x, w, b: {"result": _normal(x, eps=0) * w + b},
                ),
                Slip(
                    "term",
                    "The mean is not taken away before dividing",
                    "(x - mean) / ...",
                    lambda x, w, b: {"result": x / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * w + b},
                ),
                Slip(
                    "term",
                    "The gradient of x takes mean and variance for constants",
                    "They depend on every x of the row.",
                    lambda x, w, b: {"x.grad": upstream(x.shape) * w / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)},
                ),
            ],
        ),
        program_scene(
            "Adam",
            three_steps("Adam", lr=0.05),
            "three steps of Adam",
            "The first step is lr long for every parameter, whatever its gradient.",
            3,
            arrays((4,), (4,), (4,), (4,)),
            says={"without a gradient": "a parameter without a gradient"},
            slips=[
                Slip(
                    "missing",
                    "Neither average is corrected for its beginning at 0",
                    "Divide by 1 - beta ** steps.",
                    _adam_with(False, False),
                ),
                Slip(
                    "missing",
                    "The first average is not corrected for its beginning at 0",
                    "Divide by 1 - beta1 ** steps.",
                    _adam_with(False, True),
                ),
                Slip(
                    "missing",
                    "The second average is not corrected for its beginning at 0",
                    "Divide by 1 - beta2 ** steps.",
                    _adam_with(True, False),
                ),
                Slip(
                    "sign",
                    "The step goes uphill",
                    "The gradient points uphill.",
                    lambda w, a, b, c: {"after step 1": 2 * w - _adam_with(True, True)(w, a, b, c)["after step 1"]},
                ),
                Slip(
                    "constant",
                    "Steps are counted from 0, or never",
                    "The first step is step 1.",
                    lambda w, a, b, c: {
                        "after step 1": _adam_with(True, True)(w, a, b, c)["after step 1"],
                        "after step 2": _first_correction_only(w, a, b),
                    },
                ),
            ],
        ),
        program_scene(
            "a GPT",
            _gpt,
            "twenty steps of a GPT, the losses of autolab",
            "Is the first loss right? Then forward is: look at gradients and at Adam.",
            4,
            lambda rng: (np.array(rng.integers(1 << 30)),),
            rtol=1e-4,
        ),
    ),
)


def _last_only() -> np.ndarray:
    g, found = upstream((2, 3, 3)), np.zeros((5, 3))
    found[WORDS] = g
    return found


def _first_correction_only(w, a, b) -> np.ndarray:
    """Two steps that both correct as the first step does."""
    m, v = 0.0, 0.0
    for g in (a, b):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.05 * (m / 0.1) / (np.sqrt(v / 0.001) + 1e-8)
    return w
