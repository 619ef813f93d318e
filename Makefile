# Everything a newcomer needs: `make demo` shows what ganglift does, `make test` proves it.
# Both do their own set-up: Python 3.11+, make and Go are enough.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready

.PHONY: demo test bench lock clean
demo: $(READY)
	$(VENV)/bin/ganglift demo

test: $(READY)
	$(VENV)/bin/tox

bench: $(READY)
	$(VENV)/bin/tox -e bench

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --require-hashes -r requirements/dev.lock
	$(VENV)/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

# Newest versions that pyproject.toml allows, with hashes, for every supported Python.
lock: $(READY)
	$(VENV)/bin/uv pip compile --quiet pyproject.toml --upgrade --generate-hashes --no-header --no-annotate --universal --python-version 3.11 -o requirements/run.lock
	$(VENV)/bin/uv pip compile --quiet pyproject.toml --group dev --upgrade --generate-hashes --no-header --no-annotate --universal --python-version 3.11 -o requirements/dev.lock

clean:
	rm -rf $(VENV) .tox .build .mypy_cache .ruff_cache .pytest_cache .hypothesis
