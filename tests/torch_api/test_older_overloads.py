"""Numbers before tensors, as programs wrote for years and PyTorch still takes, with a warning; and names that were removed."""

import warnings

import pytest

import autolab

OLDER = {
    "x.add(2, y)": "add", "x.clone().add_(-0.5, y)": "add", "T.add(x, 2, y)": "add", "x.sub(2, y)": "sub", "x.clone().sub_(2, y)": "sub",
    "x.addcmul(2, y, y)": "addcmul", "x.clone().addcmul_(2, x, y)": "addcmul", "T.addcmul(x, 2, y, y)": "addcmul",
    "x.clone().addcdiv_(-2, x, y)": "addcdiv", "T.addcdiv(x, 2, y, x)": "addcdiv", "T.addmm(2, M, 3, M, M)": "addmm", "M.addmm(2, 3, M, M)": "addmm",
    "M.addmm(2, M, M)": "addmm", "T.addmm(2, M, M, M)": "addmm", "T.addmv(2, x, 3, M, y)": "addmv", "T.addr(2, M, 3, x, y)": "addr",
    "T.baddbmm(2, M[None], 3, M[None], M[None])": "baddbmm", "T.addbmm(2, M, 3, M[None], M[None])": "addbmm",
}  # fmt: skip


def value(T, expression):
    x, y, M = T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]), T.tensor([[1.0, 2.0], [3.0, 4.0]])
    return eval(expression, {"T": T, "x": x, "y": y, "M": M})


@pytest.mark.parametrize("expression", OLDER)
def test_numbers_may_come_first(torch, expression):
    with pytest.warns(UserWarning, match=rf"This overload of {OLDER[expression]} is deprecated"):
        ours = value(autolab, expression)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's comes once a process
        theirs = value(torch, expression)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "expression", ["x.add(y, y)", "x.add('a', y)", "x.addcmul(2, 3, y)", "x.addcmul(2, y, y, y)", "T.addmm(M, M, M, M)"]
)
def test_what_is_in_neither_order_is_refused(torch, expression):
    for T in (autolab, torch):
        with pytest.raises(TypeError):
            value(T, expression)


def test_bytes_are_still_a_condition(torch):
    for T in (autolab, torch):
        with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
            assert T.where(T.tensor([2, 0], dtype=T.uint8), T.ones(2), T.zeros(2)).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "instead"), [("symeig", "linalg.eigh"), ("solve", "linalg.solve"), ("lstsq", "linalg.lstsq"), ("rfft", "fft.rfft")]
)
def test_what_was_removed_says_what_took_its_place(name, instead):
    with pytest.raises(AttributeError, match=rf"it was removed from PyTorch; use {instead}"):
        getattr(autolab, name)
