"""What lesson 23 tells, held to be true: with other numbers, with other sizes, and with processes of their own."""

import importlib.util

import numpy as np
import pytest

from autolab.utils.processes import run_in_processes

from .test_later_stories import Lesson

pytestmark = pytest.mark.lesson23


@pytest.mark.parametrize(("p", "length"), [(2, 7), (3, 7), (6, 12), (5, 3)])
def test_the_ring_adds_up_whatever_the_size(p, length):
    lesson = Lesson("23")
    lesson.run("imports", "ring-define")
    arrays = [np.random.default_rng(r).normal(size=length) for r in range(p)]
    results, sent = lesson["ring_all_reduce"](arrays)
    assert all(np.allclose(result, np.sum(arrays, axis=0)) for result in results)
    assert sum(sent) == 2 * (p - 1) * length * 8


def test_the_bubble_is_what_the_formula_says():
    lesson = Lesson("23")
    lesson.run("imports", "bubble-show")
    for p, m in ((2, 1), (4, 8), (7, 5)):
        assert (lesson["schedule"](p, m) == 0).mean() == pytest.approx((p - 1) / (m + p - 1))


def test_each_stage_of_sharding_keeps_less_and_one_worker_keeps_all():
    lesson = Lesson("23")
    lesson.run("imports", "count-show", "zero-show")
    assert set(lesson["per_worker"](1).values()) == {16}
    assert sorted(lesson["per_worker"](64).values(), reverse=True) == list(lesson["per_worker"](64).values())


def test_the_three_conditions_are_needed():
    lesson = Lesson("23")
    rows = lesson.run("imports", "data-define", "data-show")
    equal, unequal, weighted, summed, normed = (float(row.split()[-1]) for row in rows)
    assert equal == weighted == 0 and min(unequal, normed) > 0.05 and summed == 0.75


def test_a_cut_layer_has_the_gradients_of_the_whole():
    assert set(eval(Lesson("23").run("imports", "tensor-show")[-1])) == {"0.000000000000"}


def test_reduce_scatter_alone_is_the_first_half_of_the_ring():
    lesson = Lesson("23")
    lesson.run("imports")
    assert lesson.solution() == ["largest error 0.000000"]


def test_two_processes_train_the_model_that_one_trains(tmp_path):
    lesson = Lesson("23")
    needed = ["network-define", "bucket-define", "collect-define", "train-define", "train-check"]
    head = "import time\nimport numpy as np\nimport autolab as torch\nfrom autolab import nn, datasets\nimages, labels = datasets.digits('train')\n"
    (tmp_path / "train_cells.py").write_text(head + "\n\n".join(lesson.cells[name].source for name in needed))
    spec = importlib.util.spec_from_file_location("train_cells", tmp_path / "train_cells.py")
    cells = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cells)
    first, second = run_in_processes(cells.train, 2, 100_000, 2, needs=(cells.network, cells.send_buckets, cells.collect))
    assert all(np.array_equal(a, b) for a, b in zip(first["weights"], second["weights"]))
    assert max(abs(a - b).max() for a, b in zip(first["weights"], cells.alone(2))) < 1e-5
    assert [len(step["reduces"]) for step in first["times"]] == [3, 3]
