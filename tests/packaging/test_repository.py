import re

# put together here, so that this file does not name them itself
HOSTS = [".".join(parts) for parts in [("pypi", "org"), ("python" "hosted", "org"), ("npmjs", "org"), ("npmjs", "com"),
                                       ("deb", "debian"), ("debian", "org"), ("jsdelivr", "net"), ("unpkg", "com")]]
MACHINE = re.compile(r"(?<![\w.~-])/(?:root|home/\w+|Users/\w+|work|tmp/\w+)/\w")
BINARY = {".npz", ".png", ".ico", ".woff2"}


def lines(tracked):
    for path in tracked:
        if path.suffix not in BINARY:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                yield f"{path}:{number}", line


def test_no_file_names_a_package_registry(tracked):
    # installs go through whatever registry the reader's pip is set up for
    assert [place for place, line in lines(tracked) if any(host in line for host in HOSTS)] == []


def test_no_file_names_a_path_of_one_machine(tracked):
    assert [place for place, line in lines(tracked) if MACHINE.search(line)] == []


def test_no_file_of_the_package_is_longer_than_a_reader_can_hold(root, tracked):
    code = [path for path in tracked if path.is_relative_to(root / "autolab") and path.suffix in {".py", ".mjs", ".js"}]
    assert [path.name for path in code if len(path.read_text().splitlines()) > 600] == []


def test_every_ignored_lint_rule_has_its_reason(root):
    text = (root / "pyproject.toml").read_text()
    ignored = text[text.index("ignore = ["):text.index("[tool.ruff.lint.pydocstyle]")].splitlines()
    assert [line for line in ignored if re.search(r'"[A-Z]+\d+"', line) and "  #" not in line] == []


def test_the_oracle_is_the_same_release_in_ci_and_in_the_extra(root, pyproject):
    oracle = pyproject["project"]["optional-dependencies"]["oracle"]
    assert f"pip install --quiet --disable-pip-version-check {' '.join(oracle)}\n" in (root / ".ci" / "run").read_text()


def test_ci_runs_with_the_oldest_numpy_that_is_allowed(root, pyproject):
    oldest = "numpy>=2.0 ml_dtypes>=0.5"
    assert pyproject["project"]["dependencies"] == oldest.split()
    assert " numpy==2.0.* ml_dtypes==0.5.0\n" in (root / ".ci" / "run").read_text()


def test_ci_and_the_classifiers_name_the_same_pythons(root, pyproject):
    named = [c.rpartition(" ")[2] for c in pyproject["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert f"for version in {' '.join(named)}; do\n" in (root / ".ci" / "run").read_text()
    assert pyproject["project"]["requires-python"] == f">={named[0]}"


def test_every_part_of_the_package_has_its_layer(root, pyproject):
    contract = next(c for c in pyproject["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    layered = {name for layer in contract["layers"] for name in re.findall(r"\w+", layer)}
    parts = {path.parent.name for path in (root / "autolab").glob("*/__init__.py")}
    parts |= {path.stem for path in (root / "autolab").glob("*.py")} - {"__init__", "__main__", "version"}
    assert parts <= layered


def test_the_change_log_has_the_version(root):
    from autolab.version import __version__

    assert f"## [{__version__}]" in (root / "CHANGELOG.md").read_text()
