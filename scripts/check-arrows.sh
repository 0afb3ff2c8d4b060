#!/usr/bin/env bash
# Fails where a crate depends on a crate that it must not know (ARCHITECTURE.md, "The arrows").
#
# Usage: scripts/check-arrows.sh [FOLDER]      FOLDER holds one crate in each folder; by default crates/
#
# Looked at: [dependencies] and [build-dependencies], also those of a target. Dev-dependencies do not ship and are free.
set -euo pipefail

folder=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/crates}

# A crate, and the crates that it may know. Everything else is forbidden, a crate without a line here too.
allowed() {
    case $1 in
        units) echo "" ;;
        remedies) echo "" ;;
        workload) echo "units" ;;
        design) echo "units" ;;
        record) echo "remedies units workload" ;;
        observation) echo "remedies units record" ;;
        observe) echo "units record host observation" ;;
        injection) echo "remedies units record" ;;
        profile) echo "remedies units record" ;;
        reuse) echo "profile trace units" ;;
        inject) echo "units workload record host injection" ;;
        simulation-result) echo "design record" ;;
        simulation-record) echo "remedies record simulation-result" ;;
        host) echo "units workload record" ;;
        measure) echo "remedies units workload record host" ;;
        analysis) echo "units workload design record observation injection profile simulation-result" ;;
        # Data for and from programs of other authors: nothing of ours above it.
        trace) echo "remedies units workload" ;;
        cachesim) echo "units design record simulation-result trace" ;;
        capture) echo "remedies units host trace" ;;
        browser) echo "host" ;;
        programs) echo "remedies" ;;
        symbols) echo "" ;;
        reproduce) echo "units workload design record simulation-result analysis" ;;
        report) echo "units workload record observation injection profile simulation-result trace analysis reproduce" ;;
        switchcost) echo "remedies units workload design record simulation-result simulation-record observation injection profile host browser measure observe inject trace reuse cachesim capture programs symbols analysis reproduce report" ;;
        # They run the program from outside, as a user would; the one that measures may read what it wrote.
        attack) echo "" ;;
        bench) echo "units record host browser trace cachesim profile analysis" ;;
        *) return 1 ;;
    esac
}

# Names of all dependencies in a manifest, one a line: the key, and the package where the key is another name for it.
dependencies() {
    awk '
        /^[ \t]*\[/ {
            section = $0
            gsub(/[ \t"]/, "", section)
            sub(/#.*/, "", section)
            listed = section ~ /^\[(target\..*\.)?(build-)?dependencies\]$/
            single = section ~ /^\[(target\..*\.)?(build-)?dependencies\../
            if (single) { name = section; sub(/^.*dependencies\./, "", name); sub(/\].*/, "", name); print name }
            next
        }
        listed && /^[ \t]*"?[A-Za-z0-9_-]+"?[ \t]*[.=]/ {
            name = $0
            sub(/[ \t]*[.=].*/, "", name)
            gsub(/[ \t"]/, "", name)
            print name
        }
        (listed || single) && /package[ \t]*=[ \t]*"/ {
            name = $0
            sub(/.*package[ \t]*=[ \t]*"/, "", name)
            sub(/".*/, "", name)
            print name
        }
    ' "$1"
}

crates=()
for manifest in "$folder"/*/Cargo.toml; do
    [ -f "$manifest" ] || continue
    crates+=("$(basename "$(dirname "$manifest")")")
done
if [ ${#crates[@]} -eq 0 ]; then
    echo "check-arrows: found no crate in $folder, need one folder a crate with its Cargo.toml" >&2
    exit 1
fi

is_room() {
    local crate
    for crate in "${crates[@]}"; do [ "$crate" = "$1" ] && return 0; done
    return 1
}

edges=0
wrong=0
for crate in "${crates[@]}"; do
    if ! known=$(allowed "$crate"); then
        echo "check-arrows: found crate '$crate', need a line for it in scripts/check-arrows.sh and in ARCHITECTURE.md" >&2
        wrong=$((wrong + 1))
        continue
    fi
    while read -r name; do
        other=${name#switchcost-}
        is_room "$other" || continue
        edges=$((edges + 1))
        case " $known " in
            *" $other "*) ;;
            *)
                echo "check-arrows: found $crate -> $other, need that arrow gone: $crate may know ${known:-no other crate};" \
                    "see \"The arrows\" in ARCHITECTURE.md" >&2
                wrong=$((wrong + 1))
                ;;
        esac
    done < <(dependencies "$folder/$crate/Cargo.toml" | sort -u)
done

[ "$wrong" -eq 0 ] || exit 1
echo "check-arrows: ${#crates[@]} crates, $edges arrows, none forbidden"
