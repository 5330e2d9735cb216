"""A power taken for an exponential function, and the other way round: log belongs to the derivative of one of them alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .stepwise import Chain, ChainSlip, links_to

AS_EXPONENTIAL = "has the logarithm of the base in the derivative of {}, as in the rule of an exponential: x is in the base"
AS_POWER = "has the exponent as a factor in the derivative of {}, as in the rule of a power: x is in the exponent"


def powers(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """The derivative for the other of base and exponent."""
    for i, k in links_to(chain, x):
        if chain.steps[i].row.name in ("pow", "pow_scalar"):
            text = (AS_POWER if k else AS_EXPONENTIAL).format(chain.names[i]).replace("x is", f"{x} is")
            for sign in (1, -1) if k == 0 else (1,):  # of a ** -t it may be the derivative by t
                yield ChainSlip("function", text, lambda chain, i=i, k=k, sign=sign: _other(chain, x, i, k, sign), complete=True)


def _other(chain: Chain, x: str, i: int, k: int, sign: int) -> np.ndarray:
    step = chain.steps[i]
    base = step.names["raw"][0]
    exponent = step.names["raw"][1] if step.row.name == "pow" else np.asarray(step.names["exponent"])
    slope = exponent * base ** (exponent - 1) if k else step.names["out"] * np.log(base)
    return chain.changed(x, {(i, k): step.fit(k, sign * step.incoming * slope)})
