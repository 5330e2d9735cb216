"""vmap: each operation runs once, on all samples, with one axis more in front. The kind of a row says how it bears it.

    elementwise   arguments of fewer axes get axes of length 1 behind the leading one, to broadcast as they would alone
    linear        an axis more in front changes nothing where settings count axes from the end
    along axes    the same, for a general row with one input whose call names its axes
    general       a loop over the samples, stacked: slow, and right for every row

Rows whose settings are shapes or keys, products, and general rows that can do better than the loop have a function of
their own, `op.batch`. These are in `autolab.rules.batch`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NoReturn

import numpy as np

from autolab.dtypes import result_type
from autolab.engine.apply import apply, explained, row_for
from autolab.engine.op import ELEMENTWISE, LINEAR, Op, from_the_end
from autolab.engine.tensor import TABLE, Tensor, new_tensor
from autolab.formula import parameters
from autolab.transforms.dual import call_by_name
from autolab.transforms.level import Level, Settings, TransformTensor, outputs_of
from autolab.transforms.taped import as_tensor

new = object.__new__

# How often a loop over the samples stood in for a batching rule, by the name of the row.
loops: Counter[str] = Counter()


AXES = {"axis", "axis1", "axis2", "source", "destination"}


class MetaArray:
    """What can be seen of one sample from inside vmap: its shape and dtype, but no number."""

    __slots__ = ("dtype", "inner", "ndim", "shape")

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.shape, self.dtype, self.ndim = inner.shape[1:], inner.dtype, inner.ndim - 1

    size = property(lambda self: math.prod(self.shape))
    strides = property(lambda self: self.inner.strides[1:])
    itemsize = property(lambda self: self.dtype.itemsize)

    def first(self) -> Any:
        """The first sample, to see how it lies in memory; all of them where there is none."""
        whole, at = self.inner, [0]
        while isinstance(whole, MetaArray):
            whole, at = whole.inner, [0, *at]
        return whole[tuple(at)] if all(whole.shape[: len(at)]) else whole

    flags = property(lambda self: self.first().flags)

    def item(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor, or asking for its numbers in another way. Inside vmap "
            "a tensor stands for all samples at once. Compute with tensors (torch.where, torch.gather), or do this outside "
            "of vmap."
        )

    __getitem__ = __int__ = __index__ = __float__ = __array__ = item

    def __bool__(self) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. Inside vmap a "
            "tensor stands for all samples at once, and they may disagree. Compute both sides and choose: "
            "torch.where(condition, a, b)."
        )


class Batched(TransformTensor):
    """A value whose axis 0 runs over the samples; the box shows the other axes.

    Most values are of no interest to the levels below, and are kept as a bare `array`: rows take it as well, and quicker. It stands
    for the value until somebody writes into it. The value of a view has to look into that of another box: `view_source` says how.
    """

    __slots__ = ("array", "meta", "view_source", "tensor")

    array: Any
    meta: MetaArray | None
    view_source: tuple[Op, Batched, Settings] | None
    tensor: Tensor | None

    @property
    def value(self) -> Any:
        """What is in the box, as a tensor of the levels below."""
        if self.tensor is None:
            if self.view_source is None:
                self.tensor = new_tensor(self.array)
            else:
                op, source, settings = self.view_source
                self.tensor = self.home.run(op, (source,), [source.value], settings)[0].value
        return self.tensor

    @property
    def payload(self) -> Any:
        if not self.home.active:
            self.home.check_active()
        if self.meta is None:
            self.meta = MetaArray(self.value.payload if self.array is None else self.array)
        return self.meta

    ndim = property(lambda self: self.payload.ndim)
    printed = "BatchedTensor(lvl={level}, bdim=0, value="

    def numbers(self) -> Any:
        self.payload.item()

    def all_numbers(self, low: Any = None, high: Any = None) -> Any:
        if self.array is None or self.version[0] or self.home.watched:
            return super().all_numbers(low, high)
        return self.array


def unknown_below(t: Tensor) -> bool:
    """Whether no level below and no graph has to hear what happens to a tensor."""
    return not t.level and t.edge is None and not t.wants_grad and (t.view_info is None or not t.requires_grad)


class Batch(Level):
    """vmap over `size` samples."""

    box = Batched
    batches = True
    escaped = "your tensor may have escaped from inside a function being vmapped: "

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness
        self._input_dims: dict[int, tuple[Any, Any, Any, int]] = {}  # inputs whose samples ran along another dim: box, value, tensor, dim

    def wrap(self, array: Any) -> Any:
        """A box around an array that the levels below need not know."""
        box: Any = new(Batched)
        box.edge = box.view_info = box.extra = box._grad = box.meta = box.view_source = box.tensor = None
        box.wants_grad, box.version, box.array = False, [0], array
        box.home, box.level = self, self.number
        return box

    def put(self, value: Any) -> Any:
        """A box around a tensor of the levels below, or around an array that they need not know."""
        box = self.wrap(value)
        if isinstance(value, Tensor):
            box.tensor, box.array = value, value.payload if unknown_below(value) else None
        return box

    def input(self, value: Any) -> Batched:
        return self.put(value)  # type: ignore[no-any-return]

    def value_and_dim(self, box: Any) -> tuple[Any, int]:
        """The value of a box with the dim of its samples: as it was handed in, if it is an input."""
        value = box.value
        entry = self._input_dims.get(id(box))
        return (value, 0) if entry is None or entry[1] is not value else entry[2:]

    def lift(self, value: Any) -> Batched:
        return self.put(self.ensure_batched(value))  # type: ignore[no-any-return]

    def constant(self, t: Any) -> Any:
        return t

    def record_view(self, box: Any, source: Any, step: Any) -> None:
        """The value looks into that of the source; here only the count of writes is shared."""
        box.version = source.version

    def size_below(self, size: tuple[int, ...]) -> tuple[int, ...]:
        return self.size, *size

    def cannot_be_written_into(self, target: Any) -> str:
        return (
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
            "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over: all samples "
            f"share `self`, of shape {list(target.shape)}. Make it for each sample (x.new_zeros(...), torch.zeros_like(x)), or use the "
            "out-of-place form."
        )

    def ensure_batched(self, v: Any) -> Any:
        """An argument that all samples share, with the leading axis."""
        if isinstance(v, np.generic):  # a copy of a number for each takes less time than a view that shows one
            one = np.empty(self.size, v.dtype)
            one.fill(v)
            return one
        return np.broadcast_to(v, (self.size, *v.shape)) if hasattr(v, "shape") else v

    def before_random(self) -> None:
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                "randomness flags on vmap or perform the randomness operation out of vmap, and map over its result too."
            )

    def apply(self, op: Op, args: Any, settings: Settings) -> Any:
        """By what is written out for the row, which gives None where there is more to do; else as every level does it."""
        if not self.active:
            self.check_active()
        if op.complex_row is not None:
            op = row_for(op, args)
        written = None if self.watched else op.batched
        box = None if written is None else written(self, *args, settings)
        return super().apply(op, args, settings) if box is None else box

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        batched = tuple([self.owns(a) for a in args])
        results = [as_tensor(out) for out in outputs_of(op, self.vectorize(op, args, values, batched, settings))]
        # A rule may give back an argument as it came; then the result must not share its memory.
        return tuple([self.put(t if op.view or not any(t is v for v in values) else TABLE["clone"](t)) for t in results])

    def vectorize(self, op: Op, args: Any, values: list[Any], batched: tuple[bool, ...], settings: Settings) -> Any:
        """The row on all samples: `values` are tensors of the levels below, or arrays."""
        if op.batch is not None:
            return self.by_rule(op, values, batched, settings)
        if op.kind == ELEMENTWISE:
            try:
                return op(*self.elementwise_inputs(op, args, values, batched), **settings)
            except (RuntimeError, ValueError) as error:
                raise explained(op, error, list(args)) from None  # in the shapes of one sample
        if op.kind == LINEAR or along_axes(op, settings):
            ndim = max(a.ndim for a, b in zip(args, batched) if b)
            return op(*[v if b else self.ensure_batched(v) for v, b in zip(values, batched)], **axes_from_end(settings, ndim))
        return self.loop(op, values, batched, settings)

    def by_rule(self, op: Op, values: list[Any], batched: tuple[bool, ...], settings: Settings) -> Any:
        """Call `op.batch`. All inputs get the leading axis, unless it asks which have it."""
        assert op.batch is not None
        if "batched" not in parameters(op.batch):
            values = [v if b else self.ensure_batched(v) for v, b in zip(values, batched)]
        names: Settings = {op.inputs[0]: values} if op.variadic else dict(zip(op.inputs, values))
        names |= {"batched": batched, "size": self.size, "row": op, "settings": op.settings | settings}
        return call_by_name(op.batch, op.settings | settings | names)

    def elementwise_inputs(self, op: Op, args: Any, values: list[Any], batched: tuple[bool, ...]) -> list[Any]:
        """The arguments of an elementwise row, with the samples where each expects them."""
        # A 0-d tensor bows to the others' dtype, or joins those of other 0-d ones; its samples together must not count for more.
        for i in op.promoted_inputs if op.promote else ():
            if batched[i] and args[i].ndim == 0:
                dtype = result_type([args[k] for k in op.promoted_inputs])
                values[i] = values[i] if values[i].dtype == dtype else values[i].astype(dtype)
        return match_ndim(self.size, values, batched)

    def loop(self, op: Op, values: list[Any], batched: tuple[bool, ...], settings: Settings) -> Any:
        """Run a row that has no rule for batches once for each sample, and stack the results."""
        loops[op.name] += 1
        if not self.size:
            raise RuntimeError(f"vmap: {op.name} runs sample by sample; without a sample the shape of its result is unknown")
        results = []
        for i in range(self.size):
            one = [v[i] if b else v for v, b in zip(values, batched)]
            results.append(outputs_of(op, apply(op, one, settings)))
        stacked = [TABLE["stack"](*outs, axis=-outs[0].ndim - 1) for outs in zip(*results)]
        return stacked[0] if op.outputs == 1 else stacked


def along_axes(op: Op, settings: Settings) -> bool:
    """Whether a row with one input works along axes that the call names: counted from the end, they are the same in a batch."""
    named = [settings.get(name, default) for name, default in op.settings.items() if name in AXES]
    return len(op.inputs) == 1 and not op.variadic and bool(named) and None not in named


def axes_from_end(settings: Settings, ndim: int) -> Settings:
    """Settings with axes counted from the end."""
    return {name: from_the_end(v, ndim) if name in AXES else v for name, v in settings.items()}


def match_ndim(size: int, values: Any, batched: tuple[bool, ...]) -> list[Any]:
    """Values of fewer axes get axes of length 1 behind the leading one."""
    most = max([getattr(v, "ndim", 0) - b for v, b in zip(values, batched)])
    ones = [(1,) * (most - v.ndim + 1) if b else () for v, b in zip(values, batched)]
    return [np.reshape(v, (size, *one, *v.shape[1:])) if one else v for v, one in zip(values, ones)]
