"""Samples for rows that look through windows: convolutions, pools, patches, padding, resizing."""

from autolab.rules import conv, padding, pool, resize

from .samples import Sample, normal, row, weights
from .samples_activations import f

LOADED = (conv, padding, pool, resize)  # files of rows that nn.functional loads when it needs them

CONVOLUTIONS = [
    *(Sample("conv", f(f"conv{n}d", **settings), cases)
      for n, cases in ((1, "237 432 4; 127 121 1"), (2, "2354 4332 4; 1133 2111 2"), (3, "12343 22222 2"))
      for settings in ({}, {"stride": 2, "padding": 1})),
    Sample("conv", f("conv2d"), "2354 4332"),
    Sample("conv", f("conv2d", stride=(2, 1), padding=(0, 1), dilation=(1, 2), groups=2), "2455 6223 6"),
    Sample("conv", f("conv2d", stride=(2, 1), padding=1, dilation=(1, 2), groups=3), "2354 3132 3"),
    Sample("conv_input", f("conv_transpose2d", stride=2, padding=1, groups=3), "2332 3132"),
    Sample("conv", lambda T, x, w: T.nn.functional.conv2d(x, w, padding="same"), "2145 2133"),
    Sample("conv", f("conv1d"), "25 222 2", named="a sample alone is one of a batch of one"),
    *(Sample("conv_input", f(f"conv_transpose{n}d", **settings), cases)
      for n, cases in ((1, "235 342"), (2, "2345 3222"), (3, "12323 21222"))
      for settings in ({}, {"stride": 2, "padding": 1, "output_padding": 1})),
    Sample("conv_input", f("conv_transpose2d", groups=2, dilation=2), "2433 4322"),
    Sample("conv_input", f("conv_transpose2d"), "2333 3222 2", named="the bias is added"),
    Sample("conv_weight", lambda T, g, x: T.nn.grad.conv2d_weight(x, (4, 3, 3, 2), g, 2, 1, 1), "2433 2354",
           ours=row("conv_weight", kernel=(3, 2), stride=(2, 2), padding=(1, 1), dilation=(1, 1), groups=1)),
    Sample("conv_weight", lambda T, g, x: T.nn.grad.conv2d_weight(x, (4, 1, 2, 2), g, 1, 0, 1, 2), "2434 2245",
           ours=row("conv_weight", kernel=(2, 2), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=2)),
    Sample("im2col", f("unfold", (2, 3), dilation=(1, 2), padding=1, stride=2), "2245; 256"),
    Sample("im2col", f("unfold", 2), "1233"),
    Sample("col2im", f("fold", (3, 4), (2, 2), stride=(1, 2)), "184; 84"),
    Sample("constant_pad_nd", f("pad", (1, 2)), "34; 4"),
    Sample("constant_pad_nd", f("pad", (-1, 2, 1, -2), value=0.5), "34; 234"),
]  # fmt: skip


def unpooled(T, g, x):
    return T.nn.functional.max_unpool2d(g, T.nn.functional.max_pool2d(x, 2, return_indices=True)[1], 2)


def picked(T, u, x):
    index = T.nn.functional.max_pool2d(x, 2, return_indices=True)[1]
    return u.flatten(-2).gather(-1, index.flatten(-2)).reshape(index.shape)


def beside_the_result(name):
    """A call of a row that wants the largest entries, too."""
    settings = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "size": (2, 2)}
    return lambda T, g, x: row(name, **settings)(T, g, x, T.nn.functional.max_pool2d(x, 2))


POOLS = [
    *(Sample("max_pool", f(f"max_pool{n}d", 2, **settings), cases, named=named)
      for n, cases, named in ((1, "235; 24", "PyTorch's has one dim more"), (2, "1244; 235", None), (3, "12443", None))
      for settings in ({}, {"stride": 1, "padding": 1}, {"stride": 2, "dilation": 1, "ceil_mode": True})),
    Sample("max_pool", f("max_pool2d", (2, 3), stride=(1, 2), dilation=(2, 1)), "1255"),
    Sample("max_pool_back", unpooled, "1222 1244", (normal, weights), ours=beside_the_result("max_pool_back"),
           named="PyTorch's is a max_unpool"),
    Sample("max_pool_pick", picked, "1244 1244", (normal, weights), ours=beside_the_result("max_pool_pick"),
           named="PyTorch's is a gather"),
    *(Sample("gather", lambda T, x, name=name: getattr(T.nn.functional, name)(x, 2, return_indices=True)[0], cases,
             named="PyTorch has nodes for each pool")
      for name, cases in (("max_pool2d", "1244; 235"), ("adaptive_max_pool2d", "1235"), ("adaptive_max_pool1d", "235"))),
    Sample("window_argmax", lambda T, x: T.nn.functional.max_pool2d(x, 2, return_indices=True)[1], "1244; 235"),
    *(Sample("avg_pool", f(f"avg_pool{n}d", 2, **settings), cases, named=named)
      for n, cases, named in ((1, "235; 24", "PyTorch's has one dim more"), (2, "1244; 235", None), (3, "12443", None))
      for settings in ({}, {"stride": 1, "padding": 1}, {"ceil_mode": True, "padding": 1, "count_include_pad": False})),
    Sample("avg_pool", f("avg_pool2d", 2, divisor_override=3), "1244"),
    Sample("avg_pool_back", lambda T, g: T.nn.functional.conv_transpose2d(g, T.full((1, 1, 2, 2), 0.25, dtype=g.dtype), stride=2), "2122",
           ours=row("avg_pool_back", shape=(4, 4), kernel=(2, 2), stride=(2, 2), padding=(0, 0), size=(2, 2), count_padding=True,
                    divisor=None), named="PyTorch's is AvgPool2DBackwardBackward"),
]  # fmt: skip

RESIZED = "PyTorch has a kernel for each mode"
RESIZING = [
    *(Sample("resample", f("interpolate", scale_factor=2.5, mode=mode, **settings), cases, named=RESIZED)
      for mode, cases in (("linear", "123"), ("bilinear", "1223; 2132"), ("bicubic", "1134"), ("trilinear", "11223"))
      for settings in ({}, {"align_corners": True})),
    Sample("resample", f("interpolate", size=(3, 2), mode="bilinear", antialias=True), "1256", named=RESIZED),
    Sample("resample", f("adaptive_avg_pool2d", (2, 3)), "1235; 234", named=RESIZED),
    Sample("index_select", f("interpolate", scale_factor=2), "123; 1223", named=RESIZED),
    Sample("index_select", f("pad", (1, 2), mode="reflect"), "134; 24", named="PyTorch has a kernel for each mode"),
    Sample("index_select", f("pad", (2, 1, 1, 0), mode="circular"), "1234", named="PyTorch copies the sides"),
]  # fmt: skip

SAMPLES = [*CONVOLUTIONS, *POOLS, *RESIZING]
