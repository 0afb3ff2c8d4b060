#!/usr/bin/env bash
# Tests the packages for 64-bit Arm in an emulated guest (scripts/arm64-guest.sh), because they do
# not run on other machines. The wheel and the .deb must contain the same program. The program does
# its main jobs in the guest, and its output is checked. Takes half a minute, mostly for emulation.
#
# Usage: scripts/test-packages-arm64.sh [FOLDER]    folder with the packages (default:
# target/packages)
#
# Exit codes: 0 all checks passed, 1 some failed (shown last), 2 wrong usage, 3 there is no guest or
# no package for arm64 here (the reason is the last line).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

[ $# -le 1 ] || { echo "usage: scripts/test-packages-arm64.sh [FOLDER]" >&2; exit 2; }
packages=$(cd "${1:-target/packages}" && pwd) || exit 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

ls "$packages"/switchcost_*_arm64.deb "$packages"/switchcost-*_aarch64.whl > /dev/null ||
    { echo "found no wheel and .deb for arm64 in $packages, need them; make packages-arm64"; exit 3; }
mkdir -p "$scratch/tree" "$scratch/wheel"
dpkg-deb -x "$packages"/switchcost_*_arm64.deb "$scratch/tree" || exit 1
python3 -m zipfile -e "$packages"/switchcost-*_aarch64.whl "$scratch/wheel" || exit 1
cmp "$scratch"/wheel/*.data/scripts/switchcost "$scratch/tree/usr/bin/switchcost" || exit 1

cat > "$scratch/jobs" << 'END'
set -e
cd /tmp; export NO_COLOR=1 TERM=dumb XDG_STATE_HOME=/tmp
switchcost --version
echo "# doctor"
switchcost doctor --details || [ $? -eq 3 ]
echo "# measure"
switchcost measure --mechanism pipe,fiber,ucontext --between process,user --budget 8s || [ $? -eq 3 ]
switchcost report --details
grep -hE '"(header|self-test)"' switchcost/runs/*-measure.jsonl
echo "# observe"
switchcost observe --no-calibration --format json -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done; seq 30000 | tail -n 1'
echo "# simulate"
switchcost trace walks --size 64KiB --turns 40 -o walks.sct
switchcost simulate walks.sct --design zen4-epyc-9004
echo "# trace"
! switchcost trace -o true.sct -- true
END

LIMIT=${LIMIT:-500} scripts/arm64-guest.sh "$scratch/tree" "$scratch/jobs" > "$scratch/said"
code=$?
cat "$scratch/said"
[ $code -eq 0 ] || exit $code

wrong=0
has() { grep -Eq -- "$1" "$scratch/said" || { echo "not found: $1"; wrong=1; }; }
has '^clock +fit +invariant counter, clock source'
has '^ +arch_sys_counter'
has "^hardware +caveat +the PMU's counter of cycles is"
has '^hypervisor +caveat +qemu or kvm'
has '"source":"cntvct"'
has '"instrument":"clock",[^}]*"outcome":"admitted"'
has '"instrument":"instructions",[^}]*"outcome":"admitted"'
# The emulated PMU counts instructions as cycles, so these instruments must be refused.
has '"instrument":"cycles",[^}]*"outcome":\{"wrong"'
has '"instrument":"core-clock",[^}]*"outcome":\{"wrong"'
has '^A switch between processes over a pipe costs [0-9.]+ us'
has '"source": "bpf"'
for call in read write wait4 clock_nanosleep; do has "\"system-call\": \"$call\""; done
has '^A switch on zen4-epyc-9004 costs'
has 'tracing works on x86_64 only, and this is aarch64'
# In the guest an instruction takes one nanosecond, so the counted instructions must equal the cost
# in ns.
for mechanism in fiber ucontext; do
    awk -v name=$mechanism '
        $1 == name && $3 == "instructions" { counted = $6 }
        $1 == name && $NF != "notes" { for (at = 2; at < 6; at++) if ($at == "ns" || $at == "us") { cost = $(at - 1) * ($at == "us" ? 1000 : 1); break } }
        END { print name ": " cost " ns, " counted " instructions"; exit !(counted > 10 && cost > 0.9 * counted && cost < 1.1 * counted) }
    ' "$scratch/said" || wrong=1
done
# Output on Arm must not use words of x86. Lines with quotes are left out: field names are the same
# everywhere.
! grep -v '"' "$scratch/said" | grep -Ein -- 'cpuid|\btsc\b|time stamp|pcid|intel_pstate|x86([^_]|$)' || { echo 'found a word of x86'; wrong=1; }
exit $wrong
