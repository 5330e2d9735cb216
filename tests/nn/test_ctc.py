"""ctc_loss against PyTorch's and against all alignments, one by one."""

import itertools

import numpy as np
import pytest

import autolab
from autolab.nn import functional as F

# log(0) is -inf without a word, as in PyTorch; `autolab` sees to that for its users.
pytestmark = pytest.mark.filterwarnings(r"ignore::RuntimeWarning:autolab\.")


def scores(t=6, n=2, c=4, seed=0):
    return np.random.default_rng(seed).standard_normal((t, n, c))


def collapsed(path, blank=0):
    """A path as labels: repetitions joined, blanks taken out."""
    return [label for label, _ in itertools.groupby(path) if label != blank]


def test_the_loss_is_the_sum_over_all_paths_that_collapse_to_the_target():
    logp = autolab.tensor(scores(5, 1, 3)).log_softmax(-1)
    p, target = np.exp(logp.numpy())[:, 0], [1, 2, 2]
    total = sum(np.prod([p[t, k] for t, k in enumerate(path)]) for path in itertools.product(range(3), repeat=5)
                if collapsed(path) == target)  # fmt: skip
    loss = F.ctc_loss(logp, autolab.tensor([target]), (5,), (3,), reduction="sum")
    assert loss.item() == pytest.approx(-np.log(total), rel=1e-12)


CASES = {
    "padded targets": dict(targets=[[1, 2, 2], [3, 1, 0]], input_lengths=[6, 5], target_lengths=[3, 2]),
    "targets behind each other": dict(targets=[1, 2, 2, 3, 1], input_lengths=[6, 6], target_lengths=[3, 2]),
    "another blank": dict(targets=[[0, 2], [1, 1]], input_lengths=[6, 6], target_lengths=[2, 2], blank=3),
    "an empty target": dict(targets=[[1, 2], [0, 0]], input_lengths=[6, 4], target_lengths=[2, 0]),
    "one that does not fit in": dict(targets=[[1, 1, 1], [2, 1, 3]], input_lengths=[3, 6], target_lengths=[3, 3], zero_infinity=True),
}


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_value_and_gradient_are_pytorchs(torch, case, reduction):
    def run(T):
        x = T.tensor(scores(), requires_grad=True)
        given = {k: T.tensor(v) if isinstance(v, list) else v for k, v in case.items()}
        loss = T.nn.functional.ctc_loss(x.log_softmax(-1), reduction=reduction, **given)
        return loss, *T.autograd.grad(loss.sum(), x)

    for ours, theirs in zip(run(autolab), run(torch), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_a_second_derivative_is_refused():
    x = autolab.tensor(scores(), requires_grad=True)
    loss = F.ctc_loss(x.log_softmax(-1), autolab.tensor([[1], [2]]), (6, 6), (1, 1))
    (g,) = autolab.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward is not implemented"):
        g.sum().backward()


def test_a_blank_that_is_no_class_is_refused():
    with pytest.raises(RuntimeError, match="blank must be in label range"):
        F.ctc_loss(autolab.tensor(scores()).log_softmax(-1), autolab.tensor([[1], [2]]), (6, 6), (1, 1), blank=4)
