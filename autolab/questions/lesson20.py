"""What lesson 20 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several, shape

nested = prediction(
    "What is f'(1), if f(x) is x times the derivative of x + y for y, at y = 1?",
    1,
    why="The inner derivative is 1, whatever x is. So f(x) = x · 1, and its derivative is 1.",
    wrong={
        2: "That counts the movement of x inside the inner derivative, too. There x is a constant: only y moves.",
        0: "The inner derivative is 1, not 0: x + y moves as much as y does.",
        3: "That adds x, y and the derivative. Work out the inner derivative first: it is 1.",
    },
)

loop = prediction(
    "halve(x) halves x until it is at most 1, then squares. What is its derivative at 6?",
    0.1875,
    tolerance=1e-4,
    why="6, 3, 1.5, 0.75: three halvings, so the function is (x/8)² nearby, with derivative 2 · 0.75 / 8.",
    wrong={
        1.5: "That is 2 · 0.75, the derivative of the square. Each of the three halvings brings a factor 1/2.",
        12: "That is 2 · 6. The square is taken of 0.75, and the halvings have their factors.",
        0.75: "That is the value that is squared. Its square has the slope 1.5, and three halvings follow.",
        0: "The number of halvings does not change near 6, but the value does.",
        0.5625: "That is the value of the function. The question is its slope.",
    },
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

hessians = prediction(
    "What shape has the batch of Hessians, for 2 samples and 3 weights?",
    (2, 3, 3),
    why="A Hessian of 3 weights is (3, 3), and vmap puts the samples in front.",
    wrong={
        (3, 3): "That is one Hessian. There is one for each sample.",
        (2, 3): "That is a batch of gradients. A Hessian has a row for each entry of the gradient.",
        (3, 3, 2): "vmap puts the samples in front.",
        (6, 6): "The samples do not mix: there are two matrices.",
    },
)

quiz = (
    "20 transformations",
    number(
        "x is a box of level 1, y a box of level 2. Which level handles x · y?",
        2,
        why="The highest among the arguments. It sees x as a constant, and level 1 sees to what is inside.",
        wrong={
            1: "Level 1 comes second: the highest level goes first and hands the values down.",
            3: "Nobody opens a new level for an operation. Transforms open levels.",
            0: "Level 0 is reached last, when all boxes are taken off.",
        },
    ),
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
    shape(
        "spread(x, n=4, axis=-2) for x of shape (3,): its shape?",
        (4, 3),
        why="The new axis of length 4 is the second from the end of the result.",
        wrong={
            (3, 4): "That would be axis=-1, the last of the result.",
            (12,): "spread adds an axis; it does not repeat along an old one.",
            (4,): "The entries of x are still there: 3 of them in each of 4 rows.",
        },
    ),
    choice(
        "A new operation is added with a jvp rule made of `mul` and `sin`. What does grad need besides?",
        {
            "nothing": "The tangents go through `mul` alone, and the transpose of `mul` is in the list.",
            "a backward rule": "The tangents go through `mul`, whose transpose is known. The sine is of a value.",
            "a transpose of sin": "No tangent goes through it: sin is taken of a value.",
        },
        "nothing",
    ),
)
