import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = ("sh", "make", "sed", "id", "touch", "head", "tail", "grep", "mkdir", "mktemp", "rm", "chmod", "cat")
# root may write everywhere; without this right it is like anybody
SETPRIV = shutil.which("setpriv")
LIKE_ANYBODY = [SETPRIV, "--bounding-set=-dac_override"] if SETPRIV and os.geteuid() == 0 else []
OLD = "echo 'Python 3.9.18'\ncase \"$*\" in *version_info*) exit 1;; esac\n"
WITHOUT_VENV = "echo 'Python 3.12.1'\ncase \"$*\" in *ensurepip*) exit 1;; esac\n"

# A Python that answers at once. `-m venv` makes a copy of it with a pip; `-m pip` says what is in the file `says`, fails if
# there is one, and counts its calls in `installs`.
PYTHON = """
case "$*" in
*"-m venv"*)
  case "$*" in *--clear*) rm -rf .venv;; esac
  mkdir -p .venv/bin
  cat "$0" >.venv/bin/python
  echo "#!$PWD/.venv/bin/python" >.venv/bin/pip
  chmod +x .venv/bin/python .venv/bin/pip;;
*"-m pip"*)
  echo "$*" >>installs
  [ ! -e says ] || { cat says; exit 1; };;
esac
"""
OFFLINE = """
      WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError('Tunnel connection failed: 407')': /hatchling/
      ERROR: Could not find a version that satisfies the requirement hatchling>=1.27 (from versions: none)
"""
UNSIGNED = "      ERROR: Could not find a suitable TLS CA certificate bundle, invalid path: /nope\n"
MISSING = "ERROR: No matching distribution found for hatchling>=1.27\n"
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
FORBIDDEN = "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '.venv/lib'\n"
UNKNOWN = "ERROR: something that nobody has thought of\n"


@pytest.fixture
def clone(root, tmp_path):
    """A folder with what make reads, and a space in its path."""
    clone = tmp_path / "my clone"
    clone.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(root / name, clone)
        os.utime(clone / name, (0, 0))
    return clone


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def make(clone, home, tmp_path):
    """Run make in that folder, where `python3` is the given script and the only Python."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS:
        (tools / tool).symlink_to(shutil.which(tool))

    def run(*arguments, python3=None):
        if python3:
            (tools / "python3").write_text(f"#!{tools}/sh\n{python3}")
            (tools / "python3").chmod(0o755)
        return subprocess.run(
            [*LIKE_ANYBODY, "make", *arguments], cwd=clone, env={"PATH": str(tools), "HOME": str(home)}, capture_output=True, text=True
        )

    return run


@pytest.fixture
def install(make, clone):
    """Set up the lessons' environment; pip says the given words and fails, or says nothing and succeeds."""

    def run(says=None):
        (clone / "says").unlink(missing_ok=True)
        if says:
            (clone / "says").write_text(says)
        return make(".venv/lab.stamp", python3=PYTHON)

    return run


@pytest.fixture
def installs(clone):
    return lambda: len((clone / "installs").read_text().splitlines())


def test_make_alone_lists_every_target(make, root):
    phony = re.search(r"^\.PHONY: (.*)$", (root / "Makefile").read_text(), re.M).group(1).split()
    listed = re.findall(r"^make (\w+)", make().stdout, re.M)
    assert sorted([*listed, "help"]) == sorted(phony)


# -- which Python -------------------------------------------------------------------------------


def test_an_old_python_is_named_and_the_way_out_too(make):
    result = make("lab", python3=OLD)
    assert result.returncode
    assert "needs Python 3.11 or newer, and found: Python 3.9.18" in result.stderr
    assert "PYTHON=" in result.stderr


def test_no_python_at_all_is_said_in_a_sentence(make):
    result = make("lab")
    assert result.returncode
    assert "needs Python 3.11 or newer, and found: no python3" in result.stderr


def test_a_chosen_python_that_is_not_there_is_not_replaced_by_another(make):
    result = make("lab", "PYTHON=/opt/my pythons/python3.12", python3=PYTHON)
    assert result.returncode
    assert "found: no /opt/my pythons/python3.12" in result.stderr


def test_a_python_without_venv_says_which_package_brings_it(make):
    result = make("test", python3=WITHOUT_VENV)
    assert result.returncode
    assert "apt install python3-venv" in result.stderr


# -- the environment ----------------------------------------------------------------------------


def test_the_environment_is_installed_once(install, installs):
    assert install().returncode == 0
    assert install().stderr == ""
    assert installs() == 1


def test_a_changed_pyproject_is_installed_again(install, installs, clone):
    install()
    os.utime(clone / ".venv" / "lab.stamp", (1, 1))
    (clone / "pyproject.toml").touch()
    install()
    assert installs() == 2


def test_an_environment_whose_python_is_gone_is_made_again(install, installs, clone):
    install()
    (clone / ".venv" / "bin" / "python").unlink()
    (clone / ".venv" / "bin" / "python").symlink_to("/no/such/python3.11")
    assert "Making it again" in install().stderr
    assert installs() == 2


def test_an_environment_of_an_old_python_is_made_again(install, installs, clone):
    install()
    (clone / ".venv" / "bin" / "python").write_text("#!/bin/sh\n" + OLD)
    assert "Making it again" in install().stderr
    assert installs() == 2


def test_an_environment_that_was_moved_is_made_again(install, installs, clone):
    install()
    (clone / ".venv" / "bin" / "pip").write_text("#!/an/other/clone/.venv/bin/python\n")
    assert "Making it again" in install().stderr
    assert installs() == 2


def test_an_environment_without_pip_is_made_again(install, clone):
    install()
    (clone / ".venv" / "bin" / "pip").unlink()
    assert "Making it again" in install().stderr
    assert "Making it again" not in install().stderr


def test_a_package_whose_installation_was_interrupted_is_not_taken_for_complete(install, clone):
    install()
    (clone / ".venv" / "lab.stamp").unlink()
    packages = clone / ".venv" / "lib" / "python3.12" / "site-packages"
    for name in ("whole-1.0.dist-info", "half-1.0.dist-info"):
        (packages / name).mkdir(parents=True)
    (packages / "whole-1.0.dist-info" / "RECORD").touch()
    install()
    assert [path.name for path in packages.iterdir()] == ["whole-1.0.dist-info"]


# -- what stands in the way ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "advice"),
    [
        pytest.param(OFFLINE, ["ProxyError('Tunnel connection failed: 407')\n", "Is there a network?", "HTTPS_PROXY="], id="offline"),
        pytest.param(UNSIGNED, ["invalid path: /nope\n", "PIP_CERT="], id="unsigned"),
        pytest.param(MISSING, ["hatchling>=1.27\n", "PIP_INDEX_URL="], id="missing"),
        pytest.param(FULL, ["The disk is full", ".venv", "Free some space"], id="full"),
        pytest.param(FORBIDDEN, ["Permission denied: '.venv/lib'", "belongs to you"], id="forbidden"),
        pytest.param(UNKNOWN, [UNKNOWN], id="unknown"),
    ],
)
def test_a_failed_installation_says_what_to_do_and_is_not_taken_for_done(install, installs, clone, says, advice):
    result = install(says)
    assert result.returncode
    assert [words for words in advice if words not in result.stderr] == []
    assert not (clone / ".venv" / "lab.stamp").exists()
    assert install().returncode == 0
    assert installs() == 2


def test_advice_is_a_few_lines_however_much_pip_says(install):
    result = install("WARNING\n" * 500 + OFFLINE)
    assert len(result.stderr.splitlines()) < 8


def test_who_is_offline_is_told_how_to_go_on_with_what_is_installed(install, clone):
    install()
    os.utime(clone / ".venv" / "lab.stamp", (0, 0))
    assert "touch .venv/lab.stamp" in install(OFFLINE).stderr
    (clone / ".venv" / "lab.stamp").touch()
    assert install(OFFLINE).returncode == 0


def test_a_folder_of_somebody_else_is_not_written_to(install, clone):
    clone.chmod(0o555)
    result = install()
    assert f"Cannot write in {clone}" in result.stderr
    assert "Clone autolab into a folder of your own" in result.stderr


@pytest.mark.parametrize(("arguments", "retries"), [("ARGS=--no-browser", []), ("ARGS=--port=8888", ["0"])])
def test_a_port_that_was_asked_for_is_not_quietly_replaced(make, arguments, retries):
    assert re.findall(r"port_retries=(\d+)", make("-n", "lab", arguments).stdout) == retries


# -- the home folder ----------------------------------------------------------------------------


@pytest.fixture
def where_home_is(make, clone):
    """What the programs that make starts have as their home folder."""
    with (clone / "Makefile").open("a") as makefile:
        makefile.write('\nwhere:\n\t@echo "$$HOME"\n')
    return lambda: make("where")


def test_a_home_that_can_be_written_to_is_the_home(where_home_is, home):
    assert where_home_is().stdout == f"{home}\n"
    assert where_home_is().stderr == ""


@pytest.mark.parametrize("locked", ["", "/.cache", "/.jupyter", "/.local/share/jupyter"])
def test_a_home_that_cannot_be_written_to_has_a_place_in_the_clone(where_home_is, home, clone, locked):
    folder = Path(f"{home}{locked}")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o555)
    result = where_home_is()
    assert result.stdout == f"{clone}/.home\n"
    assert f"Cannot write in {folder}:" in result.stderr


def test_where_the_clone_cannot_be_written_to_either_home_is_temporary(where_home_is, home, clone):
    home.chmod(0o555)
    clone.chmod(0o555)
    result = where_home_is()
    assert os.access(result.stdout.strip(), os.W_OK)
    assert "for this time only" in result.stderr


def test_a_home_that_does_not_exist_has_a_place_in_the_clone(where_home_is, home, clone):
    home.rmdir()
    result = where_home_is()
    assert result.stdout == f"{clone}/.home\n"
    assert f"Cannot write in {home}" in result.stderr
    assert (clone / ".home").is_dir()


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_commands_in_the_documents_exist(root, document):
    targets = set(re.findall(r"^([\w-]+):", (root / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:^ *|`)make ([a-z]+)", (root / document).read_text(), re.M))
    assert named, "the document names no make target"
    assert named <= targets
