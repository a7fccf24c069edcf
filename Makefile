# `make demo` and `make test` need nothing but Python 3.11 or newer and make.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test slow fault connect cluster buckets screenshots check bench lock format clean

help: ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

$(READY): requirements.lock pyproject.toml scripts/setup
	@sh scripts/setup $(VENV)
	@touch $@

demo: $(READY) ## Make a shop, run several days of it, show what came out
	@sh scripts/java
	@$(BIN)/tranche demo build/demo

test: $(READY) ## Run all tests but the slow suites
	@sh scripts/java
	@sh scripts/chromium
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

slow: $(READY) ## Run the tests that `make test` leaves out: more combinations on Spark
	@sh scripts/java
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m slow

fault: $(READY) ## Kill runs at every point, and see that nothing is lost (slow)
	@sh scripts/java
	$(BIN)/python -m pytest -q tests/fault

connect: $(READY) ## Run the end-to-end tests on a server of Spark Connect (slow)
	@sh scripts/java
	$(BIN)/python -m pytest -q tests/e2e -m spark --spark connect

cluster: $(READY) ## Run the end-to-end tests on a cluster of two workers (slow)
	@sh scripts/java
	$(BIN)/python -m pytest -q tests/e2e -m spark --spark cluster

buckets: $(READY) ## Run the tests of DuckLake with its files in a store of objects (slow)
	@sh scripts/java
	$(BIN)/python -m pytest -q tests/spark/test_buckets.py tests/spark/test_formats.py tests/spark/test_ducklake.py \
	    tests/spark/test_ducklake_histories.py -k "ducklake or bucket" --files bucket

screenshots: $(READY) ## Take the pictures of the pages anew for the documents
	@sh scripts/java
	@sh scripts/chromium
	TRANCHE_SCREENSHOTS=docs/pages $(BIN)/python -m pytest -q tests/browser/test_demo.py

check: $(READY) ## Lint, format, types, layers
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## Measure Tranche against hand-written Spark and print ratios
	@sh scripts/java
	$(BIN)/python -m bench

lock: $(READY) ## Resolve the dependencies anew
	$(BIN)/uv pip compile --generate-hashes --universal --group dev --extra connect --extra ducklake --extra openlineage --extra postgres --quiet \
	    --custom-compile-command 'make lock' pyproject.toml -o requirements.lock

format: $(READY) ## Format the code and mend what ruff can
	$(BIN)/ruff check --fix-only src tests bench
	$(BIN)/ruff format src tests bench

clean: ## Remove what was made
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
