"""What dtypes hold and what comes out when they meet: PyTorch's answers."""

import itertools

import pytest

import autolab

NAMES = "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool".split()
PAIRS = list(itertools.product(NAMES, NAMES))


def answers(T, function):
    return [str(getattr(T, function)(getattr(T, a), getattr(T, b))) for a, b in PAIRS]


@pytest.mark.parametrize("function", ["promote_types", "can_cast"])
def test_pairs_of_dtypes(torch, function):
    assert answers(autolab, function) == answers(torch, function)


def test_result_types_of_tensors_and_numbers(torch):
    def found(T):
        operands = [*(T.ones(2, dtype=getattr(T, n)) for n in NAMES), *(T.ones((), dtype=getattr(T, n)) for n in NAMES), 1, 1.0, True]
        return [str(T.result_type(a, b)) for a, b in itertools.product(operands[:20], operands)]

    assert found(autolab) == found(torch)


@pytest.mark.parametrize("name", NAMES[:9])
def test_limits(torch, name):
    def found(T):
        info = (T.finfo if getattr(T, name).is_floating_point else T.iinfo)(getattr(T, name))
        return repr(info), [getattr(info, k, None) for k in ("bits", "max", "min", "eps", "tiny", "smallest_normal", "resolution", "dtype")]

    assert found(autolab) == found(torch)


def test_limits_of_the_default_dtype(lib):
    assert lib.finfo().bits == 32


def test_wrong_kinds_are_refused_in_the_same_words(lib):
    with pytest.raises(TypeError, match="torch.finfo\\(\\) requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"):
        lib.finfo(lib.int8)
    with pytest.raises(TypeError, match="torch.iinfo\\(\\) requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"):
        lib.iinfo(lib.float32)
    with pytest.raises(TypeError, match="argument 'type' \\(position 1\\) must be torch.dtype, not int"):
        lib.finfo(3)


def test_results_with_names_have_a_type_of_their_own(lib):
    x = lib.eye(3)
    results = {"max": x.max(0), "topk": x.topk(1, 0), "linalg_eigh": lib.linalg.eigh(x), "linalg_qr": lib.linalg.qr(x)}
    for name, found in results.items():
        assert type(found) is getattr(lib.return_types, name)
    assert type(lib.vmap(lib.min, (0, None))(lib.ones(2, 3, 4), 0)) is lib.return_types.min
    with pytest.raises(AttributeError):
        lib.return_types.nothing  # noqa: B018
