"""uint16, uint32 and uint64: stored, moved and converted as in PyTorch, and refused in its words where it has no kernel."""

import io

import numpy as np
import pytest

import autolab

NAMES = ["uint16", "uint32", "uint64"]
COMPUTED = {
    "printed": lambda T, x: repr(x), "a list": lambda T, x: x.tolist(), "an array": lambda T, x: x.numpy().dtype.name,
    "limits": lambda T, x: (T.iinfo(x.dtype).min, T.iinfo(x.dtype).max, T.iinfo(x.dtype).bits), "type": lambda T, x: x.type(),
    "the dtype": lambda T, x: (repr(x.dtype), x.dtype.itemsize, x.dtype.is_signed, x.dtype.is_floating_point),
    "floats": lambda T, x: x.float() / 2, "int64": lambda T, x: x.long(), "uint8": lambda T, x: x.to(T.uint8), "a mask": lambda T, x: x.bool(),
    "of int64": lambda T, x: T.tensor([-1, 70000, 3]).to(x.dtype), "of floats": lambda T, x: T.tensor([1.7, 3.0]).to(x.dtype),
    "products": lambda T, x: x * x, "a product": lambda T, x: x * 2, "a quotient": lambda T, x: x / 2, "with floats": lambda T, x: x + T.ones(3),
    "and": lambda T, x: x & x, "xor": lambda T, x: x ^ x, "equal": lambda T, x: x == x, "equal to": lambda T, x: x == 1,
    "a sum": lambda T, x: x.sum(), "running sums": lambda T, x: x.cumsum(0), "sorted": lambda T, x: x.sort().values,
    "different": lambda T, x: x.unique(), "joined": lambda T, x: T.cat([x, x]), "an entry": lambda T, x: x[1], "a part": lambda T, x: x[1:],
    "powers": lambda T, x: T.float_power(x, T.tensor([1, 2, 3])),
    "by a mask": lambda T, x: x[x == 1], "chosen": lambda T, x: T.where(x == 1, x, 7), "square root": lambda T, x: x.sqrt(),
    "zeros": lambda T, x: T.zeros(2, dtype=x.dtype), "filled": lambda T, x: T.full((2,), 7, dtype=x.dtype), "copied": lambda T, x: x.clone(),
    "written": lambda T, x: x.clone().fill_(3), "an array's": lambda T, x: T.from_numpy(np.array([1, 2], str(x.dtype).removeprefix("torch."))),
    "result type": lambda T, x: (T.result_type(x, 1), T.result_type(x, 1.5), T.promote_types(x.dtype, T.float16)),
    "cast": lambda T, x: (T.can_cast(x.dtype, T.int32), T.can_cast(T.float32, x.dtype)), "bytes": lambda T, x: x.view(T.uint8),
}  # fmt: skip
REFUSED = {
    "+": lambda T, x: x + x, "+ 1": lambda T, x: x + 1, "-": lambda T, x: x - 1, "+=": lambda T, x: x.add_(1), "//": lambda T, x: x // 2,
    "%": lambda T, x: x % 2, "**": lambda T, x: x**2, "neg": lambda T, x: -x, "~": lambda T, x: ~x, "abs": lambda T, x: abs(x),
    "<<": lambda T, x: x << 1, "<": lambda T, x: x < x, ">=": lambda T, x: x >= 1, "max": lambda T, x: x.max(), "max along": lambda T, x: x.max(0),
    "amin": lambda T, x: x.amin(), "argmax": lambda T, x: x.argmax(), "clamp": lambda T, x: x.clamp(0, 2), "@": lambda T, x: x @ x,
    "topk": lambda T, x: x.topk(2), "nonzero": lambda T, x: x.nonzero(), "isin": lambda T, x: T.isin(x, x), "count": lambda T, x: T.bincount(x),
    "arange": lambda T, x: T.arange(3, dtype=x.dtype), "eye": lambda T, x: T.eye(2, dtype=x.dtype), "take": lambda T, x: T.take(x, T.tensor([0])),
    "linspace": lambda T, x: T.linspace(0, 3, 4, dtype=x.dtype), "masked_fill": lambda T, x: x.masked_fill(x == 1, 1),
    "maximum": lambda T, x: T.maximum(x, x), "searchsorted": lambda T, x: T.searchsorted(x, x), "gather": lambda T, x: x.gather(0, T.tensor([0])),
    "index": lambda T, x: T.ones(9)[x], "with int64": lambda T, x: x + T.tensor([1, 2, 3]), "with bools": lambda T, x: x * (x == 1),
    "promoted": lambda T, x: T.promote_types(x.dtype, T.int32), "gradients": lambda T, x: x.requires_grad_(),
}  # fmt: skip


def plain(value):
    return (repr(value), value.tolist()) if hasattr(value, "tolist") else str(value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", COMPUTED)
def test_what_is_done_with_them_is_pytorchs(torch, what, name):
    ours, theirs = (plain(COMPUTED[what](T, T.tensor([1, 2, 3], dtype=getattr(T, name)))) for T in (autolab, torch))
    assert ours == theirs


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_refused_in_pytorchs_words(torch, what):
    said = []
    for T in (autolab, torch):
        with pytest.raises((NotImplementedError, RuntimeError, IndexError)) as caught:
            REFUSED[what](T, T.tensor([1, 2, 3], dtype=T.uint16))
        said.append((caught.type, str(caught.value)))
    assert said[0][0] is said[1][0] and said[0][1].startswith(said[1][1].split(". ")[0].rstrip("."))


def test_all_64_bits_are_kept(lib):
    x = lib.tensor([2**64 - 1, 0], dtype=lib.uint64)
    assert x.tolist() == [2**64 - 1, 0] and x[0].item() == 2**64 - 1
    with pytest.raises((RuntimeError, ValueError, OverflowError)):
        lib.tensor([2**64 - 1])


@pytest.mark.parametrize("name", NAMES)
def test_files_are_read_on_both_sides(torch, name):
    for writer, reader in ((autolab, torch), (torch, autolab), (autolab, autolab)):
        file = io.BytesIO()
        x = writer.tensor([[1, 2], [3, 60000]], dtype=getattr(writer, name))
        writer.save({"x": x, "t": x.T}, file)
        file.seek(0)
        read = reader.load(file, weights_only=True)
        assert repr(read["x"]) == repr(x) and read["t"].tolist() == [[1, 3], [2, 60000]]


def test_safetensors_keep_them():
    from autolab.serialization import safetensors

    x = {name: autolab.tensor([1, 60000], dtype=getattr(autolab, name)) for name in NAMES}
    assert {k: repr(v) for k, v in safetensors.load(safetensors.save(x)).items()} == {k: repr(v) for k, v in x.items()}


def test_a_damaged_file_of_them_is_refused(tmp_path):
    from autolab.serialization.reading import Block, rebuild_untyped
    from autolab.serialization.safe import NotAllowed

    with pytest.raises(NotAllowed, match="cannot be"):
        rebuild_untyped(Block(np.zeros(3, np.uint8)), 0, (1,), (1,), False, None, autolab.uint16)


def test_a_dtype_can_be_saved_twice(lib):
    file = io.BytesIO()
    lib.save([lib.float32, lib.float32, lib.uint16], file)
    file.seek(0)
    assert lib.load(file, weights_only=True) == [lib.float32, lib.float32, lib.uint16]
