"""Gradients that come in batches, as zeros, or not at all: what gradcheck checks besides the numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from autolab.autograd import forward_ad
from autolab.autograd.api import grad
from autolab.autograd.function import Function
from autolab.autograd.gradcheck.error import GradcheckError
from autolab.autograd.gradcheck.finite_differences import results
from autolab.engine.tensor import Tensor, new_tensor
from autolab.transforms.batched import Batch


def run_forward(func: Any, inputs: tuple[Any, ...], directions: dict[int, Any], zeros: bool = True) -> list[tuple[Any, Any]]:
    """(output, tangent) for each output, where inputs move along these directions; None means zeros, or no tangent at all."""
    with forward_ad.dual_level():
        moved = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
        for i, d in directions.items():
            x = moved[i]
            if d is not None and not isinstance(d, Tensor):
                d = new_tensor(np.array(d).reshape(x.payload.shape).astype(x.payload.dtype)[()])
            if d is None and zeros:
                d = new_tensor(np.zeros_like(x.payload)[()])
            moved[i] = x if d is None else forward_ad.make_dual(x, d)
        return [forward_ad.unpack_dual(out) if isinstance(out, Tensor) else (out, None) for out in results(func, tuple(moved))]


def direction(rng: Any, shape: tuple[int, ...]) -> Any:
    """Random numbers, none negative, of length 1."""
    u = np.asarray(rng.random(shape))
    return u / max(float(np.linalg.norm(u)), 1e-300)


# -- by vmap -----------------------------------------------------------------------------------------

BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation. To compute gradients of a whole batch, the backward "
    "pass runs inside vmap: what it cannot do there (numbers as Python numbers, branches on values) must be written with tensors."
)


def not_batched(error: RuntimeError) -> GradcheckError:
    said = str(error)
    if "called random operation" in said:
        said = "vmap: We do not yet support calling random operations inside of vmap. Draw outside of what is checked."
    return GradcheckError(f"While computing batched gradients, got: {said}\n\n{BATCHED}")


def check_batched(func: Any, inputs: tuple[Any, ...], checked: list[int], positions: list[int]) -> None:
    """Two gradients at once must be the two one after the other."""
    outputs, xs = results(func, inputs), [inputs[i] for i in checked]
    rng = np.random.default_rng(0)
    for o, p in enumerate(positions):
        out = outputs[p]
        weights = rng.standard_normal((2, *out.payload.shape)).astype(out.payload.dtype)
        options: dict[str, Any] = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
        expected = [grad(out, xs, new_tensor(w), **options) for w in weights]
        try:
            found = grad(out, xs, new_tensor(weights), is_grads_batched=True, **options)
        except RuntimeError as error:
            raise not_batched(error) from error
        for i, got, *wanted in zip(checked, found, *expected):
            same_batch(o, i, got, wanted)


def check_batched_forward(func: Any, inputs: tuple[Any, ...], checked: list[int]) -> None:
    """Two tangents at once must give the two results one after the other."""
    from autolab.autograd import function_in_vmap  # noqa: F401 - what vmap does with a custom Function
    from autolab.rules import batch  # noqa: F401 - heavy: gives the rows their batching rules

    rng = np.random.default_rng(0)
    for i in checked:
        x = inputs[i].payload
        directions = rng.standard_normal((2, *x.shape)).astype(x.dtype)
        expected = [run_forward(func, inputs, {i: d}) for d in directions]
        try:
            with Batch(2) as level:
                run = run_forward(func, inputs, {i: level.input(new_tensor(directions))})
                found = [t if t is None else (t if level.owns(t) else level.lift(t)).value for _, t in run]
        except RuntimeError as error:
            raise not_batched(error) from error
        for o, (got, *wanted) in enumerate(zip(found, *expected)):
            if got is not None:
                same_batch(o, i, got, [t for _, t in wanted])


def same_batch(o: int, i: int, got: Tensor, wanted: list[Any]) -> None:
    expected = np.array([np.zeros(got.shape[1:]) if t is None else t.payload for t in wanted])
    if not np.allclose(got.payload, expected, rtol=1e-5, atol=1e-8):
        raise GradcheckError(f"For output {o} and input {i}:\n\n{BATCHED}\n\nGot:\n{got.payload}\n\nExpected:\n{expected}")


# -- where nothing comes in --------------------------------------------------------------------------


def check_proportional(func: Any, inputs: tuple[Any, ...], checked: list[int], positions: list[int], masked: bool | None) -> None:
    """Where nothing comes in, nothing may go out."""
    outputs = results(func, inputs)
    zeros = [new_tensor(np.zeros_like(outputs[p].payload)[()]) for p in positions]
    gs = grad([outputs[p] for p in positions], [inputs[i] for i in checked], zeros, allow_unused=True)
    for i, g in zip(checked, gs):
        if g is not None and np.any(np.abs(g.payload) > 1e-8 if masked else g.payload):
            raise GradcheckError(
                f"backward not multiplied by grad_output: for an incoming gradient of zeros, input {i} got {g.payload.tolist()}"
            )


class Undefined(Function):
    """The identity, whose gradient is None: what a node gets when nobody gives a gradient for its output."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """The input itself, unchanged."""
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """None: no gradient reaches the input."""
        return None


def check_missing_gradients(func: Any, inputs: tuple[Any, ...], checked: list[int], positions: list[int]) -> None:
    """Backward must cope with outputs whose gradient nobody gives: with all of them, then with each alone."""
    for missing in [positions, *([p] for p in positions if len(positions) > 1)]:
        outputs = results(func, inputs)
        outs = [Undefined.apply(outputs[p]) if p in missing else outputs[p] for p in positions]
        weights = [new_tensor(np.ones(out.payload.shape, out.payload.dtype)[()]) for out in outs]
        try:
            gs = grad(outs, [inputs[i] for i in checked], weights, allow_unused=True)
        except RuntimeError as error:
            warn_of_this_check()
            which = ", ".join(map(str, missing))
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads: without a gradient for output {which} it raised "
                f"{type(error).__name__}: {error}"
            ) from error
        for i, g in zip(checked, gs):
            if missing is positions and g is not None and np.any(g.payload):
                warn_of_this_check()
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero: "
                    f"input {i} got {g.payload.tolist()}"
                )


def warn_of_this_check() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
        'callers of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable '
        "the feature",
        stacklevel=5,
    )


def check_missing_tangents(func: Any, inputs: tuple[Any, ...], checked: list[int]) -> None:
    """Forward mode must treat an input without a tangent as one whose tangent is zero."""
    rng = np.random.default_rng(0)
    directions = {i: direction(rng, inputs[i].payload.shape) for i in checked}
    for i in checked:
        both = [run_forward(func, inputs, {**directions, i: None}, zeros=zeros) for zeros in (True, False)]
        for o, ((_, a), (_, b)) in enumerate(zip(*both)):
            if a is not None and b is not None and not np.allclose(a.payload, b.payload):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {o} when input: {i} has an undefined tangent value. "
                    f"Got: {b.payload} but expected: {a.payload}"
                )
