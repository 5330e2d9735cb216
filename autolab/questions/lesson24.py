"""What lesson 24 asks."""

import math

import autolab as torch
from autolab.questions.drawn import draws
from autolab.widgets.questions import choice, number, order, prediction, several


def complex_gradient(f, z):
    """The gradient of a real f at a complex z."""
    leaf = torch.tensor(complex(z), dtype=torch.complex128, requires_grad=True)
    f(leaf).backward()
    return complex(leaf.grad.item())


@draws(x=(1, 9), y=(1, 9))
def modulus(x=3, y=4):
    g = complex_gradient(lambda z: z.abs() ** 2, complex(x, y))
    right = f"{g.real:g} + {g.imag:g}i"
    return prediction(
        f"L = x² + y² at z = x + iy = {x} + {y}i. What is the gradient, written as one complex number?",
        right,
        [
            (right, f"The slopes are 2x = {2 * x} and 2y = {2 * y}. They are the real and the imaginary part."),
            (f"{x} + {y}i", "That is half of it, the derivative by the conjugate of z. The slopes themselves are 2x and 2y."),
            (f"{2 * x} - {2 * y}i", "That is the conjugate, which JAX returns. L grows when y grows, so the slope along y is positive."),
            (f"{abs(g):.3g}", "That is the length of the gradient. It has a direction, too."),
        ],
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


@draws(a=(2, 9), b=(1, 9))
def part(a=3, b=4):
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    (x * complex(a, b)).backward(gradient=torch.tensor(1 + 0j, dtype=torch.complex128))
    return number(
        f"x is a real number, y = ({a} + {b}i) x, and y receives 1. What does x receive?",
        x.grad.item(),
        why=f"Re(({a} - {b}i) · 1) = {a}: x moves y along {a} + {b}i, and the loss sees {a} of that.",
        wrong=[
            (math.hypot(a, b), f"That is the modulus. What counts is the part of {a} + {b}i along the gradient 1."),
            (b, "That is the imaginary part; the gradient 1 says that only the real part of y moves the loss."),
            (a + b, "The parts are not added. The gradient 1 points along the real axis."),
        ],
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


@draws(n=[4, 5, 6, 8, 10, 16], first=(2, 9))
def energy(n=8, first=3):
    x = torch.tensor([float(first)] + [1.0] * (n - 1), dtype=torch.float64, requires_grad=True)
    (torch.fft.fft(x).abs() ** 2).sum().backward()
    return number(
        f"X = fft(x) has {n} entries, and L is the sum of |X|². The first entry of x is {first}. What is its gradient?",
        float(f"{x.grad[0].item():.9g}"),
        why=f"By Parseval L = {n} times the sum of |x|², so the slope is {n} · 2 · {first} = {2 * n * first}.",
        wrong=[
            (2 * first, f"That is the gradient of the sum of |x|². The transform of {n} points makes L {n} times as large."),
            (n * first, "L is quadratic, so there is a factor 2 more."),
            (2 * n, "That is 2n. It is multiplied by the entry."),
        ],
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


@draws(x=(0, 6), y=(1, 7))
def fourth(x=0, y=1):
    g = complex_gradient(lambda z: z.abs() ** 4, complex(x, y))
    square = x * x + y * y
    return number(
        f"L = |z|⁴ at z = {f'{x} + ' if x else ''}{'' if y == 1 else y}i. What is the imaginary part of the gradient?",
        float(f"{g.imag:.9g}"),
        why=f"L = (x² + y²)², so dL/dy = 4 y (x² + y²) = 4 · {y} · {square}" + (f", and dL/dx = {g.real:g}." if x else ", and dL/dx = 0."),
        wrong=[
            (2 * y * square, "That is of the derivative by the conjugate of z, 2 z |z|²; the gradient is twice that."),
            (-4 * y * square, "That is the convention with the conjugate."),
            (square**2, "That is the loss itself."),
            *([(4 * x * square, "That is the real part.")] if x else []),
        ],
    )


@draws(a=(1, 9), b=(1, 9))
def circle(a=2, b=5):
    theta = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    torch.exp(1j * theta).backward(gradient=torch.tensor(complex(a, b), dtype=torch.complex128))
    return number(
        f"theta is real, w = exp(i theta) at theta = 0, and w receives {a} + {b}i. What does theta receive?",
        theta.grad.item(),
        why=f"dw/d theta = i w = i. Re(conj(i) ({a} + {b}i)) = Re(-{a}i + {b}) = {b}.",
        wrong=[
            (a, "At theta = 0 the point moves upwards, so it is the imaginary part of g that counts."),
            (-b, f"The conjugate belongs to the derivative i: Re(-i ({a} + {b}i)) is positive."),
            (a + b, "The parts are not added: w moves upwards only."),
        ],
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
    fourth,
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
    circle,
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
