#!/usr/bin/env bash
# Checks lints, and builds and runs all tests, with the release build with checks
# (scripts/checked.toml). The other tests also run if a test fails.
#
# Usage: scripts/test.sh [--all]
#
# With --all, as every night, also runs what takes long: tests marked `#[ignore = "takes long"]`,
# and captures with another release of Valgrind and of QEMU. Otherwise these count as skipped.
#
# Test programs that measure this machine, and tests whose names begin with `alone::`, run first,
# one after another. The other programs run two at a time, and are shown as they end.
#
# At the end the script lists what failed, and what was skipped and why. Its last line is `N passed,
# M failed, K skipped`. A test counts as skipped if it prints `skipped: why`, even for a part of it,
# or if it is ignored. Other releases of Valgrind and QEMU are downloaded
# (scripts/another-valgrind.sh, scripts/another-qemu.sh); if that is impossible, they count as
# skipped.
#
# Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# Time limit of a test program in seconds. The longest one takes a third of this on two busy CPUs.
LONGEST_PROGRAM=1200
# The longest test, which redoes the papers quickly.
LONGEST_TEST=reproduce::a_paper_is_redone_quickly
# Options that skip tests which do not depend on the release (how a capture ends, the build, limits,
# which task waits for which), and long tests if a shorter one tests the same of a release.
OF_ANY_VALGRIND=(
    --skip deaths:: --skip building:: --skip surroundings:: --skip a_stopped_task_ --skip a_killed_task_ --skip more_tasks_than_buffers_
    --skip a_signal_that_comes_behind_the_end_ --skip a_small_project_ --skip pipelines_of_a_shell_are_ --skip pipelines_give_the_same_
    --skip programs_that_run_long_take_ --skip languages::
)
OF_ANY_QEMU=(--skip programs_without_end_ --skip what_comes_between_ --skip pages:: --skip a_guest_is_the_same_)
# Options that skip tests which are ignored for another reason: other tests run them, they make
# samples or pictures, or they take minutes.
NO_TESTS=(
    --skip scheduled::victim --skip as_run::traces_where_rseq_is_refused --skip leftovers::observes_until_it_is_killed
    --skip compatibility::write_samples --skip pages::pictures_of_pages_are_kept --skip large::ten_million_intervals_
    --skip languages::ten_programs_in_seven_languages_
)
# Number of test programs that run at the same time. Each runs as many tests at once as there are
# CPUs.
AT_ONCE=2

all=no
case "$*" in
    '') ;;
    --all) all=yes ;;
    *) echo "usage: scripts/test.sh [--all]" >&2; exit 2 ;;
esac
target=${CARGO_TARGET_DIR:-target}
if [ -f "$target/setup.env" ]; then . "$target/setup.env"; fi

passed=0
skipped=0
failures=()
panics=()
reasons=()

# --- results of the tests -----------------------------------------------------------------------------------------------

# Prints the test harness's output, except the output of tests that passed, which is only read for
# what they skipped. The place and first line of each panic are kept for the end.
read_results() {
    local line program=$1 test='' is_open=no is_of_passed=no has_panicked=no
    while IFS= read -r line; do
        if [ $has_panicked = yes ]; then panics[-1]+=" ${line:0:400}" has_panicked=no; fi
        case $line in
            'running '*' test'*) is_open=yes ;;
            'test '*' ... FAILED') test=${line#test } failures+=("$program: ${test% ... FAILED}") ;;
            'test '*' ... ignored, '*) test=${line#test } reasons+=("$program: ${test/ ... ignored, /: }") ;;
            'successes:') is_of_passed=yes ;;
            'failures:') is_of_passed=no ;;
            '---- '*' stdout ----') test=${line#---- } test=${test% stdout ----} ;;
            "thread '"*' panicked at '*)
                [ $is_of_passed = yes ] || { panics+=("$program: $test: ${line#*panicked at }") has_panicked=yes; } ;;
            'skipped: '*) [ $is_of_passed = no ] || skip "$program: $test" "${line#skipped: }" ;;
            'test result: '*)
                # ok. 5 passed; 0 failed; 1 ignored; ...
                read -r _ _ _ count _ _ _ ignored _ <<< "$line"
                passed=$((passed + count)) skipped=$((skipped + ignored)) is_open=no is_of_passed=no ;;
        esac
        [ $is_of_passed = yes ] || printf '%s\n' "$line"
    done
    # A program that began its tests without a result was killed.
    [ $is_open = no ] || failures+=("$program: ended without a result")
}

# Counts a test that passed, but skipped something, as skipped: once, even if it gives several
# reasons.
skip() {
    [ "${skipping:-}" = "$1" ] || { passed=$((passed - 1)) skipped=$((skipped + 1)); }
    skipping=$1
    reasons+=("$1: $2")
}

# --- test programs, noted and run -------------------------------------------------------------------------------------

notes=$(mktemp -d)
# The program with checks is removed at the end, because cargo puts it in the place of the release:
# never measure with it. The trap waits, so that a failed build does not interrupt an installation
# of packages.
trap 'wait; rm -rf "$notes"; rm -f "$target/release/switchcost"' EXIT
mkdir "$notes/programs"

# Lets cargo build test programs, and records how cargo would run each.
note_programs() {
    local host too=()
    [ $all = no ] || too=(--include-ignored "${NO_TESTS[@]}")
    host=$(rustc -vV | sed -n 's/^host: //p')
    host=${host//-/_}
    env "CARGO_TARGET_${host^^}_RUNNER=$PWD/scripts/note-program.sh $notes/programs" "$@" -- --show-output "${too[@]}" || exit 1
}

# Copies a recorded program, with a title and further arguments.
note_again() {
    local folder=$notes/run-$2
    cp -r "$1" "$folder"
    echo "$2" > "$folder/title"
    shift 2
    [ $# -eq 0 ] || printf '%s\0' "$@" >> "$folder/command"
    noted=$folder
}

# Runs the program that is recorded in a folder, and keeps its output there. A program that hangs is
# ended by scripts/bounded.sh, and counts as failed.
run_noted() {
    local command bounded=$PWD/scripts/bounded.sh
    mapfile -d '' -t command < "$1/command"
    local TIMEFORMAT='%0R s, CPU %0U s + %0S s'
    { time {
        (
            . "$1/environment"
            cd "${command[0]}" || exit 1
            # A shell makes background commands ignore these signals.
            exec env --default-signal=INT,QUIT "$bounded" "$LONGEST_PROGRAM" "${command[@]:1}"
        ) > "$1/said" 2>&1 < /dev/null
        echo $? > "$1/ended"
    }; } 2> "$1/took"
    mv "$1/ended" "$1/code"
}

# Runs the programs that are recorded in these folders, at most $1 at a time, and reads each result
# at its end.
run_all() {
    local at_once=$1 folder
    shift
    for folder; do
        while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; read_ended "$@"; done
        run_noted "$folder" &
    done
    while [ -n "$(jobs -rp)" ]; do wait -n; read_ended "$@"; done
    read_ended "$@"
}

# Reads the output of each program that has ended and was not read yet.
read_ended() {
    local folder title failed
    for folder; do
        [ -e "$folder/code" ] && [ ! -e "$folder/read" ] || continue
        touch "$folder/read"
        title=$(cat "$folder/title") failed=${#failures[@]}
        printf '     Running %s (%s)\n' "$title" "$(cat "$folder/took")"
        read_results "$title" < "$folder/said"
        if [ "$(cat "$folder/code")" -ne 0 ] && [ ${#failures[@]} -eq "$failed" ]; then
            failures+=("$title: ended with $(cat "$folder/code")")
        fi
    done
}

# --- building ---------------------------------------------------------------------------------------------------------

# Crates are compiled once for unit tests and for tests of whole programs. Only the crates that are
# optimised for whole programs are compiled again for their unit tests.
quick=(--release --config scripts/quick.toml --config scripts/checked.toml --locked)
whole=("${quick[@]}" --workspace)
optimised=(cachesim capture host measure programs reuse trace workload)
units=("${quick[@]}" --config scripts/checked-units.toml "${optimised[@]/#/--package=switchcost-}")
# Clippy checks what it compiles, so that nothing is compiled for Clippy alone. `cargo clippy` sets
# the same variables for `cargo check`.
lint=(env RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__)

# Gets another release of a program, for --all: writes its folder, and its exit code (3: not
# available).
get_another() {
    if [ $all = yes ]; then
        "scripts/another-$1.sh" > "$notes/another-$1" 2> "$notes/another-$1-log"
        echo $? > "$notes/is-another-$1"
    else
        echo 'takes long: make test ARGS=--all' > "$notes/another-$1-log"
        echo 3 > "$notes/is-another-$1"
    fi
}

# Prepares what running the tests needs, while the tests are built. setup.sh comes first, because it
# updates the package lists.
{
    scripts/setup.sh test > "$notes/setup" 2>&1
    echo $? > "$notes/is-set-up"
    scripts/services.sh > "$notes/services" 2> "$notes/services-log"
    get_another valgrind
    get_another qemu
    scripts/test-python.sh --set-up > "$notes/python" 2>&1
    echo $? > "$notes/is-python"
} &
preparing=$!

# Builds everything in one command, so that independent crates are compiled in parallel.
"${lint[@]}" cargo build --bins --examples --test '*' "${whole[@]}" || exit 1
note_programs "${lint[@]}" cargo test --lib --bins "${whole[@]}" "${optimised[@]/#/--exclude=switchcost-}"
note_programs "${lint[@]}" cargo test --lib "${units[@]}"
# Names a program that measures, because one test examines its machine code.
SWITCHCOST_SERVER=$(realpath "$target/release/examples/serve")
export SWITCHCOST_SERVER
note_programs "${lint[@]}" cargo test --test '*' "${whole[@]}"

wait $preparing
cat "$notes/setup"
[ "$(cat "$notes/is-set-up")" -eq 0 ] || exit 1
# Without servers, the tests that observe them report what they skip.
if [ -s "$notes/services" ]; then
    SWITCHCOST_SERVICES=$(cat "$notes/services")
    export SWITCHCOST_SERVICES
else
    cat "$notes/services-log" >&2
fi

# --- running ----------------------------------------------------------------------------------------------------------

alone=()
long=()
short=()
for program in "$notes"/programs/*; do
    mapfile -d '' -t command < "$program/command"
    crate=${command[0]##*/} name=${command[1]##*/} name=${name%-*}
    title=$name
    # Test programs of several crates have the name `it`.
    [ "$name" != it ] || title="$crate: it"
    case $title in
        switchcost_host | switchcost_measure) note_again "$program" "$title"; alone+=("$noted") ;;
        'switchcost: it')
            note_again "$program" "$title (alone)" alone::
            alone+=("$noted")
            # Starts before all other programs: the longest test by itself, whose commands run one
            # after another, and beside it the others.
            note_again "$program" "$title ($LONGEST_TEST)" --exact "$LONGEST_TEST"
            longest=$noted
            note_again "$program" "$title" --skip alone:: --skip "$LONGEST_TEST"
            long=("$longest" "$noted" "${long[@]}") ;;
        programs)
            note_again "$program" "$title"
            long+=("$noted")
            case $(cat "$notes/is-another-valgrind") in
                0)
                    note_again "$program" "$title (with another Valgrind)" "${OF_ANY_VALGRIND[@]}"
                    printf 'export SWITCHCOST_TOOL_DIR=%q\n' "$(cat "$notes/another-valgrind")" >> "$noted/environment"
                    long+=("$noted") ;;
                3) passed=$((passed + 1)); skip "programs (with another Valgrind)" "$(tail -n 1 "$notes/another-valgrind-log")" ;;
                *) cat "$notes/another-valgrind-log" >&2; failures+=("scripts/another-valgrind.sh: the tool was not built") ;;
            esac ;;
        guest)
            note_again "$program" "$title"
            long+=("$noted")
            case $(cat "$notes/is-another-qemu") in
                0)
                    note_again "$program" "$title (with another QEMU)" "${OF_ANY_QEMU[@]}"
                    printf 'export PATH=%q:$PATH\n' "$(cat "$notes/another-qemu")" >> "$noted/environment"
                    long+=("$noted") ;;
                3) passed=$((passed + 1)); skip "guest (with another QEMU)" "$(tail -n 1 "$notes/another-qemu-log")" ;;
                *) cat "$notes/another-qemu-log" >&2; failures+=("scripts/another-qemu.sh: it does not run") ;;
            esac ;;
        'report: it' | oracle) note_again "$program" "$title"; long+=("$noted") ;;
        *) note_again "$program" "$title"; short+=("$noted") ;;
    esac
done
# Runs the documentation examples of public crates; internal crates have none (`doctest = false`).
mkdir "$notes/run-documentation"
echo documentation > "$notes/run-documentation/title"
export -p > "$notes/run-documentation/environment"
# The same options as for tests of whole programs, so that crates are not built again.
printf '%s\0' "$PWD" "${lint[@]}" cargo test --doc "${whole[@]}" > "$notes/run-documentation/command"
short+=("$notes/run-documentation")
if [ "$(cat "$notes/is-python")" -eq 0 ]; then
    mkdir "$notes/run-python"
    echo python > "$notes/run-python/title"
    export -p > "$notes/run-python/environment"
    printf '%s\0' "$PWD" scripts/test-python.sh "$(realpath "$target")/release/switchcost" > "$notes/run-python/command"
    long+=("$notes/run-python")
else
    passed=$((passed + 1)); skip python "$(tail -n 1 "$notes/python")"
fi
[ ${#long[@]} -gt 0 ] && [ ${#alone[@]} -gt 0 ] || { echo "scripts/test.sh: found no test programs" >&2; exit 1; }

run_all 1 "${alone[@]}"
run_all $AT_ONCE "${long[@]}" "${short[@]}"

echo
for reason in "${reasons[@]}"; do echo "skipped: $reason"; done
for panic in "${panics[@]}"; do echo "panicked: $panic"; done
for failure in "${failures[@]}"; do echo "failed: $failure"; done
echo "$passed passed, ${#failures[@]} failed, $skipped skipped"
[ ${#failures[@]} -eq 0 ]
