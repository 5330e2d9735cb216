"""L-BFGS: a quasi-Newton method that remembers the last few steps instead of a matrix, with its line search."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd.grad_mode import enable_grad
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, new_tensor
from autolab.optim.optimizer import Optimizer
from autolab.optim.settings import settings
from autolab.rules.complex_numbers import pairs


class LBFGS(Optimizer):
    """Newton's direction from the last `history_size` changes of position and gradient; up to max_iter moves in one step.

    step(closure) needs the closure, which clears the gradients, computes the loss, calls backward and returns the loss.
    A step ends early when the largest gradient is at most tolerance_grad, or neither position nor loss changes by more than
    tolerance_change, or after max_eval evaluations (5/4 of max_iter). line_search_fn is None or "strong_wolfe".
    Source: Nocedal and Wright, Numerical Optimization, Algorithms 7.4 and 7.5; line search 3.5 and 3.6.
    Raises ValueError for several parameter groups, RuntimeError for another line search.

    >>> w = tensor([3., -2.], requires_grad=True)
    >>> optimizer = LBFGS([w])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w * w * tensor([1., 10.])).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item(), closure().item() < 1e-6
    (49.0, True)
    """

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, settings(locals()))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups): its direction is one for all parameters")

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Several moves, each along a new direction. Returns the loss before the first."""
        with recording(False):
            return self._step(enable_grad()(closure))

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, most_moves, most_calls = float(group["lr"]), group["max_iter"], group["max_eval"]
        state = self.state[group["params"][0]]  # there is one state for all, kept with the first
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, calls, moves = number(first), 1, 0
        state["func_evals"] += 1
        g = self._gradient()
        if largest(g) <= group["tolerance_grad"]:
            return first
        memory, loss_before = Memory(state, group["history_size"]), loss
        while moves < most_moves:
            moves += 1
            state["n_iter"] += 1
            memory.learn(g)
            d, loss_before = memory.direction(g), loss
            memory.keep(g, d)
            t = lr if state["n_iter"] > 1 else min(1.0, 1.0 / float(np.abs(g).sum())) * lr
            memory.t = t
            slope = float(g @ d)
            if slope > -group["tolerance_change"]:
                break
            calls_before = calls
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError(f"only 'strong_wolfe' is supported, not {group['line_search_fn']!r}")
                at = functools.partial(self._look, closure, d)
                found, more = strong_wolfe(at, t, Point(0, loss, g, slope), largest(d), most_calls - calls)
                memory.t, loss, g = t, _, _ = found.t, found.loss, found.gradient
                self._move(t, d)
                calls += more
            else:
                self._move(t, d)
                if moves < most_moves:  # after the last move nobody asks
                    loss, g = number(closure()), self._gradient()
                    calls += 1
            state["func_evals"] += calls - calls_before
            if (
                moves == most_moves
                or calls >= most_calls
                or largest(g) <= group["tolerance_grad"]
                or largest(d) * abs(t) <= group["tolerance_change"]
                or abs(loss - loss_before) < group["tolerance_change"]
            ):
                break
        if moves:
            memory.save(loss_before)
        return first

    def _gradient(self) -> Any:
        """The gradients of all parameters, end to end."""
        params = self.param_groups[0]["params"]
        parts = [in_reals(np.zeros_like(p.payload) if p._grad is None else p._grad.payload) for p in params]
        return np.concatenate([np.ravel(part) for part in parts])

    def _move(self, t: float, d: Any) -> None:
        """Go t times d."""
        start = 0
        for p in self.param_groups[0]["params"]:
            x = in_reals(p.writable_array())
            x += (t * d[start : start + x.size]).reshape(x.shape)
            start += x.size
            p.version[0] += 1

    def _look(self, closure: Callable[[], Any], d: Any, t: float) -> Point:
        """What the loss is t times d from here, without staying there."""
        params = self.param_groups[0]["params"]
        here = [p.writable_array().copy() for p in params]
        self._move(t, d)
        loss = number(closure())
        g = self._gradient()
        for p, x in zip(params, here):
            p.writable_array()[...] = x
            p.version[0] += 1
        return Point(t, loss, g, float(g @ d))


def number(loss: Any) -> float:
    """What a closure returned, as a number; float() would warn that the loss requires grad."""
    return float(loss.item() if isinstance(loss, Tensor) else loss)


def in_reals(x: Any) -> Any:
    """Complex numbers as pairs of real ones, in the same memory; real numbers as they are."""
    return pairs(x) if x.dtype.kind == "c" else x


def largest(x: Any) -> float:
    return float(np.abs(x).max()) if x.size else 0.0


class Memory:
    """The last changes of the gradient (y) and of the position (s), as PyTorch's state names them."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state, self.size = state, size
        self.ys, self.ss, self.inverse = ([t.payload for t in state.get(k, ())] for k in ("old_dirs", "old_stps", "ro"))
        kept = (state[k].payload if k in state else None for k in ("H_diag", "d", "prev_flat_grad"))
        self.scale, self.d, self.before = kept
        self.t = state.get("t", 0.0)

    def learn(self, g: Any) -> None:
        """Add the change that the last move made, if the loss curves upwards along it."""
        if self.before is None:
            return
        y, s = g - self.before, self.d * self.t
        ys = float(y @ s)
        if ys <= 1e-10:
            return
        if len(self.ys) == self.size:
            for kept in (self.ys, self.ss, self.inverse):
                kept.pop(0)
        self.ys.append(y)
        self.ss.append(s)
        self.inverse.append(g.dtype.type(1 / ys))
        self.scale = g.dtype.type(ys / float(y @ y))

    def direction(self, g: Any) -> Any:
        """-H g, where H is the inverse Hessian that the memory stands for: back through it, then forth."""
        if self.before is None:
            self.scale = g.dtype.type(1)
            return -g
        q, shares = -g, []
        for y, s, ro in zip(reversed(self.ys), reversed(self.ss), reversed(self.inverse)):
            shares.append((s @ q) * ro)
            q -= shares[-1] * y
        q *= self.scale
        for y, s, ro, share in zip(self.ys, self.ss, self.inverse, reversed(shares)):
            q += (share - (y @ q) * ro) * s
        return q

    def keep(self, g: Any, d: Any) -> None:
        self.before, self.d = g, d

    def save(self, loss: float) -> None:
        """Into the optimizer's state, as tensors."""
        self.state.update(
            d=new_tensor(self.d), t=self.t, old_dirs=[new_tensor(y) for y in self.ys], old_stps=[new_tensor(s) for s in self.ss],
            ro=[new_tensor(r) for r in self.inverse], H_diag=new_tensor(self.scale), prev_flat_grad=new_tensor(self.before), prev_loss=loss,
        )  # fmt: skip


class Point(NamedTuple):
    """What a line search knows about one place on its line."""

    t: float
    loss: float
    gradient: Any
    slope: float


def strong_wolfe(
    at: Callable[[float], Point], t: float, start: Point, scale: float, most: int, fall: float = 1e-4, flat: float = 0.9
) -> tuple[Point, int]:
    """A place with a loss low enough (fall) and a slope flat enough (flat), and how many places were looked at.

    First walk on until such places must lie between two points, then narrow these down. scale is the longest entry of the
    direction; `most` is how many more places may be looked at.
    """
    before, here, looked = start, at(t), 1

    def too_high(p: Point) -> bool:
        return p.loss > start.loss + fall * p.t * start.slope

    def flat_enough(p: Point) -> bool:
        return abs(p.slope) <= -flat * start.slope

    while looked - 1 < most:
        if too_high(here) or (looked > 2 and here.loss >= before.loss):
            break
        if flat_enough(here):
            return here, looked
        if here.slope >= 0:
            break
        t = cubic_minimum(before, here, here.t + 0.01 * (here.t - before.t), 10 * here.t)
        before, here = here, at(t)
        looked += 1
    else:
        before = start
    ends = [before, here]
    low = 0 if before.loss <= here.loss else 1
    stuck = False
    while looked - 1 < most and abs(ends[1].t - ends[0].t) * scale >= 1e-9:
        left, right = sorted(p.t for p in ends)
        t, margin = cubic_minimum(ends[0], ends[1], left, right), 0.1 * (right - left)
        close = min(right - t, t - left) < margin
        if close and (stuck or t >= right or t <= left):  # no progress from a place so near an end
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            close = False
        stuck = close
        here = at(t)
        looked += 1
        if too_high(here) or here.loss >= ends[low].loss:
            ends[1 - low] = here
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        if not flat_enough(here) and here.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = here
        if flat_enough(here):
            break
    return ends[low], looked


def cubic_minimum(a: Point, b: Point, least: float, most: float) -> float:
    """Where the cubic through two points with their slopes has its minimum, within bounds; their middle if it has none."""
    if a.t > b.t:
        a, b = b, a
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = mean * mean - a.slope * b.slope
    if square < 0:
        return (least + most) / 2
    root = math.sqrt(square)
    return min(max(b.t - (b.t - a.t) * ((b.slope + root - mean) / (b.slope - a.slope + 2 * root)), least), most)
