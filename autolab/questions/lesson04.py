"""What lesson 04 asks."""

from autolab.widgets.questions import choice, prediction, shape

loop = prediction(
    "The loop has run, and `loss.backward()` was never called. What is in `x.grad` now?",
    42,
    why="The loop is what backward consists of: the accumulator has added 42.",
    wrong={
        84: "The walk before, of trace.record, did not touch x.grad; only this one did.",
        0: "The last node to fire was the accumulator, and it stores what it receives.",
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
            "A guess of the gradient of `y`, to begin the search": "Nothing is searched for. The walk is exact.",
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
        },
    ),
)
