"""For tests: a wrong backward rule fails with the diagnosis as its message.

from autolab.check import assert_rule

def test_my_softmax():
    assert_rule("softmax", MySoftmax)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..diagnosis.diagnose import diagnose
from ..run.spec import Spec
from .check import check


def assert_rule(name: str | Spec, f: Any, *, seed: int = 0, second_order: bool | None = None) -> None:
    """Raise AssertionError, with the whole report, unless `f` is a right rule for an operation of the table.

    Parameters
    ----------
    name, f, seed, second_order
        As for `check`.

    Examples
    --------
    >>> assert_rule("exp", lambda g, out: g * out)
    >>> assert_rule("exp", lambda g, x: g * x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: exp: 0.88 of 7 points
    ...
    """
    __tracebackhide__ = True
    report = check(name, f, seed=seed, second_order=second_order)
    if not report.passed:
        raise AssertionError(str(report))


def assert_gradients(f: Any, reference: Any, inputs: Sequence[np.ndarray], **settings: Any) -> None:
    """Raise AssertionError, with the diagnoses, unless the backward of `f` is right on these inputs.

    Parameters
    ----------
    f, reference, inputs, settings
        As for `diagnose`: the reference may be a plain function on tensors, which the engine differentiates.

    Examples
    --------
    >>> x = np.array([[0.3, 1.7, -0.4]])
    >>> assert_gradients(lambda g, x: 3 * g * x**2, lambda x: x**3, [x])
    """
    __tracebackhide__ = True
    found = diagnose(f, reference, inputs, **settings)
    if found:
        raise AssertionError("\n\n".join(map(str, found)))
