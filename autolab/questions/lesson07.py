"""What lesson 07 asks."""

from autolab.widgets.questions import choice, number, prediction, several

square = prediction(
    "L = 5 · square(x) at x = 3. What does `backward` of Square receive as g?",
    5,
    why="g is the derivative of L with respect to the result of the square: the 5 behind it.",
    wrong={
        1: "It would be 1 if the square were the last operation. But its result is multiplied by 5.",
        6: "2x = 6 is what backward has to multiply g by.",
        30: "That is what backward returns: g · 2x.",
    },
)

forgetful = prediction(
    "5 · Forgetful(x) at x = 3, where backward returns 2x. What is x.grad?",
    6,
    why="The 5 arrives as g, and the rule does not look at it.",
    wrong={
        30: "It should be. But this rule returns 2x, whatever arrives.",
        5: "5 arrives; the rule returns 2x in its place.",
        45: "That is the value, 5 · 3².",
        15: "5 · x. The rule returns 2x, and does not look at the 5.",
    },
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

relu = prediction(
    "x has a million float32 numbers. How many bytes does the mask `x > 0` take?",
    1000000,
    why="A bool takes one byte: a quarter of a float32.",
    wrong={
        4000000: "That is x or out: 4 bytes for each number.",
        125000: "One bit for each would be enough, but arrays of bool use a byte.",
        8000000: "8 bytes are a float64. A bool takes one.",
        2000000: "2 bytes are a float16. A bool takes one.",
    },
)

straight = prediction(
    "Where does x end with the true derivative of `round`?",
    0.2,
    why="Its derivative is 0: every step has length 0.",
    wrong={
        3: "With the straight-through gradient it gets to a place that rounds to 3. With the true one it never moves.",
        2.5: "To move at all, a gradient other than 0 is needed.",
        0: "It does not move at all, not even down to the 0 that 0.2 rounds to.",
    },
)

softmax = prediction(
    "A row of 50,000 scores (a vocabulary). How many entries does the Jacobian of softmax have?",
    2500000000,
    why="50,000 · 50,000: ten gigabytes in float32, for one row. The last formula needs about 200,000 operations.",
    wrong={
        50000: "That is y. The Jacobian has an entry for each pair of an output and an input.",
        100000: "That is 2n. A matrix of shape (n, n) has n² entries.",
        250000000: "A zero is missing: 5² is 25, and 10⁴ squared is 10⁸.",
        10000000000: "These are its bytes in float32, 4 for each entry.",
    },
    tolerance=1e-6,
)

linear = prediction(
    "n = 32 examples, k = 100 inputs, m = 10 outputs. What is the shape of the gradient of W?",
    (10, 100),
    why="The shape of W itself, (m, k). It is gᵀ X: (10, 32) times (32, 100).",
    wrong={
        (100, 10): "That would be XᵀG, right for a layer X @ W with W of shape (k, m). Here W is stored the other way round.",
        (32, 10): "That is g, or Y.",
        (32, 100): "That is the gradient of X.",
    },
)

two_numbers = prediction(
    "Layer norm of a row of two different numbers, ε = 0, h = (1, 0). What is the first entry of the gradient of x?",
    0,
    why="1 - ½ - ½ = 0. Two different numbers always become -1 and 1, so moving them a little changes nothing.",
    wrong={
        1: "That is h alone, as if mean and variance were constants.",
        0.5: "The mean of h is subtracted, but the term through the variance is missing.",
        -0.5: "That is the mean of h · x̂. It is multiplied by x̂ and subtracted.",
        -1: "That is the first entry of x̂, which the result shows. The gradient says how the loss changes.",
    },
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
    number(
        "forward(ctx, x, weight, bias, eps, axis): how many values does backward return?",
        5,
        why="One for each input of forward, in that order: three gradients and two None.",
        wrong={
            3: "The settings eps and axis get a None each.",
            6: "ctx is not an input of the function.",
            1: "One gradient for x alone would leave weight and bias without.",
            4: "Every input of forward has its place in the answer, eps as well as axis.",
        },
    ),
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
    number(
        "softmax of two scores that are equal; g = (3, 1). What is the first entry of the gradient?",
        0.5,
        why="y = ½ each, Σ g y = 2, and ½ · (3 - 2) = ½.",
        wrong={
            1.5: "g · y. The term - y Σ g y is missing.",
            0.75: "That is the diagonal alone, g · y · (1 - y). The other output depends on this score, too.",
            1: "g minus the sum, without the factor y.",
        },
    ),
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
)
