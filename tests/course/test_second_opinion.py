"""Whose derivative it is, judged outside: by what a rule answers where the engine takes none."""

import os
import re
import time
import zlib
from pathlib import Path

import nbformat
import pytest

from autolab import formula
from autolab.course.grading.derivatives import is_plain
from autolab.course.grading.grade import COMPLEX, SUSPICIOUS, _reasons
from autolab.course.grading.roots import has_negative_root
from autolab.course.grading.sandbox import Limits, Sandbox, best_mode
from autolab.course.grading.worker import Job, _sandbox, grade
from autolab.course.notebook import from_markdown
from autolab.course.release import form_of_source
from autolab.engine.tensor import TABLE

from .engine_users import HONEST, LATE, NUMERIC, RIGHT, USERS
from .hostile import TEXT
from .test_hostile import FULL, submitted

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(cell=4.0, total=30.0)
FORM = form_of_source(from_markdown(TEXT))
pytestmark = pytest.mark.skipif(best_mode() != "bubblewrap", reason="bubblewrap does not work here")


def graded(answer):
    return grade(Job("eve", "ps", "n", submitted(answer), (), FORM, 11, LIMITS))


@pytest.fixture(scope="module", autouse=True)
def box():
    yield
    _sandbox(None, LIMITS, os.getpid()).close()
    _sandbox.cache_clear()


@pytest.mark.parametrize("name", USERS)
def test_who_leaves_the_derivative_to_the_engine_is_seen(name):
    done = graded(USERS[name])
    assert "engine called" in {d["family"] for d in done.diagnoses}
    assert done.scores["square-check"] < 8 and done.scores["exp-check"] == 8


@pytest.mark.parametrize("name", HONEST)
def test_a_right_answer_that_looks_like_it_gets_all_points(name):
    done = graded(HONEST[name])
    assert (done.scores, done.diagnoses) == (FULL, [])


def test_a_plain_answer_is_not_asked_twice():
    assert is_plain(RIGHT) and is_plain(HONEST["a trial below"])


@pytest.mark.parametrize("name", USERS)
def test_no_answer_that_reaches_the_engine_is_taken_for_plain(name):
    assert not is_plain(USERS[name])


@pytest.mark.parametrize("path", sorted((ROOT / "exercises/source").glob("ps*/*.ipynb")), ids=lambda path: path.parent.name)
def test_solutions_get_all_points_where_the_engine_takes_no_derivatives(path, monkeypatch):
    monkeypatch.setattr("autolab.course.grading.second_opinion.is_plain", lambda source: False)
    source = nbformat.read(path, as_version=4)
    form = form_of_source(source)
    done = grade(Job("eve", "ps", "n", nbformat.writes(source), (), form, 11, LIMITS))
    assert {k: v for k, v in done.scores.items() if v is not None} == {c.name: c.points for c in form if c.grade and not c.solution}
    assert (done.diagnoses, done.suspicious) == ([], [])


@pytest.mark.parametrize("name", NUMERIC)
def test_numerical_differentiation_to_all_digits_is_listed_by_its_source(name):
    done = graded(NUMERIC[name])
    assert done.scores == FULL
    assert any("numerical differentiation" in said for said in done.suspicious)


FORMULAS = """
import gc, types
from autolab.check import SPECS
from autolab.course.grading.derivatives import functions_used
from autolab.engine.tensor import TABLE
gc.unfreeze()
found = [f for f in gc.get_objects() if isinstance(f, types.FunctionType) and f.__code__.co_varnames[:1] == ("g",) and f.__code__.co_argcount and f.__code__.co_filename[0] != "<"
         and f.__module__.startswith(("autolab.rules", "autolab.fast.kernels", "autolab.check.run.exercises"))]
rows = {*TABLE.values(), *(spec.row for spec in SPECS.values() if spec.row is not None)}
forwards = functions_used(f for row in rows for f in (row.forward, row.compute))
print(*sorted({f"{f.__module__}.{f.__name__}" for f in found if f not in forwards and f.__code__.co_names != ("RuntimeError",)}))
"""


def test_no_formula_of_the_table_is_left_where_the_engine_takes_no_derivatives():
    said = []
    with Sandbox("bubblewrap", LIMITS) as first:
        for box in (first, first.without_derivatives):
            session = box.open()
            said.append(session.ask("run", FORMULAS, "a")["text"].split())
            session.close()
    with_formulas, without = said
    assert "autolab.check.run.exercises.softmax_back" in with_formulas
    assert without == []


FORMULA_TEXTS = """
import gc, zlib
gc.unfreeze()
texts = {text for found in gc.get_objects() for text in gc.get_referents(found) if type(text) is str and 8 < len(text) < 500}
print(len(CODES.intersection(zlib.crc32(text.encode("utf-8", "replace")) for text in texts)))
"""


def test_the_text_of_no_formula_is_left_where_the_engine_takes_no_derivatives():
    texts = {formula.body(rule.function) for row in TABLE.values() for rule in row.rules.values()}
    codes = {zlib.crc32(text.encode()) for text in texts if len(text) > 8 and " " in text}
    said = []
    with Sandbox("bubblewrap", LIMITS) as first:
        for box in (first, first.without_derivatives):
            session = box.open()
            said.append(session.ask("run", FORMULA_TEXTS.replace("CODES", repr(codes)), "a")["text"])
            session.close()
    assert int(said[0]) > 50 and int(said[1]) == 0


VALUES = """
import warnings
lines = []
import autolab as torch
warnings.simplefilter("ignore")
from autolab.torch_api.public import DECLARED
quiet = {"creation", "more_creation", "random", "settings"}
names = [n for d in DECLARED if d.package and d.function.__module__.rpartition(".")[2] not in quiet for n in d.names]
with torch.no_grad():
    for function in [getattr(part, name) for part in (torch, torch.nn.functional, torch.linalg) for name in dict.fromkeys(names) if hasattr(part, name)]:
        for shape in ((3,), (2, 2), (1, 1, 4, 4)):
            x = torch.linspace(0.1, 0.9, torch.Size(shape).numel()).reshape(shape)
            for arguments in ((x,), (x, x), (x, 0), (x, 2)):
                torch.manual_seed(0)
                try: said = str(function(*arguments))
                except Exception as error: said = f"{type(error).__name__}: {error}"[:60]
                lines.append((function.__name__, shape, len(arguments), said, "here the engine" in said))
"""


def test_values_are_computed_as_before_where_the_engine_takes_no_derivatives():
    said = []
    with Sandbox("bubblewrap", Limits(cell=60.0, busy=40.0)) as first:
        for box in (first, first.without_derivatives):
            session = box.open()
            assert session.ask("run", VALUES, "a")["error"] is None
            said.append(session.ask("run", "print(len(lines), hash(str(lines)), sorted({l[0] for l in lines if l[4]}))", "a")["text"])
            session.close()
    assert said[0] == said[1] and int(said[0].split()[0]) > 1000


WAYS_TO_COMPLEX = (
    "pow(-1, .5)", "np.power(-1 + 0, .5)", "(-1.0) ** (1 / 2)", "np.roots([1, 0, 1])", "np.linalg.eigvals(a)", "np.fft.fft(x)",
    "x.astype('D')", "np.zeros(3, \"c16\")", "np.lib.scimath.sqrt(-1)", "torch.view_as_complex(x)", "torch.polar(a, b)", "x.astype('g')",
    "np.dtype('<f16')", "np.typecodes['Complex']", "(-x) ** .5", "m = -1.0\nm ** 0.5", "m, h = -1.0, 1 / 2\ni = m ** h", "(0 - x) ** 1.5",
    "m = -2.\nm **= .25", "k = 3 - 4\nm = k\npow(m, 1 / 2)", "def f(m=-1.0):\n    return m.__pow__(0.5)", "[-1.0][0] ** 0.5",
    "for m in (-1.0, 2.0):\n    m ** 0.5", "%time 1\n(-1 * x) ** 0.5", "float(-1) ** 0.5", "np.emath.sqrt(m)",
)  # fmt: skip


@pytest.mark.parametrize("source", WAYS_TO_COMPLEX)
def test_what_makes_complex_numbers_or_more_digits_is_listed(source):
    assert COMPLEX in _reasons(source)


@pytest.mark.parametrize(
    "source",
    [
        "x.reshape(3, order='F')",
        "(-x) ** 2",
        "(-1) ** n",
        "-(x ** 0.5)",
        "-x ** 0.5",
        "(1 - x) ** 0.5",
        "x ** -0.5",
        "m = -1\nm ** 2",
        "roots = []",
        "names['x']",
        "fft = 3",
    ],
)
def test_what_makes_none_is_not(source):
    assert COMPLEX not in _reasons(source)


def test_time_to_read_a_cell_grows_with_its_length():
    def seconds(source):
        start = time.process_time()
        is_plain.__wrapped__(source)
        [re.search(words, source) for words in SUSPICIOUS.values()]
        has_negative_root(source)
        return time.process_time() - start

    for piece in (
        "y.backward()\n",
        "1.",
        "a.",
        "(",
        "-",
        "x[0]\n",
        "1j",
        "np.a = ",
        "1_",
        "lambda: ",
        "m ** -",
        "m = -m * m ** .5\n",
        "-1 * m *",
    ):
        short, long = (min(seconds(piece * (n // len(piece))) for _ in range(2)) for n in (10_000, 80_000))
        assert long < 24 * short + 0.05, piece


@pytest.mark.parametrize("name", LATE)
def test_an_answer_that_gives_no_second_one_is_listed_and_costs_nothing(name):
    done = graded(LATE[name])
    assert done.scores == FULL
    assert any("could not be asked without" in said for said in done.suspicious)
