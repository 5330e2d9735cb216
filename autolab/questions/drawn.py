"""Questions whose numbers are drawn: a fresh one for each seed, with the right answer computed by the engine.

The wrong answers are computed from the same numbers, each by one mistake, so that every explanation belongs to what was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import autolab as torch
from autolab import func, nn
from autolab.widgets.questions import number, shape

Question = dict[str, Any]
Maker = Callable[[np.random.Generator], Question]
MAKERS: dict[str, list[Maker]] = {}
TRIES = 200


def asks(lesson: str) -> Callable[[Maker], Maker]:
    """Adds a maker of questions to those of a lesson."""

    def add(make: Maker) -> Maker:
        MAKERS.setdefault(lesson, []).append(make)
        return make

    return add


def drawn(lesson: str, seed: int = 0, count: int = 1) -> list[Question]:
    """Questions of a lesson with other numbers: `count` of each kind, none like another. A lesson without such questions has none.

    >>> drawn("05", seed=1)[0]["prompt"]
    'x.grad is 3. Then (4 * x**2).backward() runs, at x = 5. What is x.grad?'
    >>> drawn("05", seed=1) == drawn("05", seed=1)
    True
    """
    return [question for name in makers(lesson) for question in variants(lesson, name, seed, count)]


def makers(lesson: str) -> list[str]:
    """The names of what a lesson has to draw.

    >>> makers("05")
    ['added', 'parts']
    """
    return [make.__name__ for make in MAKERS.get(lesson, ())]


def variants(lesson: str, name: str, seed: int, count: int) -> list[Question]:
    """`count` questions of one kind. Raises ValueError if there are not so many different ones.

    >>> [question["shown"] for question in variants("05", "parts", 0, 2)]
    ['0.0833333', '0.0769231']
    """
    make = next(make for make in MAKERS[lesson] if make.__name__ == name)
    found: dict[str, Question] = {}
    for attempt in range(TRIES + 20 * count):
        if len(found) == count:
            break
        question = make(np.random.default_rng([seed, attempt, *name.encode()]))
        if tells_apart(question):
            found.setdefault(question["prompt"], question)
    if len(found) < count:
        raise ValueError(f"lesson {lesson} has {len(found)} different questions {name!r}, not {count}: ask for fewer")
    return list(found.values())


def tells_apart(question: Question) -> bool:
    """Whether each wrong answer is another number than the right one, and than every other wrong one.

    >>> tells_apart(number("2 · 2", 4, "", {2: "half"})), tells_apart(number("2 · 2", 4, "", {4.0: "added"}))
    (True, False)
    """
    values = [question["right"], *(value for value, _ in question["wrong"])]
    if question["kind"] == "shape":
        return len({tuple(value) for value in values}) == len(values)
    near = [abs(a - b) <= 2 * question["tolerance"] * max(1.0, abs(a), abs(b)) for k, a in enumerate(values) for b in values[:k]]
    return all(map(math.isfinite, values)) and not any(near)


def _slope(f: Callable[[Any], Any], x: float) -> float:
    leaf = torch.tensor(float(x), dtype=torch.float64, requires_grad=True)
    f(leaf).backward()
    return float(leaf.grad.item())


def _whole(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _asked(prompt: str, right: float, why: str, wrong: list[tuple[float, str]], tolerance: float | None = None) -> Question:
    """A number question; of two mistakes that give the same, the question is not asked (`tells_apart`)."""
    made = number(prompt, round(right, 9), why, None, tolerance)
    return {**made, "wrong": [[round(float(value), 9), said] for value, said in wrong]}


# -- derivatives -------------------------------------------------------------------------------------------------


@asks("00")
def downhill(rng):
    """A step of gradient descent."""
    w, a, b, rate = _whole(rng, 1, 6), _whole(rng, 2, 5), _whole(rng, 1, 9), [0.1, 0.01, 0.05][_whole(rng, 0, 2)]
    g = _slope(lambda x: (a * x - b) ** 2, w)
    return _asked(f"The loss is ({a}w - {b})² and w = {w}. What is w after one step with learning rate {rate}?", w - rate * g,
                  f"The gradient is 2 · ({a} · {w} - {b}) · {a} = {g:g}, and the step goes against it.", [
                      (w + rate * g, "That step goes uphill: the gradient is subtracted."),
                      (w - g, "The gradient is multiplied by the learning rate first."),
                      (w - rate * g / a, f"The inner derivative, {a}, is missing in the gradient."),
                      (w - rate * g / 2, "The 2 of the square is missing in the gradient.")])  # fmt: skip


@asks("01")
def product(rng):
    """A value that is used in two factors."""
    a, b, x = _whole(rng, 1, 9), _whole(rng, 1, 9), _whole(rng, 2, 9)
    right = _slope(lambda v: (v + a) * (v - b), x)
    return _asked(f"(x + {a})(x - {b}) at x = {x}: what is the derivative?", right,
                  f"x is used twice: {x - b} arrives through the first factor and {x + a} through the second.", [
                      (x - b, "That is the contribution of the first factor. x is in the second one as well."),
                      (x + a, "That is the contribution of the second factor. x is in the first one as well."),
                      ((x + a) * (x - b), "That is the value of the product."), (1, "1 · 1: the derivative of a product is none of the derivatives.")])  # fmt: skip


@asks("02")
def nodes(rng):
    """Nodes of a chain of doublings."""
    n = _whole(rng, 3, 30)
    a = torch.tensor(1.0, requires_grad=True)
    b = torch.tensor(2.0, requires_grad=True)
    s = a * b
    for _ in range(n):
        s = s + s
    seen, todo = set(), [s.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [edge for edge, _ in node.next_functions]
    return _asked(f"`s = a * b`, then `s = s + s`, {n} times. How many nodes does the graph have, accumulators included, if both a and b "
                  "require a gradient?", len(seen), f"One product, {n} sums, two accumulators. A node that is used twice is one node.", [
                      (n + 1, "Each leaf that requires a gradient has an accumulator."),
                      (n + 2, "There are two leaves, a and b, with an accumulator each."),
                      (2**n, "That is the number of paths. Nodes are not counted once a path."),
                      (n, "That is the number of sums.")])  # fmt: skip


@asks("03")
def chain(rng):
    """A power of a linear function."""
    a, b, n, x = _whole(rng, 2, 5), _whole(rng, 1, 4), _whole(rng, 2, 4), _whole(rng, 1, 3)
    right, u = _slope(lambda v: (a * v + b) ** n, x), a * x + b
    return _asked(f"y = ({a}x + {b}) to the power {n}, at x = {x}. What is dy/dx?", right,
                  f"u = {u}: the outer factor is {n} · {u} to the power {n - 1}, the inner one {a}.", [
                      (right / a, f"The inner derivative, {a}, is missing."), (u**n, "That is the value."),
                      (n * x ** (n - 1) * a, "The outer derivative is taken at u, not at x."),
                      (n * u ** (n - 1) + a, "Factors along a path are multiplied, not added.")])  # fmt: skip


@asks("03")
def left_over(rng):
    """What many layers leave of a gradient."""
    parts, n = _whole(rng, 2, 5), _whole(rng, 2, 6)
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    out = x
    for _ in range(n):
        out = out / parts
    out.backward()
    return _asked(f"A gradient of 1 passes through {n} operations, each with the slope 1/{parts}. How much of it is left?", x.grad.item(),
                  f"Factors along a path are multiplied: 1/{parts} to the power {n}.", [
                      (n / parts, "Factors along a path are multiplied, not added."), (1 / parts, "That is what the first of them leaves."),
                      (1 / (parts * n), "Each one takes its share of what is left, not of the 1."), (parts**n, "A slope below 1 makes a gradient smaller.")],
                  tolerance=1e-5)  # fmt: skip


@asks("04")
def weight_shape(rng):
    """The gradient of a weight."""
    n, k, m = (int(v) for v in rng.permutation(np.arange(2, 60))[:3])
    x, w = torch.ones(n, k), torch.ones(k, m, requires_grad=True)
    (x @ w).sum().backward()
    return shape(f"Y = X W with X of shape ({n}, {k}) and W of shape ({k}, {m}). What is the shape of the gradient of W?", tuple(w.grad.shape),
                 "A gradient has the shape of its tensor.", {
                     (n, m): "That is the shape of Y, and of the gradient that arrives.", (m, k): "That is the gradient turned round.",
                     (n, k): "That is the shape of the gradient of X."})  # fmt: skip


@asks("04")
def broadcast(rng):
    """A number that was copied."""
    n, m, g = _whole(rng, 2, 12), _whole(rng, 2, 12), _whole(rng, 2, 9)
    b = torch.zeros(m, requires_grad=True)
    (torch.ones(n, m) + b).backward(gradient=torch.full((n, m), float(g)))
    return _asked(f"b of shape ({m},) is added to a matrix of shape ({n}, {m}), and {g} arrives at every entry of the sum. What is each entry "
                  "of b.grad?", b.grad[0].item(), f"Each entry of b is used in {n} rows, and {n} times {g} adds up.", [
                      (g, "That is what one row sends. All rows use this entry."), (g * n * m, "That is the sum of all entries: b has one for each column."),
                      (g * m, f"An entry of b is used once in each of the {n} rows, and not in each column."),
                      (g / n, "Contributions are added, not averaged.")])  # fmt: skip


@asks("05")
def added(rng):
    """A gradient that is there already."""
    before, a, x = _whole(rng, 2, 12), _whole(rng, 2, 6), _whole(rng, 2, 5)
    leaf = torch.tensor(float(x), requires_grad=True)
    leaf.grad = torch.tensor(float(before))
    (a * leaf**2).backward()
    now = leaf.grad.item()
    return _asked(f"x.grad is {before}. Then ({a} * x**2).backward() runs, at x = {x}. What is x.grad?", now,
                  f"The pass adds 2 · {a} · {x} = {now - before:g} to the {before}.", [
                      (now - before, "That is what this pass adds. The old gradient stays."), (before, "backward adds to .grad."),
                      (before + a * x**2, "The value was added, not the derivative."), (before + a * x, "The 2 of the square is missing.")])  # fmt: skip


@asks("05")
def parts(rng):
    """The weight of a part of a batch."""
    k, size = _whole(rng, 2, 20), _whole(rng, 2, 64)
    return _asked(f"{k} parts of {size} examples replace one batch of {k * size}. The loss is a mean. By what do you multiply the loss of each part?",
                  size / (k * size), f"Each part has 1/{k} of the examples, and so 1/{k} of the mean.", [
                      (1, "Then the gradients of the parts add up to more than the batch's."), (k, f"That makes the sum larger, by {k} twice."),
                      (1 / size, "The mean over the part has divided by its size already."), (1 / (k * size), f"That is for a sum over the part. The loss is a mean, divided by {size} already.")])  # fmt: skip


@asks("06")
def detached(rng):
    """A factor that is constant."""
    a, n, x = _whole(rng, 1, 5), _whole(rng, 2, 4), _whole(rng, 2, 5)
    right = _slope(lambda v: (a * v).detach() * v**n, x)
    return _asked(f"y = ({a} * x).detach() * x**{n} at x = {x}. What is x.grad after y.backward()?", right,
                  f"The first factor counts as the constant {a * x}: {a * x} · {n} · {x} to the power {n - 1}.", [
                      (_slope(lambda v: a * v * v**n, x), "That is the derivative without the detach."),
                      (n * x ** (n - 1), f"The constant {a * x} is still a factor."), (a * x**n, "That is the contribution of the first factor, which detach has cut."), (0, "Only one of the two factors is cut off.")])  # fmt: skip


@asks("07")
def upstream(rng):
    """What a rule returns when g is not 1."""
    k, n, x = _whole(rng, 2, 9), _whole(rng, 2, 4), _whole(rng, 2, 5)
    right = _slope(lambda v: k * v**n, x)
    return _asked(f"Your Function computes x to the power {n}. The loss is {k} times its result, and x = {x}. What does its backward have to return?",
                  right, f"g · {n} · x to the power {n - 1}, and g is the {k} behind the result.", [
                      (n * x ** (n - 1), f"That is the derivative alone. The {k} arrives as g and is multiplied in."),
                      (k, "That is g, which arrives. It is multiplied by the derivative."), (k * x**n, "That is the loss."),
                      (k + n * x ** (n - 1), "g and the derivative are multiplied, not added.")])  # fmt: skip


@asks("07")
def softmax_rule(rng):
    """The rule of softmax for two scores."""
    k, g = _whole(rng, 2, 9), _whole(rng, 1, 12)
    x = torch.tensor([0.0, math.log(k)], dtype=torch.float64, requires_grad=True)
    torch.softmax(x, 0).backward(gradient=torch.tensor([float(g), 0.0], dtype=torch.float64))
    p = 1 / (k + 1)
    return _asked(f"softmax of the scores (0, ln {k}) is (1/{k + 1}, {k}/{k + 1}), and g = ({g}, 0) arrives. What is the first entry of the gradient?",
                  x.grad[0].item(), f"p (g - Σ g p) = 1/{k + 1} · ({g} - {g}/{k + 1}).", [
                      (g * p, "That is p · g. The weighted mean of g is still to be subtracted."), (g, "That is what arrives."),
                      (g - g * p, "The factor p in front is missing."), (-g * p * (1 - p), "The size is right. Does more of the first score raise its probability or lower it?")])  # fmt: skip


@asks("08")
def number_cut(rng):
    """A factor that went through a number."""
    a, n, x = _whole(rng, 1, 5), _whole(rng, 2, 4), _whole(rng, 2, 5)
    right = _slope(lambda v: a * v**n * v.item(), x)
    return _asked(f"y = {a} * x**{n} * x.item() at x = {x}. What is x.grad after y.backward()?", right,
                  f"x.item() is a number without a history: a constant factor {x}.", [
                      (a * (n + 1) * x**n, f"That is the derivative of {a} x to the power {n + 1}. One factor has no history."),
                      (a * n * x ** (n - 1), "The number is a factor of the value, and so of the gradient."), (a * x**n, "That is the contribution that is cut.")])  # fmt: skip


@asks("09")
def second(rng):
    """A second derivative."""
    a, n, x = _whole(rng, 1, 4), _whole(rng, 3, 5), _whole(rng, 1, 3)
    leaf = torch.tensor(float(x), dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(a * leaf**n, leaf, create_graph=True)
    (right,) = torch.autograd.grad(first, leaf)
    return _asked(f"What is the second derivative of {a} x to the power {n} at x = {x}?", right.item(),
                  f"{a} · {n} · {n - 1} · x to the power {n - 2}.", [
                      (first.item(), "That is the first derivative."), (a * n * n * x ** (n - 2), f"The second time the exponent is {n - 1}."),
                      (first.item() ** 2, "That is the square of the first derivative."), (0, "The first derivative still depends on x.")])  # fmt: skip


# -- memory, numbers, training ---------------------------------------------------------------------------------------


@asks("10")
def segments(rng):
    """Checkpoints in equal segments."""
    k, size = _whole(rng, 4, 12), _whole(rng, 4, 12)
    n = k * size
    return _asked(f"{n} layers, checkpointed in {k} segments: about how many activations are kept at the peak, not counting gradients under way?",
                  k + size, f"{k} inputs of segments, and the {size} of the segment that runs again.", [
                      (k, "The segment that runs again keeps all of its own."), (size, "The inputs of all segments are kept as well."),
                      (n, "That is the number without checkpoints."), (n // 2, "It is not half: the inputs of segments and one segment.")])  # fmt: skip


@asks("10")
def kept(rng):
    """What a product keeps for its rule."""
    n, both = _whole(rng, 10, 900), bool(_whole(rng, 0, 1))
    x, w = torch.ones(n, dtype=torch.float32, requires_grad=both), torch.ones(n, dtype=torch.float32, requires_grad=True)
    node = (x * w).grad_fn
    right = sum(4 * t.numel() for t in (node._saved_self, node._saved_other) if t is not None)
    who = "x and w require gradients" if both else "w requires a gradient and x does not"
    return _asked(f"x and w are {n} float32 numbers each, and {who}. How many bytes does the node of x * w keep for its rule?", right,
                  "The gradient of w is g · x" + (", and that of x is g · w." if both else "; nobody asks for that of x, so w is not kept."), [
                      (4 * n if both else 8 * n, "That is one factor. Each gradient needs the other factor." if both
                       else "The gradient of w needs x. Which gradient would need w?"),
                      (12 * n, "The result is in neither rule."), (0, "The rule of a product needs a factor. A sum would keep nothing."),
                      (2 * n if both else n, "A float32 takes 4 bytes.")])  # fmt: skip


@asks("11")
def half(rng):
    """A sum in float16."""
    power, extra = _whole(rng, 11, 14), _whole(rng, 1, 7)
    big = 2**power
    right = (torch.tensor(float(big), dtype=torch.float16) + torch.tensor(float(extra), dtype=torch.float16)).item()
    step = 2 ** (power - 10)
    return _asked(f"In float16, what is {big} + {extra}?", right,
                  f"From {big} on the numbers of float16 are {step} apart, and the sum is rounded to the nearest (in a tie to the even one).", [
                      *([(big + extra, f"The sum is not a number of float16: from {big} on they are {step} apart.")] if right != big + extra else []),
                      *([(big, "The sum is rounded to the nearest number, and that is the next one.")] if right != big else []),
                      *([(big + step, "The sum is rounded to the nearest number, and that is the one below.")] if right != big + step else []),
                      (65504, "That is the largest number of float16.")])  # fmt: skip


@asks("12")
def adam(rng):
    """The first step of Adam."""
    w, g, rate = _whole(rng, 1, 5), _whole(rng, 2, 2000), [0.1, 0.01, 0.3][_whole(rng, 0, 2)]
    leaf = torch.tensor(float(w), dtype=torch.float64, requires_grad=True)
    leaf.grad = torch.tensor(float(g), dtype=torch.float64)
    torch.optim.Adam([leaf], lr=rate).step()
    return _asked(f"w = {w}, its gradient is {g}, and the learning rate {rate}. Where is w after the first step of Adam?", leaf.item(),
                  "Adam divides the gradient by its own size, so the first step is as long as the learning rate.", [
                      (w - rate * g, "That is a step of SGD. Adam divides by the size of the gradient."), (w + rate, "Against the gradient."),
                      (w - 0.1 * rate, "The average of gradients begins at 0, and Adam corrects for that."), (w - g, "The gradient is divided by its size.")])  # fmt: skip


@asks("12")
def images(rng):
    """A convolution without padding."""
    n, c, side, out, k = 2 ** _whole(rng, 3, 7), _whole(rng, 1, 3), _whole(rng, 8, 32), _whole(rng, 4, 16), _whole(rng, 3, 5)
    result = tuple(nn.Conv2d(c, out, k)(torch.zeros(n, c, side, side)).shape)
    inner = side - k + 1
    return shape(f"Images of shape ({n}, {c}, {side}, {side}) go through Conv2d({c}, {out}, {k}) without padding. Shape of the result:", result,
                 f"{out} channels; a window of {k} fits at {side} - {k} + 1 = {inner} places.", {
                     (n, out, side, side): "Without padding the picture becomes smaller.", (n, c, inner, inner): "The result has a channel for each filter.",
                     (n, out, side - k, side - k): "The window fits at one place more.", (out, c, k, k): "That is the shape of the weight."})  # fmt: skip


@asks("13")
def passes(rng):
    """Passes for a Jacobian."""
    n, m = (int(v) for v in rng.permutation(np.arange(2, 5000))[:2])
    small, large = sorted((n, m))
    mode, other = ("forward", "results") if n < m else ("reverse", "inputs")
    return _asked(f"A function has {n} inputs and {m} results. How many passes does the cheaper mode need for its Jacobian?", small,
                  f"{mode.capitalize()} mode: a pass for each of the {small} {'inputs' if n < m else 'results'}.", [
                      (large, f"That is one for each of the {other}; the other mode is cheaper."), (n * m, "That is the number of entries. A pass gives a row or a column."),
                      (1, "One pass gives one row or one column."), (n + m, "Only one mode is used.")])  # fmt: skip


@asks("14")
def first_loss(rng):
    """The loss of guessing."""
    classes = _whole(rng, 3, 500)
    loss = nn.functional.cross_entropy(torch.zeros(1, classes, dtype=torch.float64), torch.tensor([0])).item()
    return _asked(f"A network for {classes} classes has just been made. About what should its first cross-entropy be?", loss,
                  f"Guessing uniformly costs log {classes}.", [
                      (math.log10(classes), "That is the logarithm to base 10. The loss takes the natural one."),
                      (1 / classes, "That is the probability of each class. The loss is minus its logarithm."), (classes, "Guessing costs the logarithm of the number of classes."),
                      (math.log2(classes), "That is the loss in bits. The loss takes the natural logarithm.")], tolerance=0.01)  # fmt: skip


@asks("15")
def traffic(rng):
    """Traffic of a chain."""
    k, size = _whole(rng, 3, 12), _whole(rng, 1, 16)
    return _asked(f"{k} cheap operations in a chain on an array of {size} MB. How many MB does fusing them save?", 2 * size * (k - 1),
                  f"Apart, each reads {size} MB and writes {size} MB: {2 * k * size}. Fused, the input is read and the result written: {2 * size}.", [
                      (2 * k * size, "That is what travels without fusion. Some of it still does."), (2 * size, "That is what still travels."),
                      (size * (k - 1), "Each result in between is written *and* read."), (k * size, "Each operation reads and writes.")])  # fmt: skip


@asks("16")
def perplexity(rng):
    """Perplexity."""
    k = _whole(rng, 3, 60)
    loss = round(math.log(k), 4)
    right = torch.exp(torch.tensor(loss, dtype=torch.float64)).item()
    return _asked(f"The loss is {loss} (natural logarithm). What is the perplexity, to the nearest whole number?", round(right),
                  f"e to the power {loss} is about {k}: as unsure as among {k} equally likely letters.", [
                      (loss, "That is the loss. The perplexity is e to its power."), (round(2**loss), "That would be so for a loss in bits, to base 2. Here the base is e."),
                      (round(10**loss), "That is for logarithms to base 10. The logarithm is the natural one, so the base is e.")])  # fmt: skip


@asks("17")
def score_count(rng):
    """Entries of attention scores."""
    batch, heads, size, length = _whole(rng, 2, 9), _whole(rng, 2, 8), _whole(rng, 4, 16), _whole(rng, 17, 64)
    q = torch.zeros(batch, heads, length, size)
    return shape(f"q and k have shape ({batch}, {heads}, {length}, {size}): batch, heads, places, size of a head. What is the shape of the scores?",
                 tuple((q @ q.mT).shape), "For each head a score for each pair of places.", {
                     (batch, heads, length, size): "That is the shape of q, and of the result of the head.", (batch, heads, size, size): "The product sums over the size of a head, not over places.",
                     (batch, length, length): "Each head has scores of its own.", (batch, heads, length): "Each place has a score for every other place."})  # fmt: skip


# -- the second course --------------------------------------------------------------------------------------------------


@asks("18")
def determinant(rng):
    """A determinant that grows."""
    n, det = _whole(rng, 2, 9), _whole(rng, 2, 9)
    a = torch.eye(n, dtype=torch.float64)
    a[0, 0] = det
    a.requires_grad_()
    torch.linalg.det(a).backward()
    right = 0.01 * (a.grad * a.detach()).sum().item()
    return _asked(f"A is {n} × {n} and det A = {det}. To first order, by how much does det A grow if A grows by 0.01 A?", right,
                  f"det A · tr(A⁻¹ · 0.01 A) = {det} · {n} · 0.01.", [
                      (0.01 * det, "Every one of the rows grows, and each brings that much."), (0.01 * n, "The determinant itself is a factor."),
                      (0.01 * det**n, "To first order the rows add up; they are not multiplied."), (0.01 * n * n * det, "The trace of the unit matrix is its size, not the square of it.")])  # fmt: skip


@asks("19")
def implicit(rng):
    """The slope of a solution."""
    a, b, x = _whole(rng, 2, 5), _whole(rng, 1, 4), _whole(rng, 1, 3)
    inner = _slope(lambda v: v**3 + a * v, x)
    return _asked(f"x solves x³ + {a} x = {b} t. What is dx/dt where x = {x}?", b / inner, f"(3x² + {a}) dx = {b} dt.", [
        (inner / b, "That is dt/dx."), (1 / inner, f"The right side moves {b} times as fast as t."), (-b / inner, "t is on the other side of the equation: no minus."),
        (b / (3 * x * x), f"The term {a} x has a derivative, too.")])  # fmt: skip


@asks("20")
def tangent(rng):
    """The tangent of a result."""
    n, x, t = _whole(rng, 2, 4), _whole(rng, 2, 4), _whole(rng, 2, 9)
    _, right = func.jvp(lambda v: v**n, (torch.tensor(float(x), dtype=torch.float64),), (torch.tensor(float(t), dtype=torch.float64),))
    return _asked(f"x = {x} has the tangent {t}. What is the tangent of x to the power {n}?", right.item(), f"{n} · {x} to the power {n - 1}, times {t}.", [
        (n * x ** (n - 1), "That is the derivative. The tangent is multiplied by it."), (t**n, "The tangent is not raised to the power: it is multiplied by the derivative."),
        (x**n * t, "The value was taken where the derivative belongs."), (n * x ** (n - 1) + t, "The tangent is multiplied by the derivative.")])  # fmt: skip


@asks("21")
def brackets(rng):
    """Multiplications of a chain of Jacobians."""
    a, b, c, d = (_whole(rng, 2, 20) for _ in range(4))
    forward, back = a * b * c + a * c * d, b * c * d + a * b * d
    return _asked(f"A chain maps {a} numbers to {b}, then to {c}, then to {d}. Its three Jacobians are multiplied from the input's side, as in forward "
                  "mode. How many multiplications are that?", forward, f"({c} × {b}) times ({b} × {a}), then ({d} × {c}) times ({c} × {a}): {a * b * c} + {a * c * d}.", [
                      (back, "That is from the output's side, as in reverse mode."), (a * b * c, "That is the first product. Another one follows."),
                      (a * b * c * d, "The costs of two products are added."), (a * b + b * c + c * d, "That is the number of entries of the three matrices.")])  # fmt: skip


@asks("22")
def samples(rng):
    """How many samples a mean needs."""
    variance, part = _whole(rng, 2, 40), [0.1, 0.2, 0.5][_whole(rng, 0, 2)]
    return _asked(f"One sample has variance {variance}. How many samples does a mean need for a standard deviation of {part}?", variance / part**2,
                  f"The variance of a mean of n is {variance}/n, and it has to be {part} squared.", [
                      (variance / part, f"{part} is the deviation; the variance is its square."), (math.sqrt(variance) / part, "The deviation falls with the root of n, not with n."),
                      (variance**2 / part**2, "The variance is given, not the deviation.")])  # fmt: skip


@asks("23")
def shards(rng):
    """A mean over unequal shards."""
    n, m, g, h = _whole(rng, 10, 60), _whole(rng, 10, 60), _whole(rng, 1, 9), _whole(rng, 1, 9)
    x = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    ((n * g + m * h) * x / (n + m)).backward()
    return _asked(f"Shards of {n} and {m} examples have mean gradients {g} and {h}. What is the gradient of the mean loss over all {n + m}?", x.grad.item(),
                  f"Each counts by its number of examples: ({n} · {g} + {m} · {h}) / {n + m}.", [
                      ((g + h) / 2, "The shards are not equally large."), (g + h, "The mean gradients are not added."), (n * g + m * h, "That is the sum over all examples.")])  # fmt: skip


@asks("24")
def modulus(rng):
    """The gradient of a squared modulus."""
    a, x, y = _whole(rng, 2, 5), _whole(rng, 1, 6), _whole(rng, 1, 6)
    z = torch.tensor(complex(x, y), dtype=torch.complex128, requires_grad=True)
    (a * z.abs() ** 2).backward()
    return _asked(f"L = {a}|z|² at z = {x} + {y}i. What is the imaginary part of z.grad?", z.grad.imag.item(), f"dL/dx + i dL/dy = 2 · {a} · z.", [
        (-2 * a * y, "That is of the conjugate: PyTorch's gradient is the direction in which L grows."), (a * y, "That is the Wirtinger derivative for the conjugate of z, half of it."),
        (2 * a * x, "That is the real part."), (a * (x * x + y * y), "That is the value of L.")])  # fmt: skip
