"""What lesson 10 asks."""

import autolab as torch
from autolab import nn
from autolab.questions.drawn import draws, graph_nodes
from autolab.utils.checkpoint import checkpoint as checkpointed
from autolab.utils.checkpoint import checkpoint_sequential
from autolab.utils.wording import words
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(n=[10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 256, 300], both=[True, False])
def kept(n=256, both=True):
    x, w = torch.ones(n, n, dtype=torch.float32, requires_grad=both), torch.ones(n, n, dtype=torch.float32, requires_grad=True)
    one, node = x.nbytes, (x * w).grad_fn
    return number(
        f"x and w are matrices of shape ({n}, {n}) in float32, {4 * n * n} bytes each. The rule of `x * w` is `g * w` for x and `g * x` for w. How many bytes does its node keep if {'both require gradients' if both else 'w requires a gradient and x does not'}?",
        sum(saved.nbytes for saved in (node._saved_self, node._saved_other) if saved is not None),
        why=f"Two matrices of {one} bytes: the gradient of each factor needs the other."
        if both
        else f"One matrix of {one} bytes: the gradient of w needs x, and no gradient needs w.",
        wrong=[
            (one, "That is one matrix. The gradient of x needs w, and that of w needs x.")
            if both
            else (2 * one, "Only one of the two rules will run: that for w, which needs x."),
            (0, "An addition keeps nothing. A product needs its factors."),
            (3 * one, "The result is not kept by the node: neither rule names it."),
        ],
    )


@draws(n=(3, 30))
def walk(n=8):
    h, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    for _ in range(n):
        h = torch.tanh(h @ w)
    return number(
        f"How many activations are in use after the forward pass of {n} layers, each a product and a tanh?",
        sum(node.name() == "TanhBackward0" for node in graph_nodes(h)),
        tolerance=0.4 / n,
        why="One for each layer: its tanh and the next product hold the same array.",
        wrong=[
            (2 * n, "The product and the tanh make two arrays a layer, but no node keeps the product's result."),
            (1, "That would be so without a graph: each intermediate result could be freed as soon as the next exists."),
            (n + 1, "The input X is kept as well, but it was there before we began to measure."),
        ],
    )


@draws(n=(1, 30))
def checkpoint(n=1):
    runs = []

    def layer(x):
        runs.append(x)
        return torch.tanh(x)

    for _ in range(n):
        checkpointed(layer, torch.ones(1, requires_grad=True), use_reentrant=False).sum().backward()
    return number(
        f"A layer runs inside a checkpoint, forward and then backward{f', in {words(n)} training steps' if n > 1 else ''}. How often does its `forward` run?",
        len(runs),
        why=f"Once{' a step' if n > 1 else ''} without keeping anything, and once more when backward needs what was not kept.",
        wrong=[
            (n, "Then the node would have to keep what its rules need, and no memory would be saved."),
            (3 * n, "Once on the way forward, once on the way back. The backward rules themselves do not run forward."),
            (0, "The loss needs its result, so it runs at least once."),
        ],
    )


@draws(k=(4, 30))
def segments(k=8):
    n = k * k
    right = min((parts for parts in range(1, n + 1) if n % parts == 0), key=lambda parts: parts + n // parts)
    return number(
        f"n = {k * k}. For which k is k + {k * k}/k smallest?",
        right,
        why=f"The derivative 1 - {n}/k² is 0 at k = {k}, the square root of {n}. Then the two parts are equal: {k} + {k}.",
        wrong=[
            (n, f"Then each segment is one layer, and {n} inputs are kept: as many as without."),
            (1, f"One segment is the whole network. All its {n} arrays exist at once."),
            (n / 2, f"{n / 2:g} + 2 = {n / 2 + 2:g}. Try a number nearer to the middle."),
            (2 * k, f"{2 * k} + {k / 2:g} = {2.5 * k:g}. A smaller one is better."),
        ],
    )


@draws(n=(1, 30))
def state(n=1):
    norm = nn.BatchNorm1d(2)
    for _ in range(n):
        x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
        checkpointed(norm, x, use_reentrant=False).sum().backward()
    return number(
        f"A BatchNorm counts in `num_batches_tracked` how often it has updated its running mean. What does it say after {words(n)} checkpointed step{'s' if n > 1 else ''}?",
        norm.num_batches_tracked.item(),
        why="Its forward ran twice in a step, and the update of the running statistics is a side effect of forward.",
        wrong=[
            (n, "A step has two forward runs. The checkpoint replays random numbers, but no other side effect."),
            (0, "In training mode each forward run updates the statistics."),
            (3 * n, "Forward once, and forward once more on the way back. The backward rules update nothing."),
        ],
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


@draws(k=(4, 12), size=(4, 12))
def at_the_peak(k=10, size=10):
    return number(
        f"{k * size} layers, checkpointed in {k} segments: about how many activations at the peak, not counting gradients under way?",
        len(torch.empty(k * size).chunk(k)) + len(torch.empty(k * size).chunk(k)[0]),
        tolerance=0.1,
        why=f"{k} inputs of segments, and the {size} layers of the segment that is run again.",
        wrong=[
            (k, f"These are the inputs of the segments. While backward is inside a segment, its {size} layers are in memory too."),
            (k * size, "That is without a checkpoint."),
            (k * size + k, "Only one segment at a time is run again, not all of them."),
        ],
    )


@draws(k=(4, 12), size=(4, 12))
def run_twice(k=10, size=10):
    runs = dict.fromkeys(range(k * size), 0)

    class Layer(nn.Module):
        def __init__(self, place):
            super().__init__()
            self.place = place

        def forward(self, x):
            runs[self.place] += 1
            return torch.tanh(x)

    layers = nn.Sequential(*map(Layer, runs))
    checkpoint_sequential(layers, k, torch.ones(1, requires_grad=True), use_reentrant=False).sum().backward()
    n = k * size
    return number(
        f"{k * size} layers are checkpointed in {k} segments, the last of which is run as usual. How many layers run forward twice?",
        sum(count == 2 for count in runs.values()),
        why="All but the last segment, which backward reaches at once.",
        wrong=[
            (n, "The last segment is still in memory when backward begins."),
            (size, "These, of the last segment, run only once."),
            (n - 1, "All layers of the last segment are still in memory, not only the last layer."),
            (0, "What a checkpoint does not keep has to be computed again."),
            (k - 1, f"These are the segments. Each has {words(size)} layers."),
        ],
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
    at_the_peak,
    run_twice,
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
