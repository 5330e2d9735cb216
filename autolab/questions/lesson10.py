"""What lesson 10 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

kept = prediction(
    "The rule of `x * w` is `g * w` for x and `g * x` for w. How many bytes does its node keep if both require gradients?",
    524288,
    why="Two matrices of 262144 bytes: the gradient of each factor needs the other.",
    wrong={
        262144: "That is one matrix. The gradient of x needs w, and that of w needs x.",
        0: "An addition keeps nothing. A product needs its factors.",
        786432: "The result is not kept by the node: neither rule names it.",
    },
)

walk = prediction(
    "How many activations are in use after the forward pass of 8 layers?",
    8,
    tolerance=0.05,
    why="One for each layer: its tanh and the next product hold the same array.",
    wrong={
        16: "The product and the tanh make two arrays a layer, but no node keeps the product's result.",
        1: "That would be so without a graph: each intermediate result could be freed as soon as the next exists.",
        9: "The input X is kept as well, but it was there before we began to measure.",
    },
)

checkpoint = prediction(
    "A layer runs inside a checkpoint, forward and then backward. How often does its `forward` run?",
    2,
    why="Once without keeping anything, and once more when backward needs what was not kept.",
    wrong={
        1: "Then the node would have to keep what its rules need, and no memory would be saved.",
        3: "Once on the way forward, once on the way back. The backward rules themselves do not run forward.",
        0: "The loss needs its result, so it runs at least once.",
    },
)

segments = prediction(
    "n = 64. For which k is k + 64/k smallest?",
    8,
    why="The derivative 1 - 64/k² is 0 at k = 8, the square root of 64. Then the two parts are equal: 8 + 8.",
    wrong={
        64: "Then each segment is one layer, and 64 inputs are kept: as many as without.",
        1: "One segment is the whole network. All its 64 arrays exist at once.",
        32: "32 + 2 = 34. Try a number nearer to the middle.",
        16: "16 + 4 = 20. A little smaller still is better.",
    },
)

state = prediction(
    "A BatchNorm counts in `num_batches_tracked` how often it has updated its running mean. What does it say after one checkpointed step?",
    2,
    why="Its forward ran twice, and the update of the running statistics is a side effect of forward.",
    wrong={
        1: "One step, but two forward runs. The checkpoint replays random numbers, but no other side effect.",
        0: "In training mode each forward run updates the statistics.",
        3: "Forward once, and forward once more on the way back. The backward rules update nothing.",
    },
)

disk = prediction(
    "What is the peak of the 16 layers now, in activations?",
    "about 3",
    {
        "17, as before": "What the nodes saved is on the disk, not in memory, until backward needs it.",
        "about 9": "None of the saved tensors stays in memory, not just half of them.",
        "about 3": "What one layer needs while it runs: its input, its result, and a gradient. Nothing is kept for later.",
        "0": "While a layer runs, its input and its result are in memory.",
    },
)

quiz = (
    "10 memory",
    several(
        "Which of these lower the peak of a training step?",
        {
            "halving the batch": "Every activation halves. Weights and optimizer state stay.",
            "del h, for an intermediate result h, before backward": "The name is gone, but the nodes still hold the array, and the peak is as before.",
            "a checkpoint around half of the layers": "What they compute is dropped after the forward run, and computed again when it is needed.",
            "replacing x.tanh() by x.sin()": "tanh keeps its result and sin its input: one array each, so nothing is gained in general.",
        },
        ["halving the batch", "a checkpoint around half of the layers"],
    ),
    number(
        "100 layers, checkpointed in 10 segments: about how many activations at the peak, not counting gradients under way?",
        20,
        tolerance=0.1,
        why="10 inputs of segments, and the 10 layers of the segment that is run again.",
        wrong={
            10: "These are the inputs of the segments. While backward is inside a segment, its 10 layers are in memory too.",
            100: "That is without a checkpoint.",
            110: "Only one segment at a time is run again, not all of them.",
            11: "The segment that is run again has 10 layers, not one.",
        },
    ),
    number(
        "How many of these 100 layers run forward twice?",
        90,
        why="All but the last segment, which backward reaches at once.",
        wrong={
            100: "The last segment is still in memory when backward begins.",
            10: "These ten, of the last segment, run only once.",
            99: "All layers of the last segment are still in memory, not only the last layer.",
            0: "What a checkpoint does not keep has to be computed again.",
            9: "These are the segments. Each has ten layers.",
        },
    ),
    several(
        "Which of these need care inside a checkpointed function?",
        {
            "print(x.shape)": "It prints twice: a side effect.",
            "dropout": "Its random numbers are replayed (unless you switch that off).",
            "a BatchNorm in training mode": "Its running statistics are updated twice in each step.",
            "x.exp()": "It is pure: the same each time.",
        },
        ["print(x.shape)", "a BatchNorm in training mode"],
    ),
    choice(
        "A pack hook stores tensors as float16. What happens to the gradients?",
        {
            "they are exact, because unpack turns them back into float32": "The bits that float16 lacks are lost; converting back fills them with zeros.",
            "they are rounded where a rule uses a saved value": "The loss is exact, since forward ran on the original, and the rules run on rounded values.",
            "backward refuses, because the tensors changed": "The engine trusts unpack: it checks that it got a tensor, and no more.",
        },
        "they are rounded where a rule uses a saved value",
    ),
    order(
        "Put in order what happens to a checkpointed segment in a training step.",
        [
            "its input and the state of the random generator are kept",
            "it runs forward, and what its nodes would save is discarded",
            "backward arrives at it",
            "it runs forward again, and its nodes get their values",
            "its rules run",
        ],
        why="Forward, wait, forward again, backward.",
        early={
            "it runs forward, and what its nodes would save is discarded": "Its input and the random state have to be kept before it runs, or it could not run a second time in the same way.",
            "backward arrives at it": "The walk back starts from a loss, and for a loss the segment has to run forward.",
            "it runs forward again, and its nodes get their values": "Nothing needs the values before backward arrives.",
            "its rules run": "The rules need the values that were discarded; the second forward run restores them.",
        },
    ),
)
