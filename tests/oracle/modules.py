"""PyTorch's own inputs for its modules, run on both sides with the same weights.

Compared are the names in state_dict, the text, the outputs, the gradients of inputs and parameters, the buffers afterwards, wrong calls.

    python -m tests.oracle.modules Linear LSTM      what differs, input by input
    python -m tests.oracle.modules --all            one line for each module that differs
"""

import itertools
import re
import sys
import warnings

import autolab

from . import skip_without_pytorch
from .compare import differ, gradients, leaves, ours, theirs_again

# What both sides draw at random cannot be compared; where the input says p=0 or eval, it is.
DRAWN = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU"}


def database():
    """PyTorch's modules by name, without those for quantised networks."""
    skip_without_pytorch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    found = {}
    for info in module_db:
        if ".ao." not in info.module_cls.__module__:
            found.setdefault(info.module_cls.__name__, []).append(info)
    return found


def public():
    """Names of PyTorch's modules."""
    import torch

    return torch.nn.modules.__all__


def as_ours(value):
    """An argument of a constructor or of forward: modules and functions become those of the same name here."""
    import torch

    if isinstance(value, torch.nn.TransformerEncoderLayer | torch.nn.TransformerDecoderLayer):
        return twin_of_layer(value)
    if isinstance(value, torch.nn.Module):
        return getattr(autolab.nn, type(value).__name__)()
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return autolab.nn.utils.rnn.PackedSequence(*(None if t is None else ours(t) for t in value))
    if isinstance(value, tuple | list) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
        return type(value)(map(as_ours, value))
    if isinstance(value, dict):
        return {k: as_ours(v) for k, v in value.items()}
    return ours(value)


def twin_of_layer(layer):
    """Our layer of a Transformer with the same settings and weights, read off PyTorch's."""
    heads = layer.self_attn
    made = getattr(autolab.nn, type(layer).__name__)(
        heads.embed_dim, heads.num_heads, layer.linear1.out_features, layer.dropout.p, as_ours(layer.activation), layer.norm1.eps,
        heads.batch_first, layer.norm_first, layer.linear1.bias is not None, dtype=ours(layer.linear1.weight.dtype),
    )  # fmt: skip
    copied(made, layer)
    return made


def copied(module, theirs):
    """The weights of PyTorch's module in ours."""
    state = {k: ours(v).detach() for k, v in theirs.state_dict().items() if hasattr(v, "shape")}
    module.load_state_dict(state)


def inputs_of(info, dtype, training):
    import torch

    torch.manual_seed(0)
    return info.module_inputs_func(info, "cpu", dtype, True, training)


def problems(name, infos, limit=60):
    """Sentences: how our module differs from PyTorch's."""
    import torch

    if not hasattr(autolab.nn, name):
        yield "absent"
        return
    for info in infos:
        dtype = torch.float64 if torch.float64 in info.dtypes else torch.float32
        for training in (True, False) if info.train_and_eval_differ else (True,):
            for i, given in enumerate(itertools.islice(inputs_of(info, dtype, training), limit)):
                said = f"{'training' if training else 'eval'} {i} {given.desc or describe(given.constructor_input)}: "
                try:
                    for p in problems_of(info, given, training, dtype):
                        yield said + p
                except Exception as e:
                    yield f"{said}raises {type(e).__name__}: {str(e)[:300]}"
        if info.module_error_inputs_func is not None:
            yield from wrong_calls(info, dtype)


def problems_of(info, given, training, dtype):
    import torch

    c = given.constructor_input
    args, kwargs = c.args, dict(c.kwargs)
    takes_dtype = "dtype" in kwargs
    theirs_cls, ours_cls = info.module_cls, getattr(autolab.nn, info.module_cls.__name__)
    torch.manual_seed(0)
    theirs = theirs_cls(*args, **kwargs)
    mine = ours_cls(*as_ours(args), **as_ours(kwargs))
    if not takes_dtype:
        theirs, mine = theirs.to(dtype), mine.to(getattr(autolab, str(dtype).removeprefix("torch.")))
    theirs.train(training)
    mine.train(training)
    if repr(theirs) != repr(mine):
        yield f"repr: {repr(mine)!r} against {repr(theirs)!r}"
    if given.forward_input is None:
        return
    lazy = any(torch.nn.parameter.is_lazy(p) for p in [*theirs.parameters(), *theirs.buffers()])
    if not lazy:
        if list(mine.state_dict()) != list(theirs.state_dict()):
            yield f"state_dict: {list(mine.state_dict())} against {list(theirs.state_dict())}"
            return
        copied(mine, theirs)
    f = given.forward_input
    in_t = theirs_again((f.args, f.kwargs)) if not packed(f) else (f.args, f.kwargs)
    in_o = as_ours(in_t)
    if lazy:
        theirs(*theirs_again(f.args), **theirs_again(f.kwargs))
        mine(*as_ours(f.args), **as_ours(f.kwargs))
        copied(mine, theirs)
    torch.manual_seed(0)
    out_t = theirs(*in_t[0], **in_t[1])
    out_o = mine(*in_o[0], **in_o[1])
    random = info.module_cls.__name__ in DRAWN and training and getattr(theirs, "p", 1) not in (0, 0.0)
    tolerance = 1e-7 if dtype == torch.float64 else 2e-4
    trouble = differ("value", list(leaves(out_o)), list(leaves(out_t)), tolerance, random)
    if trouble:
        yield trouble
    for (k, b), (_, c) in zip(mine.named_buffers(), theirs.named_buffers(), strict=True):
        trouble = differ(f"buffer {k}", [b], [c], tolerance)
        if trouble:
            yield trouble
    if random or trouble:
        return
    yield from gradients_of(info, mine, theirs, in_o, in_t, out_o, out_t, tolerance)


def packed(f):
    return any(type(a).__name__ == "PackedSequence" for a in f.args)


def gradients_of(info, mine, theirs, in_o, in_t, out_o, out_t, tolerance):
    """First gradients of inputs and parameters, and those of the sum of their squares."""
    import torch

    found = []
    second = info.supports_gradgrad
    for T, module, inputs, out in ((torch, theirs, in_t, out_t), (autolab, mine, in_o, out_o)):
        outs = [o for o in leaves(out) if o.requires_grad]
        named = [(f"input {i}", t) for i, t in enumerate(leaves(*inputs)) if t.requires_grad and t.is_leaf]
        named += [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        if not outs or not named:
            return
        wanted = [t for _, t in named]
        try:
            orders = gradients(T, outs, wanted, second)
        except RuntimeError as e:
            if T is not torch or "is not implemented" not in str(e):
                raise
            second, orders = False, gradients(T, outs, wanted, False)  # PyTorch has only the first
        found.insert(0, [
            {n: T.zeros_like(t) if g is None else g for (n, t), g in zip(named, grads or [None] * len(named), strict=True)} for grads in orders
        ])  # fmt: skip
    for order, a, b in zip(("gradient", "second gradient"), *found, strict=True):
        if list(a) != list(b):
            yield f"{order}s of {list(a)} against {list(b)}"
            return
        for n in a:
            trouble = differ(f"{order} of {n}", [a[n]], [b[n]], tolerance * (10 if order == "gradient" else 100))
            if trouble:
                yield trouble


def wrong_calls(info, dtype):
    """What PyTorch refuses is refused with the same exception and the same words."""
    from torch.testing._internal.common_modules import ModuleErrorEnum

    for i, case in enumerate(info.module_error_inputs_func(info, "cpu", dtype, False, True)):
        given = case.module_error_input
        c, f = given.constructor_input, given.forward_input
        ours_cls = getattr(autolab.nn, info.module_cls.__name__)
        said = f"error {i} {describe(c)}: "
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = ours_cls(*as_ours(c.args), **as_ours(c.kwargs))
                if case.error_on is not ModuleErrorEnum.CONSTRUCTION_ERROR:
                    made(*as_ours(f.args), **as_ours(f.kwargs))
        except case.error_type as e:
            if not re.search(case.error_regex, str(e)):
                yield f"{said}says {str(e)[:200]!r} against {case.error_regex!r}"
        except Exception as e:
            yield f"{said}{type(e).__name__} ({str(e)[:200]}) against {case.error_type} {case.error_regex!r}"
        else:
            yield f"{said}nothing raised against {case.error_type} {case.error_regex!r}"


def describe(c):
    def short(v):
        return f"T{list(v.shape)}" if hasattr(v, "requires_grad") else repr(v)[:40]

    return "(" + ", ".join([*map(short, c.args), *(f"{k}={short(v)}" for k, v in c.kwargs.items() if k not in ("device", "dtype"))]) + ")"


def main(names):
    warnings.simplefilter("ignore")
    found = database()
    if names == ["--all"]:
        bad = 0
        for name, infos in found.items():
            trouble = list(problems(name, infos))
            bad += bool(trouble)
            if trouble:
                print(f"{name}: {len(trouble)}: {trouble[0][:400]}", flush=True)
        print(f"{len(found)} modules, {bad} with differences")
        return
    for name in names:
        for trouble in problems(name, found[name]):
            print(f"{name}: {trouble}")


if __name__ == "__main__":
    main(sys.argv[1:])
