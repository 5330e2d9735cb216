"""What lesson 23 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

sixteen = prediction(
    "6.74 billion parameters at 16 bytes each: how many GB (10^9 bytes) does the training state take?",
    107.8,
    tolerance=5e-3,
    why="6.738 · 16 = 107.8. No activation is counted yet.",
    wrong={
        13.5: "That is two bytes each: enough to run the model, not to train it.",
        27: "That is weights and gradients in 16 bits. Adam's averages and the master copy are 12 bytes more.",
        53.9: "That is eight bytes each, Adam's two averages alone.",
        6.74: "That is the number of parameters. Each has 16 bytes.",
    },
)

stuck = prediction(
    "bfloat16 has 8 significant bits. Where does the sum of 5000 ones end?",
    256,
    why="Up to 256 every whole number exists. 257 needs nine bits, and rounds back to 256.",
    wrong={
        5000: "That is what float32 gives. In bfloat16 the sum is rounded after each addition.",
        2048: "That is float16, with 11 significant bits.",
        255: "255 is the largest number of eight bits, but 256 has only one significant bit. What comes after it?",
        128: "Between 128 and 256 the whole numbers still exist. Eight bits reach to 2⁸.",
        512: "From 256 on only even numbers exist, so the sum cannot leave 256 by ones.",
    },
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

ring = prediction(
    "Four workers, an array of 1000 float32 numbers. How many bytes does each worker send in a ring all-reduce?",
    6000,
    why="2 · 3/4 · 4000: six steps with a quarter of the array each.",
    wrong={
        4000: "That is the array once. It is sent twice but for one chunk each time: 2 · 3/4.",
        8000: "That is the limit for many workers, 2N. With four it is 2 · 3/4 N.",
        12000: "That is three whole arrays to the three others. In a ring only chunks travel.",
        3000: "That is the first half, the reduce-scatter. The complete chunks have to go round, too.",
        1500: "These are numbers. Each has four bytes.",
    },
)

traffic = prediction(
    "A model of 2.25 MB and four processes. How many MB does each send in a step?",
    3.38,
    tolerance=1e-2,
    why="2 · 3/4 · 2.25 = 3.38, whatever the buckets are.",
    wrong={
        2.25: "That is the model once. A ring sends 2(p - 1)/p of it.",
        6.75: "That is the model to each of three others.",
        4.5: "That is 2N, the limit for many workers.",
        9: "That is all four copies.",
    },
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

bubble = prediction(
    "Four stages, four micro-batches. Which share of the time does a stage stand idle?",
    0.4286,
    tolerance=1e-2,
    why="3 / (4 + 3) = 3/7.",
    wrong={
        0.75: "That is with a single micro-batch: three of four ticks.",
        0.25: "Count the ticks: m + p - 1 = 7, of which a stage works for 4.",
        0.5714: "That is the share in which it works, 4/7.",
        0.5: "The denominator is m + p - 1 = 7, not m + p - 2.",
    },
)

zero = prediction(
    "All sixteen bytes are sharded over 64 workers. How many GB of 107.8 does each keep?",
    1.68,
    tolerance=1e-2,
    why="107.8 / 64 = 1.68. What a layer needs while it computes is gathered, and dropped again.",
    wrong={
        28.2: "That is stage 1: weights and gradients are still everywhere.",
        15.0: "That is stage 2: the weights are still everywhere.",
        13.5: "That is the weights alone, unsharded.",
        107.8: "That is without sharding.",
    },
)

quiz = (
    "23 many machines",
    number(
        "Adam in mixed precision: how many of the 16 bytes per parameter are NOT weights or gradients in 16 bits?",
        12,
        why="Master weight 4, mean 4, mean of squares 4. They are what ZeRO shards first.",
        wrong={
            8: "That is Adam's two averages. The float32 master copy is also there.",
            4: "That is the weight and the gradient in 16 bits, which the question leaves out.",
            14: "The gradient has 2 bytes, and so has the weight.",
        },
    ),
    choice(
        "p workers sum their arrays by a ring. What grows with p?",
        {
            "the number of steps, and their delays": "2(p - 1) steps, each with the delay of a message. For short arrays that is the whole cost.",
            "the bytes that each worker sends, in proportion": "These approach 2N, and no more.",
            "the memory for the array": "Each has one array, and a chunk under way.",
        },
        "the number of steps, and their delays",
    ),
    number(
        "Shards of 30 and 10 examples have mean gradients 1 and 5. What is the gradient of the mean loss over all 40?",
        2,
        why="(30 · 1 + 10 · 5) / 40 = 80 / 40.",
        wrong={
            3: "That is the plain mean, which counts each example of the small shard three times.",
            6: "That is the sum of two means.",
            4: "The weights are exchanged: the larger shard counts more.",
        },
    ),
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
    number(
        "Eight stages. How many micro-batches bring the bubble down to 0.1?",
        63,
        why="7 / (m + 7) = 0.1 gives m = 63.",
        wrong={
            70: "That is m + p - 1. Take the 7 off.",
            80: "That is with p/m. The bubble is (p - 1)/(m + p - 1).",
            7: "With m = 7 the bubble is one half.",
            72: "There are p - 1 = 7 idle ticks, not 8.",
        },
    ),
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
