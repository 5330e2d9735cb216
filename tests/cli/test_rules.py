"""`autolab rules` prints what the table says, in 80 columns, for people and for programs."""

import json
import subprocess
import sys

import pytest

import autolab
from autolab.rules import TABLE

testing = pytest.importorskip("click.testing")


@pytest.fixture
def run():
    from autolab.cli.group import group

    return lambda *arguments: testing.CliRunner().invoke(group, arguments)


def test_a_row_is_printed_with_its_formulas_and_what_it_remembers(run):
    assert run("rules", "mul").output == (
        "mul  (elementwise)\n  forward    x * y\n  backward   x: g * y\n             y: g * x\n  remembers  x: y\n             y: x\n"
    )


def test_settings_views_and_what_has_no_gradient_are_said(run):
    printed = run("rules", "sum", "reshape", "eq").output
    assert "settings   axis, keepdims" in printed and "reshape  (linear, a view)" in printed
    assert "none: the result has no gradient" in printed


def test_all_rows_are_listed_a_line_each(run):
    lines = run("rules").output.splitlines()
    assert [line.split()[0] for line in lines] == list(TABLE)


@pytest.mark.parametrize("names", [[], list(TABLE)], ids=["list", "in full"])
def test_everything_fits_80_columns(run, names):
    assert max(map(len, run("rules", *names).output.splitlines())) <= 80


def test_programs_get_the_same_as_json(run):
    (row,) = json.loads(run("rules", "--json", "exp").output)
    assert row["forward"] == "np.exp(x)" and row["backward"] == {"x": "g * out"} and row["remembers"] == {"x": ["out"]}
    assert [row["name"] for row in json.loads(run("rules", "--json").output)] == list(TABLE)


def test_a_row_that_is_not_there_is_an_error_with_a_hint(run):
    result = run("rules", "mull")
    assert result.exit_code == 2 and "There is no row 'mull'. Did you mean mul" in result.output
    assert "`autolab rules` lists them all" in run("rules", "zzzzzz").output


def test_the_version_is_told(run):
    assert run("--version").output == f"autolab, version {autolab.__version__}\n"


def test_without_click_a_sentence_says_what_to_install():
    code = "import sys; sys.modules['click'] = None; from autolab.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == 'The autolab command needs click, which is not installed: pip install "autolab-grad[lab]"\n'


def test_the_command_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "autolab.cli", "rules", "exp"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("exp  (elementwise)\n")


def test_the_code_that_runs_can_be_read(run):
    printed = run("rules", "--code", "mul").output
    assert "def mul(x, y, settings={}):" in printed and "g_x = g * v0" in printed
    assert "takes the general way" in run("rules", "cat", "--code").output


def test_the_package_is_the_command_too():
    said = subprocess.run([sys.executable, "-m", "autolab", "rules", "mul"], capture_output=True, text=True, check=True).stdout
    assert "mul" in said
