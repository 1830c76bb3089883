# Patch by Patch. `make lab` and `make book` are all that most people need; `make help` lists the rest.
#
# LANGUAGES=en,zh  build the Chinese pages, too; with zh, make lab, class, colab and bundle write Chinese chapters
# SOURCES=1    make lab opens the sources in book/, for those who change the book
# TORCH=cpu    take torch from PyTorch's CPU index: spares Linux users without a GPU the CUDA packages
# PYTHON=...   the Python that makes the virtual environment; pyproject.toml names those that will do
# PORT=8000    where `make serve` shows the book

.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
export LANGUAGES ?= en
PYTHONS := $(shell sed -n 's/.*Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml)
RANGE := $(firstword $(PYTHONS)) to $(lastword $(PYTHONS))
PYTHON ?= $(shell for p in $(PYTHONS:%=python%) python3 python; do \
	if $$p -c 'import sys, venv, ensurepip; sys.exit("%d.%d" % sys.version_info[:2] not in "$(PYTHONS)".split())' \
	2>/dev/null; then echo $$p; exit; fi; done; echo none)
INDEX := $(if $(filter cpu,$(TORCH)),--extra-index-url https://download.pytorch.org/whl/cpu)
STAMP := $(VENV)/made-from-$(shell { cat requirements.txt; grep '^packages' pyproject.toml; } | cksum | tr ' ' '-')

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help book test check chapter serve pdf lab clean venv set-url refresh bench campaign mutants lock colab class bundle

help:  ## this list
	@echo "Patch by Patch: Vision Transformers you can run"
	@echo
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'
	@echo
	@echo "  LANGUAGES=...  en, zh or en,zh: which pages make book builds; lab, class, colab, bundle: with zh, Chinese chapters"
	@echo "  SOURCES=1      make lab opens the sources, for those who change the book"
	@echo "  TORCH=cpu      on Linux without a GPU: make book TORCH=cpu"
	@echo "  PYTHON=...     which Python makes the virtual environment (found now: $(PYTHON))"

book: $(STAMP)  ## build the book (first time: sets everything up)
	@$(BIN)/python -m tools.build

test: $(STAMP)  ## run every check: package, notebooks, book, browser
	@$(BIN)/python -m tools.check

check: $(STAMP)  ## style, types and the quick tests of the package: a few minutes
	@$(BIN)/python -m tools.check --quick

chapter: $(STAMP)  ## run one chapter, store what it printed, ask all of it: make chapter N=05
	@$(BIN)/python -m tools.chapter $(N)

serve: book  ## build the book and show it at http://localhost:8000
	@echo "The book is at http://localhost:$(PORT)  (Ctrl-C stops)"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html >/dev/null 2>&1 \
		|| echo "Stopped. (If it never started, port $(PORT) may be taken: make serve PORT=8001)"

pdf: book  ## write the whole book as one PDF (needs Chrome or Chromium)
	@$(BIN)/python -m tools.pdf

lab: $(STAMP)  ## write the chapters into notebooks/, for you to change, and open them in JupyterLab
	@$(if $(SOURCES),:,$(BIN)/python -m tools.notebooks)
	@echo "Begin with 01-patchify. Shift+Enter runs a cell. JupyterLab saves by itself, every two minutes."
	@echo "Ctrl-C here stops it; make lab goes on, another day, too."
	@JUPYTER_PREFER_ENV_PATH=1 $(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) \
		$(if $(SOURCES),book,notebooks)/01-patchify.ipynb

venv: $(STAMP)  ## only set up the virtual environment
	@echo "The virtual environment is at $(VENV): activate it with  . $(BIN)/activate"

clean:  ## delete what was built (the virtual environment and notebooks/ stay)
	@rm -rf _build build class *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find vitlib vitworkshop tests tools page book classroom -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Deleted _build, class and caches. To delete the virtual environment as well: rm -rf $(VENV)"

set-url: $(STAMP)  ### give the book its public address: make set-url URL=https://github.com/org/repo
	@$(BIN)/python -m page.address "$(URL)"

colab:  ## write patch-by-patch.zip, from which Colab and Kaggle install the package
	@$(if $(filter none,$(PYTHON)),echo "No Python $(RANGE) was found." && exit 1,:)
	@$(PYTHON) -m tools.colab

class: $(STAMP)  ## write class/: chapters for students without solutions, and for their teacher
	@$(BIN)/python -m classroom.editions

bundle: book  ## write class/bundle-*.zip, from which a class starts without a network
	@$(BIN)/python -m classroom.bundle $(INDEX)

refresh: book  ### store in the notebooks what they printed, for git (images are stripped)
	@$(BIN)/python -m tools.refresh

bench: $(STAMP)  ### compare with other libraries' speed: make bench ARGS="--threads 1 --clock cpu"
	@$(BIN)/python -m tools.measure.bench $(ARGS)

campaign: $(STAMP)  ### thousands of examples, kills and damaged files: up to half an hour
	@$(BIN)/python -m pytest -q -n 2 -p no:cacheprovider -m campaign tests/test_campaign.py

mutants: $(STAMP)  ### do the tests notice small changes of the packages? make mutants ARGS="vitlib/train -n 9"
	@$(BIN)/python -m pip install --quiet cosmic-ray==8.7.0
	@$(BIN)/python -m tools.measure.mutants $(ARGS)

lock:  ### write requirements.txt anew; ARGS=--upgrade takes the newest that pyproject.toml allows
	@$(if $(filter none,$(PYTHON)),echo "No Python $(RANGE) was found." && exit 1,:)
	@$(PYTHON) -m tools.lock $(ARGS)

# The stamp's name holds the lock's checksum, so a new lock makes a new environment; so does another list of packages.
$(STAMP):
	@if [ "$(PYTHON)" = none ]; then \
		echo "No usable Python was found. The book needs Python $(RANGE) with its venv module."; \
		echo "Here: $$(python3 --version 2>&1 || echo 'no python3'). Install one (on Debian and Ubuntu:"; \
		echo "apt install python3.11 python3.11-venv), or name it: make book PYTHON=/path/to/python3.12"; \
		exit 1; \
	fi
	@echo "Setting up $(VENV) with $$($(PYTHON) --version) (once; about ten minutes, depending on the network) ..."
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --progress-bar on $(INDEX) -r requirements.txt
	@$(BIN)/python -m pip install --quiet --no-deps $$(sed -n 's/^# --no-deps //p' requirements.txt)
	@$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@
	@echo "Set up $(VENV)."
