# Every target is one command; what it does stands in the Python it calls.
# `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
INSTALL := $(RUN) pip install --quiet --disable-pip-version-check

# Compiled modules are kept: the tests start hundreds of processes, each of which would compile all.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 24

# The fork, installed into an environment of its own; made again when what it is made from changes.
$(VENV)/.fork: pyproject.toml upstream.lock smolagents_fork/_version.py \
		$(wildcard buildsys/*.py patches/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed, this is " + sys.version)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	@echo "building and installing the fork into $(VENV) ..."
	@$(INSTALL) --editable .
	@touch $@

# The same with what the maintainers' commands and the tests need.
$(VENV)/.dev: $(VENV)/.fork requirements-dev.txt
	@echo "installing requirements-dev.txt into $(VENV) ..."
	@$(INSTALL) --constraint requirements-dev.txt uv
	@$(RUN) tools.uv install
	@touch $@

.PHONY: requirements
requirements: $(VENV)/.dev ## pin the newest versions of requirements-dev.in in requirements-dev.txt
	@$(RUN) tools.uv lock

.PHONY: dev
dev: ## (re)build the fork and install it, editable, into .venv
	@rm -f $(VENV)/.fork
	@$(MAKE) --no-print-directory $(VENV)/.dev

.PHONY: demo
demo: $(VENV)/.fork ## a CodeAgent answers a question about a file (EXECUTOR=wasm|docker|process|local, EXAMPLE=managed_agents)
	@$(if $(filter wasm,$(EXECUTOR)),$(INSTALL) "deno==2.*")
	@$(if $(OPENAI_API_KEY),$(INSTALL) "smolagents[openai]")
	@$(if $(EXECUTOR),EXECUTOR=$(EXECUTOR) )$(RUN) examples $(EXAMPLE)

.PHONY: test
test: $(VENV)/.dev ## lint, tests whose subject may have changed, upstream's own (REQUIRE_DOCKER=1: no engine is a failure)
	@$(RUN) tools.run_all

.PHONY: test-all
test-all: ## make test, and make test-rest; an unstable test of either fails it, and what they leave behind
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest
	@$(RUN) tools.run_all --after

.PHONY: test-rest
test-rest: $(VENV)/.dev ## what make test leaves out, and upstream's own on the release and the fork
	@$(RUN) tools.run_all --rest

.PHONY: test-fast
test-fast: $(VENV)/.dev ## quick tests for each change, without network or Docker
	@$(RUN) pytest -n logical --dist worksteal --ignore=tests/integration \
		-m "not broad and not docker and not ray and not wasm and not network and not slow"

.PHONY: coverage
coverage: $(VENV)/.dev ## the share of lines of smolagents_fork that tests without Docker run, into reports/
	@$(RUN) pytest -n auto --dist worksteal \
		-m "not broad and not docker and not ray and not wasm and not network" \
		--cov --cov-report=term --cov-report=xml

.PHONY: test-python
test-python: ## version-dependent tests on another Python (PYTHON=python3.13)
	@$(MAKE) --no-print-directory VENV=build/venv-$(subst /,-,$(PYTHON)) other-python

# Called by test-python, with an environment beside the usual one.
.PHONY: other-python
other-python: $(VENV)/.dev
	@$(RUN) tools.run_all -m "not docker and not ray and not wasm and not network" \
		tests/unit/interpreter tests/unit/codec tests/unit/process tests/unit/test_standard_library.py \
		tests/cases tests/contract tests/unit/test_step_pages.py --ignore=tests/contract/executors

.PHONY: fuzz
fuzz: $(VENV)/.dev ## search for programs that get past the interpreter, at random (SECONDS=600, SEED=1)
	@$(RUN) tests.fuzz.fuzz_search $(or $(SECONDS),600) $(or $(SEED),$(shell date +%s))

.PHONY: test-upstream
test-upstream: $(VENV)/.dev ## upstream's own tests against the release and the fork, compared
	@$(RUN) tools.regression

.PHONY: test-kubernetes
test-kubernetes: $(VENV)/.dev ## pods of a real cluster, built from Debian's source at the first time; needs root and Docker (WHOLE_CONTRACT=1)
	@$(RUN) tools.kubernetes_cluster $(RUN) tools.run_all --dist worksteal -k kubernetes tests/contract/provisioners \
		tests/contract/executors tests/contract/faults \
		tests/integration/kubernetes/test_real_kubernetes.py

.PHONY: test-downstream
test-downstream: $(VENV)/.dev ## packages that build on smolagents, used with the fork and upstream (ARGS=name)
	@$(RUN) tools.downstream $(ARGS)

.PHONY: docs
docs: $(VENV)/.dev ## the site of the documentation, strictly, into build/site
	@NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --quiet
	@echo "the site: file://$(CURDIR)/build/site/index.html"

.PHONY: lint
lint: $(VENV)/.dev ## ruff, mypy, the workflows, the series, the layers
	@$(RUN) tools.lint

.PHONY: dist
dist: $(VENV)/.dev ## the source distribution and the wheel, into dist/
	@$(RUN) build --outdir dist .

.PHONY: release
release: $(VENV)/.dev ## every file of a release into dist/release, its commit and tag (DRY=1: the files only)
	@$(RUN) tools.release $(if $(DRY),--dry)

.PHONY: clean
clean: ## remove build output, but not a rebase in progress
	rm -rf $(VENV) build dist reports .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: patches-edit patches-export patches-check
patches-edit: $(VENV)/.dev ## a scratch git repository with the series as commits, in build/series
	@$(RUN) tools.series edit
patches-export: $(VENV)/.dev ## write patches/ from build/series
	@$(RUN) tools.series export
patches-check: $(VENV)/.dev ## re-export the series and compare bytes
	@$(RUN) tools.series check

.PHONY: rebase-upstream rebase-continue rebase-abort rebase-check
rebase-upstream: $(VENV)/.dev ## put the series on a newer release (TO=VERSION)
	@$(RUN) tools.rebase start $(if $(TO),--to $(TO))
rebase-continue: $(VENV)/.dev ## continue after a conflict, a refused result or an interruption
	@$(RUN) tools.rebase continue
rebase-abort: $(VENV)/.dev ## abandon a rebase in progress
	@$(RUN) tools.rebase abort
rebase-check: $(VENV)/.dev ## is the series fit for a release, branch or pull requests? (TO=, UPSTREAM_GIT=, PULLS=)
	@$(RUN) tools.rebase check $(if $(TO),--to $(TO)) $(if $(PULLS),--pulls $(PULLS)) \
		$(if $(UPSTREAM_GIT),--upstream-git $(UPSTREAM_GIT))

.PHONY: bench-interpreter bench-docker bench-process bench-network
bench-interpreter: $(VENV)/.dev ## the local interpreter beside CPython, upstream's and others
	@$(RUN) tools.bench interpreter --record
bench-docker: $(VENV)/.dev ## the Docker executor beside upstream's and a bare kernel
	@$(RUN) tools.bench docker --record
bench-process: $(VENV)/.dev ## the process executor beside fork and a pipe
	@$(RUN) tools.bench process --record
bench-network: $(VENV)/.dev ## requests through the proxy of listed hosts beside the same client without it
	@$(RUN) tools.bench network --record
