"""DataLoader: batches of a data set, fetched here or by workers ahead of time."""

from __future__ import annotations

import itertools
import os
import pickle
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from autolab.torch_api.generator import source
from autolab.utils.data.collate import default_collate, default_convert
from autolab.utils.data.dataset import IterableDataset
from autolab.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from autolab.utils.data.worker import AGAIN, Ended, Failure, Fetcher, Parcel, WorkerInfo, work

T = TypeVar("T")
FIXED = "batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"


class DataLoader(Generic[T]):
    """Batches of a data set: each pass over it is one epoch.

    batch_size samples at a time (None: single samples), in order, or shuffled by `generator`, or as `sampler` (numbers) or
    `batch_sampler` (lists of numbers) say; `collate_fn` makes a batch of a list of samples. `drop_last` leaves out a last batch that
    is too short. num_workers processes fetch prefetch_factor batches each ahead of time; worker_init_fn(number) is called in each;
    an exception there is raised here; timeout (seconds) is how long to wait for a batch; persistent_workers stay for the next pass.
    in_order=False gives batches as they come. Batches come through a pipe, not through shared memory. pin_memory is accepted and
    means nothing without an accelerator.
    Raises ValueError for settings that exclude each other, RuntimeError if a worker dies or takes too long.

    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    _initialized = False

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None, generator: Any = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to enable multiprocessing, "
                "otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._iterable:
                sampler = Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.num_workers, self.timeout, self.worker_init_fn = dataset, num_workers, timeout, worker_init_fn
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler
        self.generator, self.pin_memory, self.pin_memory_device = generator, pin_memory, pin_memory_device
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.multiprocessing_context = multiprocessing_context
        self.collate_fn = collate_fn or (default_collate if batch_sampler is not None else default_convert)
        self._promised: int | None = None
        self._iterator: Any = None
        self._initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: None for Python's own choice."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"
                )
            import multiprocessing.context  # absent where there are no processes, as in a browser

            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                        f"but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start method, "
                    f"but got multiprocessing_context={context}"
                )
        self._context = context

    @property
    def _numbers(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _fetching(self) -> tuple[Any, ...]:
        return self._iterable, self.batch_sampler is not None, self.collate_fn, self.drop_last

    def __iter__(self) -> Iterator[T]:
        if self.num_workers == 0:
            return Here(self)
        if not self.persistent_workers:
            return There(self)
        if self._iterator is None:
            self._iterator = There(self)
        else:
            self._iterator.begin(self)
        return self._iterator

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._numbers)  # type: ignore[arg-type]
        length = self._promised = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn about more workers than processors."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and (cores is None or self.num_workers > cores):
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in "
                f"current system is {cores}, which is smaller than what this DataLoader is going to create. Please be aware that "
                "excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid "
                "potential slowness/freeze if necessary.",
                stacklevel=3,
            )


class Endless(Sampler[None]):
    """For streams, which are not asked for numbers."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class Pass:
    """One pass over the data. What all passes share: the numbers to ask for, and the count of what was given."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.", stacklevel=3
            )
        self.loader_numbers = loader._numbers
        self.dataset, self.workers = loader.dataset, loader.num_workers
        self.base_seed = int(source(loader.generator).integers(2**63 - 1))
        self.begin(loader)

    def begin(self, loader: DataLoader[Any]) -> None:
        self.numbers, self.given, self.promised = iter(loader._numbers), 0, loader._promised

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return len(self.loader_numbers)  # type: ignore[arg-type]

    def __next__(self) -> Any:
        data = self.following()
        self.given += 1
        if self.promised is not None and self.given > self.promised:
            message = (
                f"Length of IterableDataset {self.dataset} was reported to be {self.promised}(when accessing len(dataloader)), but "
                f"{self.given} samples have been fetched. "
            )
            if self.workers:
                message += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica "
                    "at each worker: each yields everything, unless it asks get_worker_info() for its share."
                )
            warnings.warn(message, stacklevel=2)
        return data

    def following(self) -> Any:
        raise NotImplementedError


class Here(Pass):
    """A pass that fetches each batch when it is asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout:
            raise AssertionError("timeout needs workers: without them, a batch is fetched when it is asked for")
        self.fetcher = Fetcher(loader.dataset, *loader._fetching)

    def following(self) -> Any:
        return self.fetcher.fetch(next(self.numbers))


class There(Pass):
    """A pass whose batches workers fetch ahead of time.

    Batches are numbered and handed to the workers in turn, prefetch_factor to each at first, then one for each that was given.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        context = loader.multiprocessing_context or processes()
        self.stays, self.in_order, self.timeout = loader.persistent_workers, loader.in_order, loader.timeout
        self.ahead, self.turn, self.staff = loader.num_workers * (loader.prefetch_factor or 1), -1, []
        super().__init__(loader)
        for i in range(loader.num_workers):
            tasks, (receiving, sending) = context.Queue(), context.Pipe(duplex=False)
            info = WorkerInfo(i, loader.num_workers, self.base_seed + i, loader.dataset)
            arguments = tasks, sending, i, self.base_seed, Parcel(info, loader.worker_init_fn, loader._fetching)
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            sending.close()
            self.staff.append((process, tasks, receiving))
        self.let_go = weakref.finalize(self, dismiss, self.staff)
        self.ask_ahead()

    def begin(self, loader: DataLoader[Any]) -> None:
        super().begin(loader)
        self.turn += 1
        self.asked, self.next = 0, 0  # how many batches were asked for, and the number of the next one to give
        self.owner: dict[int, int] = {}  # who was asked for a batch that has not been given yet
        self.ready: dict[int, Any] = {}
        self.cycle = itertools.cycle(range(loader.num_workers))
        for _, tasks, _ in self.staff:  # from the second pass on
            tasks.put(AGAIN)
        if self.staff:
            self.ask_ahead()

    def ask_ahead(self) -> None:
        self.going = dict.fromkeys(range(len(self.staff)), True)  # whose stream has more
        for _ in range(self.ahead):
            self.ask()

    def ask(self) -> None:
        """Ask the next worker that has more for the next batch."""
        if not any(self.going.values()):
            return
        for index in self.numbers:
            worker = next(i for i in self.cycle if self.going[i])
            self.staff[worker][1].put((self.turn, self.asked, index))
            self.owner[self.asked] = worker
            self.asked += 1
            return

    def following(self) -> Any:
        while True:
            # Nobody will answer what was asked of a worker whose stream has ended since.
            while self.next < self.asked and self.next not in self.ready and not self.going.get(self.owner.get(self.next, -1)):
                self.owner.pop(self.next, None)
                self.next += 1
            if self.next >= self.asked and not self.ready:
                if not self.stays:
                    self.let_go()
                raise StopIteration
            number = self.next if self.in_order else next(iter(self.ready), -1)
            if number in self.ready:
                data = self.ready.pop(number)
                del self.owner[number]
                if self.in_order:
                    self.next += 1
                self.ask()
                if isinstance(data, Failure):
                    data.reraise()
                return data
            self.receive()

    def receive(self) -> None:
        """Wait for an answer."""
        from multiprocessing.connection import wait

        pipes = {pipe: i for i, (_, _, pipe) in enumerate(self.staff)}
        until = time.monotonic() + self.timeout if self.timeout else None
        while True:
            found = wait(list(pipes), None if until is None else max(0.0, until - time.monotonic()))
            if not found:
                raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
            for pipe in found:
                try:
                    turn, number, data = pickle.loads(pipe.recv_bytes())  # type: ignore[union-attr]
                except EOFError:
                    self.mourn(pipes[pipe])
                if turn != self.turn:  # of a pass that was broken off
                    continue
                if isinstance(data, Ended):
                    self.going[pipes[pipe]] = False
                    self.ask()
                else:
                    self.ready[number] = data
                return

    def mourn(self, worker: int) -> None:
        process = self.staff[worker][0]
        process.join(1)
        self.let_go()
        raise RuntimeError(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly with exit code {process.exitcode}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )

    def __reduce__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def processes() -> Any:
    """How Python starts processes here. Raises RuntimeError where it cannot, as in a browser."""
    try:
        import multiprocessing.connection

        return multiprocessing.get_context()
    except ImportError as error:
        raise RuntimeError(f"no worker process can be started here ({error}): use num_workers=0") from error


def dismiss(staff: list[Any]) -> None:
    """Let the workers go: those that wait at once, those in the middle of a batch after a moment."""
    for _, tasks, pipe in staff:
        tasks.put(None)
        pipe.close()
    until = time.monotonic() + 0.5
    for process, tasks, _ in staff:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.terminate()
            process.join()
        tasks.close()
        tasks.cancel_join_thread()
    staff.clear()
