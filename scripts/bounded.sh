#!/usr/bin/env bash
# Runs a test program. If the program does not end in time, shows what its processes wait for, and
# kills them.
#
# Usage: scripts/bounded.sh SECONDS PROGRAM [ARGUMENT...]
set -u
limit=$1
shift

# Describes a process and its descendants, by what /proc says, and adds their IDs to `found`.
describe() {
    local children child
    found+=("$1")
    printf '%s%s: %s, waits in %s\n' "$2" "$1" "$(tr '\0' ' ' < "/proc/$1/cmdline")" "$(cat /proc/"$1"/task/*/wchan | tr '\0' ' ')"
    grep -E '^(State|SigBlk|SigIgn|.*ctxt_switches)' "/proc/$1/status" | sed "s/^/$2  /"
    children=$(cat /proc/"$1"/task/*/children)
    for child in $children; do describe "$child" "$2    "; done
}

watch() {
    local end=$((SECONDS + limit))
    while kill -0 "$1"; do
        if [ $SECONDS -ge $end ]; then
            printf 'still running after %s s:\n' "$limit" >&3
            found=()
            describe "$1" '' >&3
            # All are killed: a remaining one would keep the output open for its reader.
            kill -KILL "${found[@]}"
        fi
        sleep 1
    done
}

# The subshell starts the watcher in the background and exits, so that the watcher is no child of
# the program. exec keeps the process ID, so that signals reach the program.
( watch $$ 3>&2 > /dev/null 2>&1 & )
exec "$@"
