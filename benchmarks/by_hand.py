"""Forward and backward written out in NumPy, without a graph: the right answers, and a floor for eager engines."""

import numpy as np

from benchmarks.updates import adam, sgd
from benchmarks.workloads import Data, Program, program


def gradients_only(run, names) -> Program:
    """`run` gives the loss and then the gradients."""
    return Program(run, lambda: dict(zip(["loss", *names], run(), strict=True)))


def scalar_chain(data: Data) -> Program:
    x, a, b = data["parameters"].values()
    x, a, b, one, tanh = x[()], a[()], b[()], np.float32(1), np.tanh

    def run():
        y, outputs = x, [x]
        for _ in range(data["rounds"]):
            y = tanh(y * a + b)
            outputs.append(y)
        g, ga, gb = a, outputs.pop(), np.float32(0)
        out = ga
        for before in reversed(outputs):
            g = g * (one - out * out)
            gb = gb + g
            ga = ga + g * before
            g = g * a
            out = before
        return y * a, g, ga, gb

    return gradients_only(run, "xab")


def small_mlp(data: Data) -> Program:
    x, target = data["x"], data["target"]

    def run(p):
        h1 = np.maximum(x @ p["W1"] + p["b1"], 0)
        h2 = np.maximum(h1 @ p["W2"] + p["b2"], 0)
        error = h2 @ p["W3"] + p["b3"] - target
        g = error * np.float32(2 / error.size)
        g2 = (g @ p["W3"].T) * (h2 > 0)
        g1 = (g2 @ p["W2"].T) * (h1 > 0)
        return np.vdot(error, error) / np.float32(error.size), {
            "W1": x.T @ g1, "b1": g1.sum(0), "W2": h1.T @ g2, "b2": g2.sum(0), "W3": h2.T @ g, "b3": g.sum(0),
        }  # fmt: skip

    return program(data, run, sgd)


def mlp(data: Data) -> Program:
    x, target = data["x"], data["target"]
    rows = np.arange(len(target))

    def run(p):
        h = x @ p["W1"]
        h += p["b1"]
        np.maximum(h, 0, out=h)
        scores = h @ p["W2"] + p["b2"]
        scores -= scores.max(1, keepdims=True)
        right = scores[rows, target]
        np.exp(scores, out=scores)
        total = scores.sum(1, keepdims=True)
        loss = (np.log(total[:, 0]) - right).mean()
        scores /= total
        scores[rows, target] -= 1
        scores *= np.float32(1 / len(target))
        g1 = scores @ p["W2"].T
        g1 *= h > 0
        return loss, {"W1": x.T @ g1, "b1": g1.sum(0), "W2": h.T @ scores, "b2": scores.sum(0)}

    return program(data, run, adam)


def rnn(data: Data) -> Program:
    (wx, wh, b), x, target = data["parameters"].values(), data["x"], data["target"]

    def run():
        states = [np.zeros_like(target)]
        for row in x:
            h = row @ wx
            h += states[-1] @ wh
            h += b
            states.append(np.tanh(h, out=h))
        error = states.pop() - target
        out = error + target
        g, gwx, gwh, gb = error * np.float32(2 / error.size), np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)
        for row, before in zip(x[::-1], reversed(states), strict=True):
            g = g * (1 - out * out)
            gwx += row.T @ g
            gwh += before.T @ g
            gb += g.sum(0)
            g = g @ wh.T
            out = before
        return np.vdot(error, error) / np.float32(error.size), gwx, gwh, gb

    return gradients_only(run, ["Wx", "Wh", "b"])


def elementwise(data: Data) -> Program:
    x, y = data["parameters"].values()

    def run():
        t = np.tanh(x * y + x)
        e = np.exp(t * y)
        z = np.log(e + 1) - y
        gt = z * (e / (e + 1))  # with respect to t * y
        g = gt * y
        g *= 1 - t * t
        return (z * z * np.float32(0.5)).sum(), g * y + g, gt * t + g * x - z

    return gradients_only(run, "xy")


def hvp(data: Data) -> Program:
    p, v, x, target = data["parameters"], data["direction"], data["x"], data["target"]

    def run():
        # Forward over reverse: every line of the backward pass, and beside it its change along the direction (d...).
        h1 = np.tanh(x @ p["W1"] + p["b1"])
        s1 = 1 - h1 * h1
        h2 = np.tanh(h1 @ p["W2"] + p["b2"])
        s2 = 1 - h2 * h2
        scale = np.float32(2 / len(x))
        g3 = (h2 @ p["W3"] + p["b3"] - target) * scale
        u2 = g3 @ p["W3"].T
        g2 = u2 * s2
        u1 = g2 @ p["W2"].T
        dh1 = s1 * (x @ v["W1"] + v["b1"])
        dh2 = s2 * (dh1 @ p["W2"] + h1 @ v["W2"] + v["b2"])
        dg3 = (dh2 @ p["W3"] + h2 @ v["W3"] + v["b3"]) * scale
        dg2 = (dg3 @ p["W3"].T + g3 @ v["W3"].T) * s2 - 2 * u2 * h2 * dh2
        dg1 = (dg2 @ p["W2"].T + g2 @ v["W2"].T) * s1 - 2 * u1 * h1 * dh1
        return (x.T @ dg1, dg1.sum(0), dh1.T @ g2 + h1.T @ dg2, dg2.sum(0), dh2.T @ g3 + h2.T @ dg3, dg3.sum(0))

    return Program(run, lambda: dict(zip(p, run(), strict=True)))


def deep(data: Data) -> Program:
    x, c = data["parameters"].values()

    def run():
        y = x
        for _ in range(data["nodes"]):
            y = y + c
        return y, np.ones_like(x), np.full_like(c, data["nodes"])

    return gradients_only(run, "xc")
