"""A new course, and a new exercise in it."""

from __future__ import annotations

import contextlib
import difflib
import linecache
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path

from autolab.engine.op import Op
from autolab.rules import TABLE
from autolab.utils import pin
from autolab.version import __version__

from .notebook import build, from_markdown
from .own_spec import solution
from .problem_sets import problem_sets

CONTENT = ("source", "text", "wrong", "rubric", "bank", "nbgrader_config.py", "README.md")


def new_course(folder: Path, sets: tuple[str, ...] = ()) -> list[str]:
    """Copy the problem sets and the configuration into a new folder; return the names of the sets.

    Raises FileExistsError if there is something already, LookupError for a set that does not exist.
    """
    origin = problem_sets()
    known = sorted((p.name for p in (origin / "source").iterdir() if p.is_dir()), key=lambda name: (len(name), name))
    if unknown := [s for s in sets if s not in known]:
        raise LookupError(f"no problem set {unknown[0]!r}; there are {', '.join(known)}")
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; choose a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)  # on a machine that students have accounts on, solutions are the instructor's alone
    for name in CONTENT:
        place = origin / name
        if place.is_file():
            shutil.copy(place, folder / name)
        for one in sorted(place.iterdir()) if place.is_dir() else ():
            if not sets or one.stem in sets:
                (folder / name).mkdir(exist_ok=True)
                (shutil.copytree if one.is_dir() else shutil.copy)(one, folder / name / one.name)
    (folder / pin.FILE).write_text(f"{__version__}\n", "utf-8")
    build(folder)  # which puts the version into the notebooks
    return [s for s in known if not sets or s in sets]


def add_teaching(folder: Path, weeks: int) -> None:
    """Put the teacher's page of each week of a course of 8 or 12 weeks into `teaching/` of the folder."""
    shutil.copytree(problem_sets() / "teaching" / str(weeks), folder / "teaching")


@contextlib.contextmanager
def tools_on_path() -> Iterator[None]:
    """nbgrader calls `alembic`, which is beside this Python and, where no environment is activated, not on the path."""
    before = os.environ.get("PATH")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before or os.defpath])
    try:
        yield
    finally:
        os.environ.pop("PATH") if before is None else os.environ.update(PATH=before)


def set_due_dates(folder: Path, days: Mapping[str, date]) -> None:
    """Tell the gradebook that each assignment is due one second before its day ends, by the clock of this machine."""
    from nbgrader.api import Gradebook

    with tools_on_path(), Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        for name, day in days.items():
            ends = datetime.combine(day, time(23, 59, 59)).astimezone(UTC)
            gradebook.update_or_create_assignment(name, duedate=ends.replace(tzinfo=None))  # which are in UTC there


def nbgrader(root: Path, *command: str) -> str:
    """Run a command of nbgrader in a course. Raises RuntimeError with the end of what it printed if it fails."""
    with tools_on_path():
        done = subprocess.run(
            [sys.executable, "-m", "autolab.course.quick_nbgrader", *command], cwd=root, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise RuntimeError(f"nbgrader {' '.join(command)} failed in {root}:\n{(done.stdout + done.stderr)[-1500:]}")
    return done.stdout + done.stderr


ROW_TEXT = """# {title}

Write the backward rule of `{name}` for the inputs {inputs}{none}.

```python locked setup-{name}
import numpy as np

import autolab as torch
from autolab.autograd import Function
from autolab.check import check
```

```python answer {name}
class {cls}(Function):
    @staticmethod
    def forward(ctx, {arguments}):
        ### BEGIN SOLUTION
        raise NotImplementedError("write the solution here; `autolab course check` then proves it")
        ### END SOLUTION

    @staticmethod
    def backward(ctx, g):
        ### BEGIN SOLUTION
        raise NotImplementedError
        ### END SOLUTION
```

```python check {name}-check {visible:g}
from autolab.check import check

check("{name}", {cls}, points={visible:g})
```

```python check {name}-hidden {hidden:g}
# The hidden tests check {cls} on other numbers.
### BEGIN HIDDEN TESTS
from autolab.check import check

check("{name}", {cls}, seed=1, points={hidden:g})
### END HIDDEN TESTS
```
"""
SPEC_TEXT = """# {title}

Write a function `{name}_backward({arguments})` that returns the gradient for {inputs}{none}.

```python locked setup-{name}
import numpy as np
```

```python answer {name}
def {name}_backward({arguments}):
    ### BEGIN SOLUTION
{solution}
    ### END SOLUTION
```

```spec {name} {name}_backward {visible:g} {hidden:g}
{spec}
```
"""


def add_exercise(root: Path, assignment: str, name: str, spec: Path | None = None, points: float = 10.0) -> Path:
    """Write the text of an exercise and build its notebook; return the path of the text.

    From a row of the table or an operation of the problem sets, or from a file that defines `SPEC`, a Spec whose row is an
    Op, and that is not shown to students. Raises LookupError if there is no such operation, FileExistsError if the exercise
    exists, ValueError for a spec that is none.
    """
    if not name.isidentifier():
        raise ValueError(f"{name!r} names a function of the notebook, and must be a name of Python's, such as my_tanh")
    if not re.fullmatch(r"\w[\w.-]*", assignment):
        raise ValueError(f"{assignment!r} names a folder, and must be of letters, digits, dots and hyphens, such as extra1")
    text = root / "text" / assignment / f"{name.replace('_', '-')}.md"
    if text.exists():
        raise FileExistsError(f"{text} exists already; edit it and run `python -m autolab.course.notebook {root}`")
    title = name.replace("_", " ").capitalize()
    hidden = round(0.2 * points, 2)
    shares = {"visible": round(points - hidden, 2), "hidden": hidden}
    if spec is None:
        inputs, settings = _arguments(name)
        cls = "".join(word.capitalize() for word in name.split("_"))
        none = f"; backward returns None for {', '.join(settings)}" if settings else ""
        content = ROW_TEXT.format(title=title, name=name, cls=cls, inputs=", ".join(inputs), none=none,
                             arguments=", ".join((*inputs, *settings)), **shares)  # fmt: skip
    else:
        try:
            code = spec.read_text("utf-8").strip()
        except UnicodeDecodeError:
            raise ValueError(f"{spec} is not a text in UTF-8: give the file of Python that defines SPEC") from None
        row, broadcast = _spec(spec, code)
        arguments, lines = solution(code, row, broadcast)
        without = [x for x in row.inputs if x not in row.rules]
        none = f", and None for {', '.join(without)}" if without else ""
        if not broadcast and row.kind == "elementwise" and len(row.inputs) > 1:
            none += "; the inputs have the same shape"
        content = SPEC_TEXT.format(title=title, name=name, inputs=", ".join(row.rules), none=none, arguments=arguments, spec=code,
                             solution=textwrap.indent(lines, "    "), **shares)  # fmt: skip
        from_markdown(content, str(text))  # before it is written: the rules can be left out
    text.parent.mkdir(parents=True, exist_ok=True)
    text.write_text(content, "utf-8")
    build(root)
    return text


def _arguments(name: str) -> tuple[Sequence[str], Sequence[str]]:
    """The inputs and the settings of an operation that the checker knows."""
    from autolab.check import BEHAVIOURS, SPECS, Reference
    from autolab.check.run.cases import shapes_for
    from autolab.check.run.specs import load_rows, spec_for

    load_rows()
    if name in BEHAVIOURS:
        raise LookupError(f"{name!r} is an exercise on behaviour; take its cells from text/ of a course that `autolab course new` makes")
    if name not in TABLE and name not in SPECS:
        near = difflib.get_close_matches(name, sorted({*TABLE, *SPECS}), 3)
        meant = f" Did you mean {', '.join(near)}?" if near else ""
        raise LookupError(
            f"no row {name!r} in the table (`autolab rules` lists them), and no exercise of this name.{meant} "
            "For your own operation give --spec FILE"
        )
    spec = spec_for(name)
    reference = Reference.of(spec)
    shapes_for(spec, reference)
    return reference.inputs, tuple(spec.settings[0])


def _spec(path: Path, code: str) -> tuple[Op, bool]:
    """The row of the spec that a file defines, whose rules are proven, and whether its inputs may have different shapes."""
    from autolab.check import Spec, prove

    names: dict = {"__name__": re.sub(r"\W", "_", path.stem)}
    linecache.cache[str(path)] = (len(code), None, code.splitlines(keepends=True), str(path))
    try:
        exec(compile(code, str(path), "exec"), names)
    except Exception as error:
        if getattr(error, "name", "") == "__code__":  # a function of NumPy has none
            raise ValueError(f"{path}: write forward and rules as functions of Python, such as lambda x: np.tanh(x)") from None
        raise ValueError(f"{path} does not run: {type(error).__name__}: {error}") from None
    found = names.get("SPEC")
    if not isinstance(found, Spec) or not isinstance(found.row, Op) or not found.row.rules:
        raise ValueError(f"{path} must define SPEC = Spec(name, Op(name, forward, kind, x=lambda g, x: ...), ...)")
    if wrong := prove(found):
        raise ValueError(f"{path}: {'; '.join(wrong)}")
    return found.row, found.broadcast
