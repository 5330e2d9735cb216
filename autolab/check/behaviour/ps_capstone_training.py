"""The capstone, milestones 3 and 4: layers and losses, and training on the digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.datasets import digits

from ..run.inputs import draw
from .live_module import numbers, set_numbers
from .ps_capstone_scene import parameters_of, program_scene, weighted
from .scenes import Behaviour, Data, Slip, arrays


def _linear(engine, x, weight, bias) -> Data:
    layer, plain = engine.Linear(4, 3, np.random.default_rng(0)), engine.Linear(4, 3, np.random.default_rng(0), bias=False)
    for one in (layer, plain):
        set_numbers(one.weight, weight)
    set_numbers(layer.bias, bias)
    x = engine.Tensor(x, requires_grad=True)
    out = layer(x)
    weighted(engine, out).backward()
    gradients = {"x.grad": numbers(x.grad), "weight.grad": numbers(layer.weight.grad), "bias.grad": numbers(layer.bias.grad)}
    return {"result": numbers(out), **gradients, "without bias": numbers(plain(x)),
            "parameters": [len(layer.parameters()), len(plain.parameters())]}  # fmt: skip


def _beginning(engine) -> Data:
    """What the numbers of a fresh layer have in common, whatever was drawn."""
    layer = engine.Linear(100, 80, np.random.default_rng(1))
    weight, bias = np.asarray(numbers(layer.weight)), np.asarray(numbers(layer.bias))
    other = np.asarray(numbers(engine.Linear(100, 80, np.random.default_rng(2)).weight))
    return {"shape": weight.shape, "within": bool(np.abs(weight).max() <= 0.1), "spread": bool(abs(weight.std() - 0.0577) < 0.003),
            "bias": bias, "drawn": bool(np.any(weight != other)), "learn": [p.requires_grad for p in layer.parameters()]}  # fmt: skip


def _stack(engine, x, first, second) -> Data:
    rng = np.random.default_rng(0)
    model = engine.Sequential(engine.Linear(4, 6, rng), lambda z: z.tanh(), engine.Linear(6, 3, rng, bias=False))
    parameters = parameters_of(model, 3)
    for parameter, array in zip(parameters[::2], (first, second), strict=True):
        set_numbers(parameter, array)
    out = model(engine.Tensor(x))
    weighted(engine, out).backward()
    return {"result": numbers(out), "parameters": len(parameters), **{f"gradient {i}": numbers(p.grad) for i, p in enumerate(parameters)}}


TARGET = np.array([2, 0, 2, 1, 3])


def _loss(engine, scores) -> Data:
    x = engine.Tensor(scores, requires_grad=True)
    out = engine.cross_entropy(x, TARGET)
    out.backward()
    return {"loss": numbers(out), "gradient": numbers(x.grad)}


def _large_scores(engine, scores) -> Data:
    return _loss(engine, 1000 * scores)


def _log_softmax(scores) -> np.ndarray:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _picked(scores) -> np.ndarray:
    return _log_softmax(scores)[np.arange(5), TARGET]


def three_steps(make: str, **how: Any):
    """Three steps of an optimizer on one tensor, beside one that receives no gradient."""

    def program(engine, w, a, b, c) -> Data:
        x, unused = engine.Tensor(w, requires_grad=True), engine.Tensor(w, requires_grad=True)
        optimizer, found = getattr(engine, make)([x, unused], **how), {}
        for i, g in enumerate((a, b, c)):
            optimizer.zero_grad()
            (x * engine.Tensor(g)).sum().backward()
            optimizer.step()
            found[f"after step {i + 1}"] = numbers(x)
        return {**found, "without a gradient": numbers(unused)}

    return program


XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def _xor(engine, first, second) -> Data:
    """Two inputs, hidden units, momentum: the kind of network whose training the paper of 1986 shows."""
    rng = np.random.default_rng(0)
    model = engine.Sequential(engine.Linear(2, 4, rng), lambda z: z.tanh(), engine.Linear(4, 2, rng))
    for parameter, array in zip(parameters_of(model, 4)[::2], (first, second), strict=True):
        set_numbers(parameter, array)
    optimizer, losses = engine.SGD(model.parameters(), lr=0.5, momentum=0.9), []
    for _ in range(60):
        optimizer.zero_grad()
        loss = engine.cross_entropy(model(engine.Tensor(XOR)), np.array([0, 1, 1, 0]))
        loss.backward()
        optimizer.step()
        losses.append(float(numbers(loss)))
    return {"losses": losses[::6], "last": losses[-1]}


FOUR = arrays((4,), (4,), (4,), (4,))
LAYERS = Behaviour(
    "capstone_layers",
    (
        program_scene(
            "linear",
            _linear,
            "a linear layer",
            "weight is (outputs, inputs): which product gives (n, outputs)?",
            2,
            arrays((5, 4), (3, 4), (3,)),
        ),
        program_scene(
            "a fresh layer",
            _beginning,
            "what it begins with",
            "rng.uniform(-bound, bound, (outputs, inputs)), and zeros for the bias.",
            1,
            says={
                "within": "all weights are within 1 / sqrt(inputs)",
                "spread": "they fill that range",
                "drawn": "they depend on rng",
                "learn": "requires_grad of weight and bias",
            },
            slips=[
                Slip(
                    "zeros",
                    "All weights of a fresh layer are equal: all its outputs stay equal, too, however long it learns",
                    "Draw them from rng.",
                    lambda: {"spread": False, "drawn": False},
                )
            ],
        ),
        program_scene(
            "sequential",
            _stack,
            "layers one after the other",
            "A function has no parameters; a layer has.",
            1,
            arrays((5, 4), (6, 4), (3, 6)),
        ),
        program_scene(
            "cross-entropy",
            _loss,
            "loss and gradient",
            "The logarithm of each row's softmax, at the right class; the mean of the rows, negative.",
            2,
            arrays((5, 4)),
            slips=[
                Slip(
                    "constant",
                    "The sum of the rows instead of their mean",
                    "How does a loss change if a batch has twice as many rows?",
                    lambda s: {"loss": -_picked(s).sum()},
                ),
                Slip(
                    "sign",
                    "The sign is that of a log-probability",
                    "A loss falls as the probability rises.",
                    lambda s: {"loss": _picked(s).mean()},
                ),
                Slip(
                    "axis",
                    "The softmax runs over the batch and not over the classes",
                    "Each row of probabilities adds up to 1.",
                    lambda s: {"loss": -(s - np.log(np.exp(s).sum(axis=0, keepdims=True)))[np.arange(5), TARGET].mean()},
                ),
                Slip(
                    "forward",
                    "The probability itself, without its logarithm",
                    "The negative log-probability.",
                    lambda s: {"loss": -np.exp(_picked(s)).mean()},
                ),
                Slip(
                    "one of many",
                    "The classes of all rows are picked from every row",
                    "scores[rows, target], with rows 0, 1, 2, ...",
                    lambda s: {"loss": -_log_softmax(s)[:, TARGET].mean()},
                ),
            ],
        ),
        program_scene(
            "large scores",
            _large_scores,
            "scores of a thousand",
            "softmax is the same for scores - scores.max().",
            1,
            arrays((5, 4)),
            slips=[
                Slip(
                    "unstable",
                    "Large scores overflow: exp(1000) is larger than any float",
                    "softmax is the same for scores - scores.max().",
                    lambda s: {"loss": np.nan},
                ),
                Slip(
                    "unstable",
                    "The logarithm of a probability that was rounded to 0",
                    "The logarithm of softmax is shorter than softmax and its logarithm.",
                    lambda s: {"loss": np.inf},
                ),
            ],
        ),
        program_scene(
            "SGD",
            three_steps("SGD", lr=0.1),
            "a step downhill",
            "parameter - lr * gradient.",
            1,
            FOUR,
            slips=[
                Slip("sign", "The step goes uphill", "The gradient points uphill.", lambda w, a, b, c: {"after step 1": w + 0.1 * a}),
                Slip(
                    "accumulation",
                    "Gradients of earlier steps are still there: zero_grad does not forget them",
                    "p.grad = None for every parameter.",
                    lambda w, a, b, c: {"after step 1": w - 0.1 * a, "after step 2": w - 0.2 * a - 0.1 * b},
                ),
            ],
        ),
        program_scene(
            "momentum",
            three_steps("SGD", lr=0.1, momentum=0.9),
            "momentum",
            "v = momentum * v + gradient; each parameter has its own v.",
            1,
            FOUR,
            slips=[
                Slip(
                    "setting",
                    "momentum has no effect",
                    "What does the second step remember of the first?",
                    lambda w, a, b, c: {"after step 1": w - 0.1 * a, "after step 2": w - 0.1 * a - 0.1 * b},
                ),
                Slip(
                    "extra term",
                    "The new gradient is multiplied by 1 - momentum",
                    "v = momentum * v + gradient.",
                    lambda w, a, b, c: {"after step 1": w - 0.01 * a},
                ),
            ],
        ),
        program_scene(
            "exclusive or",
            _xor,
            "learns what a perceptron cannot, as in 1986",
            "All pieces are right by themselves: which of them is not when they are used many times?",
            1,
            arrays((4, 2), (2, 4)),
            rtol=1e-6,
        ),
    ),
)


def _digits(rng) -> tuple:
    """Pictures of 8 x 8 as the digits have them, from real ones, and weights."""
    images, labels = (part.numpy() for part in digits("train"))
    rows = rng.permutation(len(images))[:70]
    return (
        images[rows].reshape(70, 64).astype(float),
        labels[rows].astype(float),
        *(draw(rng, shape) / 4 for shape in ((16, 64), (10, 16))),
    )


def _model(engine, first, second) -> Any:
    rng = np.random.default_rng(0)
    model = engine.Sequential(engine.Linear(64, 16, rng), lambda z: z.relu(), engine.Linear(16, 10, rng))
    for parameter, array in zip(parameters_of(model, 4)[::2], (first, second), strict=True):
        set_numbers(parameter, array)
    return model


def _trained(steps: int, momentum: float = 0.0):
    def program(engine, images, labels, first, second) -> Data:
        model, before = _model(engine, first, second), images.copy()
        optimizer = engine.SGD(model.parameters(), lr=0.1, momentum=momentum)
        losses = engine.train(model, images, labels.astype(int), optimizer, 20, steps)
        return {"losses": np.array([float(numbers(loss)) for loss in losses]), "weights": numbers(model.parameters()[0]),
                "changed": bool(np.any(images != before))}  # fmt: skip

    return program


def _grown(images, labels, first, second, *, forget=False, rows=None, steps=3) -> Data:
    """The losses of a training with one mistake: gradients that stay, or other rows."""
    w, v, bw, bv, losses = first.copy(), second.copy(), np.zeros(16), np.zeros(10), []
    old = [0.0] * 4
    for k in range(steps):
        at = rows(k)
        x, t = images[at], labels[at].astype(int)
        z = x @ w.T + bw
        h = np.maximum(z, 0)
        scores = h @ v.T + bv
        shifted = scores - scores.max(axis=1, keepdims=True)
        p = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
        losses.append(-np.log(p[np.arange(len(t)), t]).mean())
        p[np.arange(len(t)), t] -= 1
        g = p / len(t)
        to_z = (g @ v) * (z > 0)
        new = [to_z.T @ x, to_z.sum(axis=0), g.T @ h, g.sum(axis=0)]
        old = [a + b for a, b in zip(old, new, strict=True)] if forget else new
        w, bw, v, bv = (a - 0.1 * b for a, b in zip((w, bw, v, bv), old, strict=True))
    return {"losses": losses}


def _batch(k: int) -> np.ndarray:
    return np.arange(20 * k, 20 * k + 20) % 70


def _counts(engine, images, labels, first, second) -> Data:
    model = _model(engine, first, second)
    t = np.asarray(numbers(model(engine.Tensor(images)))).argmax(axis=1)
    t[:7] = (t[:7] + 1) % 10
    seen: list = []

    def watched(x):
        seen.append(model(x))
        return seen[-1]

    found = engine.accuracy(watched, images, t)
    return {"accuracy": float(found), "recorded": bool(seen[0].requires_grad)}


LOSSES = {"losses": "losses", "weights": "the first weights after training", "changed": "the images were changed"}
DIGITS = Behaviour(
    "capstone_digits",
    (
        program_scene(
            "three steps",
            _trained(3),
            "the losses of three steps",
            "zero_grad, loss, backward, step: in which order?",
            3,
            _digits,
            says=LOSSES,
            rtol=1e-7,
            slips=[
                Slip(
                    "accumulation",
                    "The gradients of earlier steps are still there",
                    "Who empties p.grad, and when?",
                    lambda *a: _grown(*a, forget=True, rows=_batch),
                ),
                Slip(
                    "one of many",
                    "Every step takes the first rows",
                    "Step k takes the rows from k * batch on.",
                    lambda *a: _grown(*a, rows=lambda k: _batch(0)),
                ),
                Slip(
                    "one of many",
                    "Every step takes all rows",
                    "Step k takes `batch` rows.",
                    lambda *a: _grown(*a, rows=lambda k: np.arange(70)),
                ),
                Slip(
                    "missing",
                    "Nothing is learnt: the losses are those of the weights it begins with",
                    "zero_grad after backward leaves step nothing to do.",
                    lambda x, t, w, v: {"weights": w},
                ),
            ],
        ),
        program_scene(
            "beyond the last row",
            _trained(9),
            "after the last row comes the first",
            "Rows 60 to 79 of 70 are 60 to 69 and 0 to 9.",
            2,
            _digits,
            says=LOSSES,
            rtol=1e-7,
            slips=[
                Slip(
                    "missing",
                    "The last step of each round has fewer rows",
                    "Rows 60 to 79 of 70 are 60 to 69 and 0 to 9.",
                    lambda *a: {
                        "losses": np.concatenate(
                            [_grown(*a, rows=lambda k: np.arange(20 * k, min(20 * k + 20, 70)), steps=4)["losses"], np.full(5, np.nan)]
                        )
                    },
                    sure=False,
                )
            ],
        ),
        program_scene(
            "with momentum",
            _trained(20, 0.9),
            "twenty steps with momentum",
            "Each step changes a little of what the next one sees: look for the first loss that differs.",
            1,
            _digits,
            says=LOSSES,
            rtol=1e-6,
        ),
        program_scene(
            "accuracy",
            _counts,
            "counts what is right, and records nothing",
            "argmax of each row; with no_grad().",
            2,
            _digits,
            says={"recorded": "the scores are recorded"},
            slips=[
                Slip("recorded", "Counting records a graph that nobody needs", "with no_grad():", lambda *a: {"recorded": True}),
                Slip(
                    "constant",
                    "The number of right rows, or a percentage, instead of their part",
                    "From 0.0 to 1.0.",
                    lambda *a: {"accuracy": 63.0},
                ),
                Slip("constant", "A percentage instead of a part", "From 0.0 to 1.0.", lambda *a: {"accuracy": 90.0}),
                Slip("swapped", "The part of the rows that are wrong", "The part that is right.", lambda *a: {"accuracy": 0.1}),
            ],
        ),
    ),
)
