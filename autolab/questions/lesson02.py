"""What lesson 02 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

leaf = prediction(
    "We never said that `y` requires a gradient. What is `y.requires_grad`?",
    "True",
    {
        "True": "One input that requires a gradient is enough: to get from y back to a, y has to be recorded.",
        "False": "The flag is inherited. If y did not carry it, the walk back from y would end before it began.",
    },
)

edges = prediction(
    "The edge of the power leads to the product `a * b`, with two inputs. Where does the product's edge for `b`, which requires no gradient, lead?",
    "to None",
    {
        "to None": "Every input has its place in the list, to match it with the rule's answers, but nothing has to be sent to b.",
        "to an AccumulateGrad, like that of a": "An AccumulateGrad fills the .grad of its leaf, and b requires no gradient.",
        "there is no edge for b at all": "Nearly. The place is kept, so that the second answer of a rule always belongs to the second input.",
    },
)

lines = prediction(
    "How many lines will the function below print for y = (a * b) ** 2?",
    4,
    why="One power, one product, and one accumulator for each of the two leaves.",
    wrong={
        3: "Both leaves require a gradient now, so each has an accumulator: two of those, under two operations.",
        2: "Two operations, yes. But the edges go on to the accumulators of the leaves.",
        5: "The exponent 2 is not a tensor; it is kept as a setting in the node of the power.",
    },
)

shared = prediction(
    "s = a · b, then three times s = s + s. How many lines does show print?",
    31,
    why="1 + 2 + 4 sums, and eight times the product with its two leaves: 7 + 24.",
    wrong={
        6: "That is the number of nodes: three sums, a product, two accumulators. But show comes to the shared ones again and again.",
        7: "These are the sums. At the end of each of the eight paths are the product and two leaves.",
        15: "The product has two lines of its own below it, one for each leaf.",
        63: "There are three sums, not four.",
    },
)

dynamic = prediction(
    "f(x) is x² where x > 0, and 3x elsewhere. What is the derivative at x = -2, as backward computes it?",
    3,
    why="At -2 the second branch ran. The first left no trace, so 3x is all there is to differentiate.",
    wrong={
        -4: "That is the derivative of x², the branch that did not run at -2.",
        -1: "The two branches are not added. Only one of them ran.",
        -6: "That is the value of 3x at -2. Its derivative is the factor of x.",
        0: "The test x > 0 has no gradient. But the branch behind it ran, and 3x has a derivative.",
    },
)

unrolled = prediction(
    "h = tanh(w · h + x) runs three times, from a plain h = 0; only w requires a gradient. How many nodes does the graph have, accumulators included?",
    10,
    why="Each run leaves a product, a sum and a tanh: nine nodes, and one accumulator for w, which all three products share.",
    wrong={
        4: "That is the graph of one run. Each run leaves its own product, sum and tanh.",
        9: "These are the operations. w has an accumulator.",
        12: "w is one leaf with one accumulator, however often it is used.",
        3: "That is one operation a run. The product, the sum and the tanh have a node each.",
        13: "The numbers x and the first h require no gradient, so they have no node.",
    },
)

cost = prediction(
    "How many bytes does the graph of ten times exp keep, for 1000 numbers of 4 bytes?",
    40000,
    why="Ten nodes keep one result of 4000 bytes each. Without the flag, each intermediate result would be gone as soon as the next is there.",
    wrong={
        4000: "That is one result. Each of the ten nodes keeps its own.",
        44000: "Ten results and the input? The rule of exp asks for its result only: g * out.",
        80000: "Twice too many. A number has 4 bytes here, and only the result is kept, not the input as well.",
        10000: "These are the numbers. Each takes 4 bytes.",
        0: "Each exp needs its result for its rule, g * out, so its node keeps it.",
    },
)

retain = prediction(
    "With a = 2, b = 3, s = a * b and y = s², s receives 2s = 12. What is s.grad after y.backward(), if nothing else is done?",
    "None",
    {
        "12": "That is what passed through. But .grad is filled at leaves only, or every layer of a network would keep a second copy of its size.",
        "None": "s is not a leaf. Its gradient was needed on the way, and was not kept.",
        "0": "None and 0 are different statements: nothing was stored, against the derivative is zero.",
    },
)

quiz = (
    "02 the graph",
    choice(
        "Which of these is not a leaf?",
        {
            "torch.ones(3)": "It is a leaf: no recorded operation made it.",
            "torch.ones(3, requires_grad=True)": "It is a leaf, and one that collects gradients.",
            "torch.ones(3, requires_grad=True) * 2": "A recorded multiplication made it, so it has a grad_fn and is not a leaf.",
            "torch.ones(3) * 2": "A surprise: nothing was recorded, because no input asked for it. Without a grad_fn it is a leaf.",
        },
        "torch.ones(3, requires_grad=True) * 2",
    ),
    several(
        "x and w are leaves, only w requires a gradient; y = x * w + 1. Which hold?",
        {
            "y.requires_grad is True": "One input that requires a gradient is enough.",
            "x.grad is filled by y.backward()": "x requires no gradient, so its edge is None.",
            "the first edge of the product is None": "It is the place of x, and nothing is sent there.",
            "the 1 has a node of its own": "A plain number is not a tensor with a flag; it has no node.",
        },
        ["y.requires_grad is True", "the first edge of the product is None"],
    ),
    number(
        "`s = a * b`, then `s = s + s` twice. How many nodes does the graph have, accumulators included, if both a and b require a gradient?",
        5,
        why="Two sums, one product and two accumulators; a node used twice is still one node.",
        wrong={
            15: "That counts a node once for each path to it: 1 + 2 sums, 4 products, 8 accumulators. Nodes are shared.",
            3: "These are the operations. Each of the two leaves has an accumulator.",
            7: "1 + 2 + 4 counts sums and products once for each path to them, and leaves out the leaves. Nodes are shared.",
            4: "There are two leaves, and each has an accumulator of its own.",
        },
    ),
    choice(
        "A function has an `if`. What does its graph contain after a call?",
        {
            "both branches and a switch between them": "There is no node for an if. The engine never sees your source code, only the operations that ran.",
            "the operations of the branch that ran": "The graph is a trail, not a plan.",
            "nothing: functions with an `if` cannot be differentiated": "They can, at every point: with the branch that ran there.",
        },
        "the operations of the branch that ran",
    ),
    order(
        "Put in order what happens to an intermediate result during training.",
        [
            "an operation computes it and leaves a node",
            "other nodes keep it, because their rules ask for it",
            "backward sends a gradient to its node",
            "its node frees what it kept",
        ],
        why="Made, kept, used, freed: memory rises in the forward run and falls in the backward run.",
        early={
            "other nodes keep it, because their rules ask for it": "It does not exist yet. An operation has to compute it first.",
            "backward sends a gradient to its node": "The walk back begins when the forward run is over, and the values are kept during the forward run.",
            "its node frees what it kept": "The rule still needs it. It is free to go once the gradient has arrived and the rule has run.",
        },
    ),
)
