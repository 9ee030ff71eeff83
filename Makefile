# make app    opens the app               make test   runs all tests
# make bench  prints the speed ratios     make lint   style and types
# ARGS goes to the command (make app ARGS="--port 9000 --window"), PIP_ARGS to pip, PYTHON makes the environment.
PYTHON ?= python3
ARGS ?=
PIP_ARGS ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip

.PHONY: app test bench lint

app: .venv/installed
	$(BIN)/viz-transformer app $(ARGS)

test: .venv/installed-dev
	$(BIN)/python -m pytest $(ARGS)

bench: .venv/installed-dev
	$(BIN)/python -m bench $(ARGS)

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two stamps: what is older than its stamp has been installed.
.venv/installed: requirements.txt pyproject.toml | $(BIN)/python
	$(PIP) install $(PIP_ARGS) -r requirements.txt
	$(PIP) install $(PIP_ARGS) --no-deps -e .
	@touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	$(PIP) install $(PIP_ARGS) -r requirements-dev.txt
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, $(PYTHON) is {sys.version.split()[0]}: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
