"""SGD and Adam on plain arrays, for the libraries that bring no optimizer."""

from collections.abc import Callable

import numpy as np

Arrays = dict[str, np.ndarray]


def sgd(parameters: Arrays, lr: float) -> Callable[[Arrays], None]:
    def update(gradients: Arrays) -> None:
        for name, value in parameters.items():
            value -= np.float32(lr) * gradients[name]

    return update


def adam(parameters: Arrays, lr: float, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8):
    """Kingma and Ba 2015, algorithm 1, with the work done in place."""
    first = {name: np.zeros_like(value) for name, value in parameters.items()}
    second = {name: np.zeros_like(value) for name, value in parameters.items()}
    step = 0

    def update(gradients: Arrays) -> None:
        nonlocal step
        step += 1
        rate, root = np.float32(lr / (1 - beta1**step)), np.float32((1 - beta2**step) ** -0.5)
        for name, value in parameters.items():
            g, m, v = gradients[name], first[name], second[name]
            m += np.float32(1 - beta1) * (g - m)
            v += np.float32(1 - beta2) * (g * g - v)
            scale = np.sqrt(v)
            scale *= root
            scale += np.float32(eps)
            np.divide(m, scale, out=scale)
            scale *= rate
            value -= scale

    return update
