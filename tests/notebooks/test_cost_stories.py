"""What lesson 21 tells, held to be true: its counts, its bounds, and its schedules, by other means than running the lesson."""

import itertools
import math
import operator

import numpy as np
import pytest

from autolab.check.run.operations import operations
from autolab.rules import TABLE
from autolab.widgets import checkpoint_game
from autolab.widgets.checkpointing import fewest

from .test_later_stories import Lesson

pytestmark = pytest.mark.lesson21


@pytest.fixture(scope="module")
def lesson():
    lesson = Lesson("21")
    lesson.run("imports", "num-class", "num-rules", "num-gradient", "num-show", "sharp-show", "functions", "counted-class")
    lesson.run(
        "classical-show", "dp-define", "binomial-show", "records-define", "run-define", "package-show", "eliminate-define", "hard-show"
    )
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


def test_the_array_that_is_shown_counts_what_the_package_counts(lesson):
    x, g = (np.full(100, 0.5).view(lesson["Counted"]) for _ in "xg")
    for name in ("sin", "cos", "exp", "sqrt"):
        row = TABLE[name]
        out, forward = lesson["count"](lambda row=row: row.forward(x))
        arguments = [{"x": x, "out": out}[need] for need in row.rules["x"].needs]
        rule = lesson["count"](lambda row=row, arguments=arguments: row.rules["x"].function(g, *arguments))[1]
        assert (forward.tolist(), rule.tolist()) == tuple(part.tolist() for part in operations(row)[:2]), name


@pytest.mark.parametrize(
    ("name", "ratio"), [("add", 3), ("sub", 4), ("mul", 5), ("div", 8), ("exp", 3), ("sin", 4), ("tanh", 5), ("pow", 16)]
)
def test_the_classical_rows_have_the_ratios_of_the_lesson(name, ratio):
    assert operations(TABLE[name]).ratio() == ratio


@pytest.mark.parametrize(
    ("name", "ratio"), [("mm", 3), ("linear", 3), ("conv", 3), ("softmax", 2), ("sum", 2), ("var", 2.25), ("prod", 6), ("lstm", 3.74)]
)
def test_what_a_network_spends_its_time_in_has_the_ratios_of_the_lesson(name, ratio):
    assert operations(TABLE[name]).ratio() == pytest.approx(ratio, abs=0.05)


def test_all_rows_but_five_are_accounted_for_and_most_are_at_five_or_below(lesson):
    lesson.run("histogram-count")
    ratios = [counts.ratio() for counts in lesson["found"].values()]
    assert set(lesson["refuse"]) == {"igamma", "igammac", "ctc_loss_back", "ldl_factor", "ldl_solve"}
    assert np.mean(np.array(ratios) <= 5) > 0.8 and max(ratios) < 27 and round(np.median(ratios)) == 3
    assert {"expand", "gather", "embedding"} <= {*lesson["adding"]} <= {*lesson["moves"]}


def test_the_large_ratios_are_those_that_are_explained(lesson):
    large = {name for name, counts in lesson["found"].items() if counts.ratio() > 10}
    explained = "cholesky lu cumprod logcumsumexp scatter_max scatter_min scatter_prod max_pool pow atan2 logaddexp logaddexp2"
    assert large == {*explained.split(), "pow_complex", "cholesky_complex"}
    assert all(operations(TABLE[name]).ratio(10) < 5 for name in ("pow", "atan2", "logaddexp"))


def test_the_ratio_of_a_running_product_grows_with_the_logarithm_and_that_of_a_matrix_product_stays():
    running = [operations(TABLE["cumprod"], np.ones((100, n)), axis=-1).ratio() for n in (64, 128, 256)]
    assert np.allclose(np.diff(running), 3, atol=0.2)  # one doubling more: two products and a sum
    assert all(operations(TABLE["mm"], np.ones((n, n)), np.ones((n, n))).ratio() == pytest.approx(3, abs=0.04) for n in (32, 64))


def test_nineteen_runs_win_the_game():
    assert checkpoint_game().sentence == "Bring the gradient from y down to x with 19 runs. Layer 8 goes back first; it needs h7."


def test_revolve_runs_as_often_as_the_dynamic_program_says(lesson):
    assert [lesson["runs_of_revolve"](slots) for slots in range(10)] == [lesson["fewest_runs"](10, slots + 1) for slots in range(10)]


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
