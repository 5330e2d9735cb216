import doctest
import inspect
import re
from functools import cache
from importlib import import_module

import pytest

import autolab
from autolab import Tensor

NAMESPACES = """
autolab autolab.accelerator autolab.amp autolab.autograd autolab.autograd.forward_ad autolab.autograd.functional autolab.autograd.graph
autolab.autograd.profiler autolab.check autolab.compiler autolab.cuda autolab.datasets autolab.distributions
autolab.distributions.constraints autolab.draw autolab.dtypes autolab.fft autolab.func autolab.hub autolab.jit autolab.linalg autolab.masked
autolab.memory autolab.nn autolab.nn.functional autolab.nn.grad autolab.nn.init autolab.nn.utils autolab.nn.utils.parametrizations
autolab.nn.utils.parametrize autolab.nn.utils.prune autolab.nn.utils.rnn autolab.optim autolab.optim.lr_scheduler
autolab.optim.swa_utils autolab.overrides autolab.profiler autolab.serialization autolab.serialization.safetensors
autolab.signal.windows autolab.size autolab.special autolab.testing autolab.torch_api.generator autolab.trace autolab.utils.checkpoint
autolab.utils.data autolab.utils.processes autolab.widgets autolab.backends.cuda autolab.backends.cudnn autolab.backends.mkldnn autolab.backends.mps autolab.cpu
autolab.cpu.amp autolab.cuda.amp autolab.distributed autolab.fx autolab.mps autolab.xpu autolab.nn.attention autolab.nn.parallel
""".split()

# Without an example. The list may only become shorter.
WITHOUT: dict[str, str] = {}


def public(namespace):
    """The public functions, classes and properties of a module, or of Tensor, by their names."""
    if namespace == "Tensor":
        found = {name: inspect.getattr_static(Tensor, name) for name in dir(Tensor) if name[0] != "_" and hasattr(Tensor, name)}
        found |= {name: getattr(Tensor, name) for name, value in found.items() if not isinstance(value, property)}  # loads lazy methods
    else:
        module = import_module(namespace)
        names = getattr(
            module, "__all__", [n for n in vars(module) if getattr(vars(module)[n], "__module__", "") == namespace and n[0] != "_"]
        )
        found = {name: getattr(module, name) for name in names}
    return {
        name: value for name, value in found.items() if inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, property)
    }


def text_of(value):
    return getattr(value, "__doc__", None) or ""


def referred(text, namespace):
    """The public function that a docstring begins with, in backticks: what has the example of all its forms."""
    match = re.match(r"`([\w.]+)`", text)
    for home in () if match is None else (autolab, Tensor, import_module(namespace) if namespace != "Tensor" else Tensor):
        found = home
        for part in match[1].split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None


@cache
def collected(module):
    """The docstrings of a module whose examples pytest runs by itself."""
    return {test.docstring for test in doctest.DocTestFinder().find(import_module(module))}


def not_collected(namespace):
    """The others: of methods out of a table, and of what another module made. With the module whose names they use."""
    for name, value in public(namespace).items():
        module = "autolab.engine.tensor" if isinstance(value, property) else value.__module__
        if ">>>" in text_of(value) and text_of(value) not in collected(module):
            yield name, text_of(value), import_module(module)


@pytest.mark.parametrize("namespace", ["Tensor", *NAMESPACES])
def test_every_public_name_says_what_it_is(namespace):
    told = {name: text_of(value) for name, value in public(namespace).items()}
    assert told
    assert [name for name, text in told.items() if len(text.split()) <= 3] == []


@pytest.mark.parametrize("namespace", ["Tensor", *NAMESPACES])
def test_every_public_name_has_an_example_or_is_a_form_of_a_function_that_has_one(namespace):
    told = {name: text_of(value) for name, value in public(namespace).items()}
    without = {name for name, text in told.items() if ">>>" not in text and ">>>" not in text_of(referred(text, namespace))}
    assert without == set(WITHOUT.get(namespace, "").split())


@pytest.mark.parametrize("namespace", ["Tensor", *NAMESPACES])
def test_examples_that_pytest_does_not_collect_say_what_comes_out(namespace, names_of_a_program):
    for name, text, module in not_collected(namespace):
        names = vars(module) | names_of_a_program(vars(module))
        example = doctest.DocTestParser().get_doctest(text, names, f"{namespace}.{name}", None, 0)
        report = []
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(example, out=report.append)
        assert result.attempted
        assert not result.failed, "".join(report)


@pytest.mark.parametrize("namespace", [name for name in NAMESPACES if hasattr(import_module(name), "__all__")])
def test_every_public_name_is_there(namespace):
    module = import_module(namespace)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
