"""``python -m benchmarks.operators``: each everyday operation on small tensors, recorded, as a ratio to PyTorch.

    python -m benchmarks.operators                  # all of them, the slowest beside PyTorch first
    python -m benchmarks.operators "b.view(1024)"   # some
    python -m benchmarks.operators --numbers 1e6    # the arithmetic itself: forward, and forward with backward, on large tensors

What a call costs besides its arithmetic is nearly all of it on 32 x 32 numbers; on a million, next to nothing. One thread; both
sides run in turns.
"""

import argparse
import statistics

import numpy as np

from benchmarks.measure import summary, turns
from benchmarks.workloads import Program

VIEWS = """b.view(1024)  b.reshape(4,256)  b.flatten()  b.T  b.mT  b.transpose(0,1)  b.permute(1,0)  b[0]  b[:,1]  b[1:5]  b[0,0]
b[...,None]  b.unsqueeze(0)  b.squeeze()  v.expand(32,32)  b.chunk(2)  b.split(8)  b.detach()"""
JOINED = "T.cat([b,c])  T.stack([b,c])  b[rows]  b[even]  b.gather(1,labels[:,None])  T.where(even,b,c)  b.masked_fill(even,0.)  b.tril()"
REDUCED = "b.sum()  b.sum(0)  b.mean()  b.max()  b.max(1)  b.var()  b.norm()  b.argmax(1)  b.cumsum(0)  b.sort()  b.topk(3)"
POINTWISE = """b+c  b*c  b+1  b*s  b*v  b/c  -b  b**2  b>0  b.exp()  b.tanh()  b.sigmoid()  b.sqrt()  b.abs()  b.clamp(0,1)  F.relu(b)
F.gelu(b)  F.silu(b)  T.maximum(b,c)"""
PRODUCTS = "b@w  b@v  x@x.mT  T.einsum('ij,jk->ik',b,w)  F.linear(b,w,v)  linear(b)"
LAYERS = """b.softmax(-1)  F.log_softmax(b,-1)  F.cross_entropy(logits,labels)  F.mse_loss(b,c)  F.layer_norm(b,(32,),v,v)
F.dropout(b,0.5)  F.embedding(labels,b)  F.conv2d(image,kernels)  F.max_pool2d(image,2)  F.scaled_dot_product_attention(x,x,x)"""
MADE = "T.zeros(32,32)  T.randn(32,32)  T.tensor([1.,2.])  T.tensor(3.)  b.clone()  b.to(T.float64)  s.item()  b.shape  b.size(0)"
ALL = "  ".join("  ".join((VIEWS, JOINED, REDUCED, POINTWISE, PRODUCTS, LAYERS, MADE)).splitlines()).split("  ")

# On large tensors, where b and c are square matrices of float32, p are probabilities, n whole numbers and w holds where b > 0.
LARGE_POINTWISE = """b+c  b*c  b/c  b**2  p**1.5  p**c  -b  b>0  T.abs(b)  T.sqrt(p)  T.rsqrt(p)  T.exp(b)  T.exp2(b)  T.expm1(b)
T.log(p)  T.log1p(p)  T.log2(p)  T.log10(p)  T.sin(b)  T.cos(b)  T.tan(b)  T.asin(p)  T.acos(p)  T.atan(b)  T.atan2(b,c)  T.sinh(b)
T.cosh(b)  T.tanh(b)  T.asinh(b)  T.acosh(1+p)  T.atanh(p)  T.erf(b)  T.erfc(b)  T.erfinv(p)  T.lgamma(b)  T.digamma(p)  T.sigmoid(b)
T.logit(p)  T.logaddexp(b,c)  T.hypot(b,c)  T.xlogy(p,p)  T.sinc(b)  T.reciprocal(p)  T.round(b)  T.floor(b)  T.sign(b)
b.detach()//c.detach()  b%c  T.fmod(b,c)  T.lerp(b,c,.3)  T.addcmul(b,b,c)  T.addcdiv(b,b,p)  T.maximum(b,c)  T.fmax(b,c)  T.clamp(b,-1,1)
T.nan_to_num(b)  T.where(w,b,c)  b.masked_fill(w,0.)"""
LARGE_REDUCED = """b.sum()  b.sum(0)  b.sum(1)  b.mean()  b.mean(0)  b.mean(1)  (1+p/1e3).prod()  (1+p/1e3).prod(0)  (1+p/1e3).prod(1)
b.var()  b.var(0)  b.var(1)  b.std()  b.std(0)  b.std(1)  b.norm()  b.norm(dim=0)  b.norm(dim=1)  b.norm(1)  b.norm(3)  b.max()  b.max(0)
b.max(1)  b.amax(1)  b.argmax(1)  b.logsumexp(0)  b.logsumexp(1)  b.cumsum(0)  b.cumsum(1)  p.cumprod(1)  b.cummax(1)  b.logcumsumexp(1)
b.median()  b.median(1)  b.quantile(.3)  b.sort(0)  b.sort(1)  b.argsort(1)  b.topk(5)  b.kthvalue(9)  n.unique()  n.bincount()
b.histc(100)"""
LARGE_PLACES = """b[rows]  b[:,rows]  b[w]  b.gather(1,m)  b.index_select(0,rows)  b.index_select(1,rows)  b.scatter(1,m,c)
b.scatter_add(1,m,c)  b.index_add(0,rows,c)  b.take_along_dim(m,1)  F.embedding(labels,b)  T.cat([b,c])  T.stack([b,c])  b.tril()
b.flip(1)  b.roll(3,1)  b.repeat(2,1)  b.repeat_interleave(2,1)  F.pad(b,(1,1))"""
LARGE_LAYERS = """F.relu(b)  F.leaky_relu(b)  F.elu(b)  F.selu(b)  F.celu(b)  F.gelu(b)  F.gelu(b,approximate='tanh')  F.silu(b)
F.mish(b)  F.softplus(b)  F.softsign(b)  F.logsigmoid(b)  F.hardtanh(b)  F.hardswish(b)  F.hardsigmoid(b)  F.relu6(b)  F.tanhshrink(b)
F.softshrink(b)  F.glu(b)  F.threshold(b,.1,0.)  F.softmax(b,-1)  F.softmax(b,0)  F.log_softmax(b,-1)  F.log_softmax(b,0)  F.normalize(b)
F.layer_norm(b,v.shape,v,v)  F.rms_norm(b,v.shape,v)  F.batch_norm(b,None,None,v,v,True)  F.dropout(b)  F.mse_loss(b,c)  F.l1_loss(b,c)
F.smooth_l1_loss(b,c)  F.huber_loss(b,c)  F.binary_cross_entropy(p,p)  F.binary_cross_entropy_with_logits(b,p)
F.kl_div(b,p,reduction='sum')  F.soft_margin_loss(b,s)  F.hinge_embedding_loss(b,s)  F.poisson_nll_loss(b,p)  F.gaussian_nll_loss(b,c,p)
F.cross_entropy(b,labels)  F.cross_entropy(b,labels,label_smoothing=.1)  F.nll_loss(b,labels)  F.cosine_similarity(b,c)
F.pairwise_distance(b,c)"""
LARGE = " ".join((LARGE_POINTWISE, LARGE_REDUCED, LARGE_PLACES, LARGE_LAYERS)).split()


def names(T) -> dict:
    """What the calls speak of, in one library."""
    rng = np.random.default_rng(0)

    def made(*shape):
        return T.tensor(rng.standard_normal(shape).astype(np.float32), requires_grad=True)

    return {
        "T": T, "F": T.nn.functional, "linear": T.nn.Linear(32, 32),
        "b": made(32, 32) * 1, "c": made(32, 32) * 1, "w": made(32, 32), "v": made(32), "s": made() * 1, "x": made(4, 8, 16) * 1,
        "logits": made(32, 10) * 1, "image": made(2, 3, 8, 8) * 1, "kernels": made(4, 3, 3, 3),
        "rows": T.tensor([0, 3, 5]), "even": T.tensor(np.arange(32) % 2 == 0), "labels": T.tensor(np.arange(32) % 10),
    }  # fmt: skip


def large_names(T, size: int) -> dict:
    """What the calls on large tensors speak of: square matrices of about `size` numbers."""
    rng, side = np.random.default_rng(0), round(size**0.5)

    def made(array):
        return T.tensor(array.astype(np.float32), requires_grad=True)

    b, c = rng.standard_normal((2, side, side))
    n = rng.integers(0, side, side * side)
    return {
        "T": T, "F": T.nn.functional, "b": made(b), "c": made(c), "p": made(rng.uniform(1e-3, 1 - 1e-3, b.shape)), "v": made(b[0]),
        "s": T.tensor(np.sign(c).astype(np.float32)), "w": T.tensor(b > 0), "n": T.tensor(n), "m": T.tensor(n.reshape(side, side)),
        "rows": T.tensor(n[:side]), "labels": T.tensor(n[:side]),
    }  # fmt: skip


def forward(T, call, space):
    """A step that computes the call and records nothing."""
    run = eval(f"lambda: {call}", space)

    def step():
        with T.no_grad():
            run()

    return step


def forward_and_back(T, call, space):
    """A step that computes the call and its gradients; None if it has none."""
    run = eval(f"lambda: {call}", space)
    leaves = [t for t in space.values() if isinstance(t, T.Tensor) and t.requires_grad]
    first = run()
    first = first if isinstance(first, T.Tensor) else first[0]
    if not first.requires_grad:
        return None
    g = T.ones_like(first) * 0.5

    def step():
        result = run()
        T.autograd.grad(result if isinstance(result, T.Tensor) else result[0], leaves, g, allow_unused=True)

    return step


def large(libraries: dict, calls: list[str], size: int, rounds: int) -> None:
    """Print the ratios of large calls, the slowest first."""
    spaces = {name: large_names(T, size) for name, T in libraries.items()}
    found = []
    print(f"{'forward':>8} {'and back':>8}  {'call':44} {'torch ms':>9} {'autolab ms':>11}")
    for call in calls:
        ratios, times = [], {}
        for make in (forward, forward_and_back):
            steps = {name: make(T, call, spaces[name]) for name, T in libraries.items()}
            if steps["torch"] is not None and steps["autolab"] is not None:
                times = summary(turns({name: Program(step, dict) for name, step in steps.items()}, rounds))
                ratios.append(times["autolab"]["/torch"])
        found.append((max(ratios), ratios, call, *(1e3 * times[name]["seconds"] for name in ("torch", "autolab"))))
    for _, ratios, call, theirs, ours in sorted(found, reverse=True):
        shown = [f"{ratio:8.2f}" for ratio in ratios] + [" " * 8] * (2 - len(ratios))
        print(*shown, f" {call:44} {theirs:9.2f} {ours:11.2f}")
    for name, column in (("forward", 0), ("and back", 1)):
        ratios = [r[column] for _, r, *_ in found if len(r) > column]
        print(f"{name}: median {statistics.median(ratios):.2f}, geometric mean {statistics.geometric_mean(ratios):.2f}; "
              f"{sum(ratio > 3 for ratio in ratios)} of {len(ratios)} above 3")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description="Time everyday calls beside PyTorch.")
    parser.add_argument("calls", nargs="*", help="expressions of T, F, b, c, w, v, s, x ...; all by default")
    parser.add_argument("--numbers", type=float, help="how many numbers a tensor has, for the calls on large ones")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    import torch

    import autolab

    torch.set_num_threads(1)
    if options.numbers:
        large({"torch": torch, "autolab": autolab}, options.calls or LARGE, int(options.numbers), options.rounds)
        return
    libraries = {"torch": names(torch), "autolab": names(autolab)}
    found = []
    for call in options.calls or ALL:
        steps = {name: Program(eval(f"lambda: {call}", space), dict) for name, space in libraries.items()}
        times = summary(turns(steps, options.rounds))
        found.append((times["autolab"]["/torch"], call, times["torch"]["seconds"] * 1e6, times["autolab"]["seconds"] * 1e6))
    print(f"{'ratio':>6}  {'call':40} {'torch us':>9} {'autolab us':>11}")
    for ratio, call, theirs, ours in sorted(found, reverse=True):
        print(f"{ratio:6.2f}  {call:40} {theirs:9.2f} {ours:11.2f}")
    ratios = [ratio for ratio, *_ in found]
    print(
        f"median {statistics.median(ratios):.2f}, geometric mean {statistics.geometric_mean(ratios):.2f}; "
        f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)} below 1"
    )


if __name__ == "__main__":
    main()
