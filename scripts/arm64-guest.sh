#!/usr/bin/env bash
# Runs a shell script in a 64-bit Arm guest, and prints the script's output. The guest is emulated
# by QEMU on any processor. It has Debian's cloud kernel, the files of a tree, and busybox. By its
# own clock the guest executes one instruction per nanosecond, however long the emulation takes. So
# two runs of a program take the same time, and the counts that its PMU must show are known.
#
# Usage: scripts/arm64-guest.sh TREE SCRIPT
#   TREE    a folder with the guest's root file system; it may have libraries, or static programs alone
#   SCRIPT  a script that busybox's sh runs as root
#
# Kernel and busybox are downloaded once, with apt, and kept in target/arm64-guest. Environment,
# with defaults: LIMIT (600) is the time limit in seconds; RELEASE (bookworm) is the Debian release
# of kernel and busybox; an instruction takes 2^SHIFT nanoseconds (SHIFT is 0).
#
# Exit codes: 0 the script ended with 0, 1 the script failed or the guest did not end, 2 wrong
# usage, 3 the guest is not available here (the reason is the last line of stderr).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -eq 2 ] && [ -d "$1" ] && [ -f "$2" ] || { echo "usage: scripts/arm64-guest.sh TREE SCRIPT" >&2; exit 2; }

give_up() { echo "$*" >&2; exit 3; }

tree=$1 script=$2
folder=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)/arm64-guest
release=${RELEASE:-bookworm}
[ "$release" = bookworm ] || folder+=-$release

download() {
    local mirror options package
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || give_up "found no apt-get, need it to download a kernel"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 2> /dev/null | sed -n 1p)
    [ -n "$mirror" ] || give_up "found no source of Debian in the lists of apt, need one; sudo apt-get update"
    rm -rf "$folder"
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
    : > "$folder/apt/status"
    echo "deb [arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" > "$folder/apt/sources.list"
    options=(-q -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists"
        -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User= -o Acquire::Retries=1
        -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o Debug::NoLocking=1 -o APT::Architecture=arm64 -o APT::Architectures::=arm64)
    apt-get "${options[@]}" update >&2 || give_up "the package lists of $release for arm64 cannot be downloaded"
    package=$(apt-cache "${options[@]}" depends linux-image-cloud-arm64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p')
    (cd "$folder/apt/cache/archives" && apt-get "${options[@]}" download "$package" busybox-static libc6 libgcc-s1 >&2) ||
        give_up "a kernel for arm64 cannot be downloaded"
    mkdir -p "$folder/kernel.new" "$folder/busybox" "$folder/libc"
    for package in "$folder"/apt/cache/archives/*.deb; do
        case ${package##*/} in
            linux-image-*) dpkg-deb --fsys-tarfile "$package" | tar -C "$folder/kernel.new" --strip-components=2 -xf - --wildcards './boot/vmlinuz-*' ;;
            busybox*) dpkg-deb -x "$package" "$folder/busybox" ;;
            *) dpkg-deb -x "$package" "$folder/libc" ;;
        esac
    done
    rm -rf "$folder/apt"
    mv "$folder/kernel.new" "$folder/kernel"
}

command -v qemu-system-aarch64 > /dev/null || give_up "found no qemu-system-aarch64, need it for a guest; apt-get install qemu-system-arm"
command -v cpio > /dev/null || give_up "found no cpio, need it for the guest's files; apt-get install cpio"
[ -d "$folder/kernel" ] || download

guest=$(mktemp -d)
trap 'rm -rf "$guest"' EXIT
mkdir -p "$guest/root"
# Dynamically linked programs find the C library below /lib. The tree is copied last, so it may
# replace the library.
cp -a "$folder/libc/." "$tree/." "$guest/root/"
[ -e "$guest/root/lib" ] || ln -s usr/lib "$guest/root/lib"
mkdir -p "$guest/root/bin" "$guest/root/dev" "$guest/root/proc" "$guest/root/sys" "$guest/root/tmp" "$guest/root/root"
cp "$(find "$folder/busybox" -name busybox -path '*/bin/*')" "$guest/root/bin/"
cp "$script" "$guest/root/script"
cat > "$guest/root/init" << 'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tracefs trace /sys/kernel/tracing; mount -t cgroup2 group /sys/fs/cgroup
ln -s /proc/self/fd /dev/fd
ip link set lo up
echo "guest: begins"
sh /script < /dev/null 2>&1
echo "guest: ends with $?"
poweroff -f
END
chmod +x "$guest/root/init"
(cd "$guest/root" && find . | cpio --quiet -o -H newc) | gzip -1 > "$guest/files"
kernel=$(ls "$folder"/kernel/vmlinuz-* | tail -n 1)
timeout --kill-after=5 "${LIMIT:-600}" qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -icount shift="${SHIFT:-0}",sleep=off -m 1G -nodefaults -no-reboot \
    -display none -serial stdio -kernel "$kernel" -initrd "$guest/files" -append "console=ttyAMA0 quiet rdinit=/init panic=-1" \
    < /dev/null > "$guest/said" 2> "$guest/complaints" || true
sed -i 's/\r$//' "$guest/said"
code=$(sed -n 's/^guest: ends with \([0-9]*\)$/\1/p' "$guest/said")
sed '0,/^guest: begins$/d; /^guest: ends with/,$d' "$guest/said"
[ -n "$code" ] || { tail -n 5 "$guest/said" "$guest/complaints" >&2; echo "the guest did not come to its end" >&2; exit 1; }
[ "$code" -eq 0 ] || { echo "the script ended with $code" >&2; exit 1; }
