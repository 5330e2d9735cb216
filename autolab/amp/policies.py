"""In which dtype each operation runs under autocast, under PyTorch's names for the operations.

There are two tables, as in PyTorch: CPU kernels of most operations work in 16 bits with sums in float32, so "cpu" leaves all but
products and losses alone; "cuda" knows which GPU kernels lose too much. Source: PyTorch's documentation, Autocast Op Reference.
"""

from __future__ import annotations

from typing import Any

# The products, in which nearly all work is done: in the 16-bit dtype.
LOWER = {
    "cpu": (
        "addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d einsum linear matmul mm "
        "prelu scaled_dot_product_attention"
    ),
    "cuda": (
        "addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
        "einsum gru_cell linear lstm_cell matmul mm multi_dot mv prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention"
    ),
}

LOSSES = (
    "binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss kl_div l1_loss "
    "margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss "
    "soft_margin_loss triplet_margin_loss"
)
# What needs range or digits: in float32.
FLOAT32 = {
    "cpu": (
        f"{LOSSES} adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cdist cholesky ctc_loss det "
        "eigh eigvalsh grid_sample inv max_pool3d nanquantile pinverse prod qr quantile reflection_pad1d reflection_pad2d "
        "replication_pad1d replication_pad2d replication_pad3d slogdet solve solve_triangular svd svdvals trace"
    ),
    "cuda": (
        f"{LOSSES} acos asin cdist cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm interpolate layer_norm log "
        "log10 log1p log2 log_softmax logsumexp norm normalize pdist pow prod reciprocal renorm rms_norm rsqrt sinh softmax softmin "
        "softplus sum tan vector_norm"
    ),
}
# What takes several tensors and refuses to mix dtypes: in the widest of theirs.
WIDEST = {
    "cpu": "cat index_copy stack",
    "cuda": "addcdiv addcmul atan2 bilinear cat cross dot grid_sample index_put scatter_add stack tensordot vdot",
}
# What loses everything in 16 bits, and has a better form.
REFUSED = {"cpu": "", "cuda": "binary_cross_entropy"}

# Rows of the table whose name is not PyTorch's.
ROWS = {"pow_scalar": "pow", "embedding_back": "", "conv": "conv2d", "conv_input": "conv_transpose2d"}


def table(device_type: str) -> dict[str, str]:
    """The policy of each operation that has one: "lower", "float32", "widest" or "refused"."""
    found: dict[str, str] = {}
    for policy, lists in (("lower", LOWER), ("float32", FLOAT32), ("widest", WIDEST), ("refused", REFUSED)):
        found.update(dict.fromkeys(lists[device_type].split(), policy))
    found.update({row: found[name] for row, name in ROWS.items() if name in found})
    return found


def policies(device_type: str = "cuda") -> str:
    """What autocast does to which operation, as text for reading. Operations that are not named run in the dtype of their inputs.

    >>> print(policies("cpu"))  # doctest: +ELLIPSIS
    autocast("cpu"):
      in float16 or bfloat16: addbmm, addmm, ...
      in float32: ...
      in the widest dtype of the inputs: cat, index_copy, stack
      all others: in the dtype of their inputs
    """
    lists: list[tuple[str, Any]] = [
        ("in float16 or bfloat16", LOWER), ("in float32", FLOAT32), ("in the widest dtype of the inputs", WIDEST), ("refused", REFUSED),
    ]  # fmt: skip
    lines = [f'autocast("{device_type}"):']
    lines += [f"  {what}: {', '.join(sorted(of[device_type].split()))}" for what, of in lists if of[device_type]]
    return "\n".join([*lines, "  all others: in the dtype of their inputs"])
