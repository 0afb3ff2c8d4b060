#!/usr/bin/env bash
# Runs all tests, on the release build with checks (scripts/checked.toml). What fails keeps nothing else from running.
#
# Usage: scripts/test.sh
#
# At the end it says what failed and what was skipped, and why. Its last line is `N passed, M failed, K skipped`. A test
# is counted as skipped where it prints `skipped: why`, be it of a part of it, or where it is marked to be ignored. Captures are
# tested twice: with the installed Valgrind and with that of another release, which is downloaded (scripts/another-valgrind.sh), or
# else counted as skipped.
#
# Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# The loop at the end of a pipe runs in this shell and leaves its counts here.
shopt -s lastpipe

# In seconds; the longest, which is the program as a user runs it, takes a third of this on two CPUs that others use, too.
LONGEST_PROGRAM=1200

[ $# -eq 0 ] || { echo "usage: scripts/test.sh" >&2; exit 2; }
target=${CARGO_TARGET_DIR:-target}
if [ -f "$target/setup.env" ]; then . "$target/setup.env"; fi

passed=0
skipped=0
failures=()
reasons=()

# Shows what cargo and the test harness print, but for the output of tests that passed, which is only asked for because
# that is where they say what they skipped.
read_results() {
    local line program='' test='' is_open=no is_of_passed=no
    while IFS= read -r line; do
        case $line in
            *'Running '*' ('*')') close; program=${line##*/} program=${program%-*}${with:-} ;;
            *'Doc-tests '*) close; program="${line##* } (documentation)" ;;
            'running '*' test'*) is_open=yes ;;
            'test '*' ... FAILED') test=${line#test } failures+=("$program: ${test% ... FAILED}") ;;
            'test '*' ... ignored, '*) test=${line#test } reasons+=("$program: ${test/ ... ignored, /: }") ;;
            'successes:') is_of_passed=yes ;;
            'failures:') is_of_passed=no ;;
            '---- '*' stdout ----') test=${line#---- } test=${test% stdout ----} ;;
            'skipped: '*) [ $is_of_passed = no ] || skip "$program: $test" "${line#skipped: }" ;;
            'test result: '*)
                # ok. 5 passed; 0 failed; 1 ignored; ...
                read -r _ _ _ count _ _ _ ignored _ <<< "$line"
                passed=$((passed + count)) skipped=$((skipped + ignored)) is_open=no is_of_passed=no ;;
        esac
        [ $is_of_passed = yes ] || printf '%s\n' "$line"
    done
    close
}

# A program that has begun its tests and came to no result was killed.
close() {
    [ $is_open = no ] || failures+=("$program: ended without a result")
    is_open=no is_of_passed=no
}

# A test that passed has skipped something: it counts once, however many reasons it gives.
skip() {
    [ "${skipping:-}" = "$1" ] || { passed=$((passed - 1)) skipped=$((skipped + 1)); }
    skipping=$1
    reasons+=("$1: $2")
}

# A test program that hangs is a failure, and nothing that everything waits for.
host=$(rustc -vV | sed -n 's/^host: //p')
host=${host//-/_}
export "CARGO_TARGET_${host^^}_RUNNER=$PWD/scripts/bounded.sh $LONGEST_PROGRAM"

# What measures, without checks, which one test looks at. The features of others are those of the whole workspace, as in the tests.
cargo build --release --locked --workspace --example serve || exit 1
SWITCHCOST_SERVER=$(realpath "$target/release/examples/serve")
export SWITCHCOST_SERVER
# Tests run a program with checks, which cargo puts where the release belongs: nobody shall measure with it.
trap 'rm -f "$target/release/switchcost"' EXIT

run_tests() {
    cargo test --release --config scripts/checked.toml --workspace --locked --no-fail-fast --color never "$@" -- --show-output 2>&1 \
        | read_results
    local code=${PIPESTATUS[0]}
    if [ "$code" -ne 0 ] && [ ${#failures[@]} -eq 0 ]; then failures+=("cargo test${with:-}: ended with $code"); fi
}

# Without documentation tests, which would be looked for in every crate: there are none.
run_tests --lib --bins --tests

log=$(mktemp)
another=$(scripts/another-valgrind.sh 2> "$log")
case $? in
    0)
        with=" (with another Valgrind)"
        SWITCHCOST_TOOL_DIR=$another run_tests --test programs ;;
    3) passed=$((passed + 1)); skip "programs (with another Valgrind)" "$(tail -n 1 "$log")" ;;
    *) cat "$log" >&2; failures+=("scripts/another-valgrind.sh: the tool was not built") ;;
esac
rm -f "$log"

echo
for reason in "${reasons[@]}"; do echo "skipped: $reason"; done
for failure in "${failures[@]}"; do echo "failed: $failure"; done
echo "$passed passed, ${#failures[@]} failed, $skipped skipped"
[ ${#failures[@]} -eq 0 ]
