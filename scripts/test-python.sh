#!/usr/bin/env bash
# Form, types and tests of the Python package, on a program that was built.
#
# Usage: scripts/test-python.sh PROGRAM [MARK]
#
# PROGRAM is the program to call. MARK is what tests are marked with: `not ray` by default; `ray` are those that start a cluster, for which
# the package ray is installed. The environment is kept below target/. Its last line is `N passed, M failed, K skipped`.
#
# Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage.
set -uo pipefail
[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: scripts/test-python.sh PROGRAM [MARK]" >&2; exit 2; }
program=$(realpath "$1") mark=${2:-not ray}
cd "$(dirname "${BASH_SOURCE[0]}")/../python" || exit 1
venv=${CARGO_TARGET_DIR:-$(realpath ..)/target}/python-tests
export SWITCHCOST_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1

# Once for each list of packages.
installed() {
    local wanted="$venv/wanted"
    [ -f "$wanted" ] && cmp -s "$wanted" tests/requirements.txt && { [ "$mark" != ray ] || [ -f "$venv/has-ray" ]; } && return
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --requirement tests/requirements.txt || return 1
    if [ "$mark" = ray ]; then "$venv/bin/pip" install --quiet ray && touch "$venv/has-ray" || return 1; fi
    cp tests/requirements.txt "$wanted"
}

failed=0 passed=0
check() {
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $what"; fi
}

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
    echo 'skipped: found no Python of 3.11 or newer'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
if ! installed > /dev/null; then
    echo "skipped: the packages of python/tests/requirements.txt cannot be installed"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
export PATH="$venv/bin:$PATH"
check 'ruff check' ruff check --quiet --no-cache .
check 'ruff format' ruff format --quiet --no-cache --check .
check 'mypy' mypy --no-error-summary --cache-dir "$venv/mypy"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
pytest -p no:cacheprovider -rs -m "$mark" | sed 's/^SKIPPED \[[0-9]*\] /skipped: /' | tee "$report"
last=$(tail -n 1 "$report")
count() { local found; found=$(grep -oE "[0-9]+ $1" <<< "$last") && echo "${found% *}" || echo 0; }
passed=$((passed + $(count passed))) failed=$((failed + $(count failed) + $(count error)))
[ "$(count passed)" -gt 0 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed, $(count skipped) skipped"
[ $failed -eq 0 ]
