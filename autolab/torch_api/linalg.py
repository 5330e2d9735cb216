"""Products of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor
from autolab.rules import linalg as rows
from autolab.torch_api.dims import evened_out, require_tensor
from autolab.torch_api.layout import forget_base
from autolab.torch_api.public import declare, public
from autolab.torch_api.shape import permute, reshape, unsqueeze
from autolab.transforms.boxes import in_vmap

NONE: dict[str, Any] = {}
# The names of dtypes in C++, which PyTorch uses in one message.
CPP = {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int", "Int": "int"}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@public(method=True, out=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; vectors are taken as a row on the left, a column on the right; leading dims broadcast.

    Shapes: (..., n, k) @ (..., k, m) -> (..., n, m). Raises RuntimeError if the inner lengths differ.

    >>> matmul(tensor([[1., 2.]]), tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    require_tensor(input, "matmul")
    require_tensor(other, "matmul", "other", 2)
    if modes.autocast is not None:
        input, other = modes.autocast.cast("matmul", (input, other))
    a, b = input.payload.ndim, other.payload.ndim
    if input.payload.dtype != other.payload.dtype:
        if (a, b) != (1, 1) and (not a or not b or input.payload.shape[-1] != other.payload.shape[-2 if b > 1 else -1]):
            raise _mismatch(input, other)
        raise _dtypes_differ(input, other, {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (1, 2): "mm"}.get((a, b), "bmm"))
    try:
        if a == 2 and b == 2:
            return apply(rows.mm, (input, other), NONE)
        if a == 1 and b == 1:
            return apply(rows.dot, (input, other), NONE)
        if a == 2 and b == 1:
            return apply(rows.mv, (input, other), NONE)
        if a == 0 or b == 0:
            raise _mismatch(input, other)
        if a == 1:
            return forget_base(matmul(unsqueeze(input, 0), other).squeeze(-2))
        if b == 1:
            return forget_base(matmul(input, unsqueeze(other, 1)).squeeze(-1))
        return apply(rows.matmul, (input, other), NONE)
    except ValueError:
        raise _mismatch(input, other) from None


def _mismatch(input: Tensor, other: Tensor) -> RuntimeError:
    a, b = list(input.shape), list(other.shape)
    if not a or not b:
        return RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if len(a) == 1 and len(b) == 1:
        return RuntimeError(
            f"inconsistent tensor size, expected tensor {a} and src {b} to have the same number of elements, but got {a[0]} "
            f"and {b[0]} elements respectively"
        )
    if len(b) == 1:
        return RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    if len(a) == 1:
        return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied (1x{a[0]} and {b[-2]}x{b[-1]}): from {a} and {b}.")
    if a[-1] == b[-2]:
        for back, (m, n) in enumerate(zip(reversed(a[:-2]), reversed(b[:-2])), 1):
            if m != n and 1 not in (m, n):
                return RuntimeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension "
                    f"{max(len(a), len(b)) - 2 - back}: the leading dims of {a} and {b} do not broadcast."
                )
    if len(a) == len(b) == 3:
        return RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]. "
            f"The shapes are {a} and {b}; transpose one of them (.mT) if its layout is the other way round."
        )
    rows_a = math.prod(a[:-1])
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({rows_a}x{a[-1]} and {b[-2]}x{b[-1]}): the inner lengths of {a} and {b} "
        f"are {a[-1]} and {b[-2]}. Transpose one of them if its layout is the other way round."
    )


def _dtypes_differ(input: Tensor, other: Tensor, name: str) -> RuntimeError:
    """PyTorch has other words for each pairing of ranks."""
    x, y = input.dtype, other.dtype
    what = {
        "dot": f"dot : expected both vectors to have same dtype, but found {x.title} and {y.title}",
        "mv": f"addmv input tensors must have the same dtype, but got {y.title} for the vector and {x.title} for the matrix",
        "mm": f"expected m1 and m2 to have the same dtype, but got: {CPP.get(x.title, x.title)} != {CPP.get(y.title, y.title)}",
    }.get(name, f"expected scalar type {x.title} but found {y.title}")
    return RuntimeError(f"{what}. Convert one of them: .to({x!r}).")


def _of_rank(name: str, row: Op, ranks: tuple[int, int], messages: tuple[str, str], doc: str) -> Any:
    def function(input: Tensor, other: Tensor) -> Tensor:
        require_tensor(input, name)
        require_tensor(other, name, "other", 2)
        for t, rank, message in zip((input, other), ranks, messages):
            if t.payload.ndim != rank:
                if in_vmap(input) or in_vmap(other):
                    message = f"Shape mismatch: Got incorrect dims for {name}(a, b): {message}, for one sample"
                raise RuntimeError(message.format(input.ndim, other.ndim))
        if input.payload.dtype != other.payload.dtype and not evened_out(name, input, other):
            raise _dtypes_differ(input, other, name)
        try:
            return apply(row, (input, other), NONE)
        except ValueError:
            raise _mismatch(input, other) from None

    return declare(function, name, doc, method=True, out=True)


mm = _of_rank(
    "mm",
    rows.mm,
    (2, 2),
    ("self must be a matrix", "mat2 must be a matrix"),
    """The product of two matrices. Shapes: (n, k) @ (k, m) -> (n, m).

>>> mm(tensor([[1., 2.]]), tensor([[3.], [4.]]))
tensor([[11.]])
""",
)
mv = _of_rank(
    "mv", rows.mv, (2, 1), ("vector + matrix @ vector expected, got 1, {0}, {1}", "vector + matrix @ vector expected, got 1, {0}, {1}"),
    """The product of a matrix and a vector. Shapes: (n, k) @ (k,) -> (n,).

>>> mv(tensor([[1., 2.], [3., 4.]]), tensor([1., 0.]))
tensor([1., 3.])
""",
)  # fmt: skip
dot = _of_rank(
    "dot", rows.dot, (1, 1), ("1D tensors expected, but got {0}D and {1}D tensors", "1D tensors expected, but got {0}D and {1}D tensors"),
    """The sum of the products of two vectors.

>>> dot(tensor([1., 2.]), tensor([3., 4.]))
tensor(11.)
""",
)  # fmt: skip
bmm = _of_rank(
    "bmm", rows.bmm, (3, 3), ("batch1 must be a 3D tensor", "batch2 must be a 3D tensor"),
    """Matrix products of two stacks of the same length: (B, n, k) @ (B, k, m).

>>> bmm(ones(4, 2, 3), ones(4, 3, 5)).shape
torch.Size([4, 2, 5])
""",
)  # fmt: skip


@public(method=True, out=True, aliases="ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of an entry of one vector with an entry of another: (n,), (m,) -> (n, m). Raises RuntimeError for anything but a vector.

    >>> outer(tensor([1., 2.]), tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for name, t in (("self", require_tensor(input, "outer")), ("vec2", require_tensor(vec2, "outer", "vec2", 2))):
        if t.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t.ndim}-D")
    return reshape(input, -1, 1) * vec2


@public()
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products named by letters: einsum("ij,jk->ik", a, b) is a @ b. "..." stands for leading dims.

    Numbers may stand for the letters, in a list behind each operand: einsum(a, [0, 1], b, [1, 2], [0, 2]).

    Raises RuntimeError if the letters do not fit the operands.

    >>> einsum("ij,j->i", tensor([[1., 2.], [3., 4.]]), tensor([1., 1.]))
    tensor([3., 7.])
    """
    if isinstance(equation, Tensor):
        equation, operands = from_sublists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(x).__name__}")
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    check_letters(equation, terms, right, len(operands))
    used = set(equation)
    free = [c for c in LETTERS if c not in used]
    most = 0
    full = []
    for term, x in zip(terms, operands):
        n = x.ndim - (len(term) - 3) if "..." in term else 0
        most = max(most, n)
        full.append((term, n))
    batch = "".join(free[:most])
    terms = [term.replace("...", batch[most - n :]) for term, n in full]
    if not arrow:
        letters = "".join(terms)
        right = batch + "".join(sorted(c for c in set(letters) - set(batch) if letters.count(c) == 1))
    else:
        right = right.replace("...", batch)
    sizes: dict[str, int] = {}
    ready = []
    for i, (term, x) in enumerate(zip(terms, operands)):
        if len(term) != x.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of dimensions "
                f"({x.ndim}) for operand {i} and no ellipsis was given"
            )
        term, x = _without_repeats(term, x)
        for c, n in zip(term, x.shape):
            if sizes.setdefault(c, n) == 1:
                sizes[c] = n
            elif n not in (1, sizes[c]):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for operand {i} which does not broadcast with previously seen size {sizes[c]}"
                )
        ready.append((term, x))
    for x in operands[1:]:
        if x.payload.dtype != operands[0].payload.dtype and not evened_out("einsum", *operands):
            raise _dtypes_differ(operands[0], x, "einsum")
    if len(ready) == 1 and len(ready[0][0]) == len(right):  # only in another order
        return permute(ready[0][1], [ready[0][0].index(c) for c in right])
    expanded = [x if tuple(x.shape) == tuple(sizes[c] for c in term) else x.expand(*[sizes[c] for c in term]) for term, x in ready]
    final = ",".join(term for term, _ in ready) + "->" + right
    return apply(rows.einsum, tuple(expanded), {"equation": final})


def from_sublists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """einsum's other form, as an equation and its operands."""

    def term(numbers: Any) -> str:
        for n in numbers:
            if n is not ... and not 0 <= n < len(LETTERS):
                raise ValueError(f"einsum(): subscript in subscript list is not within the valid range [0, 52): it is {n}")
        return "".join("..." if n is ... else LETTERS[n] for n in numbers)

    result = f"->{term(args[-1])}" if len(args) % 2 else ""
    return ",".join(term(numbers) for numbers in args[1 : len(args) - len(args) % 2 : 2]) + result, args[: len(args) // 2 * 2 : 2]


def check_letters(equation: str, terms: list[str], right: str, count: int) -> None:
    """Raise RuntimeError in PyTorch's words for an equation that means nothing."""
    if len(terms) != count:
        fewer = "fewer" if count < len(terms) else "more"
        raise RuntimeError(f"einsum(): {fewer} operands were provided than specified in the equation: {count} for {len(terms)} terms")
    for at, letter in enumerate(equation.replace("...", "").replace("->", "").replace(",", "")):
        if letter not in LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in [a-zA-Z], "
                f"but found {letter!r}"
            )
    for letter in right.replace("...", ""):
        if right.count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if not any(letter in term for term in terms):
            raise RuntimeError(f"einsum(): output subscript {letter} does not appear in the equation for any input operand")


def _without_repeats(term: str, x: Tensor) -> tuple[str, Tensor]:
    """A letter that stands twice in one operand means its diagonal."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            first, second = term.index(c), term.index(c, term.index(c) + 1)
            x = x.diagonal(0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + c
    return term, x
