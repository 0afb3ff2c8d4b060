#!/usr/bin/env bash
# Tests hardware counters on a PMU with known counts: in the emulated 64-bit Arm guest each
# instruction takes one nanosecond (scripts/arm64-guest.sh), so the number of counted instructions
# must equal the elapsed time in ns. Runs every mechanism of `measure` with counters, and `observe`
# on programs with known time slices. Takes minutes, mostly for emulation and a build.
#
# Usage: scripts/test-counters-arm64.sh [PROGRAM]    switchcost for arm64, linked statically
# (default: built in target/arm64)
#
# Environment: RELEASE as for scripts/arm64-guest.sh.
#
# Exit codes: 0 all counts agree, 1 some do not (shown with WRONG), 2 wrong usage, 3 there is no
# guest or compiler here (the reason is the last line).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

[ $# -le 1 ] || { echo "usage: scripts/test-counters-arm64.sh [PROGRAM]" >&2; exit 2; }
target=${CARGO_TARGET_DIR:-target}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for need in aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-system-aarch64:qemu-system-arm python3:python3; do
    command -v "${need%%:*}" > /dev/null || { echo "no ${need%%:*}; apt-get install ${need#*:}"; exit 3; }
done
if [ $# -eq 1 ]; then
    program=$1
else
    if [ -f "$target/setup.env" ]; then . "$target/setup.env"; fi
    RUSTC=$(scripts/rustc-for-arm64.sh) || exit $?
    export RUSTC CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS=-Ctarget-feature=+crt-static cargo build --release --locked --config \
        scripts/quick.toml --package switchcost --target aarch64-unknown-linux-gnu --target-dir "$target/arm64" || exit 1
    program=$target/arm64/aarch64-unknown-linux-gnu/release/switchcost
fi

mkdir -p "$scratch/tree/usr/bin"
cp "$program" "$scratch/tree/usr/bin/switchcost"
cat > "$scratch/turns.c" << 'END_OF_C'
#include <stdlib.h>
#include <time.h>

/* turns ROUNDS TURNS: a turn runs ROUNDS rounds of two instructions, and then sleeps. */
int main(int count, char **words)
{
    for (long turns = atol(words[2]); turns > 0; turns--) {
        long rounds = atol(words[1]);
        __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(rounds) : : "cc");
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    }
}
END_OF_C
aarch64-linux-gnu-gcc -O2 -static -o "$scratch/tree/usr/bin/turns" "$scratch/turns.c" || exit 1

cat > "$scratch/jobs" << 'END_OF_JOBS'
cd /tmp; export NO_COLOR=1 TERM=dumb XDG_STATE_HOME=/tmp
switchcost doctor --details > doctor; [ $? -ne 1 ] || exit 1
grep -A 3 '^hardware' doctor
switchcost measure --max-repetitions 5 --budget 24s --mechanism pipe,eventfd,futex,mutex-condvar,mutex-condvar-unlocked,\
mutex-condvar-held,socketpair,tcp,posix-sem,posix-mq,signal,yield,fiber,ucontext,green,async > /dev/null
[ $? -ne 1 ] || exit 1
grep -hE '^."line":"(header|self-test|sample)"' switchcost/runs/*-measure.jsonl
# The last two are the bound between two buckets of the histogram of time slices, and 1 % less.
for turns in "200000 300" "2500000 30" "5000000 30" "786432 120" "778567 120"; do
    switchcost observe --no-calibration --format json -- turns $turns > seen || exit 1
    echo "observed: $turns: $(tr -d '\n' < seen)"
done
END_OF_JOBS

LIMIT=${LIMIT:-1200} scripts/arm64-guest.sh "$scratch/tree" "$scratch/jobs" > "$scratch/said"
code=$?
[ $code -eq 0 ] || { tail -n 30 "$scratch/said"; exit $code; }

python3 - "$scratch/said" << 'END_OF_PYTHON'
import collections, json, statistics, sys

wrong = 0
# The histogram of instructions per time slice has two buckets for each power of two
# (crates/observe/bpf/histogram.h). Bucket BELOW_EDGE ends at EDGE, which is 1.5 * 2^20.
EDGE, BELOW_EDGE = 3 << 19, 25


def check(what, found, truth, tolerance):
    global wrong
    is_right = abs(found / truth - 1) <= tolerance
    wrong += not is_right
    print(f"{what}: {found:,.1f} counted, {truth:,.1f} ran ({100 * (found / truth - 1):+.2f} %){'' if is_right else ' WRONG'}")


def check_each(what, counts, bucket, turns):
    """The observer, on the same CPU, cuts some turns. Only turns of the program's start may be longer."""
    global wrong
    is_right = counts[bucket] >= 0.75 * turns and sum(counts[bucket + 1 :]) <= 3
    wrong += not is_right
    print(f"{what}: {counts[bucket]} of {turns} turns{'' if is_right else f' WRONG {counts}'}")


observed = {}
cases, tests, samples = [], {}, collections.defaultdict(list)
for line in open(sys.argv[1]):
    if line.startswith("observed: "):
        _, words, text = line.split(": ", 2)
        rounds, turns = map(int, words.split())
        counted = json.loads(text)["counted"]
        observed[2 * rounds] = counted["events"]["instructions"]
        check(f"observe, turns of {2 * rounds:,}, all together", observed[2 * rounds], counted["ran_ns"], 0.01)
        if 2 * rounds == EDGE:
            check_each(f"observe, not below {EDGE:,}", counted["instructions"], BELOW_EDGE + 1, turns)
        elif 0.98 * EDGE < 2 * rounds < EDGE:
            check_each(f"observe, not 1 % above {2 * rounds:,}", counted["instructions"], BELOW_EDGE, turns)
    elif line.startswith('{"line":"header"'):
        header = json.loads(line)
        cases, rate = header["plan"]["cases"], header["clock"]["ticks_per_second"]
    elif line.startswith('{"line":"self-test"'):
        test = json.loads(line)
        tests[test["instrument"]] = next(iter(test["outcome"])) if isinstance(test["outcome"], dict) else test["outcome"]
    elif line.startswith("{"):
        sample = json.loads(line)
        if "instructions" in sample.get("counters", {}):
            counted, ran = sample["counters"]["instructions"], sample["ticks"] * 1e9 / rate
            samples[sample["case"], sample["arm"]].append((counted / sample["handoffs"], ran / sample["handoffs"]))
    else:
        print(line.rstrip())
# In the difference of two loops, the start of the program (4.5 million instructions, mostly exec)
# cancels.
check("observe, a loop of 5,000,000 in each turn", (observed[10_000_000] - observed[5_000_000]) / 30, 5_000_000, 0.01)
# Compares the median batch. In a few batches the CPU is idle or runs another task; the report
# leaves them out.
for (case, arm), each in sorted(samples.items()):
    counted, ran = (statistics.median_low(numbers) for numbers in zip(*each))
    check(f"measure, {cases[case]['mechanism']}, {arm}", counted, ran, 0.02)
# The emulator counts neither real cycles nor stalls, so these instruments must not be admitted.
expected = {"instructions": "admitted", "cycles": "wrong", "core-clock": "wrong"}
if any(tests.get(name) != outcome for name, outcome in expected.items()) or "admitted" in [
    outcome for name, outcome in tests.items() if name.startswith("stalled")
]:
    wrong += 1
    print(f"instruments: {tests} WRONG")
if len({case for case, _ in samples}) != 16:
    wrong += 1
    print(f"{len({case for case, _ in samples})} mechanisms were counted WRONG")
sys.exit(wrong > 0)
END_OF_PYTHON
