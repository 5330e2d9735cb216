"""Names that PyTorch has and autolab has not: asking for one says so, and what was meant.

The sentence is made when it is read, not when it is raised: programs ask `hasattr` often.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from autolab.engine.tensor import Tensor

# What people look for under a name that is not here, by the end of the dotted name.
_DENSE = "all tensors are dense"
_GRAPH = "trace.record shows the graph of a run"
INSTEAD = {
    **dict.fromkeys(("complex32", "chalf"), "complex numbers are complex64 or complex128"),
    **dict.fromkeys(("sparse", "sparse_coo_tensor", "sparse_csr_tensor", "to_sparse", "coalesce", "is_coalesced"), _DENSE),
    **dict.fromkeys(("export", "symbolic_trace", "GraphModule"), _GRAPH),
    **{
        old: f"it was removed from PyTorch; use {new}"
        for old, new in {
            "symeig": "linalg.eigh",
            "eig": "linalg.eig",
            "lstsq": "linalg.lstsq, whose arguments are the other way round",
            "rfft": "fft.rfft",
            "solve": "linalg.solve, whose arguments are the other way round",
            "matrix_rank": "linalg.matrix_rank",
            "irfft": "fft.irfft",
            "ifft": "fft.ifft",
            "gels": "linalg.lstsq",
            "potrf": "linalg.cholesky",
            "btrifact": "linalg.lu_factor",
        }.items()
    },
    "DistributedSampler": "one process computes, so every sampler is for the whole data set",
    "rpc": "one process computes; utils.data.DataLoader(num_workers=...) loads in others",
    "onnx": "serialization.safetensors carries weights to other programs",
    "quantize_per_tensor": "there are no quantised tensors",
    "share_memory_": "threads see the same tensors, and processes get copies",
    "tensorboard": "print, or matplotlib",
}

# All public attributes of torch.Tensor in PyTorch 2.13 that were missing when this list was made, and some that may come.
TENSOR = """
as_subclass ccol_indices chalf coalesce col_indices const_data_ptr crow_indices dense_dim dequantize digamma digamma_
dim_order eig erfc erfc_ erfinv erfinv_ grad_dtype greater greater_ greater_equal greater_equal_ hardshrink hash_tensor i0 i0_ igamma
igamma_ igammac igammac_ indices int_repr ipu is_coalesced is_distributed is_same_size is_set_to is_shared istft less less_ less_equal
less_equal_ lgamma lgamma_ lstsq map_ map2_ module_load mtia new not_equal not_equal_ polygamma polygamma_ prelu
q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme record_stream reinforce resize resize_
resize_as resize_as_ resize_as_sparse_ row_indices share_memory_ slice_inverse smm solve sparse_dim sparse_mask sparse_resize_
sparse_resize_and_clear_ sspaddmm stft storage storage_offset storage_type symeig to_mkldnn to_padded_tensor to_sparse
to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr unsafe_chunk unsafe_split unsafe_split_with_sizes
untyped_storage values xpu
""".split()


class MissingName(AttributeError):
    """A name that is not here. `text` says so in Python's words; what to use instead is looked up when the message is read."""

    def __init__(self, text: str, name: str, known: Callable[[], Iterable[str]]) -> None:
        super().__init__()
        self.text, self.name, self.known = text, name, known

    def __str__(self) -> str:
        return sentence(self.text, str(self.name), self.known())


MissingName.__name__, MissingName.__qualname__ = "AttributeError", "AttributeError"  # what a traceback says
MissingName.__module__ = "builtins"


def sentence(text: str, name: str, known: Iterable[str]) -> str:
    """What is not there (`text`, in Python's words), and what was meant or what to use instead."""
    if name not in INSTEAD:
        near = nearest(name, known)
        if near is not None:
            return f"{text}. Did you mean: '{near}'?"
    reason = f": {INSTEAD[name]}" if name in INSTEAD else "; docs/differences-from-pytorch.md says what is left out"
    return f"{text}. autolab does not have everything that PyTorch has{reason}."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The public name that is most like another one, if one is like it."""
    import difflib

    names = sorted({n for n in known if not n.startswith("_") and n != name})
    same = [n for n in names if n.lower() == name.lower() or n == name.rstrip("_")]
    return next(iter(same or difflib.get_close_matches(name, names, 1, 0.66)), None)


def explain_missing(module: ModuleType) -> ModuleType:
    """Let a module say what was meant by a name that it does not have. What it loads late, it still does."""
    before = module.__dict__.get("__getattr__")
    if getattr(before, "says_what_was_meant", False):
        return module

    def __getattr__(name: str) -> Any:
        if before is not None:
            try:
                return before(name)
            except AttributeError:
                pass
        if name.startswith("__"):
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
        raise MissingName(f"module '{module.__name__}' has no attribute '{name}'", name, lambda: dir(module))

    __getattr__.says_what_was_meant = True  # type: ignore[attr-defined]
    module.__getattr__ = __getattr__  # type: ignore[method-assign]
    return module


class MissingMethod:
    """Stands among the methods of Tensor under a name that only PyTorch has."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        who = f"type object '{owner.__name__}'" if instance is None else f"'{owner.__name__}' object"
        raise MissingName(f"{who} has no attribute '{self.name}'", self.name, lambda: tensor_dir(Tensor))


class MissingModule:
    """The last to be asked for a module: `from autolab.distributions import Categorical` gets the same sentence."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        """Never a module. Raises ModuleNotFoundError for one of those that people look for, and for no other."""
        owner, _, name = fullname.rpartition(".")
        if owner.partition(".")[0] == "autolab" and name in INSTEAD:
            raise ModuleNotFoundError(sentence(f"No module named '{fullname}'", name, ()), name=fullname)


def bind_missing() -> None:
    """Give Tensor a stand-in for each name of PyTorch's that nothing else has taken."""
    for name in TENSOR:
        if name not in Tensor.__dict__:
            setattr(Tensor, name, MissingMethod(name))
    if MissingModule not in sys.meta_path:
        sys.meta_path.append(MissingModule)
    Tensor.__dir__ = tensor_dir  # type: ignore[method-assign, assignment]


def tensor_dir(t: Any) -> list[str]:
    """The names that are there."""
    listed = type.__dir__(t) if isinstance(t, type) else object.__dir__(t)
    cls = t if isinstance(t, type) else type(t)
    hidden = {"_home", "_level", "_own", "volatile"}  # slots that are empty in all but boxes, and what only warns
    return sorted({n for n in listed if n not in hidden and not isinstance(inspect.getattr_static(cls, n, None), MissingMethod)})
