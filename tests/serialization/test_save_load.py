"""Files travel between autolab and PyTorch both ways, and what is loaded builds tensors and nothing else."""

import collections
import contextlib
import io
import os
import pickle
import zipfile

import numpy as np
import pytest

import autolab
from autolab import serialization

WAYS = pytest.mark.parametrize("way", ["here", *(pytest.param(f"{way} PyTorch", marks=pytest.mark.oracle) for way in ("to", "from"))])


@pytest.fixture
def ends(way, request):
    """Who writes, and who reads."""
    torch = autolab if way == "here" else request.getfixturevalue("torch")
    return (torch, autolab) if way == "from PyTorch" else (autolab, torch)


def travelled(T, L, thing, **options):
    file = io.BytesIO()
    T.save(thing, file)
    file.seek(0)
    return L.load(file, **options)


THINGS = {
    "matrix": lambda T: T.arange(6.0).reshape(2, 3), "number": lambda T: T.tensor(2.5), "empty": lambda T: T.zeros(0, 3),
    "integers": lambda T: T.tensor([1, 2]), "bools": lambda T: T.tensor([True, False]), "bytes": lambda T: T.tensor([1], dtype=T.uint8),
    "half": lambda T: T.ones(2, dtype=T.float16), "bfloat16": lambda T: T.ones(2, dtype=T.bfloat16), "double": lambda T: T.ones(2).double(),
    "leaf": lambda T: T.ones(2, requires_grad=True), "parameter": lambda T: T.nn.Parameter(T.ones(2)), "transposed": lambda T: T.ones(2, 3).t(),
    "expanded": lambda T: T.ones(2, 1).expand(2, 3), "strided": lambda T: T.arange(6.0)[1::2],
    "containers": lambda T: {"a": [T.ones(1), (T.zeros(1), None)], 3: {"x": True, "y": 1.5, "z": "text"}},
    "dtype, size, device": lambda T: (T.float16, T.Size([2, 3]), T.device("cpu"), T.bool), "set and bytes": lambda T: ({1, 2}, b"abc"),
    "ordered": lambda T: collections.OrderedDict(b=T.ones(1), a=T.zeros(1)), "big": lambda T: 2**70, "deep": lambda T: [[[[[1]]]]],
}  # fmt: skip


@WAYS
@pytest.mark.parametrize("make", THINGS.values(), ids=THINGS)
def test_things_arrive_as_they_were(ends, make):
    T, L = ends
    thing, arrived = make(T), travelled(T, L, make(T))
    assert repr(arrived) == repr(thing) == repr(make(L))


@WAYS
def test_tensors_that_share_memory_share_it_again(ends):
    T, L = ends
    x = T.zeros(2, 3)
    got = travelled(T, L, [x, x.t(), x[1, 1:], x])
    got[0][1, 1] = 7
    assert got[1][1, 1] == 7 and got[2][0] == 7 and got[3] is got[0]


@WAYS
def test_a_model_and_its_optimizer_go_on_elsewhere(ends):
    T, L = ends

    def made(M):
        M.manual_seed(0)
        model = M.nn.Sequential(M.nn.Linear(3, 4), M.nn.Tanh(), M.nn.Linear(4, 1))
        return model, M.optim.Adam(model.parameters(), lr=0.1)

    def step(M, model, optimizer):
        loss = (model(M.ones(2, 3)) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    model, optimizer = made(T)
    step(T, model, optimizer)
    state = travelled(T, L, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1})
    other, other_optimizer = made(L)
    other.load_state_dict(state["model"])
    other_optimizer.load_state_dict(state["optimizer"])
    for _ in range(3):
        assert step(L, other, other_optimizer) == pytest.approx(step(T, model, optimizer), rel=1e-4)


def test_files_are_written_by_name_or_into_an_open_file(tmp_path):
    for name in (tmp_path / "a.pt", str(tmp_path / "b.pt")):
        autolab.save(autolab.ones(2), name)
        assert autolab.load(name).tolist() == [1, 1]
    with open(tmp_path / "c.pt", "wb") as file:
        autolab.save({"x": 1}, file)
    with open(tmp_path / "c.pt", "rb") as file:
        assert autolab.load(file) == {"x": 1}


def test_numbers_are_where_pytorch_can_map_them(torch, tmp_path):
    autolab.save({"a": autolab.ones(3), "b": autolab.arange(5)}, tmp_path / "a.pt")
    assert torch.load(tmp_path / "a.pt", mmap=True)["b"].tolist() == [0, 1, 2, 3, 4]


def test_what_is_loaded_can_be_written_to():
    x = travelled(autolab, autolab, autolab.zeros(2))
    x.add_(1)
    assert x.tolist() == [1, 1]


def test_a_whole_module_comes_back_from_a_file_that_is_trusted():
    model = autolab.nn.Linear(2, 3)
    again = travelled(autolab, autolab, model, weights_only=False)
    assert autolab.equal(again.weight, model.weight) and again.weight.requires_grad


def test_where_it_was_is_accepted_as_where_it_goes(lib):
    for place in ("cpu", lib.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert travelled(lib, lib, lib.ones(2), map_location=place).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but torch.cuda.is_available"):
        travelled(lib, lib, lib.ones(2), map_location="cuda")


# -- files that nobody vouches for -------------------------------------------------------------------


class Sly:
    """A pickle of it runs a command when it is loaded."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


class Plain:
    def __init__(self):
        self.x = 3


def function_of_the_test(x):
    return x


@pytest.mark.parametrize("sly", [
    Sly(os.system, "touch /tmp/autolab-was-fooled"), Sly(eval, "1+1"), Sly(getattr, "x", "upper"), Sly(print, "x"), Sly(bytes, 3),
    Plain(), function_of_the_test, autolab.nn.Linear(1, 1), np.float64(3), np.ones(2), lambda: 0,
], ids=lambda s: type(s).__name__)  # fmt: skip
def test_only_tensors_and_containers_are_made_by_default(sly):
    file = io.BytesIO()
    try:
        autolab.save({"weights": sly}, file)
    except (AttributeError, pickle.PicklingError):
        return  # a lambda cannot be written in the first place
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"(?s)Weights only load failed.*Unsupported global: GLOBAL .* was not an allowed"):
        autolab.load(file)
    assert not os.path.exists("/tmp/autolab-was-fooled")


def test_classes_may_be_allowed(lib):
    file = io.BytesIO()
    lib.save(Plain(), file)
    with lib.serialization.safe_globals([Plain]):
        file.seek(0)
        assert lib.load(file).x == 3
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        lib.load(file)


def test_what_was_allowed_can_be_seen_and_forgotten(lib):
    lib.serialization.add_safe_globals([Plain])
    assert Plain in lib.serialization.get_safe_globals()
    lib.serialization.clear_safe_globals()
    assert lib.serialization.get_safe_globals() == []


def test_the_names_that_need_allowing_can_be_asked_for(lib):
    file = io.BytesIO()
    lib.save({"a": Plain(), "b": lib.ones(2), "c": {1}}, file)
    file.seek(0)
    assert lib.serialization.get_unsafe_globals_in_checkpoint(file) == [f"{Plain.__module__}.Plain"]


def archive(program, **files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        for name, content in {"data.pkl": program, "version": b"3\n", **files}.items():
            out.writestr(f"archive/{name}", content)
    file.seek(0)
    return file


# c: GLOBAL, R: REDUCE, b: BUILD, i and o: INST and OBJ, \x81 NEWOBJ, Q: BINPERSID
PROGRAMS = {
    "calls what it built": b"\x80\x02K\x01)R.",
    "calls a method": b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
    "an instruction for classes": b"(S'ls'\nios\nsystem\n.",
    "the other one": b"(cos\nsystem\nS'ls'\no.",
    "sets attributes of a class": b"\x80\x02ctorch\nSize\n}X\x01\x00\x00\x00aK\x01sb.",
    "makes an instance of what it may not": b"\x80\x02cbuiltins\nobject\n)\x81.",
    "appends to what is not a list": b"\x80\x02}K\x01a.",
    "names an attribute of a name": b"\x80\x04\x8c\x05torch\x8c\x0fSize.__module__\x93.",
    "a very long bytearray": b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
    "a very long tensor": b"\x80\x02ctorch\nTensor\nJ\xff\xff\xff\x7f\x85R.",
    "takes from an empty stack": b"\x80\x02R.",
    "is cut off": b"\x80\x02]q\x00K",
    "ends without a result": b"\x80\x02.",
    "encodes by another codec": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00idna\x00\x86R.",
    "is a storage that is none": b"\x80\x02K\x01Q.",
    "asks for an extension": b"\x80\x02\x82\x01.",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_does_anything_else_is_refused(program):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        autolab.load(archive(program))


def tensor_program(offset, size, stride, length=4):
    """The pickle of a float32 tensor, with these numbers."""
    import pickletools

    from autolab.serialization.writing import REBUILD_TENSOR, Pickler, Storage

    text = io.BytesIO()
    made = Pickler(text, 2)
    whole = Storage("0", np.dtype(np.float32), length)
    made.dump(_Reduced(REBUILD_TENSOR, (whole, offset, size, stride, False, collections.OrderedDict())))
    pickletools.dis(text.getvalue(), out=io.StringIO())
    return text.getvalue()


def test_no_damage_to_a_pickle_leads_anywhere_else(rng):
    file = io.BytesIO()
    autolab.save(
        {"a": autolab.ones(2, 3).t(), "b": [autolab.nn.Parameter(autolab.ones(2))], "c": {1}, "d": b"x", "e": autolab.Size([2])}, file
    )
    parts = {name.partition("/")[2]: zipfile.ZipFile(file).read(name) for name in zipfile.ZipFile(file).namelist()}
    for _ in range(200):
        program = bytearray(parts["data.pkl"])
        for place, byte in zip(rng.integers(0, len(program), 3), rng.integers(0, 256, 3)):
            program[place] = byte
        with contextlib.suppress(pickle.UnpicklingError, RuntimeError):
            autolab.load(archive(bytes(program), **{n: c for n, c in parts.items() if n.startswith("data/")}))


class _Reduced:
    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def test_a_tensor_may_not_reach_beyond_its_memory():
    memory = {"data/0": np.arange(4, dtype=np.float32).tobytes()}
    assert autolab.load(archive(tensor_program(1, (3,), (1,)), **memory)).tolist() == [1, 2, 3]
    for offset, size, stride, length in [
        (2, (3,), (1,), 4), (0, (2, 3), (2, 2), 4), (-1, (2,), (1,), 4), (1, (2,), (-1,), 4), (0, (10**12,), (1,), 4), (0, (2,), (1, 1), 4),
        (0, (2,), (1,), 5), (0, 3, 1, 4), (0, (2.0,), (1,), 4),
    ]:  # fmt: skip
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            autolab.load(archive(tensor_program(offset, size, stride, length), **memory))


def test_a_damaged_archive_says_so(tmp_path):
    autolab.save(autolab.ones(100), tmp_path / "a.pt")
    whole = (tmp_path / "a.pt").read_bytes()
    for content, words in [
        (b"", "not a zip archive"), (b"hello", "not a zip archive"), (pickle.dumps({"a": 1}), "not a zip archive"), (whole[:300], "not a zip archive"),
        (archive(b"N.", **{"constants.pkl": b""}).getvalue(), "TorchScript"),
    ]:  # fmt: skip
        with pytest.raises(RuntimeError, match=words):
            autolab.load(io.BytesIO(content))
    with pytest.raises(RuntimeError, match="file not found. The archive is damaged"):
        autolab.load(archive(tensor_program(0, (1,), (1,))))
    with pytest.raises(FileNotFoundError):
        autolab.load(tmp_path / "b.pt")


def test_compressed_files_are_not_unpacked():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("archive/data.pkl", b"N." + b" " * 10**6)
    file.seek(0)
    with pytest.raises(RuntimeError, match="compressed"):
        autolab.load(file)


def test_a_module_saved_by_pytorch_is_named_as_such(torch):
    file = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"torch.nn.modules.linear.Linear, a part of PyTorch .* Save state_dict\(\)s"):
        autolab.load(file, weights_only=False)


def test_wrong_arguments_are_refused_in_the_same_words(lib):
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        lib.load(io.BytesIO(), weights_only=True, pickle_module=pickle)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object with"):
        lib.save(lib.ones(1), 3)
    with pytest.raises(AttributeError, match=r"string|read|seek"):
        lib.load(3)


def test_the_older_format_is_not_written():
    with pytest.raises(RuntimeError, match="zip format only"):
        serialization.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)
