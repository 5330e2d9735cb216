"""A program as a type checker sees it. `make lint` reads it strictly: an error that is not found is one too."""

from typing import assert_type

import autolab as torch
import autolab.nn.functional as F
from autolab import Tensor, nn, optim
from autolab.optim.lr_scheduler import StepLR

x = torch.ones(3, requires_grad=True)
assert_type(x.softmax(0), Tensor)
assert_type(2 * x + 1, Tensor)
assert_type(x @ x, Tensor)
assert_type(x[0], Tensor)
assert_type(x.detach().mul_(2), Tensor)
assert_type(x.shape, torch.Size)
assert_type(x.grad, Tensor | None)
assert_type(torch.exp(x, out=None), Tensor)
assert_type(torch.float32, torch.dtype)
assert_type(torch.linalg.inv(torch.eye(2)), Tensor)
assert_type(torch.special.expit(x), Tensor)
assert_type(F.relu(x), Tensor)
assert_type(nn.Linear(3, 1), torch.nn.Linear)
assert_type(StepLR(optim.SGD([x], lr=0.1), 3), torch.optim.lr_scheduler.StepLR)


def square(t: Tensor) -> Tensor:
    return (t * t).sum()


def wrong_calls() -> None:
    x.softmx(0)  # type: ignore[attr-defined]
    x.softmax()  # type: ignore[call-arg]
    x.coalesce()  # type: ignore[attr-defined]
    torch.exp()  # type: ignore[call-arg]
    torch.sspaddmm(x)  # type: ignore[attr-defined]
    nn.Linaer(3, 4)  # type: ignore[attr-defined]
    nn.Linear()  # type: ignore[call-arg]
    F.relu(1)  # type: ignore[arg-type]
    optim.Adm([x])  # type: ignore[attr-defined]
