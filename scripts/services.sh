#!/usr/bin/env bash
# Downloads the servers that tests observe under load, with load generators: nginx and wrk, Redis,
# PostgreSQL. The packages of this distribution are unpacked in a folder, not installed, because
# installing a server would start it. Prints the folder, for SWITCHCOST_SERVICES.
#
# Usage: scripts/services.sh
#
#   SWITCHCOST_SERVICES=$(scripts/services.sh) cargo test --release --package switchcost --test it services::
#
# The files are kept in target/services; remove that folder to download them again.
#
# Exit codes: 0 done, 2 wrong usage, 3 the packages cannot be downloaded (the reason is the last
# line of stderr).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -eq 0 ] || { echo "usage: scripts/services.sh" >&2; exit 2; }

give_up() { echo "$*" >&2; exit 3; }

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/services"
folder=$(cd "$target/services" && pwd)

# Downloads the packages with their dependencies that are not installed. Neither locks nor changes
# the system.
download() {
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || give_up "found no apt-get, need it to download packages"
    local database packages package
    # `postgresql` depends on the distribution's version, whose package has the server.
    database=$(apt-cache depends postgresql 2> /dev/null | sed -n 's/^.*Depends: \(postgresql-[0-9]*\)$/\1/p' | sed -n 1p)
    [ -n "$database" ] || give_up "found no postgresql in the lists of apt, need it; sudo apt-get update"
    packages=(nginx wrk redis-server redis-tools "$database" "${database/-/-client-}")
    rm -rf "$folder/debs" "$folder/root.new"
    mkdir -p "$folder/debs/partial"
    apt-get install -q -y --download-only --no-install-recommends --reinstall -o Debug::NoLocking=1 -o APT::Sandbox::User= \
        -o "Dir::Cache::archives=$folder/debs" -o Acquire::Retries=1 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 \
        "${packages[@]}" >&2 || give_up "the packages ${packages[*]} cannot be downloaded; sudo apt-get update"
    mkdir "$folder/root.new"
    for package in "$folder"/debs/*.deb; do
        dpkg-deb -x "$package" "$folder/root.new" >&2 || give_up "$(basename "$package") cannot be unpacked"
    done
    rm -rf "$folder/debs"
    mv "$folder/root.new" "$folder/root"
}

[ -d "$folder/root" ] || download
echo "$folder/root"
