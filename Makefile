# Each target is one line into cargo or .ci; missing tools are installed on the way and named.
.PHONY: help serve dev test dist bench lint fmt shots setup

help:
	@echo "make serve   build and open on http://127.0.0.1:8080/ (PORT=n for another port)"
	@echo "make dev     the same, unoptimised, with quick rebuilds"
	@echo "make test    everything that must hold"
	@echo "make dist    static folder dist/, works under any path"
	@echo "make bench   speed of the core, natively and in the built page (PAGE=no leaves the page out)"
	@echo "make lint    format and clippy checks;  make fmt  formats"
	@echo "make shots   screenshots of the page into target/screens/"
	@echo "make setup   only install what is missing"

serve:
	@.ci/web serve

dev:
	@.ci/web dev

test:
	@.ci/test all

dist:
	@.ci/web dist

bench:
	@.ci/test bench

lint:
	@.ci/test lint

fmt:
	cargo fmt
	cd tests/browser && cargo fmt

shots:
	@.ci/test shots

setup:
	@.ci/setup
