"""What lesson 21 asks."""

import functools
import math
import operator

import autolab as torch
from autolab.questions.drawn import draws, graph_nodes, leaves
from autolab.utils.wording import words
from autolab.widgets.questions import choice, number, order, prediction, several, shape


def multiplications(n):
    """How many products the product of n numbers takes."""
    result = functools.reduce(operator.mul, leaves(n))
    return sum(node.name() == "MulBackward0" for node in graph_nodes(result))


@draws(n=(5, 40))
def formulas(n=10):
    each = multiplications(n - 1)
    return number(
        f"{words(n).capitalize()} formulas, each the product of {words(n - 1)} of {words(n)} numbers, multiplied out one by one: how many multiplications?",
        n * each,
        why=f"A product of {words(n - 1)} numbers takes {words(n - 2)} multiplications, and there are {words(n)} of them.",
        wrong=[
            (n * (n - 1), f"{words(n - 1).capitalize()} numbers take {words(n - 2)} multiplications, not {words(n - 1)}."),
            (n * n, f"Each formula has {words(n - 1)} factors and {words(n - 2)} multiplications."),
            (n - 1, f"That is the product itself. There are {words(n)} partial derivatives."),
            (2 * (n - 1), "That would be so if they shared partial products, as reverse mode does. Here each starts afresh."),
            ((n - 1) * (n - 2), f"There are {words(n)} formulas, one for each input."),
        ],
    )


@draws(n=(5, 40))
def reverse(n=10):
    forward = multiplications(n)
    return number(
        f"How many operations do the product of {words(n)} numbers and all its {words(n)} partial derivatives take by reverse mode?",
        forward + 2 * forward,
        why=f"{words(forward).capitalize()} for the product, and two on the way back for each of the {words(forward)}: {forward} + {2 * forward}. No two gradients meet.",
        wrong=[
            (2 * forward, f"That is the way back. The function itself takes {words(forward)}."),
            (forward + n * (n - 2), f"That is the function and {words(n)} formulas. Reverse mode shares what they have in common."),
            (2 * n, f"There are {words(forward)} products with two rules each, and {words(forward)} to begin with."),
            (4 * forward, f"That is 4 · {forward}, the theorem's bound. No sums are needed here, since every number is used once."),
            (forward, "That is the product alone."),
        ],
    )


squares = prediction(
    "Ten squarings, one after the other: operations with the gradient, divided by those without?",
    4,
    why="Each square: one product forward, two back, and one sum, since both gradients go to the same number.",
    wrong={
        3: "The two gradients of x · x go to the same x, and are added: one more operation each.",
        2: "The rule of a product has two products.",
        5: "Two gradients meet at each number: the first is stored, and only the second is added.",
        40: "That is the number of operations with the gradient. Divide by ten.",
    },
)

matmul = prediction(
    "Forward and backward of a product of two square matrices, divided by forward: about?",
    3,
    tolerance=0.05,
    why="The gradient of each factor is a product of the same size: one forward, two back. The sums where gradients meet are few.",
    wrong={
        2: "There are two factors, and each has a gradient: two products on the way back.",
        5: "That is the product of two numbers, where the sums count as much. Here they are few beside the products.",
        4: "That is the theorem's bound for arithmetic. A product of matrices needs less.",
    },
)


@draws(c=(2, 7), r=(2, 6))
def longest(c=3, r=2):
    def beta(c, r):  # Pascal's rule
        return 1 if c == 0 or r == 0 else beta(c - 1, r) + beta(c, r - 1)

    return number(
        f"{words(c).capitalize()} places, and no step run more than {'twice' if r == 2 else f'{words(r)} times'} before it is recorded. How long may the chain be?",
        beta(c, r),
        why=f"β({c}, {r}) is {c + r} over {c}, which is {math.comb(c + r, c)}.",
        wrong=[
            (
                c * r,
                f"{words(c).capitalize()} places and {words(r)} repetitions are not multiplied: β({c}, {r}) is a binomial coefficient, {c + r} over {c}.",
            ),
            (c**r, f"It is not {c} to the power of {r}. Pascal's rule gives {c + r} over {c}."),
            (r**c, f"It is not {r} to the power of {c}. Pascal's rule gives {c + r} over {c}."),
            (c + r, "That is c + r. The number is c + r over c."),
            (beta(c, r + 1), f"That is β({c}, {r + 1})."),
        ],
    )


@draws(n=(2, 30))
def cross(n=3):
    return number(
        f"{words(n).capitalize()} x lead to p, p to {words(n)} q, these to r, and r to {words(n)} y. First the {words(n)} q, then p, then r: how many multiplications?",
        n * 1 * 1 + n * 1 + n * n,  # edges in times edges out
        why=f"Each q has one edge in and one out: {n} in all. Then p: {n} · 1. Then r: {n} · {n}.",
        wrong=[
            (3 * n * n, f"That is forward or reverse order, where p goes first and every q then has {words(n)} edges in."),
            (n * n, f"That is the last node alone. The q take {n} and p takes {n}."),
            (n + 2 * n * n, f"When the q are gone, p leads to r alone: {n} · 1."),
            (n + n * n, "The q cost one multiplication each."),
        ],
    )


@draws(share=(8, 30), side=(1, 3))
def colours(share=20, side=1):
    n = share * (2 * side + 1)
    colour = []
    for column in range(n):  # greedily: columns meet in a row if they are near
        taken = set(colour[max(0, column - 2 * side) :])
        colour.append(next(c for c in range(n) if c not in taken))
    right = len({*colour})
    return number(
        f"Each point depends on itself and its {words(2 * side)} neighbours{f', {words(side)} on each side' if side > 1 else ''}. How many colours do the columns of the {share * (2 * side + 1)} by {share * (2 * side + 1)} Jacobian need?",
        right,
        why=f"Columns j to j + {2 * side} meet in row j + {side}. Columns {words(right)} apart share no row.",
        wrong=[
            (2 * side, f"Columns j and j + {2 * side} meet in row j + {side}."),
            (n, "That is one pass for each column, without compression."),
            (share, f"That is how many columns share each of the {words(right)} colours."),
            (
                4 * side + 1,
                f"Columns j and j + {right} share no row: their entries are in rows j - {side} to j + {side} and j + {side + 1} to j + {3 * side + 1}.",
            ),
        ],
    )


@draws(operations=(6, 40), n=(2, 9))
def bound(operations=12, n=5):
    received = 2 * operations  # gradients that arrive, two for each product; the first at each value is stored
    sums = received - (n + operations - 1)
    if n >= operations:
        return None
    return number(
        f"f takes L = {operations} operations on n = {n} inputs, each a product. At most how many operations do f and its gradient take?",
        operations + received + sums,
        why=f"4 · {operations} + 1 - {n}: {words(operations)} forward, {received} products, and {received} - {n + operations - 1} sums.",
        wrong=[
            (4 * operations, "That is 4 L. The first gradient that arrives at a value is stored and not added: 4 L + 1 - n."),
            (3 * operations, "That is without the sums where gradients meet."),
            (5 * operations, "That would be a sum for each gradient that arrives. The first one at a value is free."),
            (4 * operations * n, "Nothing is done once for each input."),
        ],
    )


@draws(rows=[100, 200, 400, 500, 1000], columns=[150, 300, 600, 800], colours=(3, 9))
def compressed(rows=500, columns=300, colours=7):
    return shape(
        f"A Jacobian of {rows} rows and {columns} columns is compressed with {colours} colours of columns. Shape of the compressed matrix?",
        tuple((torch.zeros(rows, columns) @ torch.zeros(columns, colours)).shape),
        why=f"One column of {rows} entries for each pass.",
        wrong=[
            ((colours, columns), f"That would be {words(colours)} backward passes, for colours of rows."),
            ((columns, colours), f"That is the shape of the seeds. Each pass gives a tangent of the results: {rows} entries."),
            ((rows, columns), "That is the Jacobian itself."),
        ],
    )


@draws(a=(2, 12), b=(2, 12), c=(2, 12), d=(2, 12))
def brackets(a=2, b=5, c=3, d=4):
    forward, back = a * b * c + a * c * d, b * c * d + a * b * d
    return number(
        f"A chain maps {a} numbers to {b}, then to {c}, then to {d}. Its three Jacobians are multiplied from the input's side, as in forward mode. How many multiplications are that?",
        forward,
        why=f"({c} × {b}) times ({b} × {a}), then ({d} × {c}) times ({c} × {a}): {a * b * c} + {a * c * d}.",
        wrong=[
            (back, "That is from the output's side, as in reverse mode."),
            (a * b * c, "That is the first product. Another one follows."),
            (a * b * c * d, "The costs of two products are added."),
            (a * b + b * c + c * d, "That is the number of entries of the three matrices."),
        ],
    )


quiz = (
    "21 cost",
    choice(
        "A function has 1000 inputs and takes L arithmetic operations. What does its gradient take, with the function?",
        {
            "at most 4 L": "The bound has no place for the number of inputs, except that more of them make it smaller.",
            "about 1000 L": "That is a forward pass for each input.",
            "at most 4 · 1000 · L": "The walk back visits each operation once, however many inputs there are.",
        },
        "at most 4 L",
    ),
    bound,
    choice(
        "Why is the ratio of tanh smaller if a function costs as much as ten products?",
        {
            "tanh is computed less often": "It is computed once in both counts.",
            "its rule uses the result: only arithmetic is added": "g · (1 - out²): the expensive part is already there.",
            "the rule calls tanh on fewer numbers": "The rule does not call tanh at all.",
        },
        "its rule uses the result: only arithmetic is added",
    ),
    several(
        "What can lower the time of a checkpointed chain, at the same number of places?",
        {
            "placing the first value behind the middle": "The first part is reversed with all places, so it may be the longer one.",
            "using a place again when its value is no longer needed": "The places of the second part are free for the first.",
            "keeping the last value instead of an earlier one": "From the last value nothing else can be reached.",
            "equal segments": "They waste that places become free. Binomial sizes do not.",
        },
        ["placing the first value behind the middle", "using a place again when its value is no longer needed"],
    ),
    compressed,
    order(
        "Put the steps of a compressed Jacobian in order.",
        ["find the pattern", "colour the columns", "sum the unit vectors of each colour", "one jvp for each sum", "read the entries back"],
        why="The pattern says which columns may share, and later whose an entry is.",
        early={
            "colour the columns": "Which columns meet is known from the pattern.",
            "sum the unit vectors of each colour": "There are no colours yet.",
            "one jvp for each sum": "It needs its tangents.",
            "read the entries back": "Nothing has been computed yet.",
        },
    ),
    brackets,
)
