"""The state of a module as a dict, out and in."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from autolab.engine.modes import recording
from autolab.engine.tensor import RemovableHandle, Tensor
from autolab.nn.parameter import Parameter, is_lazy

EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What load_state_dict found missing, and what it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    def __str__(self) -> str:
        return repr(self)


class State:
    """The part of Module that keeps: state_dict and load_state_dict, with the hooks around them."""

    _version = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]

    # -- out -----------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by dotted name. They share memory with the module; detached unless keep_vars."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead: destination, prefix, keep_vars.", FutureWarning,
                          stacklevel=2)  # fmt: skip
            rest: tuple[Any, ...] = (destination, prefix, keep_vars)
            destination, prefix, keep_vars = (*args, *rest[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """What this module itself keeps; a subclass may keep more."""
        kept = {name: b for name, b in self._buffers.items() if name not in self._non_persistent_buffers_set}
        for name, t in [*self._parameters.items(), *kept.items()]:
            if t is not None:
                destination[prefix + name] = t if keep_vars else t.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """What a subclass wants to keep beside its tensors."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: a subclass that keeps more defines it."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what get_extra_state gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: a subclass that keeps more defines it."
        )

    # -- in ------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy values in by name; returns the names that are missing and those that were not expected.

        assign: put the given tensors in place of the module's own instead of copying.
        Raises RuntimeError listing those names (if strict), and what does not fit in size; then nothing is copied.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None) or {}
        given: Any = OrderedDict(state_dict)  # hooks may change it
        if metadata:
            given._metadata = metadata
        keys = IncompatibleKeys([], [])
        problems: list[str] = []
        copies: list[Callable[[], None]] = []
        after: list[State] = []

        def load(module: State, prefix: str) -> None:
            local = {**metadata.get(prefix[:-1], {}), "_copies": copies}
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(given, prefix, local, True, *keys, problems)
            for name, child in module._modules.items():
                if child is not None:
                    load(child, f"{prefix}{name}.")
            after.append(module)

        load(self, "")
        keys.unexpected_keys.sort(key=list(given).index)
        hooked = any(module._load_state_dict_post_hooks for module in after)
        if not hooked:  # such a hook may still take names off the lists
            check(self, strict, keys, problems)
        elif problems:
            check(self, False, keys, problems)
        with recording(False):
            for copy in copies:
                copy()
        check(self, False, keys, problems)
        for module in after:
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                        "incompatible_keys need to be modified, it should be done inplace."
                    )
        check(self, strict, keys, problems)
        return keys

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Take this module's own tensors. Copying waits until everything has been looked at, if `local_metadata` has a list for it."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {n: b for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set}
        own = {n: t for n, t in [*self._parameters.items(), *own.items()] if t is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, t in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            new = state_dict[key]
            problem = mismatch(key, t, new)
            if problem:
                error_msgs.append(problem)
                continue
            copy = self._taking(name, t, new, key, assign, error_msgs)
            if "_copies" in local_metadata:
                local_metadata["_copies"].append(copy)
            else:
                with recording(False):
                    copy()
        key = prefix + EXTRA
        if type(self).set_extra_state is not State.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            for key in state_dict:
                first, dot, _ = key[len(prefix) :].partition(".")
                if key.startswith(prefix) and key != prefix + EXTRA and first not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _taking(self, name: str, t: Tensor, new: Any, key: str, assign: bool, problems: list[str]) -> Callable[[], None]:
        """The copy, or the assignment, as a function."""

        def copy() -> None:
            value = new
            try:
                if not is_lazy(t) and t.ndim == 0 and tuple(value.shape) == (1,):
                    value = value[0]
                if not assign:
                    t.copy_(value)
                    return
                if isinstance(t, Parameter):
                    kept = t.requires_grad
                    value = value.requires_grad_(kept) if isinstance(value, Parameter) else Parameter(value, requires_grad=kept)
                setattr(self, name, value)
            except Exception as e:
                problems.append(
                    f'While copying the parameter named "{key}", whose dimensions in the model are {t.shape} and whose dimensions in the '
                    f"checkpoint are {value.shape}, an exception occurred : {e.args}."
                )

        return copy

    # -- hooks -----------------------------------------------------------------------------------------

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) after state_dict; it may change the dict and returns None."""
        hook._from_public_api = True
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before state_dict."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        return RemovableHandle(self._load_state_dict_pre_hooks, WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors) before this module loads."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after loading; it may change both lists and returns None."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)


class WithModule:
    """A hook that is told of whom: an object, so that a module with such hooks can be copied and pickled."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook, self.module = hook, module

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module, *args)


def mismatch(key: str, t: Any, new: Any) -> str:
    """What stands against copying; empty if nothing does."""
    if not isinstance(new, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
            f"received {type(new)}"
        )
    fits = is_lazy(t) or is_lazy(new) or new.shape == t.shape or (t.ndim == 0 and tuple(new.shape) == (1,))
    if fits:
        return ""
    return f"size mismatch for {key}: copying a param with shape {new.shape} from checkpoint, the shape in current model is {t.shape}."


def check(module: Any, strict: bool, keys: IncompatibleKeys, problems: list[str]) -> None:
    """Raise RuntimeError with all that is wrong."""
    lists = [("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys)]
    names = [f"{what} key(s) in state_dict: {quoted(found)}. " for what, found in lists if strict and found]
    if names or problems:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(names + problems))


def quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
