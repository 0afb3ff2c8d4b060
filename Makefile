# The two commands to know: `make measure` and `make test`. Both set up what is missing. `make` alone lists the rest.

PREFIX ?= /usr/local
DESTDIR ?=
# Further arguments of `measure` and `bench`: make measure ARGS="--quick --format json"
ARGS ?=

TARGET := $(or $(CARGO_TARGET_DIR),target)
BINARY := $(TARGET)/release/switchcost
# The program as it is shipped: optimised as a whole, which takes a while.
DIST := $(TARGET)/dist/switchcost
# For a program that was built for another processor: the emulator in which it prints its manual,
# and the objcopy that removes its debugging information.
EMULATOR ?=
OBJCOPY ?= objcopy
# Where the capture tool is built. `switchcost trace` looks for it beside its own program.
TOOL := $(TARGET)/valgrind
# Where the plugin for QEMU and the guest's first process are built. The guest's kernel is there,
# too.
GUEST := $(TARGET)/qemu

# cargo colours its output on a terminal, unless NO_COLOR is set (https://no-color.org).
CARGO_TERM_COLOR ?= $(if $(NO_COLOR),never,auto)
export CARGO_TERM_COLOR

# Runs cargo in the environment that scripts/setup.sh has found.
CARGO := if [ -f '$(TARGET)/setup.env' ]; then . '$(abspath $(TARGET))/setup.env'; fi; cargo

.DEFAULT_GOAL := help
# No build may run beside a measurement.
.NOTPARALLEL:

.PHONY: help program setup setup-build setup-lint setup-bench setup-packages setup-packages-arm64 setup-results setup-site build dist tool smoke measure results test bench packages \
	packages-arm64 packages-test site fuzz attack install clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## Install what is missing for building and testing
	@scripts/setup.sh test

setup-build:
	@scripts/setup.sh build

setup-lint:
	@scripts/setup.sh lint

setup-bench:
	@scripts/setup.sh bench

setup-packages:
	@scripts/setup.sh packages

setup-packages-arm64:
	@scripts/setup.sh packages-arm64

setup-results:
	@scripts/setup.sh results

setup-site:
	@scripts/setup.sh site

build: setup-build tool program ## Build target/release/switchcost and the capture tool
	@$(MAKE) --no-print-directory --silent smoke SMOKED='$(BINARY)'

program:
	@$(CARGO) build --release --config scripts/quick.toml --locked --package switchcost

# Checks that the tool captures, because it may be linked with an untested Valgrind.
smoke:
	@rm -f '$(TOOL)/smoke.trace'
	@if [ -e '$(TOOL)/switchcost-amd64-linux' ]; then \
		{ '$(SMOKED)' trace -o '$(TOOL)/smoke.trace' -- true && '$(SMOKED)' trace check '$(TOOL)/smoke.trace'; } \
		> '$(TOOL)/smoke.log' 2>&1 || { \
		echo 'make: the capture tool does not work here: switchcost trace cannot capture; all else works. It said:' >&2; \
		cat '$(TOOL)/smoke.log' >&2; }; rm -f '$(TOOL)/smoke.trace'; fi

# Without Valgrind's headers, or its libraries for this processor, everything but capturing works.
# scripts/setup.sh tells the user so.
tool:
	@if [ -e /usr/include/valgrind/pub_tool_basics.h ]; then \
		$(MAKE) --no-print-directory --silent -C capture/valgrind OUT='$(abspath $(TOOL))' || \
		echo 'make: the capture tool was not built (see above): switchcost trace cannot capture; all else works' >&2; fi
	@$(MAKE) --no-print-directory --silent -C capture/qemu OUT='$(abspath $(GUEST))' || \
		echo 'make: the plugin for QEMU was not built (see above): no switchcost trace --system; all else works' >&2

# Exit code 3 means that the run is finished, but a result could not be measured; the report says
# which result, and why. Measuring needs no capture tool, so the tool is not built here.
measure: setup-build program ## Measure what a context switch costs here; ARGS="..." are handed on
	@$(BINARY) measure $(ARGS) || { code=$$?; [ $$code -eq 3 ] || exit $$code; \
		echo 'make: done, with reservations: something could not be measured (see the notes above)' >&2; }

results: setup-results build ## Redo the papers on this machine, which must be quiet, and keep what they come to in results/
	@scripts/results.sh '$(BINARY)' $(ARGS) || { code=$$?; [ $$code -eq 3 ] || exit $$code; \
		echo 'make: done, with reservations: some commands left no record (see above)' >&2; }

# Everything uses the release profile, so that build scripts and dependencies are compiled once.
# scripts/test.sh checks lints while it builds the tests, and meanwhile sets up what running them
# needs.
test: setup-lint tool ## Check form, lints and arrows, build, run all tests (ARGS=--all: those that take long, too); ends with a count and what was skipped
	@$(CARGO) fmt --all --check
	@scripts/check-arrows.sh
	@$(MAKE) --no-print-directory --silent -C capture/valgrind OUT='$(abspath $(TOOL))' order
	@scripts/test.sh $(ARGS)

bench: setup-bench build dist ## Run the benchmarks of switchcost itself, beside perf where it is there
	@$(CARGO) run --profile dist --locked --package switchcost-bench -- $(ARGS)

dist: setup-build tool ## Build target/dist/switchcost, the program as it is shipped, and the capture tool
	@$(CARGO) build --profile dist --locked --package switchcost
	@$(MAKE) --no-print-directory --silent smoke SMOKED='$(DIST)'

$(DIST):
	@$(MAKE) dist

install: $(DIST) ## Install the program, its manual and completions below PREFIX (/usr/local)
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1' \
		'$(DESTDIR)$(PREFIX)/share/bash-completion/completions' \
		'$(DESTDIR)$(PREFIX)/share/zsh/site-functions' \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	install -m 755 '$(DIST)' '$(DESTDIR)$(PREFIX)/bin/switchcost'
	@# The line tables take three quarters of the program. They are kept in a file beside it, for backtraces.
	$(OBJCOPY) --only-keep-debug '$(DIST)' '$(DIST).debug'
	$(OBJCOPY) --strip-debug --add-gnu-debuglink='$(DIST).debug' '$(DESTDIR)$(PREFIX)/bin/switchcost'
	if [ -e '$(TOOL)/switchcost-amd64-linux' ]; then \
		install -d '$(DESTDIR)$(PREFIX)/libexec/switchcost'; \
		install -m 755 '$(TOOL)/switchcost-amd64-linux' '$(TOOL)/launcher' '$(DESTDIR)$(PREFIX)/libexec/switchcost/'; \
		install -m 644 '$(TOOL)/vgpreload_core-amd64-linux.so' '$(TOOL)/default.supp' '$(TOOL)/built-with' \
			'$(DESTDIR)$(PREFIX)/libexec/switchcost/'; \
	fi
	if [ -e '$(GUEST)/guest-init' ]; then \
		install -d '$(DESTDIR)$(PREFIX)/libexec/switchcost'; \
		install -m 755 '$(GUEST)/guest-init' '$(DESTDIR)$(PREFIX)/libexec/switchcost/'; \
		install -m 644 '$(GUEST)'/switchcost-*.so '$(DESTDIR)$(PREFIX)/libexec/switchcost/'; \
	fi
	$(EMULATOR) '$(DIST)' man > '$(DESTDIR)$(PREFIX)/share/man/man1/switchcost.1'
	@# The pages that the pages of the program and of `trace` name.
	for verb in $$({ $(EMULATOR) '$(DIST)' man; $(EMULATOR) '$(DIST)' man trace; } | sed -n 's/\\//g; s/^switchcost-\(.*\)(1)$$/\1/p'); do \
		$(EMULATOR) '$(DIST)' man $$verb > '$(DESTDIR)$(PREFIX)/share/man/man1/switchcost-'$$verb.1 || exit 1; \
	done
	$(EMULATOR) '$(DIST)' completions bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/switchcost'
	$(EMULATOR) '$(DIST)' completions zsh > '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_switchcost'
	$(EMULATOR) '$(DIST)' completions fish > '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/switchcost.fish'

packages: setup-packages tool ## Make wheels, an archive for any Linux, a .deb and the source that goes with them, in target/packages
	@scripts/packages.sh $(ARGS)

packages-arm64: setup-packages-arm64 ## The same for 64-bit Arm, built on this machine
	@scripts/packages.sh --arch arm64 $(ARGS)

packages-test: setup-packages ## Try these packages in fresh trees, as people install them; those for Arm in an emulator
	@scripts/test-packages.sh

site: setup-site ## Make a site of all pages, with search, in target/site, and check its links
	@scripts/site.sh

fuzz: setup ## Fuzz every reader for FUZZ_SECONDS (60) each
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

# Uses the program with checks, as the tests do. It is removed at the end: never measure with it.
attack: setup tool ## Kill, starve and deceive the program, and judge what it does; ARGS=--all tries all of it
	@$(CARGO) build --release --config scripts/quick.toml --config scripts/checked.toml --locked --package switchcost \
		--package switchcost-attack
	@'$(TARGET)/release/switchcost-attack' $(ARGS); code=$$?; rm -f '$(BINARY)'; exit $$code

clean: ## Remove what was built
	@$(CARGO) clean
