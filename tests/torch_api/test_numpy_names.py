"""PyTorch takes NumPy's names for dim and keepdim, and so does autolab."""

import pytest

CALLS = [
    "x.sum(axis=1)", "x.sum(1, keepdims=True)", "x.mean(axis=0, keepdims=True)", "x.max(axis=1)[0]", "x.argmax(axis=1)", "x.softmax(axis=1)",
    "x.unsqueeze(axis=0)", "torch.cat([x, x], axis=1)", "torch.stack([x, x], axis=1)", "torch.sum(x, axis=0)", "torch.var(x, axis=0)",
    "torch.unsqueeze(x, axis=0)", "torch.cumsum(x, axis=1)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_axis_is_dim(lib, call):
    x = lib.tensor([[1.0, 2.0, 5.0], [3.0, 4.0, 0.0]])
    twin = call.replace("axis", "dim").replace("keepdims", "keepdim")
    assert eval(call, {"torch": lib, "x": x}).tolist() == eval(twin, {"torch": lib, "x": x}).tolist()


def test_another_name_is_still_refused(lib):
    with pytest.raises(TypeError):
        lib.ones(2).sum(axes=0)
