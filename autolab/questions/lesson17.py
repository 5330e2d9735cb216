"""What lesson 17 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several, shape

third = prediction(
    "The vectors are (2, 0), (4, 2), (9, 1), (1, 5). What is the first number of the mean at the third place?",
    5,
    why="(2 + 4 + 9) / 3: the third place sees itself and the two before it.",
    wrong={
        4: "That is the mean over all four places. The fourth comes later.",
        3: "That is the mean of the first two. A place also sees itself.",
        9: "That is the third vector alone. The mean includes those before it.",
        15: "That is the sum. A mean divides by 3.",
    },
)

weight = prediction(
    "What weight does the second place get?",
    0.75,
    why="The scores are 0 and log 3, so the weights are in the ratio 1 to 3.",
    wrong={
        0.25: "That is the weight of the first place, whose score is 0.",
        1.0986: "That is the score, log 3. The softmax makes a weight of it.",
        0.5: "The scores differ: 0 and log 3.",
        3: "That is e to the score. The softmax divides by the sum, 1 + 3.",
    },
)

future = prediction(
    "The loss is the sum of row 1 of the result (the second row). For which places is the gradient of V not 0?",
    "0 and 1",
    {
        "1 only": "Place 1 also looks at place 0, and takes its value with a weight.",
        "0 and 1": "Place 1 sees itself and place 0. What comes later has weight 0.",
        "all four": "Places 2 and 3 have score minus infinity, so their weight is exactly 0.",
    },
)

spread = prediction(
    "d = 64, and all entries of q and k have mean 0 and standard deviation 1. What is the standard deviation of q · k?",
    8,
    why="Each product has variance 1, the 64 variances add up to 64, and the root of that is 8.",
    wrong={
        64: "That is the variance. The standard deviation is its root.",
        1: "That is so for one product. 64 of them are added.",
        4096: "Variances add up: 64 times 1, and not the square of it.",
    },
)

size = prediction(
    "x has shape (16, 64, 48), and there are 4 heads. Which shape have the weights?",
    (16, 4, 64, 64),
    why="For each piece and each head, a row for each place that looks and a column for each place that is looked at.",
    wrong={
        (16, 4, 64, 12): "That is the shape of the queries of the heads. A weight belongs to two places.",
        (16, 64, 64): "Each of the four heads has weights of its own.",
        (16, 4, 12, 12): "12 is the number of features of a head. The weights are between places.",
        (4, 64, 64): "Each of the 16 pieces has its own weights.",
    },
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

temperature = prediction(
    "Two letters have the scores 2 and 0. At temperature 2, what is the probability of the first?",
    0.7311,
    tolerance=2e-3,
    why="The scores become 1 and 0, and e / (e + 1) = 0.7311.",
    wrong={
        0.8808: "That is at temperature 1: e² / (e² + 1).",
        0.982: "That is at temperature 0.5, where the scores become 4 and 0.",
        0.5: "The scores move closer together, and only an infinite temperature makes them equal.",
        1: "2 / 2 is the new score. The softmax makes a probability of it.",
    },
)

quiz = (
    "17 attention",
    number(
        "A place has the scores 1, 1, 1 and, for a later place, minus infinity. What weight does the first place get?",
        1 / 3,
        tolerance=5e-3,
        why="The later place gets 0, and the other three are equal.",
        wrong={
            0.25: "The later place gets no weight: e to minus infinity is 0.",
            1: "Three places share the weight.",
            2.7183: "That is e to the score. The softmax divides by the sum.",
        },
    ),
    choice(
        "The mask is forgotten while training. What happens?",
        {
            "the loss on known and new text becomes very small, and the model writes nonsense": "Each place can look at the letter that it has to predict. When it writes, that letter is not there yet.",
            "the loss becomes NaN": "All scores are finite, and nothing is divided by 0.",
            "it trains as before, only slower": "It would see the answer. That is no small change.",
        },
        "the loss on known and new text becomes very small, and the model writes nonsense",
    ),
    number(
        "d = 48 is split among 4 heads. By what are the scores of a head divided?",
        12**0.5,
        tolerance=2e-3,
        why="Each head has queries and keys of 12 numbers, so √12 = 3.464.",
        wrong={
            6.9282: "That is √48. A head's product has 12 terms.",
            12: "That is the number of terms. Their sum's standard deviation is the root of it.",
            4: "That is the number of heads, which the scores do not depend on.",
        },
    ),
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
    shape(
        "The model gets x of shape (2, 10). Shape of its scores:",
        (2, 10, 69),
        why="For each of the 10 places of both pieces, a score for each of the 69 letters.",
        wrong={
            (2, 69): "It predicts at every place, not only at the last.",
            (2, 10, 48): "That is the residual stream. The last matrix makes 69 scores of it.",
            (2, 64, 69): "It takes as many places as there are, up to 64.",
        },
    ),
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
