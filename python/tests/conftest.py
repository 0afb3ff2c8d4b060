"""Fixtures: the program under test, and records that it makes once per session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import switchcost
from switchcost import _program

pytest_plugins = ["pytester"]
PROGRAM = Path(__file__).parents[2] / "target" / "release" / "switchcost"
ATTEMPTS = 5


@pytest.fixture(scope="session", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sets a state folder for the session, and the program of this checkout if none is named."""
    folder = tmp_path_factory.mktemp("switchcost")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        if _program.VARIABLE not in os.environ:
            patch.setenv(_program.VARIABLE, str(PROGRAM))
        yield folder


@pytest.fixture(scope="session")
def measurement(place: Path) -> switchcost.Measurement:
    """Measures fibers, which need no kernel and take half a second. Repeats this if other tasks disturb it."""
    for number in range(ATTEMPTS):
        found = switchcost.measure(
            mechanism="fiber",
            tasks=[2, 3],
            quick=True,
            max_repetitions=5,
            budget="1s",
            no_counters=True,
            record=place / f"fiber-{number}.jsonl",
        )
        if all(result.status != "not-measured" for result in found.results):
            return found
    pytest.skip(f"other tasks disturbed each of {ATTEMPTS} measurements")


@pytest.fixture(scope="session")
def trace(place: Path) -> Path:
    """A trace of two tasks that walk 4 KiB in turn."""
    path = place / "walks.sct"
    _program_runs("trace", "walks", "--size", "4KiB", "--turns", "20", "-o", str(path))
    return path


@pytest.fixture(scope="session")
def simulation(place: Path, trace: Path) -> switchcost.Simulation:
    return switchcost.simulate(trace, design=["mogul-1a", "mogul-2a"], record=place / "two.parquet")


def _program_runs(*words: str) -> None:
    from switchcost import _running  # noqa: PLC0415

    _running.run(words)
