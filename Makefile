# Two commands do everything: `make demo` and `make test`. Both set up .venv themselves.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Optional parts that `make test-all` tests where they are installed; CI installs them all.
EXTRAS ?= dev-all
# Python 3.12 and 3.13, where they are installed; pyenv's need not be active.
OTHER_PYTHONS ?= $(foreach minor,12 13,$(firstword $(wildcard $(HOME)/.pyenv/versions/3.$(minor).*/bin/python3.$(minor)) \
	$(shell command -v python3.$(minor))))
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-versions test-all check coverage docs pictures fuzz lint bench load clean

demo: $(VENV)/ready
	$(BIN)/dstress demo

# Lint, types and the fast tests: five minutes on two cores.
test: $(VENV)/ready-dev
	@$(MAKE) --no-print-directory lint && $(BIN)/pytest -n auto -m "not slow"; code=$$?; \
		echo "processor time (user, system) of this shell and of all that it ran:"; times; exit $$code

# The fast tests under every other Python that is here, and under this one with the oldest versions that pyproject allows.
test-versions:
	for python in $(OTHER_PYTHONS); do \
		$$python -m venv .venv-$$(basename $$python) && .venv-$$(basename $$python)/bin/pip install --quiet \
			--disable-pip-version-check -c constraints.txt -e '.[dev]' && \
		.venv-$$(basename $$python)/bin/pytest -n auto -m "not slow" || exit 1; \
	done
	$(PYTHON) -m venv .venv-lowest && .venv-lowest/bin/pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest --resolution lowest-direct -e '.[dev]'
	.venv-lowest/bin/pytest -n auto -m "not slow" -W ignore::DeprecationWarning  # old versions beside new ones of others

# Everything, with more examples of each law, and with every optional part that is installed.
test-all: $(VENV)/ready-all lint
	EXAMPLES=25 $(BIN)/pytest -n auto

# The fast tests of one folder: make check ROOM=stressors
check: $(VENV)/ready-dev
	$(BIN)/ruff check src/dstress/$(ROOM) tests/$(ROOM)
	$(BIN)/pytest -n auto -m "not slow" tests/$(ROOM)

# How much of src the fast tests run, then how much all tests run, processes that they start included.
coverage: $(VENV)/ready-all
	$(BIN)/coverage run -m pytest -n auto -m "not slow" && $(BIN)/coverage combine -q && $(BIN)/coverage report | tail -1
	$(BIN)/coverage run -m pytest -n auto && $(BIN)/coverage combine -q && $(BIN)/coverage report | tail -1

# The documentation as a site, in build/website/site.
docs: $(VENV)/ready-docs
	$(BIN)/python -m website

# The pictures in docs/pictures and docs/platform/pictures, made anew by the demo and a server; needs chromium.
pictures: $(VENV)/ready-all
	$(BIN)/python -m website.pictures

# Thousands of damaged files and hostile values, hundreds of kills; the tests run a part of them.
fuzz: $(VENV)/ready-all
	EXAMPLES=2000 KILLS=200 $(BIN)/pytest -n auto tests/corpora/test_fuzz.py tests/predictions/test_prediction_fuzz.py \
		tests/storage tests/attacks tests/llm/test_post.py tests/pipeline/test_concurrent_starts.py \
		tests/pipeline/test_evaluate.py::test_killed_anywhere_it_ends_the_same

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

bench: $(VENV)/ready-dev
	$(BIN)/python -m benchmarks

# A server under 50 submitters and 200 readers, and what is left when it is killed under them; the tests run a small one.
load: $(VENV)/ready-dev
	$(BIN)/python -m benchmarks.load
	$(BIN)/python -m benchmarks.load --kill 5
	$(BIN)/python -m benchmarks.load --postgresql
	$(BIN)/python -m benchmarks.load --postgresql --kill 5

clean:
	rm -rf $(VENV) build dist src/*.egg-info

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(INSTALL) -e '.[dev]'
	touch $@

$(VENV)/ready-all: $(VENV)/ready-dev
	$(INSTALL) -e '.[$(EXTRAS)]'
	touch $@

$(VENV)/ready-docs: $(VENV)/ready
	$(INSTALL) -e '.[docs]'
	touch $@
