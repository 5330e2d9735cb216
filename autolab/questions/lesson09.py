"""What lesson 09 asks."""

from autolab.widgets.questions import choice, number, prediction, several

cube = prediction(
    "What is the second derivative of x³ at 2?",
    12,
    why="6x is 12 at x = 2. That 3x² is 12 as well is a coincidence.",
    wrong={
        6: "That is the third derivative. The second is 6x, and x is 2.",
        4: "3x² = 12 is the first; its derivative is 6x.",
        24: "That is 12 times 2, but 6x is 6 times 2.",
    },
)

relu = prediction(
    "f(x) = relu(x)² is x² at x = 2, so f'' is 2 there. What is f'' at x = -2?",
    0,
    why="Left of 0 the function is constant, so all its derivatives are 0.",
    wrong={
        2: "That is so on the right side, where relu(x)² = x². Left of 0 the ReLU is closed.",
        -4: "That is the first derivative of x² at -2. Left of 0 the function is 0, not x².",
        -2: "A square has no negative curvature; and left of 0 the ReLU is closed.",
        4: "That is the value of x² at -2. Left of 0 the ReLU gives 0.",
    },
)

hvp = prediction(
    "With H as above and v = (1, -1), what is the second entry of Hv?",
    -10,
    why="2 · 1 + 12 · (-1) = -10.",
    wrong={2: "That is the first entry, 4 - 2.", 14: "2 + 12: the second entry of v is -1.", 10: "The sign: 2 - 12."},
)

steep = prediction(
    "Without the penalty, L is the mean score of the fake points minus that of the real ones. What does the slope between them do in training?",
    "it grows without end",
    {
        "it settles near 1": "That is what the penalty asks for. Without it, no term of the loss prefers a slope of 1.",
        "it grows until the clouds are separated, then stays": "Once they are separated, doubling all scores still doubles their difference, and that lowers the loss.",
        "it grows without end": "If all scores double, so do the slope and the difference. The loss has no lower bound.",
    },
)

maml = prediction(
    "What is dL/dw?",
    -2.56,
    why="(1 - 0.1 · 2) · (-3.2) = 0.8 · (-3.2) = -2.56.",
    wrong={
        -3.2: "That is the gradient at w'. But w' depends on w by the factor 1 - αH = 0.8.",
        -4: "That is the gradient at w, before the step.",
        2.56: "The sign: the loss falls when w grows towards 3.",
    },
)

learners = prediction(
    "Which network has the smaller error on a new wave, before the first step and after one step?",
    "the ordinary one before, meta after",
    {
        "the ordinary one, both times": "Its loss was measured before any step. How it does after a step was not trained.",
        "the ordinary one before, meta after": "The ordinary one was trained on its loss before a step, meta on its loss after a step.",
        "meta, both times": "Its loss was measured after a step only. How it does before a step was not trained.",
    },
)

cut_rule = prediction(
    "Which of the two checks refuses this Cube?",
    "gradgradcheck alone",
    {
        "neither": "The saved x was detached: what is computed from it has no history.",
        "gradcheck alone": "It looks at numbers, and those are right.",
        "gradgradcheck alone": "The first derivative is right. But its graph does not lead to x, so the second one is 0.",
        "both": "gradcheck looks at numbers, and those are right.",
    },
)

quiz = (
    "09 higher order",
    number(
        "What is the second derivative of x⁴ at x = 1?",
        12,
        why="One derivative gives 4x³, the next 12x².",
        wrong={
            4: "That is the first derivative, 4x³.",
            24: "That is the third derivative, 24x.",
            3: "The 4 of the first derivative, 4x³, stays as a factor of 3x².",
            16: "4 · 4: the exponent of 4x³ is 3, so the second factor is 3.",
        },
    ),
    choice(
        "What does create_graph=True cost?",
        {
            "n times the time, for n parameters": "That would be the whole Hessian. Recording one walk takes memory, and a little time.",
            "nothing, because the graph is there already": "The forward graph is. The walk over it leaves a graph of its own.",
            "the memory of the recorded walk, and some time": "What the rules have saved has to stay in memory for the next walk.",
        },
        "the memory of the recorded walk, and some time",
    ),
    number(
        "A network has 1000 parameters. How many entries does Hv have?",
        1000,
        why="Shape (1000, 1000) times shape (1000) gives shape (1000): a change of the gradient has the shape of the gradient.",
        wrong={
            1000000: "That is H itself, which is never built.",
            1: "That would be vᵀHv. Hv has an entry for each parameter.",
            2000: "There are two backward walks, but the result is one change of the gradient.",
        },
    ),
    choice(
        "A gradient penalty is computed without create_graph=True. What happens?",
        {
            "the penalty is right, and has no influence on the weights": "Its value is a constant without a history: it is part of the loss, and gives no gradient.",
            "backward raises an error": "It would if the penalty were the whole loss. As one term among others it goes unnoticed, which is worse.",
            "the penalty is 0": "Its value is right. Only its dependence on the weights is not recorded.",
        },
        "the penalty is right, and has no influence on the weights",
    ),
    number(
        "MAML by hand: loss (w - 3)², step size 0.5, start w = 1. What is dL/dw?",
        0,
        why="The factor 1 - 0.5 · 2 is 0: one step of this size reaches the minimum from anywhere, and the start does not matter.",
        wrong={
            -4: "That is the gradient at the start.",
            3: "That is the place w' after the step.",
            -2: "That is the step, 0.5 times the gradient at the start. The question is how the loss after the step depends on the start.",
            1: "That is the start. After the step w' is 1 + 0.5 · 4.",
        },
    ),
    several(
        "Where can a second derivative silently become 0?",
        {
            "in a Function that detaches what it saved": "The history is cut.",
            "in a network of ReLUs, with respect to its inputs": "It is made of straight pieces; this 0 is the truth.",
            "in x.tanh()": "Its rule is an expression in its result, which has a history.",
        },
        ["in a Function that detaches what it saved", "in a network of ReLUs, with respect to its inputs"],
    ),
)
