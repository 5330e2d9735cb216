"""What the lessons ask: a file a lesson, with its predictions in their order and its quiz.

They stand here, and not in the notebooks, because the notebooks are also read where nothing hides a cell, and an answer
that stands above its question is no question. A lesson shows one with `predict(asks.name)`, the quiz with `quiz(*asks.quiz)`.
"""
