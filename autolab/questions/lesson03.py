"""What lesson 03 asks."""

import autolab as torch
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, times, words
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(a=(2, 5), b=(1, 9), x=(1, 3))
def growth(a=3, b=2, x=1):
    outer = 2 * (a * x + b)
    return number(
        f"x grows from {x} to {x}.001. By how much does y = ({a}x + {b})² grow, about?",
        0.001 * slope(lambda x: (a * x + b) ** 2, x),
        tolerance=0.001,
        why=f"u grows by {0.001 * a:g}, and y by 2u = {outer} times that: {outer * a} times the change of x.",
        wrong=[
            (0.001 * a, f"That is the growth of u. The square scales it once more, by 2u = {outer}."),
            (0.001 * outer, f"That is the factor 2u = {outer} alone. But u has already grown {times(a)} as much as x."),
            (0.001 * (outer + a), f"{outer} + {a}. The second factor acts on what the first has made, so they multiply."),
        ],
    )


@draws(w=(-3, 4), x=(2, 9), b=(-9, 3))
def dead(w=1, x=2, b=-3):
    u = w * x + b
    why, wrong = (
        (
            f"wx + b = {u} is negative, so the last factor is 0, and 0 times x is 0.",
            [
                (x, "That is x, the factor of the product. The ReLU behind it contributes a factor of 0."),
                (1, f"The local derivative of ReLU at {u} is 0, not 1: it is flat there."),
                (-x, "ReLU passes the gradient on or stops it. It never turns it round."),
            ],
        )
        if u < 0
        else (
            f"wx + b = {u} is positive, so the last factor is 1, and the product sends x = {x}.",
            [
                (0, f"wx + b = {u} is positive: the ReLU is open and has slope 1."),
                (w, "That is w, the factor of the gradient of x."),
                (u, "That is the value of a. Its derivative is what w is multiplied by."),
                (1, "That is the slope of the ReLU. Before it, w is multiplied by x."),
            ],
        )
    )
    if u == 0:
        return None
    return number(
        f"w = {w}, x = {x}, b = {b}, a = relu(wx + b). What is the gradient of a with respect to w?",
        slope(lambda w: torch.relu(w * x + b), w),
        why=why,
        wrong=wrong,
    )


@draws(parts=(2, 5), n=(3, 10))
def dead_deep(parts=4, n=10):
    def shrink(x):
        for _ in range(n):
            x = x / parts
        return x

    left = slope(shrink, 1)
    return number(
        f"A gradient of 1 passes through {words(n)} {'sigmoids, each at its steepest point,' if parts == 4 else 'operations, each'} with slope 1/{parts}. About how much of it is left?",
        left,
        tolerance=0.1 * left,
        why=f"(1/{parts}){power(n)} is 1/{parts**n}." + " This is the vanishing gradient of deep networks." * (parts == 4),
        wrong=[
            (n / parts, f"{words(n).capitalize()} times 1/{parts}. Factors along a path multiply; they do not add."),
            (1 / (n * parts), f"1/{parts} divided by {words(n)}. Each one leaves 1/{parts} of what is left."),
            (1 / parts, "That is what the first of them leaves."),
            (1, f"Each one lets only 1/{parts} through."),
            (1 / n, f"1/{n} would be one factor. There are {words(n)} factors, each of them 1/{parts}."),
        ],
    )


@draws(n=[k * 10_000 for k in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90, 100, 120, 150, 200, 250, 300)])
def price(n=1_000_000):
    return number(
        f"A network has {n:,} parameters and one loss. Reverse mode needs one pass for the gradient. How many does forward mode need?",
        torch.empty(1, n).T.shape[0],  # the gradient is one row with an entry for each input
        why=f"A forward pass answers for one input. The gradient has {n:,} entries, each for another input.",
        wrong=[
            (1, "One pass follows one input. It says how the loss grows if that one parameter grows."),
            (2, "Twice as much would be welcome. But each parameter needs its own pass."),
            (2 * n, "Central differences take two runs for each parameter. Forward mode is exact with one pass for each."),
        ],
    )


@draws(n=[50 * k for k in range(2, 40)])
def association(n=1000):
    second, first = n**3 + n**2, 2 * n**2
    return number(
        f"(J₃ J₂) J₁ or J₃ (J₂ J₁), with shapes (1, {n}), ({n}, {n}), ({n}, {n}). How many times as many multiplications does the second take, about?",
        (second - n**2) / first,
        tolerance=0.02,
        why=f"The first: a row times a matrix, twice, 2 · {n}². The second: a matrix times a matrix, {n}³, and then a row.",
        wrong=[
            (n, f"A product of two matrices takes {n} times as many as that of a row and a matrix. But the first order has two of those."),
            (1, f"The result is the same, but J₂ J₁ is a whole matrix of {n} · {n} entries, and each takes {n} multiplications."),
            (2, f"Count the entries of J₂ J₁: {n * n:,}, with {n} multiplications each."),
            (n * n, f"That is {n}³ over {n}. A row times a matrix takes {n}² multiplications, not {n}."),
            (first / n**3, "The wrong way round: the second order is the expensive one."),
        ],
    )


kinds = prediction(
    "(f(x + h) - f(x)) / h in double precision, 16 digits. Which h comes closest to the derivative?",
    "1e-8",
    {
        "1e-3": "The error from the curvature of f is about h itself, so 1e-3 is off by roughly that much.",
        "1e-8": "A larger h is off because f is curved, a smaller one because of rounding. In between, both errors are about 1e-8.",
        "1e-15": "f(x + h) and f(x) then agree in nearly all digits, and their difference is mostly rounding error, divided by 1e-15.",
    },
)


@draws(a=(2, 5), b=(1, 4), n=(3, 4), x=(1, 3))
def chain(a=2, b=1, n=3, x=1):
    u = a * x + b
    if u ** (n - 1) >= 400:
        return None
    return number(
        f"y = ({a}x + {b}){power(n)} at x = {x}. What is dy/dx?",
        slope(lambda x: (a * x + b) ** n, x),
        why=f"u = {u}, so the factors are {n}u{power(n - 1)} = {n * u ** (n - 1)} and {a}.",
        wrong=[
            (n * u ** (n - 1), f"That is {n}u{power(n - 1)}, the factor of the power. The inner {a}x + {b} contributes a factor {a}."),
            (n * u ** (n - 1) + a, f"{n * u ** (n - 1)} + {a}. Along a path, factors multiply."),
            (n * x ** (n - 1) * a, f"The power's factor is {n}u{power(n - 1)}, taken at u = {u}, not at x = {x}."),
            (n * u ** (n - 2) * a, f"{n}u{power(n - 2)} · {a}: the exponent goes down by one only, from u{power(n)} to u{power(n - 1)}."),
            ((n - 1) * u ** (n - 2) * a, f"That would be for u{power(n - 1)}. Here it is u{power(n)}."),
        ],
    )


@draws(n=[2, 3, 4, 5, 8, 10, 50, 100, 1000, 2000], m=[2, 3, 4, 5, 8, 10, 50, 100, 1000, 2000])
def passes(n=3, m=1000):
    right = min(torch.empty(m, n).shape)  # a Jacobian has a row for each output, a column for each input
    cheap, other = (f"Forward mode: a column of {m} numbers for each of the {n} inputs.", "reverse mode, with a pass for each output")
    if n > m:
        cheap, other = (f"Reverse mode: a row of {n} numbers for each of the {m} outputs.", "forward mode, with a pass for each input")
    if n == m:
        return None
    return number(
        f"A function has {n} inputs and {m} outputs. How many passes does the cheaper mode need for its Jacobian?",
        right,
        why=cheap,
        wrong=[
            (max(n, m), f"That is {other}."),
            (n * m, "That is the number of entries. A pass gives a whole row or column of them."),
            (1, f"One pass follows one {'input' if n < m else 'output'}. There are {words(right)}."),
            (n + m, "The two modes are not combined. One alone gives all of it."),
        ],
    )


quiz = (
    "03 chain rule",
    chain,
    choice(
        "Why is the factor of exp in sin(exp(x²)) taken at x² and not at x?",
        {
            "because x² is larger": "Its size does not matter. What matters is which value went into exp.",
            "because the rule of exp saved its input": "It saves its result, and that is the same number either way. The question is which number went in.",
            "because x² is what exp received, and its factor says how a change there grows": "A local derivative is taken where the operation was.",
        },
        "because x² is what exp received, and its factor says how a change there grows",
    ),
    several(
        "A ReLU neuron answers 0 to every example of the data. Which of these can make it learn again?",
        {
            "a larger learning rate": "Anything times a gradient of 0 is 0.",
            "a leaky ReLU in its place": "It has slope 0.01 there, so something gets through.",
            "a change in the layer before it": "Its inputs may change so that some example opens it.",
            "more training with the same data, if it is in the first layer": "Its inputs are the data, and stay as they are: every gradient is 0.",
        },
        ["a leaky ReLU in its place", "a change in the layer before it"],
    ),
    passes,
    order(
        "Put the steps of one forward-mode derivative in order.",
        [
            "give x the tangent 1",
            "run an operation on the value",
            "multiply the tangent by the local derivative there",
            "read the tangent of the result",
        ],
        why="Value and tangent go through the program together; nothing is remembered and nothing walks back.",
        early={
            "run an operation on the value": "It would run without a tangent beside the value: x has to get its 1 before anything runs.",
            "multiply the tangent by the local derivative there": "The local derivative is taken at a value. The tangent has to exist, and the operation to have run.",
            "read the tangent of the result": "It is the result's only when every operation has multiplied its factor in.",
        },
    ),
)
