"""Batches, fetched here or by workers: the same on both sides."""

import importlib
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from autolab.utils.data import DataLoader

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),  # Python 3.12 on, for BLAS's threads
]


@pytest.fixture
def data(lib):
    return importlib.import_module(f"{lib.__name__}.utils.data")


def lists(loader):
    return [batch.tolist() for batch in loader]


def test_batches_come_in_order_the_last_one_shorter(data):
    loader = data.DataLoader(range(5), batch_size=2)
    assert lists(loader) == lists(loader) == [[0, 1], [2, 3], [4]] and len(loader) == 3


def test_a_last_batch_that_is_too_short_can_be_left_out(data):
    loader = data.DataLoader(range(5), batch_size=2, drop_last=True)
    assert lists(loader) == [[0, 1], [2, 3]] and len(loader) == 2


def test_shuffled_batches_have_every_sample_once_in_another_order_each_time(lib, data):
    loader = data.DataLoader(range(40), batch_size=8, shuffle=True, generator=lib.Generator().manual_seed(1))
    passes = [[i for batch in loader for i in batch.tolist()] for _ in range(2)]
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(40)) and passes[0] != passes[1]


def test_a_seed_repeats_a_shuffle(lib, data):
    runs = [lists(data.DataLoader(range(20), 4, shuffle=True, generator=lib.Generator().manual_seed(s))) for s in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]


def test_samples_come_as_they_are_without_batches(lib, data):
    loader = data.DataLoader([np.ones(1), 2, "three"], batch_size=None)
    one, two, three = loader
    assert isinstance(one, lib.Tensor) and (two, three) == (2, "three") and len(loader) == 3


def test_samplers_say_what_comes(data):
    assert lists(data.DataLoader(range(9), batch_size=2, sampler=[4, 3, 8])) == [[4, 3], [8]]
    assert lists(data.DataLoader(range(9), batch_sampler=[[1], [2, 3]])) == [[1], [2, 3]]


def test_inputs_and_labels_come_in_pairs(lib, data):
    pairs = data.TensorDataset(lib.arange(6.0).reshape(3, 2), lib.tensor([0, 1, 2]))
    (x, y), (x2, y2) = data.DataLoader(pairs, batch_size=2)
    assert x.tolist() == [[0, 1], [2, 3]] and y.tolist() == [0, 1] and x2.tolist() == [[4, 5]] and y2.tolist() == [2]


def test_rows_of_tensors_are_batched_as_samples_are(lib, data):
    pairs = data.TensorDataset(lib.arange(12.0).reshape(6, 2), lib.arange(6), lib.ones(6, 2, dtype=lib.float16))
    part = data.Subset(data.Subset(pairs, [5, 3, 1, 0]), [2, 0, 1])

    def one_by_one(batch):
        return data.default_collate(batch)

    for source in (pairs, part):
        batches = [list(data.DataLoader(source, batch_size=4, collate_fn=f)) for f in (None, one_by_one)]
        for a, b in zip(*batches, strict=True):
            assert [(t.dtype, t.tolist()) for t in a] == [(t.dtype, t.tolist()) for t in b]


def test_numbers_may_be_tensors_arrays_or_negative(lib, data):
    rows = data.TensorDataset(lib.arange(10, 20))
    for numbers in (lib.tensor([3, 1]), np.array([3, 1]), [3, -9], range(3, 0, -2)):
        (batch,) = next(iter(data.DataLoader(data.Subset(rows, numbers), batch_size=2)))
        assert batch.tolist() == [13, 11]
    (batch,) = next(iter(data.DataLoader(rows, batch_size=2, sampler=data.SubsetRandomSampler(lib.tensor([4, 5])))))
    assert sorted(batch.tolist()) == [14, 15]


def test_a_number_beyond_the_end_is_an_index_error(lib, data):
    with pytest.raises(IndexError, match="out of (range|bounds)"):
        next(iter(data.DataLoader(data.TensorDataset(lib.arange(3)), sampler=[5])))


def test_a_batch_of_rows_keeps_its_history_and_owns_its_memory(lib, data):
    x, y = lib.ones(3, requires_grad=True), lib.zeros(3)
    ((a, b),) = data.DataLoader(data.TensorDataset(x * 2, y), batch_size=3)
    a.sum().backward()
    b.fill_(5.0)
    assert x.grad.tolist() == [2.0, 2.0, 2.0] and y.tolist() == [0.0, 0.0, 0.0]


def test_a_function_of_ones_own_makes_the_batch(data):
    assert list(data.DataLoader(["a", "bc", "d"], batch_size=2, collate_fn="".join)) == ["abc", "d"]


def test_a_stream_is_cut_into_batches(data):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert lists(data.DataLoader(Stream(), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert lists(data.DataLoader(Stream(), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(data.DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]


def test_a_stream_that_gives_more_than_it_promised_is_warned_about(data):
    class Liar(data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

        def __len__(self):
            return 2

    loader = data.DataLoader(Liar(), batch_size=1)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="Length of IterableDataset .* was reported to be 2"):
        assert lists(loader) == [[0], [1], [2]]


def test_pinned_memory_needs_an_accelerator(data):
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert lists(data.DataLoader(range(2), pin_memory=True)) == [[0], [1]]


# -- workers -----------------------------------------------------------------------------------------


class Slow:
    """Samples that say which process fetched them; even ones take longer, so that answers overtake each other."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        time.sleep(0.005 * (i % 2 == 0))
        return i, os.getpid()


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_give_the_same_batches_in_the_same_order(data, workers):
    batches = list(data.DataLoader(Slow(), batch_size=2, num_workers=workers))
    assert [x.tolist() for x, _ in batches] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    pids = {p for _, batch in batches for p in batch.tolist()}
    assert len(pids) == workers and os.getpid() not in pids


def test_batches_may_come_as_they_are_ready(data):
    assert sorted(lists(data.DataLoader(range(7), num_workers=2, in_order=False))) == [[i] for i in range(7)]


def test_an_error_in_a_worker_reaches_the_program_with_its_traceback(data):
    class Broken(Slow):
        def __getitem__(self, i):
            if i == 3:
                raise KeyError("no sample three")
            return i

    loader = iter(data.DataLoader(Broken(), batch_size=2, num_workers=2))
    assert next(loader).tolist() == [0, 1]
    with pytest.raises(KeyError) as caught:
        next(loader)
    message = str(caught.value)
    assert message.startswith("Caught KeyError in DataLoader worker process 1.\nOriginal Traceback")
    assert 'raise KeyError("no sample three")' in message
    assert next(loader).tolist() == [4, 5]


def test_an_error_whose_class_takes_other_arguments_is_a_runtime_error(data):
    class Broken(Slow):
        def __getitem__(self, i):
            raise Odd(1, 2)

    with pytest.raises(RuntimeError, match=r"Caught Odd in DataLoader worker process 0.(.|\n)*1 and 2"):
        list(data.DataLoader(Broken(), num_workers=1))


def test_a_stream_is_shared_out_by_who_one_is(data):
    class Stream(data.IterableDataset):
        def __iter__(self):
            me = data.get_worker_info()
            return iter(range(me.id, 7, me.num_workers))

    assert data.get_worker_info() is None
    loader = data.DataLoader(Stream(), batch_size=2, num_workers=2)
    assert lists(loader) == lists(loader) == [[0, 2], [1, 3], [4, 6], [5]]


def test_every_worker_yields_a_whole_stream_that_asks_nobody(data):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

    assert lists(data.DataLoader(Stream(), batch_size=2, num_workers=2)) == [[0, 1], [0, 1], [2], [2]]


def test_a_worker_knows_its_number_its_seed_and_its_copy(data):
    class Who(Slow):
        def __getitem__(self, i):
            me = data.get_worker_info()
            return me.id, me.num_workers, me.seed, me.dataset is self

    rows = [[v.item() for v in row] for row in data.DataLoader(Who(), num_workers=2)]
    assert [r[0] for r in rows] == [0, 1] * 5 and rows[1][2] == rows[0][2] + 1 and all(r[1] == 2 and r[3] for r in rows)


def test_workers_draw_different_random_numbers_that_a_seed_repeats(lib, data):
    class Dice(Slow):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return lib.rand(1).item(), random.random(), np.random.rand()  # noqa: NPY002

    def throw(seed):
        loader = data.DataLoader(Dice(), num_workers=2, generator=lib.Generator().manual_seed(seed))
        return [[v.item() for v in row] for row in loader]

    first = throw(1)
    assert throw(1) == first != throw(2) and not {*first[0]} & {*first[1]}


def test_a_function_can_prepare_each_worker(data):
    def prepare(worker):
        data.get_worker_info().dataset.extra = 100 * worker

    class Prepared(Slow):
        def __getitem__(self, i):
            return i + self.extra

    assert lists(data.DataLoader(Prepared(), 5, num_workers=2, worker_init_fn=prepare)) == [[0, 1, 2, 3, 4], [105, 106, 107, 108, 109]]


def test_an_error_while_preparing_reaches_the_program(data):
    def prepare(worker):
        raise ValueError("not prepared")

    with pytest.raises(ValueError, match=r"Caught ValueError in DataLoader worker process 0.(.|\n)*not prepared"):
        list(data.DataLoader(range(2), num_workers=1, worker_init_fn=prepare))


def test_workers_can_stay_for_the_next_pass(data):
    loader = data.DataLoader(Slow(), batch_size=5, num_workers=2, persistent_workers=True)
    passes = [list(loader) for _ in range(2)]
    assert passes[0][0][0].tolist() == passes[1][0][0].tolist() == [0, 1, 2, 3, 4]
    assert {p for _, b in passes[0] for p in b.tolist()} == {p for _, b in passes[1] for p in b.tolist()}


def test_a_pass_that_was_broken_off_leaves_nothing_behind_for_the_next(data):
    loader = data.DataLoader(range(8), batch_size=2, num_workers=2, persistent_workers=True)
    assert next(iter(loader)).tolist() == [0, 1]
    assert lists(loader) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_workers_that_take_too_long_are_given_up(data):
    class Endless(Slow):
        def __getitem__(self, i):
            time.sleep(1)

    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        next(iter(data.DataLoader(Endless(), num_workers=1, timeout=0.2)))


def test_a_worker_that_dies_is_noticed(data):
    class Deadly(Slow):
        def __getitem__(self, i):
            os._exit(3)

    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        next(iter(data.DataLoader(Deadly(), num_workers=1)))


METHODS = multiprocessing.get_all_start_methods()
# As in a notebook: what is defined here is in no file that a new process could import.
NOTEBOOK = """
import multiprocessing, sys
from collections import namedtuple
from autolab.utils import data

Row = namedtuple("Row", "number worker")

class Numbers(data.Dataset):
    def __len__(self):
        return 5
    def __getitem__(self, i):
        return Row(i, data.get_worker_info().id)

multiprocessing.set_start_method(sys.argv[1])
loader = data.DataLoader(Numbers(), 2, num_workers=2, persistent_workers=True, collate_fn=lambda rows: rows, worker_init_fn=lambda i: None)
for _ in range(2):
    print([row for rows in loader for row in rows] == [Row(0, 0), Row(1, 0), Row(2, 1), Row(3, 1), Row(4, 0)])
"""


WITHOUT_CLOUDPICKLE = "import sys; sys.modules['cloudpickle'] = None"


def run(program, method):
    return subprocess.run([sys.executable, "-c", program, method], capture_output=True, text=True)


@pytest.mark.parametrize("method", METHODS)
def test_a_data_set_of_a_notebook_reaches_its_workers_however_they_start(method):
    done = run(NOTEBOOK, method)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_without_cloudpickle_it_is_told_what_helps():
    done = run(WITHOUT_CLOUDPICKLE + NOTEBOOK, "spawn")
    assert "lambda" in done.stderr and "pip install cloudpickle" in done.stderr and "num_workers=0" in done.stderr


def test_a_class_that_a_worker_cannot_find_is_reported_with_what_helps():
    program = NOTEBOOK.replace("collate_fn=lambda rows: rows, worker_init_fn=lambda i: None", "collate_fn=list")
    done = run(WITHOUT_CLOUDPICKLE + program, "spawn")
    assert "Caught AttributeError in DataLoader worker process 0" in done.stderr and "pip install cloudpickle" in done.stderr


@pytest.mark.parametrize("method", METHODS)
def test_the_way_workers_start_may_be_chosen(method):
    loader = DataLoader(range(4), batch_size=2, num_workers=1, multiprocessing_context=method)
    assert lists(loader) == [[0, 1], [2, 3]] and loader.multiprocessing_context.get_start_method() == method


def test_where_there_are_no_processes_only_workers_are_missed(monkeypatch):
    for name in ("multiprocessing", "multiprocessing.connection", "multiprocessing.context", "_multiprocessing"):
        monkeypatch.setitem(sys.modules, name, None)
    assert lists(DataLoader(range(2))) == [[0], [1]]
    with pytest.raises(RuntimeError, match="no worker process can be started here .*: use num_workers=0"):
        iter(DataLoader(range(2), num_workers=1))


def test_no_worker_outlives_its_pass():
    import gc
    import multiprocessing

    gc.collect()  # a pass that ended in an error lives as long as its traceback
    before = set(multiprocessing.active_children())
    list(DataLoader(range(4), num_workers=2))
    broken_off = iter(DataLoader(np.zeros((50, 100_000)), batch_size=4, num_workers=2))
    next(broken_off)
    del broken_off
    assert set(multiprocessing.active_children()) <= before


def test_what_cannot_be_pickled_is_reported():
    with pytest.raises(RuntimeError, match=r"Caught TypeError in (.|\n)*cannot pickle '_thread.lock'"):
        list(DataLoader(range(2), num_workers=1, collate_fn=lambda batch: threading.Lock()))


def test_an_exception_of_a_class_that_only_a_worker_knows_is_reported():
    def fail(batch):
        class Local(Exception):
            pass

        raise Local("of a worker")

    with pytest.raises(Exception, match=r"Caught Local in (.|\n)*of a worker"):
        list(DataLoader(range(2), num_workers=1, collate_fn=fail))


# -- messages ------------------------------------------------------------------------------------------


MESSAGES = [
    ("DataLoader([1], num_workers=-1)", ValueError, "num_workers option should be non-negative; use num_workers=0 to disable"),
    ("DataLoader([1], timeout=-1)", ValueError, "timeout option should be non-negative"),
    ("DataLoader([1], prefetch_factor=2)", ValueError, "prefetch_factor option could only be specified in multiprocessing."),
    ("DataLoader([1], persistent_workers=True)", ValueError, "persistent_workers option needs num_workers > 0"),
    ("DataLoader([1], shuffle=True, sampler=[0])", ValueError, "sampler option is mutually exclusive with shuffle"),
    ("DataLoader([1], batch_size=2, batch_sampler=[[0]])", ValueError, "batch_sampler option is mutually exclusive with batch_size"),
    ("DataLoader([1], batch_size=None, drop_last=True)", ValueError, "batch_size=None option disables auto-batching and is mutually"),
    ("DataLoader(ChainDataset([]), shuffle=True)", ValueError, "DataLoader with IterableDataset: expected unspecified shuffle option"),
    ("DataLoader(ChainDataset([]), sampler=[0])", ValueError, "DataLoader with IterableDataset: expected unspecified sampler option"),
    ("DataLoader(ChainDataset([]), batch_sampler=[[0]])", ValueError, "DataLoader with IterableDataset: expected unspecified batch_sampler"),
    ("DataLoader([1], multiprocessing_context='fork')", ValueError, "multiprocessing_context can only be used with multi-process loading"),
    ("DataLoader([1], num_workers=1, multiprocessing_context='x')", ValueError, "multiprocessing_context option should specify a valid"),
    ("DataLoader([1], num_workers=1, multiprocessing_context=3)", TypeError, "multiprocessing_context option should be a valid context"),
    ("setattr(DataLoader([1]), 'batch_size', 2)", ValueError, "batch_size attribute should not be set after DataLoader is initialized"),
    ("DataLoader([1], batch_size=0)", ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
    ("DataLoader([], shuffle=True)", ValueError, "num_samples should be a positive integer value, but got num_samples=0"),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "error", "opening"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_settings_that_exclude_each_other_are_refused_in_pytorchs_words(data, snippet, error, opening):
    with pytest.raises(error) as caught:
        eval(snippet, vars(data))
    assert str(caught.value).startswith(opening)


@pytest.mark.filterwarnings("default")
def test_more_workers_than_processors_are_warned_about(data):
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in total. Our suggested max number"):
        data.DataLoader([1], num_workers=1000)
