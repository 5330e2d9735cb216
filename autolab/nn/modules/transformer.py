"""The Transformer and its layers. Source: Vaswani et al. 2017, Attention Is All You Need."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.attention import MultiheadAttention
from autolab.nn.modules.container import ModuleList
from autolab.nn.modules.dropout import Dropout
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.module import Module
from autolab.nn.modules.normalization import LayerNorm
from autolab.torch_api.creation import full


def _activation(activation: Any) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _clones(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _is_causal(mask: Tensor | None, hint: bool | None, length: int) -> bool:
    """Whether a mask leaves out just what lies ahead; only compared if nobody says."""
    if hint is not None or mask is None:
        return bool(hint)
    causal = Transformer.generate_square_subsequent_mask(length, dtype=mask.dtype if mask.is_floating_point() else None)
    return tuple(mask.shape[-2:]) == (length, length) and mask.ndim == 2 and bool((mask == causal).all())


def _length(t: Tensor, batch_first: bool) -> int:
    return t.shape[0] if t.ndim == 2 or not batch_first else t.shape[1]


class _Layer(Module):
    """What encoder and decoder layers share: attention to itself, and two linear maps with an activation between them."""

    def _set_up(
        self, norms: int, d_model: int, nhead: int, dim_feedforward: int, dropout: float, activation: Any, layer_norm_eps: float,
        batch_first: bool, norm_first: bool, bias: bool, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        like = {"device": device, "dtype": dtype}
        heads = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **like}
        self.self_attn = MultiheadAttention(d_model, nhead, **heads)
        if norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, **heads)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **like)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **like)
        self.norm_first = norm_first
        for k in range(1, norms + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like))
        for k in range(1, norms + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _sa_block(self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Tensor:
        settings = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal, "need_weights": False}
        return self.dropout1(self.self_attn(x, x, x, **settings)[0])

    def _feed(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Attention to itself, then two linear maps, each with a residual connection, dropout and LayerNorm.

    Shapes: (L, N, d_model), with batch_first (N, L, d_model), without a batch (L, d_model). norm_first: normalise before each part
    instead of after it.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(ones(5, 2, 8)).shape  # five words in each of two sentences
    torch.Size([5, 2, 8])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        settings = dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        self._set_up(2, d_model, nhead, dim_feedforward, *settings)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Masks as in `MultiheadAttention`."""
        x: Any = src
        mask = src_mask, src_key_padding_mask, is_causal
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *mask)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, *mask))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._feed(x))


class TransformerDecoderLayer(_Layer):
    """Attention to itself, attention to what the encoder made (`memory`), then two linear maps; each as in the encoder's layer.

    Shapes: tgt (T, N, d_model), memory (S, N, d_model), result like tgt; with batch_first N stands first.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(tgt=ones(3, 2, 8), memory=ones(5, 2, 8)).shape
    torch.Size([3, 2, 8])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        settings = dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        self._set_up(3, d_model, nhead, dim_feedforward, *settings)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Masks as in `MultiheadAttention`."""
        x: Any = tgt
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Tensor:
        settings = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal, "need_weights": False}
        return self.dropout2(self.multihead_attn(x, mem, mem, **settings)[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._feed(x))


class TransformerEncoder(Module):
    """num_layers copies of an encoder layer, one after another, and a norm at the end if there is one.

    enable_nested_tensor and mask_check are accepted and mean nothing: there are no nested tensors.
    Shapes: (L, N, d_model), with batch_first (N, L, d_model), without a batch (L, d_model).

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> nn.TransformerEncoder(layer, num_layers=3)(ones(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None
    ) -> Tensor:
        """Masks as in `MultiheadAttention`."""
        out = src
        is_causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Module):
    """num_layers copies of a decoder layer, one after another, and a norm at the end if there is one.

    Shapes: tgt (T, N, d_model), memory (S, N, d_model), result like tgt; with batch_first N stands first.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> nn.TransformerDecoder(layer, num_layers=2)(tgt=ones(3, 2, 8), memory=ones(5, 2, 8)).shape
    torch.Size([3, 2, 8])
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Masks as in `MultiheadAttention`."""
        out = tgt
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            out = layer(
                out, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder of the source and a decoder of the target that looks at it. Matrices start as `init.xavier_uniform_`.

    Shapes: src (S, N, d_model), tgt (T, N, d_model), result like tgt; with batch_first N stands first.

    >>> net = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16)
    >>> net(ones(5, 2, 8), ones(3, 2, 8)).shape
    torch.Size([3, 2, 8])
    >>> nn.Transformer.generate_square_subsequent_mask(3)  # step i looks at steps up to i
    tensor([[0., -inf, -inf],
            [0., 0., -inf],
            [0., 0., 0.]])
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
        dropout: float = 0.1, activation: Any = F.relu, custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*layer), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*layer), num_decoder_layers, norm())
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Masks as in `MultiheadAttention`. Raises RuntimeError for batches or features that do not agree."""
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(f"the batch number of src and tgt must be equal: {src.shape[batch]} and {tgt.shape[batch]}")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model: {src.shape[-1]} and {tgt.shape[-1]} against {self.d_model}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz) with -inf where a place would look ahead, 0 elsewhere."""
        return full((sz, sz), float("-inf"), device=device, dtype=dtype).triu(diagonal=1)
