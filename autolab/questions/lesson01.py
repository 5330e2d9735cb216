"""What lesson 01 asks."""

import autolab as torch
from autolab.questions.drawn import again, draws, gradients, leaves, slope
from autolab.utils.wording import signed, words
from autolab.widgets.questions import choice, number, prediction


@draws(x=(2, 30))
def nudge(x=2):
    return number(
        f"x · x · x at x = {x}. By how many times as much as x does the result move, about? (You know that the derivative is 3x².)",
        slope(lambda x: x * x * x, x),
        tolerance=0.01,
        why=f"3 · {x}² = {3 * x * x}. The nudge says a little more, because the cube is curved.",
        wrong=[
            (x**3, f"That is the value, {x}³."),
            (3 * x, f"3 · {x}: the x in 3x² is squared."),
            (x**2, "That is x². The exponent 3 comes down as a factor."),
        ],
    )


@draws(x=(2, 30))
def paths(x=2):
    a, leaf = None, torch.tensor(float(x), requires_grad=True)
    a = leaf * leaf
    a.retain_grad()
    (a * leaf).backward()
    return number(
        f"We follow every path back from y = a · x, with a = x · x and x = {x}. What will be in the `.grad` of a?",
        a.grad.item(),
        why=f"One path leads to a, and the product sends it the other factor, x = {x}.",
        wrong=[
            (x * x, "That is the value of a, and what the product sends to x."),
            (leaf.grad.item(), "That is what x collects, over three paths."),
            (1, f"1 arrives at y. The product multiplies it by the other factor, x = {x}."),
        ],
    )


@draws(a=(1, 9), b=(1, 9), x=(2, 9))
def product(a=1, b=1, x=3):
    return number(
        f"The derivative of (x + {a})(x - {b}) at x = {x}",
        slope(lambda x: (x + a) * (x - b), x),
        why=f"The left bracket receives {x - b}, the right one {x + a}, and both pass it on to x.",
        wrong=[
            ((x + a) * (x - b), f"{x + a} · {signed(x - b)}: that is the value. Gradients from two paths add."),
            (x - b, "That is one of two paths, through the left bracket."),
            (x + a, "That is one of two paths, through the right bracket."),
        ],
    )


@draws(k=(1, 6), low=(0, 5), high=(2, 12))
def kink(k=2, low=1, high=5):
    left, right = (slope(lambda x: torch.relu(x - k), x) for x in (low, high))
    if not low < k < high:
        return None
    return prediction(
        f"The derivative of relu(x - {k}) at x = {low}, and at x = {high}?",
        f"{left:g} and {right:g}",
        [
            (
                "0 and 1",
                f"At {low} the input of the ReLU is {low - k}: it is flat there. At {high} it is {high - k}, and the result moves as x does.",
            ),
            (f"0 and {high - k}", f"{high - k} is the value at {high}. Where it is open, ReLU has slope 1."),
            (f"{low - k} and {high - k}", f"These are the inputs of the ReLU, x - {k}."),
            ("1 and 1", f"At {low} the input is {low - k}. The result is 0, and stays 0 if x moves a little."),
        ],
    )


@draws(n=(3, 30))
def slow(n=16):
    (x,) = leaves(1)
    y = x.double()
    for _ in range(n):
        y = y + y
    return number(
        f"{words(n).capitalize()} times `y = y + y`. How many paths lead from y to x?",
        torch.autograd.grad(y, x)[0].item(),  # each path brings 1
        why=f"Each addition doubles the number of paths: 2 to the power of {n}.",
        wrong=[
            (2 * n, f"2 · {n}. Each addition has two paths to the one below, and that one again has two: they multiply."),
            (n, "That is the number of additions. Each has two paths on."),
            (n + 1, "That is the number of values. The paths between them are many more."),
        ],
    )


@draws(w1=[0.5, 1, 1.5, 2], x1=(1, 4), w2=(-3, 3), x2=(-4, 4), b=(1, 3))
def neuron(w1=0.5, x1=3, w2=-1, x2=-2, b=1):
    o = w1 * x1 + w2 * x2 - b
    if o <= 0:
        return None
    return number(
        f"o = relu({w1:g} · {x1} + {signed(w2)} · {signed(x2)} - {b}) = {w1 * x1 + w2 * x2 - b:g}, with w₂ = {w2} and x₂ = {x2}. What is the gradient of w₂?",
        slope(lambda w: torch.relu(w1 * x1 + w * x2 - b), w2),
        why=f"w₂ is multiplied by x₂ = {x2}, and the ReLU is open.",
        wrong=[
            (w2, "That is w₂ itself. Its gradient is the factor that it is multiplied by."),
            (w2 * x2, f"That is the product w₂ · x₂. If w₂ moves, the product moves x₂ = {x2} times as much."),
            (0, f"The ReLU is open: its input is {o:g}."),
        ],
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


@draws(g=(3, 40))
def twice(g=6):
    return choice(
        f"`x.grad` is {g} after one `backward`. You build the same formula again and call `backward` again, without setting anything to zero. What is `x.grad`?",
        [
            (f"{g}", f"A leaf does `value.grad += g`, not `=`. The second walk adds its {g} to the first."),
            (
                f"{gradients(lambda x: g * x + g * x, 1)[0]:g}",
                "That is why the training loop sets the gradients to zero. Lesson 05 shows what this adding is good for.",
            ),
            (f"{g * g}", "Gradients multiply along one path. Two walks are two paths side by side, and those add."),
        ],
        f"{2 * g}",
    )


@draws(x=(3, 40))
def used_twice(x=5):
    return choice(
        f"y = x · x at x = {x}. The rule of the product returns (g · {x}, g · {x}). What is `x.grad`?",
        [
            (f"{x}", "That is what came along one of the two edges. `x` was used twice."),
            (f"{x * x}", "That is the value of y."),
            (
                f"{slope(lambda x: x * x, x):g}",
                f"The rule does not know that both inputs are the same value, and need not know: {x} + {x} = {2 * x} = 2x.",
            ),
        ],
        f"{2 * x}",
    )


quiz = (
    "01 engine",
    twice,
    choice(
        "In `backward`, why does no value pass its gradient on too early?",
        {
            "Because `sorted` happens to put leaves last": "Not quite. A leaf made late (say, a constant in the last operation) comes early, and that is fine. What matters is that a value comes after everything that used it.",
            "Because a value is made before anything that uses it, so all its users have larger serial numbers": "Reverse order of creation is always a topological order. There is nothing to compute but a sort.",
            "Because gradients are added, the order does not matter": "The order of adding does not matter. But a value that passes its gradient on before all of it has arrived passes on too little.",
        },
        "Because a value is made before anything that uses it, so all its users have larger serial numbers",
    ),
    used_twice,
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
            "A rule that needs `x` uses the new number, and the gradient is silently wrong": "Try it. A rule that needs `x` needs it as it was when the operation ran.",
        },
        "A rule that needs `x` uses the new number, and the gradient is silently wrong",
    ),
    again(product, x=5),
)
