# demo and test work on a fresh machine: they make their own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check bench bench-systems docs clean pure browser

# The product alone. Part of it is compiled (setup.py), so it is installed again when something there changes.
$(CORE): pyproject.toml setup.py constraints.txt src/porism/hashing.py $(wildcard src/porism/formula/*.py src/porism/formula/*/*.py) src/porism/index/analysis/flat.py src/porism/index/analysis/features.py
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(READY): $(CORE)
	$(PIP) 'porism[plots,parquet,mcp,systems,test]'
	touch $@

# Debian's browser, for the tests that drive a real one. Without root the tests say that they were skipped, and why.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "make: no chromium; the browser tests will be skipped"

demo: $(CORE)
	$(BIN)/porism demo

test: $(READY) browser
	$(BIN)/pytest -n 2 --dist loadfile

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

bench: $(READY)
	$(BIN)/python -m bench

# The named systems on the real data: fails where a figure is not the stored one, and writes docs/results/systems.md. Runs are kept in PORISM_BENCH_KEEP.
bench-systems: $(READY)
	PORISM_SHARED=$${PORISM_SHARED:-../shared} PORISM_BENCH_KEEP=$${PORISM_BENCH_KEEP:-.verify} $(BIN)/porism systems verify --page docs/results/systems.md

docs: $(READY)
	$(BIN)/python docs/generate.py

# Without what was compiled the same files run as Python, as one wants while changing them.
pure:
	find src -name '*.so' -delete

clean: pure
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache
