"""Random tensors, by distribution. All take `generator=`; NumPy draws the numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules.elementwise import copy
from autolab.torch_api import inplace
from autolab.torch_api.complex_numbers import view_as_real
from autolab.torch_api.creation import _floating, _like, finish, numpy_dtype
from autolab.torch_api.dims import lengths_of, require_floats, require_tensor
from autolab.torch_api.generator import source
from autolab.torch_api.public import method, public
from autolab.torch_api.sampling import sampled


@public(creates=True)
@sampled
def rand(*sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
         generator: Any = None, layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1). Raises NotImplementedError for a dtype of integers.

    >>> x = rand(2, 3)
    >>> x.shape, ((x >= 0) & (x < 1)).all()
    (torch.Size([2, 3]), tensor(True))
    """
    lengths = lengths_of(sizes, "rand", size)
    if dtype is not None and _floating(dtype) in dtypes.COMPLEX:  # both parts
        pairs = source(generator).random((*lengths, 2))
        return finish((pairs[..., 0] + 1j * pairs[..., 1]).astype(_floating(dtype)), requires_grad, device)
    array = np.asarray(source(generator).random(lengths))
    return finish(_below_one(array, _only_floats(dtype, "check_uniform_bounds")), requires_grad, device)


def _below_one(array: Any, dtype: Any) -> Any:
    """Uniform numbers in another dtype; what is rounded up to 1 there becomes the number before it."""
    if dtype == np.float64:
        return array
    return np.minimum(array.astype(dtype), np.asarray(1 - np.exp2(-{2: 8, 4: 24}[dtype.itemsize])).astype(dtype))


@public(creates=True)
@sampled
def randn(*sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          generator: Any = None, layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Normal numbers with mean 0 and variance 1. Raises NotImplementedError for a dtype of integers.

    >>> randn(2, 3).shape, randn(10_000).std().round(decimals=1)
    (torch.Size([2, 3]), tensor(1.))
    """
    lengths = lengths_of(sizes, "randn", size)
    if dtype is not None and _floating(dtype) in dtypes.COMPLEX:  # variance 1, half of it in each part
        pairs = np.asarray(source(generator).standard_normal((*lengths, 2))) * math.sqrt(0.5)
        return finish((pairs[..., 0] + 1j * pairs[..., 1]).astype(_floating(dtype)), requires_grad, device)
    array = np.asarray(source(generator).standard_normal(lengths))
    return finish(array.astype(_only_floats(dtype, "normal_kernel_cpu")), requires_grad, device)


def _only_floats(dtype: Any, kernel: str) -> Any:
    found = _floating(dtype)
    if found not in dtypes.FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.of(found).title}'. Use randint for integers.")
    return found


@public(creates=True)
@sampled
def randint(low: int, high: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
            requires_grad: bool = False, generator: Any = None) -> Tensor:  # fmt: skip
    """Integers in [low, high), or in [0, low) when called as randint(high, size). Raises RuntimeError for low >= high.

    >>> x = randint(1, 7, (100,))
    >>> x.min(), x.max(), x.dtype
    (tensor(1), tensor(6), torch.int64)
    """
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not isinstance(size, list | tuple):
        raise TypeError(f"randint(): argument 'size' (position 2) must be tuple of ints, not {type(size).__name__}")
    if dtype is not None and numpy_dtype(dtype, "randint") in dtypes.COMPLEX:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    array = np.asarray(source(generator).integers(low, high, lengths_of((size,), "randint")))
    return finish(array.astype(np.int64 if dtype is None else numpy_dtype(dtype, "randint")), requires_grad, device)


@public(creates=True)
@sampled
def randperm(n: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, generator: Any = None) -> Tensor:
    """The integers 0 to n-1 in random order.

    Shapes: (n,) int64 unless a dtype is given.

    >>> randperm(5).sort().values
    tensor([0, 1, 2, 3, 4])
    """
    lengths_of((n,), "randperm")
    array = source(generator).permutation(n)
    return finish(array.astype(np.int64 if dtype is None else numpy_dtype(dtype, "randperm")), requires_grad, device)


rand_like, randn_like = public()(sampled(_like(rand, shared=True))), public()(sampled(_like(randn, shared=True)))


@public()
@sampled
def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: Any = None, device: Any = None,
                 requires_grad: bool = False, generator: Any = None) -> Tensor:  # fmt: skip
    """`randint` with the shape, and by default the dtype, of another tensor.

    >>> randint_like(zeros(2, 3), 10).shape
    torch.Size([2, 3])
    """
    low, high = (0, low) if high is None else (low, high)
    like = input.dtype if dtype is None else dtype
    return randint(low, high, tuple(input.shape), dtype=like, device=device, requires_grad=requires_grad, generator=generator)


@public(method=True)
@sampled
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probability given by each entry (or by p), else 0; of the shape and dtype of input.

    Raises RuntimeError for probabilities outside of [0, 1].

    >>> bernoulli(tensor([0., 1., 1.]))
    tensor([0., 1., 1.])
    """
    require_tensor(input, "bernoulli")
    if p is not None:
        chances: Any = np.full(input.payload.shape, _probability(p))
    else:
        require_floats(input, "bernoulli_tensor_cpu_p_")
        chances = _probabilities(input)
    drawn = finish(np.asarray(source(generator).random(chances.shape) < chances).astype(input.payload.dtype))
    return copy(input, drawn) if input.requires_grad else drawn  # its gradient is 0, as in PyTorch


def _probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return p


def _probabilities(p: Tensor) -> Any:
    chances = p.numbers().astype(np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: the probabilities must lie in [0, 1].")
    return chances


@public()
@sampled
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """How many of `count` tries succeed with probability `prob`, entry by entry. Shapes: two that broadcast.

    Raises RuntimeError for prob outside of [0, 1].

    >>> binomial(tensor([10., 10.]), tensor([0., 1.]))
    tensor([ 0., 10.])
    """
    for name, t in (("count", count), ("prob", prob)):
        if require_tensor(t, "binomial", name).payload.dtype not in dtypes.FLOATING:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {t.dtype}. Convert it: {name}.float().")
    found = np.asarray(source(generator).binomial(count.numbers().astype(np.int64), _probabilities(prob)))
    return finish(found.astype(count.payload.dtype))


@public(method=True, out=True)
@sampled
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Column numbers drawn with chances in proportion to the entries of each row.

    Shapes: input (N, C) or (C,) floats >= 0; result (N, num_samples) or (num_samples,) int64.
    Raises RuntimeError for more samples than columns without replacement, and for rows without any chance.

    >>> multinomial(tensor([0., 1., 0.]), 3, replacement=True)
    tensor([1, 1, 1])
    >>> multinomial(ones(2, 4), 3).shape
    torch.Size([2, 3])
    """
    if input.payload.dtype not in dtypes.FLOATING:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.title}")
    weights = input.numbers().astype(np.float64)
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim: this one has shape {list(weights.shape)}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples: num_samples is {num_samples}")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} of {weights.shape[-1]}")
    if weights.shape[-1] > 2**24:
        raise RuntimeError(f"number of categories cannot exceed 2^24, but there are {weights.shape[-1]}")
    if replacement and (weights < 0).any():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if replacement and not np.isfinite(weights).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    total = weights.sum(-1, keepdims=True)
    if not (total > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    rng = source(generator)
    if replacement:
        rows = [_drawn(row, rng, num_samples) for row in weights.reshape(-1, weights.shape[-1])]
        return new_tensor(dtypes.as_places(np.array(rows)).reshape(*weights.shape[:-1], num_samples))
    # The largest of weight / exponential are drawn as if one by one (Efraimidis and Spirakis 2006).
    keys = np.divide(weights, rng.standard_exponential(weights.shape))
    return new_tensor(dtypes.as_places(np.argsort(-keys, axis=-1)[..., :num_samples]))


def _drawn(weights: Any, rng: Any, n: int) -> Any:
    """n places, with replacement: where a uniform number falls among the summed weights."""
    sums = weights.cumsum()
    places = np.searchsorted(sums, rng.random(n) * sums[-1], side="right")
    return np.minimum(places, np.flatnonzero(weights)[-1])


@public(out=True)
@sampled
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None,
           requires_grad: bool = False, layout: Any = None) -> Tensor:  # fmt: skip
    """Normal numbers. mean and std: two numbers and a size, or tensors that broadcast, each entry for one number.

    Raises RuntimeError for a negative std, TypeError for two numbers without a size.

    >>> torch.normal(tensor([0., 100.]), 1.0).round(decimals=-2)
    tensor([  0., 100.])
    >>> torch.normal(0.0, 1.0, (2, 3)).shape
    torch.Size([2, 3])
    """
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    for t in tensors:
        require_floats(t, "normal_kernel_cpu")
    if isinstance(std, Tensor):
        if not (std.numbers() >= 0).all():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if not tensors:
        if size is None:
            raise TypeError("normal() with two numbers needs a size: normal(0., 1., (3,))")
        shape, kind = lengths_of((size,), "normal"), _floating(dtype)
    else:
        shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
        kind = tensors[0].payload.dtype
    m, s = (t.numbers().astype(np.float64) if isinstance(t, Tensor) else t for t in (mean, std))
    return finish(np.asarray(m + s * source(generator).standard_normal(shape)).astype(kind), requires_grad, device)


@public()
@sampled
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """How many events come where `input` are expected, entry by entry; of its shape and dtype. Raises RuntimeError for a negative rate.

    >>> poisson(tensor([0., 0.]))
    tensor([0., 0.])
    >>> poisson(torch.full((1000,), 4.0)).mean().round()
    tensor(4.)
    """
    require_floats(require_tensor(input, "poisson"), "poisson_cpu")
    rate = input.numbers().astype(np.float64)
    if not (rate >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return finish(np.asarray(source(generator).poisson(rate)).astype(input.payload.dtype))


@public()
@sampled
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Waiting times for `input` events at a rate of 1, entry by entry; of its shape and dtype. They have no gradient here."""
    require_floats(require_tensor(input, "_standard_gamma"), "gamma_cpu")
    drawn = source(generator).standard_gamma(input.numbers().astype(np.float64))
    return finish(np.asarray(np.maximum(drawn, np.finfo(input.payload.dtype).tiny)).astype(input.payload.dtype))


@public()
@sampled
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Shares that add up to 1 along the last dim, for these concentrations; of its shape and dtype. They have no gradient here."""
    require_floats(require_tensor(input, "_sample_dirichlet"), "dirichlet")
    drawn = source(generator).standard_gamma(input.numbers().astype(np.float64))
    return finish(np.asarray(drawn / drawn.sum(-1, keepdims=True)).astype(input.payload.dtype))


def _fill(self: Tensor, values: Any) -> Tensor:
    return inplace.copy_(self, new_tensor(dtypes.cast(np.asarray(values), self.payload.dtype)))


@method
@sampled
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 with probability p (a number, or a tensor that broadcasts), else 0. Raises RuntimeError for p outside of [0, 1].

    >>> zeros(3).bernoulli_(1)
    tensor([1., 1., 1.])
    """
    chances = _probabilities(p) if isinstance(p, Tensor) else _probability(p)
    return _fill(self, source(generator).random(tuple(self.shape)) < chances)


@method
@sampled
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers of a Cauchy distribution: median, and half the width between the quartiles. Raises RuntimeError for sigma <= 0.

    >>> zeros(1001).cauchy_(median=5).median().round()
    tensor(5.)
    """
    _only_continuous(self, "Cauchy")
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return _fill(self, median + sigma * source(generator).standard_cauchy(tuple(self.shape)))


@method
@sampled
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with waiting times at a rate of lambd: mean 1 / lambd. Raises RuntimeError for lambd <= 0.

    >>> zeros(1000).exponential_(lambd=0.1).mean().round(decimals=-1)
    tensor(10.)
    """
    _only_continuous(self, "Exponential")
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _fill(self, source(generator).standard_exponential(tuple(self.shape)) / lambd)


def _only_continuous(self: Tensor, name: str) -> None:
    if self.payload.dtype not in dtypes.FLOATING:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you specified "
            f"{self.dtype.title}"
        )


@method
@sampled
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of tries up to the first success, each with probability p: 1, 2, ...

    Raises RuntimeError for p outside of (0, 1).

    >>> zeros(100).geometric_(0.5).min()
    tensor(1.)
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _fill(self, source(generator).geometric(p, tuple(self.shape)))


@method
@sampled
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers whose logarithm is normal with this mean and standard deviation. Raises RuntimeError for std <= 0.

    >>> (zeros(100).log_normal_() > 0).all()
    tensor(True)
    """
    require_floats(self, "log_normal_cpu")
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return _fill(self, np.exp(mean + std * source(generator).standard_normal(tuple(self.shape))))


@method
@sampled
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers. Raises RuntimeError for std < 0.

    >>> zeros(1000).normal_(mean=5).mean().round()
    tensor(5.)
    """
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if self.payload.dtype in dtypes.COMPLEX:  # half of the variance in each part
        normal_(view_as_real(self), 0, std * math.sqrt(0.5), generator=generator)
        return self.add_(mean) if mean else self
    require_floats(self, "normal_kernel_cpu")
    return _fill(self, mean + std * source(generator).standard_normal(tuple(self.shape)))


@method
@sampled
def random_(self: Tensor, *bounds: int, generator: Any = None, **named: int) -> Tensor:
    """Fill with integers in [from, to): random_(to), random_(from, to); by default all that the dtype holds exactly from 0 on.

    Raises RuntimeError for from >= to, and for numbers that the dtype cannot hold.

    >>> x = zeros(100).random_(1, 7)
    >>> x.min(), x.max()
    (tensor(1.), tensor(6.))
    """
    low, high = (0, *bounds)[-2:] if bounds else (named.get("from", 0), named.get("to"))
    d = self.payload.dtype
    if d in dtypes.FLOATING:
        largest = 2 ** {np.dtype(np.float64): 53, np.dtype(np.float32): 24, np.dtype(np.float16): 11}.get(d, 8)
    else:
        largest = 1 if d == np.bool_ else int(np.iinfo(d).max)
    if high is None:
        high = largest + 1
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if d not in dtypes.FLOATING and high - 1 > largest:
        raise RuntimeError(f"to - 1 is out of bounds for {self.dtype.name}: {high - 1}, and it holds up to {largest}")
    return _fill(self, source(generator).integers(low, high - 1, tuple(self.shape), endpoint=True))


@method
@sampled
def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None, **named: float) -> Tensor:
    """Fill with uniform numbers from [a, b). PyTorch's names for the bounds, `from` and `to`, are taken too. Raises RuntimeError for a > b.

    >>> x = zeros(100).uniform_(-1, 1)
    >>> ((x >= -1) & (x < 1)).all()
    tensor(True)
    """
    a, b = named.get("from", a), named.get("to", b)
    if self.payload.dtype in dtypes.COMPLEX:  # both parts
        uniform_(view_as_real(self), a, b, generator=generator)
        return self
    require_floats(self, "check_uniform_bounds")
    if a > b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}")
    return _fill(self, a + (b - a) * source(generator).random(tuple(self.shape)))
