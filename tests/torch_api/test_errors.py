"""What is refused is refused as in PyTorch: the same type of exception, the same opening words, and then what to do."""

import builtins
import warnings
from pathlib import Path

import numpy as np
import pytest

import autolab

CALLS = [
    tuple(line.split("  =>  "))
    for path in sorted(Path(__file__).parent.glob("wrong_calls*.txt"))
    for line in path.read_text().splitlines()
    if line and not line.startswith("#")
]


def names(T):
    """What the expressions are made of."""
    return {
        "T": T, "F": T.nn.functional, "np": np, "x": T.ones(3), "i": T.tensor([1, 2]), "b": T.tensor([True, False, True]),
        "m": T.arange(6.0).view(2, 3), "c": T.arange(24.0).view(2, 3, 4), "s": T.tensor(2.0), "e": T.tensor([]),
        "r": T.ones(3, requires_grad=True),
    }  # fmt: skip


def refusal(T, expression):
    with pytest.raises(Exception) as error:  # noqa: PT011
        try:
            eval(expression, names(T))
        finally:
            T.set_default_dtype(T.float32)
    return error.value


@pytest.mark.parametrize(("expression", "expected"), CALLS)
def test_a_wrong_call_is_refused_in_known_words(expression, expected):
    kind, opening = expected.split(": ", 1)
    error = refusal(autolab, expression)
    assert type(error) is getattr(builtins, kind)
    assert str(error).startswith(opening)


@pytest.mark.parametrize(("expression", "expected"), CALLS)
def test_they_are_pytorchs_words(torch, expression, expected):
    kind, opening = expected.split(": ", 1)
    with warnings.catch_warnings(action="ignore"):
        error = refusal(torch, expression)
    assert type(error).__name__ == kind
    assert str(error).startswith(opening)


# A message says what was found, and what to do about it.
FOUND_AND_REMEDY = {
    "T.ones(2, 3) + T.ones(2, 4)": ("[2, 3] and [2, 4]", "unsqueeze or reshape"),
    "T.ones(2, 3) @ T.ones(2, 3)": ("[2, 3]", "are 3 and 2", "Transpose"),
    "T.ones(2, 3, 4) @ T.ones(2, 3, 4)": ("[2, 4] but got: [2, 3]", ".mT"),
    "m @ m.double().mT": ("float != double", ".to(torch.float32)"),
    "m.t().view(6)": ("[3, 2] to [6]", ".reshape(...)"),
    "m.view(4)": ("[4]", "size 6"),
    "x - b": ("with a bool tensor", "`~` or `logical_not()`"),
    "i.mean()": ("Long", "t.float().mean()"),
    "i.softmax(0)": ("Long", "t.float()"),
    "T.tensor([1, 2], requires_grad=True)": ("torch.int64", "2. instead of 2", "dtype=torch.float32"),
    "i.requires_grad_()": ("torch.int64", "t.float()"),
    "T.tensor([[1], [1, 2]])": ("length 1 at dim 1 (got 2)", "same length"),
    "T.tensor([300], dtype=T.uint8)": ("300", "holds 0 to 255"),
    "x.item()": ("3 elements", "[3]", ".sum() or .mean()"),
    "r.numpy()": ("requires grad", "tensor.detach().numpy()"),
    "r.add_(1)": ("a leaf Variable that requires grad", "no_grad", "clone()"),
    "m[2]": ("index 2", "dimension 0 with size 2"),
    "m[::-1]": ("greater than zero", "flip()"),
    "x.index_select(0, T.tensor([4]))": ("4", "3 entries"),
    "x.gather(0, i.float())": ("torch.float32", "index.long()"),
    "x.to('cuda')": ("CUDA", "device='cpu'"),
    "T.nn.functional.cross_entropy(m, T.tensor([0, 3]))": ("Target 3 is out of bounds", "3 classes"),
    "T.nn.functional.linear(m, T.ones(2, 4))": ("2x3 and 4x2", "are 3 and 4"),
    "x.sum('a')": ("'dim'", "must be int, not str"),
    "np.median(r)": ("requires grad", "tensor.detach().numpy()"),
}


@pytest.mark.parametrize("expression", FOUND_AND_REMEDY)
def test_a_message_says_what_was_found_and_what_to_do(expression):
    message = str(refusal(autolab, expression))
    assert [phrase for phrase in FOUND_AND_REMEDY[expression] if phrase not in message] == []
