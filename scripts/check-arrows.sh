#!/usr/bin/env bash
# Fails if a crate depends on a crate that its row in ARCHITECTURE.md ("The map") does not permit,
# if the table and the crates differ, or if files of a crate use each other in a circle.
#
# Usage: scripts/check-arrows.sh
#
# Dev-dependencies are not checked, because they are not shipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
if [ -f "$target/setup.env" ]; then . "$target/setup.env"; fi

# Input: rows `| floor | `crate` | purpose | `other`, ... | ... |` and lines of cargo's tree of
# depth 1, `0switchcost-crate v0.1.0 (path)`.
cargo tree --workspace --locked --target all --edges normal,build --depth 1 --no-dedupe --prefix depth --format '{p}' | awk '
    function complain(text) { print "check-arrows: " text > "/dev/stderr"; wrong++ }
    FILENAME == "ARCHITECTURE.md" && split($0, cell, "|") == 7 && cell[3] ~ /`/ {
        gsub(/[` ]/, "", cell[3])
        count = split(cell[5], names, /`/)
        for (i = 2; i <= count; i += 2) allowed[cell[3], names[i]] = 1
        if (cell[5] ~ /all of the above/) for (above in rows) allowed[cell[3], above] = 1
        rows[cell[3]] = cell[5]
    }
    FILENAME == "ARCHITECTURE.md" { next }
    match($0, /^[01]switchcost[a-z-]*/) {
        name = substr($0, 2, RLENGTH - 1)
        sub(/^switchcost-/, "", name)
        if (/^0/) {
            crate = name
            crates[crate] = 1
            if (!(crate in rows)) complain("found crate " crate ", need a row for it in ARCHITECTURE.md, \"The map\"")
        } else if (crate in rows) {
            arrows++
            if (!((crate, name) in allowed)) complain("found " crate " -> " name ", need that arrow gone: " crate " may use" rows[crate])
        }
    }
    END {
        for (row in rows) if (!(row in crates)) complain("found a row for " row " in ARCHITECTURE.md, and no crate of that name")
        for (crate in crates) total++
        if (!total || wrong) exit 1
        printf "check-arrows: %d crates, %d arrows, none forbidden\n", total, arrows
    }
' ARCHITECTURE.md -

# Unquoted, because no name has a space.
# shellcheck disable=SC2046
awk -f scripts/circles.awk ARCHITECTURE.md $(find crates/*/src -name '*.rs' | LC_ALL=C sort)
