#!/usr/bin/env bash
# Stands in for cargo's runner of test programs: instead of running a program, records its command
# and environment in a new subfolder of FOLDER. scripts/test.sh runs the programs later.
#
# Usage: scripts/note-program.sh FOLDER PROGRAM [ARGUMENT...]
set -euo pipefail
# The count is a safe name, because cargo runs programs one after another.
folder=$1/$(printf %03d "$(ls "$1" | wc -l)")
shift
mkdir "$folder"
export -p > "$folder/environment"
printf '%s\0' "$PWD" "$@" > "$folder/command"
