"""`torch.masked`: reductions and normalizations of some of the entries."""

import pytest

import autolab as torch

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, about nan and log(0)

X = torch.tensor([[3.0, -1.0, 2.0], [5.0, 7.0, 9.0]], dtype=torch.float64)
MASK = torch.tensor([[True, False, True], [False, False, False]])


def test_what_is_masked_out_is_as_if_it_were_not_there():
    kept = X[0][MASK[0]]
    for name in ["sum", "prod", "amax", "amin", "mean", "logsumexp", "norm", "var", "std"]:
        mine = getattr(torch.masked, name)(X, dim=(1,), mask=MASK)[0]
        theirs = kept.norm() if name == "norm" else torch.logsumexp(kept, 0) if name == "logsumexp" else getattr(torch, name)(kept)
        torch.testing.assert_close(mine, theirs)


def test_where_nothing_is_left_there_is_the_number_that_changes_nothing_or_nan():
    ends = {name: getattr(torch.masked, name)(X, dim=(1,), mask=MASK)[1].item() for name in ["sum", "prod", "amax", "amin", "mean", "var"]}
    assert (ends["sum"], ends["prod"], ends["amax"], ends["amin"]) == (0, 1, float("-inf"), float("inf"))
    assert ends["mean"] != ends["mean"] and ends["var"] != ends["var"]
    assert torch.masked.amax(torch.tensor([3, 4]), mask=torch.tensor([False, False])).item() == torch.iinfo(torch.int64).min


def test_what_is_masked_out_gets_no_gradient():
    x = X.clone().requires_grad_()
    torch.masked.softmax(x, 1, mask=MASK)[0, 0].backward()
    assert (x.grad[0][~MASK[0]] == 0).all() and (x.grad[0][MASK[0]] != 0).all()
    rows = torch.tensor([[True, False, True], [True, True, False]])
    for f in (torch.masked.mean, torch.masked.var, torch.masked.norm, torch.masked.prod, torch.masked.logsumexp):
        assert torch.autograd.gradcheck(lambda t: f(t, dim=(1,), mask=rows), x.detach().requires_grad_())


def test_a_mask_is_broadcast_and_a_wrong_one_refused():
    assert torch.masked.sum(X, mask=torch.tensor([True, False, True])).item() == 3 + 2 + 5 + 9
    with pytest.raises(IndexError, match="_input_mask expected broadcastable mask"):
        torch.masked.sum(X[0], mask=MASK)
    with pytest.raises(ValueError, match="Input dtype must be either a floating point"):
        torch.masked.mean(torch.tensor([1, 2]))
