"""Two marks in the graph, where a module's inputs come in and its outputs go out: there its backward hooks are called."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from autolab.autograd.function import Function
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor


class BackwardHookFunction(Function):
    """Passes everything on, in both directions."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The arguments, as results of a node."""
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """The gradients of the inputs, None for the settings."""
        return args


class BackwardHook:
    """What one call of a module knows of its backward: the gradients of its outputs, until those of its inputs are there."""

    def __init__(self, module: Any, user_hooks: list[Callable[..., Any]], user_pre_hooks: list[Callable[..., Any]]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = None  # which arguments are tensors; None if no gradient goes to them
        self.n_inputs = self.n_outputs = -1

    def marked(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None, Any]:
        """The arguments, tensors among them passed through a node; which these are; the node."""
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not modes.grad or not any(args[i].requires_grad for i in places):
            return args, None, None
        found = BackwardHookFunction.apply(*(args[i] for i in places))
        found = found if isinstance(found, tuple) else (found,)
        node = next(t.grad_fn for t in found if t.grad_fn is not None)
        new = list(args)
        for i, t in zip(places, found):
            new[i] = t
        made = tuple(new) if type(args) is tuple else type(args)(*new)
        return made, places, node

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Where gradients leave the module."""
        self.n_inputs = len(args)
        args, self.inputs, node = self.marked(args)
        if node is not None:
            node.register_hook(self.at_inputs)
        return args

    def at_inputs(self, grad_input: Any, _: Any) -> Any:
        if self.grad_outputs is None:
            return None  # gradients that did not come through the module's output, as in double backward
        assert self.inputs is not None
        grads = spread(self.inputs, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            out = hook(self.module, grads, self.grad_outputs)
            if out is None:
                continue
            out = out if isinstance(out, tuple | list) else (out,)
            if len(out) != len(grads):
                raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(out)}, but expected {len(grads)}")
            grads = tuple(out)
        self.grad_outputs = None
        return tuple(grads[i] for i in self.inputs)

    def setup_output_hook(self, out: Any) -> Any:
        """Where gradients enter the module."""
        alone = not isinstance(out, tuple)
        args = (out,) if alone else out
        self.n_outputs = len(args)
        args, outputs, node = self.marked(args)
        if node is not None:
            assert outputs is not None
            node.register_prehook(lambda grads: self.at_outputs(grads, outputs))
        return args[0] if alone else args

    def at_outputs(self, grad_output: Any, outputs: list[int]) -> Any:
        self.grad_outputs = spread(outputs, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            found = hook(self.module, self.grad_outputs)
            if found is None:
                continue
            found = found if isinstance(found, tuple | list) else (found,)
            if len(found) != len(self.grad_outputs):
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(found)}, but expected {len(self.grad_outputs)}"
                )
            self.grad_outputs = tuple(found)
        now = self.grad_outputs
        if self.inputs is None:
            self.without_inputs()
        return tuple(now[i] for i in outputs)

    def without_inputs(self) -> None:
        """No input requires a gradient: the hooks hear of the outputs only."""
        if self.user_hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                "gradients.",
                stacklevel=2,
            )
        for hook in self.user_hooks:
            out = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(o is None for o in out)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                )
        self.grad_outputs = None


def spread(places: list[int], values: Any, n: int) -> tuple[Any, ...]:
    """The values at their places among n, None elsewhere."""
    found: list[Any] = [None] * n
    for i, value in zip(places, values):
        found[i] = value
    return tuple(found)
