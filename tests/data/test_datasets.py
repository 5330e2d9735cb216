"""Where samples come from."""

import pytest


@pytest.fixture
def data(lib):
    import importlib

    return importlib.import_module(f"{lib.__name__}.utils.data")


class Squares:
    """A data set of plain numbers."""

    def __init__(self, n, start=0):
        self.n, self.start = n, start

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i >= self.n:
            raise IndexError(i)
        return (self.start + i) ** 2


def stream(data, items):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(items)

        def __len__(self):
            return len(items)

    return Stream()


def test_tensors_are_read_along_their_first_dimension(lib, data):
    pairs = data.TensorDataset(lib.arange(6).reshape(3, 2), lib.arange(3))
    x, y = pairs[1]
    assert len(pairs) == 3 and x.tolist() == [2, 3] and y.item() == 1
    assert [t.tolist() for t in pairs[1:]] == [[[2, 3], [4, 5]], [1, 2]]


def test_data_sets_side_by_side_give_tuples_or_dicts(data):
    assert data.StackDataset(Squares(3), "abc")[2] == (4, "c")
    named = data.StackDataset(number=Squares(3), letter="abc")
    assert named[1] == {"number": 1, "letter": "b"} and len(named) == 3
    assert named.__getitems__([0, 2]) == [{"number": 0, "letter": "a"}, {"number": 4, "letter": "c"}]


def test_a_sum_of_data_sets_is_numbered_through(data):
    class Numbers(Squares, data.Dataset):
        pass

    both = Numbers(2) + Numbers(3, 10)
    assert [both[i] for i in range(5)] == [0, 1, 100, 121, 144] and both[-1] == 144 and len(both) == 5
    assert both.cumulative_sizes == [2, 5]


def test_a_sum_of_streams_is_one_stream(data):
    both = stream(data, [1, 2]) + stream(data, [3])
    assert list(both) == [1, 2, 3] and len(both) == 3


def test_a_subset_has_the_numbers_it_was_given(data):
    part = data.Subset(Squares(10), [7, 2])
    assert list(part) == [49, 4] and len(part) == 2 and part.__getitems__([1, 0]) == [4, 49]


def test_a_batch_is_asked_for_at_once_where_a_data_set_can(data):
    class AtOnce(Squares):
        def __getitems__(self, numbers):
            return [("at once", i) for i in numbers]

    assert data.Subset(AtOnce(5), [3, 4]).__getitems__([0]) == [("at once", 3)]
    assert data.StackDataset(AtOnce(2), "ab").__getitems__([1]) == [(("at once", 1), "b")]
    assert list(data.DataLoader(AtOnce(2), batch_size=2, collate_fn=list)) == [[("at once", 0), ("at once", 1)]]


@pytest.mark.parametrize(("lengths", "counts"), [([7, 3], [7, 3]), ([0.5, 0.5], [5, 5]), ([0.33, 0.33, 0.34], [4, 3, 3]), ([1.0], [10])])
def test_a_random_split_loses_no_sample_and_doubles_none(lib, data, lengths, counts):
    parts = data.random_split(range(10), lengths)
    assert [len(part) for part in parts] == counts
    assert sorted(i for part in parts for i in part) == list(range(10))


def test_a_split_with_a_seeded_generator_can_be_repeated(lib, data):
    splits = [[list(p) for p in data.random_split(range(20), [10, 10], generator=lib.Generator().manual_seed(s))] for s in (1, 1, 2)]
    assert splits[0] == splits[1] != splits[2]


def test_an_empty_part_is_warned_about(data):
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0. This might result in an empty dataset."):
        data.random_split(range(1), [0.5, 0.5])


def test_data_sets_can_be_annotated(data):
    assert issubclass(data.Dataset[int].__origin__, data.Dataset)
    assert data.DataLoader[int] and data.Sampler[int]


MESSAGES = [
    ("Dataset()[0]", NotImplementedError, "Subclasses of Dataset should implement __getitem__."),
    ("TensorDataset(lib.ones(2), lib.ones(3))", AssertionError, "Size mismatch between tensors"),
    ("StackDataset()", ValueError, "At least one dataset should be passed"),
    ("StackDataset([1], [1, 2])", ValueError, "Size mismatch between datasets"),
    ("StackDataset(a=[1], b=[1, 2])", ValueError, "Size mismatch between datasets"),
    ("StackDataset([1], b=[1])", ValueError, "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input"),
    ("ConcatDataset([])", AssertionError, "datasets should not be an empty iterable"),
    ("ConcatDataset([ChainDataset([])])", AssertionError, "ConcatDataset does not support IterableDataset"),
    ("ConcatDataset([[1], [2]])[-3]", ValueError, "absolute value of index should not exceed dataset length"),
    ("list(ChainDataset([[1]]))", AssertionError, "ChainDataset only supports IterableDataset"),
    ("random_split(range(3), [1, 1])", ValueError, "Sum of input lengths does not equal the length of the input dataset!"),
    ("random_split(range(3), [1.5, -0.5])", ValueError, "Fraction at index 0 is not between 0 and 1"),
    ("type('Mine', (Subset,), {'__getitem__': lambda self, i: i})([1], [0])", NotImplementedError,
     "Mine overrides __getitem__ but not __getitems__. When subclassing Subset and overriding __getitem__, you must also override"),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "error", "opening"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_wrong_data_is_refused_in_pytorchs_words(lib, data, snippet, error, opening):
    with pytest.raises(error) as caught:
        eval(snippet, {**vars(data), "lib": lib})
    assert str(caught.value).startswith(opening)
