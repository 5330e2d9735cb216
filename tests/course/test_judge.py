"""What crosses between sandbox and judge, and what the judge remembers; the sandbox is in this process here."""

import json
import pickle
import socket
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from nbformat import v4

import autolab
from autolab.course.grading import grade, handlers, judge, protocol
from autolab.course.grading import sandbox as sandbox_module
from autolab.course.grading.grade import NotebookGrader
from autolab.course.grading.handlers import Handlers
from autolab.course.grading.sandbox import Limits, RemoteError, Reply, Sandbox, Session, works

SQUARE = "def backward(g, x):\n    return {}\n"


def opened(message):
    head, _ = protocol.PREFIX.unpack(message[:8])
    return protocol.read(message[8 : 8 + head], message[8 + head :])


def session(answer, code=SQUARE, asked=None, busy=0.0):
    """What a judge asks, answered by a student's code."""
    names = {}
    exec(compile(code.format(answer), "<ipython-input-1>", "exec"), names)
    shell = SimpleNamespace(user_ns=names, display_formatter=SimpleNamespace(), transform_cell=None)
    handlers = Handlers(shell, None, busy).handlers

    def ask(what, *arguments):
        if asked is not None:
            asked.append(what)
        if what != "put":
            return handlers[what](*arguments)
        name, arguments = pickle.loads(arguments[0][protocol.PREFIX.size :])  # behind it: how long is waited
        reply = protocol.encode({"ok": handlers[name](*arguments)})
        head, _ = protocol.PREFIX.unpack(reply[:8])
        return Reply(SimpleNamespace(broken=False), reply[8 : 8 + head], reply[8 + head :])

    return ask


def points(answer, seed=3):
    return judge.Judge(session(answer), seed).run('from autolab.check import check\ncheck("square", backward)', "<test>").report.points


def test_the_same_numbers_are_judged_once_and_others_for_themselves(monkeypatch):
    times, judged = [], judge.judge
    monkeypatch.setattr(judge, "judge", lambda *a, **k: times.append(1) or judged(*a, **k))
    monkeypatch.setattr(judge, "_CASE_SETS", {})
    full = points("2 * x * g")
    assert points("(x * 2) * g") == full > points("3 * x * g")
    assert len(times) == 2
    assert points("2 * x * g", seed=4) == full
    assert len(times) == 3


ORDER = """
calls = []
def order(root):
    calls.append(1)
    {}
    todo, seen = [root], {{id(root): root}}
    while todo:
        for parent in todo.pop().parents:
            if id(parent) not in seen:
                seen[id(parent)] = parent
                todo.append(parent)
    return sorted(seen.values(), key=lambda node: -node.number)
"""
SLOW = "if len(calls) > 4:\n        while True: pass"
IN_ORDER = 'from autolab.check import check\ncheck("backward_order", order, seed=5)'


def ordered(answer, asked=None, busy=0.0, times=1):
    judged = judge.Judge(session(answer, ORDER, asked, busy), 3)
    return [judged.run(IN_ORDER, "<test>").report for _ in range(times)][-1]


@pytest.mark.parametrize(("test", "same"), [("seed=5", 1), ("seed=6", 2), ("seed=5, points=7", 1)])
def test_a_verdict_on_the_same_numbers_is_that_of_this_seed_and_these_points(test, same, monkeypatch):
    times, judged = [], judge.judge_behaviour
    monkeypatch.setattr(judge, "judge_behaviour", lambda *a, **k: times.append(1) or judged(*a, **k))
    monkeypatch.setattr(judge, "_SCENE_SETS", {})
    ordered("pass")
    report = judge.Judge(session("pass", ORDER), 3).run(IN_ORDER.replace("seed=5", test), "<test>").report
    assert len(times) == same and report.points == report.max_points
    assert report.max_points == (7 if "points" in test else report.max_points)


def one_by_one(monkeypatch):
    monkeypatch.setattr(judge.SandboxPlayer, "prepare", lambda self, question: None)


def test_all_scenes_are_one_question_and_the_same_numbers_are_judged_once(monkeypatch):
    asked, times, judged = [], [], judge.judge_behaviour
    monkeypatch.setattr(judge, "judge_behaviour", lambda *a, **k: times.append(1) or judged(*a, **k))
    first, second = ordered("pass", asked), ordered("return [root]", asked)
    again = ordered("calls.clear()", asked)
    assert [a for a in asked if a != "kinds"] == ["put"] * 3
    assert (first.points, again) == (first.max_points, first)
    assert second.points < first.points
    assert len(times) == 2


@pytest.mark.parametrize(
    "answer", ["pass", "return 2 * [root]", "return [root]", "return sorted([root], key=print)", "raise NotImplementedError"]
)
def test_scenes_in_one_question_get_the_verdict_that_they_get_one_by_one(answer, monkeypatch):
    together = ordered(answer)
    one_by_one(monkeypatch)
    assert {**ordered(answer).to_dict(), "seconds": 0} == {**together.to_dict(), "seconds": 0}


def test_scenes_before_one_that_finds_no_end_keep_their_points_and_a_second_test_waits_half_as_long():
    report = ordered(SLOW, busy=0.4)
    assert 0 < report.points < report.max_points
    assert "did not come to an end within 0.28 seconds" in str(report)
    assert "within 0.14 seconds" in str(ordered(SLOW, busy=0.4, times=2))


def test_no_exception_of_a_student_ends_a_loop_of_the_test_as_if_it_were_done():
    test = "assert all(map(lambda g: backward(g, 1.0) == 2 * g, [2.0, 3.0]))"
    assert judge.Judge(session("2 * g"), 1).run(test, "<test>").error is None
    ask = session("2 * g")
    judged = judge.Judge(lambda what, *a: told(StopIteration()) if what == "call" else ask(what, *a), 1).run(test, "<test>")
    assert judged.error and judged.error[0] == "RemoteError"


def said(answer):
    report = judge.Judge(session(answer), 3).run('from autolab.check import check\ncheck("square", backward)', "<test>").report
    return report.diagnoses[0].text


def test_an_array_that_is_far_too_large_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(judge, "_CASE_SETS", {})
    assert said("__import__('numpy').ones(1 << 18)") == (
        "it returned an array of shape (262144,), 262144 entries; an answer here has at most 16384"
    )
    assert "entries" not in said("__import__('numpy').ones(1000)")  # which is wrong in a way that is explained


@pytest.mark.parametrize("test", ["backward(1.0, np.ones(2))", "backward(torch.ones(2), torch.ones(2))"])
def test_a_test_of_an_instructor_does_not_get_it_either(test):
    source = f"import numpy as np\nimport autolab as torch\n{test}"
    large = "__import__('numpy').ones((1 << 18, 1))"
    assert judge.Judge(session(large), 1).run(source, "<test>").error[0] == "TooLarge"
    assert judge.Judge(session(large), 1).run(source.replace("ones(2)", "ones(1 << 13)"), "<test>").error is None


def told(error):
    raise RemoteError(f"{type(error).__name__}: {error}")


ARRAYS = (
    np.ones((2, 3)), np.arange(4)[::2], np.ones((2, 3), np.float32).T, np.array([True, False]), np.array(2.5), np.zeros((0, 3)),
)  # fmt: skip


def asked(*arguments):
    """What a session gets of a question."""
    near, far = socket.socketpair()
    with near, far:
        far.sendall(protocol.question("call", arguments))
        return handlers._question(near)[1]


def test_an_array_arrives_as_the_engine_knows_it():
    for array in ARRAYS:
        for got in (opened(protocol.encode(array)), *asked(array)):
            assert got.dtype is np.dtype(array.dtype.str)
            assert got.flags.writeable
            assert got.shape == array.shape
            assert np.array_equal(got, array)


def test_an_array_that_is_asked_about_twice_is_two_arrays():
    first, second = asked(ARRAYS[0], ARRAYS[0])
    first[:] = 5
    assert np.array_equal(second, np.ones((2, 3)))


def test_what_a_student_gets_in_a_call_owns_its_memory():
    got = []
    shell = SimpleNamespace(user_ns={"f": lambda *a, **k: got.extend([*a, *k.values()])})
    arguments = asked("f", (ARRAYS[0], [ARRAYS[1], 2]), {"c": ARRAYS[2]}, [])
    Handlers(shell, None).call(*arguments)
    a, (b, two), c = got
    assert all(x.base is None for x in (a, b, c)) and two == 2


def test_only_plain_data_is_asked_about():
    for value in (object(), [judge.Judge], {"f": len}, np.array([object()])):
        with pytest.raises(TypeError, match="handed over"):
            protocol.question("call", (value,))
    with pytest.raises(ValueError, match="too long"):
        protocol.question("call", ("x" * (protocol.TEXT + 1),))


class Evil:
    """Leaves a trace where it is unpickled."""

    traces: ClassVar[list] = []

    def __reduce__(self):
        return self.traces.append, (1,)


def test_the_judge_reads_no_pickle():
    evil = pickle.dumps(Evil())
    for body in (evil, protocol.question("call", (1,))[protocol.PREFIX.size :]):
        for message in (protocol.PREFIX.pack(0, len(body)) + body, protocol.PREFIX.pack(len(body), 0) + body):
            with pytest.raises(protocol.Broken, match="not an answer"):
                exchanged(message)
    assert not Evil.traces


@pytest.mark.parametrize(
    "array", [["<f8", 1 << 40], ["<f8", -1], ["|O", 1], ["<f8", 2], ["<f8", 1.0], [["<f8"], 1], ["<f8", *[1] * 9], "<f8"]
)
def test_an_array_that_is_not_there_is_refused(array):
    with pytest.raises(protocol.Broken):
        protocol.read(json.dumps({"value": {"a": 0}, "arrays": [array]}).encode(), bytes(8))


@pytest.mark.parametrize(
    "mode", ["limits", pytest.param("bubblewrap", marks=pytest.mark.skipif(not works("bubblewrap"), reason="no bubblewrap"))]
)
def test_a_loop_ends_after_its_seconds_of_computing(mode):
    with Sandbox(mode, Limits(busy=0.3, cell=60.0)) as sandbox:
        session = sandbox.open()
        assert session.ask("run", "import time\ntime.sleep(0.6)", "waits")["error"] is None
        with pytest.raises(protocol.Broken, match="took too long") as caught:
            session.ask("run", "while True:\n    try:\n        1 / 0\n    except BaseException:\n        pass", "loops")
        session.close()
        assert caught.value.late


def exchanged(*parts):
    """What is read of these bytes, sent one after the other."""
    near, far = socket.socketpair()
    with near, far:
        for part in parts:
            far.sendall(part)
        far.shutdown(socket.SHUT_WR)
        return protocol.receive(near, 5.0)


def test_a_message_arrives_however_it_is_cut():
    sent = {"a": np.arange(5000.0), "b": "text"}
    message = protocol.encode(sent)
    for cut in (0, 3, 8, 20, len(message) - 1):
        assert np.array_equal(exchanged(message[:cut], message[cut:])["a"], sent["a"])
    with pytest.raises(protocol.Broken, match="ended"):
        exchanged(message[:-1])


def test_two_answers_to_one_question_are_none():
    with pytest.raises(protocol.Broken, match="too much"):
        exchanged(protocol.encode(1), protocol.encode(2))
    with pytest.raises(protocol.Broken, match="too much"):
        exchanged(protocol.PREFIX.pack(protocol.HEADER + 1, 0))


CELLS = ["import numpy as np", "def f(x):\n    return 2 * x\nclass K:\n    pass"]
TESTS = ["assert f(1) == 2", "2.0 if K and f(2) == 4 else 0.0"]


def test_of_which_kind_the_names_are_is_said_with_the_cell_that_makes_them(monkeypatch):
    asked, ask = [], Session.ask
    monkeypatch.setattr(Session, "ask", lambda self, what, *arguments: asked.append(what) or ask(self, what, *arguments))
    cells = [v4.new_code_cell(source) for source in CELLS]
    facts = {"grade": True, "solution": False, "locked": True, "points": 2.0}
    cells += [v4.new_code_cell(s, metadata={"nbgrader": {**facts, "grade_id": f"t{k}"}}) for k, s in enumerate(TESTS)]
    with Sandbox("limits") as sandbox:
        graded = NotebookGrader(sandbox, 1).grade(v4.new_notebook(cells=cells)).notebook
    assert asked == ["run", "run", "call", "call"]
    assert graded.cells[-1].outputs[0].data["text/plain"] == "2.0" and not graded.cells[-2].outputs


def test_what_a_student_reads_of_an_error_is_their_own_lines():
    try:
        autolab.ones(2, 3) @ autolab.ones(2, 3)
    except RuntimeError as error:
        text = "".join(handlers._traceback(error))
    assert "autolab.ones(2, 3) @ autolab.ones(2, 3)" in text and "cannot be multiplied" in text
    assert "surface" not in text


TEXTS = ["", "a" * 1000, "a" * 1001, "\N{GRINNING FACE}" * 190_000, "\0" * 5000, "x" * protocol.TEXT]


@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_a_text_arrives_as_it_was_sent(text):
    sent = [text, (text, {"key": text}), np.ones(2)]
    got = opened(protocol.encode(sent))
    assert got[:2] == [text, (text, {"key": text})] and np.array_equal(got[2], np.ones(2))


@pytest.mark.parametrize("value", ["x" * (protocol.TEXT + 1), {"k" * 1001: 1}], ids=["text", "key"])
def test_a_text_that_is_too_long_is_refused_and_not_cut(value):
    with pytest.raises(ValueError, match="characters is too long to hand over: at most 1,000"):
        protocol.encode(value)


@pytest.mark.parametrize(
    "value", [{"s": 0}, {"s": 1}, {"s": -1}, {"s": None}, "x" * 1001, {"d": {"k" * 1001: 1}}], ids=lambda value: str(value)[:20]
)
def test_a_text_that_is_none_is_refused(value):
    with pytest.raises(protocol.Broken):
        protocol.read(json.dumps({"value": value, "arrays": [["<f8", 1]]}).encode(), bytes(8))


@pytest.mark.parametrize("value", [[{"a": 0}, {"a": 0}], {"t": [{"a": 0}, {"a": 0}]}, [{"s": 0}, {"s": 0}], [{"a": 0}, {"s": 0}]], ids=str)
def test_an_array_that_is_named_twice_is_refused(value):
    with pytest.raises(protocol.Broken):
        protocol.read(json.dumps({"value": value, "arrays": [["|u1", 8]]}).encode(), bytes(8))


@pytest.mark.parametrize("key", ["shown", "results"])
def test_of_what_a_forged_answer_shows_no_more_is_kept_than_of_another(key):
    text = 30_000 * "x"
    shown = grade._outputs({key: 1000 * [{"text/plain": text} if key == "shown" else text], "error": {"traceback": 1000 * [text]}})
    assert len(shown) <= handlers.SHOWS + 1 and len(json.dumps(shown)) < 450_000
    assert grade._outputs({key: {"a": 1}, "error": {"traceback": 7}})


def test_bytes_that_are_no_text_are_read_as_far_as_they_are():
    said = json.dumps({"value": {"s": 0}, "arrays": [["|u1", 3]]}).encode()
    assert protocol.read(said, b"a\xff\xfe") == "a" + 2 * "\N{REPLACEMENT CHARACTER}"


def test_a_function_gets_and_gives_long_texts_whole():
    with Sandbox("limits") as sandbox:
        student = sandbox.open()
        student.ask("run", "def twice(x):\n    return x + x", "c")
        asked = judge.Judge(lambda what, *arguments: student.ask(what, *arguments), 1)
        assert asked.run("text = 9000 * 'ab'\nassert twice(text) == 2 * text", "<test>").error is None
        student.close()


@pytest.mark.parametrize("code", ["print(word, end='')", "display(Word())", "Word()", "raise ValueError(word)"])
def test_of_what_a_cell_shows_as_much_arrives_as_is_said_and_a_cut_is_marked(code):
    cell = "word = {} * 'x'\nclass Word:\n    __repr__ = lambda self: word\n" + code
    most = handlers.ERROR if "raise" in code else handlers.OUTPUT
    with Sandbox("limits") as sandbox:
        short, long = (
            NotebookGrader(sandbox, 1).grade(v4.new_notebook(cells=[v4.new_code_cell(cell.format(n))])).notebook.cells[0].outputs[0]
            for n in (most, most + 1)
        )
    text, longer = (str(o.get("evalue") or o.get("text") or o.data["text/plain"]) for o in (short, long))
    assert text == most * "x"
    assert longer in (text + f"... (cut after {most:,} characters)", text + "\n... 1 more characters\n")


def test_an_output_of_every_kind_at_its_longest_costs_no_cell():
    face = "\N{GRINNING FACE}"
    cell = f"for _ in range(20):\n    display({face!r} * 30_000)\n    print({face!r} * 3000)\nraise ValueError({face!r} * 3000)"
    with Sandbox("limits") as sandbox:
        graded = NotebookGrader(sandbox, 1).grade(v4.new_notebook(cells=[v4.new_code_cell(cell)])).notebook.cells[0]
    assert graded.outputs[0].text.startswith(face * 3000) and graded.outputs[1].text.startswith("(not shown: ")


def test_a_scene_that_sleeps_is_waited_for_no_longer_than_a_cell(monkeypatch):
    """Time is counted: the process that sleeps takes all that it is given."""
    waited, ask = [], session("pass", ORDER)

    def sleeps(what, *arguments):
        if what != "put":
            return ask(what, *arguments)
        waited.append(arguments[1] if len(arguments) > 1 else 1.0)
        if len(waited) == 1 or len(waited) == 4:  # all scenes in one question, then the third of them
            raise protocol.too_long()
        return ask(what, arguments[0])

    report = judge.Judge(sleeps, 3).run(IN_ORDER, "<test>").report
    assert 0 < report.points < report.max_points and "took too long" in str(report)
    assert waited[0] + waited[-1] <= 1.0 and len(waited) == 4


def test_a_question_is_waited_for_as_long_as_its_share_says(monkeypatch):
    now, waits = [100.0], []

    def receive(connection, seconds):
        waits.append(seconds)
        now[0] += seconds
        raise protocol.too_long()

    monkeypatch.setattr(sandbox_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(protocol, "receive_raw", receive)
    monkeypatch.setattr(protocol, "send", lambda *_: None)
    for share, until, expected in ((1.0, 1e9, 8.0), (0.25, 1e9, 2.0), (0.75, now[0] + 11, 1.0)):
        asked = Session(SimpleNamespace(limits=Limits()), 1, None)
        asked.until = until
        with pytest.raises(protocol.Broken, match="too long"):
            asked.put(b"", share)
        assert waits.pop() == expected


@pytest.mark.parametrize("what", ["run", "run_through"])
def test_a_long_cell_arrives_whole(what):
    with Sandbox("limits") as sandbox:
        session = sandbox.open()
        session.ask(what, "word = '" + 190_000 * "\N{GRINNING FACE}" + "'\ndef last():\n    return len(word)", "long")
        assert session.ask("call", "last", (), {}, []) == 190_000
        session.close()
