"""What lesson 19 asks."""

from autolab.widgets.questions import choice, number, prediction, several

root = prediction(
    "At a = 9 the root is x = 3. What is dx/da?",
    1 / 6,
    why="x² = a, so 2x dx = da, and dx/da = 1/(2 · 3) = 1/6.",
    wrong={
        6: "That is da/dx = 2x. The question is how x moves with a.",
        1 / 3: "The derivative of x² brings down a 2.",
        1 / 18: "That is 1/(2a). The formula has the root x in it, not a.",
    },
)

fold = prediction(
    "On the lower branch of x³ - 3x = a, at x = -2, so a = -2: what is dx/da?",
    1 / 9,
    why="F_x = 3x² - 3 = 9 and F_a = -1, so dx/da = 1/9.",
    wrong={
        -1 / 9: "The sign: F_a is -1, and the formula has another minus.",
        9: "That is F_x. It belongs below the line.",
        1 / 12: "The derivative of -3x is missing: F_x = 3x² - 3.",
    },
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

trainings = prediction(
    "The gradient for one weight decay by central differences trains twice. How often would it train for 64 of them, one for each weight?",
    128,
    why="Twice for each of the 64. The implicit gradient trains once and solves one linear system.",
    wrong={
        64: "That would do for one-sided differences, with one more. Central ones train twice for each.",
        2: "Each decay has to be moved for itself; moving all at once gives their sum only.",
        4096: "That is the number of entries of the Hessian.",
    },
)

path = prediction(
    "Twice as many steps of a method of order 4: by which factor does the error fall?",
    16,
    why="The error is proportional to h⁴, and half of h makes it a sixteenth.",
    wrong={
        2: "That is a method of order 1, such as Euler's.",
        4: "That is a method of order 2. For order 4 it is 2⁴.",
        8: "The error of one step is of order 5; twice as many steps cost one power: 2⁵ / 2 = 16.",
    },
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
    number(
        "x + 0.5 sin x = a. What is dx/da at x = 0?",
        2 / 3,
        why="F_x = 1 + 0.5 cos 0 = 1.5, and dx/da = 1/1.5.",
        wrong={
            1.5: "That is F_x = da/dx. Take its inverse.",
            2: "That would be for x - 0.5 sin x.",
            1: "cos 0 is 1, not 0: the sine moves at full slope there.",
        },
    ),
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
    choice(
        "There are 3 unknowns and 1,000,000 parameters. How many linear systems does the backward pass solve, for one loss?",
        {
            "one, of 3 equations": "With the transpose of F_x; then one vector-Jacobian product gives all parameters.",
            "a million, of 3 equations": "That is forward mode: one for each parameter that moves.",
            "one, of a million equations": "The system is as large as the number of unknowns.",
        },
        "one, of 3 equations",
    ),
    choice(
        "gradcheck refuses an implicit gradient, and its numbers are off by about 1e-4. What is most likely?",
        {
            "the solver stops at an error of about 1e-4": "Then F is not 0, and what the program computes is not the solution that the formula speaks of.",
            "the transpose is missing": "Then the numbers would be off by much more, unless the matrix is nearly symmetric.",
            "the linear system was solved badly": "A direct solver has ten digits and more, unless F_x is nearly singular.",
        },
        "the solver stops at an error of about 1e-4",
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
