import re

import pytest

TOP = {
    ".ci",
    ".gitattributes",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "autolab",
    "benchmarks",
    "binder",
    "conftest.py",
    "docs",
    "exercises",
    "notebooks",
    "pyproject.toml",
    "tests",
}

# put together here, so that this file does not name them itself
HOSTS = "py~pi.org python~hosted.org npm~js.org npm~js.com deb.deb~ian deb~ian.org js~delivr.net un~pkg.com".replace("~", "").split()
MACHINE = re.compile(r"(?<![\w.~-])/(?:root|home/\w+|Users/\w+|work|tmp/\w+)/\w")
BINARY = {".npz", ".safetensors", ".png", ".ico", ".woff2"}


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
    ignored = text[text.index("ignore = [") : text.index("[tool.ruff.lint.pydocstyle]")].splitlines()
    assert [line for line in ignored if re.search(r'"[A-Z]+\d+"', line) and "  #" not in line] == []


def test_the_oracle_is_the_same_release_in_ci_and_in_the_extra(root, pyproject):
    oracle = pyproject["project"]["optional-dependencies"]["oracle"]
    assert f"pip install --quiet {' '.join(oracle)} numba\n" in (root / ".ci" / "run").read_text()


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


def test_the_citation_has_the_version(root):
    from autolab.version import __version__

    assert f"\nversion: {__version__}\n" in (root / "CITATION.cff").read_text()


def test_the_top_folder_holds_what_it_is_known_to_hold(tracked, root):
    assert {path.relative_to(root).parts[0] for path in tracked} <= TOP


# -- what GitHub reads --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workflows(root):
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with Jupyter")
    return {path.stem: yaml.safe_load(path.read_text()) for path in (root / ".github" / "workflows").glob("*.yml")}


@pytest.fixture(scope="module")
def steps(workflows):
    return [step for workflow in workflows.values() for job in workflow["jobs"].values() for step in job.get("steps", [])]


def test_each_action_has_a_full_version(steps):
    used = [step["uses"] for step in steps if "uses" in step]
    assert len(used) > 5
    assert [name for name in used if not re.search(r"@v\d+\.\d+\.\d+$", name)] == []


def test_ci_runs_on_each_python_that_the_project_names(workflows, pyproject):
    named = re.findall(r"Python :: (3\.\d+)", " ".join(pyproject["project"]["classifiers"]))
    assert workflows["ci"]["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert pyproject["project"]["requires-python"] == f">={named[0]}"


def test_ci_runs_on_the_oldest_numpy_that_the_project_allows(steps, pyproject):
    (oldest,) = (name.partition(">=")[2] for name in pyproject["project"]["dependencies"] if name.startswith("numpy>="))
    assert f'.venv/bin/pip install "numpy=={oldest}.0"' in [step.get("run") for step in steps]


def test_ci_runs_only_what_a_person_can_run(steps, root):
    targets = re.findall(r"^([\w-]+):", (root / "Makefile").read_text(), re.M)
    commands = " ".join(step.get("run", "") for step in steps)
    assert set(re.findall(r"make (\w+)", commands)) <= set(targets)
    assert {name: (root / name).is_file() for name in re.findall(r"bash (\S+)", commands)} == {".ci/run": True, ".ci/wheel": True}


def test_a_release_waits_for_all_of_ci_and_has_no_password(workflows):
    jobs = workflows["release"]["jobs"]
    assert jobs["publish"]["needs"] == "ci"
    assert jobs["ci"]["uses"] == "./.github/workflows/ci.yml"
    assert "secrets." not in str(workflows)


def test_pre_commit_runs_what_make_lint_runs(root):
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with Jupyter")
    (repository,) = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == ["make lint"]
