"""Programs that say `import torch` get autolab: for lessons, and where PyTorch does not exist, as in a browser.

    import autolab.compat
    autolab.compat.install()

    import torch
    import torch.nn.functional as F

`uninstall()` takes it back; `with install():` does so at the end of the block; `python -m autolab.compat train.py` runs a whole
program so. A module of PyTorch's that is not here says so when it is imported. Installed packages that build on PyTorch itself
(torchvision ...) do not work with it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import autolab
from autolab.compat import stand_ins
from autolab.compat.stand_ins import Alias
from autolab.torch_api import products
from autolab.torch_api.missing import explain_missing, sentence
from autolab.version import __version__

__all__ = ["Handle", "install", "is_installed", "uninstall"]

PYTORCH = "2.13.0"  # the release whose behaviour autolab has
# Modules whose place is another here.
FILES = {
    "engine.tensor": "_tensor",
    "optim.adagrad_family": "optim.adadelta optim.adagrad optim.rmsprop", "optim.adam": "optim.adamw",
    "optim.adam_variants": "optim.adamax optim.nadam optim.radam", "optim.sgd": "optim.asgd",
}  # fmt: skip
ELSEWHERE = {name: file for file, names in FILES.items() for name in names.split()}


class Torch(ModuleType):
    """The module that `import torch` gives: autolab under PyTorch's name and version."""

    def __getattr__(self, name: str) -> Any:
        return getattr(autolab, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__"):
            setattr(autolab, name, value)

    def __dir__(self) -> list[str]:
        return dir(autolab)

    def __repr__(self) -> str:
        return f"<module 'torch', which is autolab {__version__}>"


def make_torch() -> Torch:
    torch = Torch("torch", "autolab under PyTorch's name.")
    version = ModuleType("torch.version", "The version of PyTorch whose behaviour autolab has.")
    version.__dict__.update(__version__=f"{PYTORCH}+autolab", cuda=None, hip=None, xpu=None, debug=False, git_version="autolab")
    torch.__dict__.update(
        __version__=f"{PYTORCH}+autolab", __path__=[], __all__=autolab.__all__, version=version,
        trace=products.trace,  # the sum of a diagonal; autolab.trace is a package
    )  # fmt: skip
    return torch


class Finder(MetaPathFinder, Loader):
    """Finds `torch.x.y` as the module `autolab.x.y`: the same module under another name."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root == "autolab" and path is not None:
            return self.find_own(fullname, path)
        if fullname == "safetensors.torch":  # the library's own would go to the memory of PyTorch's tensors
            return ModuleSpec(fullname, Renamed("autolab.serialization.safetensors"), is_package=True)
        if fullname == "safetensors" and PathFinder.find_spec(fullname, path) is None:
            return ModuleSpec(fullname, self, is_package=True)
        if root != "torch":
            return None
        if fullname in ("torch", "torch.version"):
            return ModuleSpec(fullname, self, is_package=True)
        name = self.real_name(rest)
        if name is not None:
            return ModuleSpec(fullname, Renamed(name), is_package=True)
        known = [f"torch.{name.partition('.')[2]}" for name in sys.modules if name.startswith("autolab.")]
        last = rest.rpartition(".")[2]
        text = sentence(f"No module named '{fullname}'", last, [k.rpartition(".")[2] for k in known])
        # Under another name than was asked for, or `from torch import x` would take it for an ordinary absence.
        raise ModuleNotFoundError(text, name=f"{fullname}, in autolab")

    def find_own(self, fullname: str, path: Sequence[str]) -> ModuleSpec:
        """A module of autolab as usual. `from torch.nn import Linera` comes here last, and is told what comes nearest."""
        spec = PathFinder.find_spec(fullname, path) or stand_ins.find_spec(fullname)
        if spec is None:
            package, _, name = fullname.rpartition(".")
            known = dir(sys.modules[package]) if package in sys.modules else []
            text = sentence(f"cannot import name '{name}' from '{package}'", name, known)
            raise ModuleNotFoundError(text, name=f"{fullname}, in autolab")
        return spec

    def real_name(self, rest: str) -> str | None:
        """The module of autolab that stands for torch.<rest>; None if there is none."""
        rest = ELSEWHERE.get(rest, rest)
        package, _, last = rest.rpartition(".")
        if package == "distributions":  # a family has a module of its own there
            rest = f"{package}.{importlib.import_module('autolab.distributions').HOMES.get(last, last)}"
        for name in (f"autolab.{rest}", f"autolab.{rest.replace('nn.modules', 'nn')}"):
            try:
                if name in sys.modules or importlib.util.find_spec(name) is not None:
                    return name
            except ModuleNotFoundError:
                pass
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name == "torch":
            return make_torch()
        if spec.name == "torch.version":
            return sys.modules["torch"].version
        return ModuleType("safetensors", "A package for `safetensors.torch`.")

    def exec_module(self, module: ModuleType) -> None:
        pass


class Renamed(Alias):
    """A module of autolab as one of PyTorch's, which says what was meant by a name that it does not have."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        explain_once(module)


_watched: set[str] = set()


def explain_once(module: ModuleType) -> None:
    if module.__name__ not in _watched and "__getattr__" not in module.__dict__:
        _watched.add(module.__name__)
        explain_missing(module)


_finder = Finder()


def is_installed() -> bool:
    """True while `import torch` gives autolab.

    >>> is_installed()
    False
    """
    return _finder in sys.meta_path


class Handle:
    """What install() gives back: as a context manager, it uninstalls at the end of the block."""

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc: Any) -> None:
        uninstall()


def install() -> Handle:
    """Let `import torch` give autolab from now on, here and in all modules that are imported later. Twice is as good as once.

    Raises RuntimeError if PyTorch itself is loaded already.

    >>> with install():  # doctest: +SKIP
    ...     import torch.nn.functional as F
    ...     import torch
    ...     torch.ones(2)
    tensor([1., 1.])
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and not isinstance(loaded, Torch):
        raise RuntimeError(
            f"PyTorch itself ({getattr(loaded, '__version__', 'of unknown version')}) is loaded in this process already, and tensors of "
            "the two do not mix. Call autolab.compat.install() before anything imports torch, or in a new process."
        )
    if not is_installed():
        sys.meta_path.insert(0, _finder)
    return Handle()


def uninstall() -> None:
    """Let `import torch` mean PyTorch again. Modules that have imported it keep what they have."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    if isinstance(sys.modules.get("torch"), Torch):
        for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
            del sys.modules[name]
    if getattr(sys.modules.get("safetensors.torch"), "__name__", "").startswith("autolab."):
        del sys.modules["safetensors.torch"]
