"""What lesson 00 asks."""

from autolab.widgets.questions import choice, number, prediction

gradient = prediction(
    "What is the derivative of (4w - 10)² at w = 1? (If you turn w up a little, does the loss grow or shrink?)",
    -48,
    why="2 · (4w - 10) · 4 = 2 · (-6) · 4. Negative: turning w up makes the loss smaller.",
    wrong={
        48: "The sign says which way. 4w - 10 is -6 at w = 1, so it is negative.",
        -12: "2 · (4w - 10) = -12 is the outer derivative. The inner one is 4.",
        36: "That is the loss itself.",
        -6: "That is 4w - 10. Its square has the derivative 2 · (-6), times the inner one.",
    },
)

net = prediction(
    "64 numbers in, 32 in between, 10 scores out; a layer from n to m has n·m weights and m biases. How many parameters are there?",
    2410,
    why="64 · 32 + 32 = 2080, and 32 · 10 + 10 = 330.",
    wrong={
        2368: "These are the weights. Each layer also has its biases, 32 and 10.",
        2080: "That is the first layer.",
        20480: "The layers follow each other: their numbers add.",
    },
)

guess = prediction(
    "A network that knows nothing gives all ten digits about the same score. What is its loss, -ln p, about?",
    2.3,
    tolerance=0.03,
    why="Equal scores make equal probabilities, 1/10 each: -ln(1/10) = ln 10 = 2.303. The first loss of a network should be near it; if it is not, something is wrong before training has begun.",
    wrong={
        0.1: "That is the probability p of each digit. The loss is -ln p.",
        1: "That is the logarithm to base 10. Here it is the natural one.",
        0: "That would be a network that is certain, and right.",
        -2.3: "ln(1/10) is negative; the minus sign in front of it makes the loss positive.",
    },
)

slip = prediction(
    "y = x², and g arrives. The rule sends g * x. What should it send?",
    "g * 2 * x",
    {
        "2 * x": "That is the derivative alone. What arrives, g, says how the loss reacts to y, and multiplies it.",
        "g * 2 * x": "The derivative of x² is 2x, and the chain rule multiplies it by what arrives.",
        "g * x * x": "That is g times the value of y. The derivative of x² is 2x.",
    },
)

quiz = (
    "00 start here",
    choice(
        "After `loss.backward()`, `w.grad` is 6. Which way makes the loss smaller?",
        {
            "Turn `w` down": "The loss changes by about 6 times the change of `w`; a negative change of `w` makes it fall. That is why the training step has a minus sign.",
            "Turn `w` up": "The gradient is positive, so the loss grows when `w` grows.",
            "It cannot be known without computing the loss again": "Telling without trying is what a gradient is for. After a large step you should look again, though: 6 is the slope here, not everywhere.",
        },
        "Turn `w` down",
    ),
    choice(
        "A network has 2410 parameters. How many backward walks give all their gradients?",
        {
            "2410, one for each parameter": "That is what it would cost to nudge each parameter and watch the loss. Walking backward, one pass meets every parameter.",
            "One": "The walk starts at the single loss and visits every box once. Lesson 01 builds such a walk.",
            "Two, one for each layer": "The walk goes through all layers, one after the other, in the same pass.",
        },
        "One",
    ),
    choice(
        "In the stepper, −12 arrived at the multiplication by 4. What did it send on, and why?",
        {
            "−12, because a multiplication does not change a gradient": "That is what the subtraction did: if u = p - 10, then u moves exactly as p does.",
            "−3: divided by 4": "`w` moves the product by four times as much, so the loss reacts four times as strongly to `w`, not a quarter.",
            "−48: times 4": "What arrives is multiplied by the box's own derivative, here 4. That is the chain rule, one factor at a time.",
        },
        "−48: times 4",
    ),
    choice(
        "The network gets 98 % of the held-out digits right. Why were they held out?",
        {
            "To make training faster": "359 more digits would make an epoch a quarter longer, but that is not why.",
            "To see what it does with digits that it was not trained on": "A network with enough knobs can learn its training set by heart; only new digits show whether it learned something about digits.",
            "Because their labels are unknown": "Their labels are known; that is how we could count the right answers.",
        },
        "To see what it does with digits that it was not trained on",
    ),
    number(
        "The loss is (4w - 10)². What is its gradient at w = 3?",
        16,
        why="2 · (12 - 10) · 4 = 16: w is too large, and the sign says so.",
        wrong={
            -48: "That is the gradient at w = 1.",
            4: "2 · (12 - 10) is what arrives at the prediction 4w. The factor 4 is missing.",
            8: "2 · 4: the bracket itself, 12 - 10 = 2, is missing.",
        },
    ),
)
