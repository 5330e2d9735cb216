"""The rarer ways to make tensors give what PyTorch's give."""

import numpy as np
import pytest

CALLS = {
    "logspace": lambda T: T.logspace(0, 2, 3), "logspace of 2": lambda T: T.logspace(-1, 1, 5, base=2, dtype=T.float64),
    "scalar_tensor": lambda T: (T.scalar_tensor(3), T.scalar_tensor(3, dtype=T.int64)), "asarray of a list": lambda T: T.asarray([1, 2.5]),
    "asarray of an array": lambda T: T.asarray(np.arange(3), dtype=T.float32), "asarray of a number": lambda T: T.asarray(3),
    "frombuffer": lambda T: T.frombuffer(bytearray(b"\1\0\0\0\2\0\0\0"), dtype=T.int32), "and a part": lambda T: T.frombuffer(bytearray(8), dtype=T.uint8, count=3, offset=2),
    "empty_strided": lambda T: (T.empty_strided((2, 3), (1, 2)).stride(), T.empty_strided((0, 3), (3, 1)).shape),
    "empty_permuted": lambda T: T.empty_permuted((2, 3, 4), (2, 0, 1)).stride(), "typed of numbers": lambda T: T.FloatTensor([1, 2]),
    "typed of sizes": lambda T: (T.LongTensor(2, 3).shape, T.LongTensor(2, 3).dtype), "typed of floats": lambda T: T.LongTensor([1.5, -1.5]),
    "typed of nothing": lambda T: T.DoubleTensor(), "Tensor of sizes": lambda T: (T.Tensor(2, 3).shape, T.Tensor(4).shape, T.Tensor(T.Size([2])).shape),
    "Tensor of numbers": lambda T: (T.Tensor([1, 2]), T.Tensor()), "new": lambda T: (T.ones(1).double().new(2, 3).dtype, T.ones(1).new([1, 2])),
    "isinstance": lambda T: [isinstance(T.ones(1), t) for t in (T.FloatTensor, T.LongTensor, T.Tensor)],
    "to a type": lambda T: (T.ones(2).type(T.DoubleTensor).dtype, T.ones(2).type(T.IntTensor)), "typename": lambda T: (T.typename(T.ones(1)), T.typename(3)),
    "facts": lambda T: [getattr(T.ones(2), n) for n in ("is_cpu", "is_cuda", "is_mps", "is_quantized", "is_meta", "layout")],
    "asked": lambda T: [T.ones(2).is_pinned(), T.ones(2).get_device(), T.get_device(T.ones(1)), T.ones(2).is_signed(), T.is_storage(T.ones(2))],
    "is_set_to": lambda T: [(x := T.ones(2)).is_set_to(x), x.is_set_to(x[:1]), x.is_same_size(x + 1)],
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_result_is_pytorchs(torch, call):
    import autolab

    assert repr(call(autolab)) == repr(call(torch))


LISTS = {
    "of tensors with dims": (lambda T: [T.ones(1), T.ones(1, 1)], [1.0, 1.0]),
    "of lists of tensors": (lambda T: [[T.ones(1)], [T.ones(1)]], [[1.0], [1.0]]),
    "of a tensor and a number": (lambda T: [T.ones(1), 2.0], [1.0, 2.0]),
    "of a number and a tensor": (lambda T: [2.0, T.ones(1)], [2.0, 1.0]),
    "of a list and a tensor of its length": (lambda T: [[1.0, 2.0], T.ones(2)], [[1.0, 2.0], [1.0, 1.0]]),
    "of several dtypes": (lambda T: [T.tensor(1), T.tensor(2.5)], [1.0, 2.5]),
}


@pytest.mark.parametrize("which", LISTS)
def test_a_list_takes_the_number_of_each_tensor_in_it(lib, which):
    make, numbers = LISTS[which]
    for found in (lib.tensor(make(lib)), lib.as_tensor(make(lib)), lib.FloatTensor(make(lib)), lib.ones(1).new_tensor(make(lib))):
        assert found.tolist() == numbers and found.dtype == lib.float32


def test_a_list_refuses_tensors_that_are_no_numbers(lib):
    for data in ([lib.ones(2), lib.ones(2)], [lib.ones(2)], [1.0, lib.ones(3)], [lib.ones(2), [1.0, 2.0]]):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            lib.tensor(data)
    with pytest.raises(ValueError, match=r"expected sequence of length 3 at dim 1 \(got 2\)"):
        lib.tensor([[1.0, 2.0, 3.0], lib.ones(2)])
    with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
        lib.tensor([lib.ones(1)], dtype=lib.int64)


def test_a_tensor_without_a_size_is_refused(lib):
    for make in (lib.ones, lib.zeros, lib.empty, lib.ones(1).new_zeros):
        with pytest.raises(TypeError, match=r'missing 1 required positional arguments: "size"'):
            make()
        assert make(()).shape == make(size=()).shape == ()
    for make in (lib.rand, lib.randn):
        with pytest.raises(TypeError, match=r"received an invalid combination of arguments - got \(\), but expected"):
            make()
        assert make(()).shape == ()


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_are_pytorchs(torch, name, n, periodic):
    import autolab

    ours, theirs = (getattr(T, f"{name}_window")(n, periodic, dtype=T.float64) for T in (autolab, torch))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-7)


def test_memory_is_shared_where_it_can_be(lib):
    x, buffer = lib.zeros(2), bytearray(4)
    assert lib.asarray(x) is x and lib.asarray(x, copy=True) is not x
    lib.frombuffer(buffer, dtype=lib.uint8).fill_(7)
    assert buffer == b"\7\7\7\7"
    with pytest.raises(ValueError, match="can't alias|can't"):
        lib.asarray([1, 2], copy=False)


REFUSED = [
    (
        lambda T: T.frombuffer(bytearray(3), dtype=T.int32),
        ValueError,
        r"buffer length \(3 bytes\) after offset \(0 bytes\) must be a multiple",
    ),
    (lambda T: T.frombuffer(bytearray(4), dtype=T.int32, count=2), ValueError, "must not be greater than actual buffer length"),
    (lambda T: T.frombuffer(bytearray(0), dtype=T.int32), ValueError, r"both buffer length \(0\) and count \(-1\) must not be 0"),
    (lambda T: T.frombuffer(bytearray(4), dtype=T.int32, offset=4), ValueError, r"offset \(4 bytes\) must be non-negative and no greater"),
    (lambda T: T.logspace(0, 1, -1), RuntimeError, "number of steps must be non-negative"),
    (lambda T: T.ones(1).cuda(), AssertionError, "Torch not compiled with CUDA enabled"),
    (lambda T: T.ones(1).pin_memory(), RuntimeError, "Cannot access accelerator device when none is available"),
    (lambda T: T.FloatTensor(2.5), TypeError, r"new\(\): data must be a sequence \(got float\)"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[r[2][:40] for r in REFUSED])
def test_wrong_arguments_are_refused_in_the_same_words(lib, call, error, words):
    with pytest.raises(error, match=words):
        call(lib)


def test_range_warns(lib):
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        assert lib.range(0, 3).tolist() == [0, 1, 2, 3]
