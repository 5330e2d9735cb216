"""What lesson 16 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several, shape

three = prediction(
    "To the three letters that came, a model gave the probabilities 1/2, 1/4 and 1/8. What is its loss, the mean of -log p?",
    1.3863,
    tolerance=2e-3,
    why="log 2 + log 4 + log 8 = 6 log 2, and a third of it is 2 log 2 = 1.3863.",
    wrong={
        1.2321: "That is -log of the mean probability, 7/24. The loss is the mean of the logarithms.",
        4.1589: "That is the sum over the three letters. The loss is the mean.",
        2: "That is in bits, with the base-2 logarithm. The loss takes the natural one.",
        0.2917: "That is the mean probability, without a logarithm.",
    },
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

pull = prediction(
    "W is 0. After a comes b three times and c once. What is the gradient of the mean loss for W[a, b]?",
    -0.4167,
    tolerance=2e-3,
    why="The softmax gives b 1/3, and its share is 3/4: 1/3 - 3/4 = -0.4167. Gradient descent raises the score.",
    wrong={
        0.4167: "The gradient is probability minus target. Here the probability is too small, so it is negative.",
        -0.6667: "That is 1/3 - 1, for a row in which b came. In one of the four rows c came, and there it is +1/3.",
        -1.6667: "That is the sum over the four pairs. The loss is their mean.",
        -0.75: "That is minus the share of b. The softmax's 1/3 is added.",
        0.3333: "That is the entry of W[a, a], which is never the target.",
    },
)

rows = prediction(
    "A table for contexts of four letters, of 69 kinds: how many rows?",
    22667121,
    why="69 · 69 · 69 · 69: any of 69 kinds at each of the four places.",
    wrong={
        276: "4 · 69 would count places and letters. Each combination of four letters needs a row.",
        328509: "That is 69³, for contexts of three letters.",
        1564031349: "That is the number of entries: each row has 69 of them.",
        4761: "That is the number of entries of the table of pairs.",
    },
)

start = prediction(
    "Which first loss shows that a network for 69 letters starts without any opinion?",
    4.2341,
    tolerance=3e-3,
    why="Equal probabilities, 1/69 each: -log(1/69) = log 69 = 4.2341.",
    wrong={
        0: "A loss of 0 would mean certainty about the right letter.",
        3.13: "That would need to know how frequent each letter is. Before training, the network does not.",
        2.4: "That is the table of pairs. Before training, the network has seen nothing.",
        1.8388: "That is the base-10 logarithm of 69. The loss takes the natural one.",
    },
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

quiz = (
    "16 from counts to a network",
    number(
        "The loss is 2.0794 (natural logarithm). What is the perplexity?",
        8,
        why="e to the 2.0794 is 8: as uncertain as an even choice among 8 letters.",
        tolerance=1e-3,
        wrong={
            4.2266: "That is 2 to the 2.0794. The loss has the natural logarithm.",
            0.125: "That is the probability, e to the minus loss. Perplexity is its inverse.",
            2.0794: "That is the loss itself. Perplexity is e to that power.",
        },
    ),
    choice(
        "Softmax regression on one letter is trained for ever. Can its loss on the known text fall below that of the unsmoothed table of counts?",
        {
            "no": "The gradient is 0 exactly where the softmax is the table, and the loss is convex: there is nothing below.",
            "yes, it generalises": "It sees the same single letter. Generalising is about new text, and needs something that contexts share.",
            "yes, with a better optimizer": "An optimizer gets to the minimum sooner. The minimum is the table.",
        },
        "no",
    ),
    shape(
        "C has shape (69, 10), x has shape (64, 4). Shape of C[x].flatten(1):",
        (64, 40),
        why="C[x] has shape (64, 4, 10), and flatten(1) joins the last two.",
        wrong={
            (64, 4, 10): "That is C[x]. flatten(1) joins the last two dimensions.",
            (256, 10): "That is flatten(0, 1). The batch of 64 stays in front.",
            (64, 4): "That is x. Each of its letters is replaced by 10 numbers.",
            (40, 64): "The batch comes first.",
        },
    ),
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
