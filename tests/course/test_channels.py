"""Nothing that one session does is seen by another: after it in the same sandbox, or beside it in another."""

import pytest

from autolab.course.grading.sandbox import Limits, Sandbox, best_mode

from .channels import AFTER, BESIDE

LIMITS = Limits(cell=4.0)
pytestmark = pytest.mark.skipif(best_mode() != "bubblewrap", reason="bubblewrap does not work here")


@pytest.fixture(scope="module", params=["root", "user"])
def boxes(request):
    with Sandbox("bubblewrap", LIMITS) as one, Sandbox("bubblewrap", LIMITS) as other:
        for box in (one, other):
            box.privileged = box.privileged and request.param == "root"
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
@pytest.mark.parametrize("kind", ["two servers", "a server and its fork"])
def test_two_sessions_at_a_time_see_nothing_of_each_other(boxes, kind, name):
    sessions = [box.open() for box in (boxes if kind == "two servers" else (boxes[0], boxes[0].without_derivatives))]
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
