"""Programs that nobody thought of: drawn lines with writes, indices, views, backward passes and transforms, eager beside compiled."""

import random

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import explain
from autolab.func import grad, vmap

CALLS = 4
LINES = {  # how often, and a line; `a` and `b` are names that are there, and what begins with "new" makes another
    "new = a + b": 4, "new = a - b": 4, "new = a * b": 6, "new = torch.tanh(a)": 3, "new = torch.relu(a)": 3, "new = a * 1": 2,
    "new = a.clone()": 2, "new = a.detach()": 2, "new = a[i]": 2, "new = a.flip(0)": 1, "new = a[:]": 1, "new = a + count": 1,
    "new = a.reshape(2, 2).T.reshape(4)": 1, "new = grad(lambda q: (q * a * q).sum())(b)": 2, "new = vmap(lambda q: q * a.sum())(b)": 2,
    "with torch.no_grad(): one.add_(a)": 2, "with torch.no_grad(): two.mul_(a)": 2, "with torch.no_grad(): one.copy_(a)": 2,
    "count.add_(1)": 2,
    "w.grad = None; (w * a).sum().backward()\n    with torch.no_grad(): w.sub_(w.grad, alpha=0.01)": 3,
}  # fmt: skip


def drawn(seed):
    """The text of a function of x, y and an index i."""
    rng = random.Random(seed)
    names, lines = ["x", "y", "one", "two"], []
    for _ in range(rng.randint(3, 12)):
        (line,) = rng.choices(list(LINES), LINES.values())
        words = {"a": rng.choice(names), "b": rng.choice(names), "new": f"t{len(names)}"}
        lines.append("".join(words.get(word, word) for word in words_of(line)))
        if line.startswith("new"):
            names.append(words["new"])
    return "def f(x, y, i):\n    " + "\n    ".join([*lines, f"return {rng.choice(names)}"])


def words_of(line):
    """A line cut at the ends of its words."""
    word = ""
    for letter in line + " ":
        if letter.isalnum() or letter == "_":
            word += letter
            continue
        yield word
        yield letter
        word = ""


def story(text, seed, compiled):
    """What each call returns, and what it leaves behind."""
    torch.manual_seed(seed)
    world = {name: torch.randn(4) for name in ("one", "two")}
    world |= {"count": torch.tensor(0.0), "w": torch.randn(4, requires_grad=True)}
    kept = list(world.values())
    world |= {"torch": torch, "grad": grad, "vmap": vmap}
    exec(text, world)
    f, seen = compiled(world["f"]), []
    for k in range(CALLS):
        torch.manual_seed(100 + k)
        result = f(torch.randn(4), torch.randn(4), torch.tensor([[0, 0, 2, 1], [3, 0, 1, 2]][k % 2]))
        seen.append([x.detach().numpy().copy() for x in (result, *kept, torch.zeros(4) if world["w"].grad is None else world["w"].grad)])
    return seen, f


@pytest.mark.parametrize("first", [0, 8, 16])
def test_a_drawn_program_does_the_same_compiled(first):
    compiled = 0
    for seed in range(first, first + 8):
        text = drawn(seed)
        eager, _ = story(text, seed, lambda f: f)
        found, f = story(text, seed, torch.compile)
        for k in range(CALLS):
            for got, want in zip(found[k], eager[k], strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=f"seed {seed}, call {k}:\n{text}")
        compiled += "1. compiled" in str(explain(f))
    assert compiled >= 6  # it is the compiler that is tested
