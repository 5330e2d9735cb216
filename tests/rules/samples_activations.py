"""Samples for activations, and for the losses and normalisations that are rows."""

import numpy as np

from autolab.rules import activations, nn

from .samples import UNARY, Sample, normal, row, weights

LOADED = (activations, nn)  # files of rows that nn.functional loads when it needs them


def probabilities(rng, shape):
    return rng.uniform(0.1, 0.9, shape)


def steep(rng, shape):
    """Far enough out to meet every kink, and not on one."""
    return 4 * rng.standard_normal(shape)


def f(name, *args, **kwargs):
    """A call of nn.functional with these settings."""
    return lambda T, *inputs: getattr(T.nn.functional, name)(*inputs, *args, **kwargs)


ACTIVATIONS = [
    *(Sample("elu", f(name, *args), UNARY, (steep,), named=named)
      for name, args, named in (("elu", (), None), ("elu", (0.7,), None), ("selu", (), "PyTorch's is a mul by the scale"),
                                ("celu", (2.0,), "PyTorch knows it by its own name"))),
    Sample("hardtanh", f("hardtanh"), UNARY, (steep,)),
    Sample("hardtanh", f("relu6"), UNARY, (steep,)),
    Sample("hardsigmoid", lambda T, x: T.clamp(x + 3, 0, 6) / 6, UNARY, (steep,), ours=f("hardsigmoid"),
           named="PyTorch's has no second derivative"),
    Sample("hardswish", f("hardswish"), UNARY, (steep,)),
    Sample("hardshrink", f("hardshrink", 0.7), UNARY, (steep,)),
    Sample("softshrink", f("softshrink", 0.7), UNARY, (steep,)),
    Sample("threshold", f("threshold", 0.2, 3.0), UNARY, (steep,)),
    Sample("log_sigmoid", f("logsigmoid"), UNARY, (steep,)),
    Sample("mish", f("mish"), UNARY, (steep,)),
    Sample("prelu", f("prelu"), "34 1; 234 3; 34 .; 4 1"),
    Sample("rrelu", lambda T, x, s: T.where(x > 0, x, x * s.detach()), "34 34; . .; 03 03", (normal, weights), ours=row("rrelu"),
           named="PyTorch draws the slopes itself"),
    Sample("leaky_relu", f("rrelu", 0.1, 0.3), UNARY, named="PyTorch's keeps its name when it is not training"),
]  # fmt: skip


def slopes_of_cross_entropy(T, g, x, n):
    target = T.tensor([1, 0, 3])
    return (T.softmax(x, -1) - T.nn.functional.one_hot(target, 4)) * (g.reshape(-1, 1) / n)


def back(reduction):
    return lambda T, g, x: row("cross_entropy_back", reduction=reduction)(T, g, x, T.tensor([1, 0, 3]))


LOSSES = [
    *(Sample("cross_entropy", lambda T, x, r=r: T.nn.functional.cross_entropy(x, T.tensor([1, 0, 3]), reduction=r), "34")
      for r in ("mean", "sum", "none")),
    *(Sample("cross_entropy_back", lambda T, g, x, n=n: slopes_of_cross_entropy(T, g, x, n), f"{shape} 34", ours=back(r),
             named="PyTorch has two nodes for it")
      for r, n, shape in (("mean", 3, "."), ("sum", 1, "."), ("none", 1, "3"))),
    *(Sample("binary_cross_entropy", f("binary_cross_entropy", reduction=r), "34 34; . .", (probabilities, probabilities),
             named="reduced by a node of its own")
      for r in ("mean", "sum", "none")),
    Sample("huber_loss", f("huber_loss", delta=0.7, reduction="none"), "34 34; . .", (normal, normal)),
    Sample("huber_loss", f("smooth_l1_loss", reduction="none"), "34 34", (normal, normal), named="PyTorch's is SmoothL1LossBackward0"),
]  # fmt: skip

WRITTEN_OUT = "PyTorch has kernels for the whole of attention"
NOT_TWICE = "PyTorch's kernel has no second derivative"


def softmax_of(T, x, mask=None, scale=1.0, causal=False):
    x = x * scale
    if causal:
        x = x.masked_fill(~T.tensor(np.tril(np.ones(x.shape[-2:], bool))), -np.inf)
    return T.softmax(x if mask is None else x + mask, -1)


ATTENTION = [
    Sample("attention_weights", lambda T, x, m: softmax_of(T, x, m, 0.5), "34 34; 234 4; 2334 34",
           ours=row("attention_weights", scale=0.5, causal=False), named=WRITTEN_OUT),
    Sample("attention_weights", lambda T, x: softmax_of(T, x, None, 2.0, True), "34; 243",
           ours=lambda T, x: row("attention_weights", scale=2.0, causal=True)(T, x, None), named=WRITTEN_OUT),
    Sample("attention_weights", f("scaled_dot_product_attention"), "34 54 52; 234 254 253", named=WRITTEN_OUT),
    Sample("attention_weights", f("scaled_dot_product_attention", is_causal=True), "34 34 34; 2334 2354 2353", named=WRITTEN_OUT),
    Sample("attention", lambda T, q, k, v: softmax_of(T, q @ k.mT, None, 0.5) @ v, "2234 2254 2254", named=NOT_TWICE,
           ours=f("scaled_dot_product_attention")),
    Sample("attention", lambda T, q, k, v: softmax_of(T, q @ k.mT, None, 0.7, True) @ v, "1234 1234 1234; 2154 2134 2134",
           named=NOT_TWICE, ours=f("scaled_dot_product_attention", is_causal=True, scale=0.7)),
]  # fmt: skip

NORMS = [
    Sample("rms_norm", f("rms_norm", (4,), eps=1e-2), "34; 234", named="PyTorch composes it"),
    Sample("rms_norm", lambda T, x, w: T.nn.functional.rms_norm(x, (3, 4), w), "34 34; 234 34", named="PyTorch composes it"),
    Sample("layer_norm", f("instance_norm"), "234; 2324", named="PyTorch has several nodes for it"),
    Sample("layer_norm", lambda T, x, w, b: T.nn.functional.group_norm(x, 2, w, b), "243 4 4; 2422 4 4",
           named="PyTorch has another for groups"),
]  # fmt: skip

SAMPLES = [*ACTIVATIONS, *LOSSES, *ATTENTION, *NORMS]
