"""``python -m benchmarks.operators``: each everyday operation on small tensors, recorded, as a ratio to PyTorch.

    python -m benchmarks.operators                  # all of them, the slowest beside PyTorch first
    python -m benchmarks.operators "b.view(1024)"   # some

What a call costs besides its arithmetic is nearly all of it here: 32 x 32 numbers, one thread. Both sides run in turns.
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description="Time everyday calls beside PyTorch.")
    parser.add_argument("calls", nargs="*", default=ALL, help="expressions of T, F, b, c, w, v, s, x ...; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    import torch

    import autolab

    torch.set_num_threads(1)
    libraries = {"torch": names(torch), "autolab": names(autolab)}
    found = []
    for call in options.calls:
        steps = {name: Program(eval(f"lambda: {call}", space), dict) for name, space in libraries.items()}
        times = summary(turns(steps, options.rounds))
        found.append((times["autolab"]["/torch"], call, times["torch"]["seconds"] * 1e6, times["autolab"]["seconds"] * 1e6))
    print(f"{'ratio':>6}  {'call':40} {'torch us':>9} {'autolab us':>11}")
    for ratio, call, theirs, ours in sorted(found, reverse=True):
        print(f"{ratio:6.2f}  {call:40} {theirs:9.2f} {ours:11.2f}")
    ratios = [ratio for ratio, *_ in found]
    print(f"median {statistics.median(ratios):.2f}, geometric mean {statistics.geometric_mean(ratios):.2f}; "
          f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)} below 1")


if __name__ == "__main__":
    main()
