"""Matrix calculus: a gradient read as a sum of products of matrices, and compared with the right one, product by product.

Every product of the inputs, their inverses, the result and g (each as it is and transposed) that has the right shape is a word. Which
few words add up to the right gradient, and which to the one that came back, is linear algebra on the numbers of several calls; what was
written wrong is then the difference of two short lists of words. No formula is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, product
from typing import NamedTuple

import numpy as np

from autolab.engine.op import ELEMENTWISE

from ...run.inputs import draw
from ...run.observation import Observation, Right, close
from ..budget import affordable
from ..diagnosis import Mistake
from ..formulas.mutants import value_in_words
from ..quiet import quiet
from ..replays.chains import first_chain

LONGEST = 4  # factors in a word
MOST_WORDS = 450
MOST_UNKNOWNS = 150
MOST_SEARCHED = 250
MORE_G = 9  # incoming gradients to ask for besides those of the calls; fewer, where one has many numbers
MOST_NUMBERS = 4000  # of one side that are compared; of more, these are taken evenly
MOST_WORK = 1 << 20  # multiplications in a product of two of the matrices: hundreds are tried
MOST_CALLS = 6
ADD_UP = {"sum", "mean", "var", "std", "amax", "amin", "softmax", "log_softmax", "logsumexp"}
WORDS = 1500  # what all of it counts for: see `budget.py`
MOST_TERMS = 4
ON_THE_WAY = "the result of "
MOST_ON_THE_WAY = 3  # matrices that forward works out besides its result


class Letter(NamedTuple):
    """A matrix: an input, g or the result, perhaps its inverse, perhaps transposed."""

    name: str
    inverse: bool = False
    transposed: bool = False

    def __str__(self) -> str:
        name = {"out": "result"}.get(self.name, f"({self.name})" if " " in self.name else self.name)
        return name + {(False, False): "", (False, True): "ᵀ", (True, False): "⁻¹", (True, True): "⁻ᵀ"}[self.inverse, self.transposed]

    @property
    def turned(self) -> Letter:
        """Its transpose."""
        return Letter(self.name, self.inverse, not self.transposed)


Word = tuple[Letter, ...]
Term = tuple[Word, int]  # a product, and the power of the result (a number) that it is multiplied by
Terms = Mapping[Term, float]


@quiet
def find_products(wrong: Sequence[Observation], x: str, others: Sequence[Observation] = ()) -> Mistake | None:
    """What the products in the gradient are, beside those that belong there. `others`: calls that tell of the right one only."""
    o = wrong[0]
    if o.reference.elementwise or not any(np.ndim(v) > 1 for v in (*o.inputs, o.g)) or not 1 <= o.want[x].ndim <= 3:
        return None
    if any(not 1 <= o.got[x].ndim <= 3 for o in wrong) or any(np.asarray(a).dtype.kind in "iub" for a in o.inputs):
        return None  # what moves entries by an index multiplies no matrices
    if any(_work(o) > MOST_WORK for o in wrong) or _adds_up_alone(o, x) or not affordable(o, WORDS):
        return None
    return _by_words(wrong, x, others, spectral=False) or (_by_words(wrong, x, others, spectral=True) if _is_spectral(o, x) else None)


def _adds_up_alone(o: Observation, x: str) -> bool:
    """Does forward go entry by entry and add up along axes, and nothing else? Its gradient is no product of matrices."""
    chain = first_chain(o, x) if o.reference.function and o.out.ndim else None
    return chain is not None and all(step.row.kind == ELEMENTWISE or step.row.name in ADD_UP for step in chain.steps)


def _is_spectral(o: Observation, x: str) -> bool:
    """Is it a function of a symmetric matrix with a number for each row, as its eigenvalues are?"""
    a = np.asarray(o.names[x])
    return a.ndim == 2 and o.g.shape == a.shape[:1] and a.shape[0] == a.shape[1] and (close(a, a.T) or close(o.want[x], o.want[x].T))


def _by_words(wrong: Sequence[Observation], x: str, others: Sequence[Observation], spectral: bool) -> Mistake | None:
    different = _different(wrong)
    telling = max(different, key=lambda o: len({n for a in _letters(o, x, [o.g], spectral).values() for n in a.shape[-2:]}))
    elsewhere = [o for o in (_nearby(wrong[0], x), *_different(others)[:1]) if o]  # what holds for one matrix may be an accident
    right, every = _right([_call(o, x, answered=False, spectral=spectral) for o in (telling, *elsewhere)])
    if not right:  # then no answer is asked for
        return None
    calls = [_call(o, x, spectral=spectral) for o in different]
    for words in (_rearranged(right), _exchanged(right, calls), every if len(every) <= MOST_SEARCHED else []):
        yours = _sparse(*_dictionary(calls, words, "got"), _column(calls, "got"))
        if yours:
            return _compare(right, yours, len(wrong) > 1) if yours != right else None
    return None


def _work(o: Observation) -> int:
    """About how many multiplications a product of two of its matrices costs."""
    return max(np.size(a) for a in (*o.inputs, o.g)) * max(n for a in (*o.inputs, o.g) for n in np.shape(a)[-2:] or (1,))


def _nearby(o: Observation, x: str) -> Observation | None:
    """The same operation on other numbers, which are the same for each x; what came back is not asked."""
    if "nearby" not in o.about_right:
        rng = np.random.default_rng(6)
        inputs = [a * _noise(rng, a) if np.asarray(a).dtype.kind == "f" else a for a in o.inputs]
        o.about_right["nearby"] = None
        with contextlib.suppress(Exception):  # numbers that this operation does not take
            names = o.reference.environment(inputs, o.settings)
            if np.shape(names["out"]) == o.out.shape:
                want = Right(lambda x: o.reference.gradient(x, o.g, names))
                o.about_right["nearby"] = Observation(o.reference, names, o.g, want, want, settings=o.settings)
    found: Observation | None = o.about_right["nearby"]
    with contextlib.suppress(Exception):
        return found if found and found.want[x] is not None else None
    return None


def _noise(rng: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """Factors near 1, which leave a symmetric matrix symmetric."""
    noise = rng.uniform(0.8, 1.2, np.shape(a))
    return (noise + noise.T) / 2 if np.ndim(a) == 2 and close(a, np.transpose(a)) else noise


def _different(observations: Sequence[Observation]) -> list[Observation]:
    """A few calls; where g is an array, one for each shape, and more g are asked for."""
    if not observations or not observations[0].g.ndim:  # with another number for g, the same inputs say the same
        return list({id(o.out): o for o in reversed(observations)}.values())[: -MOST_CALLS - 1 : -1]
    return list({o.g.shape: o for o in reversed(observations)}.values())[-3:]


def _right(calls: list[Call]) -> tuple[Terms | None, list[Word]]:
    """The right gradient as products, and the words that were tried: of the inputs and g, then of the result and of inverses as well."""
    alphabet = _alphabet(calls)
    between = [a for a in alphabet if a.name.startswith(ON_THE_WAY)]
    plain = [a for a in alphabet if not a.inverse and a not in between]
    stages = [[a for a in plain if a.name != "out"], plain]
    for name in dict.fromkeys(a.name for a in alphabet if a.inverse):
        inverse = [a for a in alphabet if a.inverse and a.name == name]
        stages.append(plain + inverse)
    stages += [plain + between] * bool(between)
    target, columns, tried = _column(calls, "want"), dict[Word, np.ndarray | None](), list[Word]()
    for letters in stages:
        words: list[Word] = []
        for length, longer in enumerate(_words(calls, letters), 1):
            words += longer
            if length < LONGEST - 1 or words == tried:
                continue
            tried = list(words)
            if found := _sparse(*_dictionary(calls, words, "want", columns), target):
                return found, words
    return None, []


def _column(calls: list[Call], side: str) -> np.ndarray:
    return np.concatenate([_some(getattr(c, side)) for c in calls])


def _some(a: np.ndarray) -> np.ndarray:
    """Its numbers; of many, one from each of as many pieces of the same length."""
    if a.size <= MOST_NUMBERS:
        return np.ravel(a)
    return np.ravel(a)[np.linspace(0, a.size - 1, MOST_NUMBERS).astype(int)]


# ---------- the numbers


@dataclass(frozen=True)
class Call:
    """The matrices of one call with several g, what came back for each and what was right: (number of g, *shape of x)."""

    letters: dict[Letter, np.ndarray]
    result: float | None
    g: np.ndarray
    got: np.ndarray
    want: np.ndarray
    memo: dict[Word, np.ndarray] = field(default_factory=dict)

    def value(self, word: Word) -> np.ndarray:
        """The product, worked out once."""
        if len(word) == 1:
            return self.letters[word[0]]
        if word not in self.memo:
            self.memo[word] = self.value(word[:-1]) @ self.letters[word[-1]]
        return self.memo[word]


def _call(o: Observation, x: str, answered: bool = True, spectral: bool = False) -> Call:
    """`spectral`: g as a diagonal matrix, between the matrices of eigenvectors."""
    gs, got = [o.g], [o.got[x] if answered else o.want[x]]
    if o.g.ndim:
        count = min(MORE_G, 1 + MOST_NUMBERS // max(o.want[x].size, 1))
        more = list(draw(np.random.default_rng(5), (count, *o.g.shape)))
        answers = (o.ask(more) if o.ask else None) if answered else None
        if not answered or (answers and all(a[x] is not None and a[x].shape == got[0].shape for a in answers)):
            gs += more
            got += [a[x] for a in answers] if answers else []
    want = [o.want[x], *o.reference.gradients(x, gs[1:], o.names)]
    letters = _letters(o, x, gs, spectral)
    result = None if o.out.ndim else float(o.out)
    return Call(letters, result, np.stack(gs), np.stack(got if answered else want).astype(float), np.stack(want))


def _letters(o: Observation, x: str, gs: Sequence[np.ndarray], spectral: bool) -> dict[Letter, np.ndarray]:
    """The matrices of one call, with a stack of these g."""
    letters = dict(_fixed_letters(o)) | ({} if spectral else dict(_letters_on_the_way(o, x)))
    if o.g.ndim:
        stacked = np.stack(gs)
        if spectral:
            stacked = stacked[..., None] * np.eye(len(o.g))
            symmetric = (o.names[x] + o.names[x].T) / 2
            letters |= _both(Letter(x), symmetric) | _both(Letter("eigenvectors"), np.linalg.eigh(symmetric)[1])
        stacked = stacked[..., None] if o.g.ndim == 1 and not spectral else stacked
        letters |= {Letter("g"): stacked, Letter("g", transposed=True): np.swapaxes(stacked, -1, -2)}
    return letters


def _fixed_letters(o: Observation) -> Iterator[tuple[Letter, np.ndarray]]:
    for name in (*o.reference.inputs, "out"):
        a = np.asarray(o.names[name])
        if a.dtype.kind != "f" or not a.ndim:
            continue
        yield from _both(Letter(name), a).items()
        if a.ndim > 1 and a.shape[-1] == a.shape[-2] and name != "out":
            try:
                inverse = np.linalg.inv(a)
            except np.linalg.LinAlgError:
                continue
            if np.abs(a).max() * np.abs(inverse).max() < 1e6:
                yield from _both(Letter(name, inverse=True), inverse).items()


def _letters_on_the_way(o: Observation, x: str) -> Iterator[tuple[Letter, np.ndarray]]:
    """What forward works out before its result, as far as it is a matrix or a vector: the last few."""
    chain = first_chain(o, x) if o.reference.function else None
    if chain is None:
        return
    values = [(k, np.asarray(v)) for k, v in enumerate(chain.values) if k >= len(chain.inputs) and k != chain.last]
    for k, a in [(k, a) for k, a in values if a.dtype.kind == "f" and 0 < a.ndim < 3 and a.size > 1][-MOST_ON_THE_WAY:]:
        yield from _both(Letter(chain.words[k]), a).items()


def _both(letter: Letter, a: np.ndarray) -> dict[Letter, np.ndarray]:
    a = np.asarray(a, float)
    a = a[:, None] if a.ndim == 1 else a
    return {letter: a, letter.turned: np.swapaxes(a, -1, -2)}


def _dictionary(
    calls: list[Call], words: Iterable[Word], side: str, known: dict[Word, np.ndarray | None] | None = None
) -> tuple[list[Term], np.ndarray]:
    """The products that have the right shape in all calls, as columns of their numbers. `known`: those of the words before."""
    terms: list[Term] = []
    columns: list[np.ndarray] = []
    known = {} if known is None else known
    powers = (0, 1, -1, 2) if calls[0].result is not None else (0,)
    scales = {
        power: np.concatenate([np.full(min(getattr(c, side).size, MOST_NUMBERS), _scalar(c, power)) for c in calls]) for power in powers
    }
    for word in words:
        if word not in known:
            known[word] = _numbers(calls, word, side)
        if (numbers := known[word]) is None:
            continue
        for power in powers:
            column = numbers * scales[power]
            size = np.abs(column).max(initial=0.0)
            if np.isfinite(size) and size > 0:
                terms.append((word, power))
                columns.append(column)
    if not terms:
        return [], np.empty((0, 0))
    return _without_twins(terms, np.stack(columns, axis=1))


def _numbers(calls: list[Call], word: Word, side: str) -> np.ndarray | None:
    """A product in all calls, one after another."""
    parts = []
    for call in calls:
        part = _product(call, word, getattr(call, side).shape)
        if part is None:
            return None
        parts.append(_some(part))
    return np.concatenate(parts)


def _scalar(call: Call, power: int) -> float:
    factor = 1.0 if call.g.ndim > 1 else float(call.g[0])
    return factor * (call.result**power if power and call.result is not None else 1.0)


def _alphabet(calls: list[Call]) -> list[Letter]:
    """The letters that differ: the inverse of x is the result of inv."""
    kept: list[Letter] = []
    for letter in calls[0].letters:
        if not all(letter in c.letters for c in calls):
            continue
        if not any(all(close(c.letters[letter], c.letters[other]) for c in calls) for other in kept):
            kept.append(letter)
    return kept


def _words(calls: list[Call], alphabet: list[Letter]) -> Iterator[list[Word]]:
    """The products that have the shape of the gradient in every call: of one factor, of two, and so on, while they are not too many."""
    sizes = {a: [c.letters[a].shape[-2:] for c in calls] for a in alphabet}
    ends = [{c.want.shape[-2:]} if c.want.ndim > 2 else {(c.want.shape[1], 1), (1, c.want.shape[1])} for c in calls]
    needs_g = calls[0].g.ndim > 1
    fits = {(a, b): all((m[0], n[1]) in e for m, n, e in zip(sizes[a], sizes[b], ends, strict=True)) for a in alphabet for b in alphabet}
    follows = {
        a: [b for b in alphabet if _may_follow(a, b) and all(m[1] == n[0] for m, n in zip(sizes[a], sizes[b], strict=True))]
        for a in alphabet
    }
    constants = {a: [b for b in after if b.name != "g"] for a, after in follows.items()}
    some: list[tuple[Word, bool]] = [((a,), a.name == "g") for a in alphabet]  # and whether g is in them
    count = 0
    for _ in range(LONGEST):
        found = [w for w, has_g in some if (has_g or not needs_g) and fits[w[0], w[-1]]]
        count += len(found)
        if count > MOST_WORDS:
            return
        yield found
        if sum(len((constants if has_g else follows)[w[-1]]) for w, has_g in some) > 3 * MOST_WORDS:
            return
        some = [((*w, b), has_g or b.name == "g") for w, has_g in some for b in (constants if has_g else follows)[w[-1]]]


def _may_follow(a: Letter, b: Letter) -> bool:
    return not (a.name == b.name and a.transposed == b.transposed and a.inverse != b.inverse)  # they cancel


def _turned(word: Word) -> Iterator[Word]:
    """Each of its factors as it is or transposed."""
    for flags in product((False, True), repeat=len(word)):
        yield tuple(a.turned if t else a for a, t in zip(word, flags, strict=True))


def _rearranged(right: Terms) -> Iterable[Word]:
    """The words with the same factors: transposed, in another order, or fewer of them."""
    found: dict[Word, None] = {}
    for word, _ in right:
        for count in range(len(word), 0, -1):
            for kept in combinations(word, count):
                if not any(a.name == "g" for a in word) or any(a.name == "g" for a in kept):
                    found |= dict.fromkeys(_turned(kept))
        for order in (
            permutations(word)
            if len(word) < LONGEST
            else (word[::-1], *((*word[:i], word[i + 1], word[i], *word[i + 2 :]) for i in range(3)))
        ):
            found |= dict.fromkeys(_turned(order))
    return found


def _exchanged(right: Terms, calls: list[Call]) -> Iterable[Word]:
    """And those with another factor in the place of one, or one more."""
    alphabet = [a for a in _alphabet(calls) if a.name != "g"]
    known = set(calls[0].letters)
    found = dict.fromkeys(_rearranged(right))
    for word, _ in right:
        for i, a in product(range(len(word) + 1), alphabet):
            found[(*word[:i], a, *word[i:])] = None
            if i < len(word) and word[i].name != "g":
                found[(*word[:i], a, *word[i + 1 :])] = None
        for flags in product((False, True), repeat=len(word)):
            other = tuple(Letter(a.name, a.inverse != f, a.transposed) for a, f in zip(word, flags, strict=True))
            if known.issuperset(other):
                found |= dict.fromkeys(_turned(other))
    return found


def _product(call: Call, word: Word, shape: tuple[int, ...]) -> np.ndarray | None:
    """The product for each g, if it has this shape: (number of g, *shape of x)."""
    try:
        value = call.value(word)
    except (ValueError, KeyError):
        return None
    if call.g.ndim < 2:  # a number: no word has it
        value = value[None]
    if len(shape) == 2 and 1 in value.shape[-2:]:
        value = value.reshape(*value.shape[:-2], -1)
    if value.ndim > len(shape):
        value = value.sum(tuple(range(1, 1 + value.ndim - len(shape))))
    return value if value.shape == shape else None


def _without_twins(terms: list[Term], columns: np.ndarray) -> tuple[list[Term], np.ndarray]:
    """Each column once: x times its inverse, and what is the same in all these calls; the first word is kept."""
    largest = np.abs(columns).argmax(axis=0)
    scaled = columns / columns[largest, np.arange(len(terms))]
    first: dict[bytes, int] = {}
    for k, column in enumerate(np.ascontiguousarray(np.round(scaled, 7).T) + 0.0):  # which makes 0.0 of -0.0
        first.setdefault(column.tobytes(), k)
    kept = list(first.values())
    return [terms[k] for k in kept], columns[:, kept]


def _sparse(terms: Sequence[Term], columns: np.ndarray, target: np.ndarray) -> Terms | None:
    """The few words that add up to it exactly; None if there are none."""
    if not len(terms) or not target.any():
        return None
    length = np.linalg.norm(columns, axis=0)
    unit, along = columns / length, np.linalg.norm(target)
    share = _times(unit, target)
    for k in np.argsort(-np.abs(share), kind="stable")[:3]:
        if found := _fits(terms, columns, target, (int(k),)):
            return found
    if len(terms) < 2 or len(target) < 4:
        return None
    gram = np.einsum("ij,ik->jk", unit, unit)
    with np.errstate(all="ignore"):
        part = (share[:, None] ** 2 + share**2 - 2 * gram * share[:, None] * share) / (1 - gram**2)
    part[~np.isfinite(part) | (np.abs(gram) > 1 - 1e-9)] = 0
    for i, j in np.argwhere(np.triu(part, 1) > (1 - 1e-10) * along**2)[:4]:
        if found := _fits(terms, columns, target, (int(i), int(j))):
            return found
    if len(target) < 1.2 * len(terms) or len(terms) > MOST_UNKNOWNS:
        return None
    weights = _least_squares(unit, gram, target)
    chosen = np.flatnonzero(np.abs(weights) > 1e-6 * along)
    return _fits(terms, columns, target, tuple(int(k) for k in chosen)) if len(chosen) <= MOST_TERMS else None


# Without BLAS, which would share the larger products, and the decompositions of LAPACK, among threads that wait for each other: on a
# busy machine that takes a second instead of milliseconds.


def _times(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.einsum("ij,i->j", columns, target)


def _least_squares(columns: np.ndarray, gram: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The weights with which the columns come closest to it; each round takes off what rounding left."""
    inverse, weights = _inverse(gram), np.zeros(len(gram))
    for _ in range(3):
        weights += _times(inverse, _times(columns, target - np.einsum("ij,j->i", columns, weights)))
    return weights


DEPENDENT = 1e-10  # the square of what is left of a column of length 1


def _inverse(gram: np.ndarray) -> np.ndarray:
    """By elimination, column by column; 0 for a column that depends on those before."""
    a = gram.copy()
    for k in range(len(a)):
        column, pivot = a[:, k].copy(), a[k, k]
        if pivot < DEPENDENT:
            a[k] = a[:, k] = 0
            continue
        row = a[k] / pivot
        a -= np.multiply.outer(column, row)
        a[k], a[:, k], a[k, k] = row, -column / pivot, 1 / pivot
    return a


def _fits(terms: Sequence[Term], columns: np.ndarray, target: np.ndarray, chosen: tuple[int, ...]) -> Terms | None:
    weights = np.linalg.lstsq(columns[:, chosen], target, rcond=None)[0]
    if not close(columns[:, chosen] @ weights, target):
        return None
    return {terms[k]: float(np.round(w, 9)) for k, w in zip(chosen, weights, strict=True)}


# ---------- two lists of words


def _bare(word: Word) -> tuple:
    return tuple((a.name, a.inverse) for a in word)


def _names(word: Word) -> list:
    return sorted((a.name, a.inverse) for a in word)


def _compare(right: Terms, yours: Terms, several: bool) -> Mistake | None:
    common = {t for t in right if t in yours}
    lost, new = [t for t in right if t not in yours], [t for t in yours if t not in right]
    if not new and not lost:
        off = [t for t in common if not np.isclose(yours[t], right[t])]
        return _weights(right, yours, off, several)
    if not new:
        many = len(right)
        if len(common) == 1 and many > 1 and np.isclose(yours[next(iter(common))], sum(right.values())):
            return Mistake(
                "term", f"has one of its {many} products {many} times, {_said(next(iter(common)))}: the other is not the same", several
            )
        if many > 2 and not all(np.isclose(yours[t], right[t]) for t in common):
            return None
        return Mistake("term", f"has {len(common)} of its {many} products: {_number(len(lost))} missing", several)
    if not lost:
        return Mistake("extra term", f"has a product too many: {_said(new[0])}", several)
    pairs = _paired(lost, new)
    edits = [found for a, b in pairs if (found := _edit(a, b))]
    if len(edits) < len(pairs) or len(lost) != len(new):
        if len(new) == 1 and len(lost) > 1 and (seen := next((found for t in lost if (found := _edit(t, new[0]))), None)):
            return Mistake("term", f"has fewer products than it should, and {seen.text}")
        return Mistake("variable", f"is made of other products than it should be: {' and '.join(map(_said, list(yours)[:2]))}")
    first = edits[0]
    if any(found.family != first.family for found in edits):
        return first
    where = f", in {'both' if len(edits) == 2 else len(edits)} of its products" if len(edits) > 1 else ""
    exact = all(np.isclose(right[a], yours[b]) for a, b in pairs)
    besides = "" if exact else "; besides, its sign or its number is another"
    return Mistake(first.family, f"{first.text}{where}{besides}", several and exact)


def _number(n: int) -> str:
    return "one is" if n == 1 else f"{n} are"


def _weights(right: Terms, yours: Terms, off: list[Term], several: bool) -> Mistake | None:
    if len(off) != 1 or len(right) < 2:
        return None
    ratio = yours[off[0]] / right[off[0]]
    if np.isclose(ratio, -1):
        return Mistake("term sign", f"has one of its products with the wrong sign: {_said(off[0])}", several)
    return Mistake("constant", f"has one of its products {ratio:.6g} times as large as it should be: {_said(off[0])}", several)


def _paired(lost: list[Term], new: list[Term]) -> list[tuple[Term, Term]]:
    """Each lost product with the new one that is nearest to it."""
    rest, pairs = list(new), []
    for a in lost[: len(new)]:
        distances = [_distance(a, b) for b in rest]
        pairs.append((a, rest.pop(distances.index(min(distances)))))
    return pairs


def _distance(a: Term, b: Term) -> int:
    (one, p), (other, q) = a, b
    order = 0 if _bare(one) == _bare(other) else 3 if _names(one) == _names(other) else 6
    same = sum(k == m for k, m in zip(one, other, strict=False))
    return order + max(len(one), len(other)) - same + 2 * (p != q)


def _said(term: Term) -> str:
    word, power = term
    return " ".join(map(str, word)) + (f", times the result to the power {power}" if power else "")


def _edit(right: Term, yours: Term) -> Mistake | None:
    """What turns the one product into the other, in words: those of what was written, not of what belongs there."""
    (want, power), (got, times) = right, yours
    as_read = f" (it is {_said(yours)})"
    if power != times:
        if want != got:
            return None
        return Mistake(
            "power", f"has the wrong power of the result in it{as_read}" if power else f"is multiplied by a power of the result{as_read}"
        )
    if _bare(want) == _bare(got):
        turned = [str(b) for a, b in zip(want, got, strict=True) if a != b]
        what = "one of its factors" if len(turned) == 1 else f"{'both' if len(turned) == 2 else len(turned)} of its factors"
        return Mistake("transposed", f"has {what} transposed the wrong way: {' and '.join(turned)}{as_read}")
    if _names(want) == _names(got):
        return Mistake("order", f"has its factors in another order{as_read}")
    if [a.name for a in want] == [a.name for a in got]:
        changed = [b for a, b in zip(want, got, strict=True) if a.inverse != b.inverse]
        how = "inverted where it is not" if changed[0].inverse else "as it is where its inverse belongs"
        return Mistake("variable", f"has {value_in_words(changed[0].name)} {how}{as_read}")
    if len(got) < len(want) and (kept := _kept(want, got)) is not None:
        gone = [value_in_words(a.name) + (" inverted" if a.inverse else "") for i, a in enumerate(want) if i not in kept]
        besides = ", and another is transposed" if any(want[i] != b for i, b in zip(kept, got, strict=True)) else ""
        return Mistake("factor", f"is the right one without {_count(gone)} of its factors{besides}{as_read}")
    if len(got) > len(want) and _kept(got, want) is not None:
        return Mistake("factor", f"has {len(got) - len(want)} factor too many{as_read}")
    if len(want) == len(got):
        pairs = [(a, b) for a, b in zip(want, got, strict=True) if (a.name, a.inverse) != (b.name, b.inverse)]
        if len(pairs) == 1:
            a, b = pairs[0]
            return Mistake("variable", f"has {_plain(b)} where {_plain(a)} belongs{as_read}")
    return None


def _plain(letter: Letter) -> str:
    return ("the inverse of " if letter.inverse else "") + value_in_words(letter.name)


def _count(gone: list[str]) -> str:
    return f"one ({gone[0]})" if len(gone) == 1 else str(len(gone))


def _kept(long: Word, short: Word) -> tuple[int, ...] | None:
    """Which letters of a word remain, in their order; transposes may differ."""
    for chosen in combinations(range(len(long)), len(short)):
        if all((long[i].name, long[i].inverse) == (b.name, b.inverse) for i, b in zip(chosen, short, strict=True)):
            return chosen
    return None
