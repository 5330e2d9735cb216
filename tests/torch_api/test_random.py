"""Seeds repeat runs, states restore them, and every distribution has its moments."""

import math

import numpy as np
import pytest

import autolab
from autolab import Generator

N = 20_000


def moments(t):
    a = t.double().numpy()
    return a.mean(), a.var()


# name, what draws N numbers, mean, variance
DISTRIBUTIONS = [
    ("rand", lambda T: T.rand(N), 1 / 2, 1 / 12),
    ("randn", lambda T: T.randn(N), 0, 1),
    ("randint", lambda T: T.randint(0, 10, (N,)), 4.5, 99 / 12),
    ("normal", lambda T: T.normal(2.0, 3.0, (N,)), 2, 9),
    ("normal of tensors", lambda T: T.normal(T.full((N,), 2.0), T.full((N,), 3.0)), 2, 9),
    ("bernoulli", lambda T: T.bernoulli(T.full((N,), 0.3)), 0.3, 0.21),
    ("bernoulli p", lambda T: T.zeros(N).bernoulli(0.3), 0.3, 0.21),
    ("binomial", lambda T: T.binomial(T.full((N,), 10.0), T.full((N,), 0.3)), 3, 2.1),
    ("poisson", lambda T: T.poisson(T.full((N,), 4.0)), 4, 4),
    ("multinomial", lambda T: T.multinomial(T.tensor([1.0, 2.0, 0.0, 1.0]), N, True), 1.25, 1.1875),
    ("normal_", lambda T: T.zeros(N).normal_(2, 3), 2, 9),
    ("uniform_", lambda T: T.zeros(N).uniform_(-1, 3), 1, 16 / 12),
    ("bernoulli_", lambda T: T.zeros(N).bernoulli_(0.3), 0.3, 0.21),
    ("exponential_", lambda T: T.zeros(N).exponential_(2), 1 / 2, 1 / 4),
    ("geometric_", lambda T: T.zeros(N).geometric_(0.4), 2.5, 0.6 / 0.16),
    ("log_normal_", lambda T: T.zeros(N).log_normal_(0, 0.5), math.exp(1 / 8), math.exp(1 / 4) * (math.exp(1 / 4) - 1)),
    ("random_", lambda T: T.zeros(N).random_(2, 12), 6.5, 99 / 12),
]


@pytest.mark.parametrize(("draw", "mean", "variance"), [d[1:] for d in DISTRIBUTIONS], ids=[d[0] for d in DISTRIBUTIONS])
def test_a_distribution_has_its_mean_and_variance(lib, draw, mean, variance):
    lib.manual_seed(1)
    found = moments(draw(lib))
    assert found[0] == pytest.approx(mean, abs=5 * math.sqrt(variance / N))
    assert found[1] == pytest.approx(variance, rel=0.12)


def test_half_of_cauchy_numbers_lie_within_sigma_of_the_median(lib):
    lib.manual_seed(1)
    x = lib.zeros(N).cauchy_(3, 2)
    assert ((x - 3).abs() < 2).float().mean().item() == pytest.approx(0.5, abs=0.02)


def test_sampling_without_replacement_names_a_column_once(lib):
    drawn = lib.multinomial(lib.ones(50, 7), 7)
    assert drawn.dtype == lib.int64
    assert np.array_equal(np.sort(drawn.numpy(), 1), np.tile(np.arange(7), (50, 1)))


def test_columns_without_a_chance_are_never_drawn(lib):
    weights = lib.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert lib.multinomial(weights, 9, replacement=True).tolist() == [[1] * 9, [0] * 9]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_stay_below_one(lib, dtype):
    assert lib.rand(100_000, dtype=getattr(lib, dtype)).max().item() < 1


def test_integers_without_bounds_fill_what_the_dtype_holds(lib):
    for dtype, largest in ((lib.uint8, 255), (lib.bool, 1), (lib.float16, 2**11)):
        x = lib.zeros(N, dtype=dtype).random_().long()
        assert 0 <= x.min().item() and largest * 0.99 <= x.max().item() <= largest


# -- seeds and states ------------------------------------------------------------------------------


def test_a_seed_repeats_a_run_and_is_remembered(lib):
    lib.manual_seed(7)
    first = lib.randn(3)
    assert lib.initial_seed() == 7
    assert isinstance(lib.manual_seed(7), lib.Generator)
    assert lib.equal(lib.randn(3), first)


def test_seed_gives_a_run_that_nobody_had(lib):
    lib.seed()
    first = lib.randn(3)
    assert lib.seed() == lib.initial_seed()
    assert not lib.equal(lib.randn(3), first)


def test_a_state_goes_on_where_it_was_taken(lib):
    lib.randn(5), lib.randperm(5)
    state = lib.get_rng_state()
    first = [lib.randn(3), lib.randperm(9), lib.rand(2)]
    lib.set_rng_state(state)
    assert all(lib.equal(a, b) for a, b in zip(first, [lib.randn(3), lib.randperm(9), lib.rand(2)]))
    assert state.dtype == lib.uint8


def test_what_is_drawn_in_a_fork_is_not_missed_outside(lib):
    lib.manual_seed(1)
    expected = lib.rand(2)
    lib.manual_seed(1)
    with lib.random.fork_rng():
        lib.rand(100)
    assert lib.equal(lib.rand(2), expected)


def test_a_generator_of_its_own_leaves_the_common_one_alone(lib):
    g = lib.Generator().manual_seed(3)
    state = lib.get_rng_state()
    draws = [
        lib.rand(2, generator=g), lib.randn(2, generator=g), lib.randint(0, 9, (2,), generator=g), lib.randperm(5, generator=g),
        lib.normal(0.0, 1.0, (2,), generator=g), lib.bernoulli(lib.full((5,), 0.5), generator=g), lib.poisson(lib.ones(3), generator=g),
        lib.multinomial(lib.ones(4), 2, generator=g), *(
            getattr(lib.zeros(2), name + "_")(*args, generator=g)
            for name, *args in [("normal",), ("uniform",), ("bernoulli",), ("exponential",), ("geometric", 0.5), ("cauchy",),
                                ("log_normal",), ("random",)]
        ),
    ]  # fmt: skip
    assert lib.equal(lib.get_rng_state(), state)
    assert lib.equal(lib.rand(2, generator=g.manual_seed(3)), draws[0])


def test_generators_have_seed_state_and_device(lib):
    g = lib.Generator()
    assert g.initial_seed() == 67280421310721 and g.device == lib.device("cpu")
    other = lib.Generator()
    other.set_state(g.get_state())
    assert lib.equal(lib.rand(3, generator=g), lib.rand(3, generator=other))
    assert g.seed() == g.initial_seed()
    assert g.clone_state().initial_seed() == g.initial_seed()


ERRORS = [
    (lambda T: T.set_rng_state(T.zeros(3)), TypeError, "RNG state must be a torch.ByteTensor"),
    (lambda T: T.set_rng_state(T.zeros(3, dtype=T.uint8)), RuntimeError, "found the input RNG state size to be 3"),
    (lambda T: T.set_rng_state(3), TypeError, "expected a torch.ByteTensor, but got int"),
    (lambda T: T.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
    (lambda T: T.normal(0.0, -1.0, (2,)), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (lambda T: T.normal(T.zeros(3), -T.ones(3)), RuntimeError, "normal expects all elements of std >= 0.0"),
    (lambda T: T.multinomial(T.ones(2, 2, 2), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
    (lambda T: T.multinomial(T.ones(2), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
    (lambda T: T.multinomial(T.ones(2), 3), RuntimeError, r"cannot sample n_sample > prob_dist.size\(-1\) samples without repl"),
    (lambda T: T.multinomial(-T.ones(2), 1), RuntimeError, "probability tensor contains either `inf`, `nan` or element < 0"),
    (lambda T: T.multinomial(T.zeros(2), 1), RuntimeError, r"invalid multinomial distribution \(sum of probabilities <= 0\)"),
    (lambda T: T.multinomial(T.ones(2).long(), 1), RuntimeError, "multinomial only supports floating-point dtypes for input, got: Lo"),
    (lambda T: T.poisson(-T.ones(2)), RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
    (lambda T: T.poisson(T.ones(2).long()), NotImplementedError, "not implemented for 'Long'"),
    (lambda T: T.bernoulli(T.tensor([2.0])), RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false"),
    (lambda T: T.zeros(2).bernoulli_(2), RuntimeError, r"bernoulli_ expects p to be in \[0, 1\], but got p=2"),
    (lambda T: T.zeros(2).exponential_(0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    (lambda T: T.zeros(2).geometric_(0), RuntimeError, r"geometric_ expects p to be in \(0, 1\), but got p=0"),
    (lambda T: T.zeros(2).cauchy_(0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (lambda T: T.zeros(2).log_normal_(0, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    (lambda T: T.zeros(2).long().exponential_(), RuntimeError, "Exponential distribution is a continuous"),
    (lambda T: T.zeros(2).random_(3, 3), RuntimeError, "random_ expects 'from' to be less than 'to', but got from=3 >= to=3"),
    (lambda T: T.zeros(2, dtype=T.uint8).random_(300), RuntimeError, "to - 1 is out of bounds for"),
    (lambda T: T.rand(2, generator=3), TypeError, "generator"),
    (lambda T: T.Generator("cuda"), Exception, "CUDA"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_wrong_arguments_are_refused_in_the_same_words(lib, call, error, words):
    with pytest.raises(error, match=words):
        call(lib)


def test_a_generator_survives_a_copy():
    import copy
    import pickle

    g = Generator().manual_seed(5)
    autolab.rand(3, generator=g)
    for twin in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert autolab.equal(autolab.rand(3, generator=twin), autolab.rand(3, generator=g.clone_state()))
