"""What the lessons ask: a file a lesson, with its predictions in their order and its quiz.

They are here, and not in the notebooks, because the notebooks are also read where nothing hides a cell, and an answer
above its question spoils it. A lesson shows one with `predict(asks.name)`, the quiz with `quiz(*asks.quiz)`.
"""

from __future__ import annotations

import importlib
from typing import Any


def asked(lesson: str) -> dict[str, dict[str, Any]]:
    """What a lesson asks: its predictions by their names, in their order, and then the questions of its quiz.

    >>> list(asked("00"))
    ['gradient', 'net', 'guess', 'slip', 'quiz 1', 'quiz 2', 'quiz 3', 'quiz 4', 'quiz 5']
    """
    file = vars(importlib.import_module(f"autolab.questions.lesson{lesson}"))
    in_quiz = {f"quiz {k}": question for k, question in enumerate(file["quiz"][1:], 1)}
    quizzed = {id(question) for question in in_quiz.values()}
    found = {name: value for name, value in file.items() if isinstance(value, dict) and "prompt" in value and id(value) not in quizzed}
    return found | in_quiz
