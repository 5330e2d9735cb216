"""Scaled dot-product attention, and attention with several heads on top of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.dtypes import NARROW
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.functional.conv import linear
from autolab.nn.functional.dropouts import dropout
from autolab.nn.functional.padding import pad
from autolab.rules import nn as rows
from autolab.torch_api.dims import evened_out
from autolab.torch_api.linalg import matmul
from autolab.torch_api.shape import cat


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(query @ key.T * scale + mask) @ value: each query gets a mean of the values, weighted by how well their keys fit.

    Shapes: query (..., L, E), key (..., S, E), value (..., S, V), result (..., L, V).
    attn_mask: broadcasts to (..., L, S); of bools, True where a query may look; of floats, added. is_causal: query i looks at keys 0 to i.
    scale: 1 / sqrt(E) by default. enable_gqa: fewer heads (dim -3) of keys and values, each for several of the query.
    Source: Vaswani et al. 2017. Raises RuntimeError for a mask together with is_causal.

    >>> key = value = tensor([[0., 1.], [0., 3.]])
    >>> scaled_dot_product_attention(zeros(1, 2), key, value)  # a query to which all keys are equal gets the mean
    tensor([[0., 2.]])
    >>> scaled_dot_product_attention(ones(2, 2), key, value, is_causal=True)[0]  # the first query sees the first key only
    tensor([0., 1.])
    """
    _check(query, key, value, attn_mask, is_causal)
    if query.payload.dtype in NARROW:  # in float32, and rounded once
        mask = attn_mask if attn_mask is None or attn_mask.payload.dtype == bool else attn_mask.float()
        q, k, v = query.float(), key.float(), value.float()
        wide = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)
        return wide.to(query.dtype)
    if enable_gqa:
        key, value = (_shared(t, query) for t in (key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None and query.shape[-1] else 1.0 if scale is None else scale
    settings = {"scale": scale, "causal": bool(is_causal)}
    if attn_mask is None and not dropout_p and _is_plain(query, key, value):
        return apply(rows.attention, (query, key, value), settings)
    scores = matmul(query, key.mT)
    weights = apply(rows.attention_weights, (scores, attn_mask), settings)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return matmul(weights, value)


def _is_plain(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether one row computes all of it: where PyTorch, too, has one kernel for all of it."""
    q, k, v = query.payload, key.payload, value.payload
    return q.ndim == 4 and k.shape == v.shape and q.shape[:2] == k.shape[:2] and q.dtype.kind == "f" and q.size > 0 and k.size > 0


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Any, is_causal: bool) -> None:
    for name, t in (("key", key), ("value", value)):
        if t.payload.dtype != query.payload.dtype and not evened_out("scaled_dot_product_attention", query, key, value):
            raise RuntimeError(
                f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} {name}.dtype: {t.dtype} instead"
            )
    if min(query.payload.ndim, key.payload.ndim, value.payload.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim}, key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if mask is None:
        return
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if mask.dtype.name != "bool" and mask.dtype != query.dtype:
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {mask.dtype} and  "
            "query.dtype: "
            f"{query.dtype} instead."
        )


def _shared(t: Any, query: Tensor) -> Any:
    """Heads of keys or values, each repeated for the heads of the query that share it."""
    heads, own = query.shape[-3], t.shape[-3]
    if heads % own:
        raise RuntimeError(f"Number of heads in key and value must divide the number of heads in query, but got {own} and {heads}")
    if heads == own:
        return t
    lead = tuple(t.shape[:-3])
    spread = t.unsqueeze(-3).expand(*lead, own, heads // own, *t.shape[-2:])
    return spread.reshape(*lead, heads, *t.shape[-2:])


# -- with several heads ----------------------------------------------------------------------------


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
    need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention in num_heads parts of the features at once: what `nn.MultiheadAttention` computes.

    Shapes: query (L, N, E) or (L, E), key and value (S, N, E) or (S, E); in_proj_weight (3E, E); result like query, and the weights
    (N, L, S), averaged over the heads or (N, H, L, S), or None. attn_mask: (L, S) or (N * H, L, S), True where a query may *not* look, or
    floats that are added; key_padding_mask: (N, S), True for keys to leave out. Source: Vaswani et al. 2017.

    >>> x, eye = ones(3, 1, 4), torch.eye(4)  # three words, one sentence, four features
    >>> out, weights = multi_head_attention_forward(
    ...     x, x, x, 4, 2, torch.cat([eye, eye, eye]), None, None, None, False, 0.0, eye, None)
    >>> out.shape, weights[0, 0]  # equal words: each gets a third of the attention
    (torch.Size([3, 1, 4]), tensor([0.3333, 0.3333, 0.3333]))
    """
    alone = query.ndim == 2
    _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if alone:
        query, key, value = (t.unsqueeze(1) for t in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if key.shape[:2] != value.shape[:2] and use_separate_proj_weight:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if key.shape != value.shape and not use_separate_proj_weight:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        is_causal = False

    if use_separate_proj_weight:
        projections: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
        if None in projections:
            raise AssertionError("use_separate_proj_weight is True but a projection weight is None")
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        projections = in_proj_weight.chunk(3)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = (linear(t, w, b) for t, w, b in zip((query, key, value), projections, biases))

    mask = _added(attn_mask, q)
    padding = _added(key_padding_mask, q)
    if bias_k is not None and bias_v is not None:
        k, v = (cat([t, b.expand(1, batch, width)]) for t, b in ((k, bias_k), (v, bias_v)))
        mask, padding = _longer(mask), _longer(padding)
    split = lambda t: t.reshape(t.shape[0], batch * num_heads, head).transpose(0, 1)
    q = split(q)
    k = split(k) if static_k is None else static_k
    v = split(v) if static_v is None else static_v
    if add_zero_attn:
        zeros = new_tensor(np.zeros((batch * num_heads, 1, head), q.payload.dtype))
        k, v = cat([k, zeros], 1), cat([v, zeros], 1)
        mask, padding = _longer(mask), _longer(padding)
    source = k.shape[1]
    q, k, v = (t.reshape(batch, num_heads, -1, head) for t in (q, k, v))
    if mask is not None:
        mask = mask if mask.ndim == 2 else mask.reshape(batch, num_heads, length, source)
    if padding is not None:
        padding = padding.reshape(batch, 1, 1, source)
        mask = padding if mask is None else mask + padding
    dropped = dropout_p if training else 0.0
    if not need_weights:
        out = scaled_dot_product_attention(q, k, v, mask, dropped, is_causal)
        weights = None
    else:
        weights = apply(rows.attention_weights, (matmul(q * math.sqrt(1 / head), k.mT), mask), {"scale": 1.0, "causal": False})
        if dropped:
            weights = dropout(weights, dropped)
        out = matmul(weights, v)
    out = linear(out.permute(2, 0, 1, 3).reshape(length * batch, width), out_proj_weight, out_proj_bias)
    out = out.reshape(length, batch, -1)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if alone:
        out = out.squeeze(1)
        weights = None if weights is None else weights.squeeze(0)
    return out, weights


def _check_heads(query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int) -> None:
    if query.ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor")
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(
            f"For {'batched (3-D)' if query.ndim == 3 else 'unbatched (2-D)'} `query`, expected `key` and `value` to be {query.ndim}-D but "
            f"found {key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if padding is not None and padding.ndim != query.ndim - 1:
        raise AssertionError(
            f"For a {query.ndim}-D `query`, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but found {padding.ndim}-D"
        )
    if mask is not None:
        length, source = query.shape[0], key.shape[0]
        batch = query.shape[1] if query.ndim == 3 else 1
        wanted = {2: (length, source), 3: (batch * heads, length, source)}
        if mask.ndim not in wanted:
            raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")
        if tuple(mask.shape) != wanted[mask.ndim]:
            raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {tuple(mask.shape)}, but should be {wanted[mask.ndim]}.")


def _added(mask: Any, like: Tensor) -> Any:
    """A mask as numbers to add: -inf where it is True."""
    if mask is None or mask.payload.dtype.kind != "b":
        return mask
    return new_tensor(np.where(mask.numbers(), -math.inf, 0).astype(like.payload.dtype))


def _longer(mask: Any) -> Any:
    """A mask for one key more, which all may see."""
    return mask if mask is None else pad(mask, (0, 1))
