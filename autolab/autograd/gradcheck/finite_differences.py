"""The function that gradcheck checks, and its derivatives by finite differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.autograd.api import as_tuple
from autolab.autograd.gradcheck.error import GradcheckError, Jacobian
from autolab.dtypes import INEXACT
from autolab.engine.tensor import Tensor


def checked_inputs(inputs: tuple[Any, ...]) -> list[int]:
    """The positions of the inputs to check; their dtype, memory and values must allow it."""
    positions = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    if not positions:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for i in positions:
        array = np.atleast_1d(inputs[i].payload)
        if array.dtype != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex. "
                f"Pass it as float64: finite differences of {array.dtype} lose too many digits.",
                stacklevel=4,
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise GradcheckError(
                f"Jacobian mismatch for output 0 with respect to input {i}: the input itself is {array[tuple(bad[0])]} "
                f"at index {bad[0].tolist()}, and finite differences around it mean nothing. Pass finite numbers."
            )
        if array.size > 1 and 0 in array.strides:
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
                "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                "to gradcheck."
            )
    return positions


def results(func: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    got = func(*inputs)
    if not isinstance(got, Tensor) and not (isinstance(got, tuple | list) and (not got or any(isinstance(t, Tensor) for t in got))):
        raise TypeError(f"gradcheck compares Tensors: func must return one or a tuple of them, but returned {type(got).__name__}")
    return as_tuple(got)


def is_floating(t: Any) -> bool:
    return isinstance(t, Tensor) and t.payload.dtype in INEXACT


def differentiable(outputs: tuple[Any, ...]) -> list[int]:
    """The positions of the outputs that have a gradient."""
    return [k for k, t in enumerate(outputs) if is_floating(t) and t.requires_grad]


def check_constant(func: Any, inputs: tuple[Any, ...], checked: list[int], eps: float) -> None:
    """Outputs without a graph may not depend on the inputs."""
    plain = [k for k, t in enumerate(results(func, inputs)) if is_floating(t)]
    for i in checked:
        for n in Perturbation(func, inputs, i, plain, eps).jacobians():
            if np.abs(n).max(initial=0) > 1e-6:
                raise GradcheckError(
                    f"Numerical gradient for function expected to be zero: no output requires grad, yet input {i} moves one. "
                    "Is the graph cut (detach, .data, .item(), no_grad)?"
                )


def write_numbers(memory: Any, numbers: Any) -> Any:
    """Numbers in this memory, or as they are where it takes none (a NumPy scalar, memory that is read only)."""
    if type(memory) is not np.ndarray or not memory.flags.writeable:
        return numbers.astype(memory.dtype)[()]
    memory[...] = numbers
    return memory


class Perturbation:
    """The function where one input is moved a little: in its own memory, so that every view of it moves too."""

    def __init__(self, func: Any, inputs: tuple[Any, ...], i: int, positions: list[int], eps: float) -> None:
        self.func, self.inputs, self.i, self.positions, self.eps = func, inputs, i, positions, eps
        self.at = np.array(inputs[i].payload)

    def values(self, array: Any, index: Any = None) -> list[Any]:
        given = self.inputs[self.i]
        memory = given.payload
        given.payload = write_numbers(memory, array)
        try:
            outputs = results(self.func, self.inputs)
            found = [outputs[k] for k in self.positions]
            for before, now in zip(self.__dict__.setdefault("usual", found), found):
                for what, a, b in (("shape", before.shape, now.shape), ("dtype", before.dtype, now.dtype)):
                    if a != b:
                        where = "" if index is None else f"on index {tuple(int(k) for k in index)} "
                        raise AssertionError(
                            f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {self.eps}, "
                            f"but got: {what}s {a} and {b}."
                        )
            return [np.array(out.payload).reshape(-1) for out in found]
        finally:
            given.payload = write_numbers(memory, self.at)

    def entry(self, index: tuple[int, ...], step: float) -> list[Any]:
        array = self.at.copy()
        array[index] += step
        return self.values(array, index)

    def jacobians(self) -> list[Jacobian]:
        """For each output, (entries of the input, entries of the output): central differences, one entry moved at a time."""
        columns: list[list[Any]] = [[] for _ in self.positions]
        for index in itertools.product(*map(range, self.at.shape)):
            for column, up, down in zip(columns, self.entry(index, self.eps), self.entry(index, -self.eps)):
                column.append((up - down) / (2 * self.eps))
        return [np.array(c) if c else np.zeros((0, 0)) for c in columns]

    def along(self, direction: Any) -> list[Any]:
        """The derivatives of all outputs in one direction."""
        step = self.eps * direction
        return [(up - down) / (2 * self.eps) for up, down in zip(self.values(self.at + step), self.values(self.at - step))]

    def one_sided(self, o: int) -> Callable[[int], tuple[Any, Any]]:
        """From the left and from the right, for the k-th entry of the input and all entries of an output."""

        def differences(k: int) -> tuple[Any, Any]:
            index = np.unravel_index(k, self.at.shape)
            down, here, up = (self.entry(index, step)[o] for step in (-self.eps, 0.0, self.eps))  # type: ignore[arg-type]
            return (here - down) / self.eps, (up - here) / self.eps

        return differences
