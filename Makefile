# Everything starts here: each goal does the set-up that it needs, into .venv and .stack of this checkout.
.PHONY: setup test demo clean
.DEFAULT_GOAL := help

help:
	@echo "make setup            all set-up, under 10 minutes the first time, about a second after that"
	@echo "make demo [ARGS=...]  the whole line on the sample press, on this machine; ARGS=--once ends by itself"
	@echo "make test             lint, types, import arrows, all tests"
	@echo "make clean            remove .venv, .stack and every cache"

setup:
	@bash docker/setup.sh

test: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/python -m pytest

demo: setup
	@.venv/bin/broadsheet demo $(ARGS)

clean:
	-@[ ! -x .venv/bin/broadsheet ] || .venv/bin/broadsheet stack down 2>/dev/null
	rm -rf .venv .stack build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
