"""What gradcheck says of two Jacobians that differ: how many entries, the worst of them with both numbers, and a likely cause."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autolab.autograd.gradcheck.error import GradcheckError, Jacobian


class Pair:
    """Two Jacobians of one output with respect to one input, and how to evaluate the function again near an entry."""

    def __init__(
        self,
        analytical: Jacobian,
        numerical: Jacobian,
        output: tuple[int, tuple[int, ...]],
        input: tuple[int, tuple[int, ...]],
        one_sided: Callable[[int], tuple[Jacobian, Jacobian]],
        mode: str = "backward",
    ) -> None:
        self.a, self.n, self.mode, self.one_sided = analytical, numerical, mode, one_sided
        (self.output, self.out_shape), (self.input, self.in_shape) = output, input

    def agree(self, atol: float, rtol: float) -> bool:
        return self.a.size == 0 or bool(np.allclose(self.a, self.n, rtol, atol, equal_nan=False))

    def opening(self) -> str:
        """PyTorch's words for which pair it is."""
        how = "computed with forward mode " if self.mode == "forward mode" else ""
        return f"Jacobian {how}mismatch for output {self.output} with respect to input {self.input},\n"

    def error(self, atol: float, rtol: float) -> GradcheckError:
        error = GradcheckError(self.opening() + self.report(atol, rtol))
        error.numerical, error.analytical = self.n, self.a
        return error

    def report(self, atol: float, rtol: float) -> str:
        """How many entries are apart, the worst, and why, if that is plain."""
        with np.errstate(invalid="ignore"):
            excess = np.abs(self.a - self.n) - rtol * np.abs(self.n)
        excess[np.isnan(excess)] = np.inf
        row, column = (int(k) for k in np.unravel_index(np.argmax(excess), excess.shape))
        count = int(np.sum(excess > atol))
        return (
            f"{count} of {self.a.size} entries are further apart than {atol:g} + {rtol:g} * |finite difference| (the exception has "
            "both Jacobians: .numerical, .analytical).\n"
            f"The worst entry: d output{place(column, self.out_shape)} / d input{place(row, self.in_shape)} is "
            f"{self.n[row, column]:.6g} by finite differences, but {self.mode} gives {self.a[row, column]:.6g}."
            f"{self.guess(row, column)}"
        )

    def guess(self, row: int, column: int) -> str:
        """A likely cause, if the mismatch has a simple form; the first that fits."""
        a, n = self.a, self.n
        left, right = (side[column] for side in self.one_sided(row))
        again = (self.one_sided(row)[0][column], left)
        if again[0] != again[1]:
            return " The function gives another result when it is called again: are there random numbers in it (dropout)?"
        if np.isnan(a[row, column]):
            return (
                f" A nan in {self.mode}: 0 / 0, or inf * 0? A branch that where() does not take must be finite too, or its "
                "gradient of 0 becomes 0 * inf."
            )
        if abs(left - right) > 0.1 * max(abs(left), abs(right)) and abs(left - right) > 1e-3:
            return (
                f" From the left it is {left:.4g}, from the right {right:.4g}: the function has a corner or a jump there, where a finite "
                "difference means nothing. Check at another point."
            )
        if np.allclose(a, 0):
            return (
                f" {self.mode.capitalize()} gives zero everywhere: is the graph cut (detach, .data, .item()) or a gradient returned as "
                "None?"
            )
        if np.allclose(a, -n, rtol=1e-3, atol=1e-5):
            return " All signs are the other way round."
        moving = np.abs(n) > 1e-4
        with np.errstate(all="ignore"):
            ratio = a[moving] / n[moving]
        still = np.allclose(a[~moving], 0, atol=1e-4)
        if ratio.size and still and np.allclose(ratio, ratio[0], rtol=1e-3) and ratio.size > 1:
            return f" {self.mode.capitalize()} is {ratio[0]:.4g} times the right gradient everywhere: a constant factor."
        if not still and np.allclose(ratio, 1, rtol=1e-3):
            return " It is right where the output moves, but not zero where it does not: is a mask missing?"
        if still and np.allclose(ratio[np.abs(ratio) > 1e-6], 1, rtol=1e-3):
            return " Some entries are zero that should not be, the others are right: is a mask too strict, or are entries written over?"
        if len(self.in_shape) == 2 and self.in_shape[0] == self.in_shape[1]:
            turned = a.reshape(*self.in_shape, -1).swapaxes(0, 1).reshape(a.shape)
            if np.allclose(turned, n, rtol=1e-3, atol=1e-5):
                return " The gradient is transposed: what belongs to entry [i, j] is at [j, i]."
        return ""


def place(k: int, shape: tuple[int, ...]) -> list[int]:
    """The index of the k-th entry of an array."""
    return [int(i) for i in np.unravel_index(k, shape)] if shape else []
