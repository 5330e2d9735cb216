"""The explorable of attention: which rows of Q, K and V an output touches, and what a mask does to their gradients."""

import math
from functools import cache

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import words
from autolab.trace.values import number, shape_text
from autolab.widgets.heat_maps import GAP, TILE, brief, factor, heat_map, middle
from autolab.widgets.panel import Frame, Panel, choice, timeline
from autolab.widgets.real_numbers import of_real_numbers
from autolab.widgets.shapes import ring

MOST = 5, 4  # tokens and numbers of each that a picture has room for
CELL = 50, 30
TOP, BETWEEN = 34, 34  # pixels above a row of matrices, for their titles
Q = ((1.0, 0.5), (0.0, 2.0), (1.5, -1.0))
K = ((1.0, 0.0), (-0.5, 1.0), (1.0, 1.0))
V = ((1.0, 0.0), (0.5, -1.0), (-1.0, 3.0))


@of_real_numbers
def attention_backward(q=Q, k=K, v=V):
    """Backward through attention from one output token: the rows of Q, K and V that it touches, with a causal mask and without.

    Parameters
    ----------
    q, k, v : tuple or Tensor
        Matrices with a row for each token; from 2 to 5 tokens and up to 4 columns.

    Returns
    -------
    Panel
        The loss is the sum of an output row. The handle beside the outputs, and every output and weight, choose what is followed back;
        three steps lead to the gradients of V, of the scores S, and of Q and K.

    Raises
    ------
    ValueError
        If one is not a matrix of these sizes, or their shapes do not fit.

    Examples
    --------
    >>> panel = attention_backward().move(selected="out[0]", step=3)
    >>> panel.sentence
    'Exactly 0: P[0, 0] is 1 whatever Q and K are, so out[0] moves neither. It touches row 0 of V only.'
    """
    leaves = [torch.as_tensor(t, dtype=torch.float64).detach().clone().requires_grad_() for t in (q, k, v)]
    _check(*leaves)
    (n, d), wide = leaves[0].shape, leaves[2].shape[1]
    scale = 1 / math.sqrt(d)
    stops = [f"out[{i}]" for i in range(n)] + [f"P[{i}, {j}]" for i in range(n) for j in range(n)]
    second = TOP + max(n, d) * CELL[1] + BETWEEN
    right = GAP + d * CELL[0] + 8
    edges = [max(right + n * CELL[0] + 2, TILE)]
    beside = edges[0] + GAP + wide * CELL[0] + 42
    edges.append(max(beside + wide * CELL[0] + 2, edges[0] + TILE))
    far = edges[1] + GAP + n * CELL[0] + 8
    end = max(far + d * CELL[0] + 2, edges[1] + TILE)
    low = second + n * CELL[1]
    places = {
        "Q": (GAP, second), "Kᵀ": (right, TOP), "P": (right, second), "V": (edges[0] + GAP, TOP), "out": (beside, TOP),
        "V.grad": (edges[0] + GAP, second), "g": (beside, second), "P.grad": (edges[1] + GAP, TOP), "S.grad": (edges[1] + GAP, second),
        "Q.grad": (far, TOP), "K.grad": (far, second),
    }  # fmt: skip
    since = {"g": 1, "V.grad": 1, "P.grad": 1, "S.grad": 2, "Q.grad": 3, "K.grad": 3}

    @cache
    def computed(causal, token):
        """Every matrix of the picture, by the engine."""
        qs, ks, vs = leaves
        scores = qs @ ks.T * scale
        if causal:
            scores = scores.masked_fill(torch.ones(n, n).tril() == 0, -math.inf)
        p = torch.softmax(scores, 1)
        out = p @ vs
        grads = torch.autograd.grad(out[token].sum(), [out, vs, p, scores, qs, ks])
        found = [qs, ks.T, p, vs, out, grads[0], *grads[1:]]
        names = ["Q", "Kᵀ", "P", "V", "out", "g", "V.grad", "P.grad", "S.grad", "Q.grad", "K.grad"]
        return {name: t.detach().numpy() + 0.0 for name, t in zip(names, found)}

    @cache
    def map_of(name, causal, token, known):
        array = computed(causal, token)[name]
        crossed = np.triu(np.ones((n, n)), 1) if causal and name == "P" else None
        press = {"P": [[f"P[{i}, {j}]" for j in range(n)] for i in range(n)], "out": [[f"out[{i}]"] * wide for i in range(n)]}.get(name)
        shown = None if known else np.zeros_like(array)
        title = words(places[name][0], places[name][1] - 10, name, "head")
        return "".join([title, *heat_map(*places[name], array, name, CELL, 1, "selected" * bool(press), press, shown, crossed)])

    def make(mask, selected, step):
        causal, step = mask == "causal", int(step)
        token, key = _selection(selected)
        found = computed(causal, token)
        reached = range(token + 1 if causal else n)
        keys = reached if key is None else [key] if key in reached else []
        parts = [map_of(name, causal, token, step >= since.get(name, 0)) for name in places]

        def around(name, rows, columns, kind="grad"):
            (r0, r1), (c0, c1) = rows, columns
            return ring(*places[name], r0, c0, r1 - r0, c1 - c0, CELL, kind)

        if keys:
            row, among = (token, token + 1), (keys[0], keys[-1] + 1)
            parts += [around("Q", row, (0, d), "a"), around("Kᵀ", (0, d), among, "a"), around("P", row, among, "a"),
                      around("V", among, (0, wide), "a"), around("out", row, (0, wide), "a")]  # fmt: skip
            parts += [around("V.grad", among, (0, wide))] * (step >= 1) + [around("P.grad", row, among)] * (step >= 1)
            parts += [around("S.grad", row, among)] * (step >= 2)
            parts += [around("Q.grad", row, (0, d)), around("K.grad", among, (0, d))] * (step >= 3)
        parts.append(chart.scale_legend(edges[0] + GAP, low + 12, -1, 1, True))
        parts += [words(GAP, low + 29, "crossed out: masked", "note")] * causal
        parts.append(chart.handle(beside - 20, TOP + (token + 0.5) * CELL[1], along_y="selected", label="output", point=False))
        flights = _flights(step, token, keys, found, places)
        corner = places[["Q", "V.grad", "S.grad", "K.grad"][step]]
        rows = [[name, shape_text(a.shape), _listed(a) if step >= since.get(name, 0) else "not yet"] for name, a in found.items()]
        focus = (corner[0], corner[1] - 26, 60, 30 + n * CELL[1]) if step else None
        return Frame(_said(causal, token, key, step, found, scale), parts, rows, flights=flights, focus=focus)

    controls = [
        choice("mask", ["causal", "none"], label="Mask"), choice("selected", stops, start=1, label="Selected"), timeline(3, label="Stage"),
    ]  # fmt: skip
    tracks = {"selected": [TOP + (_selection(s)[0] + 0.5) * CELL[1] for s in stops]}
    return Panel("Backward through attention", controls, make, ["Matrix", "Shape", "Numbers"], (end, low + 44), breaks=edges, tracks=tracks)


def _check(q, k, v):
    for name, t in zip("QKV", (q, k, v)):
        if t.dim() != 2 or not (2 <= t.shape[0] <= MOST[0] and 1 <= t.shape[1] <= MOST[1]):
            raise ValueError(
                f"attention_backward shows matrices of 2 to {MOST[0]} tokens and up to {MOST[1]} columns; "
                f"{name} has shape {shape_text(t.shape)}"
            )
    if q.shape != k.shape or len(v) != len(k):
        shapes = ", ".join(f"{name} {shape_text(t.shape)}" for name, t in zip("QKV", (q, k, v)))
        raise ValueError(f"Q and K need the same shape, and V as many rows; they are {shapes}")


def _selection(text):
    """The output token, and the key or None, that a stop names."""
    indices = [int(k) for k in text.partition("[")[2].rstrip("]").split(",")]
    return indices[0], (indices[1] if len(indices) > 1 else None)


def _listed(array):
    return "; ".join(", ".join(number(v, 4) for v in row) for row in array)


def _flights(step, token, keys, found, places):
    """The numbers that travel when a stage is reached."""

    def cell(name, i, j):
        return middle(*places[name], i, j, CELL)

    def fly(name, i, j, start):
        return chart.flight(brief(found[name][i, j]), start, cell(name, i, j), "grad")

    if step == 1:
        return [fly("V.grad", j, 0, cell("P", token, j)) for j in keys] + [fly("P.grad", token, j, cell("g", token, 0)) for j in keys]
    if step == 2:
        return [fly("S.grad", token, j, cell("P.grad", token, j)) for j in keys]
    if step == 3:
        pairs = [(name, j) for j in keys for name in ("Q.grad", "K.grad")]
        return [fly(name, token if name == "Q.grad" else j, 0, cell("S.grad", token, j)) for name, j in pairs]
    return []


def _rows(last):
    return "row 0" if last == 0 else f"rows 0 to {last}"


def _said(causal, i, j, step, found, scale):
    n = len(found["P"])
    if j is not None:
        return _weight_said(causal, i, j, step, found, scale)
    last = i if causal else n - 1
    weights = " + ".join(f"{factor(found['P'][i, t], 2)} × V[{t}]" for t in range(last + 1))
    if step == 0:
        return f"out[{i}] = {weights}: row {i} of Q met {_rows(last)} of K. Which rows of Q, K and V receive a gradient from out[{i}]?"
    if step == 1:
        past = f" P.grad[{i}, {last + 1}] is not zero, though that weight is masked." if last + 1 < n else ""
        return f"The loss is the sum of out[{i}]. V.grad = P.T @ g: each row of V receives its weight times g. P.grad = g @ V.T.{past}"
    if step == 2:
        past = " At a masked weight P is 0, so S.grad is exactly 0: here the mask stops the gradient." if last + 1 < n else ""
        return f"Back through softmax: S.grad = P * (P.grad - the mean of P.grad under P), row by row; S are the scores.{past}"
    if last == 0:
        return "Exactly 0: P[0, 0] is 1 whatever Q and K are, so out[0] moves neither. It touches row 0 of V only."
    rest = f"; for the tokens after {i} all are exactly 0" if last + 1 < n else ""
    turn = " What will out[0] touch?" if causal else " A causal mask would keep the tokens after it at 0."
    rules = f"Q.grad = S.grad @ K * {scale:.3g}, K.grad = S.grad.T @ Q * {scale:.3g}."
    return f"out[{i}] touches row {i} of Q and {_rows(last)} of K and V{rest}. {rules}{turn}"


def _weight_said(causal, i, j, step, found, scale):
    name = f"P[{i}, {j}]"
    p, dp, ds = (found[m][i] for m in ("P", "P.grad", "S.grad"))
    if causal and j > i:
        end = f"Token {i} comes before token {j} and does not see it."
        end = f"P.grad there is {brief(dp[j])}, yet S.grad is exactly 0." if step >= 2 else end
        return f"{name} is masked: softmax has made it 0, and it stays 0 whatever Q and K are. {end}"
    if step == 0:
        return f"{name} = {number(p[j], 3)}: row {i} of Q times row {j} of K gives the score. It is the share of V[{j}] in out[{i}]."
    if step == 1:
        return f"{name} sends {number(p[j], 3)} × g to V.grad[{j}]. P.grad[{i}, {j}] is g[{i}] times V[{j}] = {number(dp[j], 3)}."
    mean = float(p @ dp)
    if step == 2:
        terms = f"{number(p[j], 3)} × ({number(dp[j], 3)} - {factor(mean)})"
        return f"S.grad[{i}, {j}] = {terms} = {number(ds[j], 3)}: above 0 where V[{j}] is better for the loss than the mean."
    sent = number(ds[j] * scale, 3)
    return f"The score of {name} sends {sent} × K[{j}] to Q.grad[{i}], and {sent} × Q[{i}] to K.grad[{j}]. It touches no other row."


__all__ = ["attention_backward"]
