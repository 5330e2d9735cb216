"""What lessons 09 to 17 tell, held to be true: by other means than running the lesson."""

import contextlib
import io
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

import autolab as torch

FOLDER = Path(__file__).parents[2] / "notebooks"


class Lesson(dict):
    """The names that some cells of a lesson define; what they print is `said`."""

    def __init__(self, name):
        super().__init__()
        self.cells = {c.id: c for c in nbformat.read(next(FOLDER.glob(f"{name}-*.ipynb")), as_version=4).cells}

    def run(self, *names, change=lambda source: source):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            for name in names:
                exec(change(self.cells[name].source), self)
        return out.getvalue().splitlines()

    def solution(self):
        exec(re.search(r"```python\n(.*?)```", self.cells["exercise-solution"].source, re.S).group(1), self)
        return self.run("exercise-check-run")


@pytest.mark.lesson09
def test_without_a_penalty_the_critic_becomes_steep_and_with_it_the_slope_stays_near_one():
    lesson = Lesson("09")
    lesson.run("imports", "penalty-function", "penalty-train")
    assert lesson["train"](weight=0)[-1] > 50
    assert 0.9 < lesson["train"](weight=10)[-1] < 1.3


@pytest.mark.lesson09
def test_the_power_method_finds_the_largest_eigenvalue():
    lesson = Lesson("09")
    lesson.run("imports", "hessian-show")
    assert lesson.solution() == ["you say 12.47, it is 12.47"]
    assert np.linalg.eigvalsh([[4, 2], [2, 12]]).max() == pytest.approx(8 + 20**0.5)


@pytest.mark.lesson10
def test_the_peak_is_the_number_of_segments_and_the_layers_of_one():
    lesson = Lesson("10")
    lesson.run("imports", "network", "ruler-function", "depth-show")
    net, peak, x = lesson["network"](16), lesson["peak"], lesson["X"]
    lesson["step"](net)
    assert peak(lambda: lesson["step"](net)) == 16 + 1
    for k in (2, 4, 8):
        most = peak(lambda: lesson["checkpoint_sequential"](net, k, x, use_reentrant=False).sum().backward())
        assert most == k + 16 / k


@pytest.mark.lesson10
def test_packing_everything_in_float16_raises_the_peak_as_the_solution_says():
    lesson = Lesson("10")
    lesson.run("imports", "network", "ruler-function", "depth-show")
    torch.manual_seed(0)
    lesson["net"] = lesson["network"](16)
    lesson["step"](lesson["net"])
    lesson["net"].zero_grad()
    first, second = re.findall(r"```python\n(.*?)```", lesson.cells["exercise-solution"].source, re.S)
    exec(first, lesson)
    peak, off = map(float, re.findall(r"[\d.]+", lesson.run("exercise-check-run")[0]))
    assert peak in (19, 20) and 0 < off < 1
    exec(second, lesson)
    assert float(re.findall(r"[\d.]+", lesson.run("exercise-check-run")[0])[0]) == 12


@pytest.mark.lesson10
def test_within_no_grad_the_peak_does_not_depend_on_the_depth():
    lesson = Lesson("10")
    lesson.run("imports", "network", "ruler-function")
    lesson.run("no-grad-show")
    shallow, deep = (lesson["network"](depth) for depth in (4, 12))
    recorded = [lesson["peak"](lambda net=net: net(lesson["X"]).sum()) for net in (shallow, deep)]
    evaluated = [lesson["peak"](lambda net=net: lesson["predict_only"](net)) for net in (shallow, deep)]
    assert recorded == [5, 13] and evaluated == [3, 3]


@pytest.mark.lesson11
def test_a_running_sum_in_float16_stops_where_a_product_does_not():
    lesson = Lesson("11")
    lesson.run("imports")
    running, product = (float(line.rpartition(" ")[2]) for line in lesson.run("running-show"))
    assert running == 2048 and product == 5000


@pytest.mark.lesson11
def test_the_better_the_network_the_more_gradients_are_lost():
    lesson = Lesson("11")
    lesson.run("imports", "digits-setup")
    lost = [float(re.search(r"(\d+) % lost", line)[1]) for line in lesson.run("plain-show")]
    assert lost == sorted(lost) and lost[0] == 0 and 40 < lost[-1] < 60


@pytest.mark.lesson11
def test_every_gradient_of_the_lesson_is_below_the_last_number_of_float16():
    lesson = Lesson("11")
    lesson.run("imports", "digits-setup")
    assert lesson["WEIGHT"] / 1438 < 2.0**-24 / 50
    assert not lesson["gradients"](1.0).any()
    assert lesson["gradients"](2.0**32).all() and lesson["gradients"](2.0**32).isfinite().all()


@pytest.mark.lesson11
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow is what the lesson is about
def test_the_scale_falls_by_halves_until_nothing_overflows():
    lesson = Lesson("11")
    lesson.run("imports", "digits-setup", "by-hand-step", "by-hand-train")
    history = lesson["train_by_hand"](lesson["network"](), scale=2.0**48, steps=25)
    first = history.index(min(history[:15]))
    assert history[: first + 1] == list(range(48, 47 - first, -1))
    assert history[first : first + 10] == [history[first]] * 10 and history[first + 10] == history[first] + 1


@pytest.mark.lesson12
def test_the_models_reach_what_the_lesson_says():
    lesson = Lesson("12")
    lesson.run("imports", "data-show", "loop-define", "loop-fit-define")
    said = "\n".join(lesson.run("regression-fit", "mlp-fit", "conv-shapes", "conv-fit"))
    right = [float(share) for share in re.findall(r"([\d.]+) % right", said)]
    assert right[0] > 94 and right[1] > 96 and right[2] > 97


@pytest.mark.lesson12
def test_one_exact_step_goes_as_far_as_the_lesson_says():
    lesson = Lesson("12")
    lesson.run("imports", "data-show")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    loss = lambda: torch.nn.functional.cross_entropy(model(lesson["images"]), lesson["labels"])
    loss().backward()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    assert f"to {loss().item():.2f}. The 23" in lesson.cells["loop-batches"].source


@pytest.mark.lesson12
@pytest.mark.parametrize("seed", [0, 1])
def test_a_learning_rate_that_falls_settles_where_a_constant_one_jumps(seed):
    lesson = Lesson("12")
    lesson.run("imports", "data-show", "loop-define", "loop-fit-define")
    lesson.run("schedule-fit", change=lambda source: source.replace("manual_seed(0)", f"manual_seed({seed})"))
    jumps = {name: np.abs(np.diff(np.log(losses[-6:]))).max() for name, losses in lesson["curves"].items()}
    assert jumps["cosine"] < 0.5 < jumps["constant"]
    assert lesson["curves"]["cosine"][-1] < 0.2 * lesson["curves"]["constant"][-1]


@pytest.mark.lesson12
def test_momentum_by_hand_is_that_of_the_class():
    lesson = Lesson("12")
    lesson.run("imports")
    said = lesson.solution()[0]
    assert len(set(re.findall(r"\d\.\d{4}", said))) == 1


@pytest.mark.lesson13
def test_the_gradient_of_a_false_label_is_the_largest():
    lesson = Lesson("13")
    lesson.run("imports", "per-sample-define")
    assert lesson.solution() == ["you say 42, it is 42"]


@pytest.mark.lesson14
def test_the_sixth_case_is_broken_and_repaired_by_chance():
    lesson = Lesson("14")
    lesson.run("imports", "detective-helpers")
    lesson.run("exercise-case")
    assert lesson.run("exercise-check-run") == ["50% right: not yet"]
    lesson.run("exercise-case", change=lambda source: source.replace("p.data.zero_()", "pass"))
    assert lesson.run("exercise-check-run")[0].endswith(": repaired")


@pytest.mark.lesson14
def test_a_fit_to_the_wrong_shape_ends_at_the_variance():
    lesson = Lesson("14")
    lesson.run("imports", "detective-helpers", "five-loop")
    wrong, loss = lesson["case_five"](repaired=False)
    assert wrong.shape == (200, 200)
    assert loss == pytest.approx(float(np.var(lesson["target"].numpy())), rel=0.02)
    assert lesson["case_five"](repaired=True)[1] < 0.01


@pytest.mark.lesson15
def test_the_fused_gradient_is_that_of_the_engine():
    lesson = Lesson("15")
    lesson.run("imports", "traffic-count", "by-hand-function", "by-hand-show")
    assert lesson.solution() == ["largest difference 0.00000"]


@pytest.mark.lesson16
def test_where_the_softmax_is_the_table_of_counts_its_gradient_is_zero():
    lesson = Lesson("16")
    lesson.run("imports", "text-load", "counts-make")
    N, known = lesson["N"].double(), lesson["known"]
    W = (N / N.sum(1, keepdim=True)).clamp(min=1e-30).log().requires_grad_()
    torch.nn.functional.cross_entropy(W[known[:-1]], known[1:]).backward()
    assert float(W.grad.abs().max()) < 1e-12


@pytest.mark.lesson16
def test_the_table_of_pairs_is_at_240_and_without_smoothing_some_pair_is_impossible():
    lesson = Lesson("16")
    lesson.run("imports", "text-load", "counts-make", "counts-picture")
    assert lesson["P"][lesson["new"][:-1], lesson["new"][1:]].min().item() == 0
    assert lesson.run("smooth-show") == ["letters alone 3.13", "pairs         2.40"]
    assert int((lesson["N"][lesson["new"][:-1], lesson["new"][1:]] == 0).sum()) == 25


@pytest.mark.lesson16
def test_every_gradient_by_hand_is_that_of_the_engine():
    lesson = Lesson("16")
    lesson.run("imports", "text-load", "counts-make", "context-make", "hand-parameters", "hand-forward")
    lesson.run("hand-loss-show", "hand-linear-show", "hand-tanh-show", "total-show", "hand-norm-show", "hand-embedding-show")
    assert set(lesson["differences"]) == {"S", "H", "W2", "b2", "B", "gamma", "beta", "Z", "A", "W1", "V", "E", "C"}
    assert max(lesson["differences"].values()) < 1e-15


@pytest.mark.lesson16
def test_a_careless_start_costs_a_thousand_steps_and_batch_norm_mends_it():
    lesson = Lesson("16")
    lesson.run("imports", "text-load", "context-make")
    lesson["n"] = len(lesson["letters"])
    lesson.run("network-define", "fit-define")
    careless, careful, rescued = (lesson["fit"](lesson["network"](*how))[1] for how in ((1, 1), (0.264, 0.01), (1, 0.01, True)))
    assert careful < 2.2 < rescued + 0.1 < 2.4 < 3.5 < careless


@pytest.mark.lesson16
def test_layer_norm_by_hand_is_that_of_the_engine():
    lesson = Lesson("16")
    lesson.run("imports", "text-load", "counts-make", "context-make", "hand-parameters")
    assert lesson.solution() == ["largest difference 0.000000"]


@pytest.mark.lesson17
def test_attention_by_hand_is_that_of_the_engine():
    lesson = Lesson("17")
    lesson.run("imports", "mean-show", "mask-show", "attention-show")
    assert lesson.solution() == ["largest differences: [0.0, 0.0, 0.0]"]


@pytest.mark.lesson17
def test_scores_grow_with_the_root_of_d_and_the_gradient_shrinks_unless_they_are_scaled():
    lesson = Lesson("17")
    lesson.run("imports")
    rows = [[float(n) for n in re.findall(r"\d+\.\d+", row)] for row in lesson.run("scale-show")]
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True) and rows[0][1] > 4 * rows[-1][1]
    assert max(row[3] for row in rows) - min(row[3] for row in rows) < 0.05


@pytest.mark.lesson17
def test_without_addition_and_layer_norm_no_gradient_gets_through_twelve_blocks():
    lesson = Lesson("17")
    lesson.run("imports", "heads-split", "heads-define", "block-define", "block-gradient")
    both, bare = (lesson["length_below"](*how) for how in ((1, True), (0, False)))
    assert bare < 1e-12 and 10 < both < 100


@pytest.mark.lesson17
def test_the_order_of_earlier_letters_counts_only_with_an_embedding_of_places():
    lesson = Lesson("17")
    lesson.run("imports", "heads-split", "heads-define", "block-define", "gpt-define")
    torch.manual_seed(0)
    model, x = lesson["GPT"](blocks=1), torch.tensor([[5, 17, 30, 41, 8, 60], [41, 17, 8, 5, 30, 60]])
    first, second = model(x)[:, 5]
    assert not torch.allclose(first, second, atol=1e-4)
    torch.nn.init.zeros_(model.place.weight)
    first, second = model(x)[:, 5]
    assert torch.allclose(first, second, atol=1e-5)
