"""The model of lesson 17: the same in PyTorch, blind to what comes later, and kept as it was trained."""

import math

import numpy as np
import pytest

import autolab
from autolab.serialization.safetensors import load_file

from .train_sonnets import FOLDER, definitions

pytestmark = pytest.mark.lesson17
FILE = FOLDER / "17-attention.safetensors"


@pytest.fixture
def lesson(capsys):
    """The names of the lesson's cells."""
    return definitions()


@pytest.fixture
def kept(lesson):
    """The lesson's names, and the model with the kept weights."""
    lesson["model"].load_state_dict({name: w for name, w in load_file(FILE).items() if not name.startswith("losses")})
    return lesson


def test_fifty_steps_have_the_losses_that_pytorch_has(lesson, torch):
    """The lesson's cells on both sides, with the same first weights and the same pieces of text."""
    imported = dict(math=math, datasets=autolab.datasets, progress_bar=lambda items, label: items)
    theirs = definitions(torch=torch, nn=torch.nn, **imported)
    theirs["model"].load_state_dict({name: torch.from_numpy(w.numpy()) for name, w in lesson["model"].state_dict().items()})
    batches = [lesson["batch"]() for _ in range(50)]
    lesson["batch"] = iter(batches).__next__
    theirs["batch"] = iter([[torch.from_numpy(part.numpy()) for part in pair] for pair in batches]).__next__
    ours, others = (names["fit"](names["model"], 50) for names in (lesson, theirs))
    np.testing.assert_allclose(ours, others, atol=1e-4, rtol=0)
    assert ours[-1] < ours[0] - 1


def test_no_place_sees_what_comes_after_it(kept):
    seen, _ = kept["batch"](2)
    changed = seen.clone()
    changed[:, 40:] = 0
    scores, others = kept["model"](seen), kept["model"](changed)
    assert autolab.allclose(scores[:, :40], others[:, :40], atol=1e-5)
    assert not autolab.allclose(scores[:, 40], others[:, 40], atol=1e-5)


def test_the_kept_weights_are_small_and_read_new_sonnets_better_than_the_table_of_pairs(kept):
    new, length = kept["new"], kept["T"]
    pieces = autolab.stack([new[i : i + length + 1] for i in range(0, len(new) - length, length)])
    loss = kept["loss_of"](kept["model"], pieces[:, :-1], pieces[:, 1:]).item()
    assert loss == pytest.approx(load_file(FILE)["losses.new"][-1].item(), abs=5e-3)  # float16 keeps three digits of a weight
    assert loss < 1.95 < 2.40
    assert FILE.stat().st_size < 150_000


def test_a_compiled_pass_of_it_is_replayed_and_has_the_same_gradients(lesson):
    model, loss_of, pieces = lesson["model"], lesson["loss_of"], lesson["batch"](2)

    def gradients(seen, following):
        loss = loss_of(model, seen, following)
        loss.backward()
        return loss

    compiled, found = autolab.compile(gradients), []
    for function in (compiled, compiled, gradients):
        model.zero_grad()
        function(*pieces)
        found.append([p.grad.numpy().copy() for p in model.parameters()])
    assert "compiled:" in str(autolab.compiler.explain(compiled))
    for once, replayed, eager in zip(*found):
        np.testing.assert_allclose(replayed, eager, atol=1e-6)
        np.testing.assert_allclose(once, eager, atol=1e-6)
