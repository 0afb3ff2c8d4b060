#!/usr/bin/env bash
# Gets the QEMU of another release of this distribution. QEMU and all the libraries that it needs
# are downloaded and unpacked in target/, not installed. Prints a folder with qemu-system-x86_64,
# for PATH.
#
# Usage: scripts/another-qemu.sh [RELEASE]
#   RELEASE  the name of a release, as in its package lists (trixie, noble); by default one other than this
#
#   PATH=$(scripts/another-qemu.sh):$PATH cargo test --package switchcost-capture --test guest
#
# The files are kept in target/qemu-RELEASE; remove that folder to download them again.
#
# Exit codes: 0 done, 1 QEMU does not run, 2 wrong usage, 3 QEMU cannot be downloaded (the reason is
# the last line of stderr).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. scripts/another-release.sh

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/qemu-$release"
folder=$(cd "$target/qemu-$release" && pwd)
root=$folder/root

# Downloads into our own folder, and leaves the system's package lists and sources unchanged.
download() {
    local mirror options package
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || give_up "found no apt-get, need it to download packages"
    # The mirror of this release also has the other release.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Origin: $origin" "Codename: $this" 2> /dev/null | sed -n 1p)
    [ -n "$mirror" ] || give_up "found no source of $origin's $this in the lists of apt, need one; sudo apt-get update"
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
    # An empty status means that nothing is installed, so that all dependencies are downloaded, even
    # the C library.
    : > "$folder/apt/status"
    echo "deb [signed-by=/usr/share/keyrings/${origin,,}-archive-keyring.gpg] $mirror $release main universe" > "$folder/apt/sources.list"
    [ "$origin" = Ubuntu ] || sed -i 's/ universe$//' "$folder/apt/sources.list"
    options=(-q -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists"
        -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User= -o Acquire::Retries=1
        -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o APT::Install-Recommends=false -o Debug::NoLocking=1)
    apt-get "${options[@]}" update >&2 || give_up "the package lists of $release cannot be downloaded"
    apt-get "${options[@]}" install --download-only --yes qemu-system-x86 >&2 || give_up "the QEMU of $release cannot be downloaded"
    rm -rf "$root.new"
    for package in "$folder"/apt/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$root.new" >&2 || give_up "the QEMU of $release cannot be unpacked"
    done
    rm -rf "$root" "$folder/apt"
    mv "$root.new" "$root"
}

[ -d "$root" ] || download
mkdir -p "$folder/bin"
loader=$(find "$root" -path '*/x86_64-linux-gnu/ld-linux-x86-64.so.2' -print -quit)
cat > "$folder/bin/qemu-system-x86_64" << END
#!/bin/bash
libraries='$root/usr/lib/x86_64-linux-gnu'
QEMU_MODULE_DIR=\$libraries/qemu exec '$loader' --library-path "\$libraries:$root/lib/x86_64-linux-gnu" '$root/usr/bin/qemu-system-x86_64' \\
    -L '$root/usr/share/qemu' -L '$root/usr/share/seabios' "\$@"
END
chmod +x "$folder/bin/qemu-system-x86_64"
"$folder/bin/qemu-system-x86_64" --version >&2 || exit 1
echo "$folder/bin"
