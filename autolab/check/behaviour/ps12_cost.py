"""Problem set 12: what a gradient costs. Values are compared, and how much was done to get them."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, arrays, pair

# -- the product of many numbers ---------------------------------------------------------------------


class Operations:
    """How many products and quotients were taken."""

    def __init__(self):
        self.products = self.quotients = 0


class CountedNumber:
    """A number that can be multiplied and divided, which is counted."""

    def __init__(self, value, operations):
        self.value, self.operations = value, operations

    def __mul__(self, other):
        self.operations.products += 1
        return CountedNumber(self.value * getattr(other, "value", other), self.operations)

    def __truediv__(self, other):
        self.operations.quotients += 1
        return CountedNumber(self.value / getattr(other, "value", other), self.operations)

    __rmul__ = __mul__


def _parts(found) -> Data:
    value, gradient = pair(found, "the product and its gradient")
    return {"product": value, "gradient": list(gradient)}


def _of_product(f, x) -> Data:
    return _parts(f([float(a) for a in x]))


def _without(x) -> np.ndarray:
    return np.array([np.prod(np.delete(x, i)) for i in range(len(x))])


def _before(x) -> np.ndarray:
    return np.array([np.prod(x[:i]) for i in range(len(x))])


def _after(x) -> np.ndarray:
    return np.array([np.prod(x[i + 1 :]) for i in range(len(x))])


def _right_product(x) -> Data:
    return {"product": np.prod(x), "gradient": _without(x)}


def _with_zero(x) -> np.ndarray:
    return np.where(np.arange(len(x)) == 2, 0.0, x)


def _product_operations(f) -> Data:
    operations = Operations()
    f([CountedNumber(1.0 + 0.01 * i, operations) for i in range(20)])
    return {"few": operations.products + operations.quotients <= 60, "quotients": operations.quotients}


PRODUCT_GRADIENT = Behaviour("product_gradient", (
    Scene("value and gradient", _of_product, _right_product, "each partial derivative leaves one factor out",
          "Entry i is what is before i, times what is after i.", 4, arrays((6,)), slips=[
              Slip("term", "Only the factors before each number are there", "What is after it belongs to the product, too.",
                   lambda x: {"gradient": _before(x)}),
              Slip("term", "Only the factors after each number are there", "What is before it belongs to the product, too.",
                   lambda x: {"gradient": _after(x)}),
              Slip("factor", "The number itself is still in its derivative", "Does x[i] occur in the derivative for x[i]?",
                   lambda x: {"gradient": np.full(len(x), np.prod(x))}),
              Slip("factor", "The number itself is still in its derivative", "Where does the product before x[i] end?",
                   lambda x: {"gradient": _without(x) * x * x}),
              Slip("sum", "The factors before and after are added", "They are multiplied.",
                   lambda x: {"gradient": _before(x) + _after(x)}),
              Slip("sum", "The other numbers are added", "They are multiplied.", lambda x: {"gradient": x.sum() - x}),
              Slip("division", "The product is divided by the number twice", "Which factors are left in the derivative for x[i]?",
                   lambda x: {"gradient": _without(x) / x}),
              Slip("order", "The gradient is in the opposite order", "Entry i belongs to x[i].",
                   lambda x: {"gradient": _without(x)[::-1]}),
              Slip("exchanged", "The product and the gradient are exchanged", "Return the product first.",
                   lambda x: {"product": _without(x), "gradient": np.prod(x)})]),
    Scene("a zero", lambda f, x: _of_product(f, _with_zero(x)), lambda x: _right_product(_with_zero(x)), "also where a factor is 0",
          "Do without a division: product / x[i] fails where x[i] is 0.", 2, arrays((6,)), slips=[
              Slip("division", "Where a factor is 0 the gradient is 0 as well", "The derivative for the 0 is the product of the others.",
                   lambda x: {"gradient": 0 * x})]),
    Scene("cost", _product_operations, lambda: {"few": True, "quotients": 0}, "at most 3 n products, no quotient",
          "Which partial products occur again and again? Make each once.", 2, side=True, says={
              "few": "at most 60 operations for 20 numbers", "quotients": "the number of quotients"}, slips=[
              Slip("not shared", "Partial products are computed again and again", "Which partial products occur again and again?",
                   lambda: {"few": False, "quotients": 0}),
              Slip("division", "The gradient is found by dividing", "What happens where a factor is 0?", lambda: {"quotients": 20})]),
))  # fmt: skip


# -- brackets ----------------------------------------------------------------------------------------


def best_bracketing(sizes) -> int:
    """The fewest multiplications for a product of matrices of these sizes."""
    n = [int(a) for a in sizes]
    cost = {(i, i + 1): 0 for i in range(len(n) - 1)}
    for length in range(2, len(n)):
        for i in range(len(n) - length):
            j = i + length
            cost[i, j] = min(cost[i, k] + cost[k, j] + n[i] * n[k] * n[j] for k in range(i + 1, j))
    return cost[0, len(n) - 1]


def _forward(n) -> int:
    return int(sum(n[0] * n[k] * n[k + 1] for k in range(1, len(n) - 1)))


def _reverse(n) -> int:
    return _forward(n[::-1])


def _greedy(n, worst: bool = False) -> int:
    n, total = [int(a) for a in n], 0
    while len(n) > 2:
        prices = [n[k - 1] * n[k] * n[k + 1] for k in range(1, len(n) - 1)]
        k = 1 + prices.index(max(prices) if worst else min(prices))
        total += prices[k - 1]
        del n[k]
    return total


def _largest_first(n) -> int:
    n, total = [int(a) for a in n], 0
    while len(n) > 2:
        k = max(range(1, len(n) - 1), key=n.__getitem__)
        total += n[k - 1] * n[k] * n[k + 1]
        del n[k]
    return total


def _sizes(rng):
    """Sizes for which every simple way is worse than the best, and two simple ways differ."""
    while True:
        n = rng.integers(2, 30, 7)
        simple = [_forward(n), _reverse(n), _greedy(n), _largest_first(n)]
        if best_bracketing(n) < min(simple) and len(set(simple)) == len(simple):
            return (n,)


def _costs(f, n) -> Data:
    return {"multiplications": f([int(a) for a in n])}


CHAIN_COST = Behaviour("chain_cost", (
    Scene("one product", lambda f, n: _costs(f, n[:3]), lambda n: {"multiplications": n[0] * n[1] * n[2]}, "two matrices: three sizes",
          "Row times column: n[1] multiplications for each of n[0] n[2] entries.", 1, _sizes),
    Scene("a chain", _costs, lambda n: {"multiplications": best_bracketing(n)}, "the best of all brackets",
          "The last product splits the chain somewhere: try every place, and take the best of both sides.", 4, _sizes, slips=[
              Slip("forward mode", "This is forward mode: always from the input's side", "Try every place for the last product.",
                   lambda n: {"multiplications": _forward(n)}),
              Slip("reverse mode", "This is reverse mode: always from the output's side", "Try every place for the last product.",
                   lambda n: {"multiplications": _reverse(n)}),
              Slip("two orders", "Only forward and reverse are compared", "There are others: the chain may be split anywhere.",
                   lambda n: {"multiplications": min(_forward(n), _reverse(n))}),
              Slip("greedy", "The cheapest product first is not always the best", "A cheap product may leave an expensive matrix behind.",
                   lambda n: {"multiplications": _greedy(n)}),
              Slip("greedy", "The largest size first is not always the best", "A cheap product may leave an expensive matrix behind.",
                   lambda n: {"multiplications": _largest_first(n)})]),
    Scene("two ends", lambda f, n: _costs(f, n[:2]), lambda n: {"multiplications": 0}, "one matrix needs no product",
          "With two sizes there is one matrix, and nothing to multiply.", 1, _sizes, side=True),
    Scene("a long chain", lambda f, n: _costs(f, [*n] * 3), lambda n: {"multiplications": best_bracketing([*n] * 3)},
          "21 sizes in a moment", "Keep what you have computed for a part of the chain: there are few parts and many brackets.", 2, _sizes,
          slips=[
              Slip("forward mode", "This is forward mode: always from the input's side", "Try every place for the last product.",
                   lambda n: {"multiplications": _forward([*n] * 3)})]),
))  # fmt: skip


# -- a schedule --------------------------------------------------------------------------------------


@cache
def fewest_runs(n: int, c: int) -> int:
    """The fewest runs that reverse n steps with c places, the input's included."""
    if n == 1 or c == 1:
        return n * (n + 1) // 2
    return min(m + fewest_runs(m, c) + fewest_runs(n - m, c - 1) for m in range(1, n))


def played(actions, n) -> Data:
    """Play a schedule: how many runs it takes, how many values are kept at once, and whether it goes back through all steps."""
    kept, runs, most, left = {0}, 0, 1, n
    for action in actions:
        word, at = pair(action, "a word and a number")
        if word not in ("keep", "back") or not 0 <= int(at) <= n:
            raise UnexpectedResult(f'an action is {action!r}, expected ("keep", j) or ("back", i)')
        at = int(at)
        runs += at - max(k for k in kept if k <= at)
        if word == "keep":
            kept.add(at)
            most = max(most, len(kept))
            continue
        if at != left - 1:
            return {"backward": f"step {at} came when it was the turn of step {left - 1}", "places": most, "runs": runs + 1}
        runs, left = runs + 1, at
        kept = {k for k in kept if k < at} | {0}
    said = "all steps, from the last to the first" if not left else f"{left} steps are left"
    return {"backward": said, "places": most, "runs": runs}


def _scheduled(n, c):
    def play(f) -> Data:
        found = played(f(n, c), n)
        return {"backward": found["backward"], "places": found["places"] <= c, "runs": found["runs"]}

    return play


def _in_segments(n: int, c: int) -> int:
    """The runs of equal segments, each reversed from its own start alone."""
    starts = [i * n // c for i in range(c)]
    return starts[-1] + sum((b - a) * (b - a + 1) // 2 for a, b in itertools.pairwise([*starts, n]))


def _halves(n: int, c: int) -> int:
    if n == 1 or c == 1:
        return n * (n + 1) // 2
    return n // 2 + _halves(n // 2, c) + _halves(n - n // 2, c - 1)


def _waste(n: int, c: int) -> int:
    """The runs if a place is not used again."""
    if n == 1 or c == 1:
        return n * (n + 1) // 2
    m = min(range(1, n), key=lambda m: m + fewest_runs(m, c) + fewest_runs(n - m, c - 1))
    return m + m * (m + 1) // 2 + _waste(n - m, c - 1)


def _schedule_scene(name, n, c, points):
    right = {"backward": "all steps, from the last to the first", "places": True}
    return Scene(
        name, _scheduled(n, c), lambda: {**right, "runs": fewest_runs(n, c)}, f"{n} steps with {c} places", "After ('keep', m) two smaller "
        "problems are left: n - m steps with one place less, then m steps with all of them.", points,
        says={"backward": "which steps it goes back through", "places": f"at most {c} values at once", "runs": "how many runs it takes"},
        slips=[
            Slip("nothing kept", "Nothing is kept but the input", "Where would one more value help most?",
                 lambda: {**right, "runs": n * (n + 1) // 2}),
            Slip("equal segments", "The kept values are at equal distances, and none is used again",
                 "Whose place is free when the last part is done?", lambda: {**right, "runs": _in_segments(n, c)}),
            Slip("halves", "Each part is cut in the middle", "The first part has one place more than the second. Which should be longer?",
                 lambda: {**right, "runs": _halves(n, c)}),
            Slip("not used again", "Places that become free are not used again", "With how many places can the first part be reversed?",
                 lambda: {**right, "runs": _waste(n, c)}),
            Slip("too many places", "More values are kept at once than there are places", "The input has a place of its own, and counts.",
                 lambda: {"backward": right["backward"], "places": False, "runs": fewest_runs(n, c + 1)})],
    )  # fmt: skip


SCHEDULE = Behaviour("schedule", (
    _schedule_scene("one place", 5, 1, 1), _schedule_scene("two places", 10, 2, 2), _schedule_scene("three places", 20, 3, 3),
    _schedule_scene("four places", 50, 4, 2),
))  # fmt: skip


# -- a compressed Jacobian ---------------------------------------------------------------------------


def _banded(rows: int, columns: int) -> np.ndarray:
    """Rows that reach over two columns each, one further to the right every row; rows may be more than columns."""
    i, j = np.arange(rows)[:, None], np.arange(columns)
    return (j == i % columns) | (j == (i + 1) % columns)


def _dense_column(n: int) -> np.ndarray:
    return np.eye(n, dtype=bool) | (np.arange(n) == 0)


class Backward:
    """u -> u J, which counts its calls."""

    def __init__(self, jacobian):
        self.jacobian, self.calls = jacobian, 0

    def __call__(self, u):
        self.calls += 1
        u = np.asarray(u, float)
        if u.shape != self.jacobian.shape[:1]:
            raise UnexpectedResult(f"vjp got an array of shape {u.shape}, expected {self.jacobian.shape[:1]}")
        return u @ self.jacobian


def _compressed(pattern):
    def play(f, values) -> Data:
        return {"jacobian": f(Backward(np.where(pattern, values, 0)), pattern.copy())}

    return play


def _calls(pattern, few):
    def play(f, values) -> Data:
        back = Backward(np.where(pattern, values, 0))
        f(back, pattern.copy())
        return {"calls": back.calls, "few": back.calls <= few}

    return play


BAND, ARROW = _banded(12, 12), _dense_column(12)
WIDE = _banded(6, 12)


def _mixed(pattern, groups):
    """A slip: what all rows of a group send, written into each of them without looking at the pattern."""
    return lambda values: {"jacobian": np.stack([np.where(pattern, values, 0)[groups == g].sum(0) for g in groups])}


SPARSE_JACOBIAN = Behaviour("sparse_jacobian", (
    Scene("a band", _compressed(BAND), lambda values: {"jacobian": np.where(BAND, values, 0)}, "every entry in its place",
          "Where the pattern has no entry, the Jacobian is 0; elsewhere each entry comes from the pass of its row.", 4,
          arrays((12, 12)), slips=[
              Slip("not recovered", "Rows that shared a pass have each other's entries", "The pattern says which entries are a row's own.",
                   _mixed(BAND, np.arange(12) % 2)),
              Slip("transposed", "Rows and columns are exchanged", "A backward pass gives entries of rows.",
                   lambda values: {"jacobian": np.where(BAND, values, 0).T})]),
    Scene("more columns than rows", _compressed(WIDE), lambda values: {"jacobian": np.where(WIDE, values, 0)}, "also not square",
          "The result has the shape of the pattern.", 1, arrays((6, 12))),
    Scene("passes", lambda f, v: {"few": _calls(BAND, 3)(f, v)["few"]}, lambda values: {"few": True}, "a few passes for twelve rows",
          "Rows that share no column can share a pass.", 3, arrays((12, 12)), says={"few": "at most 3 passes for a band of two"}, side=True,
          slips=[
              Slip("not compressed", "There are more passes than needed", "Rows that share no column can share a pass.",
                   lambda values: {"few": False})]),
    Scene("a full column", lambda f, v: {"calls": _calls(ARROW, 12)(f, v)["calls"]}, lambda values: {"calls": 12},
          "no more passes than rows, and no fewer where all rows meet", "All rows share a column here: none can share a pass.", 1,
          arrays((12, 12)), says={"calls": "the number of passes"}),
))  # fmt: skip


# -- elimination -------------------------------------------------------------------------------------


def eliminated(edges, choose) -> int:
    """The multiplications, if `choose(edges, inner nodes left)` says which node goes next."""
    edges, total = set(edges), 0
    left = sorted({a for a, _ in edges} & {b for _, b in edges})
    while left:
        v = choose(edges, left)
        into, out_of = {a for a, b in edges if b == v}, {b for a, b in edges if a == v}
        total += len(into) * len(out_of)
        edges = {e for e in edges if v not in e} | set(itertools.product(into, out_of))
        left.remove(v)
    return total


def _price(edges, v) -> int:
    return sum(b == v for _, b in edges) * sum(a == v for a, _ in edges)


def _markowitz(edges) -> int:
    return eliminated(edges, lambda now, left: min(left, key=lambda v: (_price(now, v), v)))


def _first_prices(edges) -> int:
    return eliminated(edges, lambda now, left: min(left, key=lambda v: (_price(edges, v), v)))


def _most_expensive(edges) -> int:
    return eliminated(edges, lambda now, left: max(left, key=lambda v: (_price(now, v), -v)))


def random_graph(rng, inner: int = 6, ends: int = 3) -> np.ndarray:
    """Edges from a smaller number to a larger one; the first `ends` are inputs, the last are results."""
    n = inner + 2 * ends
    while True:
        edges = {(int(a), int(b)) for a, b in itertools.combinations(range(n), 2) if a < n - ends and b >= ends and rng.random() < 0.3}
        middle = set(range(ends, n - ends))
        if {a for a, _ in edges} & {b for _, b in edges} != middle:
            continue
        ways = [_markowitz(edges), _first_prices(edges), eliminated(edges, lambda now, left: left[0]),
                eliminated(edges, lambda now, left: left[-1]), _most_expensive(edges)]  # fmt: skip
        if len(set(ways)) == len(ways) and {a for a, _ in edges} >= set(range(ends)) and {b for _, b in edges} >= set(range(n - ends, n)):
            return np.array(sorted(edges))


def _graph(rng):
    return (random_graph(rng),)


def _as_edges(table) -> set:
    return {(int(a), int(b)) for a, b in table}


def _eliminating(how):
    return lambda table: {"multiplications": how(_as_edges(table))}


def _fork() -> list:
    """Three inputs, squeezed into one number, spread to three, and once more."""
    layers = [[0, 1, 2], [3], [4, 5, 6], [7], [8, 9, 10]]
    return [edge for a, b in itertools.pairwise(layers) for edge in itertools.product(a, b)]


MARKOWITZ = Behaviour("markowitz", (
    Scene("squeezed twice", lambda f: {"multiplications": f(_fork())}, lambda: {"multiplications": 15}, "the graph of the lesson",
          "The three in the middle have one edge in and one out: they go first.", 2, slips=[
              Slip("forward mode", "This is forward mode: the smallest number first", "Which inner node costs least now?",
                   lambda: {"multiplications": 27})]),
    Scene("any graph", lambda f, table: {"multiplications": f(sorted(_as_edges(table)))}, _eliminating(_markowitz),
          "always the cheapest node that is left", "After each node the edges are others: look again which node costs least.", 4,
          _graph, slips=[
              Slip("forward mode", "This is forward mode: the smallest number first", "Which inner node costs least now?",
                   _eliminating(lambda edges: eliminated(edges, lambda now, left: left[0]))),
              Slip("reverse mode", "This is reverse mode: the largest number first", "Which inner node costs least now?",
                   _eliminating(lambda edges: eliminated(edges, lambda now, left: left[-1]))),
              Slip("not updated", "The prices are those of the first graph", "Which edges are there after a node has gone?",
                   _eliminating(_first_prices)),
              Slip("sign", "The most expensive node goes first", "Smallest product first.", _eliminating(_most_expensive))]),
    Scene("no inner node", lambda f: {"multiplications": f([(0, 2), (1, 2)])}, lambda: {"multiplications": 0},
          "edges that are the Jacobian", "Inputs and results are not eliminated.", 1, side=True),
))  # fmt: skip


# -- a block that keeps nothing ----------------------------------------------------------------------


def _two_maps(rng):
    return draw(rng, (3, 3)) / 3, draw(rng, (3, 3)) / 3, *(draw(rng, (3,)) for _ in range(4))


class Sine:
    """f(x) = sin(W x), with its vjp."""

    def __init__(self, w):
        self.w, self.calls = w, 0

    def __call__(self, x):
        self.calls += 1
        return np.sin(self.w @ x)

    def vjp(self, x, g):
        return self.w.T @ (np.cos(self.w @ x) * g)


def _block(v, w, x1, x2):
    y1 = x1 + Sine(v)(x2)
    return y1, x2 + Sine(w)(y1)


def _reversed(f, v, w, x1, x2, g1, g2) -> Data:
    y1, y2 = _block(v, w, x1, x2)
    found = f(Sine(v), Sine(w), y1, y2, g1, g2)
    if not isinstance(found, (tuple, list)) or len(found) != 4:
        raise UnexpectedResult("result is not what is expected: four arrays, x1, x2 and their gradients")
    return dict(zip(("x1", "x2", "gradient of x1", "gradient of x2"), found, strict=True))


def _right_block(v, w, x1, x2, g1, g2) -> Data:
    y1, _ = _block(v, w, x1, x2)
    h = g1 + Sine(w).vjp(y1, g2)
    return {"x1": x1, "x2": x2, "gradient of x1": h, "gradient of x2": g2 + Sine(v).vjp(x2, h)}


def _gradients(f, *a) -> Data:
    return {name: value for name, value in _reversed(f, *a).items() if name.startswith("gradient")}


def _inputs_of(f, *a) -> Data:
    return {name: value for name, value in _reversed(f, *a).items() if not name.startswith("gradient")}


def _slip_gradients(gradients):
    """A slip: gradients as someone would compute them from F, G, x1, x2, y1, g1, g2."""

    def expect(v, w, x1, x2, g1, g2) -> Data:
        y1, _ = _block(v, w, x1, x2)
        return dict(zip(("gradient of x1", "gradient of x2"), gradients(Sine(v), Sine(w), x1, x2, y1, g1, g2), strict=True))

    return expect


REVERSIBLE = Behaviour("reversible", (
    Scene("the inputs", _inputs_of, lambda *a: {k: _right_block(*a)[k] for k in ("x1", "x2")}, "computed again from the results",
          "Solve the second equation for x2 first: y1 is known.", 3, _two_maps, slips=[
              Slip("sign", "The function is added, and should be taken off", "Solve y2 = x2 + G(y1) for x2.",
                   lambda v, w, x1, x2, g1, g2: {"x2": _block(v, w, x1, x2)[1] + Sine(w)(_block(v, w, x1, x2)[0])}),
              Slip("order", "x1 is computed from y2, and not from x2", "F was applied to x2: compute that first.",
                   lambda v, w, x1, x2, g1, g2: {"x1": _block(v, w, x1, x2)[0] - Sine(v)(_block(v, w, x1, x2)[1])})]),
    Scene("the gradients", _gradients, lambda *a: {k: _right_block(*a)[k] for k in ("gradient of x1", "gradient of x2")},
          "two paths for each", "y1 is used twice: as a result, and inside G.", 4, _two_maps, slips=[
              Slip("term", "The way through G is missing", "y1 is used twice: as a result, and inside G.",
                   _slip_gradients(lambda f, g, x1, x2, y1, g1, g2: (g1, g2 + f.vjp(x2, g1)))),
              Slip("order", "What goes back through F has not been through G yet", "F's result gets the whole gradient of y1.",
                   _slip_gradients(lambda f, g, x1, x2, y1, g1, g2: (g1 + g.vjp(y1, g2), g2 + f.vjp(x2, g1)))),
              Slip("term", "The way through F is missing", "x2 is used twice: as a summand, and inside F.",
                   _slip_gradients(lambda f, g, x1, x2, y1, g1, g2: (g1 + g.vjp(y1, g2), g2))),
              Slip("term", "The direct way is missing", "A sum passes its gradient on to both.",
                   _slip_gradients(lambda f, g, x1, x2, y1, g1, g2: (g1 + g.vjp(y1, g2), f.vjp(x2, g1 + g.vjp(y1, g2))))),
              Slip("place", "The rule of F is evaluated at a result of the block", "To what was F applied?",
                   _slip_gradients(lambda f, g, x1, x2, y1, g1, g2: (g1 + g.vjp(y1, g2), g2 + f.vjp(x2 + g(y1), g1 + g.vjp(y1, g2))))),
              Slip("place", "The rule of G is evaluated at an input of the block", "To what was G applied?",
                   _slip_gradients(lambda f, g, x1, x2, y1, g1, g2: (g1 + g.vjp(x1, g2), g2 + f.vjp(x2, g1 + g.vjp(x1, g2)))))]),
))  # fmt: skip

COST = (PRODUCT_GRADIENT, CHAIN_COST, SCHEDULE, SPARSE_JACOBIAN, MARKOWITZ, REVERSIBLE)
