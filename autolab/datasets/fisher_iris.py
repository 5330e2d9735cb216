"""150 irises of three species, measured by Edgar Anderson: R. A. Fisher, Annals of Eugenics 7, 1936, Table I."""

from pathlib import Path
from typing import Literal

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

FILE = Path(__file__).with_name("fisher_iris.csv")
FEATURES = "sepal length", "sepal width", "petal length", "petal width"
SPECIES = "setosa", "versicolor", "virginica"


def iris(split: Literal["train", "test"] | None = None) -> tuple[Tensor, Tensor]:
    """Measurements of flowers, in centimetres, and which species each one is.

    ``split=None`` gives all 150, fifty of each species in turn; ``"test"`` the 30 that are held out (every fifth of each
    species), ``"train"`` the 120 others. Setosa can be told apart by a line; the other two overlap.

    Shapes: measurements (N, 4) float32: length and width of the sepal, of the petal; labels (N,) int64 in [0, 3) for setosa,
    versicolor, virginica (``fisher_iris.SPECIES``).

    Raises
    ------
    ValueError
        If ``split`` is none of the three.

    Examples
    --------
    >>> x, y = iris()
    >>> x.shape, x[0], y.bincount().tolist()
    (torch.Size([150, 4]), tensor([5.1000, 3.5000, 1.4000, 0.2000]), [50, 50, 50])

    """
    if split not in (None, "train", "test"):
        raise ValueError(f"unknown split {split!r}: expected 'train', 'test' or None for all flowers")
    rows = [line.split(",") for line in FILE.read_text().splitlines()[1:]]
    x = np.array([row[:4] for row in rows], dtype=np.float32)
    y = np.array([SPECIES.index(row[4]) for row in rows])
    chosen = slice(None) if split is None else (np.arange(len(y)) % 5 == 2) == (split == "test")
    return from_numpy(x[chosen]), from_numpy(y[chosen])
