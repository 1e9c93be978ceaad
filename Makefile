# Every target that needs Python makes its own environment first, so a bare clone can start anywhere here.
#
#   make demo    the whole story on a simulated session, from prompt to refused rollback
#   make test    all tests
#   make check   format, lint, types, import layers
#   make bench   the measurements
#   make agmi    a third party's tampering suite, fetched beside the environment (needs the network once)
#   make truth   how often the heaviest value is the true one, on public data sets beside the checkout
#   make injections  AgentDojo's injection strings by every way in, fetched beside the environment (the network once)
#   make mutants change the code that decides, bit by bit, and see that tests notice (needs the network once)
#   make e2e-hosts  the real Codex and Kimi Code against a scripted model (needs the rig: docs/hosts.md)
#   make plugins plugin packages of all hosts, into dist/plugins
#   make inspector  fetch the MCP Inspector, which tests/mcp then use (needs npm, and the network once)
#   make fix     format, mend what can be mended, write the generated documents
#   make clean   remove what the other targets made

VENV  := .venv
PY    := $(VENV)/bin/python
STAMP := $(VENV)/.installed
CODE  := timeline adapters sidecars tests benchmarks docs plugins
AGMI  := .agmi_cache
DOJO  := .agentdojo_cache
MUTMUT := .mutmut_cache
INSPECTOR := .inspector_cache

# A host (Codex, Claude Code, King, Kimi Code) that runs make leaves its variables to us; so may the owner's own
# TIMELINE_* settings. The demo and the tests must see neither.
SCRUB := $(shell env | sed -nE 's/^((CODEX|CLAUDE|BLUN|KING|KIMI|AGENTSPINE|TIMELINE)[A-Za-z0-9_]*)=.*/-u \1/p')

.PHONY: demo test check bench truth agmi injections mutants e2e-hosts inspector plugins fix clean

demo: $(STAMP)
	@env $(SCRUB) $(VENV)/bin/timeline demo

test: $(STAMP)
	@env $(SCRUB) PYTHONWARNDEFAULTENCODING=1 $(PY) -m pytest -n auto

check: $(STAMP)
	@$(VENV)/bin/ruff format --check --quiet $(CODE) || { echo 'format: run `make fix`' >&2; exit 1; }
	@$(VENV)/bin/ruff check --quiet $(CODE)
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo --no-cache

bench: $(STAMP)
	@$(PY) -m benchmarks

truth: $(STAMP)
	@env $(SCRUB) $(PY) -m tests.grading.truth

agmi: $(STAMP) $(AGMI)/.installed
	@env $(SCRUB) PYTHONPATH=$(AGMI) $(PY) -m tests.agmi

# The rig is named after the owner's variables were taken away; it lies beside the checkout, else TIMELINE_LAB says where.
TIMELINE_LAB ?= ../shared/lab
e2e-hosts: $(STAMP)
	@env $(SCRUB) TIMELINE_LAB="$(TIMELINE_LAB)" $(PY) -m tests.hosts $(CASES)

# Beside the environment and not in it: nothing of ours may come to depend on the suite. Its bytes are pinned.
$(AGMI)/.installed: tests/agmi/requirements.txt
	@rm -rf $(AGMI)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
	    --target $(AGMI) --requirement $<
	@touch $@

# Its texts are read and none of its code is run. Fetched once, `make test` drives them too.
injections: $(STAMP) $(DOJO)/.installed
	@env $(SCRUB) PYTHONWARNDEFAULTENCODING=1 TEST_SERVICES=required $(PY) -m pytest tests/injections

$(DOJO)/.installed: tests/injections/requirements.txt
	@rm -rf $(DOJO)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
	    --target $(DOJO) --requirement $<
	@touch $@

# The tool finds pytest and what the tests need in our environment; TARGETS names some of tests/mutation/targets.py.
mutants: $(STAMP) $(MUTMUT)/.installed
	@env $(SCRUB) PYTHONPATH=$(CURDIR)/$(MUTMUT) $(PY) -m tests.mutation $(TARGETS)

# Pinned by version: it brings compiled packages, of which every platform has its own bytes.
$(MUTMUT)/.installed: tests/mutation/requirements.txt
	@rm -rf $(MUTMUT)
	@$(PY) -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	    --target $(MUTMUT) --requirement $<
	@touch $@

plugins: $(STAMP)
	@$(PY) plugins/build.py dist/plugins

fix: $(STAMP)
	@$(VENV)/bin/ruff check --quiet --fix-only $(CODE)
	@$(VENV)/bin/ruff format --quiet $(CODE)
	@$(PY) docs/generate_cli.py
	@$(PY) docs/generate_errors.py

# Pinned; the suite itself installs nothing, and skips what needs it.
inspector:
	@npm install --silent --no-audit --no-fund --prefix $(INSPECTOR) @modelcontextprotocol/inspector@0.15.0

clean:
	@rm -rf $(VENV) $(AGMI) $(DOJO) $(MUTMUT) $(INSPECTOR) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# Made again when pyproject.toml changes. A candidate is tried by running it: a pyenv shim exists but may not run.
# Debian ships Python without ensurepip, and an environment cannot be made without it.
$(STAMP): pyproject.toml
	@found=; \
	for name in python3.14 python3.13 python3.12 python3.11 python3; do \
	    "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	    if [ -z "$$found" ]; then found=$$name; fi; \
	    if "$$name" -c 'import ensurepip, venv' >/dev/null 2>&1; then python=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo 'make: error: no Python 3.11 or newer on PATH' >&2; \
	    echo 'make: hint: Debian, Ubuntu: apt-get install python3 python3-venv' >&2; \
	    echo 'make: hint: Fedora: dnf install python3    macOS: brew install python' >&2; \
	    exit 1; \
	fi; \
	if [ -z "$$python" ]; then \
	    version=$$("$$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    echo "make: error: $$found has no ensurepip, so no environment can be made" >&2; \
	    echo "make: hint: Debian, Ubuntu: apt-get install python3-venv (or python$$version-venv)" >&2; \
	    exit 1; \
	fi; \
	if ! $(PY) -c '' >/dev/null 2>&1; then \
	    echo "make: $(VENV) with $$("$$python" -V)"; \
	    "$$python" -m venv --clear $(VENV) || exit 1; \
	fi; \
	echo 'make: installing transcript-timeline and its tools into $(VENV)'; \
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
