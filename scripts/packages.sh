#!/usr/bin/env bash
# Makes what people install without compiling, in target/packages: wheels for Python's installers, a .deb, an archive for any Linux, and
# the source that goes with the GPL programs among them.
#
# Usage: scripts/packages.sh [--arch amd64|arm64] [--to FOLDER] [--of PROGRAM] [wheels|archive|deb|source]...
#   --arch ARCH   for which processors, by Debian's names (this machine's)
#   --to FOLDER   where packages go (target/packages)
#   --of PROGRAM  a program that is there instead of one that is built for the packages; for tests
#   by default all kinds are made
#
# All hold one program, compiled once. It is linked statically with the C library of the machine that builds it, and needs none where it
# runs. Each package is packed from what `make install` leaves in a folder, so that where things lie beside the program is known in one
# place.
#
# For arm64 there is nothing that captures: those tools follow programs of x86-64. On another machine it takes Rust's standard library for it (scripts/rustc-for-arm64.sh), a C compiler and library (packages
# gcc-aarch64-linux-gnu and libc6-dev-arm64-cross), and qemu-user-static, which runs the program where it prints its manual.
#
# Exit codes: 0 made (their names on stdout), 1 something could not be made, 2 wrong usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    echo "usage: scripts/packages.sh [--arch amd64|arm64] [--to FOLDER] [--of PROGRAM] [wheels|archive|deb|source]..." >&2
    exit 2
}

target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
if [ -f "$target/setup.env" ]; then . "$target/setup.env"; fi
packages=$target/packages
program=''
machine=$(uname -m)
kinds=()
while [ $# -gt 0 ]; do
    case $1 in
        --to | --of | --arch)
            [ $# -ge 2 ] || usage
            case $1$2 in
                --to*) packages=$(mkdir -p "$2" && cd "$2" && pwd) ;;
                --of*) program=$2 ;;
                --archamd64) machine=x86_64 ;;
                --archarm64) machine=aarch64 ;;
                *) usage ;;
            esac
            shift ;;
        wheels | archive | deb | source) kinds+=("$1") ;;
        *) usage ;;
    esac
    shift
done
# What captures is of x86-64, and so is the source that goes with it.
has_capture=no
if [ "$machine" = x86_64 ]; then has_capture=yes; fi
if [ ${#kinds[@]} -eq 0 ]; then
    kinds=(wheels archive deb)
    [ $has_capture = no ] || kinds+=(source)
fi

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
rust_target=$machine-unknown-linux-gnu
# Programs that only packages need.
tools=$target/packaging
# The time of the last commit, so that the same source gives the same packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir -p "$packages" "$tools"

# Of what is for another processor: a prefix of the programs that work on it, and what runs it.
binutils='' emulator=''
if [ "$machine" != "$(uname -m)" ]; then
    [ "$machine" = aarch64 ] && [ "$(uname -m)" = x86_64 ] ||
        { echo "packages: found a machine of $(uname -m), need one of $machine to make packages for it" >&2; exit 1; }
    binutils=aarch64-linux-gnu- emulator=qemu-aarch64-static
    for need in ${binutils}gcc:gcc-aarch64-linux-gnu:libc6-dev-arm64-cross $emulator:qemu-user-static; do
        command -v "${need%%:*}" > /dev/null || {
            echo "packages: found no ${need%%:*}, need it for $machine; sudo apt-get install $(echo "${need#*:}" | tr : ' ')" >&2
            exit 1
        }
    done
fi

# What `make install` leaves of a program, in a folder that is made anew.
stage() {
    local others=()
    rm -rf "${packages:?}/$1"
    [ $has_capture = yes ] || others=(TOOL=none GUEST=none)
    make --no-print-directory --silent install DIST="$2" PREFIX=/usr DESTDIR="$packages/$1" EMULATOR="$emulator" OBJCOPY="${binutils}objcopy" \
        "${others[@]}" >&2
    find "$packages/$1/usr" -type f | while read -r file; do
        ! head -c 4 "$file" | grep -q ELF || "${binutils}strip" --strip-unneeded "$file"
    done
    [ $has_capture = yes ] || return 0
    local of_capture=$packages/$1/usr/share/doc/switchcost-capture
    mkdir -p "$of_capture"
    cp capture/valgrind/COPYING "$of_capture/"
    cat > "$of_capture/SOURCE" << END
The programs in libexec/switchcost are licensed under the GNU General Public License, version 2 or later (COPYING). Their source is
switchcost-capture-$version-source.tar, which is to be had where this package is. It has the folder capture of switchcost, and, since
switchcost-amd64-linux is linked with Valgrind's core, the source of $(valgrind_source) as its distribution has it.
END
}

valgrind_source() { dpkg-query -W -f '${source:Package} ${source:Version}' valgrind 2> /dev/null || echo 'Valgrind'; }

# Linked statically; the target is named so that programs that run while it is built are not. What another compiler has built is kept
# from what this one has. On x86-64 relocations are packed, half a megabyte of them, which its own C library undoes (glibc 2.36 or newer).
static_program() {
    local folder=$target
    if [ -n "$binutils" ]; then
        RUSTC=$(scripts/rustc-for-arm64.sh) || return 1
        folder=$target/arm64
        export RUSTC CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=${binutils}gcc
    fi
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS='-Ctarget-feature=+crt-static -Clink-arg=-Wl,-z,pack-relative-relocs' \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS='-Ctarget-feature=+crt-static' \
        cargo build --profile dist --locked --package switchcost --target "$rust_target" --target-dir "$folder" >&2
    echo "$folder/$rust_target/dist/switchcost"
}

# Once for all that is made of it.
stage_static() {
    [ "${is_staged:-no}" = no ] || return 0
    stage static "${program:-$(static_program)}"
    is_staged=yes
}

make_wheels() {
    [ -x "$tools/bin/hatchling" ] || {
        python3 -m venv "$tools"
        "$tools/bin/pip" install --quiet --disable-pip-version-check 'hatchling>=1.27'
    } >&2
    stage_static
    local folder folders=(python)
    [ $has_capture = no ] || folders+=(python/capture)
    for folder in "${folders[@]}"; do
        # The program asks for no C library: these names are those of the oldest that installers know.
        (cd "$folder" && SWITCHCOST_STAGE=$packages/static/usr SWITCHCOST_PLATFORM=manylinux_2_17_$machine.musllinux_1_1_$machine \
            "$tools/bin/hatchling" build -t wheel -d "$packages" >&2)
    done
    ls "$packages/switchcost-$version"-*"$machine.whl"
    [ $has_capture = no ] || ls "$packages/switchcost_capture-$version"-*"$machine.whl"
}

make_archive() {
    stage_static
    local name=switchcost-$version-$machine-linux
    rm -rf "${packages:?}/$name"
    cp -a "$packages/static/usr" "$packages/$name"
    cp LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$packages/$name/"
    tar -C "$packages" --owner=0 --group=0 --sort=name --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n > "$packages/$name.tar.gz"
    rm -rf "${packages:?}/$name"
    ls "$packages/$name.tar.gz"
}

make_deb() {
    [ -x "$tools/bin/cargo-deb" ] || cargo install --quiet --locked --root "$tools" cargo-deb >&2
    local of_target=()
    [ $has_capture = yes ] || of_target=(--target "$rust_target" --variant arm64)
    stage_static
    rm -rf "${packages:?}/deb"
    cp -a "$packages/static" "$packages/deb"
    copyright > "$packages/deb/copyright"
    overrides > "$packages/deb/overrides"
    printf '%s\n\n%s\n\n -- %s  %s\n' "switchcost ($version-1) unstable; urgency=medium" '  * Changes are listed in CHANGELOG.md of the source.' \
        "$(sed -n 's/^maintainer = "\(.*\)"/\1/p' crates/switchcost/Cargo.toml)" "$(date -uRd "@$SOURCE_DATE_EPOCH")" > "$packages/deb/changelog"
    "$tools/bin/cargo-deb" --quiet --no-build --no-strip --package switchcost "${of_target[@]}" --output "$packages/" >&2
    ls "$packages/switchcost_$version"-*_"$([ "$machine" = aarch64 ] && echo arm64 || echo amd64).deb"
}

# What lintian finds and is as it should be.
overrides() {
    cat << 'END'
# Linked statically, as it may have been built on another release; lintian takes it for a library, since it may be loaded anywhere.
switchcost: shared-library-lacks-prerequisites [usr/bin/switchcost]
# It needs no other package.
switchcost: empty-field Depends
END
    if [ $has_capture = yes ]; then cat << 'END'
# Valgrind's core has no C library, the launcher starts it in its place, and a guest has none but those of its programs.
switchcost: statically-linked-binary [usr/libexec/switchcost/*]
# Valgrind's own, as it is in the package valgrind.
switchcost: shared-library-lacks-prerequisites [usr/libexec/switchcost/vgpreload_core-amd64-linux.so]
END
    fi
    cat << 'END'
# Not packaged by Debian.
switchcost: initial-upload-closes-no-bugs *
END
}

# As Debian has it read: which files are under which licence.
copyright() {
    cat << END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: switchcost

Files: *
Copyright: 2026 The switchcost developers
License: Expat or Apache-2.0

License: Expat
$(sed 1,4d LICENSE-MIT | sed 's/^$/./; s/^/ /')

License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0.
END
    [ $has_capture = yes ] || return 0
    cat << 'END'

Files: usr/libexec/switchcost/*
Copyright: 2026 The switchcost developers, and the authors of Valgrind
License: GPL-2+

License: GPL-2+
 On Debian systems the text of the GNU General Public License, version 2, is in /usr/share/common-licenses/GPL-2.
END
}

# Of what is under the GPL: our part of it as it was committed, and Valgrind's from the distribution that it comes from.
make_source() {
    local name=switchcost-capture-$version-source folder
    folder=$packages/source
    rm -rf "$folder"
    mkdir -p "$folder/$name/valgrind" "$folder/lists/partial"
    git archive HEAD capture | tar -C "$folder/$name" -xf -
    # The source of a package is in the same place as the package; a system seldom lists it.
    apt-get indextargets --format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' | sort -u > "$folder/sources.list"
    local options=(-q -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/lists"
        -o APT::Sandbox::User= -o Acquire::Languages=none)
    if command -v apt-get > /dev/null && apt-get "${options[@]}" update >&2 &&
        (cd "$folder/$name/valgrind" && apt-get "${options[@]}" source --download-only \
            "valgrind=$(dpkg-query -W -f '${source:Version}' valgrind)" >&2); then
        tar -C "$folder" --owner=0 --group=0 --sort=name --mtime="@$SOURCE_DATE_EPOCH" -cf "$packages/$name.tar" "$name"
        rm -rf "$folder"
        ls "$packages/$name.tar"
    else
        echo "packages: the source of Valgrind cannot be downloaded: do not hand on what has the capture tools without it" >&2
        return 1
    fi
}

for kind in "${kinds[@]}"; do "make_$kind"; done
