"""Which places of a rule are asked for a change, and in what order."""

import ast
import operator
import sys

import numpy as np

from autolab.check import LocalCandidate, Reference, Spec, check, derivative_of_forward
from autolab.check.diagnosis.repairs.beside import _overwrites
from autolab.check.diagnosis.repairs.search import Search
from autolab.check.diagnosis.step_names import instruction
from autolab.check.run.observation import Question, observe
from autolab.engine.op import GENERAL, Op


def spec(name, forward, inputs, **more):
    return Spec(name, Op(name, forward, GENERAL, **dict.fromkeys(inputs.split(), derivative_of_forward)), **more)


def searched(exercise, rule, inputs, x, settings=None):
    """A search whose rule has run unchanged, and its places by their source."""
    reference, settings = Reference.of(exercise), settings or {}
    candidate, calls = LocalCandidate(rule, reference), []
    for shift in (0.0, 0.1):
        at = [a + shift for a in inputs]
        names = reference.environment(at, settings)
        g = np.cos(np.arange(names["out"].size, dtype=float)).reshape(names["out"].shape)
        got = candidate.call(at, settings, (g,)).gradients[0]
        calls.append(observe(reference, names, g, got, settings, Question(candidate, reference, at, settings)))
    search = Search(calls, x, candidate)
    assert search.note()
    return search, {site.text(): site for site in search.rule.schema.visited() if not site.block}


def split(a, b):
    half = len(a) // 2
    left, right = a[:half] ** 2 * b, a[half:] ** 3
    return np.concatenate([left, right])


def wrong_on_the_right(g, a, b):
    half = len(a) // 2
    low, high = g[:half], g[half:]
    ga = np.zeros(len(a))
    ga[:half] = 2 * a[:half] * b * low
    ga[half:] = 2 * a[half:] ** 2 * high
    return ga, a[:half] ** 2 * low


def test_places_that_cannot_be_where_the_mistake_is_are_left_out():
    exercise = spec("split", split, "a b", shapes=(((6,), (3,)),))
    search, places = searched(exercise, wrong_on_the_right, [np.linspace(0.5, 1.5, 6), np.linspace(1.2, 2.0, 3)], "a")
    slopes = search.slopes
    assert slopes.may_matter(places["2 * a[half:] ** 2 * high"]) and slopes.may_be_enough(places["2 * a[half:] ** 2 * high"])
    assert not slopes.may_matter(places["g[:half]"])  # the gradient for b, which is right, moves with it
    assert slopes.may_matter(places["2 * a[:half] * b * low"]) and not slopes.may_be_enough(places["2 * a[:half] * b * low"])
    assert slopes.may_matter(places["ga"]) and places["ga"].number in slopes.too_wide
    assert places["2 * a[half:] ** 2 * high"].number not in slopes.too_wide


def test_the_words_of_forward_and_what_comes_from_g():
    def damped(x, y, *, c=0.5):
        far = np.sqrt(x * x + y * y)
        return np.exp(-c * far)

    def rule(g, x, y, c):
        far = np.sqrt(x * x + y * y)
        slope = -c * np.exp(-c * far) / far
        along = g * slope
        return along, along

    inputs = [np.linspace(0.5, 1.5, 4), np.linspace(0.7, 1.1, 4)]
    search, places = searched(spec("damped", damped, "x y"), rule, inputs, "y", {"c": 0.5})
    words = search.trials.words
    assert words.are_of_forward(places["x * x + y * y"]) and not words.are_of_forward(places["-c * np.exp(-c * far) / far"])
    assert words.come_from_g(places["g * slope"]) and not words.come_from_g(places["-c * np.exp(-c * far) / far"])
    costs = {}
    for trial in search.trials.all():
        if len(trial.sites) == 1 and trial.edit.key[0] == "setting":
            costs[trial.sites[0].text()] = min(trial.cost, costs.get(trial.sites[0].text(), 9.0))
    assert costs["g * slope"] < costs["-c * np.exp(-c * far) / far"] < costs["x * x + y * y"]


def test_a_place_stays_the_same_once_python_knows_what_is_called():
    class Box:
        def __getitem__(self, key):
            return instruction(sys._getframe(1))

    def caller(box):
        return operator.getitem(box, 0)  # of two instructions one calls at first, and the other later

    assert len({caller(Box()) for _ in range(100)}) == 1


def test_what_a_turn_of_a_loop_overwrites():
    def says(text):
        rule = ast.parse(text).body[0]
        return any(_overwrites(part, rule) for part in ast.walk(rule) if isinstance(part, ast.For))

    assert says("def f(g):\n for t in r:\n  for k in r:\n   a[k] = g[t]\n return a")
    assert says("def f(g):\n for k in r:\n  a[k : k + n] = g\n return a")
    assert says("def f(g):\n for t in r:\n  w = g[t]\n return w")
    assert not says("def f(g):\n for t in r:\n  a[t] = g[t]\n return a")
    assert not says("def f(g):\n for t in r:\n  w = w + g[t]\n return w")


def test_a_factor_for_each_row_of_what_a_statement_makes_of_g():
    def rule(g, x, w):
        gx = g * 2 * x
        return gx, (g * x**2).sum(1)

    exercise = spec("weighted", lambda x, w: (w[:, None] * x**2).sum(0), "x w", shapes=(((3, 4), (3,)), ((2, 5), (2,))))
    assert "with one more factor in `g * 2 * x`" in check(exercise, rule).diagnoses[0].text


def test_a_vector_product_is_followed():
    def turned(q, v):
        u = q / np.sqrt((q * q).sum())
        return v + 2 * np.cross(u, np.cross(u, v))

    def rule(g, q, v):
        n = np.sqrt((q * q).sum())
        u = q / n
        t = np.cross(u, v)
        gt = 2 * np.cross(g, u)
        gu = 2 * np.cross(t, g) + np.cross(v, gt)
        return gu / n, g + np.cross(gt, u)

    exercise = spec("turned", turned, "q v", shapes=(((3,), (3,)),))
    found = check(exercise, rule).diagnoses[0]
    assert found.input == "q" and "what comes back through" in found.text and "q * q" in found.text


def test_which_of_two_terms_is_missing():
    def likelihood(b, y, *, eps=0.5):
        k = b @ b.T + eps * np.eye(len(b))
        return 0.5 * np.linalg.slogdet(k)[1] + 0.5 * y @ np.linalg.solve(k, y)

    def rule(g, b, y, eps):
        k = b @ b.T + eps * np.eye(len(b))
        al = np.linalg.solve(k, y)
        return -g * np.outer(al, al) @ b, g * al

    exercise = spec("likelihood", likelihood, "b y", shapes=(((3, 2), (3,)), ((4, 2), (4,))))
    (found,) = check(exercise, rule).diagnoses
    assert "misses one of its terms: what comes back through slogdet" in found.text
