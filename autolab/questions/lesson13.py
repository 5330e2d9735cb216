"""What lesson 13 asks."""

import autolab as torch
from autolab import func
from autolab.questions.drawn import draws, gradients
from autolab.utils.wording import power, words
from autolab.widgets.questions import choice, number, several, shape


@draws(x=(2, 9), c=(1, 9))
def dual(x=2, c=1):
    value, tangent = func.jvp(lambda x: x * x * x + c * x, (torch.tensor(float(x)),), (torch.tensor(1.0),))
    last = "x" if c == 1 else f"{c}x"
    return number(
        f"y = x·x·x + {'' if c == 1 else c}x at x = {x}. What is the tangent of y, if x has tangent 1?",
        tangent.item(),
        why=f"3x² + {c} = {3 * x * x + c}, the derivative.",
        wrong=[
            (3 * x * x, f"That is the tangent of x·x·x. The last + {last} brings {c} more."),
            (value.item(), "That is the value of y."),
            (3 * x * x + c * x, f"{3 * x * x} + {c * x}: what is added is a tangent, {c}, not a value."),
            (2 * x + c, f"2x + {c} would be the derivative of x² + {last}."),
            (3 * x + c, f"3x + {c}: the derivative of x³ is 3x²."),
        ],
    )


@draws(x=(2, 9), c=(1, 9))
def nested(x=2, c=1):
    def tangent(x):
        return func.jvp(lambda x: x * x * x + c * x, (x,), (torch.ones_like(x),))[1]

    first, second = func.jvp(tangent, (torch.tensor(float(x)),), (torch.tensor(1.0),))
    return number(
        f"y = x·x·x + {'' if c == 1 else c}x once more, with x = ({x} + ε) and the tangent (1 + 0ε). What is the tangent of the tangent of y?",
        second.item(),
        why=f"The tangent of y is 3x² + {c}, computed with a dual x. Its own tangent is the derivative of that, 6x = {6 * x}.",
        wrong=[
            (first.item(), f"That is the tangent of y, the first derivative. Its tangent is the derivative of 3x² + {c}."),
            (6, f"That is the third derivative. The second is 6x, and x is {x}."),
            (0, "The tangent of x has tangent 0. But that of y depends on x, and x moves."),
            (x**3 + c * x, "That is the value of the value."),
            (first.item() ** 2, f"{first.item():g} · {first.item():g}: a derivative of a derivative is not a square."),
        ],
    )


@draws(a=(1, 9), b=(1, 9), c=(1, 9), d=(1, 9))
def jvp(a=4, b=1, c=3, d=2):
    matrix = torch.tensor([[a, b], [c, d]], dtype=torch.float64)
    _, product = func.jvp(lambda x: matrix @ x, (torch.ones(2, dtype=torch.float64),), (torch.tensor([1.0, 0.0], dtype=torch.float64),))
    return number(
        f"J has the rows ({a}, {b}) and ({c}, {d}), and v = (1, 0). What is the second entry of Jv?",
        product[1].item(),
        why=f"Jv is the first column of J, ({a}, {c}).",
        wrong=[
            (b, "That is from the first row of J, which reverse mode gives for u = (1, 0)."),
            (a, "That is the first entry."),
            (d, "That is in the second column."),
        ],
    )


@draws(n=[5, 10, 50, 100, 500, 1000, 5000], m=[2, 3, 4, 6, 20, 200])
def passes(n=1000, m=3):
    return number(
        f"A function of {n} inputs and {m} results. How many passes does jacrev need?",
        torch.empty(m, n).shape[0],
        why=f"One for each result; jacfwd would need one for each input, {n}.",
        wrong=[
            (n, "That is jacfwd, a pass for each input."),
            (1, f"A reverse pass gives one row, and there are {words(m)} results."),
            (n * m, "That is the number of entries. A pass gives a whole row."),
        ],
    )


@draws(a=(1, 4), b=(1, 4), c=(2, 9))
def grad(a=1, b=2, c=3):
    (found,) = gradients(lambda x: x**3, [a, b, c])
    return number(
        f"What is the last entry of grad of the sum of x³, at ({a}, {b}, {c})?",
        found[2],
        why=f"3x² is {3 * c * c} at x = {c}.",
        wrong=[
            (3 * c**3, f"3 · {c}³: the exponent goes down by one, 3 · {c}² = {3 * c * c}."),
            (c * c, "That is x²; the factor 3 is missing."),
            (a**3 + b**3 + c**3, "That is the sum of x³, the value."),
            (sum(found), f"3 · ({a * a} + {b * b} + {c * c}): that sums the gradient. Each entry of x has its own."),
        ],
    )


@draws(n=(2, 12), m=(2, 12))
def vmap(n=5, m=3):
    if n == m:
        return None
    return shape(
        f"dot(a, b) takes two vectors and returns a number. What is the shape of vmap(dot)(A, B) for A and B of shape ({n}, {m})?",
        tuple(func.vmap(torch.dot)(torch.ones(n, m), torch.ones(n, m)).shape),
        why=f"One number for each of the {words(n)} pairs of rows.",
        wrong=[
            ((n, n), "Each row of A meets its own row of B only, not all of them."),
            ((), "That is the dot product of one pair."),
            ((n, m), f"Each dot product is one number: the axis of length {m} is summed."),
            ((m,), "vmap goes over the first axis, the rows."),
        ],
    )


@draws(a=(2, 12), n=(2, 3))
def coefficient(a=3, n=2):
    _, tangent = func.jvp(lambda x: x**n, (torch.tensor(float(a)),), (torch.tensor(1.0),))
    right = tangent.item()
    return number(
        f"Dual numbers: what is the coefficient of ε in ({a} + ε){power(n)}?",
        right,
        why=f"{f'({a} + ε)' * n} = {a**n} + {right:g}ε, because ε² is 0.",
        wrong=[
            (a**n, f"That is the value, {a}{power(n)}."),
            (1, f"The tangent of {a} + ε is 1. That of the power is {n} · {a ** (n - 1)} · 1."),
            (a ** (n - 1), f"{f'({a} + ε)' * n} has {words(n)} products with one ε in them."),
            (right + 1, f"{right:g} + 1: the ε{power(n)} is 0, it does not become an ε."),
        ],
    )


@draws(n=[8, 10, 16, 20, 32, 50], a=(2, 6), b=(2, 6))
def per_sample(n=20, a=4, b=3):
    grads = func.vmap(func.grad(lambda w, x: (w @ x).sum()), in_dims=(None, 0))(torch.ones(a, b), torch.ones(n, b))
    if a == b:
        return None
    return shape(
        f"grad of a loss for one sample has shape ({a}, {b}) for the weight. Which shape does vmap over {n} samples give?",
        tuple(grads.shape),
        why="One gradient for each sample, stacked in front.",
        wrong=[
            ((a, b), "That is the sum over samples, which backward gives."),
            ((a, b, n), "The new axis is the first, unless out_dims says otherwise."),
            ((n,), "That is the shape of the losses, one for each sample."),
            ((n * a, b), "The samples get an axis of their own; they are not appended to the rows."),
            ((n, b, a), f"Each gradient keeps the shape of the weight, ({a}, {b})."),
            ((n, a * b), "Each gradient keeps its two axes."),
        ],
    )


quiz = (
    "13 forward mode and func",
    coefficient,
    choice(
        "A function has 2 inputs and 10000 results. Which gives its Jacobian in fewer passes?",
        {
            "jacrev": "It needs a pass for each result: 10000.",
            "both need the same": "Only if there are as many inputs as results.",
            "jacfwd": "Two columns, two passes.",
        },
        "jacfwd",
    ),
    per_sample,
    choice(
        "What does in_dims=(None, 0) mean in vmap(f, in_dims=(None, 0))?",
        {
            "the first argument is the same for all samples, the second has them along axis 0": "As for parameters and images.",
            "the first argument is not differentiated": "That is a matter of grad's argnums; vmap does not differentiate.",
            "the first argument is left out": "It is passed, whole, to each call.",
        },
        "the first argument is the same for all samples, the second has them along axis 0",
    ),
    several(
        "Which of these give a Hessian of f: (n) -> ()?",
        {
            "jacfwd(jacrev(f))": "Forward over reverse, the usual way.",
            "jacrev(grad(f))": "A Jacobian of the gradient, row by row.",
            "grad(grad(f))": "For n > 1 the gradient is not a scalar, so grad refuses it.",
            "vmap(grad(f))": "That gives a gradient for each sample, no second derivative.",
        },
        ["jacfwd(jacrev(f))", "jacrev(grad(f))"],
    ),
)
