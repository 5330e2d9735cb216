"""What lesson 03 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

growth = prediction(
    "x grows from 1 to 1.001. By how much does y = (3x + 2)² grow, about?",
    0.03,
    tolerance=0.001,
    why="u grows by 0.003, and y by 2u = 10 times that: 30 times the change of x.",
    wrong={
        0.003: "That is the growth of u. The square scales it once more, by 2u = 10.",
        0.01: "That is the factor 2u = 10 alone. But u has already grown three times as much as x.",
        0.013: "10 + 3. The second factor acts on what the first has made, so they multiply.",
    },
)

dead = prediction(
    "w = 1, x = 2, b = -3, a = relu(wx + b). What is the gradient of a with respect to w?",
    0,
    why="wx + b = -1 is negative, so the last factor is 0, and 0 times x is 0.",
    wrong={
        2: "That is x, the factor of the product. The ReLU behind it contributes a factor of 0.",
        1: "The local derivative of ReLU at -1 is 0, not 1: it is flat there.",
        -2: "ReLU passes the gradient on or stops it. It never turns it round.",
    },
)

dead_deep = prediction(
    "A gradient of 1 passes through ten sigmoids, each at its steepest point, with slope 1/4. About how much of it is left?",
    9.5e-7,
    tolerance=1e-7,
    why="(1/4)¹⁰ is about one millionth. This is the vanishing gradient of deep networks.",
    wrong={
        2.5: "Ten times a quarter. Factors along a path multiply; they do not add.",
        0.025: "A quarter divided by ten. Each sigmoid takes a quarter of what is left.",
        0.25: "That is what the first of them leaves.",
        1: "Each sigmoid lets only a quarter through, and that at its steepest point.",
        0.1: "A tenth would be one factor. There are ten factors, each of them 1/4.",
    },
)

price = prediction(
    "A network has 1,000,000 parameters and one loss. Reverse mode needs one pass for the gradient. How many does forward mode need?",
    1000000,
    why="A forward pass answers for one input. The gradient has a million entries, each for another input.",
    wrong={
        1: "One pass follows one input. It says how the loss grows if that one parameter grows.",
        2: "Twice as much would be welcome. But each parameter needs its own pass.",
        2000000: "Central differences take two runs for each parameter. Forward mode is exact with one pass for each.",
        1000: "That is the square root. Each of the 1,000,000 entries needs a pass of its own.",
    },
)

association = prediction(
    "(J₃ J₂) J₁ or J₃ (J₂ J₁), with shapes (1, 1000), (1000, 1000), (1000, 1000). How many times as many multiplications does the second take, about?",
    500,
    tolerance=0.02,
    why="The first: a row times a matrix, twice, 2 · 1000². The second: a matrix times a matrix, 1000³, and then a row.",
    wrong={
        1000: "A product of two matrices takes 1000 times as many as that of a row and a matrix. But the first order has two of those.",
        1: "The result is the same, but J₂ J₁ is a whole matrix of 1000 · 1000 entries, and each takes 1000 multiplications.",
        2: "Count the entries of J₂ J₁: a million, with 1000 multiplications each.",
        1000000: "That is 1000³ over 1000. A row times a matrix takes 1000² multiplications, not 1000.",
        0.002: "The wrong way round: the second order is the expensive one.",
    },
)

kinds = prediction(
    "(f(x + h) - f(x)) / h in double precision, 16 digits. Which h comes closest to the derivative?",
    "1e-8",
    {
        "1e-3": "The error from the curvature of f is about h itself, so 1e-3 is off by roughly that much.",
        "1e-8": "A larger h is off because f is curved, a smaller one because of rounding. In between, both errors are about 1e-8.",
        "1e-15": "f(x + h) and f(x) then agree in nearly all digits, and their difference is mostly rounding error, divided by 1e-15.",
    },
)

quiz = (
    "03 chain rule",
    number(
        "y = (2x + 1)³ at x = 1. What is dy/dx?",
        54,
        why="u = 3, so the factors are 3u² = 27 and 2.",
        wrong={
            27: "That is 3u², the factor of the power. The inner 2x + 1 contributes a factor 2.",
            29: "27 + 2. Along a path, factors multiply.",
            6: "3 · 2: the power's factor is 3u², taken at u = 3.",
            18: "3u · 2: the exponent goes down by one only, from u³ to u².",
            12: "2 · 3 · 2: that would be the square of u. Here it is the third power.",
        },
    ),
    choice(
        "Why is the factor of exp in sin(exp(x²)) taken at x² and not at x?",
        {
            "because x² is larger": "Its size does not matter. What matters is which value went into exp.",
            "because the rule of exp saved its input": "It saves its result, and that is the same number either way. The question is which number went in.",
            "because x² is what exp received, and its factor says how a change there grows": "A local derivative is taken where the operation was.",
        },
        "because x² is what exp received, and its factor says how a change there grows",
    ),
    several(
        "A ReLU neuron answers 0 to every example of the data. Which of these can make it learn again?",
        {
            "a larger learning rate": "Anything times a gradient of 0 is 0.",
            "a leaky ReLU in its place": "It has slope 0.01 there, so something gets through.",
            "a change in the layer before it": "Its inputs may change so that some example opens it.",
            "more training with the same data, if it is in the first layer": "Its inputs are the data, and stay as they are: every gradient is 0.",
        },
        ["a leaky ReLU in its place", "a change in the layer before it"],
    ),
    number(
        "A function has 3 inputs and 1000 outputs. How many passes does the cheaper mode need for its Jacobian?",
        3,
        why="Forward mode: a column of 1000 numbers for each of the 3 inputs.",
        wrong={
            1000: "That is reverse mode, with a pass for each output.",
            3000: "That is the number of entries. A pass gives a whole row or column of them.",
            1: "A forward pass follows one input. There are three.",
            1003: "The two modes are not combined. Forward mode alone gives all of it.",
        },
    ),
    order(
        "Put the steps of one forward-mode derivative in order.",
        [
            "give x the tangent 1",
            "run an operation on the value",
            "multiply the tangent by the local derivative there",
            "read the tangent of the result",
        ],
        why="Value and tangent go through the program together; nothing is remembered and nothing walks back.",
        early={
            "run an operation on the value": "It would run without a tangent beside the value: x has to get its 1 before anything runs.",
            "multiply the tangent by the local derivative there": "The local derivative is taken at a value. The tangent has to exist, and the operation to have run.",
            "read the tangent of the result": "It is the result's only when every operation has multiplied its factor in.",
        },
    ),
)
