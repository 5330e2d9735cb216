# make lab       JupyterLab on the first lesson          ARGS=--no-browser on a server
# make test      the tests, in parallel                  ARGS="tests/engine -k matmul" for some of them
# make lint      ruff, mypy, import layers, spelling, schemas
# make notebooks run every lesson and compare its output with what is saved
# make mutants   the checker on the project's wrong and right rules: caught, named, refused; the bank of variants
# make site      the pages, in docs/_build/html            ARGS=--serve to look at them
# make wasm      the tests in WebAssembly, as in a browser  ARGS="-q tests/engine"
# make fuzz      the checker on random slips in right rules          ARGS="--minutes 30 --seed 7"
# make bench     time beside PyTorch, autograd, MyGrad   ARGS="-w rnn --rounds 15"
# make clean     remove the environment and all caches
#
# Each sets up .venv first, and again only when pyproject.toml has changed or .venv has stopped working.
# It takes python3 if that is 3.11 or newer, else a python3.x that is; PYTHON=/path/to/python3.12 chooses another.
# GNU make 3.81, which macOS has, is enough.

VENV := .venv
BIN  := $(VENV)/bin
ARGS ?=

# Jupyter, IPython, Matplotlib and pip write into the home folder. Where that cannot be, .home takes its place.
export HOME := $(shell \
  for folder in "" /.cache /.config /.ipython /.jupyter /.local /.local/share /.local/share/jupyter; do \
    [ ! -e "$$HOME$$folder" ] || [ -w "$$HOME$$folder" ] || locked=$$HOME$$folder; \
  done; \
  [ -d "$$HOME" ] || locked=$$HOME; \
  if [ -z "$$locked" ]; then \
    echo "$$HOME"; \
  elif mkdir -p .home 2>/dev/null && [ -w .home ]; then \
    echo "Cannot write in $$locked: settings and progress are kept in .home of this folder." >&2; \
    echo "$$PWD/.home"; \
  else \
    echo "Cannot write in $$locked: settings and progress are kept in a temporary folder, for this time only." >&2; \
    mktemp -d; \
  fi)

# A classroom may have no network: no look for updates; exercises/labconfig turns off the question about news.
JUPYTER := --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/00-start-here.ipynb \
           --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --log-level=WARN
ifeq ($(shell id -u),0)
JUPYTER += --allow-root
endif
# Without retries, Jupyter says that a port which was asked for is taken, and does not quietly use another.
ifneq ($(findstring --port=,$(ARGS)),)
JUPYTER += --ServerApp.port_retries=0
endif

SCHEMA := $(BIN)/check-jsonschema --builtin-schema

.PHONY: help lab test lint notebooks mutants fuzz site wasm bench clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

# Pictures saved in a notebook are shown at once only if it is trusted; these come from the clone itself.
# Formgrader finds the course through Jupyter's configuration path.
# One thread for each product of matrices: on a busy machine threads that wait for each other take twenty times as long.
lab: $(VENV)/lab.stamp
	@$(BIN)/jupyter trust notebooks/*.ipynb exercises/source/*/*.ipynb >/dev/null
	@OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS:-1} \
	  JUPYTER_CONFIG_PATH="$(CURDIR)/exercises$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" \
	  $(BIN)/jupyter lab $(JUPYTER) $(ARGS)

# All tests run in a process for each core. Some tests run in one process, which starts at once and takes
# ARGS="-x --pdb tests/nn"; ARGS="-n 4 tests" is all tests in four processes, ARGS=tests all in one.
# More than eight processes would spend their time and memory on collecting the tests.
WORKERS := -n logical --maxprocesses 8

test: $(VENV)/test.stamp
	@OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS:-1} $(BIN)/python -m pytest $(or $(ARGS),$(WORKERS) --dist worksteal)

lint: $(VENV)/lint.stamp
	@$(BIN)/ruff check
	@$(BIN)/ruff format --quiet --diff
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/codespell
	@$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	@$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(SCHEMA) vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	@$(SCHEMA) vendor.dependabot .github/dependabot.yml
	@$(SCHEMA) vendor.citation-file-format CITATION.cff

notebooks: $(VENV)/test.stamp
	@AUTOLAB_HOME=off OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --nbval notebooks $(WORKERS) --dist loadfile $(ARGS)

mutants: $(VENV)/test.stamp
	@$(BIN)/python -m tests.check.measure $(ARGS)
	@$(BIN)/python -m docs.make.variants | diff docs/variants.md -

site: $(VENV)/site.stamp
	@$(BIN)/python -m docs.make.site $(ARGS)

wasm: $(VENV)/test.stamp
	@$(BIN)/python -m tests.wasm.lane $(ARGS)

fuzz: $(VENV)/test.stamp
	@OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS:-1} $(BIN)/python -m tests.check.fuzz $(ARGS)

bench: $(VENV)/lab.stamp
	@$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# What is installed, as files that are newer than pyproject.toml once it is done.

STAMPS := $(VENV)/lab.stamp $(VENV)/test.stamp $(VENV)/lint.stamp $(VENV)/site.stamp
.PHONY: $(STAMPS)
$(VENV)/lab.stamp: extras := lab,course
$(VENV)/test.stamp: extras := test
$(VENV)/lint.stamp: extras := lint
$(VENV)/site.stamp: extras := site

$(STAMPS): export SET_UP = $(value set_up)
$(STAMPS):
	@sh -c "$$SET_UP" set_up $(VENV) $@ $(extras) "$(PYTHON)"

# Plain shell, called with the environment's folder, the stamp, the extras and perhaps a Python.
define set_up
venv=$1 stamp=$2 extras=$3 chosen=$4

say() { printf '%s\n' "$@" >&2; }

# A moved environment has programs that begin with the old path.
usable() {
  "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
    head -n 2 "$venv/bin/pip" 2>/dev/null | grep -qF "$(pwd -P)/$venv/bin/"
}

# python3 first: it is the one a person has chosen.
create() {
  if [ -n "$chosen" ]; then set -- "$chosen"; else set -- python3 python3.14 python3.13 python3.12 python3.11; fi
  found=
  for python do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    found=$python
    "$python" -c 'import ensurepip, venv' 2>/dev/null || continue
    # pip in a step of its own: venv would not show what went wrong with it
    said=$({ "$python" -m venv --clear --without-pip "$venv" && "$venv/bin/python" -m ensurepip --default-pip; } 2>&1) && return
    advise
  done
  if [ -n "$found" ]; then
    say "$found cannot make a virtual environment: its venv module is missing." \
      "On Debian and Ubuntu: apt install python3-venv"
  else
    say "autolab needs Python 3.11 or newer, and found: $("$1" --version 2>/dev/null || echo "no $1")." \
      "Install one, or say where it is: make lab PYTHON=/path/to/python3"
  fi
  exit 1
}

# A package's RECORD is written last. Where it is missing, an installation was interrupted, and pip would take it for complete.
forget_incomplete() {
  for info in "$venv"/lib/python3*/site-packages/*.dist-info; do
    [ -e "$info/RECORD" ] || rm -rf "$info"
  done
}

# What venv or pip said, and what can be done about it.
advise() {
  reason=$(printf '%s\n' "$said" | sed -n "s/.*connection broken by '\(.*\)': .*/\1/p; s/^ *E[Rr][Rr][Oo][Rr]: //p" | head -n 1)
  case $said in
  *"No space left"* | *"quota exceeded"*)
    say "The disk is full, or your share of it. The lessons need 500 MB in $PWD/$venv, the tests 800 MB;" \
      "${TMPDIR:-/tmp} needs room too (TMPDIR names another folder). Free some space, then run make again." ;;
  *"Permission denied"* | *"Read-only file system"*)
    say "$reason" "Not all of $PWD/$venv belongs to you. Remove it (sudo make clean), then run make again without sudo." ;;
  *"connection broken"* | *"onnection error"* | *certificate* | *"No matching distribution"*)
    say "$reason" \
      "pip could not fetch what autolab needs. Is there a network? If there is, pip may need one of these before make:" \
      "  export HTTPS_PROXY=http://proxy.example:3128   behind a proxy" \
      "  export PIP_CERT=/path/to/certificates.pem      behind a proxy with a certificate of its own" \
      "  export PIP_INDEX_URL=https://mirror.example/   with packages from a mirror"
    [ ! -e "$stamp" ] || say "Or go on with what is installed: touch $stamp" ;;
  *) say "$(printf '%s' "$said" | tail -n 20)" ;;
  esac
  exit 1
}

if ! usable; then
  [ -w . ] || { say "Cannot write in $PWD." "Clone autolab into a folder of your own, and run make there."; exit 1; }
  [ ! -e "$venv" ] || say "$venv does not work here: moved, unfinished, or its Python is gone or too old. Making it again."
  create
fi
[ "$stamp" -nt pyproject.toml ] && exit
echo "Installing autolab-grad[$extras] into $venv, once; this takes a minute or two."
forget_incomplete
said=$(PIP_USER=0 "$venv/bin/python" -m pip install -q --disable-pip-version-check --editable ".[$extras]" 2>&1) || advise
touch "$stamp"
endef
