"""What is public is declared once, at its definition; `__all__` lists it."""

import importlib
from collections import Counter
from types import ModuleType

import pytest

import autolab
from autolab.compat.stand_ins import MODULES
from autolab.torch_api import families, inplace
from autolab.torch_api.public import DECLARED

families.load_families()


def test_what_the_package_lists_is_what_it_has():
    declared = {name for d in DECLARED if d.package for name in d.names}
    held = {name for name, value in vars(autolab).items() if not isinstance(value, ModuleType)}
    public = {name for name in declared | held | {*autolab._NAMES} if not name.startswith("_")}
    assert public - {*autolab.__all__} == set()
    assert [name for name in autolab.__all__ if not hasattr(autolab, name)] == []


@pytest.mark.parametrize("family", [*(families.FUNCTIONS | families.METHODS)])
def test_a_family_declares_what_the_tables_say(family):
    declared = [d for d in DECLARED if d.function.__module__ == f"autolab.torch_api.{family}"]
    methods = {n for d in declared if d.method for n in d.names} | {f"{n}_" for d in declared if d.inplace for n in d.names}
    functions = {n for d in declared if d.package for n in d.names} | methods.intersection(inplace.FUNCTIONS.split())
    assert families.FUNCTIONS.get(family, "").split() == sorted(functions)
    assert families.METHODS.get(family, "").split() == sorted(methods)


def test_a_name_is_declared_once():
    for forms in ("package", "method"):
        counts = Counter(name for d in DECLARED if getattr(d, forms) for name in d.names)
        assert [name for name, count in counts.items() if count > 1] == []


def test_the_special_functions_are_listed():
    from autolab import special

    assert sorted(name for name in vars(special) if name[0].isalpha()) == sorted(special.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_table_is_imported_like_others(name):
    module = __import__(name, fromlist=["x"])
    assert module.__doc__ and all(hasattr(module, n) for n in module.__all__)
    functions = [f for f in (getattr(module, n) for n in module.__all__) if getattr(f, "__module__", "").startswith("autolab")]
    assert all(f.__doc__ for f in functions)


def test_functions_of_the_table_share_no_state():
    from autolab.backends import cuda

    cuda.enable_flash_sdp(False)
    assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    cuda.enable_flash_sdp(True)


@pytest.mark.parametrize("name", ["nn", "nn.functional", "nn.modules", "nn.utils"])
def test_what_is_listed_is_what_is_loaded_when_it_is_asked_for(name):
    module = importlib.import_module(f"autolab.{name}")
    homes = getattr(module, "_HOMES", None) or module.HOMES
    assert {*homes} <= {*module.__all__} and [n for n in module.__all__ if not hasattr(module, n)] == []
