"""What the lessons ask: a file a lesson, with its predictions in their order and its quiz.

They are here, and not in the notebooks, because the notebooks are also read where nothing hides a cell, and an answer
above its question spoils it. A lesson shows one with `predict(asks.name)`, the quiz with `quiz(*asks.quiz)`.
"""
