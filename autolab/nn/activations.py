"""Activations as modules: a name, its function, and the settings it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.nn import functional as F
from autolab.nn.module import Module


def activation(name: str, function: Callable[..., Any], shown: str = "", **defaults: Any) -> type[Module]:
    """A module that calls `function` with settings given when it is made. `shown` formats them for printing."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        unknown = [k for k in kwargs if k not in defaults]
        if unknown or len(args) > len(defaults):
            raise TypeError(f"{name}.__init__() got an unexpected argument {unknown or args}; it takes {list(defaults)}")
        self.settings = {**defaults, **dict(zip(defaults, args)), **kwargs}
        for key, value in self.settings.items():
            setattr(self, key, value)

    def forward(self: Any, input: Any) -> Any:
        return function(input, **self.settings)

    def extra_repr(self: Any) -> str:
        return shown.format(**self.settings)

    return type(name, (Module,), {
        "__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__module__": "autolab.nn",
        "__doc__": f"`functional.{function.__name__}` as a module.",
    })  # fmt: skip


def _ignoring_inplace(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, inplace: bool = False) -> Any:
        return function(input)

    call.__name__ = function.__name__
    return call


ReLU = activation("ReLU", _ignoring_inplace(F.relu), inplace=False)
Tanh = activation("Tanh", F.tanh)
Sigmoid = activation("Sigmoid", F.sigmoid)
SiLU = activation("SiLU", F.silu, inplace=False)
GELU = activation("GELU", F.gelu, "approximate={approximate!r}", approximate="none")
LeakyReLU = activation("LeakyReLU", F.leaky_relu, "negative_slope={negative_slope}", negative_slope=0.01, inplace=False)
Softplus = activation("Softplus", F.softplus, "beta={beta}, threshold={threshold}", beta=1.0, threshold=20.0)
Softmax = activation("Softmax", F.softmax, "dim={dim}", dim=None)
