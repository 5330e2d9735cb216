import os
import re
import shutil
import subprocess

import pytest

OLD = "#!/bin/sh\necho 'Python 3.9.18'\ncase \"$*\" in *version_info*) exit 1;; esac\n"
WITHOUT_VENV = "#!/bin/sh\necho 'Python 3.12.1'\ncase \"$*\" in *ensurepip*) exit 1;; esac\n"


@pytest.fixture
def make(root, tmp_path):
    """Run make in a folder that has no environment yet, where `python3` is the given script and the only Python."""
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "make", "sed", "id", "touch"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(root / name, tmp_path)

    def run(*arguments, python3=None):
        if python3:
            (tmp_path / "bin" / "python3").write_text(python3)
            (tmp_path / "bin" / "python3").chmod(0o755)
        environment = {"PATH": str(tmp_path / "bin"), "HOME": os.environ.get("HOME", "/")}
        return subprocess.run(["make", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def test_make_alone_lists_every_target(make, root):
    phony = re.search(r"^\.PHONY: (.*)$", (root / "Makefile").read_text(), re.M).group(1).split()
    listed = re.findall(r"^make (\w+)", make().stdout, re.M)
    assert sorted([*listed, "help"]) == sorted(phony)


def test_an_old_python_is_named_and_the_way_out_too(make):
    result = make("lab", python3=OLD)
    assert result.returncode
    assert "needs Python 3.11 or newer, and found: Python 3.9.18" in result.stderr
    assert "PYTHON=" in result.stderr


def test_no_python_at_all_is_said_in_a_sentence(make):
    result = make("lab")
    assert result.returncode
    assert "needs Python 3.11 or newer, and found: no python3" in result.stderr


def test_a_python_without_venv_says_which_package_brings_it(make):
    result = make("test", python3=WITHOUT_VENV)
    assert result.returncode
    assert "apt install python3-venv" in result.stderr


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_commands_in_the_documents_exist(root, document):
    targets = set(re.findall(r"^([\w-]+):", (root / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:^ *|`)make ([a-z]+)", (root / document).read_text(), re.M))
    assert named, "the document names no make target"
    assert named <= targets
