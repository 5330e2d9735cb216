"""How samples become a batch: the same batches as PyTorch's."""

import collections
import importlib

import numpy as np
import pytest

import autolab

Pair = collections.namedtuple("Pair", "image label")
SAMPLES = {
    "ints": [1, 2], "floats": [1.5, 2.5], "bools": [True, False], "strings": ["a", "b"], "bytes": [b"a", b"b"],
    "arrays": [np.ones(2, "f4"), np.zeros(2, "f4")], "NumPy numbers": [np.float32(1), np.float32(2)], "0-d arrays": [np.array(1), np.array(2)],
    "tuples": [(1, 2.0), (3, 4.0)], "lists": [[1, [2]], [3, [4]]], "dicts": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    "named tuples": [Pair(1, 2), Pair(3, 4)], "ordered": [collections.OrderedDict(b=1, a=2), collections.OrderedDict(b=3, a=4)],
    "deep": [{"x": (np.arange(3), "name"), "y": [1.0]}, {"x": (np.arange(3) + 1, "other"), "y": [2.0]}],
    "a user's dict": [collections.Counter(a=1), collections.Counter(a=5)], "a user's list": [collections.UserList([1, 2]), collections.UserList([3, 4])],
    "empty lists": [[], []],
}  # fmt: skip


def described(value):
    """A batch without its library."""
    if hasattr(value, "tolist"):
        return ("tensor", str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return (type(value).__name__, {k: described(v) for k, v in value.items()})
    if isinstance(value, (list, tuple, collections.UserList)):
        return (type(value).__name__, [described(v) for v in value])
    return value


@pytest.mark.parametrize("case", SAMPLES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_batches_are_pytorchs(torch, case, function):
    here, there = (getattr(importlib.import_module(f"{lib}.utils.data"), function)(SAMPLES[case]) for lib in ("autolab", "torch"))
    assert described(here) == described(there)


def test_tensors_are_stacked_and_keep_their_history(lib):
    collate = importlib.import_module(f"{lib.__name__}.utils.data").default_collate
    x = lib.ones(2, requires_grad=True)
    batch = collate([x * 2, x * 3])
    batch.sum().backward()
    assert batch.tolist() == [[2.0, 2.0], [3.0, 3.0]] and x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (2,), (0, 3)])
def test_a_batch_keeps_dtype_and_shape(lib, dtype, shape):
    rows = [lib.ones(shape, dtype=getattr(lib, dtype)) for _ in range(3)]
    batch = importlib.import_module(f"{lib.__name__}.utils.data").default_collate(rows)
    assert batch.dtype == rows[0].dtype and tuple(batch.shape) == (3, *shape) and not batch.requires_grad


def test_tensors_of_different_shapes_are_no_batch(lib):
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        importlib.import_module(f"{lib.__name__}.utils.data").default_collate([lib.ones(2), lib.ones(3)])


def test_a_batch_owns_its_numbers(lib):
    data = importlib.import_module(f"{lib.__name__}.utils.data")
    array = np.zeros(2)
    batch = data.default_collate([array, array])
    batch[0] = 1.0
    assert array.tolist() == [0.0, 0.0] and data.default_convert(array).numpy() is not None


def test_a_table_of_ones_own_says_how_a_type_is_collated(lib):
    module = importlib.import_module(f"{lib.__name__}.utils.data.{'collate' if lib is autolab else '_utils.collate'}")
    table = {set: lambda batch, *, collate_fn_map=None: sorted(set().union(*batch)), **module.default_collate_fn_map}
    assert module.collate([{"s": {1, 2}}, {"s": {3}}], collate_fn_map=table) == {"s": [1, 2, 3]}


@pytest.mark.parametrize(("batch", "error", "opening"), [
    ([{1}, {2}], TypeError, "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'set'>"),
    ([np.array(["a"]), np.array(["b"])], TypeError, "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <U1"),
    ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
    ([None, None], TypeError, "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>"),
])  # fmt: skip
def test_what_cannot_be_collated_is_refused_in_pytorchs_words(lib, batch, error, opening):
    with pytest.raises(error) as caught:
        importlib.import_module(f"{lib.__name__}.utils.data").default_collate(batch)
    assert str(caught.value).startswith(opening)
