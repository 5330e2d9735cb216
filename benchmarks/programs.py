"""``python -m benchmarks.programs``: training programs as people write them, the same code for PyTorch and autolab.

    python -m benchmarks.programs                  # all of them
    python -m benchmarks.programs lstm gpt         # some
    python -m benchmarks.programs --numba          # compiled with numba, too

Each takes a module with PyTorch's names and gives a function that does one training step and returns its loss. Sizes are those of
examples in books and tutorials. The losses of four steps must agree with PyTorch's before anything is timed. `FIRST` are those that
the aims of docs/speed.md are stated for, `MORE` are of other kinds.
"""

import argparse
import math
import statistics

import numpy as np

from benchmarks.measure import summary, turns
from benchmarks.workloads import Program


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def whole(high, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, high, shape)


def filled(T, module):
    """The module with the same start in every library: weights as wide as PyTorch's own, biases 0."""
    rng = np.random.default_rng(7)
    with T.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                fan_in = math.prod(parameter.shape[1:])
                parameter.copy_(T.tensor(rng.uniform(-1, 1, tuple(parameter.shape)).astype(np.float32) / fan_in**0.5))
            elif "bias" in name:
                parameter.zero_()
    return module


def training(optimizer, loss_of):
    """A step: the loss, its gradients, an update."""

    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


# Images


def resnet(T):
    """A small residual network with batch norm, 16 images of 3 x 32 x 32, SGD with momentum."""
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self, fan_in, fan_out, stride):
            super().__init__()
            self.first = nn.Conv2d(fan_in, fan_out, 3, stride=stride, padding=1, bias=False)
            self.second = nn.Conv2d(fan_out, fan_out, 3, padding=1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(fan_out), nn.BatchNorm2d(fan_out)])
            self.short = nn.Identity() if stride == 1 else nn.Conv2d(fan_in, fan_out, 1, stride=stride, bias=False)

        def forward(self, x):
            y = F.relu(self.norms[0](self.first(x)))
            return F.relu(self.norms[1](self.second(y)) + self.short(x))

    net = filled(T, nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    ))  # fmt: skip
    x, target = T.tensor(numbers(16, 3, 32, 32)), T.tensor(whole(10, 16))
    optimizer = T.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    return training(optimizer, lambda: F.cross_entropy(net(x), target))


def digits(T):
    """Two convolutions and two layers on 16 images of 28 x 28, Adadelta."""
    nn, F = T.nn, T.nn.functional
    net = filled(T, nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10), nn.LogSoftmax(dim=1),
    ))  # fmt: skip
    x, target = T.tensor(numbers(16, 1, 28, 28)), T.tensor(whole(10, 16))
    return training(T.optim.Adadelta(net.parameters(), lr=1.0), lambda: F.nll_loss(net(x), target))


def autoencoder(T):
    """Convolutions down, transposed convolutions up: 16 images of 28 x 28."""
    nn, F = T.nn, T.nn.functional
    net = filled(T, nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Sigmoid(),
    ))  # fmt: skip
    x = T.tensor(1 / (1 + np.exp(-numbers(16, 1, 28, 28))))
    return training(T.optim.Adam(net.parameters(), lr=1e-3), lambda: F.mse_loss(net(x), x))


def vae(T):
    """A variational autoencoder 784-400-20 on 64 images; the noise is given."""
    nn, F = T.nn, T.nn.functional
    encode, mean, logvar = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
    decode = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid())
    net = filled(T, nn.ModuleList([encode, mean, logvar, decode]))
    x, noise = T.tensor(1 / (1 + np.exp(-numbers(64, 784)))), T.tensor(numbers(64, 20, seed=1))

    def loss():
        h = F.relu(encode(x))
        m, v = mean(h), logvar(h)
        made = decode(m + noise * T.exp(0.5 * v))
        return F.binary_cross_entropy(made, x, reduction="sum") - 0.5 * T.sum(1 + v - m.pow(2) - v.exp())

    return training(T.optim.Adam(net.parameters(), lr=1e-3), loss)


def softmax_regression(T):
    """784-10, 64 images, SGD: the first model of many courses."""
    net = filled(T, T.nn.Linear(784, 10))
    x, target = T.tensor(numbers(64, 784)), T.tensor(whole(10, 64))
    return training(T.optim.SGD(net.parameters(), lr=0.1), lambda: T.nn.functional.cross_entropy(net(x), target))


# Sequences


def lstm(T):
    """An LSTM on characters: 16 texts of 32 characters, 64 wide, gradients clipped."""
    nn, F = T.nn, T.nn.functional
    embedding, rnn, head = nn.Embedding(65, 64), nn.LSTM(64, 64, batch_first=True), nn.Linear(64, 65)
    net = filled(T, nn.ModuleList([embedding, rnn, head]))
    text, target = T.tensor(whole(65, 16, 32)), T.tensor(whole(65, 16, 32, seed=1))
    optimizer = T.optim.Adam(net.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(head(rnn(embedding(text))[0]).flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss

    return step


def lstm_cell(T):
    """An LSTMCell in a loop of Python: 20 steps of 8 x 32."""
    nn = T.nn
    cell, head = nn.LSTMCell(16, 32), nn.Linear(32, 1)
    net = filled(T, nn.ModuleList([cell, head]))
    xs, target = [T.tensor(x) for x in numbers(20, 8, 16)], T.tensor(numbers(8, 1))

    def loss():
        h, c = T.zeros(8, 32), T.zeros(8, 32)
        for x in xs:
            h, c = cell(x, (h, c))
        return nn.functional.mse_loss(head(h), target)

    return training(T.optim.RMSprop(net.parameters(), lr=1e-3), loss)


def gpt(T):
    """A GPT of 3 layers, 64 wide, 4 heads, 8 x 32 tokens, AdamW."""
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(64), nn.LayerNorm(64)
            self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
            self.mlp = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = (t.view(batch, length, 4, 16).transpose(1, 2) for t in self.qkv(self.ln1(x)).split(64, dim=2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(batch, length, width))
            return x + self.mlp(self.ln2(x))

    tokens, places, blocks = nn.Embedding(65, 64), nn.Embedding(32, 64), nn.Sequential(Block(), Block(), Block())
    norm, head = nn.LayerNorm(64), nn.Linear(64, 65, bias=False)
    net = filled(T, nn.ModuleList([tokens, places, blocks, norm, head]))
    text, target = T.tensor(whole(65, 8, 32)), T.tensor(whole(65, 8, 32, seed=1))
    optimizer = T.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.1)

    def loss():
        x = tokens(text) + places(T.arange(32))
        return F.cross_entropy(head(norm(blocks(x))).view(-1, 65), target.view(-1))

    return training(optimizer, loss)


def skip_gram(T):
    """Word vectors by negative sampling: 128 words, 5 others each, 2000 words of 64 numbers."""
    nn, F = T.nn, T.nn.functional
    inner, outer = nn.Embedding(2000, 64), nn.Embedding(2000, 64)
    net = filled(T, nn.ModuleList([inner, outer]))
    word, near, far = T.tensor(whole(2000, 128)), T.tensor(whole(2000, 128, seed=1)), T.tensor(whole(2000, 128, 5, seed=2))

    def loss():
        w = inner(word)
        right = F.logsigmoid((w * outer(near)).sum(-1))
        wrong = F.logsigmoid(-T.bmm(outer(far), w.unsqueeze(2)).squeeze(2)).sum(-1)
        return -(right + wrong).mean()

    return training(T.optim.SGD(net.parameters(), lr=0.1), loss)


# Gradients of gradients, and of many samples


def per_sample(T):
    """Gradients of 64 samples one by one: vmap of grad."""
    nn, func = T.nn, T.func
    net = filled(T, nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 10)))
    weights = {name: p.detach() for name, p in net.named_parameters()}
    x, target = T.tensor(numbers(64, 32)), T.tensor(whole(10, 64))

    def loss(weights, x, target):
        out = func.functional_call(net, weights, (x.unsqueeze(0),))
        return nn.functional.cross_entropy(out, target.unsqueeze(0))

    gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    return lambda: sum((g**2).mean() for g in gradients(weights, x, target).values())


def hessian(T):
    """The Hessian of a function of 20 numbers."""
    x, matrix = T.tensor(numbers(20)), T.tensor(numbers(20, 20, seed=1) / 5)

    def f(x):
        return (T.tanh(matrix @ x) ** 2).sum() + (x**4).sum() / 10

    second = T.func.hessian(f)
    return lambda: second(x).norm()


def maml(T):
    """Learning to learn a sine: four tasks, one inner step each, the outer gradient through it."""
    nn, func, F = T.nn, T.func, T.nn.functional
    net = filled(T, nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1)))
    xs, phases = T.tensor(numbers(4, 2, 10, 1)), T.tensor(numbers(4, 1, 1, 1, seed=1))
    ys = T.sin(xs + phases)

    def loss():
        weights, total = dict(net.named_parameters()), 0.0
        for x, y in zip(xs, ys, strict=True):
            inner = F.mse_loss(func.functional_call(net, weights, (x[0],)), y[0])
            slopes = T.autograd.grad(inner, list(weights.values()), create_graph=True)
            moved = {name: w - 0.01 * g for (name, w), g in zip(weights.items(), slopes, strict=True)}
            total = total + F.mse_loss(func.functional_call(net, moved, (x[1],)), y[1])
        return total / 4

    return training(T.optim.Adam(net.parameters(), lr=1e-3), loss)


def pinn(T):
    """A network that is to solve u'' = -sin(x): 64 places, second derivatives in the loss."""
    nn = T.nn
    net = filled(T, nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)))
    x = T.tensor(np.linspace(0, 3, 64, dtype=np.float32)[:, None], requires_grad=True)

    def loss():
        u = net(x)
        (slope,) = T.autograd.grad(u.sum(), x, create_graph=True)
        (bend,) = T.autograd.grad(slope.sum(), x, create_graph=True)
        return ((bend + T.sin(x)) ** 2).mean() + u[0, 0] ** 2

    return training(T.optim.Adam(net.parameters(), lr=1e-3), loss)


def gradient_penalty(T):
    """A critic whose slope is held at 1 between real and made samples."""
    nn = T.nn
    critic = filled(T, nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)))
    real, made, share = T.tensor(numbers(64, 16)), T.tensor(numbers(64, 16, seed=1)), T.tensor(abs(numbers(64, 1, seed=2)) % 1)

    def loss():
        between = (share * real + (1 - share) * made).requires_grad_()
        (slope,) = T.autograd.grad(critic(between).sum(), between, create_graph=True)
        return critic(made).mean() - critic(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()

    return training(T.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.5, 0.9)), loss)


def scalars(T):
    """A network of single numbers, each operation a node: 2-4-1 on four points."""
    rng = np.random.default_rng(0)
    hidden = [[T.tensor(float(v), requires_grad=True) for v in rng.standard_normal(3)] for _ in range(4)]
    last = [T.tensor(float(v), requires_grad=True) for v in rng.standard_normal(5)]
    points = [(0.0, 0.0, -1.0), (0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, -1.0)]
    leaves = [*(v for row in hidden for v in row), *last]

    def step():
        total = 0.0
        for a, b, target in points:
            inner = [(u * a + v * b + c).tanh() for u, v, c in hidden]
            out = last[4]
            for w, h in zip(last, inner, strict=False):
                out = out + w * h
            total = total + (out - target) ** 2
        for leaf in leaves:
            leaf.grad = None
        total.backward()
        with T.no_grad():
            for leaf in leaves:
                leaf -= 0.01 * leaf.grad
        return total

    return step


# Other kinds


def graph_network(T):
    """Two graph convolutions on 200 nodes with 800 edges, by index_add."""
    nn, F = T.nn, T.nn.functional
    first, second = nn.Linear(32, 32), nn.Linear(32, 7)
    net = filled(T, nn.ModuleList([first, second]))
    x, target = T.tensor(numbers(200, 32)), T.tensor(whole(7, 200))
    start, end = T.tensor(whole(200, 800)), T.tensor(whole(200, 800, seed=1))
    count = T.ones(200).index_add(0, end, T.ones(800)).unsqueeze(1)

    def spread(h):
        return (h + T.zeros(200, h.shape[1]).index_add(0, end, h[start])) / count

    return training(
        T.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4),
        lambda: F.cross_entropy(spread(second(F.relu(spread(first(x))))), target),
    )


def diffusion(T):
    """Noise to be predicted from noisy points and a time: 128 points in the plane, embeddings of sines."""
    nn, F = T.nn, T.nn.functional
    net = filled(T, nn.Sequential(nn.Linear(34, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 2)))
    x, noise, time = T.tensor(numbers(128, 2)), T.tensor(numbers(128, 2, seed=1)), T.tensor(whole(1000, 128))
    kept = T.cumprod(1 - T.linspace(1e-4, 0.02, 1000), dim=0)
    rates = T.exp(-math.log(10000) * T.arange(16) / 16)

    def loss():
        a = kept[time].unsqueeze(1)
        angle = time.unsqueeze(1).float() * rates
        given = T.cat([a.sqrt() * x + (1 - a).sqrt() * noise, angle.sin(), angle.cos()], dim=1)
        return F.mse_loss(net(given), noise)

    return training(T.optim.AdamW(net.parameters(), lr=1e-3), loss)


def policy_gradient(T):
    """An episode of 50 steps: returns with discount, log-probabilities of what was done, entropy."""
    nn = T.nn
    net = filled(T, nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2)))
    seen, done, reward = T.tensor(numbers(50, 4)), T.tensor(whole(2, 50)), [1.0] * 50

    def loss():
        returns, total = [], 0.0
        for r in reversed(reward):
            total = r + 0.99 * total
            returns.append(total)
        gain = T.tensor(returns[::-1])
        gain = (gain - gain.mean()) / (gain.std() + 1e-5)
        choice = T.distributions.Categorical(logits=net(seen))
        return -(choice.log_prob(done) * gain).mean() - 0.01 * choice.entropy().mean()

    return training(T.optim.Adam(net.parameters(), lr=1e-2), loss)


def ode(T):
    """A network as the right-hand side of an equation, 20 steps of Runge and Kutta's fourth order."""
    nn = T.nn
    slope = filled(T, nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)))
    start, target = T.tensor(numbers(16, 2)), T.tensor(numbers(16, 2, seed=1))

    def loss():
        y, h = start, 0.05
        for _ in range(20):
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            d = slope(y + h * c)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
        return nn.functional.mse_loss(y, target)

    return training(T.optim.Adam(slope.parameters(), lr=1e-2), loss)


def gan(T):
    """A generator and a discriminator, one step of each, 64 samples."""
    nn, F = T.nn, T.nn.functional
    maker = filled(T, nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh()))
    judge = filled(T, nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)))
    real, noise, yes, no = T.tensor(numbers(64, 32)), T.tensor(numbers(64, 16, seed=1)), T.ones(64, 1), T.zeros(64, 1)
    for_maker, for_judge = (T.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (maker, judge))
    loss_of = F.binary_cross_entropy_with_logits

    def step():
        made = maker(noise)
        for_judge.zero_grad()
        judged = loss_of(judge(real), yes) + loss_of(judge(made.detach()), no)
        judged.backward()
        for_judge.step()
        for_maker.zero_grad()
        loss = loss_of(judge(made), yes)
        loss.backward()
        for_maker.step()
        return loss + judged.detach()

    return step


def contrastive(T):
    """Two views of 64 samples, each to be found among all: normalised products, a temperature, cross-entropy both ways."""
    nn, F = T.nn, T.nn.functional
    net = filled(T, nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 32)))
    a, b = T.tensor(numbers(64, 128)), T.tensor(numbers(64, 128, seed=1))
    scale = nn.Parameter(T.tensor(math.log(1 / 0.07)))
    target = T.arange(64)

    def loss():
        logits = scale.exp() * F.normalize(net(a), dim=1) @ F.normalize(net(b), dim=1).T
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2

    return training(T.optim.Adam([*net.parameters(), scale], lr=1e-3), loss)


def gaussian_process(T):
    """The likelihood of 60 values under a Gaussian process, and gradients of its three settings."""
    x, y = T.tensor(numbers(60)), T.tensor(numbers(60, seed=1))
    settings = T.zeros(3, requires_grad=True)

    def loss():
        width, height, noise = settings.exp()
        square = (x.unsqueeze(0) - x.unsqueeze(1)) ** 2
        factor = T.linalg.cholesky(height * T.exp(-square / (2 * width**2)) + (noise + 1e-3) * T.eye(60))
        solved = T.cholesky_solve(y.unsqueeze(1), factor).squeeze(1)
        return 0.5 * y @ solved + factor.diagonal().log().sum()

    return training(T.optim.Adam([settings], lr=0.01), loss)


def flow(T):
    """A normalising flow: six coupling layers on 128 points in the plane."""
    nn = T.nn
    layers = nn.ModuleList([nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(6)])
    filled(T, layers)
    x = T.tensor(numbers(128, 2))

    def loss():
        a, b = x[:, :1], x[:, 1:]
        total = T.zeros(128, 1)
        for layer in layers:
            scale, shift = layer(a).chunk(2, dim=1)
            scale = T.tanh(scale)
            a, b = b * T.exp(scale) + shift, a
            total = total + scale
        return (0.5 * (a**2 + b**2) - total).mean()

    return training(T.optim.Adam(layers.parameters(), lr=1e-3), loss)


FIRST = (resnet, digits, lstm, gpt, per_sample, hessian, softmax_regression, lstm_cell, maml, pinn, gradient_penalty, vae, scalars)
MORE = (autoencoder, skip_gram, graph_network, diffusion, policy_gradient, ode, gan, contrastive, gaussian_process, flow)
PROGRAMS = {program.__name__: program for program in FIRST + MORE}


def ways(numba):
    """How a program is run, by name: the library, and what is done with its step."""
    import torch

    import autolab

    torch.set_num_threads(1)
    known = {"torch": (torch, lambda step: step), "eager": (autolab, lambda step: step), "compiled": (autolab, autolab.compile)}
    if numba:
        known["numba"] = (autolab, lambda step: autolab.compile(step, backend="numba"))
    return known


def losses(step, count=4):
    return [float(step().detach()) for _ in range(count)]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description="Time real programs beside PyTorch.")
    parser.add_argument("programs", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; all by default")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each; results are medians over them")
    parser.add_argument("--numba", action="store_true", help="compile with numba's loops, too")
    options = parser.parse_args()
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"there is no program named {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    known = ways(options.numba)
    print(f"{'time / torch':20}", *(f"{name:>9}" for name in known if name != "torch"), f"{'torch itself':>14}")
    found = {}
    for name in options.programs or PROGRAMS:
        steps = {way: wrap(PROGRAMS[name](library)) for way, (library, wrap) in known.items()}
        seen = {way: losses(step) for way, step in steps.items()}
        if wrong := [way for way in seen if not np.allclose(seen[way], seen["torch"], rtol=1e-3, atol=1e-5)]:
            print(f"{name:20} not timed: {', '.join(wrong)} gives other losses than PyTorch: {seen}")
            continue
        times = summary(turns({way: Program(step, dict) for way, step in steps.items()}, options.rounds))
        found[name] = {way: times[way]["/torch"] for way in known if way != "torch"}
        print(f"{name:20}", *(f"{ratio:9.2f}" for ratio in found[name].values()), f"{1e3 * times['torch']['seconds']:11.2f} ms", flush=True)
    for title, some in (("mean of the first", FIRST), ("mean of the others", MORE)):
        rows = [found[program.__name__] for program in some if program.__name__ in found]
        if len(rows) > 1:
            print(f"{title:20}", *(f"{statistics.geometric_mean(row[way] for row in rows):9.2f}" for way in rows[0]))


if __name__ == "__main__":
    main()
