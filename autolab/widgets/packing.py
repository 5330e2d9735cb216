"""JSON in fewer bytes: values that are alike stand side by side, where gzip finds the likeness, and whole numbers are differences.

A *column* is a list, or an object that stands for one; `spread` in static/page.mjs makes the list of it again:

- `{"by": [...]}`: whole numbers or null, each as its difference from the number before;
- `{"rows": [[...], ...]}`: lists of whole numbers, each number as its difference from the one at its place in the list before;
- `{"lengths": column, "at": [column, ...]}`: lists, by place;
- `{"shapes": [names, ...], "shape": column, "of": {name: column}}`: objects, by name.
"""

import base64
import gzip
import itertools
import json
import re
from typing import Any

FEW = 16  # so few are left as they are
MANY = 64  # of so many places or names a column each would not pay
NUMBERS = re.compile(r"(0|[1-9]\d*)(,(0|[1-9]\d*))*")  # the key of a frame


def compress(text: str, level: int) -> str:
    """Text as base64 of gzip."""
    return base64.b64encode(gzip.compress(text.encode(), level, mtime=0)).decode()


def to_json(value: Any) -> str:
    """JSON without spaces; nan and infinity are refused."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def table(entries: dict[str, dict]) -> dict:
    """A trait that holds many objects by their keys, as columns. An object that repeats its key does so no longer.

    >>> frames = {f"0,{k}": {"key": f"0,{k}", "x": 3 * k} for k in range(5)}
    >>> packed = table(frames)
    >>> packed["keys"], packed["named"], packed["values"]["of"]
    ({'rows': [[0, 0], [0, 1], [0, 1], [0, 1], [0, 1]]}, True, {'x': {'by': [0, 3, 3, 3, 3]}})
    """
    named = all(value.get("key") == key for key, value in entries.items())
    values = [{name: v for name, v in value.items() if name != "key"} for value in entries.values()] if named else list(entries.values())
    keys: list = [[int(k) for k in key.split(",")] for key in entries] if all(map(NUMBERS.fullmatch, entries)) else list(entries)
    return {"keys": column(keys), "named": named, "values": column(values)}


def is_table(value: Any) -> bool:
    """Whether this is worth being sent as a table."""
    return isinstance(value, dict) and len(value) > FEW and all(isinstance(one, dict) for one in value.values())


def column(values: list) -> Any:
    """A list as a column, which is shorter where its values are alike.

    >>> column([1, 2, None, 4])
    {'by': [1, 1, None, 2]}
    """
    if all(v is None or type(v) is int for v in values):
        numbers = [v for v in values if v is not None]
        steps = iter([b - a for a, b in itertools.pairwise([0, *numbers])])
        return {"by": [None if v is None else next(steps) for v in values]}
    if all(isinstance(v, list) for v in values):
        return _lists(values)
    names = list(dict.fromkeys(name for v in values for name in v)) if all(isinstance(v, dict) for v in values) else []
    if 0 < len(names) <= MANY:
        shapes = {tuple(v): None for v in values}
        at = {shape: k for k, shape in enumerate(shapes)}
        of = {name: column([v[name] for v in values if name in v]) for name in names}
        return {"shapes": [list(shape) for shape in shapes], "shape": column([at[tuple(v)] for v in values]), "of": of}
    return values


def _lists(values):
    if all(type(one) is int for v in values for one in v):
        return {"rows": [[b - a for a, b in zip([*was, *[0] * len(v)], v)] for was, v in itertools.pairwise([[], *values])]}
    places = max(map(len, values), default=0)
    if places > MANY:
        return values
    return {"lengths": column([len(v) for v in values]), "at": [column([v[k] for v in values if k < len(v)]) for k in range(places)]}


__all__ = ["column", "compress", "is_table", "table", "to_json"]
