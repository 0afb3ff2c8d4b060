#!/usr/bin/env bash
# Makes packages in target/packages that are installed without compiling: wheels for Python's
# installers, a .deb, an archive for any Linux, and the source that must accompany the GPL programs.
#
# Usage: scripts/packages.sh [--arch amd64|arm64] [--to FOLDER] [--of PROGRAM] [wheels|archive|deb|source]...
#   --arch ARCH   architecture, by Debian's names (default: this machine's)
#   --to FOLDER   folder for the packages (default: target/packages)
#   --of PROGRAM  packs this program instead of building one; for tests
#   by default all kinds are made
#
# All packages contain the same program, compiled once and linked statically with the build
# machine's C library, so that it needs no C library where it runs. Each package is made from the
# folder that `make install` fills, so that the Makefile alone knows the places of the files.
#
# There are no capture tools for arm64, because they follow programs of x86-64. Packages for arm64
# that are made on another machine need Rust's standard library for arm64
# (scripts/rustc-for-arm64.sh), a C compiler and library (gcc-aarch64-linux-gnu,
# libc6-dev-arm64-cross), and qemu-user-static to print the manual.
#
# Exit codes: 0 made (names on stdout), 1 something could not be made, 2 wrong usage.
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
# The capture tools, and the package of their source, exist for x86-64 only.
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

# For another processor: the prefix of the binutils, and the emulator.
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

# Installs a program ($2) into a new folder ($1) with `make install`, and strips all programs there.
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

# Builds the program, linked statically, and prints its path. With --target, build scripts are not
# linked statically. Code that was built by another compiler has another target folder. On x86-64,
# packed relocations save half a megabyte; the linked C library unpacks them (glibc 2.36 or newer).
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

# Stages the program once for all packages.
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
        # The program needs no C library. These tags name the oldest C libraries that installers
        # know.
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

# Prints lintian's overrides: findings that are intended.
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

# Prints Debian's copyright file: the licence of each file.
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

# Makes the source of the GPL programs: our part as it was committed, and Valgrind's from its
# distribution.
make_source() {
    local name=switchcost-capture-$version-source folder
    folder=$packages/source
    rm -rf "$folder"
    mkdir -p "$folder/$name/valgrind" "$folder/lists/partial"
    git archive HEAD capture | tar -C "$folder/$name" -xf -
    # The mirror of a binary package also has its source, which a system's lists seldom name.
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
