"""What the lessons tell, held to be true: by other means than running the lesson."""

import contextlib
import io
import os
import re
import time
import warnings
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import autolab

FOLDER = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(FOLDER.glob("[0-9][0-9]-*.ipynb"))
each_lesson = pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=getattr(pytest.mark, f"lesson{p.name[:2]}")) for p in LESSONS]
)


def read(path):
    return nbformat.read(path, as_version=4)


def cell(path, name):
    return next(c.source for c in read(path).cells if c.id == name)


def printed(source, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), np.errstate(all="ignore"):  # as in a program: 1/0 is inf without a word
        exec(source, names)
    return out.getvalue().splitlines()


@each_lesson
def test_it_runs_in_under_a_minute(path):
    began = time.perf_counter()
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    NotebookClient(read(path), timeout=60, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}).execute(env=one_thread)
    assert time.perf_counter() - began < 60


@each_lesson
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyTorch's own, when torch.func is loaded
@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")  # and that of its linearize
def test_the_same_lines_give_the_same_in_pytorch(path, torch):
    blocks = re.findall(r"```python\n(import torch .*?)```", cell(path, "pytorch"), re.S)
    assert blocks
    for block in blocks:
        said = re.findall(r"^print\(.*\) +# (.*)$", block, re.M)
        assert printed(block, {}) == said
        assert printed(block.replace("import torch ", "import autolab as torch "), {}) == said


# -- 00 ------------------------------------------------------------------------------------------


@pytest.mark.lesson00
def test_the_tour_trains_the_digits_to_95_percent_in_ten_seconds():
    names, began = {}, time.process_time()
    for name in ("imports", "data", "net", "train", "accuracy"):
        out = printed(cell(LESSONS[0], name), names)
    assert time.process_time() - began < 10
    assert names["right"].float().mean().item() > 0.95
    assert out == ["98% of 359 are right"]


# -- 01 ------------------------------------------------------------------------------------------

LESSON01 = FOLDER / "01-engine-in-60-lines.ipynb"


@pytest.fixture(scope="module")
def small():
    """The engine of lesson 01, as its cells define it."""
    names = {}
    exec(cell(LESSON01, "imports"), names)
    for part in engine_cells():
        exec(part, names)
    return names


def engine_cells():
    return [c.source for c in read(LESSON01).cells if "engine" in c.metadata.get("tags", [])]


def formula(x, y):
    s = x * y + 3
    for _ in range(3):
        s = (s * x - y).relu() + s * 0.25 + (x + y) ** 3 * s
    return s * s - x


@pytest.mark.lesson01
def test_the_engine_has_at_most_sixty_lines():
    lines = [line for part in engine_cells() for line in part.splitlines() if line.strip()]
    assert 40 <= len(lines) <= 60


@pytest.mark.lesson01
def test_the_small_engine_agrees_with_autolab(small, rng):
    for numbers in rng.normal(size=(20, 2)):
        mine = [small["Value"](float(n)) for n in numbers]
        small["backward"](formula(*mine))
        theirs = [autolab.tensor(n, dtype=autolab.float64, requires_grad=True) for n in numbers]
        formula(*theirs).backward()
        assert np.allclose([v.grad for v in mine], [t.grad.item() for t in theirs], rtol=1e-12)


@pytest.mark.lesson01
def test_the_small_engine_needs_no_recursion(small):
    x = y = small["Value"](1.0)
    for _ in range(20_000):
        y = y + 1
    small["backward"](y)
    assert x.grad == 1


@pytest.mark.lesson01
def test_the_solution_of_the_exercise_passes_its_check(small):
    solution = re.search(r"```python\n(.*?)```", cell(LESSON01, "exercise-solution"), re.S).group(1)
    names = dict(small)
    exec(solution, names)
    lines = printed(cell(LESSON01, "exercise-check-run"), names)
    assert lines == [
        "tanh(0.5): you say 0.4621, it is 0.4621",
        "  g = 1.0: your rule sends 0.7864, the nudge says 0.7864",
        "tanh(-1.2): you say -0.8337, it is -0.8337",
        "  g = 3.0: your rule sends 0.9151, the nudge says 0.9151",
    ]


@pytest.mark.lesson01
def test_the_other_seed_gets_stuck_as_the_text_says(small):
    names = dict(small)
    exec(cell(LESSON01, "network-weights").replace("seed(3)", "seed(0)"), names)
    exec(cell(LESSON01, "network-functions"), names)
    assert printed(cell(LESSON01, "training-loop").replace("51", "201"), names)[-1] == "step 200: loss 0.500"
    answers = printed(cell(LESSON01, "training-result"), names)
    assert answers[:2] == ["(0, 0) wanted 0, got 0.50", "(0, 1) wanted 1, got 0.50"]
    assert all((w[1] + bias).number <= 0 and bias.number <= 0 for w, bias in zip(names["W"], names["b"]))


@pytest.mark.lesson01
def test_of_the_first_hundred_seeds_so_many_solve_xor_as_the_text_says():
    names = {}
    for name in ("imports", "network-weights", "luck-function"):
        exec(cell(LESSON01, name).split("\nW = ")[0], names)
    exec("table = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 0}", names)
    exec(cell(LESSON01, "tensor-network").split("tW = ")[0], names)
    solved = {hidden: sum(names["losses_of"](seed, hidden)[-1] < 0.01 for seed in range(100)) for hidden in (4, 8)}
    said = re.search(r"first hundred seeds, (\d+) are below 0.01 .* eight hidden neurons it is (\d+)", cell(LESSON01, "luck-read"))
    assert solved == {4: int(said[1]), 8: int(said[2])}


# -- 02 ------------------------------------------------------------------------------------------


def run_cells(path, *names):
    """The names that these cells of a lesson define, and what they print."""
    defined, out = {}, []
    for name in ("imports", *names):
        out += printed(cell(path, name), defined)
    return defined, out


def solution(path, names, number=0):
    exec(re.findall(r"```python\n(.*?)```", cell(path, "exercise-solution"), re.S)[number], names)


@pytest.mark.lesson02
def test_following_every_path_prints_31_lines_for_six_nodes():
    path = FOLDER / "02-the-graph.ipynb"
    _, out = run_cells(path, "leaf-make", "print-show", "shared-show")
    assert out[:4] == ["PowBackward0", "  MulBackward0", "    AccumulateGrad", "    AccumulateGrad"]
    assert len(out) - 4 == 31


@pytest.mark.lesson02
def test_a_graph_of_ten_times_exp_keeps_ten_results():
    names, _ = run_cells(FOLDER / "02-the-graph.ipynb", "cost-count", "cost-show")
    assert names["kept"](names["with_flag"]) == 10 * 4000


@pytest.mark.lesson02
@pytest.mark.parametrize("number", [0, 1])
def test_the_solutions_find_the_depth_of_a_graph_with_many_paths(number):
    path = FOLDER / "02-the-graph.ipynb"
    names, _ = run_cells(path)
    solution(path, names, number)
    out = printed(cell(path, "exercise-check-run"), names)
    assert [line.partition("you say ")[2] for line in out] == ["0, it is 0", "2, it is 2", "2, it is 2", "60, it is 60"]


@pytest.mark.lesson02
def test_only_the_second_solution_takes_a_graph_a_thousand_operations_deep():
    path = FOLDER / "02-the-graph.ipynb"
    names, _ = run_cells(path)
    y = autolab.tensor(1.0, requires_grad=True)
    for _ in range(3000):
        y = y + 1
    solution(path, names, 1)
    assert names["depth"](y) == 3000
    solution(path, names, 0)
    with pytest.raises(RecursionError):
        names["depth"](y)


@pytest.mark.lesson02
def test_a_recurrent_network_leaves_three_nodes_a_step_and_no_cycle():
    names, _ = run_cells(FOLDER / "02-the-graph.ipynb", "cycle-show")
    seen, todo = [], [names["h"].grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.append(node)
            todo += [further for further, _ in node.next_functions]
    assert len(seen) == 10


# -- 03 ------------------------------------------------------------------------------------------

LESSON03 = FOLDER / "03-chain-rule.ipynb"


@pytest.mark.lesson03
def test_both_directions_give_the_product_of_the_three_factors():
    names, out = run_cells(LESSON03, "three-hand", "dual-engine", "dual-run", "dual-autolab-run")
    assert out[0].endswith("product 0.3632")
    assert out[1] == "0.9592, 0.3632"
    assert "tangent=tensor(0.3632)" in out[2]
    assert names["y"].tangent == pytest.approx(np.prod(names["factors"]), rel=1e-12)


@pytest.mark.lesson03
def test_only_the_relu_is_dead():
    _, out = run_cells(LESSON03, "dead-show")
    dead = [line.split()[0] for line in out if "of w  0.0000, of b  0.0000" in line]
    assert dead == ["relu"]


@pytest.mark.lesson03
def test_central_differences_are_better_than_one_sided_ones_and_the_complex_step_is_exact():
    names, _ = run_cells(LESSON03, "three-hand", "kinds-numerical", "kinds-complex")
    best = {name: min(zip(names[name], names["steps"])) for name in ("one_sided", "central")}
    assert 1e-10 < best["one_sided"][0] < 1e-7 and 1e-10 < best["one_sided"][1] < 1e-6
    assert 1e-12 < best["central"][0] < 1e-9 and 1e-7 < best["central"][1] < 1e-4
    assert names["f"](0.5 + 1e-20j).imag / 1e-20 == pytest.approx(names["true"], rel=4e-16)


@pytest.mark.lesson03
def test_the_solution_of_the_division_agrees_with_reverse_mode():
    names, _ = run_cells(LESSON03, "dual-engine")
    solution(LESSON03, names)
    for line in printed(cell(LESSON03, "exercise-check-run"), names):
        yours, engine = re.findall(r"-?\d+\.\d+", line)
        assert yours == engine


# -- 04 ------------------------------------------------------------------------------------------


@pytest.mark.lesson04
def test_the_walk_of_the_lesson_is_the_one_that_backward_takes():
    names = {}
    for name in ("imports", "digits-network", "digits-walk"):
        printed(cell(FOLDER / "04-inside-backward.ipynb", name), names)
    leaves = [names[name] for name in ("W1", "b1", "W2", "b2")]
    walked = [leaf.grad.numpy().copy() for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    exec(cell(FOLDER / "04-inside-backward.ipynb", "digits-network"), names)
    names["loss"].backward()
    assert all(np.array_equal(w, names[name].grad.numpy()) for w, name in zip(walked, ("W1", "b1", "W2", "b2")))


# -- 05 ------------------------------------------------------------------------------------------

LESSON05 = FOLDER / "05-accumulation.ipynb"


@pytest.mark.lesson05
def test_without_zero_grad_the_loss_never_settles():
    names, _ = run_cells(LESSON05, "bug-train")
    good, bad = names["train"](zero=True, steps=400), names["train"](zero=False, steps=400)
    assert good[-1] < 1e-6
    assert max(bad[-40:]) > 2  # as high as it began, 2.7


@pytest.mark.lesson05
def test_only_zeroing_between_backward_and_step_stops_training():
    _, out = run_cells(LESSON05, "bug-where-show")
    assert out == ["zero backward step: w = 3.000", "backward step zero: w = 3.000", "backward zero step: w = 0.000"]


@pytest.mark.lesson05
def test_four_batches_of_16_make_one_of_64_and_the_solution_takes_any_sizes():
    names, out = run_cells(LESSON05, "micro-data", "micro-show")
    assert out == ["without scale: [4.0, 4.0, 4.0, 4.0]", "with 1/4, largest difference: [0.0, 0.0, 0.0, 0.0]"]
    solution(LESSON05, names)
    assert printed(cell(LESSON05, "exercise-check-run"), names) == [
        f"{sizes} largest difference 0.0000" for sizes in ([16] * 4, [30, 30, 4], [64])
    ]


# -- 06 ------------------------------------------------------------------------------------------

LESSON06 = FOLDER / "06-stopping-the-tape.ipynb"


@pytest.mark.lesson06
def test_a_recorded_target_hides_the_gradient():
    _, out = run_cells(LESSON06, "target-show")
    assert out == ["target detached: gradient -2", "target recorded: gradient 0"]


@pytest.mark.lesson06
def test_frozen_lets_the_gradient_through_and_cut_does_not():
    _, out = run_cells(LESSON06, "freeze-make", "freeze-show")
    assert [line.split()[-1] == "None" for line in out] == [False, False, True]
    assert len({line.split()[-4] for line in out}) == 1  # the head learns the same in all three


@pytest.mark.lesson06
def test_the_solution_of_the_commitment_loss():
    names, _ = run_cells(LESSON06)
    solution(LESSON06, names)
    assert printed(cell(LESSON06, "exercise-check-run"), names) == ["5.0 4.0 -1.0"]


# -- 07 ------------------------------------------------------------------------------------------

LESSON07 = FOLDER / "07-custom-functions.ipynb"


@pytest.mark.lesson07
@pytest.mark.parametrize(("name", "rule"), [
    ("square", "square"), ("relu", "relu"), ("clamp", "clamp"), ("round_through", "straight"), ("softmax", "softmax"), ("layer_norm", "norm"),
])  # fmt: skip
def test_the_rules_of_the_lesson_are_right(name, rule):
    names, _ = run_cells(LESSON07, f"{rule}-write")
    (written,) = (v for v in names.values() if isinstance(v, type) and issubclass(v, names["Function"]) and v is not names["Function"])
    if name == "relu":
        written.forward, keeping = staticmethod(lambda ctx, x: keeping(ctx, x, "mask")), written.forward
        written.backward, sending = staticmethod(lambda ctx, g: sending(ctx, g)[0]), written.backward
    assert names["check"](name, written).passed


@pytest.mark.lesson07
def test_the_wrong_rules_are_found_and_named():
    names, out = run_cells(LESSON07, "square-write", "forget-write", "softmax-write", "softmax-wrong", "norm-write", "norm-check")
    forgetful = names["check"]("square", names["Forgetful"])
    assert [d.certainty for d in forgetful.diagnoses] == ["certain"]
    assert "does not depend on the incoming gradient" in forgetful.diagnoses[0].text
    assert "every entry also changes the others" in out[0]
    assert out[1] == "LayerNorm: right"
    assert "must add up to 0" in out[-1]


@pytest.mark.lesson07
def test_the_classes_of_the_lesson_run_unchanged_in_pytorch(torch):
    names = {"torch": torch, "Function": torch.autograd.Function}
    for name in ("square", "relu", "clamp", "straight", "softmax", "linear", "norm"):
        exec(cell(LESSON07, f"{name}-write"), names)
    x, w, b = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((4, 3), (2, 3), (2,)))
    assert torch.autograd.gradcheck(names["Square"].apply, (x,))
    assert torch.autograd.gradcheck(lambda x: names["ReLU"].apply(x, "mask"), (x,))
    assert torch.autograd.gradcheck(lambda x: names["Clamp"].apply(x, -0.5, 0.5), (x,))
    assert torch.autograd.gradcheck(lambda x: names["Softmax"].apply(x, -1), (x,))
    assert torch.autograd.gradcheck(names["Linear"].apply, (x, w, b))
    assert torch.autograd.gradcheck(names["LayerNorm"].apply, (x, w[0], w[1]))
    names["RoundThrough"].apply(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(4, 3, dtype=torch.float64))


@pytest.mark.lesson07
def test_the_solution_of_rms_norm_is_right():
    names, _ = run_cells(LESSON07, "exercise-norm")
    solution(LESSON07, names)
    assert printed(cell(LESSON07, "exercise-check-run"), names) == ["right"]


# -- 08 ------------------------------------------------------------------------------------------

LESSON08 = FOLDER / "08-gotchas.ipynb"


@pytest.mark.lesson08
def test_only_what_a_rule_keeps_may_not_be_overwritten():
    _, out = run_cells(LESSON08, "allowed-show")
    assert [line.endswith("refused") for line in out] == [False, True, False]


@pytest.mark.lesson08
def test_a_replaced_leaf_fails_in_the_second_step():
    _, out = run_cells(LESSON08, "replaced-show")
    assert out[0].endswith("is_leaf = False") and out[1].startswith("in step 2: TypeError")


@pytest.mark.lesson08
def test_a_list_as_index_copies_and_a_number_does_not():
    names, _ = run_cells(LESSON08, "views-share")
    assert names["a"].tolist() == [[0, 5, 0], [0, 0, 0]] and names["row"]._base is names["a"] and names["rows"]._base is None


@pytest.mark.lesson08
def test_the_loss_is_a_number_and_its_gradient_is_not_and_anomaly_mode_says_why():
    names, _ = run_cells(LESSON08, "nan-show")
    assert np.array_equal(names["x"].grad.numpy(), [np.nan, 0.25], equal_nan=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # anomaly mode warns that it is slow
        out = printed(cell(LESSON08, "nan-anomaly-show"), names)
    assert out[0] == "Function 'SqrtBackward0' returned nan values in its 0th output."


@pytest.mark.lesson08
def test_the_three_functions_are_broken_and_the_solution_repairs_them():
    names, _ = run_cells(LESSON08, "exercise-repair")
    assert not any(line.endswith(": right") for line in printed(cell(LESSON08, "exercise-check-run"), names))
    solution(LESSON08, names)
    assert printed(cell(LESSON08, "exercise-check-run"), names) == ["one: right", "two: right", "three: right"]
