"""What lesson 01 asks."""

from autolab.widgets.questions import choice, number, prediction

nudge = prediction(
    "x · x · x at x = 2. By how many times as much as x does the result move, about? (You know that the derivative is 3x².)",
    12,
    tolerance=0.01,
    why="3 · 2² = 12. The nudge says a little more, because the cube is curved.",
    wrong={8: "That is the value, 2³.", 6: "3 · 2: the x in 3x² is squared.", 4: "That is x². The exponent 3 comes down as a factor."},
)

paths = prediction(
    "We follow every path back from y = a · x, with a = x · x and x = 2. What will be in the `.grad` of a?",
    2,
    why="One path leads to a, and the product sends it the other factor, x = 2.",
    wrong={
        4: "That is the value of a, and what the product sends to x.",
        12: "That is what x collects, over three paths.",
        1: "1 arrives at y. The product multiplies it by the other factor, x = 2.",
    },
)

product = prediction(
    "The derivative of (x + 1)(x - 1) at x = 3",
    6,
    why="The left bracket receives 2, the right one 4, and both pass it on to x.",
    wrong={
        8: "2 · 4: that is the value. Gradients from two paths add.",
        2: "That is one of two paths, through the left bracket.",
        4: "That is one of two paths, through the right bracket.",
    },
)

kink = prediction(
    "The derivative of relu(x - 2) at x = 1, and at x = 5?",
    "0 and 1",
    {
        "0 and 1": "At 1 the input of the ReLU is -1: it is flat there. At 5 it is 3, and the result moves as x does.",
        "0 and 3": "3 is the value at 5. Where it is open, ReLU has slope 1.",
        "-1 and 3": "These are the inputs of the ReLU, x - 2.",
        "1 and 1": "At 1 the input is -1. The result is 0, and stays 0 if x moves a little.",
    },
)

slow = prediction(
    "Sixteen times `y = y + y`. How many paths lead from y to x?",
    65536,
    why="Each addition doubles the number of paths: 2 to the power of 16.",
    wrong={
        32: "2 · 16. Each addition has two paths to the one below, and that one again has two: they multiply.",
        16: "That is the number of additions. Each has two paths on.",
        17: "That is the number of values. The paths between them are many more.",
    },
)

neuron = prediction(
    "o = relu(0.5 · 3 + (-1) · (-2) - 1) = 2.5, with w₂ = -1 and x₂ = -2. What is the gradient of w₂?",
    -2,
    why="w₂ is multiplied by x₂ = -2, and the ReLU is open.",
    wrong={
        -1: "That is w₂ itself. Its gradient is the factor that it is multiplied by.",
        2: "That is the product w₂ · x₂. If w₂ moves, the product moves x₂ = -2 times as much.",
        0: "The ReLU is open: its input is 2.5.",
    },
)

boxes = prediction(
    "relu(X @ W.T + b) @ v + c, minus the target, squared and summed: how many boxes does its graph have, if W, b, v and c ask for gradients and X does not?",
    13,
    why="Nine operations (transpose, @, +, relu, @, +, -, square, sum) and four leaves.",
    wrong={
        9: "These are the operations. Each of the four leaves has a box, too.",
        12: "The transpose W.T is an operation as well.",
        14: "One of X and the target is counted. Neither asks for a gradient, so neither has a box.",
        15: "X and the target ask for no gradient, so they have no box.",
        178: "That was one box for each number. An operation on tensors has one box.",
    },
)

quiz = (
    "01 engine",
    choice(
        "`x.grad` is 6 after one `backward`. You build the same formula again and call `backward` again, without setting anything to zero. What is `x.grad`?",
        {
            "6": "A leaf does `value.grad += g`, not `=`. The second walk adds its 6 to the first.",
            "12": "That is why the training loop sets the gradients to zero. Lesson 05 shows what this adding is good for.",
            "36": "Gradients multiply along one path. Two walks are two paths side by side, and those add.",
        },
        "12",
    ),
    choice(
        "In `backward`, why does no value pass its gradient on too early?",
        {
            "Because `sorted` happens to put leaves last": "Not quite. A leaf made late (say, a constant in the last operation) comes early, and that is fine. What matters is that a value comes after everything that used it.",
            "Because a value is made before anything that uses it, so all its users have larger serial numbers": "Reverse order of creation is always a topological order. There is nothing to compute but a sort.",
            "Because gradients are added, the order does not matter": "The order of adding does not matter. But a value that passes its gradient on before all of it has arrived passes on too little.",
        },
        "Because a value is made before anything that uses it, so all its users have larger serial numbers",
    ),
    choice(
        "y = x · x at x = 5. The rule of the product returns (g · 5, g · 5). What is `x.grad`?",
        {
            "5": "That is what came along one of the two edges. `x` was used twice.",
            "25": "That is the value of y.",
            "10": "The rule does not know that both inputs are the same value, and need not know: 5 + 5 = 10 = 2x.",
        },
        "10",
    ),
    choice(
        "A network has a million parameters and one loss. What does one walk of `backward` cost, compared with computing the loss?",
        {
            "A small multiple of it": "Every value is visited once, and its rule does about as much work as the operation did. The number of parameters does not appear.",
            "A million times as much": "That is the price of nudging: one more forward run for each parameter.",
            "As many times as there are paths": "That is the price of `follow_every_path`. Waiting until a gradient is complete is what avoids it.",
        },
        "A small multiple of it",
    ),
    choice(
        "Between the forward run and `backward` you write `x.number = 100`. What happens to our engine?",
        {
            "Nothing: the rule has its own copy of the number": "The `lambda` holds on to the object `x`, and looks at `x.number` when it runs.",
            "An error": "No, and that is the trouble: nothing notices. autolab and PyTorch count such writes and refuse; lesson 08 shows how.",
            "The rule uses the 100, and the gradient is silently wrong": "Try it. A rule that needs `x` needs it as it was when the operation ran.",
        },
        "The rule uses the 100, and the gradient is silently wrong",
    ),
    number(
        "(x + 1)(x - 1) at x = 5: what is the derivative?",
        10,
        why="5 - 1 = 4 through the left bracket, 5 + 1 = 6 through the right one.",
        wrong={
            24: "4 · 6: the two are gradients from two paths, and those add. (24 is the value.)",
            1: "Each bracket passes on what it receives, unchanged. But it receives the value of the other bracket.",
            4: "That comes through the left bracket. x is in the right one, too.",
            6: "That comes through the right bracket. x is in the left one, too.",
        },
    ),
)
