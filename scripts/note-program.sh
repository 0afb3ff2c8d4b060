#!/usr/bin/env bash
# What cargo takes for the runner of test programs: notes how it would run one, in a folder of its own, for scripts/test.sh to run.
#
# Usage: scripts/note-program.sh FOLDER PROGRAM [ARGUMENT...]
set -euo pipefail
# Cargo runs one behind another.
folder=$1/$(printf %03d "$(ls "$1" | wc -l)")
shift
mkdir "$folder"
export -p > "$folder/environment"
printf '%s\0' "$PWD" "$@" > "$folder/command"
