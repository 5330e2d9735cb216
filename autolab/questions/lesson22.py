"""What lesson 22 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

truth = prediction(
    "Heads pays 5, tails pays 3, p = sigmoid(theta) and theta = 0. What is the derivative of the expected payoff with respect to theta?",
    0.5,
    why="J = 5p + 3(1 - p) = 3 + 2p, and p(1 - p) = 1/4 is the slope of the sigmoid: 2 · 1/4 = 0.5.",
    wrong={
        2: "That is dJ/dp. The sigmoid's slope at 0, p(1 - p) = 1/4, is a factor more.",
        0: "Each outcome is a step, but the mean over both changes with p.",
        4: "That is J itself.",
        1: "That would be with a slope of 1/2. The sigmoid's slope at 0 is p(1 - p) = 1/4.",
    },
)

tails = prediction(
    "One toss shows tails, worth 3. What is its estimate f(x) · (x - p) of the derivative, which is 0.5?",
    -1.5,
    why="x = 0 and p = 1/2, so the score is -1/2, and 3 · (-1/2) = -1.5.",
    wrong={
        1.5: "The score of tails is negative: a larger theta makes tails less probable.",
        0.5: "That is the mean over heads and tails. No single toss shows it.",
        0: "Tails is worth 3, not 0, and its score is not 0 either.",
        -0.5: "That is the score. It is multiplied by the payoff.",
    },
)

uniform = prediction(
    "x is uniform on [0, theta], so its density is 1/theta inside. What is the mean of x · d(log density)/d theta at theta = 2?",
    -0.5,
    why="The score is -1/theta = -1/2 for every sample, and the mean of x is 1: -0.5.",
    wrong={
        0.5: "That is the derivative of J. Compute what the formula gives: the score is -1/theta.",
        -0.25: "That is -1/theta². The derivative of -log theta is -1/theta.",
        0: "The mean of a score is 0 if its conditions hold. Here it is -1/2 for every sample.",
        -1: "The score is -1/2 and the mean of x is theta/2 = 1.",
    },
)

step = prediction(
    "A step: 1 above 0, else 0. x = mu + noise is reparameterised. What does the mean slope of the step over the samples say?",
    0,
    why="Left of 0 and right of 0 the step is flat, and no sample falls on 0 itself.",
    wrong={
        0.35: "That is the density at the jump, and the truth. Slopes at the samples do not see the jump.",
        0.3521: "That is the density at the jump, and the truth. Slopes at the samples do not see the jump.",
        1: "The step rises by 1 in all, and at no sample.",
        0.6915: "That is the probability of winning, not its derivative.",
    },
)

thirty = prediction(
    "mu = sigma = 1. What is the variance of a single estimate by the score function?",
    30,
    why="1 + 18 + 15 = 34, less the square of the mean, 4.",
    wrong={
        34: "That is the second moment. The square of the mean, 2² = 4, is taken off.",
        4: "That is the variance of the reparameterised one, 4 sigma².",
        2: "That is the gradient, 2 mu.",
        38: "The square of the mean is subtracted, not added.",
    },
)

best = prediction(
    "Heads, with probability 0.9, is worth 5; tails is worth 3. The squared scores are 0.01 and 0.81. Which baseline is best?",
    3.2,
    tolerance=1e-3,
    why="(0.9 · 5 · 0.01 + 0.1 · 3 · 0.81) / (0.9 · 0.01 + 0.1 · 0.81) = 0.288 / 0.09 = 3.2.",
    wrong={
        4.8: "That is the mean payoff. The best baseline weighs the payoffs with the squared scores as well.",
        4: "That is the mean of 3 and 5, which is best for the fair coin only.",
        3: "Nearly: tails has most of the weight, but not all of it.",
        0.288: "That is E[f s²]. It is divided by E[s²] = 0.09.",
    },
)

own = prediction(
    "The baseline is the mean of the two payoffs that were drawn. What does this estimate give on average, where 0.5 is right?",
    0.25,
    why="1 - 1/n = 1/2 of the truth: when both tosses agree it is 0, else 0.5.",
    wrong={
        0.5: "That would be so for a baseline that does not contain the sample's own payoff.",
        0: "When the tosses differ, the estimate is 0.5, and they differ half of the time.",
        1: "The own mean takes something away from the estimate. It adds nothing.",
    },
)

bandit = prediction(
    "Payoffs 8, 9, 10, 8.5, 9.5, with noise. After 300 rounds, what has happened without a baseline?",
    "most players are stuck at a machine that is not the best",
    {
        "the same as with one, as the mean gradient is the same": "The mean is the same and the variance is not. With one sample a round it decides what is tried at all.",
        "most players are stuck at a machine that is not the best": "A drawn machine is raised by its whole payoff, some 9, and soon nothing else is drawn.",
        "they still draw all machines equally": "The steps are large, not small: each payoff is about 9, and all of it counts.",
        "they found the best one, only later": "To find it they would have to keep trying. One machine has taken all the probability.",
    },
)

tau = prediction(
    "As the temperature of Gumbel-softmax goes to 0, what happens to bias and spread of its gradient?",
    "the bias shrinks, the spread grows",
    {
        "both shrink": "Near 0 the softmax is nearly a step. What slope has a step where it rises?",
        "the bias shrinks, the spread grows": "It approaches the argmax, so the expectation is nearly the right one; its slopes are rare and steep.",
        "the bias grows, the spread shrinks": "That is what happens as the temperature grows: it is smooth, and another function.",
        "both grow": "The bias comes from smoothing, and there is less and less of it.",
    },
)

through = prediction(
    "f(b) = (b - 0.45)², p = 0.1. The truth is 0.09 · (f(1) - f(0)) = +0.009. What does straight-through give on average?",
    -0.063,
    tolerance=1e-2,
    why="The end slopes are f'(1) = 1.1 and f'(0) = -0.9: 0.09 · (0.1 · 1.1 - 0.9 · 0.9) = 0.09 · (-0.7) = -0.063.",
    wrong={
        0.009: "That is the truth. Straight-through averages the slopes at the outcomes, 1.1 and -0.9.",
        -0.7: "That is the mean of the end slopes. The factor p(1 - p) = 0.09 is missing.",
        0.063: "Most tosses show tails, where the slope of f is negative.",
        0.081: "That is for p = 0.9. At 0.1 most tosses show tails.",
    },
)

kl = prediction(
    "What is KL(N(1, 1) || N(0, 1))?",
    0.5,
    why="(1 + 1 - 1 - 0) / 2 = 0.5.",
    wrong={
        1: "The formula has a factor 1/2.",
        0: "It is 0 for equal distributions only. The means differ by 1.",
        -0.5: "A KL divergence is never negative.",
    },
)

ratio = prediction(
    "The score function with a baseline, against reparameterisation: how many times the variance, roughly?",
    "a thousand times",
    {
        "the same": "Both are unbiased, but eight latent numbers have to share one figure for how good the draw was.",
        "seven times": "That was x² in one dimension. It grows with the dimensions.",
        "a thousand times": "The misses differ by dozens of nats from digit to digit, and that number multiplies every score.",
        "less": "Only for functions with steep ripples. This decoder is smooth.",
    },
)

quiz = (
    "22 expectations",
    choice(
        "f is a program that calls a chess engine and returns 1 for a win. Which estimator of the gradient for the policy's parameters can be used?",
        {
            "reparameterisation": "It needs the slope of f at the sample, and a win has none.",
            "straight-through": "It needs the slope of f, too, and invents only that of the draw.",
            "the score function": "It needs the value of f, and the slope of log p only.",
        },
        "the score function",
    ),
    number(
        "One sample has variance 30. How many samples does a mean need for a standard deviation of 0.1?",
        3000,
        why="30 / n = 0.01.",
        wrong={
            300: "The standard deviation is the root of the variance: 30 / n = 0.1² = 0.01.",
            55: "That is the root of 3000. The variance falls as 1/n, the deviation as one over the root.",
            30: "That makes the variance 1.",
        },
    ),
    several(
        "Which of these may be a baseline without bias?",
        {
            "the running mean of earlier payoffs": "They were known before this draw.",
            "a network's guess of f from the state before the draw": "It does not see the draw.",
            "the mean payoff of the batch, this sample included": "It depends on this sample: what comes out is 1 - 1/n of the gradient.",
            "a network's guess of f from the state and the draw": "It depends on the draw, so its mean times the score is not 0. It would have to be added back.",
        },
        ["the running mean of earlier payoffs", "a network's guess of f from the state before the draw"],
    ),
    choice(
        "Which of these breaks the score function (its mean is wrong)?",
        {
            "f has a jump": "f is never differentiated.",
            "the density is positive on an interval whose end is the parameter": "At a fixed x the density jumps as the end passes it, and the flow through the end is missing.",
            "there are infinitely many outcomes": "A mean over samples does not mind.",
            "f is negative": "The sign of f is no condition. It only matters for the variance.",
        },
        "the density is positive on an interval whose end is the parameter",
    ),
    number(
        "A control variate has correlation 0.8 with the estimator. Which part of the variance is left at best?",
        0.36,
        why="1 - 0.8² = 0.36.",
        wrong={
            0.2: "That is 1 - 0.8. The correlation is squared.",
            0.64: "That is the part that goes away.",
            0.6: "That is the part of the standard deviation that is left, the root of 0.36.",
        },
    ),
    choice(
        "For which f is straight-through unbiased, whatever p is?",
        {
            "for a parabola": "Only at one p. The two end slopes are weighted by p, the integral is not.",
            "for none": "If all slopes between 0 and 1 are equal, any weighted mean of them is right.",
            "for a straight line": "Its slope is the same everywhere, so f'(0) = f'(1) = f(1) - f(0).",
        },
        "for a straight line",
    ),
    order(
        "One step of training a variational autoencoder:",
        ["encode: mu and log-variance", "draw noise, z = mu + sigma · noise", "decode z", "negative ELBO: miss + KL", "backward, step"],
        why="The noise enters after the encoder, so that slopes pass through z into mu and sigma.",
        early={
            "draw noise, z = mu + sigma · noise": "mu and sigma are what the encoder gives.",
            "decode z": "There is no z yet.",
            "negative ELBO: miss + KL": "The miss compares the decoded pixels with the digit.",
            "backward, step": "Backward begins at the loss.",
        },
    ),
)
