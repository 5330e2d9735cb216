"""Modules as functions of their parameters, for the transforms: functional_call and stack_module_state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.torch_api.shape import stack

Places = dict[str, tuple[dict[str, Any], str]]


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True, strict: bool = False
) -> Any:
    """module(*args, **kwargs) with other tensors in place of its parameters and buffers; afterwards the module is as before.

    parameter_and_buffer_dicts: a dict from names as named_parameters() gives them to Tensors, or several dicts. Names left out keep the
    module's own. args: a tuple, or the one argument. tie_weights: what is given for one name of a shared parameter counts for all of its
    names. strict: every parameter and buffer must be given, and nothing else; otherwise unknown names are ignored.
    Raises RuntimeError for missing or unknown names (strict), ValueError for a name in two dicts or two values for tied weights.

    >>> layer = nn.Linear(1, 1, bias=False)
    >>> func.functional_call(layer, {"weight": torch.tensor([[3.]])}, torch.tensor([2.]))
    tensor([6.])
    """
    given = merged(parameter_and_buffer_dicts)
    places = places_of(module)
    if strict:
        check_names(module, given, places)
    values = with_tied_names(given, places) if tie_weights else given
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    before = []
    try:
        for path, value in values.items():
            if path in places:  # other names are of use with strict only, as in PyTorch
                place, name = places[path]
                before.append((place, name, place[name]))
                place[name] = value
        return module(*args, **({} if kwargs is None else kwargs))
    finally:
        for place, name, value in reversed(before):
            place[name] = value


def places_of(module: Any, prefix: str = "", found: Places | None = None) -> Places:
    """Where each parameter and buffer of a module is kept, by its name: a dict, and the name in it. A shared one has several names."""
    found = {} if found is None else found
    own = module.__dict__
    for place in (own["_parameters"], own["_buffers"]):
        if place:
            for name, t in place.items():
                if t is not None:
                    found[prefix + name] = place, name
    if own["_modules"]:
        for name, child in own["_modules"].items():
            if child is not None:
                places_of(child, f"{prefix}{name}.", found)
    return found


def merged(dicts: Any) -> dict[str, Tensor]:
    """One dict out of several."""
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, tuple | list):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}")
    if not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: t for d in dicts for name, t in d.items()}


def check_names(module: Any, given: dict[str, Tensor], own: Places) -> None:
    missing, unexpected = [n for n in own if n not in given], [n for n in given if n not in own]
    if missing or unexpected:
        parts = [f"Missing key(s): {', '.join(map(repr, missing))}."] * bool(missing)
        parts += [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] * bool(unexpected)
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts))


def with_tied_names(given: dict[str, Tensor], places: Places) -> dict[str, Tensor]:
    """The values, also for other names of the same parameters."""
    if len({id(place[name]) for place, name in places.values()}) == len(places):
        return given
    shared: dict[int, list[str]] = {}
    for path, (place, name) in places.items():
        shared.setdefault(id(place[name]), []).append(path)
    values = dict(given)
    for names in shared.values():
        found = [given[n] for n in names if n in given]
        if len(found) > 1 and any(t is not found[0] for t in found):
            raise ValueError(f"functional_call got multiple values for keys {names}, which are tied. Consider using tie_weights=False")
        values |= dict.fromkeys(names, found[0]) if found else {}
    return values


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of modules of one class, stacked along a new first dim: one ensemble for vmap over functional_call.

    Returns (parameters, buffers), dicts by name; the stacked parameters are new leaves that require grad as the modules' own do.
    Raises RuntimeError for no modules, several classes, a mix of train() and eval() or of requires_grad.

    >>> models = [nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = func.stack_module_state(models)
    >>> params["weight"].shape
    torch.Size([3, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(tables: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        return {name: stacked_leaf([t[name] for t in tables], name) for name in tables[0]}

    return stacked([dict(m.named_parameters()) for m in models]), stacked([dict(m.named_buffers()) for m in models])


def stacked_leaf(tensors: list[Tensor], name: str) -> Tensor:
    asking = {t.requires_grad for t in tensors}
    if len(asking) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack([t.detach() for t in tensors]).requires_grad_(asking.pop())


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let every batch normalisation in `root` forget its running statistics, which vmap could not update. Returns `root`.

    >>> net = replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    >>> net[0].running_mean, list(net.buffers())
    (None, [])
    """
    for module in root.modules():
        if {"running_mean", "running_var", "num_batches_tracked"} <= set(module._buffers):
            module._buffers.update(running_mean=None, running_var=None, num_batches_tracked=None)
            module.track_running_stats = False
    return root
