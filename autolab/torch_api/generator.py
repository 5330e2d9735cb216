"""Where random numbers come from: generators with a seed and a state, and the common one behind all random functions.

The numbers are NumPy's (PCG64), so a seed repeats a run here, but does not give PyTorch's numbers.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.device import CPU, device, require_cpu

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

UNSEEDED = 67280421310721  # what PyTorch gives a Generator that nobody seeded
LAYOUT = struct.Struct("<Q16s16sII")  # seed, the 128 bits of PCG64's state and of its increment, and half a number left over


class Generator:
    """A source of random numbers of its own, for `generator=`. Unseeded, it always starts alike.

    device: "cpu" (others raise RuntimeError). NumPy's generator behind it is `.numpy`.

    >>> g = Generator().manual_seed(3)
    >>> torch.equal(torch.rand(2, generator=g), torch.rand(2, generator=Generator().manual_seed(3)))
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        require_cpu(device)
        self._seed = UNSEEDED
        self._numpy: np.random.Generator | None = None  # made when first used: numpy.random takes as long to import as autolab

    @property
    def numpy(self) -> np.random.Generator:
        """NumPy's generator, which draws the numbers."""
        if self._numpy is None:
            self._numpy = np.random.default_rng(self._seed)
        return self._numpy

    @property
    def device(self) -> device:
        """The place where the numbers are drawn: the CPU."""
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed in [-2**63, 2**64). Returns this generator. Raises ValueError for one outside."""
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: the seed {seed} has more than 64 bits")
        self._seed, self._numpy = seed % 2**64, None
        return self

    def seed(self) -> int:
        """Start again from a seed that nobody can guess. Returns it."""
        self.manual_seed(int.from_bytes(os.urandom(8)) >> 1)
        return self._seed

    def initial_seed(self) -> int:
        """The seed that it started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """All that decides the coming numbers, as a tensor of 48 bytes."""
        state = self.numpy.bit_generator.state
        inner = [state["state"][k].to_bytes(16, "little") for k in ("state", "inc")]
        packed = LAYOUT.pack(self._seed, *inner, state["has_uint32"], state["uinteger"])
        return new_tensor(np.frombuffer(packed, np.uint8).copy())

    def set_state(self, new_state: Tensor) -> None:
        """Go on from a state that get_state gave. Raises TypeError for anything but bytes, RuntimeError for a wrong number of them."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.payload.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if new_state.payload.size != LAYOUT.size:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {LAYOUT.size} but found the input RNG state size to be "
                f"{new_state.payload.size}. States travel between generators of autolab only."
            )
        self._seed, state, inc, has, left = LAYOUT.unpack(np.asarray(new_state.payload).tobytes())
        inner = {"state": int.from_bytes(state, "little"), "inc": int.from_bytes(inc, "little")}
        self.numpy.bit_generator.state = {"bit_generator": "PCG64", "state": inner, "has_uint32": has, "uinteger": left}

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        g = Generator()
        g.set_state(self.get_state())
        return g

    def __reduce__(self) -> Any:
        return _restored, (self.get_state(),)

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _restored(state: Tensor) -> Generator:
    g = Generator()
    g.set_state(state)
    return g


default_generator = Generator()
default_generator.seed()


def generator() -> np.random.Generator:
    """NumPy's generator behind all random functions. Raises RuntimeError inside vmap, unless it was told what random means there."""
    for level in modes.levels:
        level.before_random()
    return default_generator.numpy


def source(g: Any) -> np.random.Generator:
    """The generator to draw from: the one given (autolab's or NumPy's), or the common one."""
    common = generator()
    if g is None:
        return common
    if isinstance(g, Generator):
        return g.numpy
    if isinstance(g, np.random.Generator):
        return g
    raise TypeError(f"argument 'generator' must be torch.Generator, not {type(g).__name__}")


def manual_seed(seed: int) -> Generator:
    """Make the random functions repeatable. The numbers are NumPy's, not PyTorch's bit stream.

    >>> generator = torch.manual_seed(3)
    >>> x = torch.rand(2)
    >>> generator = torch.manual_seed(3)
    >>> torch.equal(torch.rand(2), x)
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the random functions with a number that nobody can guess. Returns it.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the random functions started from.

    >>> generator = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the generator behind all random functions, as a tensor of bytes.

    >>> torch.get_rng_state().shape, torch.get_rng_state().dtype
    (torch.Size([48]), torch.uint8)
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the random functions go on from a state that get_rng_state gave. Raises TypeError for anything but bytes.

    >>> state = torch.get_rng_state()
    >>> x = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(2), x)
    True
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Random numbers drawn in the block leave those after it as they would have been. `devices` are accepted and mean nothing.

    >>> state = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(2)
    >>> torch.equal(torch.get_rng_state(), state)
    True
    """
    before = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if before is not None:
            set_rng_state(before)
