"""Asking for what is not there says so, and costs nothing until it is read."""

import importlib

import pytest

import autolab
from autolab.torch_api.missing import TENSOR, MissingMethod, MissingName, explain_missing, nearest


@pytest.mark.parametrize(("ask", "words"), [
    (lambda: autolab.softmaxx, "^module 'autolab' has no attribute 'softmaxx'. Did you mean: 'softmax'.$"),
    (lambda: autolab.complex32, "complex numbers are complex64 or complex128"),
    (lambda: autolab.nn.Linera, "^module 'autolab.nn' has no attribute 'Linera'. Did you mean: 'Linear'.$"),
    (lambda: autolab.nn.functional.reluu, "Did you mean: 'relu'"),
    (lambda: autolab.optim.Adan, "Did you mean: 'Adam'"),
    (lambda: autolab.zqxj, "docs/differences-from-pytorch.md"),
    (lambda: autolab.ones(1).to_sparse, "^'Tensor' object has no attribute 'to_sparse'. .*all tensors are dense"),
    (lambda: autolab.Tensor.to_sparse, "type object 'Tensor' has no attribute 'to_sparse'"),
])  # fmt: skip
def test_the_sentence_begins_as_pythons_and_says_what_was_meant(ask, words):
    with pytest.raises(AttributeError, match=words):
        ask()


def test_programs_may_ask_whether_something_is_there():
    assert not hasattr(autolab, "softmaxx") and not hasattr(autolab.nn, "Linera") and not hasattr(autolab.ones(1), "to_sparse")
    assert getattr(autolab.ones(1), "to_sparse", None) is None
    assert hasattr(autolab, "softmax") and hasattr(autolab.nn, "Linear")


def test_the_text_is_made_when_it_is_read(monkeypatch):
    asked = []
    error = MissingName("module has no attribute 'x'", "x", lambda: asked.append(1) or [])
    assert asked == []
    assert "has no attribute 'x'" in str(error) and asked == [1]


def test_names_that_are_not_there_are_not_listed():
    missing = [name for name in TENSOR if isinstance(vars(autolab.Tensor).get(name), MissingMethod)]
    assert missing and not set(missing) & set(dir(autolab.ones(1)))
    assert {"sum", "backward", "grad", "shape"} <= set(dir(autolab.ones(1)))


def test_a_method_that_comes_later_takes_the_place():
    name = next(name for name in TENSOR if isinstance(vars(autolab.Tensor).get(name), MissingMethod))
    stand_in = vars(autolab.Tensor)[name]
    setattr(autolab.Tensor, name, lambda self: 7)
    try:
        assert getattr(autolab.ones(1), name)() == 7
    finally:
        setattr(autolab.Tensor, name, stand_in)


def test_a_module_that_loads_late_still_does():
    from types import ModuleType

    module = ModuleType("late")
    module.__getattr__ = lambda name: 3 if name == "there" else (_ for _ in ()).throw(AttributeError(name))
    explain_missing(module)
    assert module.there == 3
    with pytest.raises(AttributeError, match="module 'late' has no attribute 'thre'"):
        _ = module.thre


def test_only_whole_names_are_near():
    assert nearest("zqxj", ["softmax"]) is None
    assert nearest("relu", ["ReLU", "GELU"]) == "ReLU"
    assert nearest("dmi", ["input", "dim"]) == "dim"
    assert nearest("sofmax", ["_softmax"]) is None


def test_a_traceback_calls_it_as_python_does():
    assert MissingName.__name__ == "AttributeError"


def test_an_import_of_what_is_absent_says_what_to_use():
    with pytest.raises(ModuleNotFoundError, match="^No module named 'autolab.onnx'. .*carries weights"):
        importlib.import_module("autolab.onnx")
    with pytest.raises(ModuleNotFoundError, match="^No module named 'autolab.anything'$"):
        importlib.import_module("autolab.anything")
