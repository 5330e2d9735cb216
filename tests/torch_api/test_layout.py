"""How entries lie in memory: strides, storages, other dtypes for the same bytes."""

import warnings

import pytest


def test_views_of_one_tensor_have_one_storage(lib):
    x = lib.arange(6.0).reshape(2, 3)
    assert x[1].untyped_storage().data_ptr() == x.t().untyped_storage().data_ptr() == x.data_ptr()
    assert x.clone().untyped_storage().data_ptr() != x.data_ptr()
    assert x[1].untyped_storage().nbytes() == len(x.untyped_storage()) == 24


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")  # said once
def test_a_storage_of_entries_is_the_whole_memory(lib):
    x = lib.arange(6.0)[2:4]
    storage = x.storage()
    assert (len(storage), storage.tolist(), storage.dtype) == (6, [0, 1, 2, 3, 4, 5], lib.float32)
    storage[2] = 7
    assert x.tolist() == [7, 3] and lib.is_storage(storage) and not lib.is_storage(x)


def test_a_tensor_can_look_into_a_storage(lib):
    memory = lib.arange(6.0)
    x = lib.empty(0).set_(memory.untyped_storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]]
    x[0, 0] = 9
    assert memory[1] == 9


def test_a_length_of_one_keeps_its_stride_when_expanded(lib):
    assert lib.zeros(5).expand(1, 1, 5).stride() == (5, 5, 1)
    assert lib.zeros(5, 1).expand(2, 1, 5, 3).stride() == (0, 5, 1, 0)


def test_to_flatten_what_has_gaps_is_to_copy(lib):
    x = lib.ones(10)
    assert x[::2].ravel().is_contiguous() and x[::2].ravel()._base is not x
    empty = lib.ones(2, 3, 0)
    assert empty.ravel()._base is empty


def test_a_memory_format_can_be_asked_for(lib):
    x = lib.ones(2, 3, 4, 5)
    assert x.is_contiguous(memory_format=lib.contiguous_format)
    assert not x.is_contiguous(memory_format=lib.channels_last)
    assert x.permute(0, 3, 1, 2).is_contiguous(memory_format=lib.channels_last)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x: x[0, 0], r"self.dim\(\) cannot be 0"),
        (lambda x: x[:2].t(), r"self.stride\(-1\) must be 1"),
        (lambda x: x[:, :3], r"self.size\(-1\) must be divisible by 2"),
        (lambda x: x[:, 1:3], r"self.storage_offset\(\) must be divisible by 2"),
        (lambda x: x.as_strided((2, 2), (1, 1)), r"self.stride\(0\) must be divisible by 2"),
    ],
)
def test_wider_entries_must_fit_between_those_that_are_there(lib, make, said):
    with pytest.raises(RuntimeError, match=said):
        make(lib.ones(3, 4)).view(lib.float64)


@pytest.mark.parametrize("size", [(2, 4, 2**29, 2**29), (8, 8, 2**29, 2**29), (0, 4, 2**61)])
def test_more_entries_than_can_be_counted_are_refused(lib, size):
    with pytest.raises(RuntimeError, match="overflow"):
        lib.empty((), dtype=lib.float64).resize_(size)


def test_pythons_float_is_double_precision(lib):
    with warnings.catch_warnings():
        assert (lib.zeros(1, dtype=float).dtype, lib.ones(1).to(int).dtype) == (lib.float64, lib.int64)


def test_shapes_to_broadcast_are_checked(lib):
    with pytest.raises(ValueError, match="Attempting to broadcast a dimension with negative length!"):
        lib.broadcast_shapes((3, 1), (-1,))
    with pytest.raises(RuntimeError, match="Input shapes should be of type ints, a tuple of ints, or a list of ints"):
        lib.broadcast_shapes(1.5)


def test_random_tensors_for_tests_are_as_asked(lib):
    make = lib.testing.make_tensor
    x = make((3, 4), dtype=lib.int16, device="cpu", low=1, high=3)
    assert x.dtype == lib.int16 and set(x.flatten().tolist()) <= {1, 2}
    assert not make(3, 4, dtype=lib.float64, device="cpu", noncontiguous=True).is_contiguous()
    assert (make(50, dtype=lib.bool, device="cpu", exclude_zero=True)).all()
    assert make(2, dtype=lib.float32, device="cpu", requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make(2, dtype=lib.float32, device="cpu", low=2, high=1)
