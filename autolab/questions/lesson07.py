"""What lesson 07 asks."""

import math

import autolab as torch
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, words
from autolab.widgets.questions import choice, number, prediction, several, shape


@draws(k=(2, 12), x=(2, 9))
def square(k=5, x=3):
    y = torch.tensor(float(x * x), requires_grad=True)
    (k * y).backward()
    return number(
        f"L = {k} · square(x) at x = {x}. What does `backward` of Square receive as g?",
        y.grad.item(),
        why=f"g is the derivative of L with respect to the result of the square: the {k} behind it.",
        wrong=[
            (1, f"It would be 1 if the square were the last operation. But its result is multiplied by {k}."),
            (2 * x, f"2x = {2 * x} is what backward has to multiply g by."),
            (2 * x * k, "That is what backward returns: g · 2x."),
        ],
    )


@draws(k=(3, 12), x=(2, 9))
def forgetful(k=5, x=3):
    class Forgetful(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x

    return number(
        f"{k} · Forgetful(x) at x = {x}, where Forgetful computes x² and its backward returns 2x. What is x.grad?",
        slope(lambda x: k * Forgetful.apply(x), x),
        why=f"The {k} arrives as g, and the rule does not look at it.",
        wrong=[
            (2 * x * k, "It should be. But this rule returns 2x, whatever arrives."),
            (k, f"{k} arrives; the rule returns 2x in its place."),
            (k * x * x, f"That is the value, {k} · {x}²."),
            (k * x, f"{k} · x. The rule returns 2x, and does not look at the {k}."),
        ],
    )


gradcheck = prediction(
    "(f(x + h) - f(x - h)) / 2h with h = 1e-6, in float32 with its 7 digits. How many digits of the quotient can be right?",
    "one or none",
    {
        "7": "The two values have 7 digits each. But nearly all of them agree and cancel in the difference.",
        "about 4": "That would need a difference thousands of times as large as the rounding error, so h near 1e-3.",
        "one or none": "f is off in its 7th digit, so the difference of two values is off by about 1e-7, and that is divided by 2e-6.",
    },
)


@draws(
    n=[
        100,
        1000,
        2000,
        3000,
        4000,
        5000,
        6000,
        7000,
        8000,
        9000,
        10_000,
        20_000,
        30_000,
        40_000,
        50_000,
        100_000,
        200_000,
        250_000,
        400_000,
        500_000,
        750_000,
        1_000_000,
    ]
)
def relu(n=1_000_000):
    x = torch.zeros(1, dtype=torch.float32).expand(n)
    if n % 8:
        return None
    return number(
        f"x has {words(n)} float32 numbers. How many bytes does the mask `x > 0` take?",
        n * (x[:1] > 0).element_size(),
        why="A bool takes one byte: a quarter of a float32.",
        wrong=[
            (n * x.element_size(), "That is x or out: 4 bytes for each number."),
            (n / 8, "One bit for each would be enough, but arrays of bool use a byte."),
            (8 * n, "8 bytes are a float64. A bool takes one."),
            (2 * n, "2 bytes are a float16. A bool takes one."),
        ],
    )


@draws(start=[0.1, 0.2, 0.3, 0.4, 0.6, 0.7], goal=(2, 9))
def straight(start=0.2, goal=3):
    x = start
    for _ in range(10):
        x = x - 0.1 * slope(lambda x: (torch.round(x) - goal) ** 2, x)
    return number(
        f"The loss is (round(x) - {goal})², and x starts at {start}. Where does x end with the true derivative of `round`?",
        x,
        why="Its derivative is 0: every step has length 0.",
        wrong=[
            (goal, f"With the straight-through gradient it gets to a place that rounds to {goal}. With the true one it never moves."),
            (goal - 0.5, "To move at all, a gradient other than 0 is needed."),
            (round(start), f"It does not move at all, not even to the {round(start)} that {start} rounds to."),
        ],
    )


@draws(
    n=[
        100,
        200,
        300,
        500,
        800,
        1000,
        2000,
        3000,
        4000,
        5000,
        6000,
        8000,
        10_000,
        12_000,
        20_000,
        30_000,
        40_000,
        50_000,
        60_000,
        80_000,
        100_000,
        200_000,
    ]
)
def softmax(n=50_000):
    return number(
        f"A row of {n:,} scores (a vocabulary). How many entries does the Jacobian of softmax have?",
        n * n,
        tolerance=1e-6,
        why=f"{n:,} · {n:,}: {4e-9 * n * n:g} GB in float32, for one row. The last formula needs about {4 * n:,} operations.",
        wrong=[
            (n, "That is y. The Jacobian has an entry for each pair of an output and an input."),
            (2 * n, "That is 2n. A matrix of shape (n, n) has n² entries."),
            (n * n / 10, "A zero is missing: count those of both factors."),
            (4 * n * n, "These are its bytes in float32, 4 for each entry."),
        ],
    )


@draws(n=[8, 16, 32, 64], k=[20, 50, 100, 200], m=[3, 5, 10, 12])
def linear(n=32, k=100, m=10):
    w = torch.zeros(m, k, requires_grad=True)
    torch.nn.functional.linear(torch.zeros(n, k), w).sum().backward()
    return shape(
        f"n = {n} examples, k = {k} inputs, m = {m} outputs: Y = X Wᵀ. What is the shape of the gradient of W?",
        tuple(w.grad.shape),
        why=f"The shape of W itself, (m, k). It is gᵀ X: ({m}, {n}) times ({n}, {k}).",
        wrong=[
            ((k, m), "That would be XᵀG, right for a layer X @ W with W of shape (k, m). Here W is stored the other way round."),
            ((n, m), "That is g, or Y."),
            ((n, k), "That is the gradient of X."),
        ],
    )


@draws(h=(1, 30))
def two_numbers(h=1):
    row = torch.tensor([3.0, 8.0], dtype=torch.float64, requires_grad=True)
    torch.nn.functional.layer_norm(row, (2,), eps=0.0).backward(gradient=torch.tensor([float(h), 0.0], dtype=torch.float64))
    half = f"{h / 2:g}" if h > 1 else "½"
    return number(
        f"Layer norm of a row of two different numbers, ε = 0, h = ({h}, 0). What is the first entry of the gradient of x?",
        round(row.grad[0].item(), 9),
        why=f"{h} - {half} - {half} = 0. Two different numbers always become -1 and 1, so moving them a little changes nothing.",
        wrong=[
            (h, "That is h alone, as if mean and variance were constants."),
            (h / 2, "The mean of h is subtracted, but the term through the variance is missing."),
            (-h / 2, "That is the mean of h · x̂. It is multiplied by x̂ and subtracted."),
            (-1, "That is the first entry of x̂, which the result shows. The gradient says how the loss changes."),
        ],
    )


@draws(
    tensors=["x, weight", "x, weight, bias", "x, y", "x, y, z", "a, b", "q, k, v"],
    settings=["eps, axis", "dim, keepdim", "p, training", "axis, eps, momentum", "stride, padding, dilation"],
)
def returned(tensors="x, weight, bias", settings="eps, axis"):
    k, m = len(tensors.split(", ")), len(settings.split(", "))

    def accepts(count):
        class Sum(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *given):
                return sum(given[:k])

            @staticmethod
            def backward(ctx, g):
                return (g,) * min(k, count) + (None,) * (count - k)

        try:
            Sum.apply(*(torch.ones((), requires_grad=True) for _ in range(k)), *settings.split(", ")).backward()
        except RuntimeError:
            return False
        return True

    n = next(count for count in range(1, 20) if accepts(count))
    return number(
        f"forward(ctx, {tensors}, {settings}): how many values does backward return?",
        n,
        why=f"One for each input of forward, in that order: {words(k)} gradients and {words(m)} None.",
        wrong=[
            (k, f"The settings {settings} get a None each."),
            (n + 1, "ctx is not an input of the function."),
            (1, f"One gradient for {tensors[0]} alone would leave the others without."),
            (n - 1, f"Every input of forward has its place in the answer, each of {settings} as well."),
        ],
    )


@draws(k=(1, 9), g=(1, 12), h=(0, 12))
def two_scores(k=1, g=3, h=1):
    x = torch.tensor([0.0, math.log(k)], dtype=torch.float64, requires_grad=True)
    torch.softmax(x, 0).backward(gradient=torch.tensor([g, h], dtype=torch.float64))
    p = 1 / (k + 1)
    mean = p * g + (1 - p) * h
    if g == h:
        return None
    return number(
        f"softmax of two scores gives (1/{k + 1}, {k}/{k + 1}); g = ({g}, {h}). What is the first entry of the gradient?",
        x.grad[0].item(),
        why=f"Σ g y = ({g} + {k} · {h})/{k + 1}, and 1/{k + 1} · ({g} - {mean:g}) = {x.grad[0].item():g}.",
        wrong=[
            (g * p, "g · y. The term - y Σ g y is missing."),
            (g * p * (1 - p), "That is the diagonal alone, g · y · (1 - y). The other output depends on this score, too."),
            (g - mean, "g minus the sum, without the factor y."),
        ],
    )


@draws(k=(2, 9), n=(2, 4), x=(2, 5))
def upstream(k=4, n=3, x=2):
    return number(
        f"Your Function computes x{power(n)}. The loss is {k} times its result, and x = {x}. What does its backward have to return?",
        slope(lambda x: k * x**n, x),
        why=f"g · {n}x{power(n - 1)} = {k} · {n * x ** (n - 1)}, and g is the {k} behind the result.",
        wrong=[
            (n * x ** (n - 1), f"That is the derivative alone. The {k} arrives as g and is multiplied in."),
            (k, "That is g, which arrives. It is multiplied by the derivative."),
            (k * x**n, "That is the loss."),
            (k + n * x ** (n - 1), "g and the derivative are multiplied, not added."),
        ],
    )


quiz = (
    "07 custom functions",
    choice(
        "You write the backward of y = exp(x). Which is best?",
        {
            "save x; return g * x.exp()": "Right, but exp is computed twice, and x is kept alive.",
            "save out; return out": "That is the derivative without g. It is right only if g is 1.",
            "save out; return g * out": "The derivative of exp is its own result, which exists anyway.",
        },
        "save out; return g * out",
    ),
    returned,
    several(
        "Which of these tests can tell `return 2 * x` from `return g * 2 * x`?",
        {
            "Square.apply(x).backward() with a single number x": "There g is 1, and the two agree.",
            "Square.apply(x).sum().backward()": "sum sends 1 to every entry: again g is 1.",
            "(5 * Square.apply(x)).sum().backward()": "Here g is 5.",
            "gradcheck(Square.apply, (x,)) with four numbers": "It sends unit vectors, so most entries of g are 0.",
        },
        ["(5 * Square.apply(x)).sum().backward()", "gradcheck(Square.apply, (x,)) with four numbers"],
    ),
    two_scores,
    choice(
        "gradcheck rejects RoundThrough. What does that mean?",
        {
            "its rule is not the derivative of its forward": "And it is not meant to be. A test for it would compare backward with g.",
            "the rule has a programming error": "The rule does what it should: it passes g on. That it is not the derivative is intended.",
            "x should have been float64": "With float64 it is rejected as well: differences of a step function are 0.",
        },
        "its rule is not the derivative of its forward",
    ),
    several(
        "Which of these hold for the gradient of layer norm with respect to x, whatever g is? (Up to ε.)",
        {
            "its entries add up to 0 along the row": "Adding a constant to the row changes nothing in the result, so the gradient has no part in that direction.",
            "it has the shape of x": "Every gradient has the shape of its input.",
            "it does not depend on the weight": "The weight is in h = g w, which comes first.",
            "the entry of x that is largest has the largest gradient": "The gradient depends on g as well, and g may be anything.",
        },
        ["its entries add up to 0 along the row", "it has the shape of x"],
    ),
    upstream,
)
