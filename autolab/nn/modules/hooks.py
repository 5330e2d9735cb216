"""What runs around a forward, and around the part of a backward that belongs to a module."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from autolab.engine.tensor import RemovableHandle, Tensor
from autolab.nn.modules._functions import BackwardHook

# Hooks for every module, by number: (kind, hook). One dict of all kinds, for a call asks first whether there is any.
everywhere: dict[int, tuple[str, Callable[..., Any]]] = {}
_always_everywhere: set[int] = set()
# Hooks for what every module is given as a parameter, buffer or submodule.
registrations: dict[str, dict[int, Callable[..., Any]]] = {"parameter": {}, "buffer": {}, "module": {}}
_keywords_everywhere: set[int] = set()


class Handle(RemovableHandle):
    """A handle that also forgets how its hook wanted to be called."""

    def __init__(self, hooks: dict[int, Any], hook: Any, *, prepend: bool = False, marks: Any = ()) -> None:
        others = list(hooks.items()) if prepend else ()
        super().__init__(hooks, hook)
        self.marks = marks
        for mark in marks:
            mark[self.id] = True
        for number, other in others:  # to the end, behind the new one
            del hooks[number]
            hooks[number] = other

    def remove(self) -> None:
        super().remove()
        for mark in self.marks:
            mark.pop(self.id, None)


def _of_all(kind: str) -> list[tuple[int, Callable[..., Any]]]:
    return [(number, hook) for number, (own, hook) in list(everywhere.items()) if own == kind] if everywhere else []


class Hooks:
    """The part of Module that calls: forward, with the hooks around it."""

    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _backward_hooks: dict[int, Callable[..., Any]]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        try:
            hooked = own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]
        except KeyError:  # Module.__init__ has not run
            hooked = self._forward_hooks
        if hooked or everywhere:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs) if kwargs else self.forward(*args)

    def _call_with_hooks(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """The way around: before, (backward's first end,) forward, after, (backward's other end)."""
        called: set[int] = set()
        out = None
        try:
            args, kwargs = self._before(args, kwargs)
            pre = [hook for _, hook in _of_all("backward_pre")] + list(self._backward_pre_hooks.values())
            full = [hook for _, hook in _of_all("backward")]
            full += list(self._backward_hooks.values()) if self._is_full_backward_hook else []
            ends = None
            if full or pre:
                ends = BackwardHook(self, full, pre)
                args = ends.setup_input_hook(args)
            out = self.forward(*args, **kwargs)
            out = self._after(args, kwargs, out, called)
            if ends is not None:
                if not isinstance(out, Tensor | tuple):
                    warnings.warn(
                        f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(out)}",
                        stacklevel=3,
                    )
                out = ends.setup_output_hook(out)
            last = [hook for _, hook in _of_all("backward_last")]
            last += list(self._backward_hooks.values()) if self._is_full_backward_hook is False else []
            if last:
                self._hook_last_node(out, last)
            return out
        except Exception:
            self._after_failure(args, kwargs, out, called)
            raise

    def _before(self, args: Any, kwargs: dict[str, Any]) -> Any:
        for number, hook in [*_of_all("forward_pre"), *self._forward_pre_hooks.items()]:
            if number in self._forward_pre_hooks_with_kwargs:
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                    args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        return args, kwargs

    def _after(self, args: Any, kwargs: dict[str, Any], out: Any, called: set[int]) -> Any:
        for number, hook in [*_of_all("forward"), *self._forward_hooks.items()]:
            called.add(number)
            result = self._told(number, hook, args, kwargs, out)
            out = out if result is None else result
        return out

    def _told(self, number: int, hook: Callable[..., Any], args: Any, kwargs: dict[str, Any], out: Any) -> Any:
        if number in self._forward_hooks_with_kwargs or number in _keywords_everywhere:
            return hook(self, args, kwargs, out)
        return hook(self, args, out)

    def _after_failure(self, args: Any, kwargs: dict[str, Any], out: Any, called: set[int]) -> None:
        """Those that asked to be called always."""
        for number, hook in [*_of_all("forward"), *self._forward_hooks.items()]:
            everyones = number in _always_everywhere
            if number in called or not (everyones or number in self._forward_hooks_always_called):
                continue
            try:
                result = self._told(number, hook, args, kwargs, out)
                out = out if result is None else result
            except Exception as e:
                warnings.warn(
                    f"{'global ' * everyones}module forward hook with ``always_call=True`` raised an exception that was silenced as "
                    f"another error was raised in forward: {e}",
                    stacklevel=4,
                )

    def _hook_last_node(self, out: Any, hooks: list[Callable[..., Any]]) -> None:
        """The hooks of the older kind see the gradients of the last operation, whatever it was."""
        while not isinstance(out, Tensor):
            out = next(v for v in out.values() if isinstance(v, Tensor)) if isinstance(out, dict) else out[0]
        if out.grad_fn is not None:
            for hook in hooks:
                out.grad_fn.register_hook(lambda inputs, outputs, hook=hook: hook(self, inputs, outputs))

    # -- registering -----------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call hook(module, args) before forward; what it returns replaces the arguments.

        with_kwargs: hook(module, args, kwargs) returns None or the new (args, kwargs). prepend: before those that are there.
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return Handle(self._forward_pre_hooks, hook, prepend=prepend, marks=marks)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; what it returns replaces the output.

        with_kwargs: hook(module, args, kwargs, output). prepend: before those that are there. always_call: also if forward raises.
        """
        wanted = ((with_kwargs, self._forward_hooks_with_kwargs), (always_call, self._forward_hooks_always_called))
        return Handle(self._forward_hooks, hook, prepend=prepend, marks=[mark for yes, mark in wanted if yes])

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_output) when the gradients of the outputs are there; what it returns replaces them."""
        return Handle(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when the gradients of the inputs are there; what it returns replaces grad_input."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
        self._is_full_backward_hook = True
        return Handle(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) with the gradients of the module's *last operation*.

        Kept for old programs: `register_full_backward_hook` sees the gradients of the module.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
        self._is_full_backward_hook = False
        return Handle(self._backward_hooks, hook)


# -- for every module --------------------------------------------------------------------------------


def _everywhere(kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(everywhere, hook)  # type: ignore[arg-type]
    everywhere[handle.id] = (kind, hook)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, args) before the forward of every module."""
    return _everywhere("forward_pre", hook)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call hook(module, args, output) after the forward of every module."""
    handle = _everywhere("forward", hook)
    if with_kwargs:
        _keywords_everywhere.add(handle.id)
    if always_call:
        _always_everywhere.add(handle.id)
    return handle


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_output) in the backward of every module."""
    return _everywhere("backward_pre", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) in the backward of every module."""
    _refuse_with("backward_last")
    return _everywhere("backward", hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) with the gradients of the *last operation* of every module.

    Kept for old programs: `register_module_full_backward_hook` sees the gradients of the modules.
    """
    _refuse_with("backward")
    return _everywhere("backward_last", hook)


def _refuse_with(other: str) -> None:
    if _of_all(other):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them: "
            "remove() the others first."
        )


def registered(module: Any, kind: str, name: str, value: Any) -> Any:
    """The value that a module is to hold under a name: each hook for its kind may give another."""
    for hook in list(registrations[kind].values()):
        other = hook(module, name, value)
        value = value if other is None else other
    return value


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, parameter) when any module gets a parameter; what it returns is taken instead."""
    return RemovableHandle(registrations["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, buffer) when any module gets a buffer; what it returns is taken instead."""
    return RemovableHandle(registrations["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, submodule) when any module gets a submodule; what it returns is taken instead."""
    return RemovableHandle(registrations["module"], hook)
