"""What lesson 12 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several, shape

score = prediction(
    "One picture, three classes, all scores 0, and the third class is the right one. What is the gradient of the loss for the third score?",
    -0.6667,
    tolerance=2e-3,
    why="Equal scores give 1/3 each, and the target is 1: 1/3 - 1 = -2/3. A larger score would lower the loss.",
    wrong={
        0.6667: "The gradient is probability minus target. The probability is too small here, so it is negative.",
        0.3333: "That is the probability, and the gradient of the two wrong classes, whose target is 0.",
        -1: "That is minus the target alone. The probability, 1/3, is added.",
        1.0986: "That is the loss itself, log 3.",
        -0.2222: "1/3 · (-2/3): the factor p of the softmax's own rule is undone by the logarithm.",
    },
)

mlp = prediction(
    "Linear(64, 64), ReLU, Linear(64, 10): how many numbers are learned?",
    4810,
    why="64 · 64 + 64 weights and biases, and 64 · 10 + 10.",
    wrong={
        4736: "Those are the weights. Each neuron has a bias, too: 64 + 10 more.",
        4160: "That is the first layer. The second has 650.",
        650: "That is the second layer. The first has 4160.",
        4746: "The first layer has 64 biases, too.",
        4800: "The second layer has 10 biases, too.",
    },
)

conv = prediction(
    "An image of shape (1, 8, 8) goes through Conv2d(1, 16, 3, padding=1) and MaxPool2d(2). Which shape comes out?",
    (16, 4, 4),
    why="16 windows give 16 channels; with padding 1 the 8 by 8 stays, and the pooling halves it.",
    wrong={
        (16, 8, 8): "That is so before the pooling.",
        (16, 3, 3): "Without padding it would be 6 by 6, and then 3 by 3.",
        (1, 4, 4): "Each of the 16 windows gives a channel of its own.",
    },
)

adam = prediction(
    "The very first step of Adam with learning rate 0.1, from w = 1, with the gradient 1000. Where is w then?",
    0.9,
    why="In step 1, m / (1 - 0.9) is g itself and s / (1 - 0.999) is g², so the quotient is g / |g| = 1: the step is the learning rate, whatever the size of g.",
    wrong={
        -99: "That is SGD, 1 - 0.1 · 1000. Adam divides by the size of the gradient.",
        0.99: "The corrections make up for the small first averages: m̂ = g, not 0.1 g.",
        1.1: "The step goes against the gradient, and the gradient is positive.",
        0: "That would be a step of length 1. The quotient is 1, and the learning rate multiplies it.",
    },
)

schedule = prediction(
    "CosineAnnealingLR(optimizer, T_max=20), with lr=0.1 at the start. What is the learning rate after 10 epochs?",
    0.05,
    tolerance=1e-4,
    why="Halfway, cos(π/2) = 0, so the factor is (1 + 0)/2: half of the rate is left.",
    wrong={
        0.1: "That is the rate at the start. It falls from the first epoch on.",
        0: "That is the rate after 20 epochs, where cos π = -1.",
        0.0707: "That is 0.1 · cos(π/4). The formula has 1 + cos(π · 10/20), and half of it.",
        0.01: "The rate is not divided by the epochs; at 10 of 20 the cosine is 0.",
    },
)

clip = prediction(
    "The gradient is (3, 4), and it is clipped to the norm 1. What is its first entry then?",
    0.6,
    tolerance=2e-3,
    why="The norm is 5, so everything is divided by 5.",
    wrong={
        1: "The limit is for the norm of the whole, not for each entry (that is clip_grad_value_).",
        3: "The norm 5 is above the limit.",
        0.75: "3 / 4. Both entries are divided by the norm, √(3² + 4²) = 5.",
        0.4286: "3 / 7 divides by the sum of the entries. The norm is √(3² + 4²).",
        0.8: "That is the second entry, 4 / 5.",
    },
)

normed = prediction(
    "A batch norm in training gets the batch (10, 12). What is the first number that comes out?",
    -1,
    tolerance=0.01,
    why="(10 - 11) / 1: the mean of the batch is subtracted, and its spread divides.",
    wrong={
        10: "It is not passed through: mean 0 and spread 1 is what comes out.",
        8.9: "That uses the running mean, 1.1. In training the batch's own mean counts.",
        1: "That is the second number, (12 - 11) / 1.",
    },
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
    number(
        "A classifier of 100 classes is trained and its loss stays at 4.605. What is it doing? Answer with the probability it gives to each class.",
        0.01,
        tolerance=1e-4,
        why="-log(1/100) = 4.605: it says 1/100 for each class, and so knows nothing.",
        wrong={
            4.605: "That is the loss. The probability is e to the minus 4.605.",
            0.1: "That would be ten classes, and a loss of log 10 = 2.303.",
            1: "Then the loss would be 0: it would be sure of the right class.",
            0: "Then the loss would be infinite: -log 0.",
            100: "That is the number of classes. They share a probability of 1.",
        },
    ),
    choice(
        "Validation is done with no_grad, but model.eval() was forgotten. What happens?",
        {
            "too much memory is used": "no_grad takes care of that: nothing is recorded.",
            "dropout still drops, and batch norm uses the batch": "The results are noisy and depend on which examples stand together in the batch.",
            "the weights are changed": "Only the optimizer changes weights. (A batch norm's running statistics do change.)",
        },
        "dropout still drops, and batch norm uses the batch",
    ),
    shape(
        "Images of shape (64, 1, 8, 8) go through Conv2d(1, 4, 3) without padding. Shape of the result:",
        (64, 4, 6, 6),
        why="A window of 3 has 8 - 3 + 1 = 6 places in each direction.",
        wrong={
            (64, 4, 8, 8): "That would need padding=1, which keeps the size.",
            (64, 1, 6, 6): "There are four windows, and each gives a channel of its own.",
            (64, 4, 5, 5): "8 - 3 + 1 is 6: the first place counts, too.",
            (4, 6, 6): "That is one image. The batch of 64 stays in front.",
            (64, 6, 6, 4): "The channels come before height and width.",
            (64, 4, 3, 3): "That is the size of a window. The result has an entry for each place where the window fits.",
        },
    ),
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
