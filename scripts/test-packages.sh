#!/usr/bin/env bash
# Tests the packages as users install them: the wheels in a new virtual environment, the archive in
# a tree with busybox and without a C library, the .deb in new trees of two Debian releases, and the
# crates as they would be published. The trees need root; they share only the kernel with this
# machine. Packages for 64-bit Arm are tested in an emulated guest (scripts/test-packages-arm64.sh).
#
# Usage: scripts/test-packages.sh [FOLDER [--wheels-only]]    folder with the packages (default: target/packages)
#   --wheels-only  tests only the main jobs of the wheels, which takes no minutes
#
# Its last line is `N passed, M failed, K skipped`.
# Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

[ $# -le 2 ] && [ "${2:---wheels-only}" = --wheels-only ] ||
    { echo "usage: scripts/test-packages.sh [FOLDER [--wheels-only]]" >&2; exit 2; }
packages=$(cd "${1:-target/packages}" && pwd) || exit 2
# This machine's architecture: `arch` by Debian's name, `machine` by the kernel's.
machine=$(uname -m)
case $machine in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) arch=$machine ;; esac
scratch=$(mktemp -d)
passed=0 failed=0 skipped=0
# File systems are mounted in namespaces that end with their processes, so nothing must be
# unmounted.
trap 'rm -rf --one-file-system "$scratch"' EXIT

# Runs a trial: its name, then its command. The command's output is shown if it fails.
try() {
    local what=$1 code
    shift
    # The limit is two minutes, unless LIMIT is set.
    timeout --kill-after=5 "${LIMIT:-120}" "$@" > "$scratch/said" 2>&1
    code=$?
    case $code in
        0) passed=$((passed + 1)); echo "ok: $what" ;;
        75) skipped=$((skipped + 1)); echo "skipped: $what: $(tail -n 1 "$scratch/said")" ;;
        *) failed=$((failed + 1)); echo "failed ($code): $what"; sed 's/^/    /' "$scratch/said" | tail -n 30 ;;
    esac
}

skip() { echo "$*"; exit 75; }

# Runs a command of a tree as root of that tree, with the kernel's own file systems.
in_tree() {
    local tree=$1
    shift
    unshare --mount --pid --fork --kill-child sh -c '
        tree=$1; shift
        mount -t proc proc "$tree/proc" && mount --rbind /sys "$tree/sys" && mount --rbind /dev "$tree/dev" && mount -t tmpfs tmpfs "$tree/tmp" &&
        exec chroot "$tree" "$@"' in_tree "$tree" "$@"
}

# The main jobs of a package: it measures, observes a command, simulates a trace, and captures a
# trace if it has the capture tools.
JOBS='set -e
cd "$(mktemp -d)"; export XDG_STATE_HOME=$PWD
"$1" --version
# Exit code 3 is accepted, because other load may make a cost unmeasurable.
"$1" measure --mechanism pipe --between process --budget 2s > measured || [ $? -eq 3 ]
grep "^A switch between\|not measured" measured
"$1" observe --no-calibration -- sh -c "for i in 1 2 3 4 5; do true; done" 2> observed
grep "There w[ea]" observed
"$1" trace walks --size 64KiB --turns 4 -o walks.sct
"$1" simulate walks.sct --design zen4-epyc-9004 > simulated
grep "zen4-epyc-9004" simulated
if [ "$2" = with-capture ]; then "$1" trace -o true.sct -- true; "$1" trace check true.sct; fi'

WITH_CAPTURE=without
if [ "$machine" = x86_64 ]; then WITH_CAPTURE=with-capture; fi

wheels_measure() {
    python3 -m venv "$scratch/venv"
    "$scratch/venv/bin/pip" install --quiet --no-index --no-deps "$packages"/switchcost*_"$machine.whl" || return 1
    sh -c "$JOBS" jobs "$scratch/venv/bin/switchcost" "$WITH_CAPTURE"
}

wheels_are_small() {
    ls -l "$packages"/switchcost*.whl
    [ -z "$(find "$packages" -name 'switchcost*.whl' -size +9000000c)" ]
}

archive_without_libc() {
    [ "$(id -u)" -eq 0 ] || skip 'found no root, need it for a tree of its own'
    command -v busybox > /dev/null || skip 'found no busybox; apt-get install busybox-static'
    local tree=$scratch/busybox
    mkdir -p "$tree"/{bin,proc,sys,dev,tmp,etc,opt}
    cp "$(command -v busybox)" "$tree/bin/"
    if ldd "$tree/bin/busybox" > /dev/null 2>&1; then skip 'found a busybox that needs a C library; apt-get install busybox-static'; fi
    "$tree/bin/busybox" --list | grep -vx busybox | while read -r name; do ln -sf busybox "$tree/bin/$name"; done
    tar -C "$tree/opt" --strip-components=1 -xzf "$packages"/switchcost-*-"$machine"-linux.tar.gz || return 1
    in_tree "$tree" /bin/sh -c "$JOBS" jobs /opt/bin/switchcost "$WITH_CAPTURE"
}

deb_in() {
    [ "$(id -u)" -eq 0 ] || skip 'found no root, need it for a tree of its own'
    command -v debootstrap > /dev/null || skip 'found no debootstrap; apt-get install debootstrap'
    local release=$1 tree=$scratch/$1 mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' | sed -n 1p)
    [ -n "$mirror" ] || skip 'found no source of Debian in the lists of apt'
    debootstrap --variant=minbase "$release" "$tree" "$mirror" || return 1
    cp "$packages"/switchcost_*_"$arch.deb" "$tree/root/package.deb"
    # Installs over an earlier version, which is this version with another number and an additional
    # file.
    dpkg-deb -R "$tree/root/package.deb" "$scratch/earlier" || return 1
    sed -i 's/^Version: .*/Version: 0.0.1-1/' "$scratch/earlier/DEBIAN/control"
    mkdir -p "$scratch/earlier/usr/libexec/switchcost" && touch "$scratch/earlier/usr/libexec/switchcost/gone"
    dpkg-deb -b "$scratch/earlier" "$tree/root/earlier.deb" && rm -rf "$scratch/earlier" || return 1
    in_tree "$tree" sh -c 'apt-get install -y --no-install-recommends /root/earlier.deb && apt-get install -y --no-install-recommends /root/package.deb &&
        ! ls /usr/libexec/switchcost/gone' || return 1
    in_tree "$tree" sh -c "$JOBS" jobs /usr/bin/switchcost "$WITH_CAPTURE" && in_tree "$tree" sh -c 'dpkg -P switchcost && ! find / -xdev -name "switchcost*" | grep .'
}

lintian_is_content() {
    command -v lintian > /dev/null || skip 'found no lintian; apt-get install lintian'
    lintian --fail-on error,warning --no-tag-display-limit "$packages"/switchcost_*.deb
}

# Unpacks and compiles each crate by itself, as it would be uploaded. Nothing is uploaded. cargo
# unpacks and compiles a version of a crate only once, so what an earlier trial has left is removed
# before.
crates_can_be_published() {
    rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/switchcost-* "${CARGO_TARGET_DIR:-target}"/debug/.fingerprint/switchcost-*
    CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false cargo publish --dry-run --workspace --locked --allow-dirty
}

# Runs the Python tests that need Ray, with the program of the wheels.
package_on_a_cluster() {
    local code
    scripts/test-python.sh "$scratch/venv/bin/switchcost" ray
    code=$?
    [ $code -ne 3 ] || return 75
    return $code
}

arm64_in_a_guest() {
    local code
    scripts/test-packages-arm64.sh "$packages"
    code=$?
    [ $code -ne 3 ] || return 75
    return $code
}

end() { echo "$passed passed, $failed failed, $skipped skipped"; exit $((failed > 0)); }

export -f crates_can_be_published package_on_a_cluster wheels_measure wheels_are_small archive_without_libc deb_in lintian_is_content in_tree skip arm64_in_a_guest
export packages scratch machine arch JOBS WITH_CAPTURE
try 'wheels: the main jobs from a fresh environment' bash -c wheels_measure
if [ $# -eq 2 ]; then end; fi
try 'wheels: none is larger than 9 MB' bash -c wheels_are_small
LIMIT=1800 try 'crates: each could be published' bash -c crates_can_be_published
LIMIT=300 try 'wheels: sweeps and a fleet on clusters of Ray, an object store, notebooks' bash -c package_on_a_cluster
if ls "$packages"/switchcost-*-"$machine"-linux.tar.gz > /dev/null 2>&1; then
    try 'archive: the main jobs without a C library' bash -c archive_without_libc
fi
if ls "$packages"/switchcost_*.deb > /dev/null 2>&1; then try '.deb: lintian finds nothing' bash -c lintian_is_content; fi
if ls "$packages"/switchcost_*_"$arch.deb" > /dev/null 2>&1; then
    for release in bookworm trixie; do LIMIT=400 try ".deb: the main jobs in a fresh Debian $release" bash -c "deb_in $release"; done
fi
LIMIT=600 try 'arm64: the main jobs in an emulated machine' bash -c arm64_in_a_guest
end
