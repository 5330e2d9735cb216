"""What lesson 21 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several, shape

formulas = prediction(
    "Ten formulas, each the product of nine of ten numbers, multiplied out one by one: how many multiplications?",
    80,
    why="A product of nine numbers takes eight multiplications, and there are ten of them.",
    wrong={
        90: "Nine numbers take eight multiplications, not nine.",
        100: "Each formula has nine factors and eight multiplications.",
        9: "That is the product itself. There are ten partial derivatives.",
        18: "That would be so if they shared partial products, as reverse mode does. Here each starts afresh.",
        72: "There are ten formulas, one for each input.",
    },
)

reverse = prediction(
    "How many operations do the product of ten numbers and all its ten partial derivatives take by reverse mode?",
    27,
    why="Nine for the product, and two on the way back for each of the nine: 9 + 18. No two gradients meet.",
    wrong={
        18: "That is the way back. The function itself takes nine.",
        89: "That is the function and ten formulas. Reverse mode shares what they have in common.",
        20: "There are nine products with two rules each, and nine to begin with.",
        36: "That is 4 · 9, the theorem's bound. No sums are needed here, since every number is used once.",
        9: "That is the product alone.",
    },
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

longest = prediction(
    "Three places, and no step run more than twice before it is recorded. How long may the chain be?",
    10,
    why="β(3, 2) is 5 over 3, which is 10.",
    wrong={
        6: "Three places and two repetitions are not multiplied: β(3, 2) is a binomial coefficient, 5 over 3.",
        9: "It is not 3 to the power of 2. Pascal's rule gives 5 over 3.",
        8: "It is not 2 to the power of 3. Pascal's rule gives 5 over 3.",
        5: "That is c + r. The number is c + r over c.",
        20: "That is β(3, 3).",
    },
)

cross = prediction(
    "First the three q, then p, then r: how many multiplications?",
    15,
    why="Each q has one edge in and one out: 3 in all. Then p: 3 · 1. Then r: 3 · 3.",
    wrong={
        27: "That is forward or reverse order, where p goes first and every q then has three edges in.",
        9: "That is the last node alone. The q take 3 and p takes 3.",
        21: "When the q are gone, p leads to r alone: 3 · 1.",
        12: "The q cost one multiplication each.",
    },
)

colours = prediction(
    "Each point depends on itself and two neighbours. How many colours do the columns of the 60 by 60 Jacobian need?",
    3,
    why="Columns j, j + 1 and j + 2 meet in row j + 1. Columns three apart share no row.",
    wrong={
        2: "Columns j and j + 2 meet in row j + 1.",
        60: "That is one pass for each column, without compression.",
        20: "That is how many columns share each of the three colours.",
        5: "Columns j and j + 3 share no row: their entries are in rows j - 1 to j + 1 and j + 2 to j + 4.",
    },
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
    number(
        "f takes L = 12 operations on n = 5 inputs, each a product. At most how many operations do f and its gradient take?",
        44,
        why="4 · 12 + 1 - 5: twelve forward, 24 products, and 24 - 16 sums.",
        wrong={
            48: "That is 4 L. The first gradient that arrives at a value is stored and not added: 4 L + 1 - n.",
            36: "That is without the sums where gradients meet.",
            60: "That would be a sum for each gradient that arrives. The first one at a value is free.",
            240: "Nothing is done once for each input.",
        },
    ),
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
    shape(
        "A Jacobian of 500 rows and 300 columns is compressed with 7 colours of columns. Shape of the compressed matrix?",
        (500, 7),
        why="One column of 500 entries for each pass.",
        wrong={
            (7, 300): "That would be seven backward passes, for colours of rows.",
            (300, 7): "That is the shape of the seeds. Each pass gives a tangent of the results: 500 entries.",
            (500, 300): "That is the Jacobian itself.",
        },
    ),
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
)
