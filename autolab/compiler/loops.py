"""11. Loops of machine code: operations on single entries as expressions, and a loop around them that is kept on disk.

Arithmetic is rounded as NumPy rounds it. A loop is known by its text, in which all constants stand, so that another process finds it.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numba
import numpy as np

from autolab.compiler import lanes
from autolab.compiler.one_pass import add_to_rows
from autolab.fast.blocks import clip
from autolab.rules.elementwise import keep

ARITHMETIC = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}", np.true_divide: "{} / {}", np.negative: "-{}",
    np.square: "{0} * {0}", np.reciprocal: "one / {}", np.absolute: "abs({})", np.sqrt: "sqrt({})",
    np.maximum: "{0} if {0} >= {1} or {0} != {0} else {1}", np.minimum: "{0} if {0} <= {1} or {0} != {0} else {1}",
    clip: "{2} if ({1} if {0} < {1} else {0}) > {2} else ({1} if {0} < {1} else {0})",
}  # fmt: skip
COMPARISONS = {
    np.greater: "{} > {}", np.greater_equal: "{} >= {}", np.less: "{} < {}", np.less_equal: "{} <= {}",
    np.equal: "{} == {}", np.not_equal: "{} != {}",
}  # fmt: skip
LOGIC = {np.logical_and: "{} and {}", np.logical_or: "{} or {}", np.logical_not: "not {}"}
FLOAT32_ONLY = {np.exp: "exp({})", np.log: "log({})", np.tanh: "tanh({})"}
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
BOOL = np.dtype(bool)
NAMES = {
    "float32": np.float32, "float64": np.float64, "sqrt": math.sqrt, "exp": lanes.exp, "log": lanes.log, "tanh": lanes.tanh,
    "any_order": lanes.any_order, "inf": math.inf, "nan": math.nan, "__name__": __name__,
}  # fmt: skip


def expression(function: Any, kind: Any, kinds: list[Any], names: list[str]) -> str | None:
    """A function of single entries of these kinds, called by name, as an expression; None if it is not exactly what NumPy does."""
    if function is np.where and len(names) == 3:
        return "{1} if {0} else {2}".format(*names) if kinds[0] == BOOL and kinds[1] == kinds[2] == kind else None
    if function is keep.compute:
        return f"{names[0]} if {names[1]} else {kind.name}(0)" if kinds == [kind, BOOL] and kind in FLOATS else None
    if function in LOGIC or function in COMPARISONS:
        wanted = (BOOL,) if function in LOGIC else FLOATS
        same = kinds[0] in wanted and all(k == kinds[0] for k in kinds)
        return {**LOGIC, **COMPARISONS}[function].format(*names) if same else None
    if kind not in FLOATS or not any(k == kind for k in kinds) or any(k not in (kind, BOOL) for k in kinds):
        return None
    # a mask as a factor: its entries are the numbers 0 and 1
    names = [f"({kind.name}(1) if {n} else {kind.name}(0))" if k == BOOL else n for n, k in zip(names, kinds)]
    found = ARITHMETIC.get(function) or (FLOAT32_ONLY.get(function) if kind == FLOATS[0] else None)
    return found.replace("one", f"{kind.name}(1)").format(*names) if found else None


def literal(number: Any) -> str:
    """A number of NumPy's as source."""
    return f"{number.dtype.name}({number.item()!r})" if number.dtype != BOOL else repr(bool(number))


@functools.lru_cache(1024)
def loop(text: str) -> Any:
    """The function `loop` of this text as machine code."""
    made = numba.njit(error_model="numpy")
    file = on_disk(text)
    if file is not None:
        made = numba.njit(error_model="numpy", cache=True)
    place: dict[str, Any] = {}
    exec(compile(text, str(file or "<loop>"), "exec"), dict(NAMES), place)
    return made(place["loop"])


def on_disk(text: str) -> Path | None:
    """A file that holds this text, in a folder beside that of numba's own; None where there is no place for one.

    Its name changes with the functions that the loop takes in.
    """
    try:
        folder = Path(add_to_rows.stats.cache_path) / "loops"
        file = folder / f"{hashlib.sha256((text + lanes_text()).encode()).hexdigest()[:32]}.loop"
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".half", delete=False, encoding="utf-8") as half:
                half.write(text)
            os.replace(half.name, file)  # at once: another process may be writing the same
    except (OSError, TypeError):
        return None
    return file


@functools.cache
def lanes_text() -> str:
    return Path(lanes.__file__).read_text(encoding="utf-8")
