"""A learner's module beside the notebook, read again whenever one of its files was saved."""

from __future__ import annotations

import ast
import importlib
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from .scenes import UnexpectedResult

OTHERS = {"importlib", "ctypes", "imp", "runpy"}  # ways of Python's own to get at what may not be imported


class LiveModule:
    """A module in the current folder. What it defines is an attribute; a saved change counts at once, also in modules that it imports.

    >>> import contextlib, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     _ = pathlib.Path("tiny.py").write_text("def double(x):\\n    return 2 * x\\n")
    ...     LiveModule("tiny").double(3)
    6
    """

    def __init__(self, name: str):
        self._name = name
        self._module: ModuleType | None = None
        self._read: dict[Path, tuple[int, int] | None] = {}

    def load(self) -> ModuleType:
        """The module as it was saved last. Raises ModuleNotFoundError if there is no such file, and what the module raises."""
        if self._module is None or any(_state(path) != state for path, state in self._read.items()):
            self._module = None
            module, self._read = _load(Path.cwd() / f"{self._name}.py")
            self._module = module
            return module
        return self._module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.load(), name)

    def __repr__(self) -> str:
        return f"<{self._name}.py, read when it is used>"


def _state(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def _load(path: Path) -> tuple[ModuleType, dict[Path, tuple[int, int] | None]]:
    """Run a module from its source, and what it imports from its folder; these files and their states."""
    if not path.is_file():
        raise ModuleNotFoundError(f"there is no {path.name} beside this notebook: work in the folder that has both, and hand in both")
    read = {file: _state(file) for file in _files(path)}
    for file in read:
        sys.modules.pop(file.stem, None)
        linecache.cache.pop(str(file), None)  # else an error names a line as it was before
    importlib.invalidate_caches()
    before, places = sys.dont_write_bytecode, sys.path[:]
    sys.dont_write_bytecode = True  # a file saved twice in a second would be mistaken for its copy
    sys.path.insert(0, str(path.parent))
    module = ModuleType(path.stem)
    module.__file__, sys.modules[path.stem] = str(path), module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except BaseException:
        sys.modules.pop(path.stem, None)
        raise
    finally:
        sys.path[:], sys.dont_write_bytecode = places, before
    return module, read


def _files(path: Path) -> list[Path]:
    """A module and what it imports from its folder, directly or not.

    Raises UnexpectedResult if one of them imports more than that, NumPy, and what comes with Python.
    """
    found = [path]
    for file in found:
        for name in _imported(file):
            beside = path.parent / f"{name}.py"
            if beside.is_file():
                found += [] if beside in found else [beside]
            elif name in OTHERS or not (name == "numpy" or name in sys.stdlib_module_names):
                raise UnexpectedResult(f"{file.name} imports {name}; this engine is your own: NumPy and Python's own modules are enough")
    return found


def _imported(path: Path) -> list[str]:
    """The modules that a file imports, by the first part of their names."""
    names = []
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module or ""] if not node.level else []
    return [name.partition(".")[0] for name in names]


def engine_of(candidate: Any) -> Any:
    """The learner's module, read again if it was saved. Raises UnexpectedResult for something else, and for autolab's own tensors."""
    if not isinstance(candidate, (LiveModule, ModuleType)):
        raise UnexpectedResult(f'engine is a {type(candidate).__name__}, expected a module: engine = LiveModule("my_engine")')
    module = candidate.load() if isinstance(candidate, LiveModule) else candidate
    if any(getattr(made, "__module__", "").partition(".")[0] == "autolab" for made in vars(module).values()):
        raise UnexpectedResult("engine is made of autolab, expected one of your own")
    return module


def numbers(value: Any) -> Any:
    """The numbers of a tensor, of autolab's or of another engine: its array, or what was given."""
    if isinstance(value, Tensor):
        return np.array(value.detach().numpy())
    if isinstance(value, (np.ndarray, float, int)) or value is None:
        return value
    return getattr(value, "data", value)


def set_numbers(tensor: Any, array: np.ndarray) -> None:
    """Put these numbers into a parameter, of autolab's engine or another."""
    data = np.array(array, dtype=float)
    tensor.data = from_numpy(data) if isinstance(tensor, Tensor) else data
