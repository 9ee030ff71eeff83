# make app    opens the app               make test   runs all tests
# make bench  prints the speed ratios     make lint   style and types
# make javascript  checks the JavaScript: tests, types and style; only this and the next need node and npm
# make firefox     tries the main gestures in Firefox (VIZ_FIREFOX says where it is, else /usr/bin/firefox-esr)
# make lock   writes the lock files anew (ARGS=--upgrade takes the newest versions)
# make streamlit  runs the tests that need Streamlit with VERSION of it, the oldest that we support unless it is given
# make attack runs the slow tests, then tries hostile input of every kind for hours, prints what got through, and fails
#                  if there is any; with ARGS, the kinds that these name and nothing else
# Tests run in one process more than there are processors, since they often wait for a browser; at most in four. PROCESSES=0
# runs them in one, as pytest does.
# ARGS goes to the command (make app ARGS="--port 9000 --window"), PIP_ARGS to pip, PYTHON makes the environment.
PYTHON ?= python3
ARGS ?=
PIP_ARGS ?=
PROCESSES ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
VERSION ?= 1.66.0
BIN := .venv/bin
PIP := $(BIN)/python -m pip

# What python compiles stays beside its source: every process would compile all tests anew, for ten seconds and more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app test streamlit attack bench lint javascript firefox lock

app: .venv/installed
	$(BIN)/viz-transformer app $(ARGS)

test: .venv/installed-dev
	$(BIN)/python -m pytest -n $(PROCESSES) --maxprocesses 4 --dist worksteal -rR $(ARGS)

# An environment with this version in front of all that is in .venv.
OTHER := .venv/streamlit-$(VERSION)
PLACE := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
STREAMLIT_TESTS := tests/ui tests/pages tests/command tests/test_slow_clients.py tests/browser/test_app.py

streamlit: .venv/installed-dev
	$(BIN)/python -m venv $(OTHER)
	echo "import site; site.addsitedir('$$($(BIN)/python $(PLACE))')" > "$$($(OTHER)/bin/python $(PLACE))/outer.pth"
	$(OTHER)/bin/python -m pip install $(PIP_ARGS) streamlit==$(VERSION)
	$(OTHER)/bin/python -m pytest -n $(PROCESSES) --maxprocesses 4 --dist loadfile $(or $(ARGS),$(STREAMLIT_TESTS))

attack: .venv/installed-dev
	$(if $(ARGS),,$(BIN)/python -m pytest -m slow)
	PYTHONPATH=.:tests $(BIN)/python -m attack $(ARGS)

bench: .venv/installed-dev
	$(BIN)/python -m bench $(ARGS)

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

javascript: node_modules/installed
	node --test tests/javascript/*.test.js
	node_modules/.bin/tsc
	node_modules/.bin/biome ci

firefox: .venv/installed node_modules/installed
	VIZ_PYTHON=$(BIN)/python node --test tests/firefox/*.test.js

lock: | $(BIN)/python
	$(PIP) install $(PIP_ARGS) uv==0.13.9
	$(BIN)/python -m locks $(ARGS)

# What is installed is what the lock files name. Two stamps: what is older than its stamp has been installed.
.venv/installed: locks/build.txt locks/app.txt locks/cpu.txt locks/gpu.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m locks.install app $(PIP_ARGS)
	$(PIP) install $(PIP_ARGS) --no-deps --no-build-isolation -e .
	@touch $@

.venv/installed-dev: locks/dev.txt .venv/installed
	$(BIN)/python -m locks.install dev $(PIP_ARGS)
	$(PIP) check
	@touch $@

node_modules/installed: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, $(PYTHON) is {sys.version.split()[0]}: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
