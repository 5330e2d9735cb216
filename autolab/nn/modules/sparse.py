"""Tables of vectors that are looked up by integers."""

from __future__ import annotations

from typing import Any

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.torch_api.creation import empty


class _Table(Module):
    """What they share: a weight (num_embeddings, embedding_dim) that starts normal, with zeros where padding_idx points."""

    weight: Parameter

    def _set_up(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, max_norm: float | None, norm_type: float,
        scale_grad_by_freq: bool, sparse: bool, weight: Any, freeze: bool, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        if weight is None:
            self.weight = Parameter(empty((num_embeddings, embedding_dim), device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with recording(False):
                self.weight[self.padding_idx].fill_(0)

    def extra_repr(self) -> str:
        """The sizes; the rest where it is not usual."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        return text + "".join(f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Any:
        """A table with these vectors, (num, dim). freeze: they are not trained."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings.shape
        made = cls(rows, cols, _weight=embeddings, **settings)
        made.weight.requires_grad = not freeze
        return made


class Embedding(_Table):
    """A table of vectors looked up by integers. Shapes: weight (num_embeddings, embedding_dim), input (*), result (*, embedding_dim).

    padding_idx: a row that is zero at first and gets no gradient. max_norm: longer rows are shortened, in place, when looked up.

    >>> table = Embedding(10, 3, padding_idx=0)
    >>> table(tensor([[1, 2, 0, 0]])).shape
    torch.Size([1, 4, 3])
    >>> table(tensor([0]))
    tensor([[0., 0., 0.]], grad_fn=<EmbeddingBackward0>)
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        self._set_up(num_embeddings, embedding_dim, *settings, _weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """`functional.embedding` of the arguments, with the settings of this module."""
        settings = self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        return F.embedding(input, self.weight, *settings)


class EmbeddingBag(_Table):
    """Sums, means or maxima of vectors looked up together. Shapes: input (bags, length), or (all,) with offsets (bags,).

    >>> bags = EmbeddingBag(10, 3, mode="sum")
    >>> bags(tensor([1, 2, 4, 5, 4]), offsets=tensor([0, 2])).shape  # the bags (1, 2) and (4, 5, 4)
    torch.Size([2, 3])
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode, self.include_last_offset = mode, include_last_offset
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        self._set_up(num_embeddings, embedding_dim, *settings, _weight, False, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """`functional.embedding_bag` of the arguments, with the settings of this module."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, False, per_sample_weights,
            self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes; the rest where it is not usual; the mode."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        usual = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        text += "".join(f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)
        return f"{text}, mode={self.mode!r}" + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx}")
