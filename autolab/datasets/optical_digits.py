"""1797 handwritten digits: E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998, CC BY 4.0."""

from pathlib import Path
from typing import Literal

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

FILE = Path(__file__).with_name("optical_digits.npz")
BLOCK = 16  # black dots in a pixel that is all ink


def digits(split: Literal["train", "test"] | None = None) -> tuple[Tensor, Tensor]:
    """Images of handwritten digits, and which digit each one is.

    ``split=None`` gives all 1797 in the order of the source, ``"test"`` the 359 that are held out, ``"train"`` the
    1438 others. Held out is, of each digit, every fifth image. So both sides hold every digit in the same proportion
    and every writer: the images of ``"test"`` are new to a network that was trained on ``"train"``, their hands are
    not. The source goes on writer by writer; its last 360 images, taken as test data instead, are a harder question
    (about 91 % right rather than 97 %, for one hidden layer).

    Shapes: images (N, 8, 8) float32 in [0, 1], 0 paper and 1 ink; labels (N,) int64 in [0, 10).
    The arrays are fresh at every call, so writing into them spoils nothing.

    Raises
    ------
    ValueError
        If ``split`` is none of the three.

    Examples
    --------
    >>> images, labels = digits("train")
    >>> images.shape, labels[:5].tolist()
    (torch.Size([1438, 8, 8]), [0, 1, 2, 3, 4])

    """
    images, labels = arrays(split)
    return from_numpy(images), from_numpy(labels)


def arrays(split: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The same as ndarrays, for code that does not need gradients."""
    if split not in (None, "train", "test"):
        raise ValueError(f"unknown split {split!r}: expected 'train', 'test' or None for all digits")
    with np.load(FILE) as stored:
        images, labels = stored["images"].astype(np.float32) / BLOCK, stored["labels"].astype(np.int64)
    if split is None:
        return images, labels
    chosen = held_out(labels) == (split == "test")
    return images[chosen], labels[chosen]


def held_out(labels: np.ndarray) -> np.ndarray:
    """True at every fifth image of each digit."""
    # Every fifth image of the whole file would hold out few but 4s and 9s where a writer went from 0 to 9 in turn.
    fifth = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        fifth[np.flatnonzero(labels == digit)[2::5]] = True
    return fifth
