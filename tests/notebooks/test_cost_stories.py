"""What lesson 21 tells, held to be true: its counts, its bounds, and its schedules, by other means than running the lesson."""

import itertools
import math
import operator

import numpy as np
import pytest

from autolab.widgets.checkpointing import fewest

from .test_later_stories import Lesson

pytestmark = pytest.mark.lesson21


@pytest.fixture(scope="module")
def lesson():
    lesson = Lesson("21")
    lesson.run("imports", "num-class", "num-rules", "num-gradient", "num-show", "sharp-show", "functions", "counted-class", "cost-define")
    lesson.run("classical-show", "dp-define", "binomial-show", "records-define", "run-define", "eliminate-define", "hard-show")
    return lesson


@pytest.mark.parametrize("seed", range(5))
def test_a_random_program_and_its_gradient_stay_within_the_bound(lesson, seed):
    rng, count = np.random.default_rng(seed), 30

    def program(*xs):
        values = [*xs]  # each is used at least once: the last result with all that nobody has used
        used = set()
        for _ in range(count):
            i, j = rng.integers(0, len(values), 2)
            used |= {i, j}
            values.append((operator.add, operator.mul, operator.truediv)[rng.integers(3)](values[i], values[j]))
        for i in sorted(set(range(len(values) - 1)) - used):
            values.append(values[-1] * values[i])
        return values[-1]

    lesson["gradient"](program, 1.1, 0.9, 1.2)
    assert sum(lesson["work"].values()) <= 4 * lesson["work"]["function"] + 1 - 3


def test_the_gradient_of_a_program_of_quotients_is_right(lesson):
    f = lambda x, y: x / y - y / (x * x)  # noqa: E731
    assert np.allclose(lesson["gradient"](f, 2.0, 3.0), [1 / 3 + 2 * 3 / 8, -2 / 9 - 1 / 4])


def test_repeated_squares_reach_the_bound(lesson):
    lesson["gradient"](lesson["squares"], 1.1)
    assert lesson["work"] == {"function": 10, "rules": 20, "sums": 10}


@pytest.mark.parametrize(
    ("name", "ratio"), [("add", 3), ("sub", 4), ("mul", 5), ("div", 8), ("exp", 3), ("sin", 4), ("tanh", 5), ("pow", 16)]
)
def test_the_classical_rows_have_the_ratios_of_the_lesson(lesson, name, ratio):
    row = lesson["TABLE"][name]
    counts = lesson["cost"](row, *[np.linspace(0.3, 0.7, 10) for _ in row.inputs])
    assert lesson["ratio"](*counts, 1) == ratio


def test_a_product_of_matrices_counts_its_products_and_sums_and_a_function_counts_apart(lesson):
    a, x = np.ones((8, 8)), np.linspace(0.3, 0.7, 10)
    forward, backward = lesson["cost"](lesson["TABLE"]["mm"], a, a)
    assert forward.tolist() == [8 * 8 * 15, 0] and backward.tolist() == [2 * 8 * 8 * 15 + 2 * 64, 0]
    assert lesson["ratio"](*lesson["cost"](lesson["TABLE"]["tanh"], x), 10) == pytest.approx(1.4)


def test_what_is_counted_is_what_the_row_computes(lesson):
    x = np.linspace(0.3, 0.7, 10)
    for name in ("softplus", "sinc", "pow", "logaddexp", "erf", "silu"):
        row = lesson["TABLE"][name]
        counted = row.forward(*[x.view(lesson["Counted"]) for _ in row.inputs], **row.settings)
        assert np.allclose(np.asarray(counted), row.compute(*[x for _ in row.inputs], **row.settings), rtol=1e-12), name


def test_the_dynamic_program_is_that_of_the_explorable_and_meets_the_bound(lesson):
    for n, c in itertools.product(range(1, 25), range(1, 6)):
        assert lesson["fewest_runs"](n, c) == fewest(n, c - 1)[0] == lesson["lower_bound"](n, c)


def test_no_schedule_of_any_form_beats_the_bound_for_short_chains(lesson):
    for n, c in itertools.product(range(2, 6), range(1, 4)):
        assert shortest_reversal(n, c) == lesson["fewest_runs"](n, c)


def shortest_reversal(n, c):
    """The fewest runs, by search over all states: which values are kept, and how many steps are left."""
    best = {(frozenset([0]), n): 0}
    frontier = dict(best)
    while frontier:
        state = min(frontier, key=frontier.get)
        runs, (kept, left) = frontier.pop(state), state
        if not left:
            return runs
        for target in range(left):
            price = target - max(k for k in kept if k <= target)
            room = [kept] if len(kept) < c else [kept - {k} for k in kept - {0}]
            moves = [(r | {target}, left, price) for r in room if target not in kept]
            if target == left - 1:
                moves.append((kept - {left} - ({target} - {0}), left - 1, price + 1))
            for new, rest, more in moves:
                if runs + more < best.get((new, rest), math.inf):
                    best[new, rest] = frontier[new, rest] = runs + more
    return None


def test_keeping_records_never_takes_more_runs_and_with_room_for_all_it_takes_one_each(lesson):
    for n, c in itertools.product(range(1, 20), range(1, 6)):
        assert lesson["with_records"](n, c) <= lesson["fewest_runs"](n, c)
    assert lesson["with_records"](30, 30) == 30


def test_squeezing_twice_costs_fifteen_in_the_best_order(lesson):
    totals = [lesson["multiplications"](lesson["squeeze"], order) for order in itertools.permutations(lesson["inner"])]
    assert (min(totals), lesson["multiplications"](lesson["squeeze"], lesson["inner"])) == (15, 27)


def test_a_shared_product_saves_one_multiplication_of_five(lesson):
    assert lesson.run("hard-show") == ["each chain alone: 5", "shared: 4"]


def test_the_solution_has_the_ratio_that_is_said(lesson):
    assert lesson.solution()[0].endswith("ratio 3.00")
