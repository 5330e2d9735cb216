"""What lesson 11 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

round = prediction(
    "The fraction of float16 has 10 bits. What is 2048 + 1 in float16?",
    2048,
    why="2048 = 2 to the 11, so the step between neighbours is 2 to the (11 - 10) = 2. 2049 lies in the middle and goes to the even one, 2048.",
    wrong={
        2049: "That needs 11 bits of fraction. Between 2048 and 4096 the numbers of float16 are 2 apart.",
        2050: "One of the two neighbours, yes. A tie goes to the one with an even fraction.",
        2047: "Rounding moves to a neighbour of 2049, and those are 2048 and 2050.",
    },
)

scale = prediction(
    "With S = 1024, what is the gradient of x in the example before it is divided by S again?",
    1.024e-5,
    tolerance=1e-7,
    why="1024 · 10⁻⁸ ≈ 1.02 · 10⁻⁵, above the last number of float16.",
    wrong={
        1e-8: "That is the gradient after the division.",
        0: "The seed of the walk is 1024 now, so 10⁻⁴ · 1024 arrives at the second product.",
        1.024e-4: "The loss is scaled before the walk, and on the way come two factors of 10⁻⁴, not one.",
        0.1024: "That is what arrives at the second product, 10⁻⁴ · 1024. Another factor 10⁻⁴ follows.",
    },
)

mixed = prediction(
    "h is the float16 result of a product, and w a float32 weight. What is the dtype of h + w?",
    "float32",
    {
        "float16": "That is for products. An addition is on no list, and nothing makes w narrower.",
        "float32": "An addition is on no list. It takes what it gets, and of two formats the wider one wins.",
        "it is refused": "Two dtypes may meet, inside autocast as outside: the wider one wins.",
    },
)

digits = prediction(
    "What percentage of the 14380 gradients of the scores is exactly 0 in float16, without scaling?",
    100,
    why="Even the largest is 100 times smaller than the last number of float16, 6 · 10⁻⁸.",
    wrong={
        0: "Compare 7 · 10⁻¹⁰ with the last number before 0, 6 · 10⁻⁸.",
        50: "The largest possible one is below the limit, so all are.",
        90: "Nine of ten scores are of wrong classes, and those gradients are small. But that of the right class is below the limit as well.",
    },
    tolerance=0.01,
)

search = prediction(
    "What will the exponents do?",
    "fall by one a step, then go up and down by one",
    {
        "stay at 48": "At 48 something overflows, so the scale is halved.",
        "fall by one a step, for ever": "It falls only as long as something overflows.",
        "fall by one a step, then go up and down by one": "Each overflow halves the scale, ten good steps double it: it falls to the edge and feels its way along it.",
        "jump to the right one at once": "The only thing that the loop knows is whether something overflowed.",
    },
)

four = prediction(
    "Which of the four does not learn?",
    "float16 without scaling",
    {
        "none: all four learn": "Without scaling, all gradients in float16 were 0, as measured above.",
        "float16 without scaling": "With a loss of this size all its gradients are 0, as measured above.",
        "bfloat16 without scaling": "It has few digits, but the range of float32: its gradients are rounded, not lost.",
        "both without scaling": "bfloat16 has the range of float32: its gradients are rounded, not lost.",
    },
)

quiz = (
    "11 mixed precision",
    choice(
        "Why is the loss scaled, and not the gradients?",
        {
            "because the gradients may be 0 already when one could scale them": "What has underflowed on the way cannot be brought back. The factor must be there from the first step of the walk on.",
            "because the loss underflows": "The loss is computed in float32. It is the gradients, on their way through float16, that vanish.",
            "because it is faster": "One multiplication more or less is nothing.",
        },
        "because the gradients may be 0 already when one could scale them",
    ),
    number(
        "A gradient is 3 · 10⁻⁸, and S = 2¹⁰. What stands in `.grad` before unscaling, times 10⁵?",
        3.07,
        tolerance=0.05,
        why="3 · 10⁻⁸ · 1024 ≈ 3.07 · 10⁻⁵.",
        wrong={
            0: "Without scaling it would be near the border. With S it is a thousand times as large.",
            0.003: "That is the gradient after unscaling. `.grad` still holds it times S.",
            30.7: "Count the powers of ten: 10⁻⁸ · 10³ · 10⁵ is 1.",
        },
    ),
    choice(
        "In one step a gradient is inf. What does GradScaler do?",
        {
            "it raises an error": "An overflow is expected now and then; it is how the scale is found.",
            "it replaces inf by the largest number": "The direction would be wrong. A step is cheap to leave out.",
            "it skips the step and halves the scale": "The weights stay as they are, and the next try is with a smaller S.",
        },
        "it skips the step and halves the scale",
    ),
    several(
        'What runs in float16 under autocast("cuda")?',
        {
            "x @ w": "Products are where the work is.",
            "softmax": "Exponentials need range: float32.",
            "a ReLU of a float16 tensor": "It is on no list, so it takes what it gets.",
            "cross_entropy": "Losses are on the float32 list.",
        },
        ["x @ w", "a ReLU of a float16 tensor"],
    ),
    order(
        "Put the lines of a training step in order, with clipping.",
        [
            "optimizer.zero_grad()",
            "loss in an autocast block",
            "scaler.scale(loss).backward()",
            "scaler.unscale_(optimizer)",
            "clip_grad_norm_(...)",
            "scaler.step(optimizer)",
            "scaler.update()",
        ],
        why="Clipping needs the true gradients, so it stands between unscale_ and step.",
        early={
            "loss in an autocast block": "The old gradients go first here. (It would train as well, as long as they are gone before backward.)",
            "scaler.scale(loss).backward()": "It needs a loss of this batch, and gradients that have been cleared.",
            "scaler.unscale_(optimizer)": "It divides the gradients by S, and backward has not made them yet.",
            "clip_grad_norm_(...)": "The gradients are still S times too large (or not there yet): a limit for the norm would mean nothing.",
            "scaler.step(optimizer)": "The step would use gradients that are not clipped, or not there yet.",
            "scaler.update()": "It looks whether the step found an overflow, so the step comes first.",
        },
    ),
    choice(
        "A network trained with bfloat16 needs no GradScaler. Why?",
        {
            "it has more digits than float16": "It has fewer: 7 bits of fraction against 10.",
            "its exponent has as many bits as that of float32": "What does not underflow in float32 does not underflow in bfloat16.",
            "its gradients are computed in float32": "They are computed in the dtype of the forward values, as with float16.",
        },
        "its exponent has as many bits as that of float32",
    ),
)
