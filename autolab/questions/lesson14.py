"""What lesson 14 asks."""

import math

import autolab as torch
from autolab import nn
from autolab.questions.drawn import draws
from autolab.widgets.questions import choice, number, order, prediction, several, shape

picture = prediction(
    "h = 3w, and the loss is (h.detach() + b)². Which parameter gets no gradient?",
    "w",
    {
        "w": "The path from the loss to w goes through h, and detach has cut it.",
        "b": "The path from the loss to b is the sum, and that is recorded.",
        "both get one": "detach returns the value of h without its history, so w is not in the graph.",
    },
)

norms = prediction(
    "Which layer's weights receive the largest gradient?",
    "the last",
    {
        "the first": "On the way to it the gradient passes all ten sigmoids, and each multiplies it by a quarter at most.",
        "the last": "There is one sigmoid between the loss and the last layer, and ten between the loss and the first.",
        "all about the same": "Each sigmoid takes away three quarters or more.",
    },
)

one = prediction(
    "Which measurement shows that zero_grad is missing?",
    "the norm of .grad grows while the loss is small",
    {
        "the loss is nan": "It may come to that with a larger learning rate, but many faults end in nan.",
        "the norm of .grad grows while the loss is small": ".grad holds the sum over all steps so far. Near a minimum a fresh gradient is small; a sum over the past is not.",
        "one parameter has no gradient": "All parameters have one, and it is too large.",
    },
)

two = prediction(
    "What will look() say about the first layer?",
    "no gradient",
    {
        "no gradient": "No path leads back from the loss to it, so backward never reaches it, and .grad stays None.",
        "gradient zero": "Zero would mean: reached, and flat there. A dead ReLU gives zero. A cut gives None.",
        "gradient, but did not move": "That is what you see if the optimizer does not have the parameter.",
    },
)

three = prediction(
    "What does look() say now?",
    "gradient, did not move",
    {
        "no gradient": "The loss was made by the new network, so its parameters are reached.",
        "gradient, did not move": "backward finds the parameters through the graph. The optimizer finds them in its own list, which has the old ones.",
        "gradient zero": "The gradients are right.",
    },
)

four = prediction(
    "The function is difference.pow(2).sum(1).sqrt().mean(). Which rule makes the nan?",
    "pow",
    {
        "pow": "It multiplies the ∞ that sqrt sends by 2 · 0.",
        "sum": "It passes on what it receives, inf.",
        "sqrt": "Its slope at 0 is infinite, so it sends inf. That is not nan yet.",
        "mean": "It divides by 200. It is also the first to run on the way back, and receives 1.",
    },
)


@draws(n=(20, 400))
def five(n=200):
    return shape(
        f"prediction has shape ({n}, 1), target ({n}). What shape has their difference?",
        tuple((torch.zeros(n, 1) - torch.zeros(n)).shape),
        why=f"A missing axis is put in front: ({n}, 1) and (1, {n}) are stretched to ({n}, {n}), each prediction minus each target.",
        wrong=[
            ((n,), "That is what was meant. The target lacks an axis in front, and becomes a row."),
            ((n, 1), "The column meets a row, and both are stretched."),
            ((1, n), "The row meets a column, and both are stretched."),
            ((), "There is no sum or mean yet: the difference is taken entry by entry."),
        ],
    )


worlds = prediction(
    "Two functions are the same except for one detach. Do their losses differ?",
    "no",
    {
        "yes": "The value that detach returns is the same. What is missing is its history.",
        "no": "detach keeps the value. Only the graphs differ, and with them the gradients.",
    },
)


@draws(classes=(3, 200), times=[4, 5, 8, 10])
def first_loss(classes=10, times=10):
    loss = nn.functional.cross_entropy(torch.zeros(1, classes, dtype=torch.float64), torch.tensor([0])).item()
    start = round(times * loss)
    return number(
        f"A network for {classes} classes begins with a loss of {round(times * math.log(classes))}. About what should it be?",
        round(loss, 3),
        tolerance=0.02,
        why=f"Guessing uniformly costs log {classes}. At {start} the network is sure of wrong answers: its first scores are far too large.",
        wrong=[
            (0, "A loss of 0 would be a network that knows everything already."),
            (math.log10(classes), f"That is the logarithm of {classes} to base 10. The loss takes the natural one."),
            (1 / classes, "That is the probability of each class. The loss is minus its logarithm."),
            (classes, "That is the number of classes. Guessing uniformly costs its logarithm."),
            (start, "That is what it is. The first scores are far too large."),
        ],
    )


quiz = (
    "14 debugging",
    choice(
        "`p.grad` is a tensor of zeros after backward. What is most likely?",
        {
            "p does not take part in the loss": "Then .grad would be None (or what was there before).",
            "the path to p goes through dead ReLUs, or a factor 0": "Backward reached it, and what arrived was zero.",
            "the optimizer does not know p": "The optimizer has no part in filling .grad.",
        },
        "the path to p goes through dead ReLUs, or a factor 0",
    ),
    first_loss,
    choice(
        "Anomaly mode names PowBackward0, in the line d.pow(2).sum(1).sqrt().mean(). Some rows of d are 0. Which repair is right?",
        {
            "use d * d instead of d.pow(2)": "The product would multiply the same ∞ by 0. The fault is in the sqrt that sends ∞.",
            "replace nan by 0 in the gradients": "Here it would give usable numbers, and hide every nan that has another cause.",
            "leave the rows of zeros out before the sqrt": "Then no slope is infinite, and nothing is multiplied by ∞.",
        },
        "leave the rows of zeros out before the sqrt",
    ),
    several(
        "Which of these cut the gradient?",
        {
            "h.detach()": "The same value, without a history.",
            "torch.tensor(h.tolist())": "A new leaf from plain numbers.",
            "h.clone()": "A copy that is recorded: the gradient passes.",
            "h.reshape(-1)": "A view that is recorded, too.",
        },
        ["h.detach()", "torch.tensor(h.tolist())"],
    ),
    order(
        "You suspect vanishing gradients. Put your steps in order.",
        [
            "register a hook on each weight that notes the norm",
            "run one forward and one backward pass",
            "compare the norms from the last layer to the first",
            "replace the activation, or add normalisation",
            "measure again",
        ],
        why="First the measurement, then one change, then the measurement again.",
        early={
            "run one forward and one backward pass": "The hooks have to be registered before the gradients are computed.",
            "compare the norms from the last layer to the first": "There are no norms before a backward pass has called the hooks.",
            "replace the activation, or add normalisation": "That is a change on suspicion. Measure first whether the gradients vanish.",
            "measure again": "The network has not changed yet, so the second measurement would repeat the first.",
        },
    ),
)
