"""Random programs with random hooks: the same hooks run in the same order with the same numbers as in PyTorch."""

import random
import warnings

import pytest

import autolab


def numbers(lib, g):
    return None if g is None else [round(float(v), 4) for v in lib.flatten(g.detach()).tolist()]


def operations(lib):
    class Pair(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 2, b.clone()

        @staticmethod
        def backward(ctx, g, h):
            return g * 2, h

    def write(a, b):
        t = a.clone()
        return (t.mul_(b) if t.requires_grad or b.requires_grad else t,)

    return [
        lambda a, b: (a * b,), lambda a, b: (a + b,), lambda a, b: (a.sin(),), lambda a, b: (lib.stack([a, b]).sum(0),),
        lambda a, b: (a.tanh() * 0.5,), Pair.apply, lambda a, b: (lib.stack([a.unbind()[0], a.unbind()[2], b[1]]),), write,
    ]  # fmt: skip


def hang_hooks(lib, choose, tensors, events):
    """At random: hooks on tensors, that may scale, before and after nodes, after accumulating; gradients to retain."""

    def on_tensor(i, scale):
        return lambda g: events.append((f"tensor {i}", numbers(lib, g))) or (None if scale is None or g is None else g * scale)

    def on_node(name, i):
        return lambda *gs: events.append((f"{name} {i}", [numbers(lib, g) for g in gs[0]]))

    for i, t in enumerate(tensors):
        if not t.requires_grad:
            continue
        if choose.random() < 0.5:
            t.register_hook(on_tensor(i, choose.choice([None, None, 2.0])))
        if t.grad_fn is None:
            if choose.random() < 0.4:
                t.register_post_accumulate_grad_hook(lambda leaf, i=i: events.append(f"accumulated {i}"))
            continue
        for name, register in (("before", t.grad_fn.register_prehook), ("after", t.grad_fn.register_hook)):
            if choose.random() < 0.3:
                register(on_node(name, i))
        if choose.random() < 0.3:
            t.retain_grad()


def program(lib, seed):
    """The dice, the list of what happens, and the tensors of the program of this seed, with their hooks."""
    choose, events = random.Random(seed), []
    tensors = [lib.tensor([i + 1.0, 2.0, 0.5], requires_grad=choose.random() < 0.8) for i in range(3)]
    possible = operations(lib)
    for _ in range(choose.randint(3, 9)):
        tensors.extend(choose.choice(possible)(choose.choice(tensors), choose.choice(tensors)))
    hang_hooks(lib, choose, tensors, events)
    return choose, events, tensors


def run(lib, seed):
    """What happened, and what came out, in one backward pass."""
    choose, events, tensors = program(lib, seed)
    wanted = [t for t in tensors if t.requires_grad]
    if not wanted:
        return events, None
    out, inputs, result = (wanted[-1] * 1).sum(), choose.sample(wanted, min(len(wanted), choose.randint(1, 3))), None
    match choose.randrange(4):
        case 0:
            out.backward()
        case 1:
            out.backward(inputs=inputs)
        case 2:
            result = [numbers(lib, g) for g in lib.autograd.grad(out, inputs, allow_unused=True)]
        case 3:
            lib.autograd.backward([out, (wanted[0] * wanted[-1]).sum()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return events, result, [numbers(lib, t.grad) for t in tensors]


def run_twice(lib, seed):
    """The same for a pass that is recorded, and one through it."""
    choose, events, tensors = program(lib, seed)
    wanted = [t for t in tensors if t.requires_grad]
    if not wanted:
        return events, None
    inputs = choose.sample(wanted, min(len(wanted), choose.randint(1, 3)))
    first = lib.autograd.grad((wanted[-1] * wanted[0]).sum(), inputs, create_graph=True, allow_unused=True)
    again = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    second = lib.autograd.grad(sum(again[1:], again[0]), inputs, allow_unused=True) if again else ()
    return events, [numbers(lib, g) for g in first], [numbers(lib, g) for g in second]


def alike(a, b):
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    return a == pytest.approx(b, rel=1e-3, abs=1e-3) if isinstance(a, float) else a == b


@pytest.mark.parametrize("how", [run, run_twice])
@pytest.mark.parametrize("seeds", [range(k, k + 40) for k in range(0, 160, 40)], ids=lambda r: f"{r.start}-{r.stop - 1}")
def test_random_programs_run_their_hooks_as_pytorch_does(torch, seeds, how):
    for seed in seeds:
        ours, theirs = how(autolab, seed), how(torch, seed)
        assert alike(ours, theirs), f"seed {seed}:\n{ours}\n{theirs}"
