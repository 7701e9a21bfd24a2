# Two commands do everything: `make demo` and `make test`. Both set up .venv themselves.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# CI adds every optional part: make test EXTRAS=dev,docs,speech,whisper,models,encoder,ray,localmodel,postgres,s3
EXTRAS ?= dev

.PHONY: demo test docs pictures fuzz lint bench load clean

demo: $(VENV)/ready
	$(BIN)/dstress demo

test: $(VENV)/ready-dev lint
	$(BIN)/pytest -n auto

# The documentation as a site, in build/website/site.
docs: $(VENV)/ready-docs
	$(BIN)/python -m website

# The pictures in docs/pictures and docs/platform/pictures, made anew by the demo and a server; needs chromium.
pictures: $(VENV)/ready-dev
	$(BIN)/python -m website.pictures

# Thousands of damaged files and hostile values, hundreds of kills; the tests run a part of them.
fuzz: $(VENV)/ready-dev
	EXAMPLES=2000 KILLS=200 $(BIN)/pytest -n auto tests/corpora/test_fuzz.py tests/predictions/test_prediction_fuzz.py \
		tests/storage tests/attacks tests/llm/test_post.py tests/pipeline/test_concurrent_starts.py \
		tests/pipeline/test_evaluate.py::test_killed_anywhere_it_ends_the_same

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/ready-bench
	$(BIN)/python -m benchmarks

# A server under 50 submitters and 200 readers, and what is left when it is killed under them; CI runs a tenth.
load: $(VENV)/ready-dev
	$(BIN)/python -m benchmarks.load
	$(BIN)/python -m benchmarks.load --kill 5

clean:
	rm -rf $(VENV) build dist src/*.egg-info

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/ready-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@ $(VENV)/ready

$(VENV)/ready-docs: $(VENV)/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

$(VENV)/ready-bench: $(VENV)/ready-dev
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@
