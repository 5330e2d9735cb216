# make lab       JupyterLab on the first lesson          ARGS=--no-browser on a server
# make test      the tests, in parallel                  ARGS="tests/engine -k matmul" for some of them
# make lint      ruff, mypy, import layers, spelling
# make notebooks run every lesson and compare its output with what is saved
# make mutants   the checker on the project's wrong and right rules: caught, named, refused
# make bench     time beside PyTorch, autograd, MyGrad   ARGS="-w rnn --rounds 15"
# make clean     remove the environment and all caches
#
# Each sets up .venv first, and again only when pyproject.toml has changed.
# It takes python3 if that is 3.11 or newer, else a python3.x that is; PYTHON=/path/to/python3.12 chooses another.

VENV := .venv
BIN  := $(VENV)/bin
ARGS ?=
PIP  := $(BIN)/python -m pip install -qq --disable-pip-version-check

# A classroom may have no network: no look for updates; exercises/labconfig turns off the question about news.
JUPYTER := --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/00-start-here.ipynb \
           --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --log-level=WARN
ifeq ($(shell id -u),0)
JUPYTER += --allow-root
endif

.PHONY: help lab test lint notebooks mutants bench clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

# Pictures saved in a notebook are shown at once only if it is trusted; these come from the clone itself.
# Formgrader finds the course through Jupyter's configuration path.
# One thread for each product of matrices: on a busy machine threads that wait for each other take twenty times as long.
lab: $(VENV)/lab.stamp
	@$(BIN)/jupyter trust notebooks/*.ipynb exercises/source/*/*.ipynb >/dev/null
	@OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS:-1} JUPYTER_CONFIG_PATH=$(CURDIR)/exercises:$$JUPYTER_CONFIG_PATH \
	  $(BIN)/jupyter lab $(JUPYTER) $(ARGS)

# All tests run in a process for each core. Some tests run in one process, which starts at once and takes
# ARGS="-x --pdb tests/nn"; ARGS="-n 4 tests" is all tests in four processes, ARGS=tests all in one.
# More than eight processes would spend their time and memory on collecting the tests.
WORKERS := -n logical --maxprocesses 8

test: $(VENV)/test.stamp
	@OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS:-1} $(BIN)/python -m pytest $(or $(ARGS),$(WORKERS) --dist worksteal)

lint: $(VENV)/lint.stamp
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/codespell

notebooks: $(VENV)/test.stamp
	@AUTOLAB_HOME=off OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --nbval notebooks $(WORKERS) --dist loadfile $(ARGS)

mutants: $(VENV)/test.stamp
	@$(BIN)/python -m tests.check.measure $(ARGS)

bench: $(VENV)/lab.stamp
	@$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# What is installed, as files that are newer than pyproject.toml once it is done.

$(VENV)/lab.stamp: extras := lab,course
$(VENV)/test.stamp: extras := test
$(VENV)/lint.stamp: extras := lint

$(VENV)/%.stamp: pyproject.toml $(BIN)/python
	@echo "Installing autolab-grad[$(extras)] into $(VENV), once; this takes a minute or two."
	@$(PIP) --editable '.[$(extras)]'
	@touch $@

# python3 first: it is the one a person has chosen.
$(BIN)/python:
	@found=; \
	for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  found=$$python; \
	  $$python -c 'import ensurepip, venv' 2>/dev/null || continue; \
	  exec $$python -m venv $(VENV); \
	done; \
	if [ -n "$$found" ]; then \
	  echo "$$found cannot make a virtual environment: its venv module is missing." >&2; \
	  echo "On Debian and Ubuntu: apt install python3-venv" >&2; \
	else \
	  echo "autolab needs Python 3.11 or newer, and found: $$(python3 --version 2>/dev/null || echo no python3)." >&2; \
	  echo "Install one, or say where it is: make lab PYTHON=/path/to/python3" >&2; \
	fi; \
	exit 1
