"""Attention with several heads, as a module."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.linear import NonDynamicallyQuantizableLinear
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.torch_api.creation import empty


class MultiheadAttention(Module):
    """Attention in num_heads parts of the features at once. Source: Vaswani et al. 2017.

    Shapes: query (L, N, E), key (S, N, kdim), value (S, N, vdim); with batch_first the batch N stands first; without a batch (L, E).
    Results: like the query, and the weights (N, L, S) or None.

    >>> attention = nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
    >>> x = torch.randn(4, 5, 8)  # four sentences of five words
    >>> out, weights = attention(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([4, 5, 8]), torch.Size([4, 5, 5]))
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        like = {"device": device, "dtype": dtype}
        apart = not self._qkv_same_embed_dim
        widths = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        for name, width in widths.items():
            self.register_parameter(name, Parameter(empty((embed_dim, width), **like)) if apart else None)
        self.register_parameter("in_proj_weight", None if apart else Parameter(empty((3 * embed_dim, embed_dim), **like)))
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **like)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **like)
        for name in ("bias_k", "bias_v"):
            if add_bias_kv:
                setattr(self, name, Parameter(empty((1, 1, embed_dim), **like)))
            else:
                self.__dict__[name] = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)  # type: ignore[arg-type]
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """`functional.multi_head_attention_forward`.

        key_padding_mask: (N, S), True for keys to leave out. attn_mask: (L, S) or (N * heads, L, S), True where a query may not look, or
        floats that are added. is_causal: a hint that attn_mask is the causal one.
        """
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        apart = not self._qkv_same_embed_dim
        weights = {}
        if apart:
            weights = {name: getattr(self, name) for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight")}
        out, attention = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask, use_separate_proj_weight=apart,
            average_attn_weights=average_attn_weights, is_causal=is_causal, **weights,
        )  # fmt: skip
        return (out.transpose(0, 1) if turned else out), attention
