"""Scissors, version counter and two worlds as Python knows them: what is drawn is what the engine recorded."""

import re

import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets.cutting import EDGES


@pytest.fixture(autouse=True)
def no_frames_in_advance(monkeypatch):
    monkeypatch.setattr("autolab.widgets.panel.PATIENCE", 0)


# -- scissors ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tape():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autolab.widgets.panel.PATIENCE", 0)
        return widgets.scissors(2.0, 3.0)


@pytest.mark.parametrize(("where", "said"), [
    ({}, "Nothing is cut. After c.backward(), x.grad is 42 and w.grad is 28."),
    ({"xa": "cut"}, "Cut: x to a. After c.backward(), x.grad is None and w.grad is 28."),
    ({"ab": "cut", "second": "a * w"}, "Cut: a to b. After c.backward(), x.grad is None and w.grad is 216."),
    ({"ab": "cut", "wb": "cut", "second": "a * w"}, "raises RuntimeError: element 0 of tensors does not require grad"),
    ({"wb": "cut"}, "Nothing is cut."),  # there is no such edge in b = a + 1
    ({"end": "backward twice"}, "The second c.backward() raises RuntimeError: Trying to backward through the graph a second time"),
    ({"end": "backward twice, retain_graph"}, "After c.backward() twice, x.grad is 84 and w.grad is 56."),
    ({"end": "autograd.grad"}, "torch.autograd.grad(c, w) returns 28 for w, and writes no .grad."),
    ({"recording": "runs under no_grad"}, "c.backward() raises RuntimeError: element 0 of tensors does not require grad"),
    ({"recording": "runs under inference_mode", "second": "a * w"}, "The forward pass raises RuntimeError: Inference tensors cannot be saved for backward"),
    ({"recording": "is recorded, x needs no gradient"}, "x.grad is None and w.grad is 28."),
])  # fmt: skip
def test_a_cut_does_what_the_engine_does(tape, where, said):
    assert said in tape.reset().move(**where).sentence


def lines(panel):
    """Edge -> the class of its line in the picture."""
    found = re.findall(r'data-set="(\w+)".*?<g class="(al-edge[\w -]*)">', panel.picture())
    return {edge: kind.removeprefix("al-edge").strip() for edge, kind in found}


@pytest.mark.parametrize("second", ["a + 1", "a * w"])
@pytest.mark.parametrize("cut", EDGES)
def test_an_edge_is_drawn_as_recorded_only_if_the_graph_has_it(tape, second, cut):
    tape.reset().move(second=second, **{cut: "cut"})
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    use = {edge: (lambda t, e=edge: t.detach() if e == cut else t) for edge in EDGES}
    a = use["xa"](x) * use["wa"](w)
    b = use["ab"](a) + 1 if second == "a + 1" else use["ab"](a) * use["wb"](w)
    c = use["bc"](b) ** 2
    recorded = {
        "xa": x in variables(a), "wa": w in variables(a), "ab": goes(b, a), "wb": w in variables(b), "bc": goes(c, b),
    }  # fmt: skip
    drawn = {edge: kind != "al-lost" for edge, kind in lines(tape).items()}
    assert drawn == {edge: is_there for edge, is_there in recorded.items() if second == "a * w" or edge != "wb"}


def variables(t):
    return [getattr(f, "variable", None) for f, _ in t.grad_fn.next_functions] if t.grad_fn else []


def goes(t, source):
    return t.grad_fn is not None and source.grad_fn is not None and source.grad_fn in [f for f, _ in t.grad_fn.next_functions]


def test_the_edge_from_w_to_b_carries_its_share(tape):
    tape.reset().move(second="a * w", ab="cut")
    assert lines(tape) == {"xa": "", "wa": "", "ab": "al-lost", "wb": "al-on", "bc": "al-on"}
    assert ">216</text>" in tape.picture()


def test_every_cut_is_one_undo(tape):
    tape.reset().move(xa="cut").move(bc="cut")
    assert tape.undo().sentence.startswith("Cut: x to a. ")


# -- version counter -------------------------------------------------------------------------------------


def test_by_default_a_write_makes_backward_raise():
    counter = widgets.version_counter()
    assert "is stale, and backward() will raise" in counter.press("a.add_(1)").sentence
    assert "≠ stale, now at version 1" in counter.picture()
    assert "modified by an inplace operation" in counter.press("y.backward()").sentence


def test_a_write_does_not_matter_to_a_rule_that_saved_its_result():
    counter = widgets.version_counter(torch.exp).press("a.add_(1)")
    assert counter.sentence.endswith("eˣ (ExpBackward0) keeps its result of version 0: unchanged, so backward() can run.")
    assert counter.press("y.backward()").sentence.startswith("y.backward() has run and freed what the graph kept: x.grad is")
    assert "a leaf Variable that requires grad" in counter.reset().press("x.add_(1)").sentence


@pytest.mark.parametrize("f", [torch.square, torch.exp, torch.sin, lambda a: a * a + a, lambda a: a + 1, torch.tanh])
@pytest.mark.parametrize("write", ["a.add_(1)", "v.mul_(2)", "a.detach().add_(1)", "a = a + 1"])
def test_what_is_announced_happens(f, write):
    counter = widgets.version_counter(f).press(write)
    announced = counter.sentence
    assert ("will raise" in announced) == ("raises RuntimeError" in counter.press("y.backward()").sentence)


def test_a_stale_value_is_shown_beside_what_was_saved():
    assert ">was [2, 4] at version 0<" in widgets.version_counter().press("v.mul_(2)").picture()


def test_a_write_after_the_name_has_moved_is_said_of_the_tensor_that_it_reaches():
    counter = widgets.version_counter().press("a = a + 1")
    assert "v and the old a are at version 1." in counter.press("v.mul_(2)").sentence
    assert "the new a is at version 1; v and the graph have the old one, at version 1." in counter.press("a.add_(1)").sentence
    assert "x is at version 1." in counter.press("with no_grad: x.add_(1)").sentence


def test_numbers_that_are_written_back_stay_stale_since_their_version_counts_writes():
    counter = widgets.version_counter().press("v.add_(1)").press("a.sub_(1)").press("v.add_(1)")
    assert "numbers are what they were" not in counter.sentence
    counter.undo().reset().press("v.add_(1)").press("v.sub_(1)")
    assert counter.rows[1:3] == [["a", "[2.0, 4.0]", "2"], ["v", "[2.0]", "2"]]
    assert counter.sentence.endswith("The numbers are what they were, the version is not: it is stale, and backward() will raise.")
    assert "modified by an inplace operation" in counter.press("y.backward()").sentence


def test_a_page_knows_any_three_actions_in_a_row():
    frames = widgets.version_counter().offline()["frames"]

    def after(at):
        return list(frames[str(at)]["next"].values())

    threes = [c for a in after(0) for b in after(a) for c in after(b)]
    assert len(threes) == 1000 and None not in threes


def test_what_was_refused_is_forgotten_with_the_next_action():
    counter = widgets.version_counter().press("x.add_(1)")
    assert "a leaf Variable that requires grad" in counter.sentence
    assert "x.add_(1)" not in counter.press("v.mul_(2)").text()


def test_a_page_knows_a_pull_of_five_writes_there_and_back():
    data = widgets.version_counter().offline()
    for there, back in (("a.add_(1)", "a.sub_(1)"), ("v.sub_(1)", "v.add_(1)")):
        at = 0
        for write in [there] * 5 + [back] * 5:
            at = data["frames"][str(at)]["next"][write]
        assert data["frames"][str(at)]["rows"][1][2] == "10"


def test_the_film_of_a_write_ends_with_the_error():
    told = [sentence for _, sentence in widgets.version_counter()._stills(None)]
    assert len(told) == 3 and "modified by an inplace operation" in told[-1]


def test_no_word_is_cut_off_in_the_picture():
    counter = widgets.version_counter().press("v.mul_(2)").press("a = a + 1")
    for x, words in re.findall(r'<text x="([\d.]+)" [^>]*text-anchor="start"[^>]*>([^<]*)<', counter.picture()):
        right = 276 if float(x) < 276 else 564
        assert float(x) + 8.5 * len(words) <= right, words


# -- two worlds ------------------------------------------------------------------------------------------


def good(w):
    h = torch.tanh(3 * w)
    return (h * w - 1) ** 2


def bad(w):
    h = torch.tanh(3 * w).detach()
    return (h * w - 1) ** 2


def trained(w, zero=True):
    ((w * 2 - 1) ** 2).backward()
    if zero:
        w.grad = None
    return (w * 2 - 1) ** 2


def test_two_worlds_part_where_zero_grad_was_forgotten():
    panel = widgets.compare(trained, lambda w: trained(w, False), w=3.0)
    assert panel.comparison.sentence == "Backward 4: w finds nothing in one run and 20 in the other in .grad."
    assert panel.move(step=99).sentence.startswith("Moment 8: here they part.")
    assert panel.sentence.endswith("In the end, in trained and in f, w.grad is 20 and 40.")
    assert [row[3] for row in panel.rows] == ["same"] * 7 + ["first difference"]
    with pytest.raises(TypeError, match="two functions, two losses or two traces"):
        widgets.compare(1, 2)


def test_what_only_one_run_records_stands_beside_nothing():
    panel = widgets.compare(good, bad, w=0.5).move(step=99)
    assert [row[2] for row in panel.rows[:6]] == [
        "w = 0.5",
        "nothing",
        "nothing",
        "× (MulBackward0) = 0.452574",
        "− (SubBackward0) = -0.547426",
        "xʸ (PowBackward0) = 0.299675",
    ]
    assert [row[3] for row in panel.rows[:6]] == ["same", "first difference", "differs", "same", "same", "same"]
    assert panel.move(step=2).sentence == "Moment 2: here they part. good alone: × (MulBackward0) = 1.5."


def test_both_worlds_are_run_again_where_their_input_is_dragged():
    panel = widgets.compare(lambda w: (w * 2 - 1) ** 2, lambda w: (w * 2).detach() * w, w=3.0).move(step=99)
    assert panel.sentence.endswith("They part at moment 2. In the end, in first and in second, w.grad is 20 and 6.")
    assert panel.move(value=1.0).sentence.endswith("They part at moment 3. In the end, in first and in second, w.grad is 4 and 2.")
    assert 'data-along-x="value"' in panel.picture()


def test_a_world_with_a_branch_has_room_for_the_longer_way():
    def branching(x):
        return x * 2 if x.item() > 0 else (x * 2) * 3 * x

    panel = widgets.compare(branching, lambda x: x * 2, x=1.0)
    assert [panel.move(value=v, step=99).sentence.split(":")[0] for v in (1.0, -1.0)] == ["Moment 4", "Moment 8"]
    assert panel.size[1] > widgets.compare(lambda x: x * 2, lambda x: x * 2, x=1.0).size[1]


def test_tensors_and_traces_cannot_be_run_again_and_have_no_slider():
    w = torch.tensor(1.0, requires_grad=True)
    assert [c["name"] for c in widgets.compare(w * 2, w * 3).controls] == ["step"]


def test_the_line_that_differs_is_marked_in_the_code():
    code = widgets.compare(good, bad, w=0.5).frame["code"].splitlines()
    assert "-     h = torch.tanh(3 * w)" in code and "+     h = torch.tanh(3 * w).detach()" in code
    assert [line for line in code if line.startswith(" ")] == ["      return (h * w - 1) ** 2"]
    recorded = widgets.compare(lambda x: x * 2, lambda x: x * x, x=1.0).frame["code"]
    assert recorded == "  MulBackward0: x * y" or recorded.startswith(("- Mul", "  Mul"))


def test_equal_runs_end_with_a_sentence_that_says_so():
    panel = widgets.compare(good, good, w=0.5).move(step=99)
    assert panel.sentence.endswith("The two runs are the same, bit for bit.")
    assert {row[3] for row in panel.rows} == {"same"}


def test_the_input_of_forward_and_back_is_dragged_and_every_number_follows():
    panel = widgets.forward_and_back().move(step=7, value=2.0)
    assert panel.sentence == "Back: x (AccumulateGrad) receives 48; x.grad becomes 48."
    assert [row[1] for row in panel.rows] == ["2", "6", "8", "64"]
    assert panel.picture().count('data-along-x="value"') == 1


def test_forward_and_back_says_where_the_function_takes_another_way():
    panel = widgets.forward_and_back(lambda x: x * 2 if x.item() > 0 else torch.exp(x), x=1.0)
    assert "runs other operations here; forward_and_back(f, x=-1) shows them" in panel.move(value=-1.0).sentence


def test_a_tensor_in_forward_and_back_stays_as_it_is():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert [c["name"] for c in widgets.forward_and_back(lambda x: (x * 2).sum(), x=x).controls] == ["step"]
