import inspect
from importlib import import_module

import pytest

from autolab import Tensor

NAMESPACES = """
autolab autolab.accelerator autolab.amp autolab.autograd autolab.autograd.forward_ad autolab.autograd.functional autolab.autograd.graph
autolab.autograd.profiler autolab.check autolab.compiler autolab.cuda autolab.datasets autolab.distributions
autolab.distributions.constraints autolab.draw autolab.dtypes autolab.func autolab.hub autolab.jit autolab.linalg autolab.masked
autolab.memory autolab.nn autolab.nn.functional autolab.nn.init autolab.nn.utils autolab.nn.utils.parametrizations
autolab.nn.utils.parametrize autolab.nn.utils.prune autolab.nn.utils.rnn autolab.optim autolab.optim.lr_scheduler
autolab.optim.swa_utils autolab.overrides autolab.profiler autolab.serialization autolab.serialization.safetensors
autolab.signal.windows autolab.size autolab.special autolab.testing autolab.torch_api.generator autolab.trace autolab.utils.checkpoint
autolab.utils.data autolab.widgets
""".split()

# With a docstring of three words or fewer, or none. The list may only become shorter.
SHORT = {"Tensor": "dtype ensure_extra ndim shape"}


def public(namespace):
    if namespace == "Tensor":
        return {name: inspect.getattr_static(Tensor, name) for name in dir(Tensor) if not name.startswith("_")}
    module = import_module(namespace)
    names = getattr(module, "__all__", [n for n in vars(module) if getattr(vars(module)[n], "__module__", "") == namespace and n[0] != "_"])
    return {name: getattr(module, name) for name in names}


@pytest.mark.parametrize("namespace", ["Tensor", *NAMESPACES])
def test_every_public_name_says_what_it_is(namespace):
    told = {name: value.__doc__ or "" for name, value in public(namespace).items()
            if inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, property)}  # fmt: skip
    assert told and {name for name, text in told.items() if len(text.split()) <= 3} == set(SHORT.get(namespace, "").split())


@pytest.mark.parametrize("namespace", [name for name in NAMESPACES if hasattr(import_module(name), "__all__")])
def test_every_public_name_is_there(namespace):
    module = import_module(namespace)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
