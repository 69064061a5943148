# Every target sets up all it needs: Python 3.11 or newer with its venv, git and make are enough.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	>/dev/null 2>&1 && { echo $$name; break; }; done)
BIN := .venv/bin
READY := .venv/.ready
LINTERS := .venv/.linters
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test sweep bench bench-peers lint docs clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml constraints.txt
	@[ -n "$(PYTHON)" ] || { echo "understudy needs Python 3.11 or newer with its venv module," \
	"which was not found: install it (Debian and Ubuntu: apt install python3-venv)," \
	"or name one with  make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@[ -x $(BIN)/python ] && $(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	@$(PIP) install --constraint constraints.txt --editable '.[test]'
	@touch $@

$(LINTERS): $(READY)
	@$(PIP) install --constraint constraints.txt --editable '.[lint]'
	@touch $@

demo: $(READY)
	@rm -rf demo
	@$(BIN)/understudy demo --out demo

test: $(READY)
	@$(BIN)/python -m pytest -m 'not sweep'

sweep: $(READY)
	@$(BIN)/python -m pytest -m sweep

bench: $(READY)
	@$(BIN)/python -m benchmarks

bench-peers: $(READY)
	@$(BIN)/python -m benchmarks --peers

lint: $(LINTERS)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Writes the command reference; then every example in the docstrings and in the pages runs.
docs: $(READY)
	@$(BIN)/python docs/generate_cli.py
	@$(BIN)/python -m pytest src tests/test_docs.py

clean:
	@rm -rf .venv demo
