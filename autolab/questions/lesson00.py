"""What lesson 00 asks."""

import math

import autolab as torch
from autolab import nn
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import signed, words
from autolab.widgets.questions import choice, number, prediction


@draws(a=(2, 5), b=(1, 12), w=(1, 4))
def gradient(a=4, b=10, w=1):
    u = a * w - b
    way = "Negative: turning w up makes the loss smaller." if u < 0 else "Positive: turning w up makes the loss larger."
    if u == 0:
        return None
    return number(
        f"What is the derivative of ({a}w - {b})² at w = {w}? (If you turn w up a little, does the loss grow or shrink?)",
        slope(lambda w: (a * w - b) ** 2, w),
        why=f"2 · ({a}w - {b}) · {a} = 2 · {signed(u)} · {a}. {way}",
        wrong=[
            (-2 * u * a, f"The sign says which way. {a}w - {b} is {u} at w = {w}, so it is {'negative' if u < 0 else 'positive'}."),
            (2 * u, f"2 · ({a}w - {b}) = {2 * u} is the outer derivative. The inner one is {a}."),
            (u**2, "That is the loss itself."),
            (u, f"That is {a}w - {b}. Its square has the derivative 2 · {signed(u)}, times the inner one."),
        ],
    )


@draws(n=[16, 20, 30, 50, 64, 100], h=[8, 10, 20, 32, 40], m=[2, 3, 5, 10])
def net(n=64, h=32, m=10):
    layers = nn.Sequential(nn.Linear(n, h), nn.ReLU(), nn.Linear(h, m))
    first = n * h + h
    return number(
        f"{n} numbers in, {h} in between, {m} scores out; a layer from n to m has n·m weights and m biases. How many parameters are there?",
        sum(p.numel() for p in layers.parameters()),
        why=f"{n} · {h} + {h} = {first}, and {h} · {m} + {m} = {h * m + m}.",
        wrong=[
            (n * h + h * m, f"These are the weights. Each layer also has its biases, {h} and {m}."),
            (first, "That is the first layer."),
            (n * h * m, "The layers follow each other: their numbers add."),
        ],
    )


@draws(classes=(3, 45))
def guess(classes=10):
    loss = nn.functional.cross_entropy(torch.zeros(1, classes), torch.tensor([0])).item()
    return number(
        f"A network that knows nothing gives all {words(classes)} {'digits' if classes == 10 else 'classes'} about the same score. What is its loss, -ln p, about?",
        round(loss, 2),
        tolerance=0.01,
        why=f"Equal scores make equal probabilities, 1/{classes} each: -ln(1/{classes}) = ln {classes} = {loss:.3f}. The first loss of a network should be near it; if it is not, something is wrong before training has begun.",
        wrong=[
            (1 / classes, "That is the probability p of each class. The loss is -ln p."),
            (math.log10(classes), "That is the logarithm to base 10. Here it is the natural one."),
            (0, "That would be a network that is certain, and right."),
            (-loss, f"ln(1/{classes}) is negative; the minus sign in front of it makes the loss positive."),
        ],
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


@draws(q=[-9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9], k=(2, 9))
def sent(q=-3, k=4):
    sends = slope(lambda x: q * k * (k * x), 1)
    return choice(
        f"{q * k} arrived at a multiplication by {k}. What did it send on, and why?",
        [
            (
                f"{q * k}, because a multiplication does not change a gradient",
                "That is what a subtraction does: if u = p - 10, then u moves exactly as p does.",
            ),
            (
                f"{q}: divided by {k}",
                f"The input moves the product by {words(k)} times as much, so the loss reacts {words(k)} times as strongly to it.",
            ),
            (
                f"{sends:g}: times {k}",
                f"What arrives is multiplied by the box's own derivative, here {k}. That is the chain rule, one factor at a time.",
            ),
        ],
        f"{sends:g}: times {k}",
    )


@draws(w=(1, 6), a=(2, 5), b=(1, 10), rate=[0.1, 0.01, 0.05])
def downhill(w=3, a=4, b=10, rate=0.1):
    g = slope(lambda w: (a * w - b) ** 2, w)
    if g == 0:
        return None
    return number(
        f"The loss is ({a}w - {b})² and w = {w}. What is w after one step with learning rate {rate}?",
        w - rate * g,
        why=f"The gradient is 2 · ({a} · {w} - {b}) · {a} = {g:g}, and the step goes against it: {w} - {rate} · {signed(g)}.",
        wrong=[
            (w + rate * g, "That step goes uphill: the gradient is subtracted."),
            (w - g, "The gradient is multiplied by the learning rate first."),
            (w - rate * g / a, f"The inner derivative, {a}, is missing in the gradient."),
            (w - rate * g / 2, "The 2 of the square is missing in the gradient."),
            (g, "That is the gradient. The question is where the step leads."),
        ],
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
    sent,
    choice(
        "The network gets 98 % of the held-out digits right. Why were they held out?",
        {
            "To make training faster": "359 more digits would make an epoch a quarter longer, but that is not why.",
            "To see what it does with digits that it was not trained on": "A network with enough knobs can learn its training set by heart; only new digits show whether it learned something about digits.",
            "Because their labels are unknown": "Their labels are known; that is how we could count the right answers.",
        },
        "To see what it does with digits that it was not trained on",
    ),
    downhill,
)
