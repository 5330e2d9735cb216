"""What lesson 22 asks."""

import math

import autolab as torch
from autolab import distributions
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import signed, words
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(a=(2, 15), b=(1, 9))
def truth(a=5, b=3):
    if a <= b:
        return None
    return number(
        f"Heads pays {a}, tails pays {b}, p = sigmoid(theta) and theta = 0. What is the derivative of the expected payoff with respect to theta?",
        slope(lambda theta: a * theta.sigmoid() + b * (1 - theta.sigmoid()), 0),
        why=f"J = {a}p + {b}(1 - p) = {b} + {'' if a - b == 1 else a - b}p, and p(1 - p) = 1/4 is the slope of the sigmoid: {a - b} · 1/4 = {(a - b) / 4:g}.",
        wrong=[
            (a - b, "That is dJ/dp. The sigmoid's slope at 0, p(1 - p) = 1/4, is a factor more."),
            (0, "Each outcome is a step, but the mean over both changes with p."),
            ((a + b) / 2, "That is J itself."),
            ((a - b) / 2, "That would be with a slope of 1/2. The sigmoid's slope at 0 is p(1 - p) = 1/4."),
        ],
    )


@draws(a=(2, 12), b=(2, 12), x=[0, 1])
def tails(a=5, b=3, x=0):
    f, side = (a, "heads") if x else (b, "tails")
    score = slope(lambda theta: distributions.Bernoulli(logits=theta).log_prob(torch.tensor(float(x))), 0)
    if a <= b:
        return None
    return number(
        f"Heads pays {a}, tails pays {b}, and p = 1/2. One toss shows {'heads' if x else 'tails'}. What is its estimate f(x) · (x - p) of the derivative, which is {(a - b) / 4:g}?",
        f * score,
        why=f"x = {x} and p = 1/2, so the score is {'' if x else '-'}1/2, and {f} · {signed(score)} = {f * score:g}.",
        wrong=[
            (
                -f * score,
                f"The score of {side} is {'positive' if x else 'negative'}: a larger theta makes {side} {'more' if x else 'less'} probable.",
            ),
            ((a - b) / 4, "That is the mean over heads and tails. No single toss shows it."),
            (0, f"{side.capitalize()} is worth {f}, not 0, and its score is not 0 either."),
            (score, "That is the score. It is multiplied by the payoff."),
        ],
    )


@draws(c=(1, 9), theta=(2, 5))
def uniform(c=1, theta=2):
    score = slope(lambda theta: -theta.log(), theta)
    mean = c * theta / 2
    return number(
        f"x is uniform on [0, theta], so its density is 1/theta inside. What is the mean of {f'{c}x' if c > 1 else 'x'} · d(log density)/d theta at theta = {theta}?",
        mean * score,
        why=f"The score is -1/theta = -1/{theta} for every sample, and the mean of {f'{c}x' if c > 1 else 'x'} is {mean:g}: {mean * score:g}.",
        wrong=[
            (c / 2, "That is the derivative of J. Compute what the formula gives: the score is -1/theta."),
            (-mean / theta**2, "The derivative of -log theta is -1/theta, not -1/theta²."),
            (0, f"The mean of a score is 0 if its conditions hold. Here it is -1/{theta} for every sample."),
            (-c, f"The score is -1/{theta} and the mean of x is theta/2 = {theta / 2:g}."),
        ],
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


@draws(mu=(1, 12), sigma=(1, 3))
def thirty(mu=1, sigma=1):
    moment = mu**4 / sigma**2 + 18 * mu**2 + 15 * sigma**2
    mean = slope(lambda mu: mu**2 + sigma**2, mu)
    if mu**4 % sigma**2:
        return None
    return number(
        f"For x² and a normal x with mu = {mu} and sigma = {sigma}, the mean square of an estimate by the score function is mu⁴/sigma² + 18 mu² + 15 sigma², and its mean is 2 mu. What is the variance of a single estimate?",
        moment - mean**2,
        why=f"{mu**4 / sigma**2:g} + {18 * mu**2} + {15 * sigma**2} = {moment:g}, less the square of the mean, {mean**2:g}.",
        wrong=[
            (moment, f"That is the second moment. The square of the mean, {mean:g}² = {mean**2:g}, is taken off."),
            (4 * sigma**2, "That is the variance of the reparameterised one, 4 sigma²."),
            (mean, "That is the gradient, 2 mu."),
            (moment + mean**2, "The square of the mean is subtracted, not added."),
        ],
    )


@draws(p=[0.6, 0.7, 0.75, 0.8, 0.9], a=(4, 9), b=(1, 6))
def best(p=0.9, a=5, b=3):
    heads, tails = (
        slope(lambda theta, x=x: distributions.Bernoulli(logits=theta).log_prob(torch.tensor(x)), math.log(p / (1 - p))) ** 2
        for x in (1.0, 0.0)
    )
    weighted, squared = p * a * heads + (1 - p) * b * tails, p * heads + (1 - p) * tails
    if a <= b:
        return None
    return number(
        f"Heads, with probability {p}, is worth {a}; tails is worth {b}. The squared scores are {(1 - p) ** 2:.4g} and {p * p:.4g}. Which baseline is best?",
        float(f"{weighted / squared:.9g}"),
        tolerance=1e-3,
        why=f"({p} · {a} · {heads:.4g} + {1 - p:.4g} · {b} · {tails:.4g}) / ({p} · {heads:.4g} + {1 - p:.4g} · {tails:.4g}) = {weighted:.4g} / {squared:.4g} = {weighted / squared:.4g}.",
        wrong=[
            (p * a + (1 - p) * b, "That is the mean payoff. The best baseline weighs the payoffs with the squared scores as well."),
            ((a + b) / 2, f"That is the mean of {b} and {a}, which is best for the fair coin only."),
            (b, "Nearly: tails has most of the weight, but not all of it."),
            (weighted, f"That is E[f s²]. It is divided by E[s²] = {squared:.4g}."),
        ],
    )


@draws(n=(2, 5), right=[0.2, 0.5, 0.6, 1, 1.2, 2, 3])
def own(n=2, right=0.5):
    return number(
        f"The baseline is the mean of the {words(n)} payoffs that were drawn. What does this estimate give on average, where {right} is right?",
        right * (1 - 1 / n),
        why=f"1 - 1/n = {n - 1}/{n} of the truth: a toss's own payoff is 1/{n} of its baseline.",
        wrong=[
            (right, "That would be so for a baseline that does not contain the sample's own payoff."),
            (0, "The own payoff is only a part of the mean, so something is left."),
            (2 * right, "The own mean takes something away from the estimate. It adds nothing."),
        ],
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


@draws(c=[0.1, 0.2, 0.25, 0.3, 0.4, 0.45, 0.6, 0.7], p=[0.1, 0.2, 0.3, 0.8, 0.9])
def through(c=0.45, p=0.1):
    one, zero = (slope(lambda b: (b - c) ** 2, b) for b in (1, 0))
    weight = p * (1 - p)
    truth = weight * ((1 - c) ** 2 - c**2)
    mean = p * one + (1 - p) * zero
    return number(
        f"f(b) = (b - {c})², p = {p}. The truth is {p * (1 - p):.2g} · (f(1) - f(0)) = {p * (1 - p) * ((1 - c) ** 2 - c * c):+.3g}. What does straight-through give on average?",
        weight * mean,
        tolerance=3e-3,
        why=f"The end slopes are f'(1) = {one:.4g} and f'(0) = {zero:.4g}: {weight:.2g} · ({p} · {one:.4g} + {1 - p:.2g} · {signed(zero)}) = {weight:.2g} · {signed(round(mean, 9))} = {weight * mean:.4g}.",
        wrong=[
            (truth, f"That is the truth. Straight-through averages the slopes at the outcomes, {one:.4g} and {zero:.4g}."),
            (mean, f"That is the mean of the end slopes. The factor p(1 - p) = {weight:.2g} is missing."),
            (-weight * mean, f"The sign: the slope at tails, {zero:.4g}, counts {1 - p:.2g}, that at heads {p}."),
            (weight * ((1 - p) * one + p * zero), f"That is for p = {1 - p:.2g}: the weights of the two slopes are exchanged."),
        ],
    )


@draws(m=(1, 9), b=(0, 6))
def kl(m=1, b=0):
    d = m - b
    if d == 0:
        return None
    return number(
        f"What is KL(N({m}, 1) || N({b}, 1))?",
        distributions.kl_divergence(distributions.Normal(float(m), 1.0), distributions.Normal(float(b), 1.0)).item(),
        why=f"({d * d} + 1 - 1 - 0) / 2 = {d * d / 2:g}.",
        wrong=[
            (d * d, "The formula has a factor 1/2."),
            (0, f"It is 0 for equal distributions only. The means differ by {abs(d)}."),
            (-d * d / 2, "A KL divergence is never negative."),
        ],
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


@draws(variance=(2, 40), part=[0.1, 0.2, 0.5])
def samples(variance=30, part=0.1):
    n = round(variance / part**2)
    return number(
        f"One sample has variance {variance}. How many samples does a mean need for a standard deviation of {part}?",
        n,
        why=f"{variance} / n = {part**2:.2g}.",
        wrong=[
            (variance / part, f"The standard deviation is the root of the variance: {variance} / n = {part}² = {part**2:.2g}."),
            (round(n**0.5), f"That is the root of {n}. The variance falls as 1/n, the deviation as one over the root."),
            (variance, "That makes the variance 1."),
        ],
    )


@draws(r=[0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.96, 0.98, 0.99, 0.28])
def correlated(r=0.8):
    x, y = torch.tensor([1.0, 0.0], dtype=torch.float64), torch.tensor([r, math.sqrt(1 - r * r)], dtype=torch.float64)
    left = y - (x @ y) * x  # of two vectors at this angle, what the first cannot explain of the second
    return number(
        f"A control variate has correlation {r} with the estimator. Which part of the variance is left at best?",
        (left @ left).item(),
        why=f"1 - {r}² = {1 - r * r:.4g}.",
        wrong=[
            (1 - r, f"That is 1 - {r}. The correlation is squared."),
            (r * r, "That is the part that goes away."),
            (math.sqrt(1 - r * r), f"That is the part of the standard deviation that is left, the root of {1 - r * r:.4g}."),
        ],
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
    samples,
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
    correlated,
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
