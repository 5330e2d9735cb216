"""What lesson 12 asks."""

import math

import autolab as torch
from autolab import nn
from autolab.questions.drawn import draws
from autolab.utils.wording import words
from autolab.widgets.questions import choice, number, order, several, shape


@draws(classes=(3, 40))
def score(classes=3):
    scores = torch.zeros(1, classes, dtype=torch.float64, requires_grad=True)
    nn.functional.cross_entropy(scores, torch.tensor([2])).backward()
    p = 1 / classes
    return number(
        f"One picture, {words(classes)} classes, all scores 0, and the third class is the right one. What is the gradient of the loss for the third score?",
        scores.grad[0, 2].item(),
        tolerance=2e-3,
        why=f"Equal scores give 1/{classes} each, and the target is 1: 1/{classes} - 1 = -{classes - 1}/{classes}. A larger score would lower the loss.",
        wrong=[
            (1 - p, "The gradient is probability minus target. The probability is too small here, so it is negative."),
            (p, "That is the probability, and the gradient of the wrong classes, whose target is 0."),
            (-1, f"That is minus the target alone. The probability, 1/{classes}, is added."),
            (math.log(classes), f"That is the loss itself, log {classes}."),
            (p * (p - 1), f"1/{classes} · (-{classes - 1}/{classes}): the factor p of the softmax's own rule is undone by the logarithm."),
        ],
    )


@draws(n=[16, 20, 64, 100], h=[10, 20, 30, 50, 64], m=[2, 3, 5, 10])
def mlp(n=64, h=64, m=10):
    layers = nn.Sequential(nn.Linear(n, h), nn.ReLU(), nn.Linear(h, m))
    total = sum(p.numel() for p in layers.parameters())
    return number(
        f"Linear({n}, {h}), ReLU, Linear({h}, {m}): how many numbers are learned?",
        total,
        why=f"{n} · {h} + {h} weights and biases, and {h} · {m} + {m}.",
        wrong=[
            (total - h - m, f"Those are the weights. Each neuron has a bias, too: {h} + {m} more."),
            (n * h + h, f"That is the first layer. The second has {h * m + m}."),
            (h * m + m, f"That is the second layer. The first has {n * h + h}."),
            (total - h, f"The first layer has {h} biases, too."),
            (total - m, f"The second layer has {m} biases, too."),
        ],
    )


@draws(side=[6, 8, 10, 12, 16, 20, 28], c=[4, 8, 12, 16, 32])
def conv(side=8, c=16):
    inner = (side - 2) // 2
    return shape(
        f"An image of shape (1, {side}, {side}) goes through Conv2d(1, {c}, 3, padding=1) and MaxPool2d(2). Which shape comes out?",
        tuple(nn.MaxPool2d(2)(nn.Conv2d(1, c, 3, padding=1)(torch.zeros(1, side, side))).shape),
        why=f"{c} windows give {c} channels; with padding 1 the {side} by {side} stays, and the pooling halves it.",
        wrong=[
            ((c, side, side), "That is so before the pooling."),
            ((c, inner, inner), f"Without padding it would be {side - 2} by {side - 2}, and then {inner} by {inner}."),
            ((1, side // 2, side // 2), f"Each of the {c} windows gives a channel of its own."),
        ],
    )


@draws(w=(1, 5), g=[3, 5, 10, 20, 50, 100, 400, 1000, 2000], rate=[0.1, 0.2, 0.3])
def adam(w=1, g=1000, rate=0.1):
    leaf = torch.tensor(float(w), dtype=torch.float64, requires_grad=True)
    leaf.grad = torch.tensor(float(g), dtype=torch.float64)
    torch.optim.Adam([leaf], lr=rate).step()
    return number(
        f"The very first step of Adam with learning rate {rate}, from w = {w}, with the gradient {g}. Where is w then?",
        float(f"{leaf.item():.6f}"),
        why="In step 1, m / (1 - 0.9) is g itself and s / (1 - 0.999) is g², so the quotient is g / |g| = 1: the step is the learning rate, whatever the size of g.",
        wrong=[
            (w - rate * g, f"That is SGD, {w} - {rate} · {g}. Adam divides by the size of the gradient."),
            (w - 0.1 * rate, "The corrections make up for the small first averages: m̂ = g, not 0.1 g."),
            (w + rate, "The step goes against the gradient, and the gradient is positive."),
            (w - 1, "That would be a step of length 1. The quotient is 1, and the learning rate multiplies it."),
        ],
    )


@draws(part=[1 / 3, 1 / 2, 2 / 3], total=[12, 20, 24, 30, 60], rate=[0.1, 0.2, 0.4, 0.01])
def schedule(part=1 / 2, total=20, rate=0.1):
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total)
    epochs = int(part * total + 0.5)
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
    cos = math.cos(math.pi * epochs / total)
    if part != 1 / 2 and total % 3:
        return None
    return number(
        f"CosineAnnealingLR(optimizer, T_max={total}), with lr={rate} at the start. What is the learning rate after {int(part * total + 0.5)} epochs?",
        float(f"{optimizer.param_groups[0]['lr']:.9f}"),
        tolerance=1e-3 * rate,
        why=f"cos(π · {epochs}/{total}) = {cos + 0.0:.2g}, so the factor is (1 + cos)/2 = {(1 + cos) / 2:.2g}."
        if part != 1 / 2
        else "Halfway, cos(π/2) = 0, so the factor is (1 + 0)/2: half of the rate is left.",
        wrong=[
            (rate, "That is the rate at the start. It falls from the first epoch on."),
            (0, f"That is the rate after {total} epochs, where cos π = -1."),
            (
                rate * math.cos(math.pi * epochs / total / 2),
                f"That is {rate} · cos(π/2 · {epochs}/{total}). The formula has 1 + cos(π · {epochs}/{total}), and half of it.",
            ),
            (rate / epochs, "The rate is not divided by the epochs."),
            *(
                [(rate * (1 - epochs / total), "That would be a straight line. The cosine falls slowly at both ends.")]
                if part != 1 / 2
                else []
            ),
        ],
    )


@draws(
    sides=[(3, 4, 5), (4, 3, 5), (6, 8, 10), (8, 6, 10), (9, 12, 15), (12, 9, 15), (12, 16, 20), (16, 12, 20), (15, 20, 25), (20, 15, 25)],
    norm=[1, 2, 4],
)
def clip(sides=(3, 4, 5), norm=1):
    a, b, h = sides
    weight = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    weight.grad = torch.tensor([a, b], dtype=torch.float64)
    nn.utils.clip_grad_norm_([weight], norm)
    return number(
        f"The gradient is ({sides[0]}, {sides[1]}), and it is clipped to the norm {norm}. What is its first entry then?",
        float(f"{weight.grad[0].item():.4f}"),  # clip_grad_norm_ divides by the norm and a millionth
        tolerance=2e-3,
        why=f"The norm is {h}, so everything is divided by {h / norm:g}.",
        wrong=[
            (norm, "The limit is for the norm of the whole, not for each entry (that is clip_grad_value_)."),
            (a, f"The norm {h} is above the limit."),
            (a * norm / b, f"That divides by {b}. Both entries are divided by the norm, √({a}² + {b}²) = {h}."),
            (a * norm / (a + b), f"That divides by the sum of the entries. The norm is √({a}² + {b}²)."),
            (b * norm / h, "That is the second entry."),
        ],
    )


@draws(a=(2, 40), b=(2, 40))
def normed(a=10, b=12):
    out = nn.BatchNorm1d(1)(torch.tensor([[float(a)], [float(b)]]))
    middle, spread = (a + b) / 2, abs(a - b) / 2
    sign = 1 if a > b else -1
    if abs(a - b) <= 1:
        return None
    return number(
        f"A batch norm in training gets the batch ({a}, {b}). What is the first number that comes out?",
        float(f"{out[0, 0].item():.3f}"),
        tolerance=0.01,
        why=f"({a} - {middle:g}) / {spread:g}: the mean of the batch is subtracted, and its spread divides.",
        wrong=[
            (a, "It is not passed through: mean 0 and spread 1 is what comes out."),
            (a - 0.1 * middle, f"That uses the running mean, {0.1 * middle:g}. In training the batch's own mean counts."),
            (-sign, f"That is the second number, ({b} - {middle:g}) / {spread:g}."),
            *([(a - middle, f"That is ({a} - {middle:g}), not yet divided by the spread.")] if spread != 1 else []),
        ],
    )


@draws(classes=[2, 3, 4, 5, 8, 12, 15, 20, 25, 30, 40, 50, 60, 75, 80, 100, 120, 150, 200, 250, 300, 400, 500, 1000])
def knows_nothing(classes=100):
    loss = nn.functional.cross_entropy(torch.zeros(1, classes), torch.tensor([0])).item()
    return number(
        f"A classifier of {classes} classes is trained and its loss stays at {math.log(classes):.3f}. What is it doing? Answer with the probability it gives to each class.",
        1 / classes,
        tolerance=0.01 / classes,
        why=f"-log(1/{classes}) = {loss:.3f}: it says 1/{classes} for each class, and so knows nothing.",
        wrong=[
            (math.log(classes), f"That is the loss. The probability is e to the minus {loss:.3f}."),
            (0.1, "That would be ten classes, and a loss of log 10 = 2.303."),
            (1, "Then the loss would be 0: it would be sure of the right class."),
            (0, "Then the loss would be infinite: -log 0."),
            (classes, "That is the number of classes. They share a probability of 1."),
        ],
    )


@draws(n=[8, 16, 32, 64, 128], c=(1, 3), side=(8, 32), out=(4, 16), k=(3, 5))
def images(n=64, c=1, side=8, out=4, k=3):
    inner = side - k + 1
    return shape(
        f"Images of shape ({n}, {c}, {side}, {side}) go through Conv2d({c}, {out}, {k}) without padding. Shape of the result:",
        tuple(nn.Conv2d(c, out, k)(torch.zeros(1, c, side, side)).expand(n, -1, -1, -1).shape),
        why=f"A window of {k} has {side} - {k} + 1 = {inner} places in each direction.",
        wrong=[
            ((n, out, side, side), "That would need padding, which keeps the size."),
            ((n, c, inner, inner), f"There are {words(out)} windows, and each gives a channel of its own."),
            ((n, out, inner - 1, inner - 1), f"{side} - {k} + 1 is {inner}: the first place counts, too."),
            ((out, inner, inner), f"That is one image. The batch of {n} stays in front."),
            ((n, inner, inner, out), "The channels come before height and width."),
            ((n, out, k, k), "That is the size of a window. The result has an entry for each place where the window fits."),
        ],
    )


quiz = (
    "12 training",
    order(
        "Put a training step in order.",
        ["optimizer.zero_grad()", "loss = loss_fn(model(x), y)", "loss.backward()", "clip_grad_norm_(...)", "optimizer.step()"],
        why="Clipping needs gradients, the step needs clipped ones. (zero_grad may as well come last, after the step.)",
        early={
            "loss = loss_fn(model(x), y)": "It would train as well, if zero_grad followed before backward. The usual order clears first.",
            "loss.backward()": "It needs the loss of this batch; and old gradients that are still there would be added to.",
            "clip_grad_norm_(...)": "There are no gradients of this batch yet: backward makes them.",
            "optimizer.step()": "It would use gradients that are not clipped, or not there yet.",
        },
    ),
    knows_nothing,
    choice(
        "Validation is done with no_grad, but model.eval() was forgotten. What happens?",
        {
            "too much memory is used": "no_grad takes care of that: nothing is recorded.",
            "dropout still drops, and batch norm uses the batch": "The results are noisy and depend on which examples stand together in the batch.",
            "the weights are changed": "Only the optimizer changes weights. (A batch norm's running statistics do change.)",
        },
        "dropout still drops, and batch norm uses the batch",
    ),
    images,
    choice(
        "Why does the optimizer's step run under no_grad?",
        {
            "because parameters are leaves, and a recorded change in place of a leaf is refused": "And if it were recorded, the graph would grow from step to step.",
            "because the gradients would be wrong otherwise": "They are computed already. It is about what comes after.",
            "because it is faster": "It is, but that is not the reason that matters.",
        },
        "because parameters are leaves, and a recorded change in place of a leaf is refused",
    ),
    choice(
        "At the end of training the loss still jumps up and down from epoch to epoch, by a factor of two. What is worth trying first?",
        {
            "more hidden neurons": "The model can reach a small loss already; it does not stay there.",
            "a larger learning rate": "The steps are too long near the minimum already.",
            "a learning rate that falls towards the end": "Mini-batches point in different directions. Short steps average over many of them.",
        },
        "a learning rate that falls towards the end",
    ),
    several(
        "What does Adam keep for each parameter?",
        {
            "an average of its gradients": "m, of the parameter's shape.",
            "an average of its squared gradients": "s, of the parameter's shape.",
            "all gradients so far": "Averages that forget replace them.",
            "the graph of the last step": "It was freed by backward.",
        },
        ["an average of its gradients", "an average of its squared gradients"],
    ),
)
