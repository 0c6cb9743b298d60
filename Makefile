# Everything a developer does with rheos; `make` alone lists it.
# PYTHON=python3.12 chooses the interpreter of the environment, PYTEST="-k json" narrows the tests,
# DEMO="--for 60s" is given to the demo, FUZZ="--minutes 60" to the fuzzers, BENCH="windows" to the benchmarks.

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTEST ?=
DEMO   ?=
FUZZ   ?= --minutes 5
BENCH  ?=

# The first interpreter on the path that is new enough; empty when there is none.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)

JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
JAVA_HINT := Spark needs Java 17 or 21: apt-get install openjdk-17-jre-headless (Debian, Ubuntu), brew install openjdk@17 (macOS)

APT := $(if $(filter 0,$(shell id -u)),,sudo -n )apt-get

.DEFAULT_GOAL := help
.PHONY: help install services test test-all slow lint types unit conformance fuzz bench demo docs golden format clean python java browser axe mosquitto wheel

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: java browser axe lint types unit ## what must hold before a commit: environment, lint, types, tests, W3C suite if ../shared/w3c is there

test-all: services test slow ## the same, and the tests that take long: a cluster, killed processes, many random cases

services: java mosquitto $(STAMP) ## fetch what tests with real brokers need, once: Mosquitto, Kafka and Spark's connector for it
	@$(BIN)/python -m tests.services

demo: java $(STAMP) ## a simulated city, live: continuous queries in all the languages, and pages for the browser
	$(BIN)/rheos demo $(DEMO)

install: $(STAMP) ## create .venv with rheos and its benchmarks (editable) and the tools of development

lint: $(STAMP) ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

unit: $(STAMP) ## the tests alone, two files at a time; PYTEST="tests/cli -k json" for some of them
	$(BIN)/python -m pytest -m "not slow" --numprocesses 2 --dist loadfile $(PYTEST)

slow: $(STAMP) ## the tests that take long: two files at a time, and then those that measure times
	$(BIN)/python -m pytest -m "slow and not alone" --numprocesses 2 --dist loadfile $(PYTEST)
	$(BIN)/python -m pytest -m alone $(PYTEST) || test $$? -eq 5 # none of them was asked for

conformance: java $(STAMP) ## the W3C SPARQL tests on both executions, with a summary
	$(BIN)/python -m tests.conformance

fuzz: $(STAMP) ## mutated queries, RDF and elements for five minutes; FUZZ="--minutes 60" or "--subject query --seed 7"
	$(BIN)/python -m tests.fuzz $(FUZZ)

bench: java $(STAMP) ## measure, beside pyoxigraph; takes some minutes; BENCH="cluster --triples 200000" for one
	$(BIN)/rheos bench $(BENCH)

docs: $(STAMP) ## the site, from docs/ into build/site; links are checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

wheel: $(STAMP) ## dist/rheos-VERSION-py3-none-any.whl, to install rheos elsewhere: docs/deployment.md
	$(BIN)/python -m hatchling build --target wheel --directory dist

golden: $(STAMP) ## write the golden files of the compiler and the optimiser anew, to be read in the diff
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q tests/golden tests/optimize

format: $(STAMP) ## put the code into the project's form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the environment and everything generated
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml bench/pyproject.toml | python
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing rheos and its tools into $(VENV)" >&2
	@$(BIN)/python -m pip install --quiet --upgrade pip || echo "pip stays as it is" >&2
	@$(BIN)/python -m pip install --quiet --editable '.[dev]' --editable bench
	@touch $@

python:
	@test -x $(BIN)/python || test -n "$(PYTHON)" || \
		{ echo "rheos needs Python 3.11 or newer: install it, or name it with make PYTHON=…" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make environments: apt-get install python3-venv" >&2; exit 1; }

java:
	@"$(JAVA)" -version 2>&1 | awk -F '"' '/version/ { split($$2, v, "."); ok = v[1] >= 17 } END { exit !ok }' || \
		{ echo "$(JAVA_HINT)" >&2; exit 1; }

# The tests of the pages run in the system's own Chromium; playwright downloads none.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		command -v $$name >/dev/null && exit 0; done; \
	echo "installing Chromium for the browser tests" >&2; \
	{ $(APT) update -qq && $(APT) install -qq -y chromium; } >/dev/null 2>&1 || \
		echo "THE BROWSER TESTS ARE SKIPPED: there is no Chromium, and apt-get could not install it" >&2

# What finds out whether the pages are open to everybody; the tests need it, rheos does not.
AXE := 4.14.0

axe: build/npm/axe-$(AXE)

build/npm/axe-$(AXE):
	@command -v npm >/dev/null || { echo "THE TEST WITH AXE-CORE IS SKIPPED: there is no npm" >&2; exit 0; }; \
	mkdir -p build/npm && \
	npm install --silent --no-audit --no-fund --prefix build/npm axe-core@$(AXE) >/dev/null 2>&1 && touch $@ || \
		echo "THE TEST WITH AXE-CORE IS SKIPPED: npm could not install it" >&2

mosquitto:
	@command -v mosquitto >/dev/null || test -x /usr/sbin/mosquitto || { \
	echo "installing Mosquitto for the tests with MQTT" >&2; \
	{ $(APT) update -qq && $(APT) install -qq -y mosquitto; } >/dev/null 2>&1 || \
		echo "THE TESTS WITH MQTT ARE SKIPPED: there is no mosquitto, and apt-get could not install it" >&2; }
