"""assert_close fails where PyTorch's fails, and says the same."""

import numpy as np
import pytest

import autolab
from autolab import testing

NAN, INF = float("nan"), float("inf")
CASES = [
    lambda T, c: c(T.tensor([1.0, 2.0]), T.tensor([1.0, 2.1])),
    lambda T, c: c(T.tensor([[1.0, 2.0], [3, 4]]), T.tensor([[1.0, 2.0], [3.5, 4]])),
    lambda T, c: c(1.0, 2.0), lambda T, c: c(1, 2), lambda T, c: c(1.0, 1.0), lambda T, c: c(True, False),
    lambda T, c: c(T.tensor(1.0), T.tensor(2.0)),
    lambda T, c: c(T.tensor([1, 2]), T.tensor([1, 3])),
    lambda T, c: c(T.tensor([1.0, 2]), T.tensor([1, 2])),
    lambda T, c: c(T.tensor([1.0, 2]), T.tensor([1, 2]), check_dtype=False),
    lambda T, c: c(T.tensor([1.0, 2]), T.tensor([1.0, 2, 3])),
    lambda T, c: c([1.0, 2.0], [1.0, 2.0, 3.0]), lambda T, c: c([1.0, [2.0]], [1.0, [3.0]]),
    lambda T, c: c({"a": T.ones(2)}, {"a": T.zeros(2)}), lambda T, c: c({"a": 1}, {"b": 1}),
    lambda T, c: c(T.tensor([NAN]), T.tensor([NAN])), lambda T, c: c(T.tensor([NAN]), T.tensor([NAN]), equal_nan=True),
    lambda T, c: c(T.tensor([INF, 1.0]), T.tensor([INF, INF])),
    lambda T, c: c(1.0, 1.1, rtol=0, atol=0.01), lambda T, c: c(1.0, 1.1, rtol=0), lambda T, c: c(1.0, 1.1, rtol=0, atol=0.2),
    lambda T, c: c(1.0, 1.1, msg="hi"), lambda T, c: c(1.0, 1.1, msg=lambda m: "X" + m),
    lambda T, c: c(None, None), lambda T, c: c(None, 1.0), lambda T, c: c(np.ones(2), np.ones(2) * 2),
    lambda T, c: c(T.ones(2, 3).t(), T.ones(3, 2)), lambda T, c: c(T.ones(2, 3).t(), T.ones(3, 2), check_stride=True),
    lambda T, c: c(T.tensor([True]), T.tensor([False])),
    lambda T, c: c(T.ones(3, dtype=T.bfloat16), T.ones(3, dtype=T.bfloat16) * 1.01),
    lambda T, c: c(T.ones(3, dtype=T.float16), T.ones(3, dtype=T.float16) * 1.01),
    lambda T, c: c(T.ones(3, dtype=T.float64), T.ones(3, dtype=T.float64) + 1e-6),
    lambda T, c: c(T.tensor([0.0, 1.0]), T.tensor([1e-4, 1.0])), lambda T, c: c(T.tensor([1e-3]), T.tensor([0.0])),
    lambda T, c: c(T.ones(3) * 2, T.ones(3), rtol=0.0, atol=0.0),
    lambda T, c: c(T.ones(2), 1.0), lambda T, c: c(T.ones(2), [1.0, 1.0]), lambda T, c: c("a", "a"), lambda T, c: c(T.tensor(1.0), 1.0),
]  # fmt: skip


def outcome(T, call, assert_close):
    try:
        return call(T, assert_close)
    except (AssertionError, TypeError, ValueError) as error:
        words = str(error).replace("autolab.engine.tensor.Tensor", "torch.Tensor")
        return type(error), words.partition(". Compare two")[0].removesuffix(".") if isinstance(error, TypeError) else words


@pytest.mark.parametrize("call", CASES)
def test_the_outcome_and_the_message_are_pytorchs(torch, call):
    assert outcome(autolab, call, testing.assert_close) == outcome(torch, call, torch.testing.assert_close)
