"""What lesson 05 asks."""

import autolab as torch
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, times, words
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(x=(2, 9), n=(2, 3), passes=(3, 4))
def three(x=3, n=2, passes=3):
    leaf = torch.tensor(float(x), requires_grad=True)
    for _ in range(passes):
        (leaf**n).backward()
    one = n * x ** (n - 1)
    return number(
        f"`x.grad` after the {'third' if passes == 3 else 'fourth'} backward pass of x{power(n)} at {x}",
        leaf.grad.item(),
        why=f"{' + '.join([str(one)] * passes)}. Each pass adds its {one} to what the pass before has left.",
        wrong=[
            (one, "That would be `x.grad = g`. The accumulator does `x.grad += g`."),
            (
                one**passes,
                f"Gradients multiply along one path. {words(passes).capitalize()} passes are {words(passes)} gradients side by side, and those add.",
            ),
            (one * (passes - 1), f"That is after the {'second' if passes == 3 else 'third'} pass."),
        ],
    )


@draws(g=(3, 40))
def aside(g=6):
    x = torch.tensor(1.0, requires_grad=True)
    (g * x).backward()
    first = x.grad
    (g * x).backward()
    return number(
        f"first = x.grad is {g}, and then backward runs once more. What is in first?",
        first.item(),
        why="first and x.grad are two names of one tensor, and backward adds into it.",
        wrong=[
            (g, "That would be so for a copy, x.grad.clone(). first is a second name for the same tensor."),
            (0, "Nothing sets it to zero between the two passes."),
            (g * g, f"{g} · {g}. Two passes are added."),
            (3 * g, "That is after a third pass."),
        ],
    )


@draws(a=(2, 9), x=(1, 9))
def twice(a=3, x=2):
    return number(
        f"y = {a}x + x² at x = {x}: what is `x.grad`?",
        slope(lambda x: a * x + x**2, x),
        why=f"{a} through the product, and {2 * x} through the square.",
        wrong=[
            (2 * a * x, f"{a} · {2 * x}. Factors multiply along one path, and these are two paths."),
            (2 * x, "That came through the square, and would remain if the second gradient overwrote the first."),
            (a, "That came through the product, and would remain if the second gradient overwrote the first."),
            (a * x + x * x, f"That is the value of y at {x}."),
        ],
    )


bug = prediction(
    "What will the loss do in the run without zero_grad?",
    "swing up and down",
    {
        "fall, but more slowly": "The sum of many gradients is large, so the first steps are faster. The trouble is that it cannot stop at the bottom.",
        "stay where it is": "Each step moves by the sum of all gradients, which is seldom zero.",
        "swing up and down": "Old gradients keep pushing past the bottom of the bowl until the new ones, from the other side, outweigh them. Then the same the other way.",
        "raise an error": "Adding is what the engine is for. To it nothing is wrong.",
    },
)

where = prediction(
    "Which of these three orders does not train?",
    "backward, zero, step",
    {
        "zero, backward, step": "This is the usual order: old gradients go before the new ones come.",
        "backward, step, zero": "The step has used the gradient already when it is cleared; the next backward begins with none.",
        "backward, zero, step": "The gradient is thrown away before it is used.",
    },
)


@draws(k=(2, 12), size=[4, 5, 8, 10, 16, 20, 32])
def micro(k=4, size=16):
    data = torch.arange(1.0, k * size + 1, dtype=torch.float64)
    whole = slope(lambda w: (w * data).mean(), 1)
    parts = sum(slope(lambda w, part=part: (w * part).mean(), 1) for part in data.split(size))
    return number(
        f"By what factor is the sum of the gradients of {words(k)} means over {size} larger than the gradient of the mean over all {k * size}?",
        parts / whole,
        why=f"Each small mean divides by {size}, not by {k * size}. {words(k).capitalize()} of them make {words(k)} times the large mean.",
        wrong=[
            (1, f"It would be so for sums. A mean over {size} divides by {size}, and the large one by {k * size}."),
            (size, f"Each of the {words(k)} divides by {size} already. Compare it with {k * size}."),
            (k * size, f"Both are means. They divide by {size} and by {k * size}."),
        ],
    )


nothing = prediction(
    "Two parameters are 1. The loss uses neither. One has grad None, the other grad 0. After a step with learning rate 0.1 and weight decay 0.5, which has changed?",
    "only the one with 0",
    {
        "none of them": "The gradient of 0 moves nothing. But weight decay adds 0.5 times the weight to it.",
        "only the one with 0": "0 is a gradient, so the optimizer steps: 1 - 0.1 · 0.5 · 1 = 0.95. The parameter with None is skipped.",
        "both": "A parameter without a gradient is skipped altogether, weight decay included.",
    },
)


@draws(before=(2, 20), a=(2, 9))
def added(before=10, a=4):
    x = torch.tensor(1.0, requires_grad=True)
    x.grad = torch.tensor(float(before))
    (x * a).backward()
    return number(
        f"x.grad is {before}. Then (x * {a}).backward() runs. What is x.grad?",
        x.grad.item(),
        why=f"{a} is added to what is there.",
        wrong=[
            (a, "That would overwrite. The accumulator adds."),
            (before * a, f"Along a path gradients multiply, but {before} and {a} are from two passes."),
            (before, f"That is what was there. The second pass adds its {a}."),
        ],
    )


@draws(k=(2, 20), size=(2, 64))
def parts(k=8, size=8):
    return number(
        f"{words(k).capitalize()} parts of {size} examples are to replace one batch of {k * size}. The loss is a mean. By what do you multiply the loss of each part?",
        size / (k * size),
        why=f"Each part's mean divides by {size} instead of {k * size}, so it is {times(k)} too large.",
        wrong=[
            (k, "The wrong way round: the sum of the parts is too large already."),
            (1 / (k * size), f"The mean over a part divides by {size} already; what is missing is another {k}."),
            (1, f"That is right if the loss is a sum. A mean over {size} divides by {size}, and the mean over all by {k * size}."),
            (
                k * size,
                f"The loss of a part is a mean over {size} already, and the sum of {words(k)} such means is too large, not too small.",
            ),
        ],
    )


quiz = (
    "05 accumulation",
    added,
    choice(
        "Why must gradients be added within one pass?",
        {
            "a tensor used twice influences the result in two ways, and the influences add": "It is the chain rule for several paths.",
            "to save memory": "It does, but overwriting would save as much.",
            "because the optimizer expects a sum": "The optimizer takes what it finds. The reason lies in the derivative itself.",
        },
        "a tensor used twice influences the result in two ways, and the influences add",
    ),
    order(
        "Put one step of `train` above in order, as it is with zero=True.",
        ["zero the gradients", "run forward and compute the loss", "walk backward", "let the optimizer step"],
        why="Zeroing could also come right before backward, or after the step, but never between backward and step.",
        early={
            "run forward and compute the loss": "That would train as well. But `train` clears the old gradients first.",
            "walk backward": "There is nothing to walk over before a loss has been computed; and old gradients would be added to the new ones.",
            "let the optimizer step": "A step uses the gradients of this batch, and backward has not filled them yet.",
        },
    ),
    parts,
    several(
        "Which of these are true after optimizer.zero_grad()?",
        {
            "p.grad is None": "set_to_none=True is the default.",
            "p.grad is a tensor of zeros": "It would be one with set_to_none=False.",
            "the parameters are zero": "Only the gradients are touched, never the weights.",
            "a step now changes nothing": "Parameters without a gradient are skipped.",
        },
        ["p.grad is None", "a step now changes nothing"],
    ),
    choice(
        "g = x.grad is kept for a plot, and training goes on with zero_grad() in each step. What does g hold at the end?",
        {
            "the last gradient": "zero_grad() lets x.grad forget its tensor, and the next pass makes a new one. g still names the old one.",
            "the gradient of the step in which it was taken": "Since zero_grad sets x.grad to None, later passes do not write into the tensor that g names. Without zero_grad they would.",
            "zeros": "With set_to_none=False it would be filled with zeros, and then with the next gradient. The default drops it and leaves it as it is.",
        },
        "the gradient of the step in which it was taken",
    ),
)
