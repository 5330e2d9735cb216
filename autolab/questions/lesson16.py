"""What lesson 16 asks."""

import math

import autolab as torch
from autolab import nn
from autolab.questions.drawn import draws
from autolab.utils.wording import power, times, words
from autolab.widgets.questions import choice, number, order, prediction, several, shape


@draws(i=(1, 5), j=(1, 5), k=(1, 5))
def three(i=1, j=2, k=3):
    p = torch.tensor([2.0**-i, 2.0**-j, 2.0**-k], dtype=torch.float64)
    total = i + j + k
    if total % 3:
        return None
    return number(
        f"To the three letters that came, a model gave the probabilities 1/{2**i}, 1/{2**j} and 1/{2**k}. What is its loss, the mean of -log p?",
        -p.log().mean().item(),
        tolerance=2e-3,
        why=f"log {2**i} + log {2**j} + log {2**k} = {total} log 2, and a third of it is {total // 3} log 2 = {total // 3 * math.log(2):.4f}.",
        wrong=[
            (-p.mean().log().item(), "That is -log of the mean probability. The loss is the mean of the logarithms."),
            (total * math.log(2), "That is the sum over the three letters. The loss is the mean."),
            (total / 3, "That is in bits, with the base-2 logarithm. The loss takes the natural one."),
            (p.mean().item(), "That is the mean probability, without a logarithm."),
        ],
    )


never = prediction(
    "Without any smoothing, what is the loss of the table of pairs on the new text?",
    "infinite",
    {
        "a little above 2.40": "Only 25 of some 3900 pairs are concerned, but each of them costs -log 0.",
        "infinite": "The 25 pairs have probability 0, and -log 0 is infinite. One of them would be enough.",
        "2.40": "The 25 pairs that never occurred count, too, and the table calls them impossible.",
    },
)


@draws(b=(2, 9), c=(1, 6))
def pull(b=3, c=1):
    scores = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    rows = torch.zeros(b + c, dtype=torch.int64)
    nn.functional.cross_entropy(scores[rows], torch.tensor([1] * b + [2] * c)).backward()
    right, n = scores.grad[0, 1].item(), b + c
    return number(
        f"W is 0, for the letters a, b and c. After a comes b {times(b)} and c {times(c)}. What is the gradient of the mean loss for W[a, b]?",
        right,
        tolerance=2e-3,
        why=f"The softmax gives b 1/3, and its share is {b}/{n}: 1/3 - {b}/{n} = {right:.4f}. "
        + ("Gradient descent raises the score." if right < 0 else "Gradient descent lowers the score."),
        wrong=[
            (
                -right,
                f"The gradient is probability minus target. Here the probability is too {'small' if right < 0 else 'large'}, so it is {'negative' if right < 0 else 'positive'}.",
            ),
            (1 / 3 - 1, f"That is 1/3 - 1, for a row in which b came. In {words(c)} of the {words(n)} rows c came, and there it is +1/3."),
            (n * right, f"That is the sum over the {words(n)} pairs. The loss is their mean."),
            (-b / n, "That is minus the share of b. The softmax's 1/3 is added."),
            (1 / 3, "That is the entry of W[a, a], which is never the target."),
        ],
    )


@draws(kinds=(20, 99), k=(3, 5))
def rows(kinds=69, k=4):
    return number(
        f"A table for contexts of {words(k)} letters, of {kinds} kinds: how many rows?",
        len(range(kinds)) ** k,
        why=f"{' · '.join([str(kinds)] * k)}: any of {kinds} kinds at each of the {words(k)} places.",
        wrong=[
            (kinds * k, f"{k} · {kinds} would count places and letters. Each combination of {words(k)} letters needs a row."),
            (kinds ** (k - 1), f"That is {kinds}{power(k - 1)}, for contexts of {words(k - 1)} letters."),
            (kinds ** (k + 1), f"That is the number of entries: each row has {kinds} of them."),
            *([(kinds**2, "That is the number of entries of the table of pairs.")] if k > 3 else []),
        ],
    )


@draws(kinds=(20, 99))
def start(kinds=69):
    loss = nn.functional.cross_entropy(torch.zeros(1, kinds, dtype=torch.float64), torch.tensor([0])).item()
    seen = [
        (3.13, "That would need to know how frequent each letter is. Before training, the network does not."),
        (2.4, "That is the table of pairs. Before training, the network has seen nothing."),
    ]
    return number(
        f"Which first loss shows that a network for {kinds} letters starts without any opinion?",
        loss,
        tolerance=3e-3,
        why=f"Equal probabilities, 1/{kinds} each: -log(1/{kinds}) = log {kinds} = {loss:.4f}.",
        wrong=[
            (0, "A loss of 0 would mean certainty about the right letter."),
            *(seen if kinds == 69 else [(1 / kinds, "That is the probability of each letter. The loss is minus its logarithm.")]),
            (math.log10(kinds), f"That is the base-10 logarithm of {kinds}. The loss takes the natural one."),
        ],
    )


two = prediction(
    "What gradient arrives at the 10?",
    0,
    why="1 - 1/2 - (-1) · (1 · (-1))/2 = 1 - 1/2 - 1/2 = 0: two different numbers become -1 and 1, whatever they are.",
    wrong={
        1: "That is what comes from above for z. The mean and the spread depend on the 10, too.",
        0.5: "That takes the way through the mean into account, and forgets the way through the spread.",
        -1: "That is the value of z, not the gradient.",
    },
)

total = prediction(
    "What is the sum over the batch of each column of the gradient that batch norm passes back?",
    0,
    why="Add the same number to a whole column, and z stays as it is. So the derivative in that direction, the sum, is 0.",
    wrong={
        1: "The gradients do not share out a fixed sum as probabilities do.",
        64: "That is the size of the batch. Take the formula and sum it over j.",
    },
)


@draws(k=(3, 60))
def perplexity(k=8):
    loss = -torch.full((5,), 1 / k, dtype=torch.float64).log().mean().item()
    return number(
        f"The loss is {math.log(k):.4f} (natural logarithm). What is the perplexity?",
        round(math.exp(loss), 6),
        tolerance=1e-3,
        why=f"e to the {loss:.4f} is {k}: as uncertain as an even choice among {words(k)} letters.",
        wrong=[
            (2**loss, f"That is 2 to the {loss:.4f}. The loss has the natural logarithm."),
            (1 / k, "That is the probability, e to the minus loss. Perplexity is its inverse."),
            (loss, "That is the loss itself. Perplexity is e to that power."),
        ],
    )


@draws(kinds=(20, 99), d=(6, 16), n=[8, 16, 32, 64, 128], k=(2, 5))
def embedded(kinds=69, d=10, n=64, k=4):
    table, x = torch.zeros(kinds, d), torch.zeros(n, k, dtype=torch.int64)
    return shape(
        f"C has shape ({kinds}, {d}), x has shape ({n}, {k}). Shape of C[x].flatten(1):",
        tuple(table[x].flatten(1).shape),
        why=f"C[x] has shape ({n}, {k}, {d}), and flatten(1) joins the last two.",
        wrong=[
            ((n, k, d), "That is C[x]. flatten(1) joins the last two dimensions."),
            ((n * k, d), f"That is flatten(0, 1). The batch of {n} stays in front."),
            ((n, k), f"That is x. Each of its letters is replaced by {d} numbers."),
            ((k * d, n), "The batch comes first."),
        ],
    )


quiz = (
    "16 from counts to a network",
    perplexity,
    choice(
        "Softmax regression on one letter is trained for ever. Can its loss on the known text fall below that of the unsmoothed table of counts?",
        {
            "no": "The gradient is 0 exactly where the softmax is the table, and the loss is convex: there is nothing below.",
            "yes, it generalises": "It sees the same single letter. Generalising is about new text, and needs something that contexts share.",
            "yes, with a better optimizer": "An optimizer gets to the minimum sooner. The minimum is the table.",
        },
        "no",
    ),
    embedded,
    choice(
        "The letter z does not occur in a batch. What is the gradient of its row of the embedding?",
        {
            "0": "The loss of this batch does not depend on that row.",
            "the mean of the other rows' gradients": "Rows do not mix. Each receives what the places send that used it.",
            "NaN": "Nothing is divided by the number of times a letter occurs.",
        },
        "0",
    ),
    several(
        "Most activations of a tanh layer are -1 or 1. What follows?",
        {
            "little gradient gets through": "The factor is 1 - h², and that is nearly 0.",
            "the weights before it learn slowly": "Their gradient has passed through the factor 1 - h².",
            "the loss is NaN": "tanh never leaves (-1, 1). The values are fine; the derivative is small.",
            "the layer after it gets no gradient": "That layer comes earlier in the backward pass. Its gradient has the factor h, which is large.",
        },
        ["little gradient gets through", "the weights before it learn slowly"],
    ),
    choice(
        "Why does a linear layer before batch norm need no bias?",
        {
            "batch norm has a bias of its own, beta": "It has, but that alone would not make the other one useless.",
            "batch norm subtracts the mean, and the bias with it": "It shifts a whole column, and that is taken away again. Its gradient is exactly 0.",
            "tanh is symmetric": "tanh comes after batch norm, and has nothing to do with it.",
        },
        "batch norm subtracts the mean, and the bias with it",
    ),
    order(
        "Put the stages of the backward pass in order.",
        ["softmax and cross-entropy", "output layer", "tanh", "batch norm", "hidden layer", "embedding"],
        why="The forward pass from behind.",
        early={
            "output layer": "It needs the gradient of the scores, which comes from the loss.",
            "tanh": "Its gradient arrives through the output layer.",
            "batch norm": "It comes before tanh in the forward pass, so after it in the backward pass.",
            "hidden layer": "Its result goes into batch norm, so the gradient comes from there.",
            "embedding": "It is the first in the forward pass, so the last in the backward pass.",
        },
    ),
)
