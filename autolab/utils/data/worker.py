"""A worker: a process that fetches batches ahead of the program that wants them."""

from __future__ import annotations

import os
import pickle
import queue
import random
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from autolab.torch_api.generator import manual_seed
from autolab.utils.data.collate import default_collate
from autolab.utils.data.dataset import fetched, rows


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, its seed, its copy of the data set.

    >>> WorkerInfo(id=1, num_workers=4, seed=7, dataset=[10, 20])
    WorkerInfo(id=1, num_workers=4, seed=7, dataset=[10, 20], worker_method='multiprocessing')
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    worker_method: str = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader: which one it is. Elsewhere None.

    >>> get_worker_info() is None
    True
    """
    return _info


class Fetcher:
    """Gets the samples of one batch (or one sample, without batches) and collates them."""

    def __init__(self, dataset: Any, iterable: bool, batches: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset, self.batches, self.collate_fn, self.drop_last = dataset, batches, collate_fn, drop_last
        self.stream = iter(dataset) if iterable else None
        self.in_one_piece = batches and not iterable and collate_fn is default_collate
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """Raises StopIteration when a stream has no more."""
        if self.in_one_piece:
            batch = rows(self.dataset, index)
            if batch is not None:
                return batch
        return self.collate_fn(self._from_stream(index) if self.stream is not None else self._by_number(index))

    def _by_number(self, index: Any) -> Any:
        return fetched(self.dataset, index) if self.batches else self.dataset[index]

    def _from_stream(self, index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.batches:
            return next(self.stream)  # type: ignore[arg-type]
        samples: list[Any] = []
        for _, sample in zip(index, self.stream):  # type: ignore[arg-type]
            samples.append(sample)
        self.ended = len(samples) < len(index)
        if not samples or (self.drop_last and self.ended):
            raise StopIteration
        return samples


ADVICE = (
    "A worker that is not forked receives its data set by pickle, which knows only what a file defines. With cloudpickle\n"
    "(`pip install cloudpickle`) it receives lambdas and the classes of a notebook too; num_workers=0 needs no worker."
)


def pickler() -> Any:
    """cloudpickle, which sends lambdas and the classes of a notebook too; pickle where it is absent."""
    try:
        import cloudpickle

        return cloudpickle
    except ImportError:
        return pickle


class Parcel:
    """What a worker needs of the program: a forked one inherits it, another one receives it pickled."""

    def __init__(self, *contents: Any) -> None:
        self.contents: Any = contents
        self.data = b""

    def __getstate__(self) -> Any:
        return advised(pickler().dumps, self.contents)

    def __setstate__(self, data: bytes) -> None:
        self.contents, self.data = None, data

    def open(self) -> Any:
        """The contents. Done late in the worker, where a failure can be reported."""
        if self.contents is None:
            self.contents = advised(pickle.loads, self.data)
        return self.contents

    def dumps(self, answer: Any) -> bytes:
        """What the program can read: it knows the classes that it sent."""
        return (pickler() if self.data else pickle).dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)


def advised(function: Any, argument: Any) -> Any:
    """Call it, and say what helps if the argument cannot travel between processes."""
    try:
        return function(argument)
    except (AttributeError, ImportError, TypeError, pickle.PicklingError) as error:
        error.add_note(ADVICE)
        raise


class Failure:
    """An exception on its way from a worker to the program."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind, self.name, self.where = type(error), type(error).__name__, where
        self.text = "".join(traceback.format_exception(error))

    def reraise(self) -> None:
        """Raise the same kind of exception, with the worker's traceback as its message."""
        message: Any = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            message = Verbatim(message)
        try:
            error = self.kind(message)
        except Exception:  # it takes other arguments
            raise RuntimeError(message) from None
        raise error


class Verbatim(str):
    """A message that KeyError prints as it is, not as a literal."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Ended:
    """Said by a worker whose stream has no more."""


AGAIN = "again"  # asks a worker to begin its stream anew, for the next pass


def work(tasks: Any, results: Any, number: int, base_seed: int, parcel: Parcel) -> None:
    """What a worker does: take (pass, number, index) from tasks, put (pass, number, pickled batch) into results, until None."""
    parent, where = os.getppid(), f"in DataLoader worker process {number}"
    random.seed(base_seed + number)
    manual_seed(base_seed + number)
    np.random.seed(np.random.SeedSequence([number, base_seed]).generate_state(4))  # noqa: NPY002 - data sets use it
    fetcher = begun(parcel, where, first=True)
    try:
        while True:
            try:
                task = tasks.get(timeout=5)
            except queue.Empty:
                if os.getppid() != parent:  # nobody is left to work for
                    return
                continue
            if task is None:
                return
            if task == AGAIN:
                fetcher = begun(parcel, where)
                continue
            turn, batch, index = task
            found = fetcher if isinstance(fetcher, Failure) else answer(fetcher, index, where)
            results.send_bytes(packed((turn, batch, found), where, parcel.dumps))
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        return


def begun(parcel: Parcel, where: str, first: bool = False) -> Fetcher | Failure:
    """A fetcher for a pass over the data, or why there is none."""
    global _info
    try:
        _info, init, settings = parcel.open()
        if first and init is not None:
            init(_info.id)
        return Fetcher(_info.dataset, *settings)
    except Exception as error:
        return Failure(error, where)


def answer(fetcher: Fetcher, index: Any, where: str) -> Any:
    try:
        return fetcher.fetch(index)
    except Exception as error:
        if isinstance(error, StopIteration) and fetcher.stream is not None:
            return Ended()
        return Failure(error, where)


def packed(message: tuple[Any, ...], where: str, dumps: Any) -> bytes:
    """Pickled here, where a failure can still be reported."""
    try:
        return dumps(message)
    except Exception as error:
        failure = message[2] if isinstance(message[2], Failure) else Failure(error, where)
        failure.kind = RuntimeError  # its class may be what cannot be pickled
        return pickle.dumps((*message[:2], failure))
