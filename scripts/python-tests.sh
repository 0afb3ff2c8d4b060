#!/usr/bin/env bash
# Checks the types and the form of the Python package, and runs its tests on a program, in an environment of its own below the target
# folder. What the tests say is printed as Rust's test programs do, so that scripts/test.sh counts them with these.
#
# Usage: scripts/python-tests.sh --set-up | PROGRAM [ARGUMENT-OF-PYTEST...]
#   --set-up  only makes the environment, or says on the last line why it cannot be had
#
# Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage, 3 the environment cannot be had here.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../python" || exit 1

[ $# -ge 1 ] || { echo "usage: scripts/python-tests.sh --set-up | PROGRAM [ARGUMENT-OF-PYTEST...]" >&2; exit 2; }
target=$(cd .. && mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
tools=$target/python

set_up() {
    [ ! -e "$tools/is-ready" ] || return 0
    python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || {
        echo 'found no python3 of 3.11 or newer with venv; scripts/setup.sh test installs it'
        exit 3
    }
    python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check pyarrow pandas polars tqdm pytest mypy \
        pyarrow-stubs ruff >&2 || { echo 'the packages of the tests cannot be downloaded'; exit 3; }
    touch "$tools/is-ready"
}

set_up
[ "$1" != --set-up ] || exit 0
SWITCHCOST_PROGRAM=$1
export SWITCHCOST_PROGRAM
shift

# Each as one test: what is wrong is shown before.
check() {
    local what=$1
    shift
    if "$@"; then echo "test $what ... ok"; else echo "test $what ... FAILED"; fi
}

said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
echo 'running Python tests'
check types "$tools/bin/mypy" --config-file mypy.ini --cache-dir "$said/mypy"
check form "$tools/bin/ruff" check --no-cache .
"$tools/bin/pytest" -p no:cacheprovider --junitxml "$said/junit.xml" "$@"
"$tools/bin/python" - "$said/junit.xml" << 'END'
import sys
import xml.etree.ElementTree as xml

cases = list(xml.parse(sys.argv[1]).iter("testcase"))
failed = skipped = 0
for case in cases:
    name = f"{case.get('classname')}::{case.get('name')}"
    if case.find("failure") is not None or case.find("error") is not None:
        failed += 1
        print(f"test {name} ... FAILED")
    elif (skip := case.find("skipped")) is not None:
        skipped += 1
        print(f"test {name} ... ignored, {skip.get('message')}")
# With the two of form and types.
print(f"test result: all. {len(cases) + 2 - failed - skipped} passed; {failed} failed; {skipped} ignored;")
sys.exit(failed > 0)
END
