"""What the caller calls a tensor: looked up by identity in the variables around the call, so `x` is shown as x."""

import os
import sys
from collections.abc import Callable
from typing import Any

import autolab
from autolab.engine.tensor import Tensor

PACKAGE = os.path.dirname(autolab.__file__) + os.sep


def find_names(wanted: Callable[[Tensor], Any], names: dict | None = None) -> dict[Any, tuple[str, Tensor]]:
    """Names for tensors, by the edge they stand for.

    Parameters
    ----------
    wanted : function
        Gives for a Tensor the key under which its name is wanted, or None.
    names : dict, optional
        Name -> Tensor, or a list, dict or module that holds some. Without it the variables of the caller are searched,
        innermost frame first, in the same way.

    Returns
    -------
    dict
        key -> (name, tensor)

    Raises
    ------
    TypeError
        If `names` is not a dict.
    """
    found = {}

    def offer(name, value):
        if isinstance(value, Tensor):
            key = wanted(value)
            if key is not None and key not in found:
                found[key] = name, value

    if names is not None:
        if not isinstance(names, dict):
            raise TypeError(f"names is {type(names).__name__}, expected a dict: names={{'x': x}}")
        _offer_all(offer, names.items())
        return found
    for variables in _variables_of_callers():
        _offer_all(offer, [(k, v) for k, v in variables.items() if _is_visible(k)])
    return found


def _offer_all(offer, items):
    for name, value in items:
        offer(name, value)
    for name, value in items:
        _offer_members(offer, name, value)


def _is_visible(name):
    # not what IPython keeps of earlier results (_, _3, Out), nor what a tool has put among the variables
    return name.isidentifier() and not name.startswith("_") and name != "Out"


def _offer_members(offer, name, value):
    if isinstance(value, list | tuple) and len(value) <= 1000:
        for i, item in enumerate(value):
            offer(f"{name}[{i}]", item)
    elif isinstance(value, dict) and len(value) <= 1000:
        for key, item in value.items():
            offer(f"{name}[{key!r}]", item)
    elif hasattr(type(value), "named_parameters"):
        for path, parameter in value.named_parameters():
            offer(f"{name}.{path}", parameter)


def _variables_of_callers():
    # Frames of this package are skipped: record() may have been called by draw or by a widget. A cell or a script is
    # the end of the search: what is above it is the machinery that runs it. Before Python 3.13, looking at the
    # locals of a function leaves a snapshot in its frame, so a loss deleted afterwards lives until the function returns.
    frame = sys._getframe(1)
    seen = set()
    while frame is not None:
        variables = frame.f_globals
        if not frame.f_code.co_filename.startswith(PACKAGE):
            at_top = frame.f_locals is variables
            if not at_top:
                yield frame.f_locals
            if id(variables) not in seen:
                seen.add(id(variables))
                yield variables
            if at_top:
                return
        frame = frame.f_back
