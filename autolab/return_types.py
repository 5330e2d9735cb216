"""The types of functions with several results, under PyTorch's names: `isinstance(x.max(0), return_types.max)`."""

from __future__ import annotations

from typing import Any

from autolab.torch_api.named_results import TYPES


def __getattr__(name: str) -> Any:
    if name not in TYPES:
        from autolab.linalg import factors, older, solving  # noqa: F401 - they make theirs when they are first used
    if name in TYPES:
        return TYPES[name]
    raise AttributeError(f"return_types has no {name!r}. It has {', '.join(sorted(TYPES))}.")


def __dir__() -> list[str]:
    return sorted(TYPES)
