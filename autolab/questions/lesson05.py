"""What lesson 05 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

three = prediction(
    "`x.grad` after the third backward pass of x² at 3",
    18,
    why="6 + 6 + 6. Each pass adds its 6 to what the pass before has left.",
    wrong={
        6: "That would be `x.grad = g`. The accumulator does `x.grad += g`.",
        216: "Gradients multiply along one path. Three passes are three gradients side by side, and those add.",
        12: "That is after the second pass.",
    },
)

aside = prediction(
    "first = x.grad is 6, and then backward runs once more. What is in first?",
    12,
    why="first and x.grad are two names of one tensor, and backward adds into it.",
    wrong={
        6: "That would be so for a copy, x.grad.clone(). first is a second name for the same tensor.",
        0: "Nothing sets it to zero between the two passes.",
        36: "6 · 6. Two passes are added.",
        18: "That is after a third pass.",
    },
)

twice = prediction(
    "y = 3x + x² at x = 2: what is `x.grad`?",
    7,
    why="3 through the product, and 4 through the square.",
    wrong={
        12: "3 · 4. Factors multiply along one path, and these are two paths.",
        4: "That came through the square, and would remain if the second gradient overwrote the first.",
        3: "That came through the product, and would remain if the second gradient overwrote the first.",
        10: "That is the value of y at 2.",
    },
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

micro = prediction(
    "By what factor is the sum of the four gradients larger than the gradient of the mean over all 64?",
    4,
    why="Each small mean divides by 16, not by 64. Four of them make four times the large mean.",
    wrong={
        1: "It would be so for sums. A mean over 16 divides by 16, and the large one by 64.",
        16: "Each of the four divides by 16 already. Compare it with 64.",
        64: "Both are means. They divide by 16 and by 64.",
    },
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

quiz = (
    "05 accumulation",
    number(
        "x.grad is 10. Then (x * 4).backward() runs. What is x.grad?",
        14,
        why="4 is added to what is there.",
        wrong={
            4: "That would overwrite. The accumulator adds.",
            40: "Along a path gradients multiply, but 10 and 4 are from two passes.",
            10: "That is what was there. The second pass adds its 4.",
        },
    ),
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
    number(
        "Eight parts of 8 examples are to replace one batch of 64. The loss is a mean. By what do you multiply the loss of each part?",
        1 / 8,
        why="Each part's mean divides by 8 instead of 64, so it is 8 times too large.",
        wrong={
            8: "The wrong way round: the sum of the parts is too large already.",
            1 / 64: "The mean over a part divides by 8 already; what is missing is another 8.",
            1: "That is right if the loss is a sum. A mean over 8 divides by 8, and the mean over all by 64.",
            64: "The loss of a part is a mean over 8 already, and the sum of eight such means is too large, not too small.",
        },
    ),
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
