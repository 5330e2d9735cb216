"""What lesson 18 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several, shape

entries = prediction(
    "How many derivatives has the inverse of a 100 × 100 matrix, entry by entry?",
    100_000_000,
    why="10,000 entries of the result, each with 10,000 derivatives: 100 to the fourth power.",
    wrong={
        10_000: "That is the number of entries of the matrix. Each entry of the result depends on all of them.",
        1_000_000: "That is 100 cubed, about the work of inverting. Results and inputs have 10,000 entries each.",
        100: "That is the number of rows. Count entries: 10,000 in, 10,000 out.",
    },
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

inverse = prediction(
    "A is diagonal, with 2 and 4. The loss is the sum of all entries of its inverse. What is the gradient of the entry in row 0, column 1?",
    -0.125,
    why="The gradient of the result is 1 everywhere, so the entry is -(1/2) · 1 · (1/4).",
    wrong={
        0: "The inverse has a 0 there. But if the entry of A moves, the 0 moves, too.",
        0.125: "The sign: a larger A has a smaller inverse, dB = -B dA B.",
        -0.0625: "That is the entry for the 4 on the diagonal, -(1/4) · (1/4).",
        -0.25: "That is the entry for the 2 on the diagonal, -(1/2) · (1/2).",
    },
)

solve = prediction(
    "A is 3 × 3 and B is 3 × 2. How many linear systems of 3 unknowns does the backward rule of solve(A, B) need?",
    2,
    why="One for each column of X_bar, all with the matrix Aᵀ. A_bar is then a product.",
    wrong={
        4: "Two for B_bar. A_bar is made from it by a product, without solving.",
        1: "One matrix Aᵀ, but X_bar has two columns.",
        9: "There are 9 entries of A, but one product gives all of their gradients.",
        0: "The gradient comes back through the inverse, so a system has to be solved.",
    },
)

logdet = prediction(
    "A has the rows (2, 1) and (1, 3), so its determinant is 5. What is the gradient of log det A for the entry in row 0, column 1?",
    -0.2,
    why="The inverse of A has the rows (3, -1) and (-1, 2), divided by 5. Its transpose has -1/5 there.",
    wrong={
        -1: "That is the gradient of det A. The logarithm divides it by det A = 5.",
        0.2: "The sign: the determinant is 2 · 3 - 1 · 1, so it falls when the entry grows.",
        1: "That is the entry of A itself.",
        -0.4: "That counts both entries off the diagonal. This entry moves alone.",
    },
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

quiz = (
    "18 matrix calculus",
    shape(
        "A has shape (3, 5), and the loss is one number. Shape of A_bar:",
        (3, 5),
        why="A number for each entry, kept where the entry is.",
        wrong={
            (5, 3): "Some books write the derivative of a number transposed. In a library the gradient has the shape of its input.",
            (15,): "That is the gradient as a vector. The matrix keeps its shape.",
            (15, 15): "That would be the second derivative, or the Jacobian of a function from 15 to 15 entries.",
        },
    ),
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
    number(
        "A is 4 × 4 and det A = 3. To first order, by how much does det A grow if A grows by 0.001 A?",
        0.012,
        why="det A · tr(A⁻¹ · 0.001 A) = 3 · 0.001 · tr I = 3 · 0.001 · 4.",
        tolerance=1e-4,
        wrong={
            0.003: "That would be right for a number. For a 4 × 4 matrix the trace of the identity is 4.",
            0.004: "That is the relative growth. Multiply by det A = 3.",
            0.001: "That is the factor by which each entry grows.",
        },
    ),
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
