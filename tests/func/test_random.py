"""Random numbers inside vmap: refused, the same for all samples, or for each sample those that a loop would draw."""

import pytest

import autolab
from autolab import func

pytestmark = pytest.mark.lesson13

XS = autolab.tensor([[0.2, 0.5, 0.9], [0.1, 0.7, 0.4]])
F = autolab.nn.functional

DRAWS = {
    "rand": lambda x: autolab.rand(3) + x,
    "randn": lambda x: autolab.randn(2, 2),
    "randint": lambda x: autolab.randint(0, 100, (4,)),
    "randperm": lambda x: autolab.randperm(6),
    "rand_like": lambda x: autolab.rand_like(x),
    "bernoulli": lambda x: autolab.bernoulli(x),
    "gamma": lambda x: autolab._standard_gamma(x + 1),
    "dirichlet": lambda x: autolab._sample_dirichlet(x + 1),
    "normal": lambda x: autolab.normal(x, 0.5),
    "multinomial": lambda x: autolab.multinomial(x, 2),
    "normal_": lambda x: x.clone().normal_(),
    "uniform_ in a view": lambda x: [y := x * 1, y[1:].uniform_(2, 3)][0],
    "dropout": lambda x: F.dropout(x, 0.5),
    "dropout1d": lambda x: F.dropout1d(x[:, None].expand(3, 4), 0.5),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, training=True),
    "rrelu": lambda x: F.rrelu(-x, training=True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x),
    "twice": lambda x: autolab.rand(2) * autolab.randn(2),
    "a gradient": func.grad(lambda x: (x * autolab.rand(3) * F.dropout(x)).sum()),
    "a product with the jacobian": lambda x: func.jvp(lambda x: x * autolab.rand(3), (x,), (x,))[1],
}
ONE_EACH = [name for name in DRAWS if name != "twice"]  # a loop draws all of the first sample before any of the second


@pytest.mark.parametrize("name", ONE_EACH)
def test_different_is_what_a_loop_draws_after_the_same_seed(name):
    autolab.manual_seed(3)
    together = func.vmap(DRAWS[name], randomness="different")(XS)
    if name == "a gradient":
        assert not together[0].equal(together[1])
        return
    autolab.manual_seed(3)
    assert together.equal(autolab.stack([DRAWS[name](x) for x in XS]))


@pytest.mark.parametrize("name", DRAWS)
def test_error_is_what_happens_unless_asked_otherwise(name):
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        func.vmap(DRAWS[name])(XS)


@pytest.mark.parametrize("name", ["randn", "randint", "randperm", "rand_like", "normal_", "twice"])
def test_same_is_the_same_for_all_samples(name):
    a, b = func.vmap(DRAWS[name], randomness="same")(XS)
    assert a.equal(b)


def test_same_mask_for_all_samples():
    ones = autolab.ones(2, 50)
    a, b = func.vmap(F.dropout, randomness="same")(ones)
    assert a.equal(b)
    a, b = func.vmap(F.dropout, randomness="different")(ones)
    assert not a.equal(b)


def test_nested_batches_draw_for_each_pair():
    inner = func.vmap(lambda x: autolab.rand(2), randomness="different")
    assert func.vmap(inner, randomness="different")(autolab.zeros(3, 4)).unique().numel() == 24
    same = func.vmap(inner, randomness="same")(autolab.zeros(3, 4))
    assert same.unique().numel() == 8 and same[0].equal(same[2])


def test_same_holds_across_chunks():
    out = func.vmap(lambda x: autolab.rand(2), randomness="same", chunk_size=2)(autolab.zeros(5, 1))
    assert out.unique().numel() == 2


def test_jacfwd_asks_what_random_means():
    f = lambda x: x * autolab.rand(3)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        func.jacfwd(f)(XS[0])
    assert func.jacfwd(f, randomness="same")(XS[0]).count_nonzero() == 3


def test_outside_of_vmap_nothing_is_asked():
    autolab.manual_seed(5)
    g = func.grad(lambda x: (x * autolab.rand(3)).sum())(XS[0])
    autolab.manual_seed(5)
    assert g.equal(autolab.rand(3))


def test_batches_of_batches_draw_as_the_loops_do():
    def noisy(x):
        return x + autolab.randn(2)

    autolab.manual_seed(0)
    drawn = func.vmap(func.vmap(noisy, randomness="different"), randomness="different")(autolab.zeros(3, 4))
    autolab.manual_seed(0)
    assert drawn.tolist() == autolab.randn(3, 4, 2).tolist()


def test_what_one_batch_shares_another_may_draw_apart():
    drawn = func.vmap(func.vmap(lambda x: autolab.rand_like(x), randomness="same"), randomness="different")(autolab.zeros(3, 4))
    assert len(set(drawn[:, 0].tolist())) == 3
    assert all(len(set(row)) == 1 for row in drawn.tolist())
