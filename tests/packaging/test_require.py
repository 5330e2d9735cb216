import ast
import os
import subprocess
import sys

import pytest

# They may import PyTorch themselves: the fixture; the oracle's files, whose tests are skipped as a whole; a program that a test runs.
FREE = {"conftest.py", "oracle/__init__.py", "oracle/compare.py", "oracle/modules.py", "compat/program.py"}
IMPORTERS = {"importorskip", "import_module", "find_spec", "__import__"}

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


def imports(node, fixture=False):
    """Modules that code imports, unless it takes the `torch` fixture, and those that it asks for by a name in a string."""
    if isinstance(node, ast.FunctionDef):
        fixture = fixture or "torch" in {argument.arg for argument in node.args.args}
    if isinstance(node, ast.Import) and not fixture:
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and not fixture and not node.level:
        yield node.module
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in IMPORTERS:
        yield from (a.value for a in node.args if isinstance(a, ast.Constant))
    for child in ast.iter_child_nodes(node):
        yield from imports(child, fixture)


def needs(code):
    return {name.partition(".")[0] for name in imports(ast.parse(code))} & {"torch", "numba"}


@pytest.fixture
def run(root, tmp_path):
    """Run the tests above where neither PyTorch nor a browser can be found."""
    (tmp_path / "conftest.py").write_text(ABSENT + (root / "tests" / "conftest.py").read_text())
    (tmp_path / "test_sample.py").write_text(TESTS)

    def run(*arguments, **environment):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-c",
            str(root / "pyproject.toml"),
            "--rootdir",
            str(tmp_path),
            "-p",
            "no:cacheprovider",
            "-p",
            "xdist",
            str(tmp_path),
            *arguments,
        ]
        without_plugins = {"PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they would take most of the time
        return subprocess.run(command, env={**without_plugins, **environment}, capture_output=True, text=True)

    return run


def test_without_them_their_tests_are_skipped_with_a_reason(run):
    result = run()
    assert "1 passed, 2 skipped" in result.stdout
    assert "pip install torch==2.13.0 expecttest" in result.stdout
    assert "apt install chromium" in result.stdout


@pytest.mark.parametrize("need", ["torch", "numba", "browser"])
def test_a_run_that_requires_one_refuses_to_start_without_it(run, need):
    result = run(AUTOLAB_REQUIRE=need)
    assert result.returncode == 4
    assert f"AUTOLAB_REQUIRE names '{need}', but" in result.stderr


@pytest.mark.parametrize(("need", "lacks"), [("site", "index.html"), ("lite", "lite")])
def test_a_run_that_requires_the_site_refuses_to_start_where_it_is_not_built(run, tmp_path, need, lacks):
    settings = {"AUTOLAB_REQUIRE": need, "AUTOLAB_SITE_BUILD": str(tmp_path)}
    result = run(**settings)
    assert result.returncode == 4
    assert f"AUTOLAB_REQUIRE names '{need}', but the site is not built" in result.stderr
    (tmp_path / "html" / lacks).mkdir(parents=True)
    assert run(**settings).returncode == 0


def test_the_refusal_is_one_sentence_in_parallel_too(run):
    result = run("-n", "2", AUTOLAB_REQUIRE="torch")
    assert (result.returncode, result.stdout) == (4, "")
    assert result.stderr.strip().startswith("ERROR: AUTOLAB_REQUIRE names 'torch', but PyTorch is not installed (")


def test_in_parallel_what_is_absent_is_skipped_with_a_reason(run):
    result = run("-n", "2")
    assert "1 passed, 2 skipped" in result.stdout
    assert "pip install torch==2.13.0 expecttest" in result.stdout


def test_a_misspelt_requirement_is_not_taken_for_none(run):
    result = run(AUTOLAB_REQUIRE="browsers")
    assert result.returncode == 4
    assert "it may name box, browser, firefox, lite, numba, site, torch" in result.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_has_passed_is_left_out_where_nothing_else_can_change_it(run, tmp_path, workers):
    for room in ["engine", "course"]:
        (tmp_path / "tests" / room).mkdir(parents=True)
        (tmp_path / "tests" / room / "test_sample.py").write_text(TESTS)
    (tmp_path / "test_sample.py").unlink()
    file = str(tmp_path / "passed")
    assert "2 passed, 4 skipped" in run(*workers, AUTOLAB_PASSED=file).stdout
    assert "1 passed, 4 skipped" in run(*workers, AUTOLAB_PASSED=file).stdout  # course's again


def test_tests_ask_for_pytorch_and_numba_by_fixture_or_mark(root):
    # A skip of any other kind would hide that CI lacks one of them.
    files = {path.relative_to(root / "tests").as_posix(): path for path in (root / "tests").rglob("*.py")}
    assert files.keys() > FREE
    assert [name for name in files.keys() - FREE if needs(files[name].read_text())] == []


@pytest.mark.parametrize("code", [
    "import torch.nn", "from torch import nn", "def test(): import torch", "def test(torch):\n pytest.importorskip('torch.func')",
    "import_module('torch')", "x = find_spec('numba')",
])  # fmt: skip
def test_other_ways_to_ask_are_seen(code):
    assert needs(code)


def test_a_test_that_takes_the_fixture_may_import_parts_of_pytorch():
    assert not needs("import autolab as torch\ndef test(torch):\n from torch.testing import assert_close")


@pytest.mark.skipif("AUTOLAB_PASSED" in os.environ, reason="CI's first run has neither, and has shown it")
@pytest.mark.oracle  # where they are absent, every run shows it
def test_all_tests_are_collected_without_pytorch_and_numba(root, monkeypatch):
    monkeypatch.delenv("AUTOLAB_REQUIRE", raising=False)
    code = "import sys; sys.modules.update(torch=None, expecttest=None, numba=None); import pytest; sys.exit(pytest.main())"
    command = [sys.executable, "-c", code, "--collect-only", "-qq", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:]
