"""What lesson 04 asks."""

from autolab.widgets.questions import choice, prediction, shape

factor = prediction(
    "The graph is for the gradient of x. Which factor of 3 · x does the multiplication keep for it?",
    "3",
    {
        "3": "The gradient of x is g times the other factor. The 3 requires no gradient, so x itself is not needed.",
        "x = 2": "x would be needed for the gradient of 3, which requires none.",
        "both": "Each factor serves the gradient of the other one, and only x requires a gradient.",
    },
)

hand = prediction(
    "L = (3x + 1)² at x = 2, where v = 7. What is dL/dx?",
    42,
    why="2 · 7 = 14 comes out of the square, passes the sum unchanged, and is multiplied by 3.",
    wrong={
        14: "That arrives at 3x. The factor 3 is still to come.",
        21: "7 · 3: the square contributes 2v = 14, not v.",
        49: "That is the value of L.",
        6: "That is u = 3x.",
    },
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

branch = prediction(
    "s = 2x = 6 and y = s² + 5s. What does the multiplication 2x receive when it fires?",
    17,
    why="2s + 5 = 12 + 5: it waits for both, and fires once.",
    wrong={
        12: "That comes through the square. It waits for the 5 as well.",
        5: "That comes through the product. It waits for the 12 as well.",
        34: "That is what it sends: 17 · 2.",
    },
)

weighted = prediction(
    "J has the rows (2, 1, 0) and (0, 1, 1), and ȳ = (1, 10). What is the second entry of ȳᵀ J?",
    11,
    why="1 · 1 + 10 · 1: the second input takes part in both results.",
    wrong={
        2: "1 + 1 forgets the weights. The second row counts ten times.",
        1: "That is the part through the first result alone.",
        10: "That is the part through the second result alone, and the last entry.",
    },
)

entries = prediction(
    "y = x · x for a million numbers. How many entries does its Jacobian have?",
    1e12,
    tolerance=1e-6,
    why="One for each pair of a result and an input. With 4 bytes each that is 4 terabytes.",
    wrong={
        1e6: "That many are not zero: those on the diagonal. But a matrix of shape (n, n) has n² entries.",
        2e6: "That is 2n. A matrix of shape (n, n) has n² entries.",
        4e12: "These are its bytes. It has a quarter as many entries.",
    },
)

nonscalar = prediction(
    "y = x · x for x = (1, 2, 3), with the weights 1, 10 and 100. What is the last entry of x.grad?",
    600,
    why="2 · 3 times its weight 100.",
    wrong={
        6: "That is 2x. The weight of this entry, 100, multiplies it.",
        642: "2 + 40 + 600: each entry of x has its own gradient.",
        300: "x times the weight. The derivative of the square is 2x.",
    },
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

column_sum = prediction(
    "The three entries of the first row of the gradient of W are equal. What are they?",
    4,
    why="The sum of the first column of X, 1 + 0 + 1 + 2.",
    wrong={
        1: "That is the sum of the second column, and the second row of the gradient.",
        0: "That is the sum of the first row of W: it belongs to the gradient of X.",
        3: "That is the sum of the second row of W: it belongs to the gradient of X.",
    },
)

stretched = prediction(
    "A tensor of shape (4, 1) is added to one of shape (4, 3), and everything is summed. What is each entry of its gradient?",
    3,
    why="Each entry was used in three columns, and 1 comes back from each.",
    wrong={
        4: "That is right for shape (3,), which is used in four rows.",
        12: "That is right for a single number, used everywhere.",
        1: "That is right for shape (4, 3). Here each entry was used three times.",
    },
)

column = prediction(
    "A column (1, 2) times a row (10, 20, 30), and the sum of all six products. What is the gradient of the column's 2?",
    60,
    why="It meets every entry of the row: 10 + 20 + 30.",
    wrong={
        120: "That is its share of the sum, 2 · 60. The gradient is what it is multiplied by.",
        3: "1 + 2 is the gradient of an entry of the row.",
        30: "It meets all three entries of the row, and the gradients add.",
    },
)

relu = prediction(
    "1438 digits, 64 numbers each, 32 hidden neurons, 10 scores. What is the shape of the gradient that arrives at the ReLU?",
    (1438, 32),
    why="A gradient has the shape of the result: 32 hidden values for each digit.",
    wrong={
        (1438, 10): "That arrives at the last +. The @ in between turns it into the shape of the hidden layer.",
        (64, 32): "That is the gradient of W1.",
        (32,): "That is the gradient of b1, summed over the digits.",
        (32, 10): "That is the gradient of W2.",
    },
)

quiz = (
    "04 inside backward",
    choice(
        "y = 4x + x³ at x = 2. What does the accumulator of x receive?",
        {
            "4, and then 12, firing twice": "The two numbers are right, but the accumulator waits until the last edge into it has delivered.",
            "16, once": "4 + 3x² = 4 + 12. The sum is formed on arrival.",
            "48": "Gradients multiply along a path; these are two paths, and they add.",
        },
        "16, once",
    ),
    choice(
        "Y = XW with X of shape (100, 20) and W of shape (20, 5). What is the gradient of W?",
        {
            "`g @ X.T`, of shape (100, 100)": "`g` has the shape of Y, (100, 5), and Xᵀ has shape (20, 100): this product does not even exist. And a gradient of W has shape (20, 5).",
            "`X.T @ g` divided by 100": "There is no average in the product. If your loss is a mean over examples, the 1/100 is already in `g`.",
            "`X.T @ g`, of shape (20, 5)": "(20, 100) times (100, 5): the sum over the 100 examples happens inside the product.",
        },
        "`X.T @ g`, of shape (20, 5)",
    ),
    choice(
        "x has shape (5, 1), y has shape (4,). What is the shape of x + y, and over what is the gradient of y summed?",
        {
            "(5, 4); over axis 0": "With the right ends aligned, `y` lacks axis 0, so each of its entries was used 5 times. (And the gradient of `x` is summed over axis 1 and keeps its shape (5, 1).)",
            "(5, 4); over axis 1": "Axis 1 is the one that `y` has. You would get 5 numbers for 4 entries.",
            "They do not fit together": "They do: 1 is stretched to 4, and the missing axis of `y` to 5.",
        },
        "(5, 4); over axis 0",
    ),
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
    shape(
        "x of shape (5, 1) plus y of shape (4,): what is the shape of the gradient of x?",
        (5, 1),
        why="A gradient has the shape of its tensor; axis 1 is summed and kept.",
        wrong={
            (5, 4): "That is the shape of the result, and of g. x was stretched along axis 1, so that axis is summed.",
            (5,): "The sum keeps the axis of length 1, because x has it.",
            (4,): "That is the gradient of y. x was stretched along axis 1, so that is the axis that is summed.",
            (1, 4): "x has its 1 behind, not in front: it is a column.",
            (4, 5): "That is the shape of x + y, transposed. A gradient has the shape of its tensor.",
            (): "Only the axis along which x was stretched is summed, not both.",
        },
    ),
)
