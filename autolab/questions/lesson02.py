"""What lesson 02 asks."""

import autolab as torch
from autolab.questions.drawn import draws, graph_nodes, leaves, slope
from autolab.utils.wording import times, words
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


@draws(factors=(2, 4), n=(1, 8))
def shared(factors=2, n=3):
    s, *others = leaves(factors)
    for leaf in others:
        s = s * leaf
    one = 2 * factors - 1  # lines of the product, with its leaves

    def lines(node):
        return node is not None and 1 + sum(lines(edge) for edge, _ in node.next_functions)

    for _ in range(n):
        s = s + s
    return number(
        f"s = {' · '.join('abcd'[:factors])}, then {times(n)} s = s + s. How many lines does show print?",
        lines(s.grad_fn),
        why=f"{' + '.join(str(2**k) for k in range(n))} sums, and {times(2**n)} the {one} lines of the product with its leaves: {2**n - 1} + {2**n * one}.",
        wrong=[
            (
                n + one,
                f"That is the number of nodes: {n} sums, and {one} for the product and its leaves. But show comes to the shared ones again and again.",
            ),
            (2**n - 1, f"These are the sums. At the end of each of the {2**n} paths are the product and its leaves."),
            (2**n - 1 + 2**n, "The product has lines of its own below it, down to each leaf."),
            (2 ** (n + 1) - 1 + 2 ** (n + 1) * one, f"That is for one sum more than {words(n)}."),
        ],
    )


@draws(k=(2, 9), x=(-9, -1))
def dynamic(k=3, x=-2):
    return number(
        f"f(x) is x² where x > 0, and {k}x elsewhere. What is the derivative at x = {x}, as backward computes it?",
        slope(lambda x: x**2 if x > 0 else k * x, x),
        why=f"At {x} the second branch ran. The first left no trace, so {k}x is all there is to differentiate.",
        wrong=[
            (2 * x, f"That is the derivative of x², the branch that did not run at {x}."),
            (2 * x + k, "The two branches are not added. Only one of them ran."),
            (k * x, f"That is the value of {k}x at {x}. Its derivative is the factor of x."),
            (0, f"The test x > 0 has no gradient. But the branch behind it ran, and {k}x has a derivative."),
        ],
    )


@draws(n=(2, 40))
def unrolled(n=3):
    (w,) = leaves(1)
    h = torch.tensor(0.0)
    for _ in range(n):
        h = torch.tanh(w * h + 1)
    return number(
        f"h = tanh(w · h + x) runs {times(n)}, from a plain h = 0; only w requires a gradient. How many nodes does the graph have, accumulators included?",
        len(graph_nodes(h)),
        why=f"Each run leaves a product, a sum and a tanh: {words(3 * n)} nodes, and one accumulator for w, which all {words(n)} products share.",
        wrong=[
            (4, "That is the graph of one run. Each run leaves its own product, sum and tanh."),
            (3 * n, "These are the operations. w has an accumulator."),
            (4 * n, "w is one leaf with one accumulator, however often it is used."),
            (n, "That is one operation a run. The product, the sum and the tanh have a node each."),
            (4 * n + 1, "The numbers x and the first h require no gradient, so they have no node."),
        ],
    )


@draws(k=(2, 12), n=[100, 200, 250, 500, 1000, 2000, 5000])
def cost(k=10, n=1000):
    node = torch.exp(torch.zeros(n, dtype=torch.float32, requires_grad=True)).grad_fn
    return number(
        f"How many bytes does the graph of {times(k)} exp keep, for {n} numbers of 4 bytes?",
        k * node._saved_result.nbytes,
        why=f"{words(k).capitalize()} nodes keep one result of {4 * n} bytes each. Without the flag, each intermediate result would be gone as soon as the next is there.",
        wrong=[
            (4 * n, f"That is one result. Each of the {words(k)} nodes keeps its own."),
            (4 * n * (k + 1), f"{words(k).capitalize()} results and the input? The rule of exp asks for its result only: g * out."),
            (8 * n * k, "Twice too many. A number has 4 bytes here, and only the result is kept, not the input as well."),
            (n * k, "These are the numbers. Each takes 4 bytes."),
            (0, "Each exp needs its result for its rule, g * out, so its node keeps it."),
        ],
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


@draws(n=(2, 40))
def nodes(n=2):
    a, b = leaves(2)
    s = a * b
    for _ in range(n):
        s = s + s
    return number(
        f"`s = a * b`, then `s = s + s` {times(n)}. How many nodes does the graph have, accumulators included, if both a and b require a gradient?",
        len(graph_nodes(s)),
        why=f"{words(n).capitalize()} sums, one product and two accumulators; a node used twice is still one node.",
        wrong=[
            (
                2 ** (n + 2) - 1,
                f"That counts a node once for each path to it: {2**n - 1} sums, {2**n} products, {2 ** (n + 1)} accumulators. Nodes are shared.",
            ),
            (n + 1, "These are the operations. Each of the two leaves has an accumulator."),
            (2 ** (n + 1) - 1, "That counts sums and products once for each path to them, and leaves out the leaves. Nodes are shared."),
            (n + 2, "There are two leaves, and each has an accumulator of its own."),
        ],
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
    nodes,
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
