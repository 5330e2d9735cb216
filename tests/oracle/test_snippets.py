"""What a learner pastes, run on both sides: values, dtypes, shapes, gradients; of what fails, the error and its opening words.

snippets.txt has them, with --- in between. `A(...)` is a tensor of random numbers, `L(...)` one that wants a gradient, `I(n, ...)` whole
numbers below n; what stands in `out` at the end is compared.
"""

from pathlib import Path

import numpy as np
import pytest

import autolab

from .compare import differ, leaves

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
SNIPPETS = (Path(__file__).parent / "snippets.txt").read_text().split("\n---\n")


def outcome(T, snippet):
    """What a snippet leaves in `out`, and the gradients of a weighted sum of that; or the name of its error, and its opening words."""
    rng, wanted, out = np.random.default_rng(1), [], []

    def numbers(*shape, dtype="float64", dt=None, pos=False):
        made = rng.standard_normal(shape)
        return T.tensor(np.abs(made) + 0.1 if pos else made, dtype=getattr(T, dt or dtype))

    def leaf(*shape, **settings):
        wanted.append(numbers(*shape, **settings).requires_grad_())
        return wanted[-1]

    names = {
        "torch": T,
        "np": np,
        "F": T.nn.functional,
        "nn": T.nn,
        "A": numbers,
        "L": leaf,
        "I": lambda n, *shape: T.tensor(rng.integers(0, n, shape)),
    }
    try:
        exec(snippet, {**names, "out": out})
    except Exception as error:
        return type(error).__name__.lstrip("_"), str(error)[:20]
    found = [t.detach() for t in leaves(out)]
    if sum_of := [(t * T.tensor(np.cos(np.arange(t.numel()) + i).reshape(tuple(t.shape)), dtype=t.dtype)).sum().double()
                  for i, t in enumerate(leaves(out)) if t.requires_grad]:  # fmt: skip
        found += [T.zeros(()) if g is None else g for g in T.autograd.grad(sum(sum_of), wanted, allow_unused=True)]
    return found


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_a_snippet_does_what_it_does_in_pytorch(snippet, torch):
    with np.errstate(all="ignore"):
        ours, theirs = outcome(autolab, snippet), outcome(torch, snippet)
    if isinstance(theirs, tuple):
        assert ours == theirs
        assert "out+=" not in snippet and "out.append" not in snippet  # what shall give results gives them
    else:
        assert isinstance(ours, list), ours
        assert differ("result", ours, theirs, 1e-7) is None
