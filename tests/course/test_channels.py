"""Nothing that one session does is seen by another: after it in the same sandbox, or beside it in another."""

import pytest

from autolab.course.grading.sandbox import Limits, Sandbox, WorkerSandbox, best_mode

from .channels import AFTER, BESIDE

LIMITS = Limits(cell=4.0)
pytestmark = pytest.mark.skipif(best_mode() != "bubblewrap", reason="bubblewrap does not work here")


@pytest.fixture(scope="module", params=["root", "user"])
def boxes(request):
    with Sandbox("bubblewrap", LIMITS) as one, Sandbox("bubblewrap", LIMITS) as other:
        for box in (one, other):
            box.privileged = box.privileged and request.param == "root"
        yield one, other


@pytest.fixture(scope="module")
def forks(boxes):
    """The sandboxes of two processes that grade; here they are one, and share its users."""
    boxes[0].start()
    with WorkerSandbox(boxes[0]) as one, WorkerSandbox(boxes[0]) as other:
        other.numbers = one.numbers
        yield one, other


def run(session, source):
    said = session.ask("run", source, "a")
    return said["text"] + (said["error"] or {"value": ""})["value"]


@pytest.mark.parametrize("name", AFTER)
@pytest.mark.parametrize("kind", ["one server", "a server and its fork"])
def test_a_session_leaves_nothing_to_the_next(boxes, kind, name):
    leave, look = AFTER[name]
    said = []
    for source in (look, leave, leave, look):
        reads = kind != "one server" and source is look
        session = (boxes[0].without_derivatives if reads else boxes[0]).open()
        said.append(run(session, source))
        session.close()
    assert said[0] == said[-1] and "GOT" not in said[-1]


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("kind", ["two servers", "a server and its fork", "two forks"])
def test_two_sessions_at_a_time_see_nothing_of_each_other(boxes, forks, kind, name):
    pairs = {"two servers": boxes, "a server and its fork": (boxes[0], boxes[0].without_derivatives), "two forks": forks}
    sessions = [box.open() for box in pairs[kind]]
    said = [run(sessions[i % 2], source) for i, source in enumerate(BESIDE[name])]
    for session in sessions:
        session.close()
    assert said[-1] == ""


def test_a_session_does_not_learn_how_many_came_before(boxes):
    numbers = []
    for _ in range(4):
        session = boxes[0].open()
        numbers.append(int(run(session, "import os; print(os.getuid())")))
        session.close()
    assert [b - a for a, b in zip(numbers, numbers[1:], strict=False)] != [1, 1, 1]


WRITTEN = """
from autolab.engine.tensor import TABLE
from autolab.fast.first_calls import is_counted
print([name for name in ("exp", "mul", "sum", "where") if is_counted(TABLE[name].run)])
"""


def test_the_functions_of_rows_are_written_before_a_session_begins(boxes):
    session = boxes[0].open()
    said = run(session, WRITTEN)
    session.close()
    assert said == "[]\n"


def test_what_exercises_on_behaviour_expect_cannot_be_read(boxes):
    session = boxes[0].open()
    said = run(session, "import glob, autolab; print(glob.glob(autolab.__path__[0] + '/check/behaviour/*'))")
    session.close()
    assert said == "[]\n"
