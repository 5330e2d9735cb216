"""What lesson 09 asks."""

import autolab as torch
from autolab import func
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, signed
from autolab.widgets.questions import choice, number, prediction, several


@draws(a=(1, 4), x=(2, 9))
def cube(a=1, x=2):
    first = slope(lambda x: a * x**3, x)
    front = "" if a == 1 else a
    return number(
        f"What is the second derivative of {'' if a == 1 else a}x³ at {x}?",
        slope(lambda x: torch.autograd.grad(a * x**3, x, create_graph=True)[0], x),
        why=f"{6 * a}x is {6 * a * x} at x = {x}." + " That 3x² is 12 as well is a coincidence." * (a == 1 and x == 2),
        wrong=[
            (6 * a, f"That is the third derivative. The second is {6 * a}x, and x is {x}."),
            *([(first, f"That is the first derivative, {3 * a}x². The second is its derivative.")] if x != 2 else []),
            (2 * x, f"That is the derivative of x². The first derivative is {3 * a}x², with a factor {3 * a}."),
            (6 * a * x * x, f"{6 * a}x², but the second derivative of {front}x³ is {6 * a}x."),
        ],
    )


@draws(x=(-9, 9), n=(2, 4))
def relu(x=-2, n=2):
    there = n * (n - 1) * abs(x) ** (n - 2)
    why, wrong = (
        (
            "Left of 0 the function is constant, so all its derivatives are 0.",
            [
                (there, f"That is so on the right side, where relu(x){power(n)} = x{power(n)}. Left of 0 the ReLU is closed."),
                (n * x ** (n - 1), f"That is the first derivative of x{power(n)} at {x}. Left of 0 the function is 0, not x{power(n)}."),
                (x**n, f"That is the value of x{power(n)} at {x}. Left of 0 the ReLU gives 0."),
            ],
        )
        if x < 0
        else (
            f"Right of 0 the function is x{power(n)}, and {n} · {n - 1} · x{power(n - 2)} is {there}."
            if n > 2
            else "Right of 0 the function is x², and its second derivative is 2.",
            [
                (0, "That is so on the left side, where the ReLU is closed."),
                (n * x ** (n - 1), f"That is the first derivative, {n}x{power(n - 1)}."),
                (x**n, "That is the value."),
            ],
        )
    )
    if x == 0:
        return None
    return number(
        f"f(x) = relu(x){power(n)}. What is f'' at x = {x}?",
        slope(lambda x: torch.autograd.grad(torch.relu(x) ** n, x, create_graph=True)[0], x),
        why=why,
        wrong=wrong,
    )


@draws(a=(1, 6), b=(1, 5), c=(2, 12), p=(1, 3), q=(-3, -1))
def hvp(a=4, b=2, c=12, p=1, q=-1):
    h, v = torch.tensor([[a, b], [b, c]], dtype=torch.float64), torch.tensor([p, q], dtype=torch.float64)
    _, product = func.jvp(func.grad(lambda x: x @ h @ x / 2), (torch.zeros(2, dtype=torch.float64),), (v,))
    return number(
        f"With H = (({a}, {b}), ({b}, {c})) and v = ({p}, {q}), what is the second entry of Hv?",
        product[1].item(),
        why=f"{b} · {p} + {c} · ({q}) = {b * p + c * q}.",
        wrong=[
            (product[0].item(), f"That is the first entry, {a} · {p} + {b} · ({q})."),
            (b * p - c * q, f"{b * p} + {-c * q}: the second entry of v is {q}."),
            (-product[1].item(), f"The sign: {b * p} - {-c * q}."),
        ],
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


@draws(goal=(2, 6), w=(0, 3), rate=[0.1, 0.2, 0.25])
def maml(goal=3, w=1, rate=0.1):
    inner = slope(lambda w: (w - goal) ** 2, w)
    after = w - rate * inner
    right = slope(lambda w: (w - rate * 2 * (w - goal) - goal) ** 2, w)
    if w >= goal:
        return None
    return number(
        f"The loss is (w - {goal})², and w' = w - {rate} times its gradient, from w = {w}. L is the loss at w'. What is dL/dw?",
        right,
        why=f"(1 - {rate} · 2) · {signed(2 * (after - goal))} = {1 - 2 * rate:g} · {signed(2 * (after - goal))} = {right:g}.",
        wrong=[
            (2 * (after - goal), f"That is the gradient at w'. But w' depends on w by the factor 1 - αH = {1 - 2 * rate:g}."),
            (inner, "That is the gradient at w, before the step."),
            (-right, f"The sign: the loss falls when w grows towards {goal}."),
        ],
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


@draws(a=(1, 9), n=(3, 5), x=(1, 4))
def second(a=1, n=4, x=1):
    first = slope(lambda x: a * x**n, x)
    return number(
        f"What is the second derivative of {'' if a == 1 else a}x{power(n)} at x = {x}?",
        slope(lambda x: torch.autograd.grad(a * x**n, x, create_graph=True)[0], x),
        why=f"One derivative gives {a * n}x{power(n - 1)}, the next {a * n * (n - 1)}x{power(n - 2)}.",
        wrong=[
            (first, f"That is the first derivative, {a * n}x{power(n - 1)}."),
            (a * n * (n - 1) * (n - 2) * x ** (n - 3), "That is the third derivative."),
            ((n - 1) * x ** (n - 2), f"The {a * n} of the first derivative, {a * n}x{power(n - 1)}, stays as a factor."),
            (a * n * n * x ** (n - 2), f"{a * n} · {n}: the exponent of the first derivative is {n - 1}, so the second factor is {n - 1}."),
        ],
    )


@draws(
    n=[10, 20, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 2000, 3000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000]
)
def size_of_product(n=1000):
    w = torch.ones(n)
    (product,) = func.jvp(func.grad(lambda w: (w**3).sum()), (w,), (w,))[1:]
    return number(
        f"A network has {n} parameters. How many entries does Hv have?",
        product.numel(),
        why=f"Shape ({n}, {n}) times shape ({n}) gives shape ({n}): a change of the gradient has the shape of the gradient.",
        wrong=[
            (n * n, "That is H itself, which is never built."),
            (1, "That would be vᵀHv. Hv has an entry for each parameter."),
            (2 * n, "There are two backward walks, but the result is one change of the gradient."),
        ],
    )


@draws(goal=(2, 9), w=(-3, 8))
def full_step(goal=3, w=1):
    if w in (0, goal):
        return None
    return number(
        f"MAML by hand: loss (w - {goal})², step size 0.5, start w = {w}. What is dL/dw?",
        slope(lambda w: (w - 0.5 * 2 * (w - goal) - goal) ** 2, w),
        why="The factor 1 - 0.5 · 2 is 0: one step of this size reaches the minimum from anywhere, and the start does not matter.",
        wrong=[
            (2 * (w - goal), "That is the gradient at the start."),
            (goal, "That is the place w' after the step."),
            (
                w - goal,
                "That is the step, 0.5 times the gradient at the start. The question is how the loss after the step depends on the start.",
            ),
            (w, f"That is the start. After the step w' is {goal}."),
        ],
    )


quiz = (
    "09 higher order",
    second,
    choice(
        "What does create_graph=True cost?",
        {
            "n times the time, for n parameters": "That would be the whole Hessian. Recording one walk takes memory, and a little time.",
            "nothing, because the graph is there already": "The forward graph is. The walk over it leaves a graph of its own.",
            "the memory of the recorded walk, and some time": "What the rules have saved has to stay in memory for the next walk.",
        },
        "the memory of the recorded walk, and some time",
    ),
    size_of_product,
    choice(
        "A gradient penalty is computed without create_graph=True. What happens?",
        {
            "the penalty is right, and has no influence on the weights": "Its value is a constant without a history: it is part of the loss, and gives no gradient.",
            "backward raises an error": "It would if the penalty were the whole loss. As one term among others it goes unnoticed, which is worse.",
            "the penalty is 0": "Its value is right. Only its dependence on the weights is not recorded.",
        },
        "the penalty is right, and has no influence on the weights",
    ),
    full_step,
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
