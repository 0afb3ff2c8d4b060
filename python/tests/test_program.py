"""Tests that the program is found in every layout, and that another file in its place is refused."""

from __future__ import annotations

import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import switchcost
from switchcost import _program
from switchcost.errors import ProgramError

SOURCE = str(Path(switchcost.__file__).parent.parent)


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes all places empty, so that a test can put a program into one of them."""
    monkeypatch.delenv(_program.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sysconfig, "get_path", lambda _name, scheme="none", **_: str(tmp_path / scheme))
    monkeypatch.setattr(sysconfig, "get_preferred_scheme", lambda _kind: "user")
    monkeypatch.setattr(_program, "__file__", str(tmp_path / "lib/python3.13/site-packages/switchcost/_program.py"))
    return tmp_path


@pytest.mark.parametrize("place", ["none", "user", "bin", "lib/python3.13/site-packages/bin", "path"])
def test_the_program_is_found_in_every_layout(nowhere: Path, place: str) -> None:
    there = script(nowhere / place / "switchcost", "#!/bin/sh\n")
    assert switchcost.find_program() == str(there)


def test_the_environments_own_comes_before_that_in_the_path(nowhere: Path) -> None:
    script(nowhere / "path" / "switchcost", "#!/bin/sh\n")
    own = script(nowhere / "none" / "switchcost", "#!/bin/sh\n")
    assert switchcost.find_program() == str(own)


def test_a_missing_program_says_what_to_install(nowhere: Path) -> None:
    with pytest.raises(
        ProgramError, match="is not installed beside this package, nor in PATH; for .* install it with 'pip install"
    ):
        switchcost.find_program()


def test_a_named_program_that_is_none_is_not_passed_over(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(nowhere / "path" / "switchcost", "#!/bin/sh\n")
    monkeypatch.setenv(_program.VARIABLE, str(nowhere))
    with pytest.raises(ProgramError, match="SWITCHCOST_PROGRAM names .*, which is no program"):
        switchcost.find_program()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("#!/bin/sh\necho switchcost 9.9.9\n", "is version 9.9.9, this package is .*; install both together"),
        ("#!/bin/sh\necho other 1.0\n", "is not the program switchcost"),
        ("#!/bin/sh\nexit 1\n", "is not the program switchcost"),
        ("#!/no/such/loader\n", r"cannot be started here \(No such file or directory\): it may be for another platform"),
        ("\x7fELF\x02 for another machine", r"cannot be started here \(Exec format error\): it may be for another platform"),
    ],
)
def test_another_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str) -> None:
    monkeypatch.setenv(_program.VARIABLE, str(script(tmp_path / "switchcost", text)))
    with pytest.raises(ProgramError, match=sentence) as refused:
        switchcost.read(__file__)
    assert not isinstance(refused.value.__cause__, OSError)


def test_another_python_is_refused_before_it_meets_what_it_does_not_know() -> None:
    code = "import sys; sys.version_info = (3, 10, 4); sys.version = '3.10.4 (main)'; import switchcost"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment(), check=False)
    assert ran.stderr.splitlines()[-1].endswith(
        "PythonError: switchcost needs Python 3.11 or newer, and this is 3.10.4; use another python3"
    )


def test_the_version_is_that_of_the_program() -> None:
    assert _program.version_of(switchcost.find_program()) == switchcost.__version__


def test_the_module_is_the_program() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "switchcost", "--version"], capture_output=True, text=True, env=_environment(), check=True
    )
    assert ran.stdout == f"switchcost {switchcost.__version__}\n"


def test_the_import_is_short_and_loads_no_arrow() -> None:
    code = (
        "import sys, time; start = time.process_time(); import switchcost; took = time.process_time() - start\n"
        "heavy = {'pyarrow', 'numpy', 'pandas', 'polars', 'ray', 'tqdm', 'pytest'} & set(sys.modules)\n"
        "assert not heavy, heavy\nassert took < 0.3, took"
    )
    subprocess.run([sys.executable, "-c", code], env=_environment(), check=True)


def _environment() -> dict[str, str]:
    import os  # noqa: PLC0415

    return {**os.environ, "PYTHONPATH": SOURCE}


def test_two_threads_find_the_program_at_once(tmp_path: Path) -> None:
    there = script(tmp_path / "switchcost", "#!/bin/sh\n")
    # Only the first call of sysconfig in a process can race, so each attempt is a new process.
    text = (
        "import threading, switchcost\n"
        "both, found = threading.Barrier(2), []\n"
        "def find():\n    both.wait()\n    found.append(switchcost.find_program())\n"
        "threads = [threading.Thread(target=find) for _ in range(2)]\n"
        "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\n"
        "print(*found)\n"
    )
    environment = {"PATH": str(tmp_path), "PYTHONPATH": SOURCE}
    for _ in range(5):
        ran = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
        assert ran.stdout.split() == [str(there)] * 2, ran.stderr
