"""What lesson 18 asks."""

import autolab as torch
from autolab.questions.drawn import draws
from autolab.utils.wording import words
from autolab.widgets.questions import choice, number, order, prediction, several, shape


@draws(n=[4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 200, 300, 400, 500, 1000])
def entries(n=100):
    return number(
        f"How many derivatives has the inverse of a {n} × {n} matrix, entry by entry?",
        n**4,
        why=f"{n * n:,} entries of the result, each with {n * n:,} derivatives: {n} to the fourth power.",
        wrong=[
            (n * n, "That is the number of entries of the matrix. Each entry of the result depends on all of them."),
            (n**3, f"That is {n} cubed, about the work of inverting. Results and inputs have {n * n:,} entries each."),
            (n, f"That is the number of rows. Count entries: {n * n:,} in, {n * n:,} out."),
        ],
    )


square = prediction(
    "F(A) = A A. What is dF?",
    "dA A + A dA",
    {
        "2 A dA": "That would need dA A = A dA. Two matrices rarely commute.",
        "dA A + A dA": "The product rule with the order kept: once the first factor moves, once the second.",
        "2 dA": "A factor A is missing: what moves is multiplied by what stays.",
        "dA dA": "That is the part of second order, which is left out.",
    },
)

trace = prediction(
    "B has shape (2, 4), C (2, 3) and D (3, 4). Which is the same number as the inner product of B and C D?",
    "the inner product of Cᵀ B and D",
    {
        "the inner product of B Cᵀ and D": "B Cᵀ does not exist: (2, 4) times (3, 2).",
        "the inner product of C B and D": "C B does not exist: (2, 3) times (2, 4). A transpose is missing.",
        "the inner product of Cᵀ B and D": "Cᵀ B has shape (3, 4), as D has: in the sum over all three indices, the one over the rows is done first.",
    },
)


@draws(p=[2, 4, 5, 8, 10, 20], q=[2, 4, 5, 8, 10, 20])
def inverse(p=2, q=4):
    matrix = torch.diag(torch.tensor([float(p), float(q)], dtype=torch.float64)).requires_grad_()
    torch.linalg.inv(matrix).sum().backward()
    if p == q:
        return None
    return number(
        f"A is diagonal, with {p} and {q}. The loss is the sum of all entries of its inverse. What is the gradient of the entry in row 0, column 1?",
        matrix.grad[0, 1].item(),
        why=f"The gradient of the result is 1 everywhere, so the entry is -(1/{p}) · 1 · (1/{q}).",
        wrong=[
            (0, "The inverse has a 0 there. But if the entry of A moves, the 0 moves, too."),
            (1 / (p * q), "The sign: a larger A has a smaller inverse, dB = -B dA B."),
            (-1 / q**2, f"That is the entry for the {q} on the diagonal, -(1/{q}) · (1/{q})."),
            (-1 / p**2, f"That is the entry for the {p} on the diagonal, -(1/{p}) · (1/{p})."),
        ],
    )


@draws(n=(2, 9), m=(2, 9))
def solve(n=3, m=2):
    return number(
        f"A is {n} × {n} and B is {n} × {m}. How many linear systems of {n} unknowns does the backward rule of solve(A, B) need?",
        torch.linalg.solve(torch.eye(n), torch.ones(n, m)).shape[1],  # a system for each column of what arrives
        why="One for each column of X_bar, all with the matrix Aᵀ. A_bar is then a product.",
        wrong=[
            (2 * m, f"{words(m).capitalize()} for B_bar. A_bar is made from it by a product, without solving."),
            (1, f"One matrix Aᵀ, but X_bar has {words(m)} columns."),
            (n * n, f"There are {n * n} entries of A, but one product gives all of their gradients."),
            (0, "The gradient comes back through the inverse, so a system has to be solved."),
        ],
    )


@draws(a=(1, 6), b=(1, 3), d=(1, 8))
def logdet(a=2, b=1, d=3):
    det = a * d - b * b
    if not 2 <= det <= 20:
        return None
    matrix = torch.tensor([[a, b], [b, d]], dtype=torch.float64, requires_grad=True)
    torch.logdet(matrix).backward()
    return number(
        f"A has the rows ({a}, {b}) and ({b}, {d}), so its determinant is {a * d - b * b}. What is the gradient of log det A for the entry in row 0, column 1?",
        matrix.grad[0, 1].item(),
        why=f"The inverse of A has the rows ({d}, {-b}) and ({-b}, {a}), divided by {det}. Its transpose has {-b}/{det} there.",
        wrong=[
            (-b, f"That is the gradient of det A. The logarithm divides it by det A = {det}."),
            (b / det, f"The sign: the determinant is {a} · {d} - {b} · {b}, so it falls when the entry grows."),
            (b, "That is the entry of A itself."),
            (-2 * b / det, "That counts both entries off the diagonal. This entry moves alone."),
        ],
    )


triangle = prediction(
    "LAPACK reads the lower triangle only. The entry below the diagonal moves alone, and a difference quotient is taken. How does it compare with the engine's gradient for this entry?",
    "it is twice as large",
    {
        "it is the same": "For a code that reads this entry for both, moving it means moving both. The engine's number is for one of the two.",
        "it is half as large": "The other way round: the engine shares the effect of the pair between its two entries.",
        "it is twice as large": "The code takes the entry for both. The engine gives half of that to each of the two.",
    },
)

degenerate = prediction(
    "At A = I, the largest eigenvalue has a subgradient only. What does it do if both entries off the diagonal move by t?",
    "it rises for either sign of t",
    {
        "it rises with t": "For negative t, the other eigenvalue, 1 - t, is the largest.",
        "it rises for either sign of t": "The eigenvalues are 1 + t and 1 - t, and the largest is 1 + |t|.",
        "it does not move": "That is what the rule will say if the eigenvectors are (1, 0) and (0, 1). The eigenvalues are 1 + t and 1 - t.",
    },
)


@draws(m=(2, 9), n=(2, 9))
def bar(m=3, n=5):
    a = torch.ones(m, n, requires_grad=True)
    (a * a).sum().backward()
    if m == n:
        return None
    return shape(
        f"A has shape ({m}, {n}), and the loss is one number. Shape of A_bar:",
        tuple(a.grad.shape),
        why="A number for each entry, kept where the entry is.",
        wrong=[
            ((n, m), "Some books write the derivative of a number transposed. In a library the gradient has the shape of its input."),
            ((m * n,), "That is the gradient as a vector. The matrix keeps its shape."),
            ((m * n, m * n), f"That would be the second derivative, or the Jacobian of a function from {m * n} to {m * n} entries."),
        ],
    )


@draws(n=(2, 9), det=(2, 9), step=[0.001, 0.01])
def determinant(n=4, det=3, step=0.001):
    a = torch.eye(n, dtype=torch.float64)
    a[0, 0] = det
    a.requires_grad_()
    torch.linalg.det(a).backward()
    right = step * (a.grad * a.detach()).sum().item()
    return number(
        f"A is {n} × {n} and det A = {det}. To first order, by how much does det A grow if A grows by {step} A?",
        right,
        why=f"det A · tr(A⁻¹ · {step} A) = {det} · {step} · tr I = {det} · {step} · {n}.",
        tolerance=0.01 * right,
        wrong=[
            (step * det, f"That would be right for a number. For a {n} × {n} matrix the trace of the identity is {n}."),
            (step * n, f"That is the relative growth. Multiply by det A = {det}."),
            (step, "That is the factor by which each entry grows."),
        ],
    )


quiz = (
    "18 matrix calculus",
    bar,
    choice(
        "The loss is the inner product of G and A B C, with G constant. What is B_bar?",
        {
            "Aᵀ G Cᵀ": "Move A to the other side from the left, and C from the right.",
            "Cᵀ G Aᵀ": "The sides are exchanged: A is on the left of B and stays on the left.",
            "A G C": "Both need a transpose: with matrices that are not square, the shapes do not fit.",
            "G": "That would need A and C to be identities.",
        },
        "Aᵀ G Cᵀ",
    ),
    determinant,
    order(
        "Put the steps of a derivation in order.",
        ["write the equation that the result satisfies", "take the differential of both sides", "solve for the differential of the result",
         "insert it into the inner product with the incoming gradient", "move all but dA to the left side", "read off A_bar"],
        why="This is how inverse, solve, Cholesky and eigenvalues were done.",
        early={
            "take the differential of both sides": "Of what? There must be an equation first.",
            "solve for the differential of the result": "The equation must have been differentiated first.",
            "insert it into the inner product with the incoming gradient": "It has to be known first how the result moves.",
            "move all but dA to the left side": "There is no inner product yet.",
            "read off A_bar": "As long as something is beside dA, nothing can be read off.",
        },
    ),
    several(
        "A is symmetric and has a double eigenvalue. Which have a derivative there?",
        {
            "the trace": "It is linear in A.",
            "the sum of the squares of all eigenvalues": "It is the squared Frobenius norm of A.",
            "the largest eigenvalue, if the double one is the smallest": "Then it is alone, and only gaps to its neighbours count.",
            "the eigenvectors of the double eigenvalue": "They are not even determined: any basis of the plane will do.",
            "the larger of the two equal ones": "It has a kink, as the larger of two numbers has where they meet.",
        },
        ["the trace", "the sum of the squares of all eigenvalues", "the largest eigenvalue, if the double one is the smallest"],
    ),
    choice(
        "gradcheck refuses a rule for a function of symmetric matrices: off the diagonal its numbers are half of the difference quotients, or 0 is expected. What is likely?",
        {
            "the rule forgets a factor 2": "Then the diagonal would be wrong as well.",
            "the function reads one triangle only, and the rule shares the gradient between both": "Symmetrise the input before the function, and check again.",
            "the matrix is singular": "That would show in large numbers, and on the diagonal, too.",
        },
        "the function reads one triangle only, and the rule shares the gradient between both",
    ),
)  # fmt: skip
