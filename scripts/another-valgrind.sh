#!/usr/bin/env bash
# Builds the capture tool with the Valgrind of another release of this distribution. That Valgrind
# is downloaded and unpacked in target/, not installed. Prints the tool's folder, for
# SWITCHCOST_TOOL_DIR.
#
# Usage: scripts/another-valgrind.sh [RELEASE]
#   RELEASE  the name of a release, as in its package lists (trixie, noble); by default one other than this
#
#   SWITCHCOST_TOOL_DIR=$(scripts/another-valgrind.sh) cargo test --package switchcost-capture --test programs
#
# The files are kept in target/valgrind-RELEASE; remove that folder to download them again.
# FAST_EXITS=yes in the environment is passed to the Makefile.
#
# Exit codes: 0 built, 1 the tool could not be built, 2 wrong usage, 3 Valgrind cannot be downloaded
# (the reason is the last line of stderr).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. scripts/another-release.sh

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/valgrind-$release"
folder=$(cd "$target/valgrind-$release" && pwd)
root=$folder/root

# Downloads into our own folder, and leaves the system's package lists and sources unchanged.
download() {
    local mirror options
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || give_up "found no apt-get, need it to download a package"
    # The mirror of this release also has the other release.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Origin: $origin" "Codename: $this" 2> /dev/null | sed -n 1p)
    [ -n "$mirror" ] || give_up "found no source of $origin's $this in the lists of apt, need one; sudo apt-get update"
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
    # An empty status means that nothing is installed; apt would prefer a newer version that is.
    : > "$folder/apt/status"
    echo "deb [signed-by=/usr/share/keyrings/${origin,,}-archive-keyring.gpg] $mirror $release main universe" > "$folder/apt/sources.list"
    [ "$origin" = Ubuntu ] || sed -i 's/ universe$//' "$folder/apt/sources.list"
    options=(-q -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists"
        -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User= -o Acquire::Retries=1
        -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30)
    apt-get "${options[@]}" update >&2 || give_up "the package lists of $release cannot be downloaded"
    rm -f "$folder"/valgrind_*.deb
    (cd "$folder" && apt-get "${options[@]}" download valgrind >&2) || give_up "the Valgrind of $release cannot be downloaded"
    rm -rf "$root.new"
    dpkg-deb -x "$folder"/valgrind_*.deb "$root.new" >&2 || give_up "the Valgrind of $release cannot be unpacked"
    rm -rf "$root" "$folder/apt" "$folder"/valgrind_*.deb
    mv "$root.new" "$root"
}

[ -d "$root" ] || download
make --silent -C capture/valgrind OUT="$folder/tool" ROOT="$root" all order >&2 || exit 1
echo "$folder/tool"
