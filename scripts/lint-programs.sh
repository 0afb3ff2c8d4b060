#!/usr/bin/env bash
# What cargo takes for the compiler of our own crates (RUSTC_WORKSPACE_WRAPPER): compiles libraries as they are, and has clippy look
# at programs and tests while it compiles them.
#
# Usage: scripts/lint-programs.sh RUSTC [ARGUMENT...]
case " $* " in
    *' --crate-type lib '*) exec "$@" ;;
    *) exec clippy-driver "$@" ;;
esac
