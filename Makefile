# demo and test work on a fresh machine: they make their own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready
ALL := $(VENV)/.all
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all check bench bench-systems wheel docs clean pure programs fuzz chaos living audit sbom hashes cluster test-cluster trials-cluster

# The product alone, as Python: fast enough for the sample, and installed sooner.
$(CORE): pyproject.toml setup.py constraints.txt src/porism/hashing.py $(wildcard src/porism/formula/*.py src/porism/formula/*/*.py) src/porism/analysis/features.py
	@echo "make: creating a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "make: installing Porism and the packages it needs (the first time this downloads them)"
	@find src -name '*.so' -delete
	@PORISM_PURE=1 $(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e . | sed -u -n 's/^\(Collecting\|Building\|Installing\|Successfully installed\) \([^ ]*\).*/make:   \1 \2/p'
	@test -x $(BIN)/porism
	@touch $@

$(READY): $(CORE)
	@echo "make: compiling Porism and installing what the tests need"
	$(PIP) -e '.[plots,parquet,mcp,systems,test]'
	touch $@

$(ALL): $(READY)
	@echo "make: installing what the long tests need: torch, Turkle, a driver of browsers; several gigabytes"
	$(PIP) 'porism[neural,torch,cluster,pyterrier,test-all]'
	touch $@

# Programs that tests drive: Debian's browser and two proxies, and MathJax. Without root or npm the tests say that they were skipped, and why.
PROGRAMS := chromium nginx caddy
MATHJAX := mathjax@3.2.2
programs:
	@test -d $(VENV)/node/node_modules/mathjax || { command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix $(VENV)/node $(MATHJAX) >/dev/null; } || \
	echo "make: not installed: $(MATHJAX), which needs npm; its test will be skipped"
	@for one in $(PROGRAMS); do PATH="$$PATH:/usr/sbin" command -v $$one >/dev/null || missing="$$missing $$one"; done; test -z "$$missing" || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; } || \
	echo "make: not installed:$$missing; their tests will be skipped"

demo: $(CORE)
	@echo "make: building the sample and its index, then serving it"
	@$(BIN)/porism demo --editor

test: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile --part quick

# The tests that make test leaves out: they need large packages, other programs or minutes.
test-all: test $(ALL) programs
	$(BIN)/pytest -n 2 --dist loadfile --part long
	$(BIN)/pytest -m cluster --part long

check: $(ALL)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test-all

bench: $(ALL)
	$(BIN)/python -m bench

# The named systems on the real data: fails where a figure is not the stored one, and writes docs/results/systems.md. Runs are kept in PORISM_BENCH_KEEP.
bench-systems: $(ALL)
	$(BIN)/python -m bench verify --page docs/results/systems.md

# Hostile inputs for every reader, in processes with limits; docs/results/reliability.md has the results of a million. FUZZ="--inputs 1000000" for more.
fuzz: $(ALL)
	$(BIN)/python -m attack.fuzz $(FUZZ)

# Kills, damaged files, full disks, bad clients and hostile load, on this machine only, some minutes. CHAOS=--long for a night.
chaos: $(ALL)
	$(BIN)/python -m attack.chaos $(CHAOS)

# A site that lives: changes by the API under a search load, kills, then the same answers as an index built from scratch. LIVING="--posts 5000 --changes 500".
living: $(ALL)
	$(BIN)/python -m attack.living $(LIVING)

# Three nodes of OpenSearch on 127.0.0.1 until Ctrl-C: the archive by Maven, any Java from 21 on. CLUSTER="--heap 1g --measured".
cluster: $(ALL)
	$(BIN)/python -m attack.cluster.nodes $(CLUSTER)

# The tests that need a cluster; they start one, or use that of PORISM_OPENSEARCH=opensearch://host:9200.
test-cluster: $(ALL)
	$(BIN)/pytest -m cluster tests

# Nodes killed and stopped under load, loads killed, snapshots: some hours. docs/results/cluster.md has the tables.
trials-cluster: $(ALL)
	$(BIN)/python -m attack.cluster.trials $(TRIALS)

# Published vulnerabilities of the packages, where the data can be reached; a bill of materials (CycloneDX).
audit:
	$(PYTHON) -m attack.packages audit

sbom:
	$(PYTHON) -m attack.packages bill

# The packages of the image with the hashes of their files, after a change of constraints.txt: deploy/requirements.txt, deploy/build.txt and deploy/cluster/requirements.txt.
hashes:
	$(PYTHON) -m attack.packages hashes

# A wheel with compiled modules for this machine, and one of Python alone for any machine, in dist.
wheel: $(CORE)
	@rm -rf build dist
	PORISM_PURE=1 $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	@rm -rf build
	@ls dist

docs: $(READY)
	$(BIN)/python docs/generate.py

# Without what was compiled the same files run as Python, as one wants while changing them.
pure:
	find src -name '*.so' -delete

clean: pure
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache
