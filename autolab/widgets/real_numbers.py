"""Explorables that draw lines and cells of real numbers say so when they meet a complex one, and never draw its real part."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made", bound=Callable[..., Any])

DROPPED = "Casting complex values to real"  # NumPy's warning, and PyTorch's
NOT_REAL = re.compile(rf"{DROPPED}|complex|string to float: .*j'")  # in the messages of what converts to float


def of_real_numbers(make: Made) -> Made:
    """An explorable of real numbers: what is complex, among its arguments or what its function returns, is a clear error.

    >>> @of_real_numbers
    ... def curve(f):
    ...     return float(f(1.0))
    >>> curve(lambda x: x + 1j)
    Traceback (most recent call last):
    ...
    TypeError: curve draws real numbers, and met a complex one. Let the function return a real number, such as z.abs() or z.real; ...
    """

    @functools.wraps(make)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message=DROPPED)
                return make(*args, **kwargs)
        except (TypeError, ValueError, RuntimeError, Warning) as error:
            values = [*args, *kwargs.values()]
            for given in [one for value in values for one in (value.values() if isinstance(value, dict) else [value])]:
                if str(error) == f"'{type(given).__name__}' object is not callable":
                    raise TypeError(
                        f"{make.__name__} needs a function of tensors, and got {type(given).__name__}: {given!r:.60}. "
                        "Write it with def or lambda, and give its name."
                    ) from error
            if not NOT_REAL.search(str(error)):
                raise
            raise TypeError(
                f"{make.__name__} draws real numbers, and met a complex one. Let the function return a real number, such as z.abs() or "
                "z.real; with a complex input, write it as a function of two real ones, torch.complex(x, y). "
                "Stepper(loss) shows complex tensors as they are."
            ) from error

    return checked  # type: ignore[return-value]
