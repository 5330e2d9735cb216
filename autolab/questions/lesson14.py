"""What lesson 14 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

picture = prediction(
    "h = 3w, and the loss is (h.detach() + b)². Which parameter gets no gradient?",
    "w",
    {
        "w": "The way from the loss to w leads through h, and detach has cut it.",
        "b": "The way from the loss to b is the sum, and that is recorded.",
        "both get one": "detach gives the number of h without its past: w does not occur any more.",
    },
)

norms = prediction(
    "Which layer's weights receive the largest gradient?",
    "the last",
    {
        "the first": "On the way to it the gradient passes all ten sigmoids, and each leaves a quarter at most.",
        "the last": "Only one sigmoid stands between the loss and the last layer, and ten between the loss and the first.",
        "all about the same": "Each sigmoid takes three quarters or more.",
    },
)

one = prediction(
    "Which number would give the missing zero_grad away?",
    "the norm of .grad grows while the loss is small",
    {
        "the loss is nan": "It may come to that with a larger learning rate, but many faults end in nan.",
        "the norm of .grad grows while the loss is small": ".grad holds the sum over all steps so far. Near a minimum a fresh gradient is small; a sum over the past is not.",
        "one parameter has no gradient": "All have one; they have too much.",
    },
)

two = prediction(
    "What will look() say about the first layer?",
    "no gradient",
    {
        "no gradient": "Nothing leads back from the loss to it, so backward never comes there, and .grad stays None.",
        "gradient zero": "Zero would mean: reached, and flat there. A dead ReLU gives zero. A cut gives None.",
        "gradient, but did not move": "That is what you see if the optimizer does not have the parameter.",
    },
)

three = prediction(
    "What does look() say now?",
    "gradient, did not move",
    {
        "no gradient": "The loss was made by the new network, so its parameters are reached.",
        "gradient, did not move": "backward finds the parameters through the graph. The optimizer finds them in its own list, and there the old ones stand.",
        "gradient zero": "The gradients are right.",
    },
)

four = prediction(
    "The function is difference.pow(2).sum(1).sqrt().mean(). In which rule is the nan born?",
    "pow",
    {
        "pow": "It multiplies the ∞ that sqrt sends by 2 · 0.",
        "sum": "It passes on what it receives, inf.",
        "sqrt": "Its slope at 0 is infinite, so it sends inf. That is not nan yet.",
        "mean": "It divides by 200. It is also the first to run on the way back, and receives 1.",
    },
)

five = prediction(
    "prediction has shape (200, 1), target (200). What shape has their difference?",
    (200, 200),
    why="A missing axis is put in front: (200, 1) and (1, 200) are stretched to (200, 200), each prediction minus each target.",
    wrong={
        (200,): "That is what was meant. The target lacks an axis in front, and becomes a row.",
        (200, 1): "The column meets a row, and both are stretched.",
        (1, 200): "The row meets a column, and both are stretched.",
        (): "There is no sum or mean yet: the difference is taken entry by entry.",
    },
)

worlds = prediction(
    "In one of two functions there is a detach too many. Do their losses differ?",
    "no",
    {
        "yes": "The number that detach gives is the same. What is missing is its past.",
        "no": "detach keeps the number. Only the records differ, and with them the gradients.",
    },
)

quiz = (
    "14 debugging",
    choice(
        "`p.grad` is a tensor of zeros after backward. What is most likely?",
        {
            "p does not take part in the loss": "Then .grad would be None (or what was there before).",
            "the way to p leads through dead ReLUs, or a factor 0": "It was reached, and what came was zero.",
            "the optimizer does not know p": "The optimizer has no part in filling .grad.",
        },
        "the way to p leads through dead ReLUs, or a factor 0",
    ),
    number(
        "A network for 10 classes begins with a loss of 23. About what should it be?",
        2.303,
        tolerance=0.02,
        why="log 10. With 23 it is very sure of wrong answers: the scores are far too large in the beginning.",
        wrong={
            0: "A loss of 0 would be a network that knows everything already.",
            1: "That is the logarithm of 10 to base 10. The loss takes the natural one.",
            0.1: "That is the probability of each class. The loss is minus its logarithm.",
            10: "That is the number of classes. Guessing costs its logarithm.",
            23: "That is what it is. The scores are far too large in the beginning.",
        },
    ),
    choice(
        "Loss finite, gradients nan. What helps at once?",
        {
            "a smaller learning rate": "The nan is there before the first step.",
            "more data": "More data will bring the same nan with them.",
            "detect_anomaly": "It names the node in which the nan appeared, and the forward line.",
        },
        "detect_anomaly",
    ),
    several(
        "Which of these cut the gradient?",
        {
            "h.detach()": "A number without a past.",
            "torch.tensor(h.tolist())": "A new leaf from bare numbers.",
            "h.clone()": "A copy that is recorded: the gradient passes.",
            "h.reshape(-1)": "A view that is recorded, too.",
        },
        ["h.detach()", "torch.tensor(h.tolist())"],
    ),
    order(
        "You suspect vanishing gradients. In which order do you proceed?",
        [
            "register a hook on each weight that notes the norm",
            "run one forward and one backward pass",
            "compare the norms from the last layer to the first",
            "replace the activation, or add normalisation",
            "measure again",
        ],
        why="First the measurement, then one change, then the measurement again.",
        early={
            "run one forward and one backward pass": "The hooks have to be there when the gradients come by, so they are registered before.",
            "compare the norms from the last layer to the first": "There are no norms before a backward pass has met the hooks.",
            "replace the activation, or add normalisation": "That is a change on suspicion. Measure first whether the gradients vanish.",
            "measure again": "It is the same network as before: something has to be changed in between.",
        },
    ),
)
