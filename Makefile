# demo and test work on a fresh machine: they make their own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench docs clean browser

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[plots,parquet,test]'
	touch $@

# Debian's browser, for the tests that drive a real one. Without root the tests say that they were skipped, and why.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "make: no chromium; the browser tests will be skipped"

demo: $(READY)
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

docs: $(READY)
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache
