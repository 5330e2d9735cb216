"""Gradients that are sums of products of matrices, with each factor, order, transpose and term wrong once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import autolab
from autolab.check import Spec
from autolab.check.run.inputs import draw
from autolab.engine.op import GENERAL, Op

from .generated import right, wrong

# A term is a number and a word: letters are inputs, g, o (the result), i (the inverse of the first input), r (a residual); ' transposes.


@dataclass(frozen=True)
class Term:
    """A number times a product."""

    factor: float
    word: tuple[str, ...]
    power: int = 0  # of the result, where that is a number


def terms(text: str) -> tuple[Term, ...]:
    """ "2 g A' - o g" as terms; o^2 is a power of the result."""
    found, sign = [], 1.0
    for part in text.replace("- ", "+ -").split("+ "):
        part = part.strip()
        if not part:
            continue
        sign = -1.0 if part.startswith("-") else 1.0
        letters, factor, power = part.lstrip("-").split(), sign, 0
        word = []
        for letter in letters:
            if letter.replace(".", "").isdigit():
                factor *= float(letter)
            elif "^" in letter:
                power = int(letter.split("^")[1])
            else:
                word.append(letter)
        found.append(Term(factor, tuple(word), power))
    return tuple(found)


def value(letter, known):
    a = known[letter.rstrip("'")]
    return np.swapaxes(a, -1, -2) if letter.endswith("'") and np.ndim(a) > 1 else a


def evaluate(some, known, shape):
    total = 0.0
    for t in some:
        product = t.factor * known["o"] ** t.power if t.power else t.factor
        matrix = None
        for letter in t.word:
            a = value(letter, known)
            if np.ndim(a) == 0:
                product = product * a
            else:
                matrix = a if matrix is None else matrix @ a
        total = total + (product if matrix is None else product * matrix)
    total = np.asarray(total)
    return total.reshape(shape) if total.size == np.prod(shape) and total.ndim != len(shape) else total


# name: forward on arrays, the same on tensors, the gradient of each input, shapes for two calls
OPERATIONS = {
    "inverse": (lambda A: np.linalg.inv(A), lambda A: autolab.linalg.inv(A), {"A": "- o' g o'"}, [((3, 3),), ((4, 4),)]),
    "solve": (lambda A, B: np.linalg.solve(A, B), lambda A, B: autolab.linalg.solve(A, B), {"A": "- i' g o'", "B": "i' g"},
              [((3, 3), (3, 2)), ((4, 4), (4, 4))]),
    "solve_right": (lambda A, B: B @ np.linalg.inv(A), lambda A, B: B @ autolab.linalg.inv(A), {"A": "- o' g i'", "B": "g i'"},
                    [((3, 3), (2, 3)), ((4, 4), (4, 4))]),
    "det": (lambda A: np.linalg.det(A), lambda A: autolab.linalg.det(A), {"A": "g o^1 i'"}, [((3, 3),), ((4, 4),)]),
    "logdet": (lambda A: np.linalg.slogdet(A)[1], lambda A: autolab.linalg.slogdet(A)[1], {"A": "g i'"}, [((3, 3),), ((4, 4),)]),
    "trace_of_product": (lambda A, B: np.trace(A @ B), lambda A, B: (A @ B).trace(), {"A": "g B'", "B": "g A'"},
                         [((3, 4), (4, 3)), ((4, 4), (4, 4))]),
    "trace_of_inverse": (lambda A: np.trace(np.linalg.inv(A)), lambda A: autolab.linalg.inv(A).trace(), {"A": "- g i' i'"}, [((3, 3),), ((4, 4),)]),
    "squared_norm": (lambda A: (A * A).sum(), lambda A: (A * A).sum(), {"A": "2 g A"}, [((3, 4),), ((4, 4),)]),
    "frobenius": (lambda A: np.sqrt((A * A).sum()), lambda A: (A * A).sum().sqrt(), {"A": "g o^-1 A"}, [((3, 4),), ((4, 4),)]),
    "quadratic_form": (lambda A, X: X @ A @ X, lambda A, X: X @ A @ X, {"A": "g X~ X", "X": "g A X + g A' X"}, [((3, 3), (3,)), ((4, 4), (4,))]),
    "bilinear_form": (lambda A, X, Y: X @ A @ Y, lambda A, X, Y: X @ A @ Y, {"A": "g X~ Y", "X": "g A Y", "Y": "g A' X"},
                      [((3, 4), (3,), (4,)), ((4, 4), (4,), (4,))]),
    "quadratic_matrix": (lambda A, X: np.trace(X.T @ A @ X), lambda A, X: (X.mT @ A @ X).trace(), {"A": "g X X'", "X": "g A X + g A' X"},
                         [((3, 3), (3, 2)), ((4, 4), (4, 4))]),
    "sandwich": (lambda A, X, B: A @ X @ B, lambda A, X, B: A @ X @ B, {"A": "g B' X'", "X": "A' g B'", "B": "X' A' g"},
                 [((2, 3), (3, 4), (4, 5)), ((4, 4), (4, 4), (4, 4))]),
    "square": (lambda A: A @ A, lambda A: A @ A, {"A": "g A' + A' g"}, [((3, 3),), ((4, 4),)]),
    "cube": (lambda A: A @ A @ A, lambda A: autolab.linalg.matrix_power(A, 3), {"A": "g A' A' + A' g A' + A' A' g"}, [((3, 3),), ((4, 4),)]),
    "gram": (lambda A: A.T @ A, lambda A: A.mT @ A, {"A": "A g + A g'"}, [((3, 5),), ((4, 4),)]),
    "outer_gram": (lambda A: A @ A.T, lambda A: A @ A.mT, {"A": "g A + g' A"}, [((3, 5),), ((4, 4),)]),
    "commutator": (lambda A, B: A @ B - B @ A, lambda A, B: A @ B - B @ A, {"A": "g B' - B' g", "B": "A' g - g A'"},
                   [((3, 3), (3, 3)), ((4, 4), (4, 4))]),
    "scores": (lambda Q, K: Q @ K.T, lambda Q, K: Q @ K.mT, {"Q": "g K", "K": "g' Q"}, [((3, 4), (5, 4)), ((4, 4), (4, 4))]),
    "least_squares": (lambda A, X, B: ((A @ X - B) ** 2).sum(), lambda A, X, B: ((A @ X - B) ** 2).sum(),
                      {"A": "2 g r X'", "X": "2 g A' r", "B": "- 2 g r"}, [((3, 4), (4, 2), (3, 2)), ((4, 4), (4, 4), (4, 4))]),
    "mahalanobis": (lambda A, X: X @ np.linalg.solve(A, X), lambda A, X: X @ autolab.linalg.solve(A, X),
                    {"A": "- g v u", "X": "g u + g w"}, [((3, 3), (3,)), ((4, 4), (4,))]),
    "similarity": (lambda A, B: A @ B @ np.linalg.inv(A), lambda A, B: A @ B @ autolab.linalg.inv(A), {"B": "A' g i'", "A": "g i' B' - o' g i'"},
                   [((3, 3), (3, 3)), ((4, 4), (4, 4))]),
}  # fmt: skip


def known_values(g, out, given):
    """Every letter: u, w, v are those of a quadratic form with an inverse."""
    known = {**given, "g": np.asarray(g), "o": np.asarray(out)}
    a = given.get("A")
    if a is not None and a.shape[-1] == a.shape[-2]:
        known["i"] = np.linalg.inv(a)
    if "X" in given and given["X"].ndim == 1:
        known["X~"] = given["X"][:, None]
        known["X"] = given["X"]
        if "i" in known:
            known["u"], known["w"] = known["i"] @ given["X"], known["i"].T @ given["X"]
            known["v"] = known["w"][:, None]
    if {"A", "X", "B"} <= given.keys() and np.ndim(out) == 0:
        known["r"] = given["A"] @ given["X"] - given["B"]
    return known


def invertible(rng, shapes, settings):
    """Random matrices; square ones far from singular."""
    return tuple(
        draw(rng, s) + (4 * np.eye(s[0])[np.random.default_rng(1).permutation(s[0])] if len(s) == 2 and s[0] == s[1] else 0) for s in shapes
    )


def gradient(some, g, out, given, shape):
    known = known_values(g, out, given)
    total = 0.0
    for t in some:
        if (t.word and t.word[0] in ("g", "-g") and "X~" in t.word) or "v" in t.word:  # an outer product of two vectors
            letters = [w for w in t.word if w != "g"]
            total = total + t.factor * known["g"] * np.outer(*(np.ravel(known[w.rstrip("'")]) for w in letters))
        else:
            total = total + evaluate([t], known, shape)
    return total


def changes(some):
    """Every way to get these terms wrong: a family, the kinds, the terms."""
    for k, t in enumerate(some):

        def put(word, k=k, t=t, **more):
            return (*some[:k], replace(t, word=tuple(word), **more), *some[k + 1 :])

        at = [i for i, w in enumerate(t.word) if (w not in ("g", "X~") and w[0].isupper()) or w[0] in "oi"]
        vectors = "X~" in t.word or "v" in t.word or "u" in t.word or "w" in t.word
        for i in at if not vectors else ():
            w = t.word[i]
            turned = w.rstrip("'") if w.endswith("'") else w + "'"
            yield (
                f"{'without' if w.endswith(chr(39)) else 'with'} a transpose",
                "transposed|forward",
                put((*t.word[:i], turned, *t.word[i + 1 :])),
            )
            yield (
                "without a factor",
                "factor|variable|step|term|upstream only|swapped|forward|not spread|shape",
                put((*t.word[:i], *t.word[i + 1 :])),
            )
        matrix = [w for w in t.word if not vectors]
        if len(matrix) > 1:
            yield "backwards", "order|transposed|forward", put(reversed(t.word))
        if len(matrix) > 2:
            yield "two exchanged", "order|transposed", put((t.word[1], t.word[0], *t.word[2:]))
        if any(w.startswith("i") for w in t.word):
            yield "not inverted", "variable|function|step|forward|power|inverse", put(tuple(w.replace("i", "A") for w in t.word))
        if any(w.startswith("o") for w in t.word):
            yield "input for result", "variable|function|step|forward", put(tuple(w.replace("o", "A") for w in t.word))
        if t.power:
            yield "without the result", "factor|function|variable|step|division|power", put(t.word, power=0)
            yield "divided, not times", "division|power|factor|function", put(t.word, power=-t.power)
        if t.factor != 1:
            yield "without its number or sign", "constant|sign|term sign|number", put(t.word, factor=1.0)
        if len(some) > 1:
            yield "a term missing", "term", (*some[:k], *some[k + 1 :])
            yield "wrong sign of a term", "term sign", put(t.word, factor=-t.factor)
            yield "one term for all", "term|constant|transposed|order|variable|number", tuple(some[k] for _ in some)
    if sum(w.endswith("'") for t in some for w in t.word) > 1:
        yield "no transposes", "transposed|forward", tuple(replace(t, word=tuple(w.rstrip("'") for w in t.word)) for t in some)
    if all(len(t.word) > 1 and not {"X~", "v", "u", "w"} & set(t.word) and t.word[-1] not in "XY" for t in some):
        yield "all transposed", "transposed|order", None
    if not any(t.power for t in some) and all(t.word[0] == "g" for t in some) and some[0].word[-1] in ("i'", "A"):
        yield "times the result", "factor|function|step|forward|power", tuple(replace(t, power=1) for t in some)


def make(name):
    forward, on_tensors, gradients, shapes = OPERATIONS[name]
    parsed = {x: terms(text) for x, text in gradients.items()}
    inputs = forward.__code__.co_varnames[: forward.__code__.co_argcount]
    asks = ", ".join(inputs)

    def one(x, wrong_terms):
        def get(g, out, *given):
            known = dict(zip(inputs, given, strict=True))
            shape = known[x].shape
            if wrong_terms is None:
                return np.swapaxes(gradient(parsed[x], g, out, known, shape), -1, -2)
            return gradient(wrong_terms, g, out, known, shape)

        made = {"get": get}
        exec(f"def back(g, {asks}, out): return get(g, out, {asks})", made)
        return made["back"]

    rights = {x: one(x, parsed[x]) for x in inputs}
    op = Op(name, forward, GENERAL, **rights)
    op.forward = forward
    spec = Spec(name, op, shapes=shapes, make=invertible)

    def rule(x, some):
        backs = [one(x, some) if y == x else rights[y] for y in inputs]
        made = {"backs": backs}
        exec(f"def rule(g, {asks}, out): return tuple(back(g, {asks}, out) for back in backs)", made)
        return made["rule"]

    rng = np.random.default_rng(3)
    cases = [invertible(rng, s, {}) for s in shapes]

    def is_wrong(x, some):
        """Does it show, and is something left where two terms cancel?"""
        for given in cases:
            out = forward(*given)
            g = draw(rng, np.shape(out))
            try:
                want, got = rights[x](g, *given, out), one(x, some)(g, *given, out)
            except Exception:
                return True
            if np.shape(got) != np.shape(want) or (not np.allclose(got, 0) and not np.allclose(got, want)):
                return True
        return False

    right(name, spec, rule(inputs[0], parsed[inputs[0]]))
    right(f"{name} function", on_tensors, rule(inputs[0], parsed[inputs[0]]), cases[0])
    for x in inputs:
        for family, kinds, some in changes(parsed[x]):
            if some == () or not is_wrong(x, some):
                continue
            kinds += "|term" * (len(parsed[x]) > 1)
            words = ("the result of forward",) if "result" in family or "divided" in family else ()
            wrong(f"matrix: {family}", name, spec, rule(x, some), kinds, words)
            wrong(f"matrix: {family}", f"{name} function", on_tensors, rule(x, some), kinds, words, cases[0])


def fill() -> None:
    """Every change of every product."""
    for name in OPERATIONS:
        make(name)
