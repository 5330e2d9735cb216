import inspect

import pytest

import autolab
from autolab import autograd, datasets, distributions, draw, func, linalg, nn, optim, trace, utils, widgets

NAMESPACES = [
    autolab, autograd, func, linalg, nn, nn.functional, nn.init, nn.utils, nn.utils.rnn, nn.utils.parametrize, nn.utils.prune,
    optim, optim.lr_scheduler, optim.swa_utils, utils.data, datasets, distributions, trace, draw, widgets,
]  # fmt: skip


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda module: module.__name__)
def test_every_public_name_says_what_it_is(namespace):
    public = {name: getattr(namespace, name) for name in namespace.__all__}
    silent = [
        name for name, value in public.items() if inspect.isroutine(value) or inspect.isclass(value) if not (value.__doc__ or "").strip()
    ]
    assert silent == []


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda module: module.__name__)
def test_every_public_name_is_there(namespace):
    assert [name for name in namespace.__all__ if not hasattr(namespace, name)] == []
