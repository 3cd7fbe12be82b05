# Every target sets up .venv when it has to: when it is missing or pyproject.toml or constraints.txt is newer.
PYTHON ?= python3
BIN := .venv/bin
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: install demo test test-slow test-all lint bench fuzz clean

install: .venv/.installed

demo: .venv/.installed
	$(BIN)/acdnet demo

# Two workers of one thread each: most tests are short, and threads that wait for each other take longer. The tests of
# a file share its fixtures, so that they stay together.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile

test: lint
	$(PYTEST)

test-slow: .venv/.installed-dev
	$(PYTEST) -m slow

test-all: test test-slow

lint: .venv/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/.installed-dev
	$(BIN)/python -m benchmarks.model
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.physics
	$(BIN)/python -m benchmarks.reduction
	$(BIN)/python -m benchmarks.trust

# 5,000 damaged inputs of each kind, with other ones at each SEED; those that fail are kept in fuzz-found.
SEED ?= 0
fuzz: .venv/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --count 5000 --seed $(SEED) --keep fuzz-found
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz requests results --count 5000 --seed $(SEED)

clean:
	rm -rf .venv demo-output fuzz-found

# torch goes first, by its exact version, so that the range in pyproject.toml finds it there and looks for no other.
.venv/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) "$$(grep '^torch==' constraints.txt)"
	$(PIP) --editable ".[viewer]"
	touch $@

.venv/.installed-dev: .venv/.installed
	$(PIP) --editable ".[cluster,codecs,dev,onnx,train,viewer]"
	touch $@
