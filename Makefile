# Everything that is done with this source tree. `make help` lists the targets.
#
# The environment is .venv, made by the first target that needs it from the locked versions in
# requirements/. Stamp files remember what is installed, so a second run installs nothing.
# PYTHON=python3.12 chooses the interpreter; ARGS="..." goes to pytest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
WORKERS ?= auto
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# --- the environment ------------------------------------------------------------------------

# A .venv that is too old, broken, or was copied here with the folder counts as none.
SUITS = -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
ifneq ($(wildcard $(VENV)),)
  ifneq ($(shell $(BIN)/python $(SUITS) && grep -qF '$(CURDIR)/$(VENV)/' $(BIN)/pip && echo yes),yes)
    $(shell rm -f $(VENV)/pyvenv.cfg)
  endif
endif

$(VENV)/pyvenv.cfg:
	@$(PYTHON) $(SUITS) || { \
	  echo "policyd needs Python 3.11 or newer, and $(PYTHON) is: $$($(PYTHON) --version 2>&1)" >&2; \
	  echo "give another with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; \
	}
	@echo "making the environment $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)

# What policyd runs with, and policyd itself, editable.
$(VENV)/base.stamp: $(VENV)/pyvenv.cfg requirements/base.txt requirements/build.txt pyproject.toml
	@echo "installing policyd and what it runs with"
	@$(PIP) install --require-hashes -r requirements/base.txt -r requirements/build.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# dev: linters and tests; bench, fuzz, lock: what only these targets need.
$(VENV)/%.stamp: $(VENV)/base.stamp requirements/%.txt
	@echo "installing requirements/$*.txt"
	@$(PIP) install --require-hashes -r requirements/$*.txt
	@touch $@

.PHONY: env
env: $(VENV)/dev.stamp ## create the environment with all that check and test need

# --- using it -------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/base.stamp ## place the example pods on the sample cluster, and explain the one that waits
	@mkdir -p build
	$(BIN)/policyd simulate $(DEMO_RULES) --pods examples/demo/pods.yaml --record build/demo.jsonl || [ $$? -eq 1 ]
	@echo
	$(BIN)/policyd explain research/resnet-train-0 --from build/demo.jsonl || [ $$? -eq 1 ]

# Status 1 says that a pod waits, as one does here.
DEMO_RULES := rules/fit.expr rules/gpu.expr rules/headroom.expr

# --- checking it ----------------------------------------------------------------------------

.PHONY: check
check: $(VENV)/dev.stamp ## formatting, lint, types, import contracts, and the shipped rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/policyd check rules
	$(BIN)/policyd fmt --check rules

.PHONY: fmt
fmt: $(VENV)/dev.stamp ## format the code and the shipped rules
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .
	$(BIN)/policyd fmt rules

# Tests that compare seconds run first, one at a time and without coverage (status 5: none chosen).
# Those of the control plane run last, one at a time; it is built while the others run, once. What
# did not run is summed up over the three. The exit status is pytest's; coverage is for information.
NOT_RUN := $(VENV)/not-run.json
PYTEST := POLICYD_NOT_RUN=$(NOT_RUN) $(BIN)/coverage run -m pytest
CONTROLPLANE := $(BIN)/python -m tests.controlplane.program

.PHONY: test
test: $(VENV)/dev.stamp ## every test, on all cores; ends with the skipped ones and why
	@rm -f .coverage .coverage.* $(NOT_RUN)
	@POLICYD_NOT_RUN=$(NOT_RUN) $(BIN)/python -m pytest -m "timing and not cluster" $(ARGS); timing=$$?; \
	$(if $(ARGS),:,$(CONTROLPLANE)) & \
	$(PYTEST) -m "not timing and not cluster" -n $(WORKERS) --dist loadgroup $(ARGS); rest=$$?; \
	wait; \
	$(PYTEST) -m cluster $(ARGS); cluster=$$?; \
	$(BIN)/coverage combine --quiet && \
	echo "branch coverage: $$($(BIN)/coverage report --format=total --precision=1)% (make coverage lists the files)"; \
	[ "$$timing$$rest$$cluster" = 555 ] && exit 5; \
	for status in $$timing $$rest $$cluster; do case $$status in 0|5) ;; *) exit $$status ;; esac; done

.PHONY: controlplane
controlplane: $(VENV)/dev.stamp ## build the test control plane and helm, if they are not there yet
	$(CONTROLPLANE)

.PHONY: coverage
coverage: $(VENV)/dev.stamp ## the table behind the last `make test`, with the lines not reached
	$(BIN)/coverage report --show-missing

.PHONY: conformance
conformance: $(VENV)/dev.stamp ## the CEL and Kubernetes cases of $POLICYD_SHARED, counted by group
	$(BIN)/python tests/conformance/run.py

.PHONY: bench
bench: $(VENV)/bench.stamp $(VENV)/dev.stamp ## times of the language beside its peers, of a reload, of the loop, and on an API server
	$(BIN)/python -m pytest tests/bench --benchmark-only $(ARGS)
	$(if $(ARGS),,$(BIN)/python tests/bench/reload.py)
	$(if $(ARGS),,$(BIN)/python tests/bench/loop.py)
	$(if $(ARGS),,$(BIN)/python tests/bench/cluster.py)

.PHONY: fuzz
fuzz: $(VENV)/fuzz.stamp ## long: every fuzz target for FUZZ_SECONDS each, then the deep properties
	$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -n $(WORKERS) --timeout 7200 \
	  -m "slow or hypothesis" $(ARGS)

.PHONY: fuzz-quick
fuzz-quick: $(VENV)/fuzz.stamp ## every fuzz target, a minute in all, as CI runs it
	$(BIN)/python fuzz/run.py --seconds 12

.PHONY: fuzz-parity
fuzz-parity: $(VENV)/dev.stamp ## until stopped: random scenarios, by policyd and by kube-scheduler
	while HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -q --timeout 0 $(ARGS) \
	  tests/parity/test_live_oracle.py; do :; done

FUZZ_SECONDS ?= 600

# --- making things --------------------------------------------------------------------------

.PHONY: wheel
wheel: $(VENV)/base.stamp ## build dist/policyd-*.whl
	@rm -rf dist
	$(BIN)/python -m hatchling build --target wheel

.PHONY: schema
schema: $(VENV)/dev.stamp ## regenerate the Kubernetes schema in the package from `kubernetes`' models
	$(BIN)/python scripts/make_schema.py

.PHONY: docs
docs: $(VENV)/dev.stamp ## regenerate the pages of docs/ that are made from the code
	$(BIN)/python scripts/make_diagnostics_page.py
	$(BIN)/python scripts/make_field_reference.py
	$(BIN)/python scripts/make_function_reference.py
	$(BIN)/python scripts/make_function_reference.py
	$(BIN)/python scripts/make_field_reference.py

.PHONY: lock
lock: $(VENV)/lock.stamp ## resolve pyproject.toml into requirements/ (ARGS=--upgrade for newer versions)
	scripts/lock.sh $(BIN)/uv $(ARGS)

.PHONY: clean
clean: ## remove what was built, cached and measured, and the environment
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache .benchmarks .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
