"""What a function is beside a function: a method of Tensor, one that writes in place, one that takes `out=`. Said where it is defined.

    @public(method=True, inplace=True, out=True)
    def add(input, other, *, alpha=1): ...

gives `torch.add`, `torch.add(..., out=...)`, `Tensor.add` and `Tensor.add_`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from autolab.torch_api.numpy_names import with_numpy_names
from autolab.torch_api.out import with_out

F = TypeVar("F", bound=Callable[..., Any])


class Declaration:
    """One function and the forms in which it is public."""

    __slots__ = ("creates", "function", "inplace", "method", "names", "out", "package")

    def __init__(self, function: Any, names: list[str], package: bool, method: bool, inplace: bool, out: bool, creates: bool) -> None:
        self.function, self.names, self.package, self.method = function, names, package, method
        self.inplace, self.out, self.creates = inplace, out or creates, creates


DECLARED: list[Declaration] = []


def public(
    *, package: bool = True, method: bool = False, inplace: bool = False, out: bool = False, creates: bool = False, aliases: str = ""
) -> Callable[[F], F]:
    """Declare a function (or class) public, under its name and its aliases (words), and leave it as it is.

    package: `torch.add(x, y)`; method: `x.add(y)`; inplace: `x.add_(y)`; out: `torch.add(x, y, out=z)`; creates: it makes a tensor
    out of nothing, takes `out=`, and then has its dtype.
    """

    def decorate(function: F) -> F:
        DECLARED.append(Declaration(function, [function.__name__, *aliases.split()], package, method, inplace, out, creates))
        return function

    return decorate


def method(function: F) -> F:
    """Declare a method of Tensor that is not a function of the package."""
    return public(package=False, method=True)(function)


def declare(function: F, name: str, doc: str, **forms: Any) -> F:
    """`public` for a function that another one made."""
    return public(**forms)(entitle(function, name, doc))


def entitle(function: F, name: str, doc: str | None) -> F:
    """Give a function that another one made the name and the documentation that it is known by."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def example_of(name: str, example: str) -> str:
    """An example out of a table as the end of a docstring. Lists are tensors: exp with "[0.] -> [1.]" is exp(tensor([0.]))."""
    given, result = example.replace("[", "tensor([").replace("]", "])").split(" -> ")
    return f"\n\n>>> {name}({given})\n{result}\n"


def functions(declarations: Iterable[Declaration]) -> Iterator[tuple[str, Any]]:
    """The names of the package and what they stand for. Methods and operators are bound to functions without `out`, and pay nothing."""
    for declared in declarations:
        if declared.package:
            function = declared.function
            made = with_out(function, declared.creates) if declared.out else with_numpy_names(function)
            for name in declared.names:
                yield name, made
