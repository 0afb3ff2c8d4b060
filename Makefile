# The two commands to know: `make measure` and `make test`. Both set up what is missing. `make` alone lists the rest.

PREFIX ?= /usr/local
DESTDIR ?=
# Further arguments of `measure` and `bench`: make measure ARGS="--quick --format json"
ARGS ?=

TARGET := $(or $(CARGO_TARGET_DIR),target)
BINARY := $(TARGET)/release/switchcost
VERBS := measure report compare doctor trace simulate workload reproduce completions man
# Where the capture tool is built; `switchcost trace` looks beside its own program.
TOOL := $(TARGET)/valgrind

# cargo colours its words where they go to a terminal, unless the reader wants none (https://no-color.org).
CARGO_TERM_COLOR ?= $(if $(NO_COLOR),never,auto)
export CARGO_TERM_COLOR
# A benchmark or a test may want the very program that is shipped.
export SWITCHCOST_BIN := $(abspath $(BINARY))

# Cargo in the environment that setup has found (see scripts/setup.sh).
CARGO := if [ -f '$(TARGET)/setup.env' ]; then . '$(abspath $(TARGET))/setup.env'; fi; cargo

.DEFAULT_GOAL := help
# What builds must not run beside what measures.
.NOTPARALLEL:

.PHONY: help setup setup-build setup-bench build tool measure test bench fuzz install clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## Install what is missing for building and testing
	@scripts/setup.sh test

setup-build:
	@scripts/setup.sh build

setup-bench:
	@scripts/setup.sh bench

build: setup-build tool ## Build target/release/switchcost and the capture tool
	@$(CARGO) build --release --locked --package switchcost

# Without Valgrind's headers everything but capturing works; setup has said so.
tool:
	@if [ -e /usr/include/valgrind/pub_tool_basics.h ]; then \
		$(MAKE) --no-print-directory --silent -C capture/valgrind OUT='$(abspath $(TOOL))'; fi

# Exit code 3 is a finished run with a result that could not be measured; the report says which, and why.
measure: build ## Measure what a context switch costs here; ARGS="..." are handed on
	@$(BINARY) measure $(ARGS) || { code=$$?; [ $$code -eq 3 ] || exit $$code; \
		echo 'make: done, with reservations: something could not be measured (see the notes above)' >&2; }

test: setup tool ## Check form, lints and arrows, build, run all tests, fuzz; ends with a count and what was skipped
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@scripts/check-arrows.sh
	@$(CARGO) build --release --locked --package switchcost
	@scripts/test.sh 5 lackey din drmemtrace trace_file

bench: setup-bench build ## Run the benchmarks of switchcost itself, beside perf where it is there
	@$(CARGO) build --release --locked --package switchcost-capture --example unread
	@$(CARGO) run --release --locked --package switchcost-bench -- $(ARGS)

$(BINARY):
	@$(MAKE) build

install: $(BINARY) ## Install the program, its manual and completions below PREFIX (/usr/local)
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1' \
		'$(DESTDIR)$(PREFIX)/share/bash-completion/completions' \
		'$(DESTDIR)$(PREFIX)/share/zsh/site-functions' \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	install -m 755 '$(BINARY)' '$(DESTDIR)$(PREFIX)/bin/switchcost'
	if [ -e '$(TOOL)/switchcost-amd64-linux' ]; then \
		install -d '$(DESTDIR)$(PREFIX)/libexec/switchcost'; \
		install -m 755 '$(TOOL)/switchcost-amd64-linux' '$(DESTDIR)$(PREFIX)/libexec/switchcost/'; \
		cp -P '$(TOOL)'/*.so '$(TOOL)'/*.xml '$(TOOL)'/default.supp '$(DESTDIR)$(PREFIX)/libexec/switchcost/' 2> /dev/null || true; \
	fi
	'$(BINARY)' man > '$(DESTDIR)$(PREFIX)/share/man/man1/switchcost.1'
	for verb in $(VERBS); do \
		'$(BINARY)' man $$verb > '$(DESTDIR)$(PREFIX)/share/man/man1/switchcost-'$$verb.1 || exit 1; \
	done
	'$(BINARY)' completions bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/switchcost'
	'$(BINARY)' completions zsh > '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_switchcost'
	'$(BINARY)' completions fish > '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/switchcost.fish'

fuzz: setup ## Fuzz every reader for FUZZ_SECONDS (60) each
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

clean: ## Remove what was built
	@$(CARGO) clean
