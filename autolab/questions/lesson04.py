"""What lesson 04 asks."""

import autolab as torch
from autolab.questions.drawn import draws, gradients, slope
from autolab.utils.wording import times
from autolab.widgets.questions import choice, number, prediction, shape


@draws(k=(2, 40), x=(2, 9))
def factor(k=3, x=2):
    return prediction(
        f"The graph is for the gradient of x. Which factor of {k} · x does the multiplication keep for it?",
        f"{slope(lambda x: k * x, x):g}",
        [
            (f"{k}", f"The gradient of x is g times the other factor. The {k} requires no gradient, so x itself is not needed."),
            (f"x = {x}", f"x would be needed for the gradient of {k}, which requires none."),
            ("both", "Each factor serves the gradient of the other one, and only x requires a gradient."),
        ],
    )


@draws(a=(2, 5), b=(1, 6), x=(1, 4))
def hand(a=3, b=1, x=2):
    v = a * x + b
    return number(
        f"L = ({a}x + {b})² at x = {x}, where v = {a * x + b}. What is dL/dx?",
        slope(lambda x: (a * x + b) ** 2, x),
        why=f"2 · {v} = {2 * v} comes out of the square, passes the sum unchanged, and is multiplied by {a}.",
        wrong=[
            (2 * v, f"That arrives at {a}x. The factor {a} is still to come."),
            (a * v, f"{v} · {a}: the square contributes 2v = {2 * v}, not v."),
            (v * v, "That is the value of L."),
            (a * x, f"That is u = {a}x."),
        ],
    )


loop = prediction(
    "The loop has run, and `loss.backward()` was never called. What is in `x.grad` now?",
    42,
    why="The loop is what backward consists of: the accumulator has added 42.",
    wrong={
        84: "The walk before, of trace.record, did not touch x.grad; only this one did.",
        0: "The last node to fire was the accumulator, and it stores what it receives.",
        1: "That is the seed, with which the walk begins. What arrives at x is what the rules made of it.",
    },
)

again = prediction(
    "loss.backward() over the same graph, once more: what happens?",
    "an error",
    {
        "42 is added to x.grad": "It would be, if the power still had its 7. retain_graph=True keeps it.",
        "an error": "The power has freed the 7 that its rule needs.",
        "nothing": "The nodes are still there, so the walk begins; then a rule asks for what is gone.",
    },
)

first = prediction(
    "y = x² + 5x. Which of the two fires first on the way back, the square or the product?",
    "the product",
    {
        "the square": "It was made first, so it has the smaller number. The youngest fires first.",
        "the product": "x² was computed first, then 5x. The youngest fires first.",
    },
)


@draws(k=(2, 5), x=(1, 6), c=(2, 9))
def branch(k=2, x=3, c=5):
    s = k * x
    arrives = slope(lambda s: s**2 + c * s, s)
    return number(
        f"s = {k}x = {k * x} and y = s² + {c}s. What does the multiplication {k}x receive when it fires?",
        arrives,
        why=f"2s + {c} = {2 * s} + {c}: it waits for both, and fires once.",
        wrong=[
            (2 * s, f"That comes through the square. It waits for the {c} as well."),
            (c, f"That comes through the product. It waits for the {2 * s} as well."),
            (k * arrives, f"That is what it sends: {arrives:g} · {k}."),
        ],
    )


@draws(a=(1, 5), b=(1, 4), c=(1, 4), d=(1, 5), w=[2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 100])
def weighted(a=2, b=1, c=1, d=1, w=10):
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    jacobian = torch.tensor([[a, b, 0], [0, c, d]], dtype=torch.float64)
    (jacobian @ x).backward(gradient=torch.tensor([1, w], dtype=torch.float64))
    return number(
        f"J has the rows ({a}, {b}, 0) and (0, {c}, {d}), and ȳ = (1, {w}). What is the second entry of ȳᵀ J?",
        x.grad[1].item(),
        why=f"1 · {b} + {w} · {c}: the second input takes part in both results.",
        wrong=[
            (b + c, f"{b} + {c} forgets the weights. The second row counts {times(w)}."),
            (b, "That is the part through the first result alone."),
            (w * c, "That is the part through the second result alone."),
        ],
    )


@draws(digit=(1, 5), e=(2, 7))
def entries(digit=1, e=6):
    n = digit * 10**e
    return number(
        f"y = x · x for {digit * 10**e:,} numbers. How many entries does its Jacobian have?",
        n * n,
        tolerance=1e-6,
        why=f"One for each pair of a result and an input. With 4 bytes each that is {4e-9 * n * n:,g} GB.",
        wrong=[
            (n, "That many are not zero: those on the diagonal. But a matrix of shape (n, n) has n² entries."),
            (2 * n, "That is 2n. A matrix of shape (n, n) has n² entries."),
            (4 * n * n, "These are its bytes. It has a quarter as many entries."),
        ],
    )


@draws(a=(1, 4), b=(2, 5), c=(3, 9))
def nonscalar(a=1, b=2, c=3):
    x = torch.tensor([a, b, c], dtype=torch.float64, requires_grad=True)
    (x * x).backward(gradient=torch.tensor([1, 10, 100], dtype=torch.float64))
    return number(
        f"y = x · x for x = ({a}, {b}, {c}), with the weights 1, 10 and 100. What is the last entry of x.grad?",
        x.grad[2].item(),
        why=f"2 · {c} times its weight 100.",
        wrong=[
            (2 * c, "That is 2x. The weight of this entry, 100, multiplies it."),
            (2 * a + 20 * b + 200 * c, f"{2 * a} + {20 * b} + {200 * c}: each entry of x has its own gradient."),
            (100 * c, "x times the weight. The derivative of the square is 2x."),
        ],
    )


shapes = prediction(
    "X is (n, k), W is (k, m), Ȳ is (n, m). Which product has the shape of W?",
    "Xᵀ Ȳ",
    {
        "Ȳ Xᵀ": "(n, m) times (k, n) fits only if m = k, and gives (n, n).",
        "Xᵀ Ȳ": "(k, n) times (n, m) is (k, m).",
        "X Ȳᵀ": "(n, k) times (m, n) fits only if k = m, and gives (n, n).",
    },
)


@draws(a=(1, 6), b=(0, 6), c=(1, 6))
def column_sum(a=1, b=0, c=2):
    x = torch.tensor([[a, 0], [b, 1], [1, 1], [c, -1]], dtype=torch.float64)
    rows = [[1.0, 0.0, -1.0], [2.0, 1.0, 0.0]]
    (grad,) = gradients(lambda w: x @ w, rows)
    return number(
        f"X has the rows ({a}, 0), ({b}, 1), (1, 1) and ({c}, -1), W the rows (1, 0, -1) and (2, 1, 0), and L is the sum of X W. The three entries of the first row of the gradient of W are equal. What are they?",
        grad[0][0],
        why=f"The sum of the first column of X, {a} + {b} + 1 + {c}.",
        wrong=[
            (grad[1][0], "That is the sum of the second column, and the second row of the gradient."),
            (sum(rows[0]), "That is the sum of the first row of W: it belongs to the gradient of X."),
            (sum(rows[1]), "That is the sum of the second row of W: it belongs to the gradient of X."),
        ],
    )


@draws(n=(2, 9), m=(2, 9))
def stretched(n=4, m=3):
    x = torch.zeros(n, 1, requires_grad=True)
    (x + torch.zeros(n, m)).sum().backward()
    return number(
        f"A tensor of shape ({n}, 1) is added to one of shape ({n}, {m}), and everything is summed. What is each entry of its gradient?",
        x.grad[0, 0].item(),
        why=f"Each entry was used in {m} columns, and 1 comes back from each.",
        wrong=[
            (n, f"That is right for shape ({m},), which is used in {n} rows."),
            (n * m, "That is right for a single number, used everywhere."),
            (1, f"That is right for shape ({n}, {m}). Here each entry was used {times(m)}."),
        ],
    )


@draws(a=(1, 5), b=(2, 6), r=[10, 20, 30], s=[20, 40, 50], t=[30, 60, 70])
def column(a=1, b=2, r=10, s=20, t=30):
    grad = gradients(lambda x: x[:, None] * torch.tensor([r, s, t], dtype=torch.float64), [a, b])[0]
    if a == b:
        return None
    return number(
        f"A column ({a}, {b}) times a row ({r}, {s}, {t}), and the sum of all six products. What is the gradient of the column's {b}?",
        grad[1],
        why=f"It meets every entry of the row: {r} + {s} + {t}.",
        wrong=[
            (b * (r + s + t), f"That is its share of the sum, {b} · {r + s + t}. The gradient is what it is multiplied by."),
            (a + b, f"{a} + {b} is the gradient of an entry of the row."),
            (t, "It meets all three entries of the row, and the gradients add."),
        ],
    )


@draws(n=[100, 200, 500, 1000, 1438], k=[16, 64, 100, 256], h=[20, 32, 50, 128], m=[3, 5, 10])
def relu(n=1438, k=64, h=32, m=10):
    hidden = torch.zeros(n, h, requires_grad=True)
    scores = torch.relu(hidden)
    scores.retain_grad()
    (scores @ torch.zeros(h, m)).sum().backward()
    return shape(
        f"{n} digits, {k} numbers each, {h} hidden neurons, {m} scores. What is the shape of the gradient that arrives at the ReLU?",
        tuple(scores.grad.shape),
        why=f"A gradient has the shape of the result: {h} hidden values for each digit.",
        wrong=[
            ((n, m), "That arrives at the last +. The @ in between turns it into the shape of the hidden layer."),
            ((k, h), "That is the gradient of W1."),
            ((h,), "That is the gradient of b1, summed over the digits."),
            ((h, m), "That is the gradient of W2."),
        ],
    )


@draws(a=(2, 9), x=(1, 5))
def accumulator(a=4, x=2):
    return choice(
        f"y = {a}x + x³ at x = {x}. What does the accumulator of x receive?",
        [
            (
                f"{a}, and then {3 * x * x}, firing twice",
                "The two numbers are right, but the accumulator waits until the last edge into it has delivered.",
            ),
            (f"{slope(lambda x: a * x + x**3, x):g}, once", f"{a} + 3x² = {a} + {3 * x * x}. The sum is formed on arrival."),
            (f"{a * 3 * x * x}", "Gradients multiply along a path; these are two paths, and they add."),
        ],
        f"{a + 3 * x * x}, once",
    )


@draws(n=[30, 50, 64, 100, 200], k=[12, 20, 40, 80], m=[3, 5, 7, 10])
def of_weight(n=100, k=20, m=5):
    w = torch.zeros(k, m, requires_grad=True)
    (torch.zeros(n, k) @ w).sum().backward()
    right = f"`X.T @ g`, of shape {tuple(w.grad.shape)}"
    return choice(
        f"Y = XW with X of shape ({n}, {k}) and W of shape ({k}, {m}). What is the gradient of W?",
        [
            (
                f"`g @ X.T`, of shape ({n}, {n})",
                f"`g` has the shape of Y, ({n}, {m}), and Xᵀ has shape ({k}, {n}): this product does not even exist. And a gradient of W has shape ({k}, {m}).",
            ),
            (
                f"`X.T @ g` divided by {n}",
                f"There is no average in the product. If your loss is a mean over examples, the 1/{n} is already in `g`.",
            ),
            (right, f"({k}, {n}) times ({n}, {m}): the sum over the {n} examples happens inside the product."),
        ],
        right,
    )


@draws(n=(2, 12), m=(2, 12))
def summed(n=5, m=4):
    size = tuple((torch.zeros(n, 1) + torch.zeros(m)).shape)
    if n == m:
        return None
    return choice(
        f"x has shape ({n}, 1), y has shape ({m},). What is the shape of x + y, and over what is the gradient of y summed?",
        [
            (
                f"{size}; over axis 0",
                f"With the right ends aligned, `y` lacks axis 0, so each of its entries was used {times(n)}. (And the gradient of `x` is summed over axis 1 and keeps its shape ({n}, 1).)",
            ),
            (f"{size}; over axis 1", f"Axis 1 is the one that `y` has. You would get {n} numbers for {m} entries."),
            ("They do not fit together", f"They do: 1 is stretched to {m}, and the missing axis of `y` to {n}."),
        ],
        f"{size}; over axis 0",
    )


@draws(n=(2, 12), m=(2, 12))
def of_column(n=5, m=4):
    x = torch.zeros(n, 1, requires_grad=True)
    (x + torch.zeros(m)).sum().backward()
    return shape(
        f"x of shape ({n}, 1) plus y of shape ({m},): what is the shape of the gradient of x?",
        tuple(x.grad.shape),
        why="A gradient has the shape of its tensor; axis 1 is summed and kept.",
        wrong=[
            ((n, m), "That is the shape of the result, and of g. x was stretched along axis 1, so that axis is summed."),
            ((n,), "The sum keeps the axis of length 1, because x has it."),
            ((m,), "That is the gradient of y. x was stretched along axis 1, so that is the axis that is summed."),
            ((1, n), "x has its 1 behind, not in front: it is a column."),
            ((m, n), "That is the shape of x + y, transposed. A gradient has the shape of its tensor."),
            ((), "Only the axis along which x was stretched is summed, not both."),
        ],
    )


quiz = (
    "04 inside backward",
    accumulator,
    of_weight,
    summed,
    choice(
        "`y` has shape (3,) and `y.backward(gradient=v)` is called. What is `v`?",
        {
            "A guess at the gradient of `y`, to start the search": "There is no search. The walk is exact.",
            "The step size": "The step size belongs to the optimizer and is not known to `backward`. (Doubling `v` does double the gradient, though.)",
            "One weight for each entry of `y`: the result is the gradient of `(v * y).sum()`": "In other words the gradient of y, with which the vector-Jacobian products begin.",
        },
        "One weight for each entry of `y`: the result is the gradient of `(v * y).sum()`",
    ),
    choice(
        "Why is the rule of `exp` written `g * out` and not `g * np.exp(x)`?",
        {
            "The result exists already, so nothing has to be computed again, and `x` need not be kept": "What a rule asks for by name is what the node keeps. If the result is used further on, it is in memory anyway.",
            "They give different numbers": "Both are eˣ: `out` is the result that is there already.",
            "Because `x` may have changed since": "A good thought, but no: a change of `x` would be noticed (lesson 08). The same is true for `out`.",
        },
        "The result exists already, so nothing has to be computed again, and `x` need not be kept",
    ),
    choice(
        "A graph has 1000 nodes, and one of them is used by 10 others. How often does it fire in one `backward`?",
        {
            "10 times": "That is what following each path would do.",
            "Once": "The ten gradients are added as they arrive; all ten users are younger, so all have fired before its turn comes.",
            "It depends on the order in which the ten fire": "In whatever order they fire, all of them fire before it.",
        },
        "Once",
    ),
    of_column,
)
