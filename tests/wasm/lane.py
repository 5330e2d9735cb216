"""The tests in WebAssembly, as a browser runs Python: Pyodide under Node, with NumPy and ml_dtypes built for it.

    python -m tests.wasm.lane                       # the folders below, one Node process each
    python -m tests.wasm.lane -q tests/engine       # pytest's arguments

Node and npm must be there. The two wheels (numpy-*_wasm32.whl, ml_dtypes-*_wasm32.whl) are taken from the folder AUTOLAB_WASM_WHEELS,
or from a folder beside the checkout. What is missing is said, and the exit code is then 0; 1 if AUTOLAB_REQUIRE names wasm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PYODIDE = "314.0.7"  # Python 3.14; the wheels are built for it
PACKAGES = ("pytest<10", "hypothesis<6.131", "ipython", "anywidget", "ipywidgets", "graphviz")  # a later hypothesis is partly in Rust
PURE = ("--only-binary=:all:", "--platform=any", "--python-version=3.14", "--implementation=py", "--abi=none")
FOLDERS = (
    "engine", "rules", "torch_api", "autograd", "nn", "func", "check", "linalg", "packaging/test_browser.py", "wasm/test_lessons.py",
)  # fmt: skip
CHECKOUT = Path(__file__).parents[2]
PLACE = CHECKOUT / "build" / "wasm"
STACK = ("--stack-size=3900",)  # as much as a browser gives


def wheels() -> list[Path]:
    """The two wheels, from the first folder that has both."""
    named = os.environ.get("AUTOLAB_WASM_WHEELS")
    places = [Path(named)] if named else sorted({p.parent for p in CHECKOUT.parent.glob("*/**/numpy-*_wasm32.whl")})
    for place in places:
        found = [*place.glob("numpy-*_wasm32.whl"), *place.glob("ml_dtypes-*_wasm32.whl")]
        if len(found) == 2:
            return found
    return []


def missing() -> str:
    """What this machine lacks, as a sentence; empty if it lacks nothing."""
    if not (shutil.which("node") and shutil.which("npm")):
        return "Node and npm are not installed (`apt install nodejs npm`)"
    if not wheels():
        return "there is no NumPy for WebAssembly: AUTOLAB_WASM_WHEELS names the folder with numpy-*_wasm32.whl and ml_dtypes-*_wasm32.whl"
    return ""


def set_up() -> None:
    """Fill the folder that run.mjs asks for."""
    shutil.rmtree(PLACE / "wheels", ignore_errors=True)
    (PLACE / "wheels").mkdir(parents=True)
    for wheel in wheels():
        shutil.copy(wheel, PLACE / "wheels")
    if not (PLACE / "node_modules" / "pyodide").exists():
        quietly("npm", "install", "--no-audit", "--no-fund", "--prefix", str(PLACE), f"pyodide@{PYODIDE}")
    if not (PLACE / "packages" / "graphviz").exists():
        shutil.rmtree(PLACE / "packages", ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(PLACE / "packages")]
        quietly(*pip, *PURE, *PACKAGES)


def quietly(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def run(args: list[str]) -> int:
    """pytest's exit code; that of the shell if Node died."""
    command = f'ulimit -s 65000; exec node {" ".join(STACK)} "$@"'
    return subprocess.run(["bash", "-c", command, "node", str(CHECKOUT / "tests/wasm/run.mjs"), str(PLACE), *args], cwd=CHECKOUT).returncode


def main(args: list[str]) -> int:
    lacks = missing()
    if lacks:
        print(f"NOT TESTED in WebAssembly: {lacks}.")
        return int("wasm" in os.environ.get("AUTOLAB_REQUIRE", "").split(","))
    set_up()
    if args:
        return run(args)
    return max([run(["-q", "-rfE", f"tests/{folder}"]) for folder in FOLDERS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
