"""vmap over indices, and over what is indexed: where an axis more in front is most easily put in the wrong place."""

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.transforms.batched import loops

X = autolab.tensor(np.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5))
ROWS = autolab.tensor([[0, 2], [1, 1]])


@pytest.mark.parametrize(
    "key",
    [
        ([0, 2, 1],),
        (slice(None), [3, 0]),
        ([0, 1], slice(None), [4, 2]),  # apart: NumPy puts the indices' axes in front
        ([[0, 1], [2, 0]], slice(1, 3), [1, 4]),
        (slice(None), [3, 0], [1, 1]),
        (None, [0, 1], slice(None), [4, 2]),
        (X[0, :, :, 0] > 11,),
        (..., X[0, 0, 0] > 1),
        ([1, 2], 2, slice(None, None, 2)),
        (1, ..., [0, 0]),
    ],
)
def test_a_key_means_for_each_sample_what_it_means_alone(key):
    loops.clear()
    close(func.vmap(lambda x: x[key])(X), autolab.stack([x[key] for x in X]))
    per_sample = func.grad(lambda x: (x[key] ** 2).sum())
    close(func.vmap(per_sample)(X), autolab.stack([per_sample(x) for x in X]))
    close(func.grad(lambda xs: (func.vmap(lambda x: x[key])(xs) ** 2).sum())(X), autolab.stack([per_sample(x) for x in X]))
    assert not loops


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_indices_may_differ_between_samples(dim, in_dims):
    x, i = (X if in_dims[0] == 0 else X[0]), (ROWS if in_dims[1] == 0 else ROWS[0])
    alone = [(X[k] if in_dims[0] == 0 else x, ROWS[k] if in_dims[1] == 0 else i) for k in range(2)]
    pick = lambda x, i: x.index_select(dim, i)
    loops.clear()
    close(func.vmap(pick, in_dims)(x, i), autolab.stack([pick(*a) for a in alone]))
    add = lambda x, i: x.index_add(dim, i, pick(x, i) * 10)
    close(func.vmap(add, in_dims)(x, i), autolab.stack([add(*a) for a in alone]))
    assert not loops


def test_one_index_for_each_sample():
    i = autolab.tensor([2, 0])
    close(func.vmap(lambda x, i: x[i])(X, i), autolab.stack([X[0, 2], X[1, 0]]))
    close(func.vmap(lambda x, i: x[1:, i, None])(X, i), autolab.stack([X[0, 1:, 2, None], X[1, 1:, 0, None]]))


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
def test_tables_and_indices_of_an_embedding_may_differ(in_dims):
    tables = X[:, 0]
    table, i = (tables if in_dims[0] == 0 else tables[0]), (ROWS if in_dims[1] == 0 else ROWS[0])
    look = lambda table, i: (autolab.nn.functional.embedding(i, table) ** 2).sum()
    each = [(tables[k] if in_dims[0] == 0 else table, ROWS[k] if in_dims[1] == 0 else i) for k in range(2)]
    loops.clear()
    close(func.vmap(look, in_dims)(table, i), autolab.stack([look(*e) for e in each]))
    close(func.vmap(func.grad(look), in_dims)(table, i), autolab.stack([func.grad(look)(*e) for e in each]))
    assert not loops


def test_one_hot_of_each_sample():
    one_hot = autolab.nn.functional.one_hot
    close(func.vmap(lambda i: one_hot(i, 4))(ROWS), one_hot(ROWS, 4))
    with pytest.raises(RuntimeError, match="vmap"):  # one sample does not know how many classes there are
        func.vmap(one_hot)(ROWS)


def test_class_weights_may_differ_between_samples():
    rng = np.random.default_rng(0)
    x, y = autolab.tensor(rng.standard_normal((3, 4, 5))), autolab.tensor(rng.integers(0, 5, (3, 4)))
    w = autolab.tensor(rng.random((3, 5)))
    for reduction in ("mean", "sum", "none"):
        loss = lambda x, y, w, r=reduction: autolab.nn.functional.nll_loss(x, y, w, ignore_index=2, reduction=r)
        close(func.vmap(loss)(x, y, w), autolab.stack([loss(*a) for a in zip(x, y, w, strict=True)]))


def close(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-12, 1e-12)


def test_losses_and_unpooling_check_the_indices_of_all_samples():
    F = autolab.nn.functional
    x = autolab.rand(2, 3, 4)
    labels = autolab.tensor([[[0, 2, -1, 0]] * 3, [[3, -1, 1, 1]] * 3])
    assert autolab.vmap(F.multilabel_margin_loss)(x, labels).tolist() == [F.multilabel_margin_loss(a, b).item() for a, b in zip(x, labels)]
    with pytest.raises(RuntimeError, match="target out of range"):
        autolab.vmap(F.multilabel_margin_loss)(x, labels + 3)
    pooled, places = F.max_pool1d(x, 2, return_indices=True)
    assert autolab.vmap(lambda p, i: F.max_unpool1d(p, i, 2))(pooled, places).tolist() == F.max_unpool1d(pooled, places, 2).tolist()
    with pytest.raises(RuntimeError, match="invalid max index"):
        autolab.vmap(lambda p, i: F.max_unpool1d(p, i, 2))(pooled, places + 3)


def test_no_index_at_all_gives_empty_samples():
    none = autolab.zeros(2, 0, dtype=autolab.int64)
    assert autolab.vmap(autolab.take)(autolab.ones(2, 3), none).shape == (2, 0)
    assert autolab.vmap(lambda x, i: x.index_select(0, i))(autolab.ones(2, 3, 4), none).shape == (2, 0, 4)
