#!/usr/bin/env bash
# Holds hardware counters against a PMU whose truth is known: in an emulated machine of 64-bit Arm each instruction takes a nanosecond
# (scripts/arm64-guest.sh), so that instructions that were counted must be the time that passed. Runs every mechanism of `measure` with
# counters, and `observe` on programs with known turns. Minutes, most of them emulation and a build.
#
# Usage: scripts/test-counters-arm64.sh [PROGRAM]    switchcost for arm64, linked statically (one that is built in target/arm64)
#
# In the environment: RELEASE as for scripts/arm64-guest.sh.
#
# Exit codes: 0 all agree, 1 something does not (it is shown), 2 wrong usage, 3 there is no such machine or compiler here (why is the last
# line).
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

/* So many rounds of two instructions a turn, and so many turns. */
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
for turns in "200000 300" "2500000 30"; do
    switchcost observe --no-calibration --format json -- turns $turns > seen || exit 1
    echo "observed: $turns: $(tr -d '\n' < seen)"
done
END_OF_JOBS

LIMIT=${LIMIT:-1200} scripts/arm64-guest.sh "$scratch/tree" "$scratch/jobs" > "$scratch/said"
code=$?
[ $code -eq 0 ] || { tail -n 30 "$scratch/said"; exit $code; }

python3 - "$scratch/said" << 'END_OF_PYTHON'
import collections, json, sys

wrong = 0


def check(what, found, truth, tolerance):
    global wrong
    is_right = abs(found / truth - 1) <= tolerance
    wrong += not is_right
    print(f"{what}: {found:,.1f} counted, {truth:,.1f} ran ({100 * (found / truth - 1):+.2f} %){'' if is_right else ' WRONG'}")


cases, tests, sums = [], {}, collections.defaultdict(lambda: [0, 0, 0])
for line in open(sys.argv[1]):
    if line.startswith("observed: "):
        _, words, text = line.split(": ", 2)
        rounds = int(words.split()[0])
        counted = json.loads(text)["counted"]
        instructions = counted["events"]["instructions"]
        check(f"observe, turns of {2 * rounds:,}", instructions, counted["ran_ns"], 0.01)
    elif line.startswith('{"line":"header"'):
        header = json.loads(line)
        cases, rate = header["plan"]["cases"], header["clock"]["ticks_per_second"]
    elif line.startswith('{"line":"self-test"'):
        test = json.loads(line)
        tests[test["instrument"]] = next(iter(test["outcome"])) if isinstance(test["outcome"], dict) else test["outcome"]
    elif line.startswith("{"):
        sample = json.loads(line)
        if "instructions" in sample.get("counters", {}):
            total = sums[sample["case"], sample["arm"]]
            for place, number in enumerate((sample["counters"]["instructions"], sample["ticks"] * 1e9 / rate, sample["handoffs"])):
                total[place] += number
    else:
        print(line.rstrip())
for (case, arm), (instructions, ns, handoffs) in sorted(sums.items()):
    check(f"measure, {cases[case]['mechanism']}, {arm}", instructions / handoffs, ns / handoffs, 0.02)
# The emulator has no cycles, whatever it counts for them, and no stalls.
expected = {"instructions": "admitted", "cycles": "wrong", "core-clock": "wrong"}
if any(tests.get(name) != outcome for name, outcome in expected.items()) or "admitted" in [
    outcome for name, outcome in tests.items() if name.startswith("stalled")
]:
    wrong += 1
    print(f"instruments: {tests} WRONG")
if len({case for case, _ in sums}) != 16:
    wrong += 1
    print(f"{len({case for case, _ in sums})} mechanisms were counted WRONG")
sys.exit(wrong > 0)
END_OF_PYTHON
