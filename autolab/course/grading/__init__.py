"""Grading that does not believe what a student's process says.

`box.py` starts a process without network and files and forks one child a submission in it (`inside.py`); the two talk
through `wire.py`: plain numeric arrays and capped text. `judge.py` runs the locked tests outside the box, where a name
that the student defined is a proxy (`remote.py`) that asks the box for arrays. `submission.py` repairs what was handed
in, `grade.py` grades one notebook, `scheduler.py` a class, `gradebook.py` writes nbgrader's database.
"""
