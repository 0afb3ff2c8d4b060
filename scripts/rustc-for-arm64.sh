#!/usr/bin/env bash
# Finds a Rust compiler with the standard library for 64-bit Arm, on another machine, and prints its
# path, for RUSTC: the installed compiler, or if it has no such library, that of Debian's backports.
# The latter is downloaded with all libraries that it needs and unpacked in target/, not installed.
#
# Usage: scripts/rustc-for-arm64.sh
#
#   RUSTC=$(scripts/rustc-for-arm64.sh) cargo build --target aarch64-unknown-linux-gnu ...
#
# Downloads are kept in target/rustc-for-arm64; remove that folder to download again. Use a separate
# target folder, because a compiler cannot use what another compiler has built.
#
# Exit codes: 0 found, 1 the compiler does not run, 2 wrong usage, 3 no such compiler is available
# here (the reason is the last line of stderr).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -eq 0 ] || { echo "usage: scripts/rustc-for-arm64.sh" >&2; exit 2; }

rust_target=aarch64-unknown-linux-gnu
release=trixie
target=${CARGO_TARGET_DIR:-target}
if [ -f "$target/setup.env" ]; then . "$target/setup.env"; fi
folder=$(mkdir -p "$target" && cd "$target" && pwd)/rustc-for-arm64
root=$folder/root

give_up() {
    echo "found no Rust with a standard library for $rust_target, need one; rustup target add $rust_target (tried Debian's instead: $*)" >&2
    exit 3
}

has_library() { [ -d "$("$1" --print target-libdir --target $rust_target 2> /dev/null)" ]; }

download() {
    local mirror options package
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || give_up "found no apt-get, need it to download packages"
    [ "$(uname -m)" = x86_64 ] || give_up "found a machine of $(uname -m), need x86_64"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 2> /dev/null | sed -n 1p)
    [ -n "$mirror" ] || give_up "found no source of Debian in the lists of apt, need one; sudo apt-get update"
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
    # An empty status means that nothing is installed, so that all dependencies are downloaded, even
    # the C library.
    : > "$folder/apt/status"
    printf "deb [arch=amd64,arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror %s main\n" $release $release-backports \
        > "$folder/apt/sources.list"
    options=(-q -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists"
        -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User= -o Acquire::Retries=1
        -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o APT::Install-Recommends=false -o Debug::NoLocking=1
        -o APT::Architectures::=amd64 -o APT::Architectures::=arm64)
    apt-get "${options[@]}" update >&2 || give_up "the package lists of $release cannot be downloaded"
    apt-get "${options[@]}" -t $release-backports install --download-only --yes rustc >&2 || give_up "the Rust of $release-backports cannot be downloaded"
    (cd "$folder/apt/cache/archives" && apt-get "${options[@]}" -t $release-backports download libstd-rust-dev:arm64 >&2) ||
        give_up "the standard library of $release-backports cannot be downloaded"
    rm -rf "$root.new"
    for package in "$folder"/apt/cache/archives/*.deb; do
        # This machine's C compiler links, so that of the backports is left out.
        case ${package##*/} in gcc-*-base_*) ;; gcc[-_]* | cpp[-_]* | binutils* | lib?san*) continue ;; esac
        dpkg-deb -x "$package" "$root.new" >&2 || give_up "${package##*/} cannot be unpacked"
    done
    rm -rf "$root" "$folder/apt"
    mv "$root.new" "$root"
}

if has_library rustc; then command -v rustc; exit; fi
[ -d "$root" ] || download
cat > "$folder/rustc" << END
#!/bin/bash
libraries='$root/usr/lib/x86_64-linux-gnu'
exec "\$libraries/ld-linux-x86-64.so.2" --library-path "\$libraries" '$root/usr/bin/rustc' --sysroot '$root/usr' "\$@"
END
chmod +x "$folder/rustc"
"$folder/rustc" --version >&2 && has_library "$folder/rustc" || exit 1
echo "$folder/rustc"
