"""Points in the plane that a line cannot tell apart, made by formulas: two moons, spirals, circles, blobs."""

from collections.abc import Callable

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy


def made(n: int, classes: int, noise: float, seed: int, place: Callable[..., tuple[np.ndarray, np.ndarray]]) -> tuple[Tensor, Tensor]:
    """n points whose classes come in turn, so that the first k are balanced too; `place` says where, given class and a share in [0, 1)."""
    if n < 1 or classes < 1 or noise < 0:
        raise ValueError(f"a number of points and of classes is positive, noise is not negative: got {n}, {classes}, {noise}")
    rng = np.random.default_rng(seed)
    label = np.arange(n, dtype=np.int64) % classes
    points = np.stack(place(label, rng.random(n)), axis=1) + noise * rng.standard_normal((n, 2))
    return from_numpy(points.astype(np.float32)), from_numpy(label)


def two_moons(n: int = 200, noise: float = 0.1, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Two half circles that reach into each other.

    Shapes: points (n, 2) float32; labels (n,) int64, 0 for the upper moon, 1 for the lower. ``noise`` is the standard deviation of
    what is added to both coordinates, ``seed`` makes the same points again. Raises ValueError for a negative number.

    Examples
    --------
    >>> x, y = two_moons(100)
    >>> x.shape, y[:4].tolist()
    (torch.Size([100, 2]), [0, 1, 0, 1])

    """

    def place(label: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = np.pi * share
        x, y = np.cos(angle), np.sin(angle)
        return np.where(label == 0, x, 1 - x), np.where(label == 0, y, 0.5 - y)

    return made(n, 2, noise, seed, place)


def spirals(n: int = 300, classes: int = 3, turns: float = 0.75, noise: float = 0.03, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Arms that wind around each other, one for each class, from the centre to radius 1 in so many turns.

    Shapes: points (n, 2) float32; labels (n,) int64 in [0, classes). Raises ValueError for a negative number.

    Examples
    --------
    >>> x, y = spirals(90, noise=0.)
    >>> bool((x.square().sum(1) <= 1).all()), y.bincount().tolist()
    (True, [30, 30, 30])

    """

    def place(label: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = 2 * np.pi * (label / classes + turns * share)
        return share * np.cos(angle), share * np.sin(angle)

    return made(n, classes, noise, seed, place)


def circles(n: int = 200, inner: float = 0.5, noise: float = 0.05, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A circle of radius 1 and one inside it.

    Shapes: points (n, 2) float32; labels (n,) int64, 0 outside, 1 inside. Raises ValueError unless 0 <= inner < 1.

    Examples
    --------
    >>> x, y = circles(4, noise=0.)
    >>> x.norm(dim=1)
    tensor([1.0000, 0.5000, 1.0000, 0.5000])

    """
    if not 0 <= inner < 1:
        raise ValueError(f"the inner circle has a radius in [0, 1), not {inner}")

    def place(label: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        radius, angle = np.where(label == 0, 1.0, inner), 2 * np.pi * share
        return radius * np.cos(angle), radius * np.sin(angle)

    return made(n, 2, noise, seed, place)


def blobs(n: int = 300, classes: int = 3, noise: float = 0.3, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Round clouds whose centres stand on a circle of radius 1; ``noise`` is their standard deviation.

    Shapes: points (n, 2) float32; labels (n,) int64 in [0, classes). Raises ValueError for a negative number.

    Examples
    --------
    >>> blobs(3, noise=0.)[0]
    tensor([[ 1.0000,  0.0000],
            [-0.5000,  0.8660],
            [-0.5000, -0.8660]])

    """

    def place(label: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = 2 * np.pi * label / classes
        return np.cos(angle), np.sin(angle)

    return made(n, classes, noise, seed, place)
