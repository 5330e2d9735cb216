"""What lesson 20 asks."""

import autolab as torch
from autolab import func
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, words
from autolab.widgets.questions import choice, number, order, prediction, several, shape


@draws(k=(1, 9), x=(1, 5), y=(1, 5))
def nested(k=1, x=1, y=1):
    def f(x):
        return x * func.grad(lambda y: x + k * y)(torch.tensor(float(y), dtype=torch.float64))

    return number(
        f"What is f'({x}), if f(x) is x times the derivative of x + {'' if k == 1 else k}y for y, at y = {y}?",
        func.grad(f)(torch.tensor(float(x), dtype=torch.float64)).item(),
        why=f"The inner derivative is {k}, whatever x is. So f(x) = x · {k}, and its derivative is {k}.",
        wrong=[
            (k + 1, "That counts the movement of x inside the inner derivative, too. There x is a constant: only y moves."),
            (0, f"The inner derivative is {k}, not 0: the sum moves {'as much' if k == 1 else f'{words(k)} times as much'} as y does."),
            (x + y + k, f"That adds x, y and the derivative. Work out the inner derivative first: it is {k}."),
        ],
    )


@draws(x=(3, 31))
def loop(x=6):
    if x & (x - 1) == 0:  # a kink
        return None

    def halve(x):
        while x > 1:
            x = x / 2
        return x**2

    passed = [x]
    while passed[-1] > 1:
        passed.append(passed[-1] / 2)
    v, n = passed[-1], len(passed) - 1
    return number(
        f"halve(x) halves x until it is at most 1, then squares. What is its derivative at {x}?",
        slope(halve, x),
        tolerance=1e-4,
        why=f"{', '.join(f'{v:g}' for v in passed)}: {words(n)} halvings, so the function is (x/{2**n})² nearby, with derivative 2 · {v:g} / {2**n}.",
        wrong=[
            (2 * v, f"That is 2 · {v:g}, the derivative of the square. Each of the {words(n)} halvings brings a factor 1/2."),
            (2 * x, f"That is 2 · {x}. The square is taken of {v:g}, and the halvings have their factors."),
            (v, f"That is the value that is squared. Its square has the slope {2 * v:g}, and {words(n)} halvings follow."),
            (0, f"The number of halvings does not change near {x}, but the value does."),
            (v * v, "That is the value of the function. The question is its slope."),
        ],
    )


branch = prediction(
    "What does vmap(halve) do on the samples 0.5 and 6?",
    "it refuses: one `if` cannot go two ways",
    {
        "it halves both until both are at most 1": "Then the first sample would be halved three times, and its result would be wrong.",
        "it halves each as often as it needs": "That is what a loop over the samples would do. vmap runs the function once, on all samples.",
        "it refuses: one `if` cannot go two ways": "The condition has two truth values, one for each sample, and Python's while wants one.",
    },
)

lines = prediction(
    "How many lines has the linear program of x · y + sin x?",
    5,
    why="Two multiplications and a sum for the product, one multiplication for the sine, and the last sum.",
    wrong={
        3: "That is the number of operations of f. The product rule alone has two multiplications and a sum.",
        4: "The last sum is also done for the tangents.",
        6: "cos x is a value, and is known when the line is written: it takes no line.",
        7: "Values take no lines: only what happens to tangents is written down.",
    },
)

products = prediction(
    "How many multiplications has the program of the gradient?",
    3,
    why="Each line is transposed once, and the transpose of a multiplication by c is a multiplication by c.",
    wrong={
        2: "One for each input would be enough for a linear f. Here x is reached through the product and the sine.",
        6: "Nothing is done twice: each of the three lines is transposed once.",
        5: "Five is the number of lines of the tangent's program; two of them are sums.",
        0: "Transposing changes the direction. The constants stay.",
    },
)


@draws(n=(2, 9), k=(2, 9))
def hessians(n=2, k=3):
    found = func.vmap(func.hessian(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(torch.ones(k), torch.ones(n, k))
    if n == k:
        return None
    return shape(
        f"What shape has the batch of Hessians, for {n} samples and {k} weights?",
        tuple(found.shape),
        why=f"A Hessian of {k} weights is ({k}, {k}), and vmap puts the samples in front.",
        wrong=[
            ((k, k), "That is one Hessian. There is one for each sample."),
            ((n, k), "That is a batch of gradients. A Hessian has a row for each entry of the gradient."),
            ((k, k, n), "vmap puts the samples in front."),
            ((n * k, n * k), f"The samples do not mix: there are {words(n)} matrices."),
        ],
    )


@draws(a=(1, 9), b=(1, 9))
def level(a=1, b=2):
    high, low = max(a, b), min(a, b)
    if a == b:
        return None
    return number(
        f"x is a box of level {a}, y a box of level {b}. Which level handles x · y first?",
        high,
        why=f"The highest among the arguments. It sees the other as a constant, and level {low} sees to what is inside.",
        wrong=[
            (low, f"Level {low} comes second: the highest level goes first and hands the values down."),
            (high + 1, "Nobody opens a new level for an operation. Transforms open levels."),
            (0, "Level 0 is reached last, when all boxes are taken off."),
        ],
    )


@draws(n=(2, 12), m=(2, 12))
def spread(n=4, m=3):
    if n == m:
        return None
    return shape(
        f"spread(x, n={n}, axis=-2) for x of shape ({m},): its shape?",
        tuple(torch.ones(m).unsqueeze(-2).expand(n, m).shape),
        why=f"The new axis of length {n} is the second from the end of the result.",
        wrong=[
            ((m, n), "That would be axis=-1, the last of the result."),
            ((n * m,), "spread adds an axis; it does not repeat along an old one."),
            ((n,), f"The entries of x are still there: {m} of them in each of {n} rows."),
        ],
    )


@draws(n=(2, 4), x=(2, 5), t=(2, 9))
def tangent(n=3, x=2, t=5):
    _, right = func.jvp(lambda v: v**n, (torch.tensor(float(x), dtype=torch.float64),), (torch.tensor(float(t), dtype=torch.float64),))
    one = n * x ** (n - 1)
    return number(
        f"x = {x} has the tangent {t}. What is the tangent of x{power(n)}?",
        right.item(),
        why=f"The derivative is {n} · {x}{power(n - 1)} = {one}, and it multiplies the tangent {t}.",
        wrong=[
            (one, "That is the derivative. The tangent is multiplied by it."),
            (t**n, "The tangent is not raised to the power: it is multiplied by the derivative."),
            (x**n * t, "The value was taken where the derivative belongs."),
            (one + t, "The tangent is multiplied by the derivative, not added to it."),
        ],
    )


quiz = (
    "20 transformations",
    level,
    choice(
        "Why are the jvp rules written with `mul` and `add`, not with np.multiply and np.add?",
        {
            "they are faster": "They are slower: each call looks at its arguments first.",
            "so that a rule can itself run inside another level": "Its arguments may be boxes of a lower level, and then its operations have to be seen there.",
            "NumPy has no broadcasting for tangents": "NumPy would do the arithmetic well. But it would not tell the levels below.",
        },
        "so that a rule can itself run inside another level",
    ),
    several(
        "The linear program of x · sin(x) at x = 2 is printed. Which of these are in it?",
        {
            "multiplications": "The tangent is multiplied by sin 2, by cos 2 and by 2.",
            "the number cos 2": "It is a value, and known when the line is written.",
            "the operation sin": "The sine was spent on the value. What a tangent meets is the number that came of it.",
            "an if": "Branches were taken when the function ran. The program is straight.",
        },
        ["multiplications", "the number cos 2"],
    ),
    order(
        "Put the steps of grad(f)(x) in order, as this lesson builds it.",
        ["open a tape", "open forward mode above it", "run f on boxes", "close both levels", "walk the lines from the last to the first"],
        why="linearize records while jvp runs f; transpose walks afterwards.",
        early={
            "open forward mode above it": "The tape lies below, so that tangents are boxes of the tape: it opens first.",
            "run f on boxes": "The boxes belong to levels that have to be open.",
            "close both levels": "The function has to run before that.",
            "walk the lines from the last to the first": "There are no lines before f has run.",
        },
    ),
    spread,
    choice(
        "A new operation is added with a jvp rule made of `mul` and `sin`. What does grad need besides?",
        {
            "nothing": "The tangents go through `mul` alone, and the transpose of `mul` is in the list.",
            "a backward rule": "The tangents go through `mul`, whose transpose is known. The sine is of a value.",
            "a transpose of sin": "No tangent goes through it: sin is taken of a value.",
        },
        "nothing",
    ),
    tangent,
)
