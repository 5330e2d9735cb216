"""Convolutions and pools with every setting, and every setting used wrongly."""

from __future__ import annotations

import itertools

import numpy as np

from autolab.check import Spec
from autolab.engine.op import GENERAL, Op

from .generated import right, wrong

# Every operation here is: pad, look at windows, reduce each. One axis (N, C, L) or two (N, C, H, W).


def taps(shape, kernel, stride, dilation):
    """For each tap of a window its index into the padded array."""
    axes = len(kernel)
    sizes = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(shape[-axes:], kernel, stride, dilation, strict=True)]
    for tap in itertools.product(*map(range, kernel)):
        yield tap, (..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in zip(tap, dilation, stride, sizes, strict=True)))


def pad(x, padding):
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding])


def cut(x, padding):
    return x[(..., *(slice(p, x.shape[i - len(padding)] - p) for i, p in enumerate(padding)))]


def conv_forward(x, weight, stride, padding, dilation):
    x = pad(x, padding)
    return sum(np.einsum("nc...,oc->no...", x[at], weight[(..., *tap)]) for tap, at in taps(x.shape, weight.shape[2:], stride, dilation))


def correlate(g, seen):
    """The products of g and what a tap saw, added up."""
    return np.einsum("nop,ncp->oc", g.reshape(*g.shape[:2], -1), seen.reshape(*seen.shape[:2], -1))


def conv_back(g, x, weight, stride, padding, dilation, add=True, used=None):
    """dx on the padded array, dw."""
    wide = pad(x, padding)
    dx, dw = np.zeros_like(wide), np.zeros_like(weight)
    used = weight if used is None else used
    for tap, at in taps(wide.shape, weight.shape[2:], stride, dilation):
        part = np.einsum("no...,oc->nc...", g, used[(..., *tap)])
        if add:
            dx[at] += part
        else:
            dx[at] = part
        dw[(..., *tap)] = correlate(g, wide[at])
    return dx, dw


def spread(g, x, kernel, stride, padding, dilation, weight, add=True):
    """What each window sends to what it saw, where windows do not run past the end."""
    wide = np.zeros_like(pad(x, padding))
    for tap in itertools.product(*map(range, kernel)):
        for place in itertools.product(*map(range, g.shape[2:])):
            at = tuple(p * s + t * d for p, s, t, d in zip(place, stride, tap, dilation, strict=True))
            if all(a < n for a, n in zip(at, wide.shape[2:], strict=True)):
                part = weight(tap, place)
                if add:
                    wide[(..., *at)] += part
                else:
                    wide[(..., *at)] = part
    return wide


# ---------- convolutions: settings in tuples, one for each axis

CONV = {
    "conv1d strided": (1, (((2, 2, 7), (3, 2, 3)), ((2, 2, 9), (2, 2, 3))), ({"stride": (2,)},)),
    "conv1d padded": (1, (((2, 2, 5), (3, 2, 3)), ((2, 3, 6), (3, 3, 3))), ({"padding": (1,)}, {"padding": (2,)})),
    "conv1d dilated": (1, (((2, 2, 8), (3, 2, 3)), ((2, 2, 7), (2, 2, 3))), ({"dilation": (2,)},)),
    "conv1d all": (1, (((2, 2, 8), (3, 2, 3)), ((2, 3, 11), (2, 3, 3))), ({"stride": (2,), "padding": (1,), "dilation": (2,)},)),
    "conv2d padded": (2, (((2, 2, 4, 5), (3, 2, 2, 3)), ((2, 2, 5, 5), (2, 2, 3, 3))), ({"padding": (1, 2)}, {"padding": (1, 1)})),
    "conv2d strided": (2, (((2, 2, 5, 6), (3, 2, 2, 3)), ((2, 2, 5, 5), (2, 2, 3, 3))), ({"stride": (2, 1)}, {"stride": (2, 2)})),
}  # fmt: skip


def conv_spec(name, axes, shapes, settings, hidden):
    """The exercise; `hidden`: with one fixed setting that the rule is not given."""
    usual = {"stride": (1,) * axes, "padding": (0,) * axes, "dilation": (1,) * axes}
    if hidden:
        fixed = {**usual, **settings[0]}

        def forward(x, weight):
            return conv_forward(x, weight, **fixed)

        def back_x(g, x, weight):
            return cut(conv_back(g, x, weight, **fixed)[0], fixed["padding"])

        def back_weight(g, x, weight):
            return conv_back(g, x, weight, **fixed)[1]

        return Spec(name, Op(name.replace(" ", "_"), forward, GENERAL, x=back_x, weight=back_weight), shapes=shapes, scaled=1e3), fixed
    names = list(settings[0])
    asks = ", ".join(names)
    made = {"conv_forward": conv_forward, "conv_back": conv_back, "cut": cut, "usual": usual}
    call = ", ".join(f"{n}={n}" if n in names else f"{n}=usual[{n!r}]" for n in usual)
    cut_off = "padding" if "padding" in names else "usual['padding']"
    text = (f"def forward(x, weight, *, {asks}): return conv_forward(x, weight, {call})\n"
            f"def back_x(g, x, weight, {asks}): return cut(conv_back(g, x, weight, {call})[0], {cut_off})\n"
            f"def back_weight(g, x, weight, {asks}): return conv_back(g, x, weight, {call})[1]\n")  # fmt: skip
    exec(text, made)
    op = Op(name.replace(" ", "_"), made["forward"], GENERAL, x=made["back_x"], weight=made["back_weight"])
    return Spec(name, op, shapes=shapes, settings=settings, scaled=1e3), usual


def rule_of(function, names):
    """A rule that asks for these settings by name."""
    asks = "".join(f", {n}" for n in names)
    made = {"function": function}
    exec(f"def rule(g, x, weight{asks}): return function(g, x, weight, dict({', '.join(f'{n}={n}' for n in names)}))", made)
    return made["rule"]


def conv_families(name, axes, usual, names):
    def full(given):
        return {**usual, **given}

    def keep(family, kinds, f, words=()):
        for hidden in (False, True):
            shown = f"{name} hidden" if hidden else name
            spec, fixed = SPECS[shown]
            rule = rule_of(lambda g, x, w, given: f(g, x, w, {**fixed, **given}), () if hidden else names)
            wrong(f"conv: {family}", shown, spec, rule, kinds, words)

    def dx(g, x, w, s, **more):
        return cut(conv_back(g, x, w, **s, **more)[0], s["padding"])

    def dw(g, x, w, s):
        return conv_back(g, x, w, **s)[1]

    for setting in ("stride", "dilation"):
        if setting in names:

            def ignored(g, x, w, s, setting=setting):
                t = {**s, setting: (1,) * axes}
                wide = spread(
                    g, x, w.shape[2:], t["stride"], t["padding"], t["dilation"], lambda tap, place: g[(..., *place)] @ w[(..., *tap)]
                )
                return cut(wide, s["padding"]), dw(g, x, w, s)

            keep(f"{setting} ignored for x", "setting|permutation", ignored, (f"{setting}",))

            def ignored_w(g, x, w, s, setting=setting):
                t = {**s, setting: (1,) * axes}
                wide, out = pad(x, s["padding"]), np.zeros_like(w)
                for tap in itertools.product(*map(range, w.shape[2:])):
                    at = tuple(
                        slice(k * d, k * d + (n - 1) * st + 1, st) for k, d, st, n in zip(tap, t["dilation"], t["stride"], g.shape[2:])
                    )
                    out[(..., *tap)] = correlate(g, wide[(..., *at)])
                return dx(g, x, w, s), out

            keep(f"{setting} ignored for weight", "setting", ignored_w, (f"{setting}",))
    if "stride" in names:

        def window(g, x, w, s):
            wide = spread(g, x, w.shape[2:], w.shape[2:], s["padding"], s["dilation"], lambda tap, place: g[(..., *place)] @ w[(..., *tap)])
            return cut(wide, s["padding"]), dw(g, x, w, s)

        keep("window for stride", "setting", window, ("stride",))
    if "padding" in names:
        keep(
            "padding not cut off",
            "setting|shape|padding|pieces",
            lambda g, x, w, s: (conv_back(g, x, w, **s)[0], dw(g, x, w, s)),
            ("padding",),
        )
        keep(
            "padding cut at the end",
            "setting|padding|pieces|permutation",
            lambda g, x, w, s: (conv_back(g, x, w, **s)[0][tuple(slice(n) for n in x.shape)], dw(g, x, w, s)),
            ("padding", "shifted"),
        )
        keep(
            "padding cut at the start",
            "setting|padding|pieces|permutation",
            lambda g, x, w, s: (conv_back(g, x, w, **s)[0][(..., *(slice(-n, None) for n in x.shape[2:]))], dw(g, x, w, s)),
            ("padding", "shifted"),
        )

        def unpadded(g, x, w, s):
            out = np.zeros_like(w)
            for tap in itertools.product(*map(range, w.shape[2:])):
                seen = x[(..., *(slice(k, k + n) for k, n in zip(tap, g.shape[2:])))]
                out[(..., *tap)] = correlate(g[(..., *(slice(n) for n in seen.shape[2:]))], seen)
            return dx(g, x, w, s), out

        keep("weight from x without padding", "setting|padding", unpadded, ("padding",))
    keep(
        "kernel the wrong way round",
        "flipped",
        lambda g, x, w, s: (dx(g, x, w, s, used=np.flip(w, tuple(range(2, w.ndim)))), dw(g, x, w, s)),
    )
    keep(
        "weight's gradient the wrong way round",
        "flipped",
        lambda g, x, w, s: (dx(g, x, w, s), np.flip(dw(g, x, w, s), tuple(range(2, w.ndim)))),
    )
    keep("overwritten", "overwritten|one of many", lambda g, x, w, s: (dx(g, x, w, s, add=False), dw(g, x, w, s)))

    def short(g, x, w, s):
        h = g.copy()
        h[..., -1] = 0
        return dx(h, x, w, s), dw(g, x, w, s)

    keep("last window left out", "one of many|places", short)

    def late(g, x, w, s):
        h = g.copy()
        h[..., 0] = 0
        return dx(g, x, w, s), dw(h, x, w, s)

    keep("first window left out for weight", "one of many|places", late)
    keep(
        "bound is a number",
        "one of many|places|number",
        lambda g, x, w, s: (dx(np.concatenate([g[..., :3], 0 * g[..., 3:]], -1), x, w, s), dw(g, x, w, s)),
        ("g is never looked at",),
    )
    keep("one sample only", "one of many|not summed|wrong axis", lambda g, x, w, s: (dx(g, x, w, s), dw(g[:1], x[:1], w, s)))
    keep("averaged over samples", "averaged|constant", lambda g, x, w, s: (dx(g, x, w, s), dw(g, x, w, s) / len(x)))
    first_tap = (slice(None), slice(None), *(0,) * axes)

    def no_tap(g, x, w, s):
        v = w.copy()
        v[first_tap] = 0
        return dx(g, x, v, s), dw(g, x, w, s)

    keep("first tap left out", "places|term|one of many", no_tap)
    right(name, SPECS[name][0], rule_of(lambda g, x, w, s: (dx(g, x, w, full(s)), dw(g, x, w, full(s))), names))


SPECS = {}


# ---------- pools: settings are numbers


def windows_of(x, size, stride):
    """(..., n, size): every window of the last axis."""
    n = (x.shape[-1] - size) // stride + 1
    return np.stack([x[..., i * stride : i * stride + size] for i in range(n)], -2)


def put(parts, shape, stride, add=True):
    """The other way: windows (..., n, size) into an array of this shape."""
    out = np.zeros(shape)
    for i in range(parts.shape[-2]):
        at = out[..., i * stride : i * stride + parts.shape[-1]]
        part = parts[..., i, : at.shape[-1]]
        if add:
            at += part
        else:
            at[...] = part
    return out


def avg(x, size, stride):
    return windows_of(x, size, stride).mean(-1)


def largest(x, size, stride):
    return windows_of(x, size, stride).max(-1)


def total(x, size, stride):
    return windows_of(x, size, stride).sum(-1)


def avg_parts(g, x, size, stride):
    return np.repeat(g[..., None], size, -1) / size


def max_parts(g, x, size, stride):
    w = windows_of(x, size, stride)
    return g[..., None] * (w == w.max(-1, keepdims=True))


def sum_parts(g, x, size, stride):
    return np.repeat(g[..., None], size, -1)


POOLS = {"avg": (avg, avg_parts), "max": (largest, max_parts), "sum": (total, sum_parts)}
SETTINGS = {
    "tiled": ({"size": 3, "stride": 3},),
    "overlapping": ({"size": 3, "stride": 2}, {"size": 3, "stride": 1}),
    "gaps": ({"size": 2, "stride": 3},),
}
POOL_SHAPES = (((2, 8),), ((2, 3, 10),))


def pool_families(name, forward, parts, settings):
    op = Op(name.replace(" ", "_"), lambda x, *, size, stride: forward(x, size, stride), GENERAL,
            x=lambda g, x, size, stride: put(parts(g, x, size, stride), x.shape, stride))  # fmt: skip
    shown = Spec(name, op, shapes=POOL_SHAPES, settings=settings, scaled=1e3)
    size, stride = settings[0]["size"], settings[0]["stride"]
    fixed = Op(name.replace(" ", "_") + "_fixed", lambda x: forward(x, size, stride), GENERAL,
               x=lambda g, x: put(parts(g, x, size, stride), x.shape, stride))  # fmt: skip
    hidden = Spec(f"{name} hidden", fixed, shapes=POOL_SHAPES, scaled=1e3)

    def keep(family, kinds, f, words=()):
        wrong(f"pool: {family}", name, shown, lambda g, x, size, stride: f(g, x, size, stride), kinds, words)
        wrong(f"pool: {family}", f"{name} hidden", hidden, lambda g, x: f(g, x, size, stride), kinds, words)

    if stride != size:
        keep("window for stride", "setting", lambda g, x, size, stride: put(parts(g, x, size, stride), x.shape, size), ("stride",))
    keep("stride ignored", "setting", lambda g, x, size, stride: put(parts(g, x, size, stride), x.shape, 1), ("stride",))
    if stride < size:
        keep(
            "overwritten", "overwritten|one of many", lambda g, x, size, stride: put(parts(g, x, size, stride), x.shape, stride, add=False)
        )
    if name.startswith("avg"):
        keep("not divided", "constant|setting|averaged", lambda g, x, size, stride: put(parts(g, x, size, stride) * size, x.shape, stride))
        keep(
            "divided by the number of windows",
            "constant|setting|averaged",
            lambda g, x, size, stride: put(parts(g, x, size, stride) * size / g.shape[-1], x.shape, stride),
        )
        keep(
            "divided by the length",
            "constant|setting|averaged",
            lambda g, x, size, stride: put(parts(g, x, size, stride) * size / x.shape[-1], x.shape, stride),
        )
    if name.startswith("max"):
        keep("to all of the window", "mask", lambda g, x, size, stride: put(np.repeat(g[..., None], size, -1), x.shape, stride))
        keep("shared", "mask|function|averaged", lambda g, x, size, stride: put(np.repeat(g[..., None], size, -1) / size, x.shape, stride))
        keep("to the smallest", "mask|function|places", lambda g, x, size, stride: put(max_parts(g, -x, size, stride), x.shape, stride))
        keep(
            "first of the window",
            "mask|places|permutation|setting",
            lambda g, x, size, stride: put(np.pad(g[..., None], [(0, 0)] * g.ndim + [(0, size - 1)]), x.shape, stride),
        )
        keep(
            "value instead of place",
            "forward|factor|function|variable",
            lambda g, x, size, stride: put(parts(g, x, size, stride) * windows_of(x, size, stride), x.shape, stride),
        )
    keep(
        "last window left out",
        "one of many|places",
        lambda g, x, size, stride: put(parts(np.concatenate([g[..., :-1], 0 * g[..., -1:]], -1), x, size, stride), x.shape, stride),
    )
    keep(
        "bound is a number",
        "one of many|places|number",
        lambda g, x, size, stride: put(parts(g, x, size, stride)[..., :2, :], x.shape, stride),
    )
    if all((n - size) % stride or stride > size for (shape,) in POOL_SHAPES for n in shape[-1:]):
        keep(
            "uncovered rest cut off",
            "shape|places|padding|pieces|flattened",
            lambda g, x, size, stride: put(
                parts(g, x, size, stride), (*x.shape[:-1], (g.shape[-1] - 1) * stride + size - (stride > size)), stride
            ),
            ("rest", "end"),
        )
    keep(
        "shifted by one",
        "permutation|places|pieces|setting|padding",
        lambda g, x, size, stride: np.roll(put(parts(g, x, size, stride), x.shape, stride), 1, -1),
        ("shifted",),
    )
    keep("g not used", "upstream ignored", lambda g, x, size, stride: put(parts(np.ones_like(g), x, size, stride), x.shape, stride))
    if name.startswith("avg"):

        def rest_too(g, x, size, stride):
            out = put(parts(g, x, size, stride), x.shape, stride)
            end = (g.shape[-1] - 1) * stride + size
            out[..., end:] = g[..., -1:] / size
            return out

        if all((n - size) % stride for (shape,) in POOL_SHAPES for n in shape[-1:]):
            keep("the rest gets g too", "mask|places|setting", rest_too, ("does not depend on", "rest"))
    right(name, shown, lambda g, x, size, stride: put(parts(g, x, size, stride), x.shape, stride))


def fill() -> None:
    """Every mistake in every convolution and pool."""
    for name, (axes, shapes, settings) in CONV.items():
        SPECS[name] = conv_spec(name, axes, shapes, settings, False)
        SPECS[f"{name} hidden"] = conv_spec(f"{name} hidden", axes, shapes, settings, True)
    for name, (axes, _, settings) in CONV.items():
        conv_families(name, axes, SPECS[name][1], list(settings[0]))
    for (pool, (forward, parts)), (how, settings) in itertools.product(POOLS.items(), SETTINGS.items()):
        pool_families(f"{pool} {how}", forward, parts, settings)
