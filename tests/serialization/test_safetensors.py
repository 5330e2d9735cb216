"""safetensors files, in and out."""

import json
import struct

import pytest

import autolab
from autolab.serialization import safetensors

T = autolab
DTYPES = ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]


def sample():
    return {f"of.{name}": (T.arange(6).reshape(2, 3) % 2).to(getattr(T, name)) for name in DTYPES} | {
        "empty": T.zeros(0, 2),
        "number": T.tensor(3.0),
    }


def test_tensors_come_back_as_they_were(tmp_path):
    safetensors.save_file(sample(), tmp_path / "a.safetensors", metadata={"made": "here"})
    found = safetensors.load_file(tmp_path / "a.safetensors")
    assert {k: repr(v) for k, v in found.items()} == {k: repr(v) for k, v in sample().items()}
    found["number"].add_(1)


def test_the_file_is_as_the_format_says():
    data = safetensors.save({"b": T.ones(1, dtype=T.float16), "a": T.tensor([1.0, 2.0])}, {"k": "v"})
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert length % 8 == 0
    assert header == {
        "__metadata__": {"k": "v"}, "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "F16", "shape": [1], "data_offsets": [8, 10]},
    }  # fmt: skip
    assert data[8 + length :] == struct.pack("<ff", 1, 2) + struct.pack("<e", 1)


def test_the_library_reads_it_and_is_read(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    ours = {"a": T.tensor([[1.0, 2.0]]), "b": T.tensor([3])}
    safetensors.save_file(ours, tmp_path / "a")
    assert {k: v.tolist() for k, v in library.load_file(tmp_path / "a").items()} == {"a": [[1, 2]], "b": [3]}
    library.save_file({k: v.numpy() for k, v in ours.items()}, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert repr(safetensors.load_file(tmp_path / "b")["a"]) == repr(ours["a"])


def file_of(header, numbers=b"\0" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


DAMAGED = [
    (b"", "header too small"), (struct.pack("<Q", 2**60) + b"{}", "header too large"), (file_of(b"{"), "invalid JSON in header"),
    (file_of(b"[]"), "invalid JSON in header"), (file_of({"a": 3}), "no dtype, shape and data_offsets"), (file_of({"a": entry("F8")}), "dtype"),
    (file_of({"a": entry(shape=(3,))}), "are not the bytes"), (file_of({"a": entry(shape=(-2,))}), "are not the bytes"),
    (file_of({"a": entry(offsets=(0, 80), shape=(20,))}), "invalid offset"), (file_of({"a": entry(), "b": entry()}), "invalid offset"),
    (file_of({"a": entry(shape=(1,), offsets=(0, 4))}), "not fully covered"), (file_of({"a": entry(shape=(1,), offsets=(4, 8))}), "invalid offset"),
    (file_of({"a": entry(shape=(2.0,))}), "are not the bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "words"), DAMAGED, ids=[w for _, w in DAMAGED])
def test_a_file_that_contradicts_itself_is_refused(data, words):
    with pytest.raises(ValueError, match=words):
        safetensors.load(data)


def test_what_the_format_cannot_say_is_refused():
    x = T.ones(2)
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        safetensors.save({"a": x, "b": x})
    with pytest.raises(ValueError, match=r"Expected a dict of \[str, torch.Tensor\] but received"):
        safetensors.save([x])
    with pytest.raises(ValueError, match="Key `a` is invalid, expected torch.Tensor but received"):
        safetensors.save({"a": 3})


def test_a_model_with_shared_parameters(tmp_path):
    def made():
        model = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Linear(2, 2))
        model[1].weight = model[0].weight
        return model

    model, other = made(), made()
    safetensors.save_model(model, tmp_path / "a")
    assert safetensors.load_model(other, tmp_path / "a") == ([], [])
    assert T.equal(other(T.ones(1, 2)), model(T.ones(1, 2)))
    with pytest.raises(RuntimeError, match="Missing key"):
        safetensors.load_model(T.nn.Sequential(*made(), T.nn.Linear(2, 2)), tmp_path / "a")
