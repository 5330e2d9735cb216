"""What lesson 13 asks."""

from autolab.widgets.questions import choice, number, prediction, several, shape

dual = prediction(
    "y = x·x·x + x at x = 2. What is the tangent of y, if x has tangent 1?",
    13,
    why="3x² + 1 = 13, the derivative.",
    wrong={
        12: "That is the tangent of x·x·x. The last + x brings 1 more.",
        10: "That is the value of y.",
        14: "12 + 2: what is added is the tangent of x, 1, not its value.",
        5: "2x + 1 would be the derivative of x² + x.",
        7: "3x + 1: the derivative of x³ is 3x².",
    },
)

nested = prediction(
    "y = x·x·x + x once more, with x = (2 + ε) and the tangent (1 + 0ε). What is the tangent of the tangent of y?",
    12,
    why="The tangent of y is 3x² + 1, computed with a dual x. Its own tangent is the derivative of that, 6x = 12.",
    wrong={
        13: "That is the tangent of y, the first derivative. Its tangent is the derivative of 3x² + 1.",
        6: "That is the third derivative. The second is 6x, and x is 2.",
        0: "The tangent of x has tangent 0. But that of y depends on x, and x moves.",
        10: "That is the value of the value.",
        169: "13 · 13: a derivative of a derivative is not a square.",
    },
)

jvp = prediction(
    "v = (1, 0). What is the second entry of Jv?",
    3,
    why="Jv is the first column of J, (4, 3).",
    wrong={
        1: "That is from the first row of J, which reverse mode gives for u = (1, 0).",
        4: "That is the first entry.",
        2: "That is in the second column.",
    },
)

passes = prediction(
    "A function of 1000 inputs and 3 results. How many passes does jacrev need?",
    3,
    why="One for each result; jacfwd would need one for each input, 1000.",
    wrong={
        1000: "That is jacfwd, a pass for each input.",
        1: "A reverse pass gives one row, and there are three results.",
        3000: "That is the number of entries. A pass gives a whole row.",
    },
)

grad = prediction(
    "What is the last entry of grad of the sum of x³, at (1, 2, 3)?",
    27,
    why="3x² is 27 at x = 3.",
    wrong={
        81: "3 · 3³: the exponent goes down by one, 3 · 3² = 27.",
        9: "That is x²; the factor 3 is missing.",
        36: "That is the sum of x³, the value.",
        42: "3 · (1 + 4 + 9): that sums the gradient. Each entry of x has its own.",
    },
)

vmap = prediction(
    "dot(a, b) takes two vectors and returns a number. What is the shape of vmap(dot)(A, B) for A and B of shape (5, 3)?",
    (5,),
    why="One number for each of the five pairs of rows.",
    wrong={
        (5, 5): "Each row of A meets its own row of B only, not all of them.",
        (): "That is the dot product of one pair.",
        (5, 3): "Each dot product is one number: the axis of length 3 is summed.",
    },
)

quiz = (
    "13 forward mode and func",
    number(
        "Dual numbers: what is the coefficient of ε in (3 + ε)²?",
        6,
        why="(3 + ε)(3 + ε) = 9 + 6ε, because ε² is 0.",
        wrong={
            9: "That is the value, 3².",
            1: "The tangent of 3 + ε is 1. That of the square is 2 · 3 · 1.",
            3: "(3 + ε)(3 + ε) has two products of a 3 and an ε.",
            7: "6 + 1: the ε² is 0, it does not become an ε.",
        },
    ),
    choice(
        "A function has 2 inputs and 10000 results. Which gives its Jacobian in fewer passes?",
        {
            "jacrev": "It needs a pass for each result: 10000.",
            "both need the same": "Only if there are as many inputs as results.",
            "jacfwd": "Two columns, two passes.",
        },
        "jacfwd",
    ),
    shape(
        "grad of a loss for one sample has shape (4, 3) for the weight. Which shape does vmap over 20 samples give?",
        (20, 4, 3),
        why="One gradient for each sample, stacked in front.",
        wrong={
            (4, 3): "That is the sum over samples, which backward gives.",
            (4, 3, 20): "The new axis is the first, unless out_dims says otherwise.",
            (20,): "That is the shape of the losses, one for each sample.",
            (80, 3): "The samples get an axis of their own; they are not appended to the rows.",
            (20, 3, 4): "Each gradient keeps the shape of the weight, (4, 3).",
            (20, 12): "Each gradient keeps its two axes.",
        },
    ),
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
