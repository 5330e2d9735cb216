"""What lesson 11 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

round = prediction(
    "The fraction of float16 has 10 bits. What is 2048 + 1 in float16?",
    2048,
    why="2048 is 2 to the 11, so neighbours are 2 to the (11 - 10) = 2 apart. 2049 is halfway and goes to the neighbour whose fraction is even, 2048.",
    wrong={
        2049: "That needs 11 bits of fraction. Between 2048 and 4096 the numbers of float16 are 2 apart.",
        2050: "It is one of the two neighbours. A tie goes to the one with an even fraction, 2048.",
        2047: "Rounding moves to a neighbour of 2049, and those are 2048 and 2050.",
    },
)

running = prediction(
    "5000 ones are added one after another, in float16. What is the sum?",
    2048,
    why="From 2048 on the numbers of float16 are 2 apart. 2048 + 1 is rounded back to 2048, 2952 times.",
    wrong={
        5000: "5000 is a number of float16. But the running sum has to pass 2048, and there adding 1 changes nothing.",
        65504: "That is the largest number of float16. The sum stops long before, because of rounding.",
        4096: "The numbers are 2 apart from 2048 on already, and adding 1 is rounded away there.",
        1024: "At 1024 the numbers are 1 apart, so adding 1 still works.",
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
        1.024e-4: "The loss is scaled before the walk, and the walk multiplies by 10⁻⁴ twice, not once.",
        0.1024: "That is what arrives at the second product, 10⁻⁴ · 1024. Another factor 10⁻⁴ follows.",
    },
)

mixed = prediction(
    "h is the float16 result of a product, and w a float32 weight. What is the dtype of h + w?",
    "float32",
    {
        "float16": "That is for products. Addition is not on a list, so w is not converted to float16.",
        "float32": "Addition is not on a list. It runs in the dtypes of its inputs, and of two dtypes the wider one wins.",
        "it is refused": "Two dtypes may meet, inside autocast as outside: the wider one wins.",
    },
)

digits = prediction(
    "What percentage of the 14380 gradients of the scores is exactly 0 in float16, without scaling?",
    100,
    why="Even the largest is 85 times smaller than the last number of float16, 6 · 10⁻⁸.",
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
        "fall by one a step, then go up and down by one": "Each overflow halves the scale and ten good steps double it, so it stays close to the limit.",
        "jump to the right one at once": "All that the loop knows is whether something overflowed.",
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
            "because the gradients may be 0 before they could be scaled": "What has underflowed on the way cannot be restored. The factor has to be there from the start of the walk.",
            "because the loss underflows": "The loss is computed in float32. It is the gradients, on their way through float16, that vanish.",
            "because it is faster": "One multiplication more or less takes no noticeable time.",
        },
        "because the gradients may be 0 before they could be scaled",
    ),
    number(
        "A gradient is 10⁻⁹. What is the smallest k for which it is at least 2⁻²⁴ ≈ 6 · 10⁻⁸ after scaling with S = 2 to the k?",
        6,
        why="It has to grow by a factor of 60. 2 to the 5 is 32, too small; 2 to the 6 is 64.",
        wrong={
            5: "32 · 10⁻⁹ = 3.2 · 10⁻⁸ is still below 6 · 10⁻⁸.",
            60: "60 is the factor. The question is for the power of two: 64 is 2 to the 6.",
            64: "64 is the scale S. As a power of two it is 2 to the 6.",
            24: "That would be right for a gradient of 2⁻⁴⁸. Compare 10⁻⁹ with 6 · 10⁻⁸.",
        },
    ),
    choice(
        "In one step a gradient is inf. What does GradScaler do?",
        {
            "it raises an error": "An overflow is expected now and then; it is how the scale is found.",
            "it replaces inf by the largest number": "The direction of the step would be wrong. Leaving out one step costs little.",
            "it skips the step and halves the scale": "The weights stay as they are, and the next try is with a smaller S.",
        },
        "it skips the step and halves the scale",
    ),
    several(
        'What runs in float16 under autocast("cuda")?',
        {
            "x @ w": "Products are where the work is.",
            "softmax": "Exponentials need range: float32.",
            "a ReLU of a float16 tensor": "It is not on a list, so it runs in the dtype of its input.",
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
        why="Clipping needs the unscaled gradients, so it comes between unscale_ and step.",
        early={
            "loss in an autocast block": "Here the old gradients are cleared first. (It would train as well if they were cleared just before backward.)",
            "scaler.scale(loss).backward()": "It needs a loss of this batch, and gradients that have been cleared.",
            "scaler.unscale_(optimizer)": "It divides the gradients by S, and backward has not made them yet.",
            "clip_grad_norm_(...)": "The gradients are still S times too large (or not there yet): a limit for the norm would mean nothing.",
            "scaler.step(optimizer)": "The step would use gradients that are not clipped, or not there yet.",
            "scaler.update()": "It adapts the scale to whether the step found an overflow, so the step comes first.",
        },
    ),
    choice(
        "Why does training with bfloat16 need no GradScaler?",
        {
            "it has more digits than float16": "It has fewer: 7 bits of fraction against 10.",
            "its exponent has as many bits as that of float32": "What does not underflow in float32 does not underflow in bfloat16.",
            "its gradients are computed in float32": "They are computed in the dtype of the forward values, as with float16.",
        },
        "its exponent has as many bits as that of float32",
    ),
)
