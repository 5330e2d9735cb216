"""What lesson 17 asks."""

import math

import autolab as torch
from autolab.questions.drawn import draws
from autolab.utils.wording import words
from autolab.widgets.questions import choice, number, order, prediction, several, shape


@draws(a=(1, 12), b=(1, 12), c=(1, 12), d=(1, 12))
def third(a=2, b=4, c=9, d=1):
    values = torch.tensor([[a, 0], [b, 2], [c, 1], [d, 5]], dtype=torch.float64)
    means = torch.softmax(torch.zeros(4, 4, dtype=torch.float64).masked_fill(torch.ones(4, 4).tril() == 0, -math.inf), 1) @ values
    if (a + b + c) % 3:
        return None
    return number(
        f"The vectors are ({a}, 0), ({b}, 2), ({c}, 1), ({d}, 5). What is the first number of the mean at the third place?",
        means[2, 0].item(),
        why=f"({a} + {b} + {c}) / 3: the third place sees itself and the two before it.",
        wrong=[
            ((a + b + c + d) / 4, "That is the mean over all four places. The fourth comes later."),
            ((a + b) / 2, "That is the mean of the first two. A place also sees itself."),
            (c, "That is the third vector alone. The mean includes those before it."),
            (a + b + c, "That is the sum. A mean divides by 3."),
        ],
    )


@draws(k=(2, 30))
def weight(k=3):
    scores = torch.tensor([0.0, math.log(k)], dtype=torch.float64)
    return number(
        f"The scores are 0 and log {k}. What weight does the second place get?",
        torch.softmax(scores, 0)[1].item(),
        why=f"e to the scores is 1 and {k}, so the weights are in the ratio 1 to {k}.",
        wrong=[
            (1 / (k + 1), "That is the weight of the first place, whose score is 0."),
            (math.log(k), f"That is the score, log {k}. The softmax makes a weight of it."),
            (0.5, f"The scores differ: 0 and log {k}."),
            (k, f"That is e to the score. The softmax divides by the sum, 1 + {k}."),
        ],
    )


@draws(row=(1, 6), n=(3, 9))
def future(row=1, n=4):
    if row >= n - 1:
        return None
    q = torch.zeros(1, n, 2)
    v = torch.zeros(1, n, 2, requires_grad=True)
    torch.nn.functional.scaled_dot_product_attention(q, q, v, is_causal=True)[0, row].sum().backward()
    reached = [place for place in range(n) if v.grad[0, place, 0] != 0]
    right = f"{reached[0]} {'and' if len(reached) == 2 else 'to'} {reached[-1]}"
    return prediction(
        f"Attention with a mask, over {words(n)} places. The loss is the sum of row {row} of the result. For which places is the gradient of V not 0?",
        right,
        [
            (f"{row} only", f"Place {row} also looks at the places before it, and takes their values with weights."),
            (right, f"Place {row} sees itself and what comes before it. What comes later has weight 0."),
            (f"all {words(n)}", f"Places after {row} have score minus infinity, so their weight is exactly 0."),
        ],
    )


@draws(root=(3, 30))
def spread(root=8):
    d = root * root
    return number(
        f"d = {root * root}, and all entries of q and k have mean 0 and standard deviation 1. What is the standard deviation of q · k?",
        torch.ones(d, dtype=torch.float64).sum().sqrt().item(),
        why=f"Each product has variance 1, the {d} variances add up to {d}, and the root of that is {root}.",
        wrong=[
            (d, "That is the variance. The standard deviation is its root."),
            (1, f"That is so for one product. {d} of them are added."),
            (d * d, f"Variances add up: {d} times 1, and not the square of it."),
        ],
    )


@draws(batch=[8, 16, 32], places=[20, 32, 50, 64, 100], head=[8, 12, 16], heads=[2, 3, 4])
def size(batch=16, places=64, head=12, heads=4):
    q = torch.zeros(1, heads, places, head).expand(batch, -1, -1, -1)
    return shape(
        f"x has shape ({batch}, {places}, {heads * head}), and there are {heads} heads. Which shape have the weights?",
        tuple((q @ q.mT).shape),
        why="For each piece and each head, a row for each place that looks and a column for each place that is looked at.",
        wrong=[
            ((batch, heads, places, head), "That is the shape of the queries of the heads. A weight belongs to two places."),
            ((batch, places, places), f"Each of the {words(heads)} heads has weights of its own."),
            ((batch, heads, head, head), f"{head} is the number of features of a head. The weights are between places."),
            ((heads, places, places), f"Each of the {batch} pieces has its own weights."),
        ],
    )


shuffle = prediction(
    "Without an embedding of places: is the result at the sixth letter the same?",
    "yes, up to rounding",
    {
        "yes, up to rounding": "Scores, weights and values move along with their letters, and a sum does not depend on the order.",
        "no, the weights change": "A score depends on the two vectors, and not on where they are.",
        "no, the mask hides other letters": "The five letters come before the sixth in any order, so it sees all of them.",
    },
)

compiled = prediction(
    "For how many pieces at a time does compiling save the largest share of the time?",
    "1",
    {
        "1": "The arrays are small, so what Python does between two operations is a large share.",
        "8": "Then nearly all time goes into the products themselves, which compiling does not change.",
        "the same for all": "Python's time per operation is the same, but that of the arithmetic grows with the arrays.",
    },
)


@draws(score=(1, 8), t=(2, 5))
def temperature(score=2, t=2):
    scores = torch.tensor([float(score), 0.0], dtype=torch.float64)

    def first(t):
        return torch.softmax(scores / t, 0)[0].item()

    return number(
        f"Two letters have the scores {score} and 0. At temperature {t}, what is the probability of the first?",
        first(t),
        tolerance=2e-3,
        why=f"The scores become {score / t:.3g} and 0, and 1 / (1 + e to the -{score / t:.3g}) = {first(t):.4f}.",
        wrong=[
            (first(1), "That is at temperature 1."),
            (first(0.5), f"That is at temperature 0.5, where the scores become {2 * score} and 0."),
            (0.5, "The scores move closer together, and only an infinite temperature makes them equal."),
            (score / t, f"{score} / {t} is the new score. The softmax makes a probability of it."),
        ],
    )


@draws(k=(2, 8), score=(0, 5))
def masked(k=3, score=1):
    scores = torch.tensor([float(score)] * k + [-math.inf], dtype=torch.float64)
    return number(
        f"A place has the scores {', '.join([str(score)] * k)} and, for a later place, minus infinity. What weight does the first place get?",
        torch.softmax(scores, 0)[0].item(),
        tolerance=5e-3,
        why=f"The later place gets 0, and the other {words(k)} are equal.",
        wrong=[
            (1 / (k + 1), "The later place gets no weight: e to minus infinity is 0."),
            *([(1, f"{words(k).capitalize()} places share the weight.")] if score else []),
            (math.exp(score), "That is e to the score. The softmax divides by the sum."),
        ],
    )


@draws(head=[4, 8, 9, 12, 16, 20, 25, 32, 36, 64], heads=[2, 3, 4, 6, 8, 12])
def divided(head=12, heads=4):
    d = head * heads
    return number(
        f"d = {head * heads} is split among {heads} heads. By what are the scores of a head divided?",
        torch.ones(d, dtype=torch.float64).chunk(heads)[0].sum().sqrt().item(),
        tolerance=2e-3,
        why=f"Each head has queries and keys of {head} numbers, so √{head} = {head**0.5:.4g}.",
        wrong=[
            (d**0.5, f"That is √{d}. A head's product has {head} terms."),
            (head, "That is the number of terms. Their sum's standard deviation is the root of it."),
            (heads, "That is the number of heads, which the scores do not depend on."),
        ],
    )


@draws(batch=(2, 9), places=(3, 60), letters=[69, 30, 80], width=[32, 48, 64])
def scores(batch=2, places=10, letters=69, width=48):
    stream, last = torch.zeros(batch, places, width), torch.zeros(width, letters)
    return shape(
        f"A model for {letters} letters, of width {width} and with up to 64 places, gets x of shape ({batch}, {places}). Shape of its scores:",
        tuple((stream @ last).shape),
        why=f"For each of the {places} places of {'both' if batch == 2 else f'all {words(batch)}'} pieces, a score for each of the {letters} letters.",
        wrong=[
            ((batch, letters), "It predicts at every place, not only at the last."),
            ((batch, places, width), f"That is the residual stream. The last matrix makes {letters} scores of it."),
            ((batch, 64, letters), "It takes as many places as there are, up to 64."),
        ],
    )


quiz = (
    "17 attention",
    masked,
    choice(
        "The mask is forgotten while training. What happens?",
        {
            "the loss on known and new text becomes very small, and the model writes nonsense": "Each place can look at the letter that it has to predict. When it writes, that letter is not there yet.",
            "the loss becomes NaN": "All scores are finite, and nothing is divided by 0.",
            "it trains as before, only slower": "It would see the answer. That is no small change.",
        },
        "the loss on known and new text becomes very small, and the model writes nonsense",
    ),
    divided,
    several(
        "Which parts of the model move information from one place to another?",
        {
            "attention": "It is the only part that mixes places.",
            "layer norm": "It normalises the numbers of one place.",
            "the small network of a block": "It is applied to each place for itself.",
            "the embedding of places": "It adds a vector to each place, and looks at no other.",
        },
        ["attention"],
    ),
    scores,
    choice(
        "The loss on known text still falls, that on new text rises. What is the model doing?",
        {
            "diverging": "Then the loss on known text would rise as well.",
            "learning the known text by heart": "What it learns now holds for the known text only. Stop here, or find more text.",
            "using too low a temperature": "The temperature changes how it writes. The loss does not know of it.",
        },
        "learning the known text by heart",
    ),
    order(
        "Put the forward pass in order.",
        ["embeddings of letter and place", "layer norm", "attention", "addition to the stream", "scores", "softmax and loss"],
        why="Within a block, layer norm comes first, and what attention found is added to what was there.",
        early={
            "layer norm": "It needs the stream, which the embeddings begin.",
            "attention": "In this model it reads what layer norm has normalised.",
            "addition to the stream": "Attention has to have found something first.",
            "scores": "They are made from the stream after all blocks.",
            "softmax and loss": "The loss compares scores with the letters that follow.",
        },
    ),
)
