#!/usr/bin/env bash
# Checks lints, format and types of the Python package, and runs its tests with a given program, in
# a virtual environment in the target folder. Results are printed in the form of Rust's test
# programs, so that scripts/test.sh counts them, too.
#
# Usage: scripts/test-python.sh --set-up | PROGRAM [MARK]
#   --set-up  only makes the environment
#   PROGRAM   the program to call
#   MARK      pytest's -m: `not ray` by default; tests marked `ray` start a cluster or an object store, and
#             need more packages
#
# Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage, 3 the environment cannot be made
# here (the reason is the last line).
set -uo pipefail

usage() { echo "usage: scripts/test-python.sh --set-up | PROGRAM [MARK]" >&2; exit 2; }
case ${1:-} in
    --set-up) program='' ;;
    *) [ $# -ge 1 ] && [ -x "$1" ] || usage; program=$(realpath "$1") ;;
esac
mark=${2:-not ray}
cd "$(dirname "${BASH_SOURCE[0]}")/../python" || exit 1
venv=$(cd .. && mkdir -p "${CARGO_TARGET_DIR:-target}" && realpath "${CARGO_TARGET_DIR:-target}")/python-tests

# Installs the packages, again if their list has changed.
install() {
    cmp -s "$venv/wanted" tests/requirements.txt && { [ "$mark" != ray ] || [ -f "$venv/has-ray" ]; } && return
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement tests/requirements.txt || return 1
    if [ "$mark" = ray ]; then "$venv/bin/pip" install --quiet --disable-pip-version-check ray 'moto[server]' s3fs && touch "$venv/has-ray" || return 1; fi
    cp tests/requirements.txt "$venv/wanted"
}

python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || {
    echo 'found no python3 of 3.11 or newer with venv'
    exit 3
}
install >&2 || { echo 'the packages of python/tests/requirements.txt cannot be installed'; exit 3; }
[ -n "$program" ] || exit 0

export PATH="$venv/bin:$PATH" SWITCHCOST_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
failed=0 passed=0

# Runs a check as one test. The check prints its findings before the result.
check() {
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "test $what ... FAILED"; fi
}

echo 'running Python tests'
check form ruff check --quiet --no-cache .
check format ruff format --quiet --no-cache --check .
check types mypy --no-error-summary --cache-dir "$venv/mypy"
pytest -p no:cacheprovider -m "$mark" --junitxml "$said/junit.xml"
python - "$said/junit.xml" $passed $failed << 'END'
import sys
import xml.etree.ElementTree as xml

passed, failed = int(sys.argv[2]), int(sys.argv[3])
skipped = 0
for case in xml.parse(sys.argv[1]).iter("testcase"):
    name = f"{case.get('classname')}::{case.get('name')}"
    if case.find("failure") is not None or case.find("error") is not None:
        failed += 1
        print(f"test {name} ... FAILED")
    elif (skip := case.find("skipped")) is not None:
        skipped += 1
        print(f"test {name} ... ignored, {skip.get('message')}")
    else:
        passed += 1
print(f"test result: all. {passed} passed; {failed} failed; {skipped} ignored;")
sys.exit(failed > 0 or passed < 4)
END
