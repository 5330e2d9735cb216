"""Every module of PyTorch's database: its inputs run on both sides with the same weights; and what is absent, with the reason.

The whole set, one line a module: `python -m tests.oracle.modules --all`.
"""

import inspect
import itertools

import pytest

import autolab

from .modules import database, problems, public

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

ABSENT = {
    "Container": "PyTorch's own deprecated it: a Module does the same",
    "LinearCrossEntropyOptions": "how PyTorch cuts the work of one loss into pieces; it is done at once here",
}
MODULES = database()


def test_what_is_absent_is_absent_for_a_reason():
    assert [name for name in public() if not hasattr(autolab.nn, name)] == sorted(ABSENT)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_pytorchs(torch, name):
    assert list(itertools.islice(problems(name, MODULES[name], limit=6), 5)) == []


@pytest.mark.parametrize("name", [name for name in public() if name not in ABSENT])
def test_a_constructor_takes_the_same_arguments(torch, name):
    theirs, mine = (list(inspect.signature(getattr(lib, name)).parameters.values()) for lib in (torch.nn, autolab.nn))
    if [p.kind for p in theirs] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        pytest.skip("PyTorch's takes anything")
    assert [p.name for p in mine] == [p.name for p in theirs]
    if not name.startswith("Transformer"):  # whose default activation is a function
        assert [p.default for p in mine] == [p.default for p in theirs]
