"""What lesson 19 asks."""

from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, times, words
from autolab.widgets.questions import choice, number, prediction, several


@draws(x=(2, 12), n=(2, 3))
def root(x=3, n=2):
    a = x**n
    return number(
        f"x{power(n)} = a, and at a = {x**n} the root is x = {x}. What is dx/da?",
        slope(lambda a: a ** (1 / n), a),
        tolerance=1e-3 / a,
        why=f"x{power(n)} = a, so {n}x{power(n - 1)} dx = da, and dx/da = 1/{n * x ** (n - 1)}.",
        wrong=[
            (n * x ** (n - 1), f"That is da/dx = {n}x{power(n - 1)}. The question is how x moves with a."),
            (1 / x ** (n - 1), f"The derivative of x{power(n)} brings down a {n}."),
            (1 / (n * a), f"That is 1/({n}a). The formula has the root x in it, not a."),
        ],
    )


@draws(k=(1, 6), x=(-4, 4))
def fold(k=3, x=-2):
    f_x = slope(lambda x: x**3 - k * x, x)
    if f_x == 0 or x == 0:
        return None
    front = "" if k == 1 else k
    return number(
        f"On the branch of x³ - {'' if k == 1 else k}x = a through x = {x}, where a = {x**3 - k * x}: what is dx/da?",
        1 / f_x,
        why=f"F_x = 3x² - {k} = {f_x:g} and F_a = -1, so dx/da = 1/{f_x:g}.",
        wrong=[
            (-1 / f_x, "The sign: F_a is -1, and the formula has another minus."),
            (f_x, "That is F_x. It belongs below the line."),
            (1 / (3 * x * x), f"The derivative of -{front}x is missing: F_x = 3x² - {k}."),
        ],
    )


memory = prediction(
    "More steps K: what happens to what is saved?",
    "unrolled it grows; implicitly it stays",
    {
        "unrolled it grows; implicitly it stays": "Each recorded step saves its x, the result of tanh. Implicitly, a and the last x are saved.",
        "both grow": "Within the custom function's forward nothing is recorded: only what it saves itself counts.",
        "both stay": "The engine cannot know that only the last x will matter. It records every step.",
    },
)


@draws(n=(10, 100))
def trainings(n=64):
    trained = [decay + side for decay in range(n) for side in (-0.1, 0.1)]
    return number(
        f"The gradient for one weight decay by central differences trains twice. How often would it train for {n} of them, one for each weight?",
        len(trained),
        why=f"Twice for each of the {n}. The implicit gradient trains once and solves one linear system.",
        wrong=[
            (n, "That would do for one-sided differences, with one more. Central ones train twice for each."),
            (2, "Each decay has to be moved for itself; moving all at once gives their sum only."),
            (n * n, "That is the number of entries of the Hessian."),
        ],
    )


@draws(more=[2, 3, 4, 5, 6, 10], order=(3, 6))
def path(more=2, order=4):
    falls = 1.0 / (1.0 / more) ** order
    return number(
        f"{times(more).capitalize()} as many steps of a method of order {order}: by which factor does the error fall?",
        round(falls, 6),
        why=f"The error is proportional to h{power(order)}, and 1/{more} of h makes it 1/{more**order}.",
        wrong=[
            (more, "That is a method of order 1, such as Euler's."),
            (more**2, f"That is a method of order 2. For order {order} it is {more}{power(order)}."),
            *(
                [
                    (
                        more ** (order - 1),
                        f"The error of one step is of order {order + 1}; more steps cost one power: {more}{power(order + 1)} / {more} = {more**order}.",
                    )
                ]
                if order > 3
                else []
            ),
        ],
    )


drift = prediction(
    "The pendulum with friction runs for a long time and is then run backwards from where it ended. Where does it arrive?",
    "far from the start, if friction is large",
    {
        "at the start, up to rounding": "Rounding and the method's error are tiny at the end, but the backward equation multiplies them.",
        "at rest": "That is where it goes forward. Backwards, friction pushes.",
        "far from the start, if friction is large": "Forward, all paths end near the same point. Which one it was can no longer be read from the digits.",
    },
)


@draws(k=(1, 6), c=[0.25, 0.5, 1, 2, 3, 4])
def sine(k=1, c=0.5):
    f_x = k + c  # cos 0 is 1
    if k == c:
        return None
    return number(
        f"{'' if k == 1 else k}x + {'' if c == 1 else f'{c:g} '}sin x = a. What is dx/da at x = 0?",
        1 / slope(lambda x: k * x + c * x.sin(), 0),
        why=f"F_x = {k} + {c:g} cos 0 = {f_x:g}, and dx/da = 1/{f_x:g}.",
        wrong=[
            (f_x, "That is F_x = da/dx. Take its inverse."),
            (1 / (k - c), "That would be for a minus in front of the sine."),
            (1 / k, "cos 0 is 1, not 0: the sine moves at full slope there."),
        ],
    )


@draws(unknowns=(2, 30), parameters=[1000, 50_000, 1_000_000])
def systems(unknowns=3, parameters=1_000_000):
    many = words(parameters)
    return choice(
        f"There are {unknowns} unknowns and {parameters:,} parameters. How many linear systems does the backward pass solve, for one loss?",
        [
            (f"one, of {unknowns} equations", "With the transpose of F_x; then one vector-Jacobian product gives all parameters."),
            (f"{many}, of {unknowns} equations", "That is forward mode: one for each parameter that moves."),
            (f"one, of {many} equations", "The system is as large as the number of unknowns."),
        ],
        f"one, of {unknowns} equations",
    )


quiz = (
    "19 implicit differentiation",
    choice(
        "What does the implicit gradient need from the solver?",
        {
            "its result": "The result, and the equation that it satisfies.",
            "its last step": "A derivative of the last step alone is one term of a series, not the gradient.",
            "all its steps": "That is what unrolling needs.",
            "its number of steps": "How it was found does not matter, nor how long it took.",
        },
        "its result",
    ),
    sine,
    several(
        "Which of these does the implicit function theorem ask for?",
        {
            "F(a, x) = 0 at the point": "Elsewhere the formula can be evaluated, and means nothing.",
            "F_x is invertible": "Otherwise dx cannot be solved for: the tangent is vertical, or branches meet.",
            "F has continuous derivatives near the point": "At a kink of F, x(a) may have a kink, too.",
            "x is the only solution": "It is unique near the point only. Elsewhere there may be others.",
            "the solver is differentiable": "The solver does not occur in the theorem.",
        },
        ["F(a, x) = 0 at the point", "F_x is invertible", "F has continuous derivatives near the point"],
    ),
    systems,
    choice(
        "gradcheck refuses an implicit gradient, and its numbers are off by about 1e-4. What is most likely?",
        {
            "the solver stops at an error of that size": "Then F is not 0, and what the program computes is not the solution that the formula speaks of.",
            "the transpose is missing": "Then the numbers would be off by much more, unless the matrix is nearly symmetric.",
            "the linear system was solved badly": "A direct solver has ten digits and more, unless F_x is nearly singular.",
        },
        "the solver stops at an error of that size",
    ),
    choice(
        "Why would one record all steps of an ODE solver although the adjoint needs no memory?",
        {
            "it is always faster": "Both go once forward and once back; recording saves one pass over the path, at most.",
            "its gradient is exact for the computed loss, and no path has to be found again": "With friction, the reversed path drifts away, and the adjoint with it.",
            "the adjoint has no parameters": "Their gradient is the integral along the path.",
        },
        "its gradient is exact for the computed loss, and no path has to be found again",
    ),
)
