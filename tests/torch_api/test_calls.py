"""What can be called here can be called with the same names and arguments in PyTorch, and gives the same."""

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import autolab
from autolab.torch_api import generator, methods
from autolab.torch_api.families import load_families
from autolab.torch_api.public import DECLARED

from .test_errors import names

load_families()


def expressions():
    """Each entry of each line of right_calls.txt, and of right_calls_<family>.txt, by itself."""
    for line in (line for path in sorted(Path(__file__).parent.glob("right_calls*.txt")) for line in path.read_text().splitlines()):
        if line and not line.startswith("#"):
            tree = ast.parse(f"({line},)", mode="eval").body
            yield from (ast.unparse(entry) for entry in tree.elts)


CALLS = list(dict.fromkeys(expressions()))


def value(T, expression):
    M = names(T)["m"].double()
    known = {**names(T), "y": T.tensor([0.5, 1.25, 2.0]), "n": T.tensor([1, 2, 3]), "M": M, "A": M.T @ M + 3 * T.eye(3).double()}
    return eval(f"[{expression}]", known)[0]


def plain(T, result):
    """Something that can be compared."""
    if isinstance(result, T.Tensor):
        d = result.detach().resolve_conj()
        return str(result.dtype), tuple(result.shape), result.requires_grad, (d.cdouble() if d.is_complex() else d.double()).numpy()
    if isinstance(result, np.ndarray):
        return str(result.dtype), result.shape, result
    if isinstance(result, tuple | list) and not isinstance(result, T.Size):
        return [plain(T, r) for r in result]
    if isinstance(result, bool | int | float | complex | str):
        return result
    return repr(result)


def assert_same(ours, theirs):
    """Kinds, dtypes, shapes exactly; floating-point numbers but for their last digits, which are each library's own."""
    assert type(ours) is type(theirs)
    if isinstance(ours, tuple | list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            assert_same(a, b)
    elif isinstance(ours, np.ndarray | float | complex):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)
    else:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("expression", CALLS)
def test_the_same_call_gives_the_same(torch, expression):
    with warnings.catch_warnings(action="ignore"):
        ours, theirs = (plain(T, value(T, expression)) for T in (autolab, torch))
    assert_same(ours, theirs)


def called(name):
    return any(re.search(rf"\b{re.escape(name)}\b", expression) for expression in CALLS)


def test_every_public_function_is_called():
    functions = [
        n for n in autolab.__all__ if callable(getattr(autolab, n)) and getattr(autolab, n).__module__.startswith("autolab.torch_api")
    ]
    elsewhere = ("random", "dtype_info", "settings", "legacy_constructors", "more_creation", "storage")
    told_elsewhere = {"imag", "set_default_dtype", "set_printoptions", "from_dlpack", *generator.__all__}
    told_elsewhere |= {name for d in DECLARED if d.package and d.function.__module__.endswith(elsewhere) for name in d.names}
    assert [n for n in functions if not called(n) and n not in told_elsewhere] == []


def test_every_method_is_called():
    declared = [d for d in DECLARED if not d.function.__module__.endswith(("random", "legacy_constructors"))]
    named = [n for d in declared if d.method for n in d.names] + [f"{d.names[0]}_" for d in declared if d.inplace]
    public = [*named, *(n for n in methods.SPECIAL if not n.startswith("_"))]
    told_elsewhere = {"astype", "data_ptr", "names", "is_sparse", "detach", "imag", "storage"}
    assert [n for n in public if not called(n) and n not in told_elsewhere] == []


def test_random_numbers_can_be_repeated_and_are_where_they_should_be():
    autolab.manual_seed(3)
    first = (
        autolab.rand(1000),
        autolab.randn(1000),
        autolab.randint(2, 5, (1000,)),
        autolab.randperm(10),
        autolab.bernoulli(autolab.full((1000,), 0.3)),
    )
    autolab.manual_seed(3)
    assert autolab.equal(first[0], autolab.rand(1000)) and autolab.equal(first[1], autolab.randn(1000))
    assert 0 <= first[0].min() and first[0].max() < 1 and abs(first[1].mean().item()) < 0.1
    assert sorted(set(first[2].tolist())) == [2, 3, 4] and sorted(first[3].tolist()) == list(range(10))
    assert 0.2 < first[4].mean().item() < 0.4


def test_from_numpy_and_numpy_share_memory_and_tensor_copies():
    array = np.zeros(3)
    shared, copied = autolab.from_numpy(array), autolab.tensor(array)
    array[0] = 7
    assert shared[0].item() == 7 and copied[0].item() == 0
    shared.numpy()[1] = 8
    assert array[1] == 8
