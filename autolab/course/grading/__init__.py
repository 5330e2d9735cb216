"""Grading that does not believe what a student's process says.

`sandbox.py` starts a process without network and files and forks one child a submission in it (`sandbox_server.py`); the two talk
through `protocol.py`: plain numeric arrays and capped text. `judge.py` runs the locked tests outside the sandbox, where a name
that the student defined is a proxy (`proxies.py`) that asks the sandbox for arrays. `submission.py` repairs what was handed
in, `grade.py` grades one notebook, `scheduler.py` a class, `gradebook.py` writes nbgrader's database.
"""
