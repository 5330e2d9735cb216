"""Train the model of lesson 17 by its own cells, and keep its weights beside it: `python tests/notebooks/train_sonnets.py`.

It takes a minute or two. The losses on the known and on the new text, every 50 steps, are kept in the same file.
"""

from pathlib import Path

import nbformat

import autolab as torch
from autolab.serialization.safetensors import save_file
from autolab.utils.progress_bar import progress_bar

FOLDER = Path(__file__).parents[2] / "notebooks"
STEPS, EVERY = 1000, 50
PARTS = "heads-split", "heads-define", "block-define", "gpt-define", "gpt-batch", "gpt-start", "train-define"


def definitions(**imported):
    """What the lesson defines: the model's classes, the text, `model` with its first weights, `fit`. PyTorch may take autolab's place."""
    cells = {cell.id: cell.source for cell in nbformat.read(FOLDER / "17-attention.ipynb", as_version=4).cells}
    names = {"__name__": "lesson17", **imported}
    for part in PARTS if imported else ("imports", *PARTS):
        exec(cells[part], names)
    return names


def trained(names, steps=STEPS):
    """The weights after so many steps of the lesson's loop, as float16, and the losses on the way."""
    model, length = names["model"], names["T"]
    losses = {"known": [], "new": []}

    def measured(items, label):
        for step in progress_bar(items, label):
            if step % EVERY == 0:
                measure()
            yield step
        measure()

    def measure():
        for name, seen in losses.items():
            text = names[name][:4000]
            pieces = torch.stack([text[i : i + length + 1] for i in range(0, len(text) - length, length)])
            with torch.no_grad():
                seen.append(names["loss_of"](model, pieces[:, :-1], pieces[:, 1:]).item())

    names["progress_bar"] = measured
    names["fit"](model, steps)
    weights = {name: value.half() for name, value in model.state_dict().items()}
    return weights | {f"losses.{name}": torch.tensor(seen) for name, seen in losses.items()}


if __name__ == "__main__":
    save_file(trained(definitions()), FOLDER / "17-attention.safetensors")
