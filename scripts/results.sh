#!/usr/bin/env bash
# Makes results/ anew: the verdicts on the papers' claims on this machine, and the data behind them.
#
# Usage: scripts/results.sh PROGRAM [PAPER|runtimes|--quick|--anew|--system|--partial]...      without a paper, all of them
#
# The previous result of each paper is kept in results/earlier/. The new result has only those
# verdicts on which both agree. Every result has a number, which is its seed: the order of runs and
# the inputs of programs differ each time. So make results anew on another day, or hours later. A
# stopped run continues with the same number.
#
# For each paper, results/ gets PAPER.json with numbers and verdicts, PAPER.made.json (version and
# commit of the program, date, machine, and size, SHA-256 and seed of each record), its figures, and
# measured records of up to 300 kB and perf's output, compressed. Simulated records are not kept,
# because the commands in PAPER.json make them again bit by bit. All records are in
# target/results/records, where a stopped run continues.
#
# Each paper is made, copied into results/ and timed before the next begins. So `make results
# ARGS=today` redoes one paper in a short quiet time, and a stopped run leaves whole papers.
# PAPER.made.json has the time that the paper took in this run. A step whose command has changed is
# run anew. ARGS="--anew today" first removes all records of the named papers.
#
# `runtimes` is not a paper and has no verdicts. It is the ladder of all installed runtimes, on one
# CPU and on two, with their versions.
#
# With --system, claims that need references of a kernel are tested with traces of a guest, too.
#
# Nothing else should run meanwhile: results of a busy machine are not worth keeping. With --quick,
# everything goes to target/results-quick instead, as a trial.
#
# If commands left no record, the previous result stays; with --partial the new one replaces it
# nevertheless.
#
# Exit codes: 0 done, 1 something failed, 2 wrong usage, 3 done, with commands that left no record.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: scripts/results.sh PROGRAM [PAPER|runtimes|--quick|--anew|--system|--partial]..." >&2; exit 2; }
program=$(realpath "$1")
shift
target=${CARGO_TARGET_DIR:-target}
site=$target/results
results=results
quick=()
papers=()
system=()
anew=no
partial=no
for word in "$@"; do
    case $word in
        --quick) quick=(--quick) site=$target/results-quick results=$target/results-quick/results ;;
        --anew) anew=yes ;;
        --partial) partial=yes ;;
        --system) system=(--system) ;;
        *) papers+=("$word") ;;
    esac
done
case "${papers[*]:-all}" in *all*) papers=(li2007 michigan blog lmbench mogul1990 today runtimes) ;; esac

commit=$(git describe --always --abbrev=12)
# Changes in results/ do not count, because they do not change the program.
if ! git diff --quiet HEAD -- . ':!results'; then
    commit+=-dirty
    echo "results: found changes that are not committed: the results could not be made again from $commit" >&2
fi

# Prints a text as a JSON string.
quoted() { local text=${1//\\/\\\\}; printf '"%s"' "${text//\"/\\\"}"; }

# One line of JSON for a record: its name, size, digest, and the seed of a measurement.
described() {
    local seed=null digest
    digest=$(sha256sum < "$1")
    case $1 in *.jsonl) seed=$(head -n 1 "$1" | grep -o '"seed":[0-9]*' | head -n 1 | cut -d : -f 2) ;; esac
    printf '    {"file": "%s", "bytes": %s, "sha256": "%s", "seed": %s}' \
        "$(basename "$1")" "$(stat -c %s "$1")" "${digest%% *}" "${seed:-null}"
}

# Prints the number of a paper's next result: one more than that of the kept result.
next() {
    local kept
    kept=$(sed -n 's/^ *"seed": \([0-9]*\),$/\1/p' "$results/$1.made.json" 2> /dev/null | head -n 1)
    echo $((${kept:-0} + 1))
}

# Prints the option for the other result by which the verdicts are judged: the kept one. In results
# of mogul1990 and today before version 3, trials were copies of each other, so these are not used.
other() {
    local kept=$results/$1.json
    [ -e "$kept" ] || return 0
    case $1 in
        mogul1990 | today) grep -q '"switchcost.reproduce/[3-9]"' "$kept" || return 0 ;;
    esac
    printf '%s\n' --with "$kept"
}

made() {
    local paper=$1 seconds=$2 machine=$3 record separator=''
    printf '{\n  "schema": "switchcost.results/1",\n  "paper": "%s",\n' "$paper"
    printf '  "version": %s,\n  "commit": "%s",\n' "$(quoted "$("$program" --version)")" "$commit"
    printf '  "date": "%s",\n' "$(date -u +%FT%RZ)"
    printf '  "seed": %s,\n' "$(next "$paper")"
    printf '  "seconds": %s,\n' "$seconds"
    printf '  "machine": %s,\n' "$(quoted "$machine")"
    # gcc compiles the program on waits and the Client-Server pair.
    case $paper in michigan | mogul1990 | today) printf '  "compiler": %s,\n' "$(quoted "$(gcc --version | head -n 1)")" ;; esac
    printf '  "records": [\n'
    for record in "$site/records/$paper"-*.json* "$site/records/$paper"-*.parquet; do
        case $record in *'*'*|*.part.*|*.stopped.*) continue ;; esac
        printf '%s' "$separator"
        described "$record"
        separator=$',\n'
    done
    printf '\n  ]\n}\n'
}

# Prints a paper's row for the table in results/README.md: the number of claims by verdict, first of
# tested claims, then of calibrated ones.
row() {
    local paper=$1 counts
    counts=$(sed -nE 's/^ *"(holds|differs|inconclusive)": ([0-9]+),?$/\2/p' "$site/$paper.json" | head -n 6)
    [ "$(wc -l <<< "$counts")" -eq 6 ] || { echo "results: found no verdicts in $site/$paper.json" >&2; exit 1; }
    printf '| [%s](%s.md) | %s |' "$paper" "$paper" "$(sed ':a;N;$!ba;s/\n/ | /g' <<< "$counts")"
}

# Puts a paper's row into the table, in place of the old row or after the last one.
report() {
    local paper=$1 row readme=$results/README.md
    [ -e "$readme" ] || return 0
    row=$(row "$paper")
    if grep -q "^| \[$paper\]" "$readme"; then
        sed -i "s#^| \[$paper\].*#$row#" "$readme"
    else
        awk -v row="$row" '/^\| \[/ { rows = 1 } rows && !/^\|/ { print row; rows = 0 } { print }' "$readme" > "$readme.new"
        mv "$readme.new" "$readme"
    fi
}

# Copies a paper's result into results/.
keep() {
    local paper=$1 seconds=$2 figure name record
    made "$paper" "$seconds" "$(sed -n 's/^ *"machine": "\(.*\)",$/\1/p' "$site/$paper.json" | head -n 1)" > "$results/new.made.json"
    mkdir -p "$results/earlier"
    for name in "$paper.json" "$paper.made.json"; do
        [ ! -e "$results/$name" ] || mv "$results/$name" "$results/earlier/$name"
    done
    # The result by which the verdicts were judged has moved to results/earlier/.
    local moved="s#$results/$paper\.json#$results/earlier/$paper.json#g"
    sed "$moved" "$site/$paper.json" > "$results/$paper.json"
    sed -e "$moved" -e "s#(figures/$paper/figure-r1-#(figures/#" "$site/$paper.md" > "$results/$paper.md"
    mv "$results/new.made.json" "$results/$paper.made.json"
    rm -f "$results/figures/$paper"-*.svg
    for figure in "$site/figures/$paper"/*.svg; do
        # A paper that has only tables has no figures.
        [ -e "$figure" ] || continue
        name=$(basename "$figure")
        cp "$figure" "$results/figures/$paper-${name#*"$paper"-}"
    done
    keep_records "$paper"
    touch "$site/records/$paper.kept"
}

# Removes the measured records of the kept result, so that the next result has new measurements.
# Simulated records stay, because the same commands give the same records.
begin() {
    local paper=$1
    if [ "$anew" = yes ]; then rm -f "$site/records/$paper"-*; fi
    if [ -e "$site/records/$paper.kept" ]; then rm -f "$site/records/$paper"-*.json* "$site/records/$paper.kept"; fi
}

keep_records() {
    local paper=$1 record kept most_bytes=300000
    rm -f "$results/records/$paper"-*.gz
    for record in "$site/records/$paper"-*.json* "$site/records/$paper"-*.watched.txt; do
        case $record in *'*'*|*.part.*|*.stopped.*) continue ;; esac
        kept=$results/records/$(basename "$record").gz
        gzip -9nc "$record" > "$kept"
        # Larger records are not kept; PAPER.made.json has their seed and checksum.
        [ "$(stat -c %s "$kept")" -le "$most_bytes" ] || rm "$kept"
    done
}

# Measures the ladder of runtimes, and keeps its printed report, which also names missing runtimes.
ladder() {
    local record=$site/records/runtimes-ladder.jsonl words=(runtimes --placement both) start=$SECONDS one=0
    [ ${#quick[@]} -eq 0 ] || words+=(--budget 30s)
    mkdir -p "$site/records"
    rm -f "$record"
    "$program" "${words[@]}" --record "$record" > "$site/runtimes.txt" || one=$?
    case $one in 0) ;; 3) code=3 ;; *) exit 1 ;; esac
    { printf '$ switchcost %s\n' "${words[*]}"; cat "$site/runtimes.txt"; printf '\n$ switchcost report --details\n'
        "$program" report --details "$record" || [ $? -eq 3 ]; } > "$results/runtimes.txt"
    made runtimes "$((SECONDS - start))" "$(grep -m 1 'CPUs\{0,1\}, .*Linux' "$site/runtimes.txt")" > "$results/runtimes.made.json"
    keep_records runtimes
    echo "results: runtimes took $((SECONDS - start)) s" >&2
}

mkdir -p "$results/figures" "$results/records"
code=0
for paper in "${papers[@]}"; do
    [ "$paper" != runtimes ] || { ladder; continue; }
    begin "$paper"
    start=$SECONDS
    one=0
    mapfile -t with < <(other "$paper")
    "$program" reproduce "$paper" "${quick[@]}" "${system[@]}" --seed "$(next "$paper")" "${with[@]}" --figures -o "$site" > /dev/null || one=$?
    case $one in
        0) ;;
        3)
            code=3
            if [ "$partial" = no ] && [ -e "$results/$paper.json" ]; then
                echo "results: commands of $paper left no record: $results/$paper.json stays as it is. Do what they ask for and run the same" \
                    "again, which goes on from here; or add --partial to keep what there is ($site/$paper.json)" >&2
                continue
            fi
            ;;
        *) echo "results: $paper ended with $one after $((SECONDS - start)) s; run the same again to go on where it stopped" >&2; exit 1 ;;
    esac
    keep "$paper" "$((SECONDS - start))"
    report "$paper"
    echo "results: $paper took $((SECONDS - start)) s" >&2
done
echo "results: $results; README.md there says what they come to" >&2
exit "$code"
