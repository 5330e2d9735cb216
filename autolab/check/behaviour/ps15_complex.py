"""Problem set 15: rules of functions of complex numbers.

forward and backward are called directly, and not by `apply`: the engine would take the real part that a rule forgot.
What people do wrong with conjugates follows from the right rule alone, so every exercise has the same slips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from ..run.candidate import Context
from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult

CONJUGATES = "Write dL = Re(conj(g) dw), put in dw, and bring it into the form Re(conj(...) dz): which factors are conjugated in the end?"
REAL = "A real number moves along one axis. What is left of Re(conj(g) dw) if dz is real?"
FACTOR = "PyTorch's gradient is dL/dx + i dL/dy. The derivative by the conjugate of z is half of it."


def numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    """n complex numbers, none near 0."""
    return draw(rng, (n,)) + 1j * draw(rng, (n,))


@dataclass(frozen=True)
class Rule:
    """One input of a complex function: the value whose real part it receives if it is real, else all of it."""

    name: str
    send: Callable[..., np.ndarray]  # send(g, *inputs)
    real: bool = False
    slips: Sequence[tuple[str, str, str, Callable[..., np.ndarray]]] = ()  # family, text, hint, what it would have given
    points: float = 2.0

    def gradient(self, g: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
        """What the input must receive."""
        value = self.send(g, *inputs)
        return value.real if self.real else value

    def transposed(self, g: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
        """With the derivative itself in place of its conjugate."""
        value = np.conj(self.send(np.conj(g), *inputs))
        return value.real if self.real else value

    def usual_slips(self) -> list[Slip]:
        """What people do wrong with any function of complex numbers; the first that fits is told."""
        x, right, send = self.name, self.gradient, self.send
        found = [Slip(family, text, hint, lambda *a, f=f: {"gradient": f(a[-1], *a[:-1])}) for family, text, hint, f in self.slips]

        def add(family: str, text: str, hint: str, f: Callable[..., np.ndarray]) -> None:
            found.append(Slip(family, f"The gradient of {x} {text}", hint, lambda *a: {"gradient": f(a[-1], *a[:-1])}))

        add("conjugate", "has the derivative where its conjugate belongs", CONJUGATES, self.transposed)
        if self.real:
            add("real part", "is complex: the real part is not taken, though this input is real", REAL, send)
            add("real part", "is complex and has no conjugate: the real part is not taken either", REAL,
                lambda g, *a: np.conj(send(np.conj(g), *a)))  # fmt: skip
            add("real part", "is the imaginary part of what arrives, where the real part belongs", REAL, lambda g, *a: send(g, *a).imag)
            add("real part", "is minus the imaginary part of what arrives, where the real part belongs", REAL,
                lambda g, *a: -send(g, *a).imag)  # fmt: skip
            add("real part", "is a modulus: it lost its sign", REAL, lambda g, *a: np.abs(send(g, *a)))
        else:
            add("conjugate", "is the conjugate of what it should be", CONJUGATES, lambda g, *a: np.conj(right(g, *a)))
            add("conjugate", "conjugates g as well as the derivative", CONJUGATES, lambda g, *a: right(np.conj(g), *a))
            add("real part", "is the real part only, though this input is complex", "It can move along both axes.",
                lambda g, *a: right(g, *a).real)  # fmt: skip
        add("constant", "is half of what it should be", FACTOR, lambda g, *a: right(g, *a) / 2)
        add("constant", "is twice what it should be", FACTOR, lambda g, *a: 2 * right(g, *a))
        add("sign", "has the opposite sign", "Check it with one number by hand.", lambda g, *a: -right(g, *a))
        add("upstream ignored", "does not depend on g: it is what belongs to g = 1", "By the chain rule g is a factor.",
            lambda g, *a: right(np.ones_like(g), *a))  # fmt: skip
        add("conjugate", "has no conjugate, and is half of what it should be", CONJUGATES, lambda g, *a: self.transposed(g, *a) / 2)
        return found


@dataclass(frozen=True)
class ComplexRule:
    """An exercise on a Function of complex numbers: its forward on arrays, and the rule of each input."""

    name: str
    forward: Callable[..., np.ndarray]
    inputs: Callable[[np.random.Generator], tuple]
    rules: Sequence[Rule]
    real: bool = False  # is the result real?

    def behaviour(self) -> Behaviour:
        """The result, each gradient, and their dtypes."""

        def drawn(rng: np.random.Generator) -> tuple:
            inputs = self.inputs(rng)
            n = np.size(self.forward(*inputs))
            return *inputs, draw(rng, (n,)) if self.real else numbers(rng, n)

        scenes = [
            Scene("forward", lambda cls, *a: {"result": cls.forward(self._context(), *map(from_numpy, a))},
                  lambda *a: {"result": self.forward(*a)}, "the result is right", "Compare forward with the formula.", 1.0, self.inputs),
            *(self._gradient_scene(k, rule, drawn) for k, rule in enumerate(self.rules)),
            Scene("dtype", self._dtypes, self._right_dtypes, "32 bits stay 32 bits, and real inputs have real gradients",
                  "A real input gets a real gradient, .real at the end; and constants of 64 bits make everything 64 bits.", 1.0, drawn,
                  slips=[Slip("real part", "A real input gets a complex gradient", REAL, self._all_complex)]),
        ]  # fmt: skip
        return Behaviour(self.name, tuple(scenes))

    def _gradient_scene(self, k: int, rule: Rule, drawn: Callable) -> Scene:
        return Scene(f"gradient of {rule.name}", lambda cls, *a: {"gradient": self._run(cls, a)[k]},
                     lambda *a: {"gradient": rule.gradient(a[-1], *a[:-1])}, "right",
                     CONJUGATES, rule.points, drawn, slips=rule.usual_slips() + self._exchanged(rule),
                     says={"gradient": f"the gradient of {rule.name}"})  # fmt: skip

    def _exchanged(self, rule: Rule) -> list[Slip]:
        """What belongs to another input."""
        hint = "Return one gradient for each input of forward, in that order."
        return [
            Slip("swapped", f"The gradient of {rule.name} is the one that {other.name} should receive", hint,
                 lambda *a, other=other: {"gradient": other.gradient(a[-1], *a[:-1])})
            for other in self.rules if other is not rule
        ]  # fmt: skip

    def _context(self) -> Context:
        return Context(len(self.rules), Tensor)

    def _run(self, cls: Any, given: Sequence[np.ndarray]) -> Sequence[Any]:
        """What backward returns for these inputs and the gradient behind them."""
        context = self._context()
        *inputs, g = map(from_numpy, given)
        cls.forward(context, *inputs)
        returned = cls.backward(context, g)
        values = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        if len(values) != len(self.rules):
            raise UnexpectedResult(f"backward returned {len(values)} gradients, expected {len(self.rules)}, one for each input")
        if not all(isinstance(v, Tensor) for v in values):
            wrong = next(v for v in values if not isinstance(v, Tensor))
            raise UnexpectedResult(f"backward returned {'None' if wrong is None else f'a {type(wrong).__name__}'}, expected tensors")
        return values

    def _dtypes(self, cls: Any, *given: np.ndarray) -> Data:
        narrow = [a.astype(np.complex64 if np.iscomplexobj(a) else np.float32) for a in given]
        values = self._run(cls, narrow)
        return {f"gradient of {r.name}": str(v.numpy().dtype) for r, v in zip(self.rules, values, strict=True)}

    def _right_dtypes(self, *given: np.ndarray) -> Data:
        return {f"gradient of {r.name}": "float32" if r.real else "complex64" for r in self.rules}

    def _all_complex(self, *given: np.ndarray) -> Data:
        return {f"gradient of {r.name}": "complex64" for r in self.rules}


fft, ifft = np.fft.fft, np.fft.ifft


def unit(z: np.ndarray) -> np.ndarray:
    """The direction of z."""
    return z / np.abs(z)


def turned(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """x, turned by theta."""
    return x * np.exp(1j * theta)


TWO_TERMS = "u depends on z and on its modulus: two terms. Along z itself u does not change at all."
HOW_OFTEN = "fft and ifft send back each other, times or divided by n. Count the n on the way."

COMPLEX = tuple(exercise.behaviour() for exercise in (
    ComplexRule("complex_quotient", lambda a, b: a / b, lambda rng: (numbers(rng, 5), numbers(rng, 5)), (
        Rule("a", lambda g, a, b: g / np.conj(b)),
        Rule("b", lambda g, a, b: -g * np.conj(a / b / b), slips=[
            ("conjugate", "The gradient of b conjugates one of its factors only", CONJUGATES, lambda g, a, b: -g * a / np.conj(b) ** 2),
            ("conjugate", "The gradient of b conjugates a only", CONJUGATES, lambda g, a, b: -g * np.conj(a) / b**2),
            ("power", "The gradient of b has one division too few", "d(1/b) = -db / b².", lambda g, a, b: -g * np.conj(a / b)),
            ("conjugate", "The gradient of b divides by |b|², where conj(b)² belongs", "b² is b times b: both are conjugated.",
             lambda g, a, b: -g * np.conj(a) / np.abs(b) ** 2)]),
    )),
    ComplexRule("unit_phase", unit, lambda rng: (numbers(rng, 5),), (
        Rule("z", lambda g, z: (g - unit(z) * (np.conj(unit(z)) * g).real) / np.abs(z), points=4.0, slips=[
            ("term", "This is g / |z|: the modulus was taken for a constant", TWO_TERMS, lambda g, z: g / np.abs(z)),
            ("term", "Only the term of the first Wirtinger derivative is there", TWO_TERMS, lambda g, z: g / (2 * np.abs(z))),
            ("term sign", "The second term has the opposite sign", TWO_TERMS,
             lambda g, z: (g + unit(z) * (np.conj(unit(z)) * g).real) / np.abs(z)),
            ("conjugate", "In the second term g is conjugated, or u is, in the wrong place", TWO_TERMS,
             lambda g, z: (g - unit(z) * (unit(z) * g).real) / np.abs(z)),
            ("conjugate", "In the second term g is not conjugated", TWO_TERMS, lambda g, z: (g - unit(z) ** 2 * g) / (2 * np.abs(z))),
            ("real part", "The real part of conj(u) g is not taken", TWO_TERMS,
             lambda g, z: (g - unit(z) * np.conj(unit(z)) * g) / np.abs(z)),
            ("not divided", "The modulus is missing below", "A far arrow must move further to be turned.",
             lambda g, z: g - unit(z) * (np.conj(unit(z)) * g).real)]),
    )),
    ComplexRule("rotation", turned, lambda rng: (numbers(rng, 5), draw(rng, (5,))), (
        Rule("x", lambda g, x, theta: turned(g, -theta)),
        Rule("theta", lambda g, x, theta: np.conj(1j * turned(x, theta)) * g, real=True, slips=[
            ("variable", "The gradient of theta uses x where the turned x belongs", "dw = i w d(theta).",
             lambda g, x, theta: (np.conj(1j * x) * g).real),
            ("variable", "The gradient of theta leaves out x", "dw = i w d(theta).",
             lambda g, x, theta: (np.conj(1j * np.exp(1j * theta)) * g).real)]),
    )),
    ComplexRule("circular_filter", lambda x, h: ifft(fft(x) * h), lambda rng: (numbers(rng, 6), numbers(rng, 6)), (
        Rule("x", lambda g, x, h: ifft(np.conj(h) * fft(g)), slips=[
            ("constant", "The gradient of x is n times too large", HOW_OFTEN, lambda g, x, h: len(x) * ifft(np.conj(h) * fft(g))),
            ("constant", "The gradient of x is divided by n once too often", HOW_OFTEN,
             lambda g, x, h: ifft(np.conj(h) * fft(g)) / len(x)),
            ("conjugate", "The gradient of x is the filter itself, on g: h is not conjugated", CONJUGATES,
             lambda g, x, h: ifft(h * fft(g))),
            ("order", "The gradient of x has fft and ifft in the order of forward without their conjugates",
             "What is sent back by ifft is an fft of g, divided by n.", lambda g, x, h: fft(np.conj(h) * ifft(g)))], points=2.0),
        Rule("h", lambda g, x, h: np.conj(fft(x)) * fft(g) / len(x), slips=[
            ("constant", "The gradient of h is n times too large", HOW_OFTEN, lambda g, x, h: np.conj(fft(x)) * fft(g)),
            ("constant", "The gradient of h is divided by n once too often", HOW_OFTEN,
             lambda g, x, h: np.conj(fft(x)) * fft(g) / len(x) ** 2),
            ("conjugate", "The spectrum of x is not conjugated in the gradient of h", CONJUGATES, lambda g, x, h: fft(x) * fft(g) / len(x)),
            ("transform", "The gradient of h takes the ifft of g, where the transpose of ifft belongs", HOW_OFTEN,
             lambda g, x, h: np.conj(fft(x)) * ifft(g)),
            ("transform", "The gradient of h takes g as it came, though it went through ifft", HOW_OFTEN,
             lambda g, x, h: np.conj(fft(x)) * g)], points=3.0),
    )),
    ComplexRule("power_spectrum", lambda x: np.abs(fft(x)) ** 2, lambda rng: (draw(rng, (6,)),), (
        Rule("x", lambda g, x: 2 * len(x) * ifft(g * fft(x)), real=True, points=4.0, slips=[
            ("constant", "The gradient is not multiplied by n", HOW_OFTEN, lambda g, x: 2 * ifft(g * fft(x)).real),
            ("constant", "A factor 2n is missing", HOW_OFTEN, lambda g, x: ifft(g * fft(x)).real),
            ("conjugate", "This is the fft of g X, where the conjugate transpose of fft belongs", HOW_OFTEN,
             lambda g, x: 2 * fft(g * fft(x)).real),
            ("real part", "The result is complex, and is not multiplied by n", REAL, lambda g, x: 2 * ifft(g * fft(x))),
            ("variable", "g is multiplied by |X|, where X belongs", "|X|² sends 2 g X: along the arrow.",
             lambda g, x: 2 * len(x) * ifft(g * np.abs(fft(x))).real),
            ("real part", "The gradient is a modulus", REAL, lambda g, x: 2 * len(x) * np.abs(ifft(g * fft(x)))),
            ("conjugate", "X is conjugated in 2 g X", "|X|² = X conj(X) sends 2 g X, without a conjugate.",
             lambda g, x: 2 * len(x) * ifft(g * np.conj(fft(x))).real)]),
    ), real=True),
))  # fmt: skip
