#!/usr/bin/env bash
# Lints, builds and runs all tests, on the release build with checks (scripts/checked.toml). A test that fails keeps nothing else
# from running.
#
# Usage: scripts/test.sh [--all]
#
# With --all also what takes long, as every night: tests that are marked `#[ignore = "takes long"]`, and captures with another release of
# Valgrind and of QEMU. Without, each counts as skipped.
#
# Programs whose tests measure this machine, and tests whose names begin with `alone::`, run first, one behind another; the others
# run two at a time, and are shown as they end.
#
# At the end it says what failed and what was skipped, and why. Its last line is `N passed, M failed, K skipped`. A test
# is counted as skipped where it prints `skipped: why`, be it of a part of it, or where it is marked to be ignored. Other releases of Valgrind
# and QEMU are downloaded (scripts/another-valgrind.sh, scripts/another-qemu.sh), or else count as skipped, too.
#
# Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# In seconds; the longest, which is the program as a user runs it, takes a third of this on two CPUs that others use, too.
LONGEST_PROGRAM=1200
# That of papers, redone quickly.
LONGEST_TEST=reproduce::a_paper_is_redone_quickly
# Tests that another release has no part in (how a capture ends, what is built, limits, which task waits for which), and long ones beside
# which a shorter one shows the same of a release.
OF_ANY_VALGRIND=(
    --skip deaths:: --skip building:: --skip surroundings:: --skip a_stopped_task_ --skip a_killed_task_ --skip more_tasks_than_buffers_
    --skip a_signal_that_comes_behind_the_end_ --skip a_small_project_ --skip pipelines_of_a_shell_are_ --skip pipelines_give_the_same_
    --skip programs_that_run_long_take_ --skip languages::
)
OF_ANY_QEMU=(--skip programs_without_end_ --skip what_comes_between_ --skip pages:: --skip a_guest_is_the_same_)
# Marked to be ignored for another reason: what other tests run, what makes samples and pictures, what takes minutes.
NO_TESTS=(
    --skip scheduled::victim --skip as_run::traces_where_rseq_is_refused --skip leftovers::observes_until_it_is_killed
    --skip compatibility::write_samples --skip pages::pictures_of_pages_are_kept --skip large::ten_million_intervals_
    --skip languages::ten_programs_in_seven_languages_
)
# Programs that run at the same time. Each runs as many tests at once as there are CPUs, of which some wait.
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

# --- what the tests say -----------------------------------------------------------------------------------------------

# Shows what the test harness prints, but for the output of tests that passed, which is only asked for because that is where
# they say what they skipped. Where a test panicked, and what it said first, is kept for the end.
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
    # A program that has begun its tests and came to no result was killed.
    [ $is_open = no ] || failures+=("$program: ended without a result")
}

# A test that passed has skipped something: it counts once, however many reasons it gives.
skip() {
    [ "${skipping:-}" = "$1" ] || { passed=$((passed - 1)) skipped=$((skipped + 1)); }
    skipping=$1
    reasons+=("$1: $2")
}

# --- test programs, noted and run -------------------------------------------------------------------------------------

notes=$(mktemp -d)
# Tests run a program with checks, which cargo puts where the release belongs: never measure with it.
# Nor shall packages be left half installed where a build fails.
trap 'wait; rm -rf "$notes"; rm -f "$target/release/switchcost"' EXIT
mkdir "$notes/programs"

# Has cargo build test programs, and notes how it would run each.
note_programs() {
    local host too=()
    [ $all = no ] || too=(--include-ignored "${NO_TESTS[@]}")
    host=$(rustc -vV | sed -n 's/^host: //p')
    host=${host//-/_}
    env "CARGO_TARGET_${host^^}_RUNNER=$PWD/scripts/note-program.sh $notes/programs" "$@" -- --show-output "${too[@]}" || exit 1
}

# Notes a program once more, with a title and further arguments.
note_again() {
    local folder=$notes/run-$2
    cp -r "$1" "$folder"
    echo "$2" > "$folder/title"
    shift 2
    [ $# -eq 0 ] || printf '%s\0' "$@" >> "$folder/command"
    noted=$folder
}

# Runs what is noted in a folder, and keeps what it says there. What hangs is a failure, and nothing that everything waits for.
run_noted() {
    local command bounded=$PWD/scripts/bounded.sh
    mapfile -d '' -t command < "$1/command"
    local TIMEFORMAT='%0R s, CPU %0U s + %0S s'
    { time {
        (
            . "$1/environment"
            cd "${command[0]}" || exit 1
            # A shell has what it runs beside ignore these.
            exec env --default-signal=INT,QUIT "$bounded" "$LONGEST_PROGRAM" "${command[@]:1}"
        ) > "$1/said" 2>&1 < /dev/null
        echo $? > "$1/ended"
    }; } 2> "$1/took"
    mv "$1/ended" "$1/code"
}

# Runs all that is noted in these folders, so many at a time, and reads each when it has ended.
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

# Reads what those have said that have ended, once.
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

# All is compiled once for tests of units and of whole programs, but for the units of crates that are optimised for the latter.
quick=(--release --config scripts/quick.toml --config scripts/checked.toml --locked)
whole=("${quick[@]}" --workspace)
optimised=(cachesim capture host measure programs reuse trace workload)
units=("${quick[@]}" --config scripts/checked-units.toml "${optimised[@]/#/--package=switchcost-}")
# Clippy looks at what it compiles, so that nothing is compiled for it alone: `cargo clippy` says it so to a `cargo check`.
lint=(env RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__)

# Another release of it, for --all: where it is, and 0 or why not (3: it cannot be had).
get_another() {
    if [ $all = yes ]; then
        "scripts/another-$1.sh" > "$notes/another-$1" 2> "$notes/another-$1-log"
        echo $? > "$notes/is-another-$1"
    else
        echo 'takes long: make test ARGS=--all' > "$notes/another-$1-log"
        echo 3 > "$notes/is-another-$1"
    fi
}

# What is needed to run, while what is to be run is built. Packages are looked for when their lists are up to date.
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

# All in one go: what waits for nothing else is compiled beside what the others wait for.
"${lint[@]}" cargo build --bins --examples --test '*' "${whole[@]}" || exit 1
note_programs "${lint[@]}" cargo test --lib --bins "${whole[@]}" "${optimised[@]/#/--exclude=switchcost-}"
note_programs "${lint[@]}" cargo test --lib "${units[@]}"
# What measures, whose machine code one test looks at.
SWITCHCOST_SERVER=$(realpath "$target/release/examples/serve")
export SWITCHCOST_SERVER
note_programs "${lint[@]}" cargo test --test '*' "${whole[@]}"

wait $preparing
cat "$notes/setup"
[ "$(cat "$notes/is-set-up")" -eq 0 ] || exit 1
# Tests that observe servers say what they skip where there are none.
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
    # Programs of several crates have this name.
    [ "$name" != it ] || title="$crate: it"
    case $title in
        switchcost_host | switchcost_measure) note_again "$program" "$title"; alone+=("$noted") ;;
        'switchcost: it')
            note_again "$program" "$title (alone)" alone::
            alone+=("$noted")
            # The longest test, which is one command behind another, and the others beside it: before all other programs.
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
# The examples on the front pages of the crates for others; those that are internal have none (`doctest = false`).
mkdir "$notes/run-documentation"
echo documentation > "$notes/run-documentation/title"
export -p > "$notes/run-documentation/environment"
# As they were built for the tests of whole programs, or they would be built once more.
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
