"""What lesson 24 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

modulus = prediction(
    "L = x² + y² at z = x + iy = 3 + 4i. What is the gradient, written as one complex number?",
    "6 + 8i",
    {
        "6 + 8i": "The slopes are 2x = 6 and 2y = 8. They are the real and the imaginary part.",
        "3 + 4i": "That is half of it, the derivative by the conjugate of z. The slopes themselves are 2x and 2y.",
        "6 - 8i": "That is the conjugate, which JAX returns. L grows when y grows, so the slope along y is positive.",
        "10": "That is the length of the gradient. It has a direction, too.",
    },
)

wrongway = prediction(
    "L = |z - (1 + 2i)|². We step by -0.1 times the conjugate of the gradient. What becomes of z?",
    "the real part arrives, the imaginary part runs away",
    {
        "it arrives as before": "The conjugate turns the sign of one of the two slopes.",
        "the real part arrives, the imaginary part runs away": "The slope along x is followed downhill, the slope along y uphill.",
        "both run away": "The real part of a conjugate is the real part itself.",
        "the real part runs away, the imaginary part arrives": "It is the imaginary part that a conjugate turns round.",
    },
)

holomorphic = prediction(
    "For which of these does the second Wirtinger derivative, the one by the conjugate of z, vanish everywhere?",
    "z²",
    {
        "|z|²": "It is z times its conjugate, so the second derivative is z.",
        "Re z": "It is half of z plus half of its conjugate: both derivatives are 1/2.",
        "the conjugate of z": "That one is all conjugate: its first derivative vanishes, and the second is 1.",
        "z²": "There is no conjugate in it: the derivative of the calculus course says it all.",
    },
)

turned = prediction(
    "w = i z, and w receives the gradient 1. What is sent to z?",
    "-i",
    {
        "i": "That is the derivative times the gradient. One conjugate is missing: to move w to the right, z has to move down.",
        "1": "z is turned by a quarter on its way to w, and so is the gradient, back.",
        "-i": "The conjugate of the derivative i, times 1. Moving z down by h moves w = iz to the right by h.",
        "-1": "That would be turned by half a circle, which is i times i.",
    },
)

part = prediction(
    "x is a real number, y = (3 + 4i) x, and y receives 1. What does x receive?",
    3,
    why="Re((3 - 4i) · 1) = 3: x moves y along 3 + 4i, and the loss sees 3 of that.",
    wrong={
        5: "That is the modulus. What counts is the part of 3 + 4i along the gradient 1.",
        4: "That is the imaginary part; the gradient 1 says that only the real part of y moves the loss.",
        7: "The parts are not added. The gradient 1 points along the real axis.",
    },
)

unseen = prediction(
    "Square.backward returns 2 z g, without a conjugate. Which inputs show the mistake to gradcheck?",
    "complex ones only",
    {
        "real and complex ones": "A real number is its own conjugate.",
        "real ones only": "A real number is its own conjugate. Where does the rule change?",
        "complex ones only": "With real inputs 2 z g is right, so tests on real numbers pass.",
        "none": "It is wrong wherever z has an imaginary part, and finite differences see that.",
    },
)

energy = prediction(
    "X = fft(x) has 8 entries, and L is the sum of |X|². The first entry of x is 3. What is its gradient?",
    48,
    why="By Parseval L = 8 times the sum of |x|², so the slope is 8 · 2 · 3 = 48.",
    wrong={
        6: "That is the gradient of the sum of |x|². The transform of 8 points makes L 8 times as large.",
        24: "L is quadratic, so there is a factor 2 more.",
        16: "That is 2n. It is multiplied by the entry.",
    },
)

anyphase = prediction(
    "The loss has fallen below 1e-25. Is z the picture?",
    "up to one phase, the same for all pixels",
    {
        "yes, to many digits": "Could the detector tell z from iz? It sees magnitudes only.",
        "up to one phase, the same for all pixels": "Every magnitude of the detector stays as it is when all of z is turned by one angle.",
        "no: each pixel has a phase of its own": "Then the sums of the Fourier transform would differ, and so would their magnitudes.",
        "up to its sign": "That is one such turn, by half a circle. Every other angle is possible as well.",
    },
)

quiz = (
    "24 complex",
    choice(
        "`z.grad` of a complex leaf is, in PyTorch's convention and for a real loss,",
        {
            "dL/dx - i dL/dy": "That is its conjugate. `z -= lr * z.grad` would climb in the imaginary direction.",
            "the derivative of L by z": "That is half of the conjugate of the gradient.",
            "dL/dx + i dL/dy": "The two slopes, as the parts of one number: the direction in which L grows fastest.",
        },
        "dL/dx + i dL/dy",
    ),
    number(
        "L = |z|⁴ at z = i. What is the imaginary part of the gradient?",
        4,
        why="L = (x² + y²)², so dL/dy = 4 y (x² + y²) = 4, and dL/dx = 0.",
        wrong={
            2: "That is the derivative by the conjugate of z, 2 z |z|²; the gradient is twice that.",
            -4: "That is the convention with the conjugate.",
            1: "That is the loss itself at z = i.",
        },
    ),
    several(
        "Which of these are holomorphic: their second Wirtinger derivative vanishes?",
        {
            "exp(z)": "A power series in z has no conjugate in it.",
            "1/z, away from 0": "Its derivative is -1/z².",
            "|z|²": "It is z times its conjugate.",
            "a real function that is not constant": "If it depends on z, it depends on the conjugate, too: the two derivatives are conjugates.",
        },
        ["exp(z)", "1/z, away from 0"],
    ),
    choice(
        "w = a b, both complex, and w receives g. What does a receive?",
        {
            "b g": "This is right if b is real. Otherwise the direction is turned the wrong way.",
            "conj(b) g": "The conjugate of the derivative by a, times g.",
            "b conj(g)": "That is the conjugate of what a receives.",
            "Re(b g)": "a is complex, so it can move in both directions.",
        },
        "conj(b) g",
    ),
    choice(
        "What does the backward pass of `torch.fft.fft(x, norm='ortho')` compute?",
        {
            "fft(g, norm='ortho')": "The transpose of the matrix is the matrix itself, but its entries are conjugated.",
            "n · ifft(g)": "That is without norm='ortho'.",
            "ifft(g, norm='ortho')": "The matrix is unitary, so its conjugate transpose is its inverse.",
        },
        "ifft(g, norm='ortho')",
    ),
    number(
        "theta is real, w = exp(i theta) at theta = 0, and w receives 2 + 5i. What does theta receive?",
        5,
        why="dw/d theta = i w = i. Re(conj(i) (2 + 5i)) = Re(-2i + 5) = 5.",
        wrong={
            2: "At theta = 0 the point moves upwards, so it is the imaginary part of g that counts.",
            -5: "The conjugate belongs to the derivative i: Re(-i (2 + 5i)) is positive.",
            7: "The parts are not added: w moves upwards only.",
        },
    ),
    order(
        "How does the engine run the real rule of exp for complex numbers?",
        ["g arrives", "conjugate g", "multiply by the result of exp", "conjugate what came out"],
        why="Together: conj(conj(g) · out) = g · conj(out).",
        early={
            "conjugate g": "It has not arrived yet.",
            "multiply by the result of exp": "The rule sees the conjugate of g.",
            "conjugate what came out": "Nothing has come out of the rule yet.",
        },
    ),
)
