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
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from autolab.engine.op import Op
from autolab.rules import TABLE

from .notebook import build

HERE = Path(__file__).resolve().parent
ARCHIVE, CLONE = HERE / "problem-sets.zip", HERE.parent.parent / "exercises"  # in a wheel, and in a clone
CONTENT = ("source", "text", "wrong", "rubric", "bank", "nbgrader_config.py", "README.md")


@contextlib.contextmanager
def problem_sets() -> Iterator[Path]:
    """A folder with the problem sets that come with autolab, solutions included. Raises LookupError if they were not installed."""
    if ARCHIVE.is_file():
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(ARCHIVE) as archive:
            archive.extractall(folder)
            yield Path(folder)
    elif (CLONE / "nbgrader_config.py").is_file():
        yield CLONE
    else:
        raise LookupError("the problem sets were not installed with autolab; reinstall it, or work in a clone of the repository")


def new_course(folder: Path, sets: tuple[str, ...] = ()) -> list[str]:
    """Copy the problem sets and the configuration into a new folder; return the names of the sets.

    Raises FileExistsError if there is something already, LookupError for a set that does not exist.
    """
    with problem_sets() as origin:
        known = sorted(p.name for p in (origin / "source").iterdir() if p.is_dir())
        if unknown := [s for s in sets if s not in known]:
            raise LookupError(f"no problem set {unknown[0]!r}; there are {', '.join(known)}")
        if folder.exists() and any(folder.iterdir()):
            raise FileExistsError(f"{folder} is not empty; choose a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        for name in CONTENT:
            place = origin / name
            if place.is_file():
                shutil.copy(place, folder / name)
            for one in sorted(place.iterdir()) if place.is_dir() else ():
                if not sets or one.stem in sets:
                    (folder / name).mkdir(exist_ok=True)
                    (shutil.copytree if one.is_dir() else shutil.copy)(one, folder / name / one.name)
    return [s for s in known if not sets or s in sets]


def nbgrader(root: Path, *command: str) -> str:
    """Run a command of nbgrader in a course. Raises RuntimeError with the end of what it printed if it fails."""
    # nbgrader looks for alembic on the path
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command], cwd=root, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
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

Write a function `{name}_backward(g, {inputs})` that returns one gradient for each input.

```python locked setup-{name}
import numpy as np
```

```python answer {name}
def {name}_backward(g, {inputs}):
    ### BEGIN SOLUTION
{solution}
    ### END SOLUTION
```

```python check {name}-check {points:g}
# The hidden tests check your rule as `check` does, on inputs of several shapes.
### BEGIN HIDDEN TESTS
{spec}
from autolab.check import check

check(SPEC, {name}_backward, points={points:g})
### END HIDDEN TESTS
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
        raise ValueError(f"{assignment!r} names a folder, and must be of letters, digits, dots and hyphens, such as ps9")
    text = root / "text" / assignment / f"{name.replace('_', '-')}.md"
    if text.exists():
        raise FileExistsError(f"{text} exists already; edit it and run `python -m autolab.course.notebook {root}`")
    title = name.replace("_", " ").capitalize()
    if spec is None:
        inputs, settings = _arguments(name)
        cls = "".join(word.capitalize() for word in name.split("_"))
        shares = {"visible": 0.8 * points, "hidden": 0.2 * points}
        none = f"; backward returns None for {', '.join(settings)}" if settings else ""
        content = ROW_TEXT.format(title=title, name=name, cls=cls, inputs=", ".join(inputs), none=none,
                             arguments=", ".join((*inputs, *settings)), **shares)  # fmt: skip
    else:
        code = spec.read_text("utf-8")
        row = _spec(spec, code).row
        formulas = ", ".join(row.formula(x) for x in row.rules)
        content = SPEC_TEXT.format(title=title, name=name, inputs=", ".join(row.inputs), points=points, spec=code.strip(),
                             solution=f"    return {formulas}")  # fmt: skip
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


def _spec(path: Path, code: str):
    from autolab.check import Spec

    names: dict = {"__name__": re.sub(r"\W", "_", path.stem)}
    linecache.cache[str(path)] = (len(code), None, code.splitlines(keepends=True), str(path))
    try:
        exec(compile(code, str(path), "exec"), names)
    except Exception as error:
        raise ValueError(f"{path} does not run: {type(error).__name__}: {error}") from None
    found = names.get("SPEC")
    if not isinstance(found, Spec) or not isinstance(found.row, Op):
        raise ValueError(f"{path} must define SPEC = Spec(name, Op(name, forward, kind, x=lambda g, x: ...), ...)")
    return found
