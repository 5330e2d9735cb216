"""A traceback in a notebook shows the student's own lines and the message; the engine's frames are there on demand."""

import re
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

import autolab
from autolab.utils.tracebacks import chain, short, shorten

CELLS = {
    "syntax before": "x = (",
    "import": "import autolab as torch\nx = torch.ones(3, requires_grad=True)",
    "shape": "torch.ones(2, 3) @ torch.ones(2, 3)",
    "%tb": "%tb",
    "rule": """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, g):
        return g * missing
Double.apply(x).sum().backward()""",
    "from": """\
try:
    x.sum(dim=7)
except IndexError as error:
    raise ValueError("no such dim") from error""",
    "interrupt": "x.register_hook(lambda g: (_ for _ in ()).throw(KeyboardInterrupt))\nx.sum().backward()",
    "inside": "torch.nn.Linear(3, 3)('a')",
    "loader": "list(torch.utils.data.DataLoader([1], collate_fn=lambda batch: 1 / 0))",
    "anomaly": "with torch.autograd.detect_anomaly():\n    (x - 2).sqrt().sum().backward()",
    "syntax": "x = (",
    "indentation": "if x:\nx",
    "own": "{}['a']",
    "verbose": "%xmode Verbose",
    "shape verbose": "torch.ones(2, 3) @ torch.ones(2, 3)",
}

MEANT = {
    "x.sofmax()": "AttributeError: 'Tensor' object has no attribute 'sofmax'. Did you mean: 'softmax'?",
    "torch.sofmax": "AttributeError: module 'autolab' has no attribute 'sofmax'. Did you mean: 'softmax'?",
    "torch.nn.Linaer": "module 'autolab.nn' has no attribute 'Linaer'. Did you mean: 'Linear'?",
    "torch.optim.Adm": "module 'autolab.optim' has no attribute 'Adm'. Did you mean: 'Adam'?",
    "torch.nn.functional.crossentropy": "Did you mean: 'cross_entropy'?",
    "torch.func.jacrv": "Did you mean: 'jacrev'?",
    "torch.nn.Linear(1, 1).wieght": "'Linear' object has no attribute 'wieght'. Did you mean: 'weight'?",
    "from autolab.nn import Linaer": "Did you mean: 'Linear'?",
    "torhc.ones(3)": "NameError: name 'torhc' is not defined. Did you mean: 'torch'?",
    "torch.softmax(x, dmi=0)": "TypeError: softmax() got an unexpected keyword argument 'dmi'. Did you mean",
    "torch.nn.Linear(3, 4, biass=True)": "unexpected keyword argument 'biass'. Did you mean",
}
LIKE_NOTHING = {
    "x.__shape__": "AttributeError: 'Tensor' object has no attribute '__shape__'",
    "x.zqxj": "AttributeError: 'Tensor' object has no attribute 'zqxj'",
}
CELLS |= {"context": "%xmode Context"} | {source: source for source in [*MEANT, *LIKE_NOTHING]}


@pytest.fixture(scope="module")
def shown():
    """What a kernel shows for each of the cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3", allow_errors=True).execute()
    texts = ["\n".join(line for o in cell.outputs for line in o.get("traceback", [o.get("text", "")])) for cell in cells]
    return {name: re.sub(r"\x1b\[[0-9;]*m", "", text) for name, text in zip(CELLS, texts)}


def test_an_error_inside_autolab_shows_the_students_line_and_the_message(shown):
    assert "----> 1 torch.ones(2, 3) @ torch.ones(2, 3)" in shown["shape"]
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" in shown["shape"]
    assert "/autolab/" not in shown["shape"]
    assert shown["shape"].count("---->") == 1


def test_the_last_line_says_how_many_frames_are_hidden_and_how_to_see_them(shown):
    assert re.search(r"\n\(\d frames inside autolab are not shown; %tb shows all\)$", shown["shape"])
    assert "/autolab/torch_api/linalg.py" in shown["%tb"] and "not shown" not in shown["%tb"]


def test_a_long_message_breaks_at_words(shown):
    message = shown["shape"].splitlines()[5:-1]
    assert len(message) > 1 and max(map(len, message)) <= 100
    assert "the inner lengths of [2, 3] and [2, 3] are 3 and 2." in " ".join(message)


def test_verbose_mode_shows_every_frame(shown):
    assert "/autolab/torch_api/linalg.py" in shown["shape verbose"]


def test_an_error_in_a_students_backward_shows_that_line(shown):
    assert "----> 8 Double.apply(x).sum().backward()" in shown["rule"]
    assert "----> 7         return g * missing" in shown["rule"]
    assert "/autolab/" not in shown["rule"]


def test_a_students_function_that_autolab_calls_is_shown(shown):
    assert shown["loader"].count("----> 1") == 2 and "lambda" in shown["loader"]
    assert "/autolab/" not in shown["loader"]


def test_an_interrupted_backward_is_short_too(shown):
    assert "KeyboardInterrupt" in shown["interrupt"] and "----> 2 x.sum().backward()" in shown["interrupt"]
    assert "/autolab/" not in shown["interrupt"]


def test_a_chained_error_is_short_too(shown):
    assert "IndexError: Dimension out of range" in shown["from"] and "ValueError: no such dim" in shown["from"]
    assert "direct cause" in shown["from"] and "/autolab/" not in shown["from"]


def test_an_error_caught_inside_autolab_is_not_shown(shown):
    assert "TypeError: linear(): argument 'input' (position 1) must be Tensor, not str" in shown["inside"]
    assert "During handling" not in shown["inside"]


def test_anomaly_mode_names_no_line_of_jupyter(shown):
    assert "(x - 2).sqrt()" in shown["anomaly"] and "IPython" not in shown["anomaly"]


def test_a_cell_that_is_no_python_looks_as_it_does_without_autolab(shown):
    assert shown["syntax"].replace("[11]", "[1]") == shown["syntax before"]
    assert "expected an indented block" in shown["indentation"] and "ipykernel" not in shown["indentation"]


def test_an_error_of_the_students_own_gets_no_note(shown):
    assert shown["own"].endswith("KeyError: 'a'")


@pytest.mark.parametrize("source", MEANT)
def test_a_name_that_is_not_there_says_what_was_meant(shown, source):
    text = shown[source].replace("\n", " ")
    assert MEANT[source] in text and text.count("Did you mean") == 1


@pytest.mark.parametrize("source", LIKE_NOTHING)
def test_a_name_like_no_other_and_one_of_pythons_own_get_no_advice(shown, source):
    assert shown[source].endswith(LIKE_NOTHING[source])


# -- without a kernel ------------------------------------------------------------------------------


def test_a_handler_that_is_there_already_stays():
    taken = SimpleNamespace(custom_exceptions=(ValueError,))
    shorten(taken)  # it has no set_custom_exc
    free, given = SimpleNamespace(custom_exceptions=()), []
    free.set_custom_exc = lambda *handler: given.append(handler)
    shorten(free)
    assert len(given) == 1


def test_an_error_is_as_before_once_it_has_been_shown():
    with pytest.raises(TypeError) as caught:
        autolab.nn.Linear(3, 3)("a")
    before = [(each.__traceback__, each.__suppress_context__) for each in chain(caught.value)]
    with short(caught.value) as hidden:
        assert hidden and caught.value.__traceback__ is not before[0][0]
    assert [(each.__traceback__, each.__suppress_context__) for each in chain(caught.value)] == before


def test_an_error_that_is_its_own_cause_has_an_end():
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert chain(first) == [first, second]
