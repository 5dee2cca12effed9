# The commands of the book; `make` alone lists them. README.md gives the plain
# commands for those who have no make, and what each costs. Programs are called
# through the interpreter: their own first lines name the folder of the installation.

BIN := .venv/bin
PY := $(BIN)/python
PYTEST := $(PY) -m pytest
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 300 -n 2 --dist loadfile
# One thread, no display, fixed hashes, where the book does not see to it by itself.
FIXED = env $$($(PY) -m dplib.book.kernels)

# Kernels start in the notebooks' folders; they find dplib here, wherever this is.
export PYTHONPATH := $(CURDIR)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup book test check portable lab reproduce refresh sweep stored recertify bench lock clean

help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

setup: .venv/.ok  ## make the environment in .venv from the lock

.venv/.ok: requirements.lock
	@sh .ci/setup
	@touch $@

book: .venv/.ok  ## build the verified book
	@$(PY) -m dplib.book.notebooks current
	$(PYTEST) -q tests/book/test_guards.py tests/book/test_book_ledger.py
	$(PY) $(BIN)/jupyter-book build . --all -W -n --keep-going
	@echo "The book is built. Open _build/html/index.html in a browser."

test: book  ## execute every notebook and prove it
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) $(BIN)/lint-imports
	@rm -f .cache/compared.json
	$(PYTEST) tests dplib notebooks --doctest-modules $(NBVAL)
	@$(PY) -m dplib.book.notebooks verified

check: .venv/.ok  ## the quick loop: fast tests, and the notebooks that changed
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	@rm -f .cache/compared.json
	@changed=$$($(PY) -m dplib.book.notebooks changed) && \
	  $(PYTEST) tests dplib $$changed -m "not slow and not site" --doctest-modules $(NBVAL) && \
	  if [ -n "$$changed" ]; then $(PY) -m dplib.book.notebooks verified $$changed; fi

portable: .venv/.ok  ## notebooks and numerical tests as on older processors (SHORT=1: a few)
	$(PY) tests/portable.py $(if $(SHORT),--short) $(NBVAL)

lab: .venv/.ok  ## open the notebooks in JupyterLab; more options: LAB_FLAGS="--port 9999"
	@test -w "$$HOME" || { echo "JupyterLab needs a home folder that it can" \
	  "write to: HOME=/some/folder make lab" >&2; exit 1; }
	@$(PY) -m dplib.book.notebooks trust
	$(FIXED) $(PY) -m jupyterlab --notebook-dir=. $(if $(filter 0,$(shell id -u)),--allow-root) \
	  $(LAB_FLAGS)

reproduce: .venv/.ok  ## rewrite every notebook from scratch, then build
	$(PY) -m dplib.book.notebooks refresh --status
	$(MAKE) book

refresh: .venv/.ok  ## rewrite all notebooks, or one: NB=truthful/01_problem
	$(PY) -m dplib.book.notebooks refresh $(NB) $(if $(DISCARD),--discard)

sweep: .venv/.ok  ## run a small batch into runs/example; again: only what is missing
	$(PY) -m dplib.sweep rewards/09_batch --out runs/example --workers 2 \
	  --grid epsilon=0.2,0.5,1,2,5 --grid mechanism=input,output,projected

stored: .venv/.ok  ## make the stored results that are missing or stale (ALL=1: all)
	$(FIXED) $(PY) -m dplib.book.stored run $(NAME) $(if $(ALL),--again) --workers 2

recertify: .venv/.ok  ## adopt the present code behind the stored results, if a sample agrees (ALL=1: try all)
	$(FIXED) $(PY) -m dplib.book.stored recertify $(NAME) $(if $(ALL),--again) --workers 2

bench: .venv/.ok  ## time the simulation against a loop, numpy, and tuned numpy; and sweeps
	$(FIXED) $(PY) benchmarks/paired_simulation.py
	$(FIXED) $(PY) benchmarks/mdp_solve.py
	$(FIXED) $(PY) benchmarks/swarm_stationary.py
	$(FIXED) $(PY) benchmarks/sweep_throughput.py
	$(FIXED) $(PY) benchmarks/swarm_transient.py
	$(FIXED) $(PY) benchmarks/planning_synthesis.py
	$(FIXED) $(PY) benchmarks/particle_worlds.py

lock: .venv/.ok  ## recompute requirements.lock from pyproject.toml
	$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --all-extras \
	  --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  pyproject.toml --output-file requirements.lock

clean:  ## delete what is built, the environment included
	rm -rf .venv .cache _build
