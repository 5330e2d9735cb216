import subprocess
import sys

import pytest

# A folder of tests with the project's conftest, run on its own: one test wants PyTorch, one a browser, one neither.
TESTS = """
import pytest

def test_compares_with_pytorch(torch): pass

@pytest.mark.browser
def test_drives_a_browser(): pass

def test_needs_neither(rng):
    assert rng.random() == __import__("numpy").random.default_rng(0).random()
"""

ABSENT = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("torch", "numba", "playwright") else find_spec(name, *rest)
"""


@pytest.fixture
def run(root, tmp_path):
    """Run the tests above where neither PyTorch nor a browser can be found."""
    (tmp_path / "conftest.py").write_text(ABSENT + (root / "tests" / "conftest.py").read_text())
    (tmp_path / "test_sample.py").write_text(TESTS)

    def run(**environment):
        command = [sys.executable, "-m", "pytest", "-c", str(root / "pyproject.toml"), "--rootdir", str(tmp_path),
                   "-p", "no:cacheprovider", str(tmp_path)]
        return subprocess.run(command, env={"PATH": "", **environment}, capture_output=True, text=True)

    return run


def test_without_them_their_tests_are_skipped_with_a_reason(run):
    result = run()
    assert "1 passed, 2 skipped" in result.stdout
    assert "pip install torch==2.13.0" in result.stdout
    assert "apt install chromium" in result.stdout


@pytest.mark.parametrize("need", ["torch", "numba", "browser"])
def test_a_run_that_requires_one_refuses_to_start_without_it(run, need):
    result = run(AUTOLAB_REQUIRE=need)
    assert result.returncode == 4
    assert f"AUTOLAB_REQUIRE names '{need}', but" in result.stderr


def test_a_misspelt_requirement_is_not_taken_for_none(run):
    result = run(AUTOLAB_REQUIRE="browsers")
    assert result.returncode == 4
    assert "it may name box, browser, numba, torch" in result.stderr
