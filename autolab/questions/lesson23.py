"""What lesson 23 asks."""

import autolab as torch
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import words
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(billions=[0.5, 1, 1.3, 1.5, 2, 2.5, 2.7, 3, 4, 5, 6, 6.74, 7, 8, 9, 10, 12, 13, 15, 20, 30, 40, 70])
def sixteen(billions=6.74):
    adam = 2 + 2 + 4 + 4 + 4  # weight, gradient, master weight, two averages
    return number(
        f"{billions} billion parameters at 16 bytes each: how many GB (10^9 bytes) does the training state take?",
        round(billions * adam, 1),
        tolerance=5e-3,
        why=f"{billions} · 16 = {billions * 16:.1f}. No activation is counted yet.",
        wrong=[
            (2 * billions, "That is two bytes each: enough to run the model, not to train it."),
            (4 * billions, "That is weights and gradients in 16 bits. Adam's averages and the master copy are 12 bytes more."),
            (8 * billions, "That is eight bytes each, Adam's two averages alone."),
            (billions, "That is the number of parameters. Each has 16 bytes."),
        ],
    )


@draws(n=[3000, 4000, 5000, 8000, 10_000], one=[0.125, 0.25, 0.5, 1, 2, 4])
def stuck(n=5000, one=1):
    total, before = torch.tensor(0.0, dtype=torch.bfloat16), None
    while total != before:  # from then on nothing changes, and n is more
        before, total = total, total + one
    end = total.item()
    return number(
        f"bfloat16 has 8 significant bits. Where does the sum of {n} {'ones' if one == 1 else f'times {one:g}'} end?",
        end,
        why=f"Up to {end:g} every multiple of {one:g} exists. {end + one:g} needs nine bits, and rounds back to {end:g}.",
        wrong=[
            (n * one, "That is what float32 gives. In bfloat16 the sum is rounded after each addition."),
            (2048 * one, "That is float16, with 11 significant bits."),
            (255 * one, f"That is the largest multiple of eight bits, but {end:g} has only one significant bit. What comes after it?"),
            (end / 2, f"Between {end / 2:g} and {end:g} the multiples of {one:g} still exist. Eight bits reach to 2⁸ of them."),
            (2 * end, f"From {end:g} on only every second multiple of {one:g} exists, so the sum cannot leave {end:g}."),
        ],
    )


scaled = prediction(
    "Weights of about 0.002, rounded to E4M3, whose smallest positive number is about 0.002. What does a scale do to the product's error?",
    "from tens of percent to a few percent",
    {
        "nothing, floating point has an exponent": "It has, but it ends: below 2⁻⁶ E4M3 has fewer and fewer bits, and 0.002 is its last step.",
        "from tens of percent to a few percent": "In the range each factor is off by a few percent, with both signs, and in the sum they average.",
        "it removes the error": "Three bits of mantissa remain three bits.",
        "it makes it worse, as the scale is rounded too": "The scale is a float32 number outside of the product.",
    },
)

shards = prediction(
    "Which of these does NOT give the gradient of the whole batch when four workers average?",
    "equal shards and batch norm",
    {
        "equal shards, mean loss, ReLU": "All three conditions hold: a mean, equal sizes, and examples that do not see each other.",
        "unequal shards, weighted by their size": "The weights n_k / n turn the shards' means into the mean of all.",
        "equal shards and batch norm": "Each shard is normalised with its own mean and variance, so an example's loss depends on its shard.",
        "equal shards and layer norm": "Layer norm works inside one example. The shard does not matter.",
    },
)


@draws(p=[3, 4, 5, 6, 8, 10], n=[600, 1000, 1200, 2000, 2400, 4000, 6000, 12_000])
def ring(p=4, n=1000):
    size, chunk = 4 * n, 4 * n / p
    steps = 2 * (p - 1)
    if n % p:
        return None
    return number(
        f"{words(p).capitalize()} workers, an array of {n} float32 numbers. How many bytes does each worker send in a ring all-reduce?",
        steps * chunk,
        why=f"2 · {p - 1}/{p} · {size}: {words(steps)} steps with 1/{p} of the array each.",
        wrong=[
            (size, f"That is the array once. It is sent twice but for one chunk each time: 2 · {p - 1}/{p}."),
            (2 * size, f"That is the limit for many workers, 2N. With {words(p)} it is 2 · {p - 1}/{p} N."),
            (size * (p - 1), f"That is {words(p - 1)} whole arrays to the {words(p - 1)} others. In a ring only chunks travel."),
            (steps * chunk / 2, "That is the first half, the reduce-scatter. The complete chunks have to go round, too."),
            (steps * chunk / 4, "These are numbers. Each has four bytes."),
        ],
    )


@draws(size=[1, 1.5, 2, 2.25, 3, 4, 6, 10], p=[4, 5, 8, 10])
def traffic(size=2.25, p=4):
    right = 2 * (p - 1) * size / p
    return number(
        f"A model of {size} MB and {words(p)} processes. How many MB does each send in a step?",
        right,
        tolerance=1e-2,
        why=f"2 · {p - 1}/{p} · {size} = {right:.3g}, whatever the buckets are.",
        wrong=[
            (size, "That is the model once. A ring sends 2(p - 1)/p of it."),
            (size * (p - 1), f"That is the model to each of {words(p - 1)} others."),
            (2 * size, "That is 2N, the limit for many workers."),
            (size * p, f"That is all {words(p)} copies."),
        ],
    )


collectives = prediction(
    "The MLP is cut over two workers. Which gradients have to be added up between them?",
    "only that of X",
    {
        "those of X, A and B": "Each worker has a part of A and of B of its own. Nobody else has a gradient for it.",
        "only those of A and B": "These are the workers' own shards. What do both of them use?",
        "only that of X": "X went to both, a broadcast; backward, its two gradients add up.",
        "none": "Both workers used X, so each has only a part of its gradient.",
    },
)


@draws(p=(3, 9), m=(3, 12))
def bubble(p=4, m=4):
    ticks = {stage + batch for stage in range(p) for batch in range(m)}
    right = 1 - m / len(ticks)
    return number(
        f"{words(p).capitalize()} stages, {words(m)} micro-batches. Which share of the time does a stage stand idle?",
        right,
        tolerance=1e-2,
        why=f"{p - 1} / ({m} + {p - 1}) = {p - 1}/{m + p - 1}.",
        wrong=[
            ((p - 1) / p, f"That is with a single micro-batch: {words(p - 1)} of {words(p)} ticks."),
            (1 / p, f"Count the ticks: m + p - 1 = {m + p - 1}, of which a stage works for {m}."),
            (m / (m + p - 1), f"That is the share in which it works, {m}/{m + p - 1}."),
            ((p - 1) / (m + p - 2), f"The denominator is m + p - 1 = {m + p - 1}, not m + p - 2."),
        ],
    )


@draws(total=[16, 32, 48, 64, 80, 107.8, 160, 320], n=[4, 8, 16, 32, 64])
def zero(total=107.8, n=64):
    byte = total / 16
    return number(
        f"All sixteen bytes are sharded over {n} workers. How many GB of {total} does each keep?",
        float(f"{total / n:.3g}"),
        tolerance=1e-2,
        why=f"{total} / {n} = {total / n:.3g}. What a layer needs while it computes is gathered, and dropped again.",
        wrong=[
            (4 * byte + 12 * byte / n, "That is stage 1: weights and gradients are still everywhere."),
            (2 * byte + 14 * byte / n, "That is stage 2: the weights are still everywhere."),
            (2 * byte, "That is the weights alone, unsharded."),
            (total, "That is without sharding."),
        ],
    )


@draws(n=[10, 20, 30, 40, 60, 70, 80, 90], m=[10, 20, 30, 40, 60, 70, 80, 90], g=(1, 9), h=(1, 9))
def unequal(n=30, m=10, g=1, h=5):
    right = slope(lambda x: (n * g + m * h) * x / (n + m), 1)
    if n == m or right * 10 % 1:
        return None
    return number(
        f"Shards of {n} and {m} examples have mean gradients {g} and {h}. What is the gradient of the mean loss over all {n + m}?",
        right,
        why=f"({n} · {g} + {m} · {h}) / {n + m} = {n * g + m * h} / {n + m}.",
        wrong=[
            ((g + h) / 2, "That is the plain mean, which counts the examples of the smaller shard more than those of the larger."),
            (g + h, "That is the sum of two means."),
            ((m * g + n * h) / (n + m), "The weights are exchanged: the larger shard counts more."),
        ],
    )


@draws(p=(3, 16), share=[0.25, 0.2, 0.1, 0.05])
def micro_batches(p=8, share=0.1):
    right = next(m for m in range(1, 1000) if (p - 1) / (m + p - 1) <= share + 1e-9)
    return number(
        f"{words(p).capitalize()} stages. How many micro-batches bring the bubble down to {share}?",
        right,
        why=f"{p - 1} / (m + {p - 1}) = {share} gives m = {right}.",
        wrong=[
            (right + p - 1, f"That is m + p - 1. Take the {p - 1} off."),
            (p / share, "That is with p/m. The bubble is (p - 1)/(m + p - 1)."),
            (p - 1, f"With m = {p - 1} the bubble is one half."),
            (p / share - p, f"There are p - 1 = {p - 1} idle ticks, not {p}."),
        ],
    )


@draws(billions=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 20, 25, 30, 34, 40, 50, 60, 70, 100])
def of_adam(billions=1):
    state = 4 + 4 + 4  # master weight, mean, mean of squares
    return number(
        f"Adam in mixed precision keeps 16 bytes per parameter, {16 * billions} GB for {billions} billion. How many GB of these are NOT weights or gradients in 16 bits?",
        state * billions,
        why="Of 16 bytes: master weight 4, mean 4, mean of squares 4. They are what ZeRO shards first.",
        wrong=[
            (8 * billions, "That is Adam's two averages. The float32 master copy is also there."),
            (4 * billions, "That is the weight and the gradient in 16 bits, which the question leaves out."),
            (14 * billions, "The gradient has 2 bytes, and so has the weight."),
        ],
    )


quiz = (
    "23 many machines",
    of_adam,
    choice(
        "p workers sum their arrays by a ring. What grows with p?",
        {
            "the number of steps, and their delays": "2(p - 1) steps, each with the delay of a message. For short arrays that is the whole cost.",
            "the bytes that each worker sends, in proportion": "These approach 2N, and no more.",
            "the memory for the array": "Each has one array, and a chunk under way.",
        },
        "the number of steps, and their delays",
    ),
    unequal,
    several(
        "Which of these make the overlap of communication and backward better?",
        {
            "buckets that are sent as soon as they are full": "Then the first ones travel while backward goes on.",
            "a single bucket for the whole model": "It is full only when backward has ended, and nothing is hidden.",
            "more examples for each worker": "Backward takes longer, and the gradients have the same size.",
            "sending the first layer's gradients first": "They are the last to be complete.",
        },
        ["buckets that are sent as soon as they are full", "more examples for each worker"],
    ),
    choice(
        "Forward, an all-gather collects the shards of a weight. What does backward do at this place?",
        {
            "an all-gather": "That would be the transpose only if it were symmetric. Count the shapes: (pn) at every worker has to become (n).",
            "a reduce-scatter": "It adds up what all workers found for the whole weight, and gives each its shard.",
            "nothing": "The gradients of the other workers would be lost: all of them used every shard.",
        },
        "a reduce-scatter",
    ),
    micro_batches,
    order(
        "One step of data parallel training with buckets:",
        [
            "forward on the own shard",
            "backward begins",
            "the last layers' bucket is sent",
            "the first layer's bucket is sent",
            "wait for all buckets",
            "optimizer step",
        ],
        why="The last layers' gradients are complete first.",
        early={
            "backward begins": "There is no loss yet.",
            "the last layers' bucket is sent": "Its gradients come from backward.",
            "the first layer's bucket is sent": "Backward reaches the first layer last.",
            "wait for all buckets": "A bucket that was not sent cannot arrive.",
            "optimizer step": "It would use gradients of the own shard only, and the copies would drift apart.",
        },
    ),
)
