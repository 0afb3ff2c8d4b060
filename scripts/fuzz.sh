#!/usr/bin/env bash
# Fuzzes every reader for a limited time, with the project's own toolchain. Needs a C++ compiler.
#
# Usage: scripts/fuzz.sh [SECONDS_PER_TARGET] [TARGET...]
#
# libFuzzer comes with the crate libfuzzer-sys; the flags below are those that `cargo fuzz run --sanitizer none` passes,
# all of them stable, so that no nightly compiler is needed. Inputs that crash are kept in
# fuzz/artifacts; others are not.
#
# Exit codes: 0 nothing found, 1 a target crashed (the input is named), 2 wrong usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-30}
case $seconds in '' | *[!0-9]*) echo "usage: scripts/fuzz.sh [SECONDS_PER_TARGET] [TARGET...]" >&2; exit 2 ;; esac
shift || true
target=$(cd "${CARGO_TARGET_DIR:-.}" && pwd)
[ -n "${CARGO_TARGET_DIR:-}" ] || target=$target/target
if [ -f "$target/setup.env" ]; then . "$target/setup.env"; fi

export RUSTFLAGS="${RUSTFLAGS:-} --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
 -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
RUSTFLAGS=$(echo "$RUSTFLAGS" | tr '\n' ' ')
# If --target is given, cargo does not use the flags for build scripts and macros, which have no
# fuzzer to link to.
machine=$(rustc -vV | sed -n 's/^host: //p')
if [ $# -eq 0 ]; then
    cd fuzz/corpus && set -- * && cd ../..
fi
# Prints the program that fuzzes a corpus. One program fuzzes all formats of `trace import`.
program() { if [ -e "fuzz/fuzz_targets/$1.rs" ]; then echo "$1"; else echo import; fi; }
# The feature `records`, which takes long to build, is enabled only if a target needs it.
features=()
for name in "$@"; do
    case $(program "$name") in import | trace_file) ;; *) features=(--features records) ;; esac
done
cargo build "${features[@]}" --manifest-path fuzz/Cargo.toml --locked --release --target "$machine" --target-dir "$target/fuzz"

mkdir -p fuzz/artifacts
for name in "$@"; do
    # Readers that take a path also have their file in this folder.
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir "$scratch/new"
    echo "fuzz: $name for $seconds s" >&2
    TMPDIR=$scratch IMPORT_FORMAT=$name "$target/fuzz/$machine/release/$(program "$name")" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -max_len=65536 \
        -verbosity=0 -print_final_stats=1 -artifact_prefix="fuzz/artifacts/$name-" "$scratch/new" "fuzz/corpus/$name" \
        2> "$scratch/log" || { tail -n 40 "$scratch/log" >&2; exit 1; }
    sed -n 's/^stat::number_of_executed_units: */fuzz: inputs tried: /p' "$scratch/log" >&2
    rm -rf "$scratch"
done
