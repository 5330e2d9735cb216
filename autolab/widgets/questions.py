"""Explorable: questions with an explanation for every answer, and predictions before a cell is run."""

from __future__ import annotations

import html
import math
import numbers
import re

import traitlets

from autolab.utils import progress
from autolab.widgets.base import Explorable

# -- questions ---------------------------------------------------------------------------------


def choice(prompt, options, right):
    """One of several answers.

    Parameters
    ----------
    prompt : str
    options : dict, or list of pairs
        Answer -> what to say about it: why it is right, or what mistake leads to it.
    right : str
        The answer that is right; a key of `options`.
    """
    return _of_options("choice", prompt, options, [right])


def several(prompt, options, right):
    """All that apply. `options`: answer -> what to say about it; `right`: the list of those that apply."""
    return _of_options("several", prompt, options, list(right))


def number(prompt, right, why, wrong=None, tolerance=None):
    """A number, within `tolerance` times its size (or of 1, if it is smaller). 1/3, 2^16 and 1,000,000 are numbers, too.

    why : what to say when it is right; wrong : dict or list of pairs, a wrong number -> what mistake leads to it.
    tolerance : by default 1e-3, and none for a whole number: who counts 2049 where 2048 is right has counted wrongly.
    """
    right = _tidy(right)
    if tolerance is None:
        tolerance = 1e-9 if float(right).is_integer() else 1e-3
    return {
        "kind": "number", "prompt": prompt, "right": float(right), "shown": _number_text(right), "tolerance": float(tolerance), "why": why,
        "wrong": [[_tidy(value), said] for value, said in _pairs(wrong or {})],
    }  # fmt: skip


def _tidy(value):
    """A number without the rounding errors of its computation: 0.3 for 0.1 + 0.2."""
    return float(f"{float(value):.12g}") + 0.0  # no -0


def _pairs(said):
    """What is said to each answer; a list of pairs may name an answer twice, which `autolab.questions.drawn` has to see."""
    return said.items() if isinstance(said, dict) else said


def _number_text(value):
    """A number as people write it: 1,000,000 and 9.5e-07."""
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}"


def shape(prompt, right, why, wrong=None):
    """A shape, such as (3, 4). `wrong`: a wrong shape -> what mistake leads to it."""
    return {
        "kind": "shape", "prompt": prompt, "right": [int(n) for n in right], "shown": str(tuple(right)), "why": why,
        "wrong": [[[int(n) for n in value], said] for value, said in _pairs(wrong or {})],
    }  # fmt: skip


def order(prompt, steps, why, early=None):
    """Put these steps in order; they are given in the right one here, and shown in another.

    early : dict, a step -> what to say if it comes too early: what has to have happened before it.
    """
    steps, early = list(steps), early or {}
    if len(steps) < 2 or len(set(steps)) < len(steps):
        raise ValueError("order() needs at least two steps, all different")
    unknown = [step for step in early if step not in steps[1:]]
    if unknown:
        raise ValueError(f"{unknown[0]!r} cannot come too early: it is none of the later steps, {', '.join(steps[1:])}")
    # always the same other order, so that saved pages do not change: the odd ones first, from behind
    mixed = list(range(len(steps)))[::-1][::2] + list(range(len(steps)))[::-1][1::2]
    if mixed == list(range(len(steps))):
        mixed.reverse()
    given = [{"text": step, "early": early.get(step, "")} for step in steps]
    return {"kind": "order", "prompt": prompt, "options": given, "mixed": mixed, "why": why, "shown": ", then ".join(steps)}


def _of_options(kind, prompt, options, right):
    given = [{"text": text, "why": why, "right": text in right} for text, why in _pairs(options)]
    texts = [option["text"] for option in given]
    unknown = [r for r in right if r not in texts]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is said to be right, but it is none of the options: {', '.join(texts)}")
    return {"kind": kind, "prompt": prompt, "options": given, "shown": "; ".join(right)}


def prediction(prompt, truth, why, wrong=None, choices=None, tolerance=None):
    """What `predict` asks, to be kept in another file than the notebook; the parameters are those of `predict`."""
    wrong = wrong or {}
    if choices is not None:
        missing = [c for c in choices if c != truth and c not in wrong]
        if missing:
            raise ValueError(f"no word about {missing[0]!r}: say in `wrong` what mistake leads to it")
        why = {c: why if c == truth else wrong[c] for c in choices}
    if isinstance(why, dict | list):
        question = choice(prompt, why, truth)
        return {**question, "why": dict(why)[truth]}
    if isinstance(truth, tuple | list):
        return shape(prompt, truth, why, wrong)
    return number(prompt, truth, why, wrong, tolerance)


# -- answers -----------------------------------------------------------------------------------

PLAIN = r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"  # as people write them
# What lies between two lengths can be read in one way only, so a text that is not a shape is refused in one pass.
SHAPE = re.compile(r"[(\[]?\s*((?:\d+(?:\s*[,x×]\s*|\s+|(?![\d\s,x×])))*)[)\]]*")
LONGEST = 200  # characters of a number or a shape


def unread(question, answer):
    """What to say to an answer that cannot be read, and so is not an attempt; an empty text if it can be."""
    kind = question["kind"]
    if kind == "choice":
        known = isinstance(answer, str) and any(o["text"] == answer for o in question["options"])
        return "" if known else "That is none of the answers."
    if kind == "number":
        return "Write a number, such as 0.5 or 1/3." if as_number(answer) is None else ""
    return "Write a shape, such as 3, 4." if kind == "shape" and as_shape(answer) is None else ""


def judge(question, answer):
    """(right, what to say) for an answer: an option's text, several of them, a number, a shape, or the steps in an order."""
    kind = question["kind"]
    if kind in ("several", "order") and not isinstance(answer, str):
        answer = [text for text in answer if isinstance(text, str)] if isinstance(answer, tuple | list | set) else []
    if lacks := unread(question, answer):
        return False, lacks
    if kind == "choice":
        option = next(o for o in question["options"] if o["text"] == answer)
        return option["right"], option["why"]
    if kind == "several":
        wrong = [o for o in question["options"] if o["right"] is not (o["text"] in answer)]
        said = [f"{'Missing' if o['right'] else 'Not'}: {o['text']}. {o['why']}" for o in wrong]
        return not wrong, " ".join(said or [o["why"] for o in question["options"] if o["right"]])
    if kind == "order":
        steps = [o["text"] for o in question["options"]]
        if list(answer) == steps:
            return True, question["why"]
        place = next((i for i, (a, b) in enumerate(zip(answer, steps)) if a != b), len(answer))
        said = f"Up to step {place} it is right." if place else "The first step is another one."
        early = next((o["early"] for o in question["options"] if [o["text"]] == list(answer[place : place + 1])), "")
        return False, f"{said} Too early: {answer[place]}. {early}" if early else said
    value = as_number(answer) if kind == "number" else as_shape(answer)
    if _equal(question, value, question["right"]):
        return True, question["why"]
    known = [(wrong, said) for wrong, said in question["wrong"] if _equal(question, value, wrong)]
    if known and kind == "number":  # two mistakes may lie close together: the nearer one
        known.sort(key=lambda slip: abs(slip[0] - value))
    return False, known[0][1] if known else _near_miss(question, value)


def _near_miss(question, value):
    """What can be said about a wrong answer that nobody expected; it leaves the right one to be found."""
    right = question["right"]
    if question["kind"] == "number":
        slips = [
            (-right, "The size is right; look at the sign."),
            (2 * right, "Off by a factor of 2: what was counted twice?"),
            (right / 2, "Off by a factor of 2: what was left out?"),
            *[(right * 10**k, "The digits are right; count the powers of ten.") for k in (-6, -3, -2, -1, 1, 2, 3, 6)],
        ]
        bigger = "It is larger." if value < right else "It is smaller."
        return next((said for slip, said in slips if right and abs(value - slip) <= 0.01 * abs(slip)), bigger)
    if len(value) != len(right):
        return f"It has {len(right)} {'axis' if len(right) == 1 else 'axes'}."
    if sorted(value) == sorted(right):
        return "These lengths, in another order."
    off = [str(axis) for axis, (length, wanted) in enumerate(zip(value, right)) if length != wanted]
    return f"The number of axes is right; look at axis {' and axis '.join(off)}."


def _equal(question, value, other):
    if question["kind"] == "shape":
        return value == other
    return abs(value - other) <= question["tolerance"] * max(1.0, abs(other))


def as_number(text):
    """The number that a text stands for: 0.5, -2e-3, 1/3, 2^16 or 1,000,000; None if none."""
    if isinstance(text, numbers.Real):
        return None if _too_large(text) else float(text)
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    text = re.sub(r"[\s_]", "", text).replace("\u2212", "-").replace("**", "^")
    found = re.fullmatch(f"({PLAIN})(?:([/^])({PLAIN}))?", text)
    if not found:
        return None
    left, sign, right = found.groups()
    a, b = float(left.replace(",", "")), float((right or "1").replace(",", ""))
    try:
        value = a / b if sign == "/" else a**b if sign else a
    except ArithmeticError:
        return None
    return value if isinstance(value, float) and math.isfinite(value) else None


def _too_large(value):
    """Is this no number that a float can hold?"""
    try:
        return not math.isfinite(value)
    except OverflowError:
        return True


def as_shape(text):
    """The shape that a text or tuple stands for: `3, 4`, `(3, 4)`, `[3]`, `()`; None if none."""
    if isinstance(text, tuple | list):
        whole = all(isinstance(n, numbers.Real) and not _too_large(n) and n == int(n) for n in text)
        return [int(n) for n in text] if whole else None
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        return None
    found = SHAPE.fullmatch(text.strip().removeprefix("torch.Size("))
    return [int(n) for n in re.findall(r"\d+", found[1])] if found else None


class Quiz(Explorable):
    """Questions to answer with the mouse or the keyboard, as often as one likes; each answer gets its explanation.

    It works without a kernel, too. Where there is one, attempts are kept on the learner's machine (`autolab.utils.progress`).
    """

    questions = traitlets.List().tag(sync=True)
    reveal = traitlets.Bool(False, help="whether a first wrong answer shows the right one: a prediction").tag(sync=True)
    attempts = traitlets.List(help="for each question, the answers given: [text, right]").tag(sync=True)

    def __init__(self, title, questions, reveal=False):
        if not questions:
            raise ValueError("a quiz needs at least one question: quiz('04', choice(...), number(...))")
        super().__init__(view="quiz", title=title, questions=list(questions), reveal=reveal, attempts=[[] for _ in questions])
        self.observe(self._keep, "attempts")

    def answer(self, question, answer):
        """Answer question number `question`, counted from 1, from Python. Returns (right, what to say)."""
        if not 1 <= question <= len(self.questions):
            raise IndexError(f"there is no question {question}: this quiz has {len(self.questions)}")
        right, said = judge(self.questions[question - 1], answer)
        if unread(self.questions[question - 1], answer):
            return right, said
        attempts = [list(a) for a in self.attempts]
        attempts[question - 1].append([str(answer), right])
        self.attempts = attempts
        return right, said

    def points(self, answers=None):
        """How many questions are answered right: in the widget, or by `answers`, a list with one answer for each question.

        As the last line of a locked cell it gives that many points. `answers` may be a function that returns the list: so a
        student's answers come out of the box in which `autolab course grade` runs them.
        """
        if answers is not None:
            given = answers() if callable(answers) else answers
            return sum(judge(q, a)[0] for q, a in zip(self.questions, given))
        return sum(any(right for _, right in given) for given in self.attempts)

    def _keep(self, change):
        for i, (old, new) in enumerate(zip(change["old"], change["new"])):
            for text, right in new[len(old) :]:
                progress.remember("quiz", f"{self.title}: {i + 1}", right, text)

    def text(self):
        """The questions as plain text."""
        lines = []
        for i, q in enumerate(self.questions, 1):
            lines.append(f"{i}. {q['prompt']}" if len(self.questions) > 1 else f"Predict: {q['prompt']}" if self.reveal else q["prompt"])
            shown = [q["options"][k] for k in q["mixed"]] if q["kind"] == "order" else q.get("options", ())
            lines += [f"   - {o['text']}" for o in shown]
        return "\n".join(lines)

    def picture(self):
        """The questions as HTML that needs no script: what opens shows the answer."""
        items = []
        for q in self.questions:
            shown = [q["options"][k] for k in q["mixed"]] if q["kind"] == "order" else q.get("options", ())
            options = "".join(f"<li>{code_as_html(o['text'])}</li>" for o in shown)
            said = [code_as_html(q["why"])] if "why" in q else []
            others = [o for o in q.get("options", ()) if "why" in o and o["why"] != q.get("why")]
            said += [f"{code_as_html(o['text'])}: {code_as_html(o['why'])}" for o in others]
            said += [f"Not yet {code_as_html(o['text'])}: {code_as_html(o['early'])}" for o in q.get("options", ()) if o.get("early")]
            shown = tuple if q["kind"] == "shape" else _number_text
            said += [f"Not {code_as_html(str(shown(wrong)))}: {code_as_html(why)}" for wrong, why in q.get("wrong", ())]
            prompt = f"{'<b>Predict.</b> ' if self.reveal else ''}{code_as_html(q['prompt'])}"
            items.append(
                f"<li><p>{prompt}</p>{f'<ul>{options}</ul>' if options else ''}<details><summary>Answer</summary>"
                f"<p><b>{code_as_html(q['shown'])}</b></p><p>{'</p><p>'.join(said)}</p></details></li>"
            )
        return f"<ol>{''.join(items)}</ol>" if len(items) > 1 else f"<div>{items[0][4:-5]}</div>"

    def still(self):
        return self.picture()

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        del data["image/svg+xml"]  # its picture is HTML
        return data, metadata


def code_as_html(text: str) -> str:
    """`code` in text as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def quiz(title, *questions):
    """A quiz, to be shown by a notebook.

    Parameters
    ----------
    title : str
        The lesson it belongs to, such as "04 inside backward".
    questions
        Made by `choice`, `several`, `number`, `shape` and `order` of `autolab.widgets.questions`.

    Examples
    --------
    >>> from autolab.widgets.questions import choice, number, quiz
    >>> q = quiz("05 accumulation", number("`x.grad` after two backward passes of x² at 3", 12, why="6 + 6: gradients add up.",
    ...          wrong={6: "That is one pass. The second adds to it."}))
    >>> q.answer(1, 6)
    (False, 'That is one pass. The second adds to it.')
    """
    return Quiz(title, questions)


def predict(prompt, truth=None, why="", wrong=None, choices=None, tolerance=None):
    """Ask for a prediction before the next cell is run; then show the truth, why, and what a wrong prediction overlooked.

    Parameters
    ----------
    prompt : str or dict
        What to predict: "`x.grad` after the second pass". Or all of it, as `prediction` made it elsewhere, so that the
        answer does not appear in the cell that asks.
    truth : number, tuple or str
        A number, a shape, or one of `choices`.
    why : str or dict
        Why it is so; or a dict with every choice and what to say about it, which replaces `wrong` and `choices`.
    wrong : dict, optional
        A wrong prediction -> the explanation of that particular mistake.
    choices : list of str, optional
        What to choose from; then `truth` is one of them.
    tolerance : float, optional
        How far a number may be off, relative to its size; see `number`.

    Examples
    --------
    >>> quiz = predict("`x.grad` after the second pass", 4.0, "The second gradient, 2, is added to the first.")
    >>> quiz
    Predict: `x.grad` after the second pass
    """
    question = prompt if isinstance(prompt, dict) else prediction(prompt, truth, why, wrong, choices, tolerance)
    return Quiz(f"predict: {question['prompt']}", [question], reveal=True)
