"""What lesson 11 asks."""

import autolab as torch
from autolab.questions.drawn import draws
from autolab.utils.wording import power
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(p=(11, 14), extra=(1, 15))
def round(p=11, extra=1):
    big, step = 2**p, 2 ** (p - 10)
    exact = big + extra
    right = (torch.tensor(float(big), dtype=torch.float16) + torch.tensor(float(extra), dtype=torch.float16)).item()
    low = big + extra // step * step
    other = low if right != low else low + step
    nearer = (
        f"is halfway and goes to the neighbour whose fraction is even, {right:g}"
        if 2 * (exact - low) == step
        else f"goes to the nearer one, {right:g}"
    )
    if extra % step == 0:
        return None
    return number(
        f"The fraction of float16 has 10 bits. What is {2**p} + {extra} in float16?",
        right,
        why=f"{big} is 2 to the {p}, so neighbours are 2 to the ({p} - 10) = {step} apart. {exact} {nearer}.",
        wrong=[
            (exact, f"That needs more bits of fraction. Between {big} and {2 * big} the numbers of float16 are {step} apart."),
            (other, f"It is one of the two neighbours, and {exact} {nearer}."),
            (low - 1, f"Rounding moves to a neighbour of {exact}, and those are {low} and {low + step}."),
        ],
    )


@draws(n=[3000, 4000, 5000, 8000, 10_000], one=[0.125, 0.25, 0.5, 1, 2, 4])
def running(n=5000, one=1):
    total, before = torch.tensor(0.0, dtype=torch.float16), None
    while total != before:  # from then on nothing changes, and n is more
        before, total = total, total + one
    stuck = total.item()
    if n * one >= 65504:
        return None
    return number(
        f"{f'{n} ones are' if one == 1 else f'{n} times the number {one:g} is'} added one after another, in float16. What is the sum?",
        stuck,
        why=f"From {stuck:g} on the numbers of float16 are {2 * one:g} apart. {stuck:g} + {one:g} is rounded back to {stuck:g}, {n - stuck / one:g} times.",
        wrong=[
            (
                n * one,
                f"{n * one:g} is the exact sum. But the running sum has to pass {stuck:g}, and there adding {one:g} changes nothing.",
            ),
            (65504, "That is the largest number of float16. The sum stops long before, because of rounding."),
            (2 * stuck, f"The numbers are {2 * one:g} apart from {stuck:g} on already, and adding {one:g} is rounded away there."),
            (stuck / 2, f"At {stuck / 2:g} the numbers are {one:g} apart, so adding {one:g} still works."),
        ],
    )


@draws(k=(6, 15), e=(3, 5))
def scale(k=10, e=4):
    small = 10**-e
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    (2**k * (x * small * small)).backward()
    right = x.grad.item()
    if 2**k * small**2 <= 6e-8:
        return None
    return number(
        f"Two products by 10{power(-e)} are behind x, so its gradient is 10{power(-2 * e)}. With S = {2**k}, what is the gradient of x before it is divided by S again?",
        right,
        tolerance=0.01 * right,
        why=f"{2**k} · 10{power(-2 * e)} ≈ {right:.2e}"
        + (", above the last number of float16." if right > 6e-8 else ", still below the last number of float16."),
        wrong=[
            (small**2, "That is the gradient after the division."),
            (0, f"The seed of the walk is {2**k} now, so 10{power(-e)} · {2**k} arrives at the second product."),
            (2**k * small, f"That is what arrives at the second product, 10{power(-e)} · {2**k}. Another factor 10{power(-e)} follows."),
        ],
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


@draws(a=(1, 9), e=(9, 12))
def exponent(a=1, e=9):
    gradient = a * 10**-e
    smallest = torch.tensor(2.0**-24, dtype=torch.float16)
    k = next(k for k in range(50) if 2**k * gradient >= smallest.item())
    factor = 6e-8 / gradient
    clear = 1.03 * 2 ** (k - 1) < factor < 0.97 * 2**k  # 6 · 10⁻⁸ is a rounded number
    if clear == 0:
        return None
    return number(
        f"A gradient is {f'{a} · ' if a > 1 else ''}10{power(-e)}. What is the smallest k for which it is at least 2⁻²⁴ ≈ 6 · 10⁻⁸ after scaling with S = 2 to the k?",
        k,
        why=f"It has to grow by a factor of {factor:.3g}. 2 to the {k - 1} is {2 ** (k - 1)}, too small; 2 to the {k} is {2**k}.",
        wrong=[
            (k - 1, f"{2 ** (k - 1)} times the gradient is {2 ** (k - 1) * gradient:.2g}, still below 6 · 10⁻⁸."),
            (factor, f"{factor:.3g} is the factor. The question is for the power of two: {2**k} is 2 to the {k}."),
            (2**k, f"{2**k} is the scale S. As a power of two it is 2 to the {k}."),
            (24, f"That would be right for a gradient of 2⁻⁴⁸. Compare {gradient:g} with 6 · 10⁻⁸."),
        ],
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
    exponent,
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
