"""Anomaly mode: which line of the forward pass made the gradient that failed, or became nan."""

from __future__ import annotations

import warnings
from typing import Any

from autolab.engine.modes import modes

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    """True if anomaly mode is on in this thread."""
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """True if anomaly mode, when on, also refuses gradients that are nan."""
    return modes.check_nan


class set_detect_anomaly:
    """Turn anomaly mode on or off: at once when called, until the end of the block when used as a context manager."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = modes.anomaly, modes.check_nan
        modes.anomaly, modes.check_nan = bool(mode), bool(check_nan)
        modes.settle()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.anomaly, modes.check_nan = self.before
        modes.settle()


class detect_anomaly:
    """Within it, each node remembers the lines that made it, and a backward that fails, or gives nan, first warns with them.

    check_nan: whether nan counts as a failure. Everything runs several times slower.

    >>> import warnings
    >>> x = tensor([-1.0], requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with detect_anomaly():
    ...         x.sqrt().sum().backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.inside: Any = set_detect_anomaly(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        self.inside.__exit__()
