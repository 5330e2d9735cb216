"""PyTorch's own sample inputs for its operators, run on both sides: value, dtype, gradient, second gradient, method, in-place twin, errors.

python -m tests.oracle.compare tanh nn.functional.conv2d     what fails, sample by sample
python -m tests.oracle.compare --all                         one line for each operator that fails
"""

import contextlib
import functools
import itertools
import sys
import types
import warnings

import numpy as np

import autolab

from . import skip_without_pytorch

LIMIT = 40  # samples of one operator
COARSE = {"torch.float32": 1e-4, "torch.complex64": 1e-4, "torch.float16": 2e-3, "torch.bfloat16": 2e-2}  # whatever the inputs were


def operators():
    """PyTorch's operators by name; those with variants are listed as name, name#1 ..."""
    skip_without_pytorch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    found = {}
    for info in op_db:
        name = (
            info.name if info.name not in found else next(f"{info.name}#{i}" for i in itertools.count(1) if f"{info.name}#{i}" not in found)
        )
        found[name] = info
    return found


# Their numbers come from a generator, or from whatever stood in the memory: only shape and dtype can be compared.
RANDOM = set(
    "bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial new_empty "
    "new_empty_strided normal rand_like randint randint_like randn randn_like uniform nn.functional.alpha_dropout "
    "nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.feature_alpha_dropout "
    "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.rrelu resize_ resize_as_ "
    "nn.functional.multi_head_attention_forward svd_lowrank pca_lowrank".split()
)
# What PyTorch computes to about seven digits only; tests/torch_api/test_special.py says how exact ours are.
LOOSE = {"special.bessel_j0": 1e-6, "special.bessel_j1": 1e-6, "special.bessel_y0": 1e-6, "special.bessel_y1": 1e-6}
# Equal entries may be picked or ordered differently: the places of whole numbers are not compared, those of floats are.
TIES = set("argsort kthvalue mode sort topk".split())
METHODS_ONLY = set("bfloat16 bool byte char double float half int long short".split())  # as functions these names are dtypes


def here(info):
    """Our function for an operator, or None.

    PyTorch writes some operators as lambdas over `torch`, to bring the arguments into order: those run with autolab in its place.
    """
    name = info.name
    at = autolab
    for part in name.split("."):
        at = None if name in METHODS_ONLY else getattr(at, part, None)
    if name in ("H", "T", "mH", "mT"):
        return as_written(info.op) if hasattr(autolab.Tensor, name) else None
    at = at if callable(at) else getattr(autolab.Tensor, name, None) or getattr(autolab.Tensor, f"{name}_", None)
    return at if at is None else as_written(info.op) or at


def as_written(function):
    """A lambda of PyTorch's database, over autolab; None for other functions."""
    if getattr(function, "__name__", "") != "<lambda>" or not isinstance(function, types.FunctionType):
        return None
    names = {**function.__globals__, "torch": autolab}
    return types.FunctionType(function.__code__, names, "<lambda>", function.__defaults__, function.__closure__)


def ours(value):
    """A PyTorch value as ours; tensors become leaves."""
    import torch

    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            array = value.detach().to(torch.float32).numpy() if value.dtype == torch.bfloat16 else value.detach().numpy()
        made = autolab.tensor(np.array(array), dtype=getattr(autolab, str(value.dtype).removeprefix("torch.").replace("bool", "bool")))
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        return getattr(autolab, str(value).removeprefix("torch."))
    if isinstance(value, torch.Size):
        return autolab.Size(value)
    if isinstance(value, torch.device):
        return autolab.device("cpu")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(ours, value))
    if isinstance(value, list | tuple):
        return type(value)(map(ours, value))
    if isinstance(value, dict):
        return {k: ours(v) for k, v in value.items()}
    if isinstance(value, torch.nn.Module):
        return getattr(autolab.nn, type(value).__name__, lambda: None)()
    if getattr(torch.nn.functional, getattr(value, "__name__", ""), None) is value and callable(value):
        return getattr(autolab.nn.functional, value.__name__)
    return as_written(value) or value


def leaves(*values):
    """The tensors in a nest of lists, tuples and dicts."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from leaves(*value)
        elif isinstance(value, dict):
            yield from leaves(*value.values())
        elif hasattr(value, "requires_grad"):
            yield value


def theirs_again(value):
    """The sample's tensors as fresh leaves, so that a run leaves nothing behind."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(theirs_again, value))
    if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        return type(value)(map(theirs_again, value))
    if isinstance(value, dict):
        return {k: theirs_again(v) for k, v in value.items()}
    return value


def numbers(tensor):
    t = tensor.detach()
    if str(t.dtype).endswith("bfloat16"):
        t = t.float()
    return t.numpy(force=True)


def gradients(T, outputs, inputs, second):
    """First gradients for fixed incoming gradients, and the gradients of their sum of squares."""
    outputs = [o for o in outputs if o.requires_grad]
    if not outputs or not inputs:
        return [], []
    incoming = [T.tensor(np.random.default_rng(i).standard_normal(tuple(o.shape)), dtype=o.dtype) for i, o in enumerate(outputs)]
    first = T.autograd.grad(outputs, inputs, incoming, create_graph=second, allow_unused=True)
    again = [g for g in first if g is not None and g.requires_grad]
    if not second or not again:
        return first, []
    return first, T.autograd.grad(sum((g * g).sum() for g in again), inputs, allow_unused=True)


def differ(what, a, b, tolerance, random=False):
    """What differs between our tensors and PyTorch's, as a sentence; None if nothing does. Random numbers are not compared."""
    a, b = list(leaves(a)), list(leaves(b))
    if len(a) != len(b):
        return f"{what}: {len(a)} tensors against {len(b)}"
    for x, y in zip(a, b, strict=True):
        if tuple(x.shape) != tuple(y.shape):
            return f"{what}: shape {tuple(x.shape)} against {tuple(y.shape)}"
        if str(x.dtype) != str(y.dtype):
            return f"{what}: {x.dtype} against {y.dtype}"
        if what == "value" and x.requires_grad != y.requires_grad:
            return f"{what}: requires_grad {x.requires_grad} against {y.requires_grad}"
        tolerance = max(tolerance, COARSE.get(str(y.dtype), 0))
        x, y = numbers(x), numbers(y)
        if not random and not np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True):
            with np.errstate(all="ignore"):
                return f"{what}: off by {np.nanmax(np.abs(np.asarray(x, dtype=float) - np.asarray(y, dtype=float))):.3g}"
    return None


def none_as_zero(grads, inputs, T):
    return [T.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True)]


def problems_of_sample(info, ours_fn, theirs_fn, sample, tolerance, second=True):
    """Sentences: how our function differs from PyTorch's on one sample."""
    import torch

    args_t = theirs_again((sample.input, *sample.args)), theirs_again(sample.kwargs)
    args_o = ours((sample.input, *sample.args)), ours(sample.kwargs)
    torch.manual_seed(0)
    try:
        expected = theirs_fn(*args_t[0], **args_t[1])
    except Exception:
        return  # not one of PyTorch's own good days
    try:
        got = ours_fn(*args_o[0], **args_o[1])
    except Exception as e:
        yield f"raises {type(e).__name__}: {str(e)[:160]}"
        return
    if not any(True for _ in leaves(expected)):
        if repr(got) != repr(expected):
            yield f"value: {got!r} against {expected!r}"
        return
    if isinstance(expected, tuple) and hasattr(expected, "_fields") and getattr(got, "_fields", None) != expected._fields:
        yield f"value: fields {getattr(got, '_fields', None)} against {expected._fields}"
    expected_all, got_all = list(leaves(expected)), list(leaves(got))
    if info.name in TIES and not args_t[0][0].is_floating_point():
        expected_all, got_all = expected_all[:-1], got_all[:-1]
    random = info.name in RANDOM or sample.kwargs.get("dropout_p", 0) > 0
    trouble = differ("value", got_all, expected_all, tolerance, random)
    if trouble:
        yield trouble
    if trouble or random:
        return
    ins_t = [t for t in leaves(*args_t) if t.requires_grad]
    ins_o = [t for t in leaves(*args_o) if t.requires_grad]
    if not ins_t or not any(o.requires_grad for o in expected_all):
        return
    out_t, out_o = expected_all, got_all
    if sample.output_process_fn_grad is not None:
        try:
            out_t, out_o = list(leaves(sample.output_process_fn_grad(expected))), list(leaves(sample.output_process_fn_grad(got)))
        except Exception:
            pass
    second = second and info.supports_gradgrad
    try:
        first_t, second_t = gradients(torch, out_t, ins_t, second)
    except Exception:
        second = False
        try:
            expected = theirs_fn(*args_t[0], **args_t[1])
            first_t, second_t = gradients(torch, list(leaves(expected)), ins_t, False)
        except Exception:
            return
    try:
        first_o, second_o = gradients(autolab, out_o, ins_o, second)
    except Exception as e:
        yield f"gradient raises {type(e).__name__}: {str(e)[:160]}"
        return
    if first_t:
        trouble = differ("gradient", none_as_zero(first_o, ins_o, autolab), none_as_zero(first_t, ins_t, torch), tolerance * 10)
        if trouble:
            yield trouble
            return
    if second_t or second_o:
        if not second_o or not second_t:
            second_o, second_t = second_o or [None] * len(ins_o), second_t or [None] * len(ins_t)
        trouble = differ("second gradient", none_as_zero(second_o, ins_o, autolab), none_as_zero(second_t, ins_t, torch), tolerance * 100)
        if trouble:
            yield trouble


def problems(info, dtypes=("float64", "float32", "int64", "bool"), limit=LIMIT, wrong=LIMIT):
    """Sentences: how our operator differs from PyTorch's."""
    import torch

    function = here(info)
    if function is None:
        yield "absent"
        return
    supported = {str(d).removeprefix("torch.") for d in info.supported_dtypes("cpu")}
    for dtype in dtypes:
        if dtype not in supported:
            continue
        d = getattr(torch, dtype)
        with_grad = dtype == "float64" and d in info.supported_backward_dtypes("cpu") and info.supports_autograd
        torch.manual_seed(0)
        tolerance = max({"float64": 1e-7, "float32": 2e-4}.get(dtype, 1e-7), LOOSE.get(info.name, 0))
        try:
            samples = list(itertools.islice(info.sample_inputs("cpu", d, requires_grad=with_grad), limit))
        except Exception:
            continue
        for i, sample in enumerate(samples):
            said = f"{dtype} sample {i}: "
            for p in problems_of_sample(info, function, info.op, sample, tolerance):
                yield f"{said}{p}   [{describe(sample)}]"
            if dtype != "float64":
                continue
            for kind, ours_variant, theirs_variant in variants(info):
                if kind == "in-place" and (with_grad or sample.broadcasts_input):
                    sample_n = theirs_again_no_grad(sample)
                else:
                    sample_n = sample
                if kind == "in-place" and sample.broadcasts_input:
                    continue
                for p in problems_of_sample(info, ours_variant, theirs_variant, sample_n, tolerance, second=False):
                    yield f"{said}{kind}: {p}   [{describe(sample)}]"
    if wrong and info.error_inputs_func is not None:
        yield from wrong_calls(info, function, wrong)


def theirs_again_no_grad(sample):
    import torch

    def plain(t):
        return t.detach().clone() if isinstance(t, torch.Tensor) else t

    return sample.transform(plain)


def variants(info):
    """The method and the in-place twin, where PyTorch has them."""
    for kind, theirs, name in (("method", info.get_method(), info.name), ("in-place", info.get_inplace(), f"{info.name}_")):
        if theirs is not None:
            name = name if (got := getattr(theirs, "__name__", "<lambda>")) == "<lambda>" else got
            own = with_settings(info, theirs) or as_written(theirs) or getattr(autolab.Tensor, name, None)
            yield kind, own or missing(kind, name), theirs


def with_settings(info, theirs):
    """relu(x, inplace=True), as PyTorch writes it for functions without a method; None for others."""
    return functools.partial(here(info), *theirs.args, **theirs.keywords) if isinstance(theirs, functools.partial) else None


def missing(kind, name):
    def absent(*args, **kwargs):
        raise AttributeError(f"no {kind} {name}")

    return absent


@contextlib.contextmanager
def filled_memory():
    """`torch.empty` gives NaN and not what stood in the memory, which is another thing in each run."""
    import torch

    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def wrong_calls(info, function, limit):
    """Wrong calls must raise the same type with the same opening words; `info.error_inputs` says which."""
    import re

    try:
        with filled_memory():
            wrong = list(itertools.islice(info.error_inputs("cpu"), limit))
    except Exception:
        return
    for i, case in enumerate(wrong):
        sample = case.sample_input
        if case.error_regex == "unsupported operation" or "single memory location" in case.error_regex:
            continue  # tensors that share memory, which ours would not: tests/torch_api/test_out.py has some
        if info.name.startswith("__") and not hasattr(sample.input, "requires_grad"):
            continue  # a method of something that has it not
        try:
            args = ours((sample.input, *sample.args)), ours(sample.kwargs)
        except Exception:
            continue  # dtypes and layouts that are not here
        try:
            info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            pass
        else:
            continue  # PyTorch, too, lets it pass
        try:
            function(*args[0], **args[1])
        except Exception as e:
            kind = case.error_type
            if not isinstance(e, kind):
                yield f"error {i}: {type(e).__name__} ({str(e)[:80]}) against {kind} ({case.error_regex})   [{describe(sample)}]"
            elif not re.search(case.error_regex, str(e)):
                yield f"error {i}: says {str(e)[:100]!r} against {case.error_regex!r}   [{describe(sample)}]"
        else:
            yield f"error {i}: nothing raised against {case.error_type} {case.error_regex!r}   [{describe(sample)}]"


def describe(sample):
    """A sample in one line."""

    def short(v):
        if hasattr(v, "requires_grad"):
            return f"T{list(v.shape)}" + ("" if "float64" in str(v.dtype) else f":{str(v.dtype).removeprefix('torch.')}")
        if isinstance(v, list | tuple):
            return "(" + ", ".join(map(short, v)) + ")"
        return repr(v)[:60]

    return ", ".join([short(sample.input), *map(short, sample.args), *(f"{k}={short(v)}" for k, v in sample.kwargs.items())])


def main(names):
    warnings.simplefilter("ignore")
    found = operators()
    if names == ["--all"]:
        bad = absent = 0
        for name, info in found.items():
            trouble = list(itertools.islice(problems(info), 200))
            if trouble == ["absent"]:
                absent += 1
                print("absent", name)
            elif trouble:
                bad += 1
                print(f"{name}: {len(trouble)}: {trouble[0]}", flush=True)
        print(f"{len(found)} operators, {absent} absent, {bad} with differences")
        return
    for name in names:
        for key, info in found.items():
            if key.split("#")[0] == name:
                for trouble in problems(info):
                    print(f"{key}: {trouble}")


if __name__ == "__main__":
    main(sys.argv[1:])
