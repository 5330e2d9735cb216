"""Entries read and written one by one are what the general way makes of them: numbers, versions, histories, and refusals."""

import numpy as np
import pytest

import autolab
from autolab.torch_api import index, inplace, pointwise
from autolab.torch_api.index import getitem

pytestmark = pytest.mark.speed

T = autolab
UPDATES = {name: inplace.augmented_assignment(name, getattr(pointwise, name)) for name in ("add", "sub", "mul")}
TENSORS = {
    "float32": lambda: T.arange(12.0).view(3, 4), "int32": lambda: T.arange(12, dtype=T.int32).view(3, 4), "uint8": lambda: T.arange(12).byte().view(3, 4),
    "bool": lambda: T.ones(3, 4).bool(), "half": lambda: T.ones(3, 4).half(), "complex": lambda: T.ones(3, 4) * 1j, "a view": lambda: T.arange(24.0).view(4, 6)[1:, ::2][:, :3].T,
    "0-d": lambda: T.tensor(2.0), "expanded": lambda: T.ones(3, 1).expand(3, 4), "a leaf": lambda: T.ones(3, 4, requires_grad=True),
    "computed": lambda: T.ones(3, 4, requires_grad=True) * 2, "of inference": lambda: of_inference(), "nothing": lambda: T.zeros(3, 0),
    "a view of what requires grad": lambda: (T.ones(3, 4, requires_grad=True) * 2)[:, 1:], "detached": lambda: T.ones(3, 4, requires_grad=True).detach(),
}  # fmt: skip
KEYS = [(0, 1), 1, -1, (-1, -1), (2,), (5, 0), (0, 9), (0, 0, 0), (True, 0), (), (0, slice(1)), (None, 0)]
VALUES = [1, -2.75, True, 300, float("nan"), 1e40, 2**40, 2j, "x", None, lambda: T.tensor(2.5), lambda: T.tensor(7), lambda: T.ones(4), lambda: T.ones(1, 4),
          lambda: T.tensor(3.0, requires_grad=True), np.float64(2.5)]  # fmt: skip


def of_inference():
    with T.inference_mode():
        return T.ones(3, 4)


def told(act, x):
    """All that can be seen of an action and of the tensor afterwards."""
    try:
        with np.errstate(all="ignore"):
            out = act(x)
    except Exception as error:
        return type(error), str(error)
    state = [
        (t.tolist(), t.dtype, t.requires_grad, t._is_view(), t.is_inference() or t._version, str(type(t.grad_fn)))
        for t in (x, out)
        if isinstance(t, T.Tensor)
    ]
    return str(state), isinstance(out, T.Tensor) and out._base is x


def made(value):
    return value() if callable(value) else value


def both(kind, first, second, off):
    with T.set_grad_enabled(not off):
        assert told(first, TENSORS[kind]()) == told(second, TENSORS[kind]())


@pytest.mark.parametrize("off", [False, True], ids=["grad", "no grad"])
@pytest.mark.parametrize("kind", TENSORS)
def test_reading_is_the_general_reading(kind, off):
    for key in KEYS:
        both(kind, lambda x, key=key: x[key], lambda x, key=key: getitem(x, key), off)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("off", [False, True], ids=["grad", "no grad"])
@pytest.mark.parametrize("kind", TENSORS)
def test_writing_is_the_general_writing(kind, off):
    for key in KEYS:
        for value in VALUES:
            quick, general = (lambda x, write=write: write(x, key, made(value)) for write in (T.Tensor.__setitem__, index.setitem))  # noqa: B023
            both(kind, quick, general, off)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("off", [False, True], ids=["grad", "no grad"])
@pytest.mark.parametrize("kind", TENSORS)
def test_updating_is_the_general_update(kind, off):
    for name, update in UPDATES.items():
        for value in VALUES:
            quick = getattr(T.Tensor, f"__i{name}__")
            both(kind, lambda x: quick(x, made(value)), lambda x: update(x, made(value)), off)  # noqa: B023


def test_a_write_is_seen_by_who_saved_the_tensor():
    w = T.ones(2, 2, requires_grad=True)
    for act in ("x[0, 0] = 5", "x[0] += 1", "x *= 2", "x[1, 1] -= 1"):
        x = T.ones(2, 2)
        y = (w * x).sum()
        exec(act, {"x": x})
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_a_row_may_be_written_over_another_of_the_same_tensor():
    x = T.arange(6.0).view(3, 2)
    x[0] = x[2]
    x[1] += 1
    assert x.tolist() == [[4, 5], [3, 4], [4, 5]]


def test_transforms_and_traces_go_the_general_way():
    found = T.func.vmap(lambda v: v[0, 1] * 2)(T.arange(8.0).view(2, 2, 2))
    assert found.tolist() == [2, 10]
    assert T.func.grad(lambda v: v[0, 1] ** 2)(T.ones(2, 2)).tolist() == [[0, 2], [0, 0]]
