"""Where a tensor lives: on the CPU, here."""

from __future__ import annotations

from typing import Any


class device:
    """The name of a place for tensors. Any can be named, so that programs run; only the CPU can be used.

    >>> device("cuda:1")
    device(type='cuda', index=1)
    """

    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        name, _, number = str(getattr(type, "type", type)).partition(":")
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> device:
        """Make tensors there in the block. Raises PyTorch's error for a place other than the CPU."""
        require_cpu(self)
        return self

    def __exit__(self, *exc: object) -> None:
        pass


CPU = device("cpu")


def require_cpu(place: Any) -> None:
    """Raise PyTorch's exception for a place other than the CPU."""
    if isinstance(place, int):
        raise RuntimeError("Cannot access accelerator device when none is available. autolab computes on the CPU.")
    name = place.type if isinstance(place, device) else str(place).partition(":")[0]
    if name == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled: autolab computes on the CPU. Use device='cpu'.")
    if name != "cpu":
        raise RuntimeError(
            f"Expected one of cpu device type at start of device string: {name}. autolab computes on the CPU. Use device='cpu'."
        )
