"""Reads a folder of hosts' records: NAME.jsonl, or several in NAME/, each perhaps with a check-up."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._read import read
from ..errors import PlanError, SwitchcostError
from ..measurement import Measurement, Result

_RECORD, _CHECK_UP = ".jsonl", "doctor.json"
#: Flags of results and of runs that show a disturbance.
_OF_RESULTS = ("disturbed", "switch-count", "partly-disturbed", "beside-others")
_OF_RUNS = ("cut-off", "cut-line", "interrupted")


@dataclass(frozen=True)
class Host:
    """A host that was measured, once or several times."""

    name: str
    records: tuple[Measurement, ...]
    #: Why the records do not show the host's costs: a disturbance, or nothing was measured. None if they do.
    disturbed: str | None = None

    @property
    def clock_hertz(self) -> float | None:
        """The core's clock in Hz: the mean of the host's records; None if it is not known."""
        found = [core["hertz"] for record in self.records if (core := record.json["core"]) and core["hertz"]]
        return sum(found) / len(found) if found else None

    @property
    def times(self) -> dict[tuple[object, ...], tuple[str, float]]:
        """For each measured case of the first record, by its conditions: the name of the case, and its cost in ns."""
        found = [(result, result.total_ns or result.direct_ns) for result in self.records[0].results]
        return {_conditions(result): (name_of(result), time.estimate) for result, time in found if time is not None}

    @property
    def costs(self) -> list[float]:
        """Costs of the cases of the first record, in core cycles if known, otherwise in ns. They only serve to rank hosts."""
        found = [result.direct_cycles or result.total_ns or result.direct_ns for result in self.records[0].results]
        return [float("inf") if one is None else one.estimate for one in found]


@dataclass(frozen=True)
class Lost:
    """A host without a record that can be read, and why."""

    name: str
    why: str


def name_of(result: Result) -> str:
    """Returns the name of a case, as on the program's screen."""
    return case_name(result.mechanism, result.between, result.tasks, result.size_bytes)


def case_name(mechanism: object, between: object, tasks: object, size_bytes: object) -> str:
    """Returns the name of a case with these conditions. Usual conditions are left out."""
    size = f" {size_bytes} B" if size_bytes else ""
    return f"{mechanism} {between}{f' {tasks} tasks' if tasks not in (None, 2) else ''}{size}"


def _conditions(result: Result) -> tuple[object, ...]:
    names = ("mechanism", "between", "tasks", "size_bytes", "stride_bytes", "access", "pattern", "sharing", "pages", "policy")
    return (*(getattr(result, name) for name in names), result.away_bytes, result.relation)


def hosts_in(folder: Path) -> tuple[list[Host], list[Lost]]:
    """Returns the hosts of a folder by name, and the hosts whose records cannot be used."""
    files = _files(folder)
    if not files:
        raise PlanError(
            f"there is no {_RECORD} in {folder}; put a record of measure there for each host, such as {folder}/HOST{_RECORD}"
        )
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda one: _host(folder, *one), sorted(files.items())))
    hosts = [one for one in found if isinstance(one, Host)]
    _assert_told_apart(hosts)
    return hosts, [one for one in found if isinstance(one, Lost)]


def names_in(folder: Path) -> set[str]:
    """Returns the names of the hosts that have a record."""
    return set(_files(folder))


def _files(folder: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob(f"*{_RECORD}")):
        if not path.name.startswith("."):
            files.setdefault(path.relative_to(folder).parts[0].removesuffix(_RECORD), []).append(path)
    return files


def _host(folder: Path, name: str, paths: list[Path]) -> Host | Lost:
    try:
        records = [read(path) for path in paths]
        check_ups = [*folder.glob(f"{name}.{_CHECK_UP}"), *(folder / name).rglob(f"*{_CHECK_UP}")]
        unfit = [why for path in sorted(check_ups) for why in _unfit(path)]
    except SwitchcostError as error:
        return Lost(name, str(error))
    measured = tuple(record for record in records if isinstance(record, Measurement))
    if len(measured) < len(records):
        return Lost(name, "a record of it is none of measure")
    return Host(name, measured, next(iter([*unfit, *(why for record in measured for why in _disturbances(record))]), None))


def _disturbances(record: Measurement) -> list[str]:
    of_run = [flag["detail"] for flag in record.json["flags"] if flag["name"] in _OF_RUNS]
    of_results = [
        f"{result.mechanism} {result.between}: {result.flag_details.get(flag, flag)}"
        for result in record.results
        for flag in result.flags
        if flag in _OF_RESULTS
    ]
    nothing = [] if any(result.status != "not-measured" for result in record.results) else ["nothing was measured"]
    return [*of_run, *of_results, *nothing]


def _unfit(path: Path) -> list[str]:
    try:
        checks: list[dict[str, Any]] = json.loads(path.read_bytes())["checks"]
        return [f"unfit by its check-up: {one['name']}: {one['found']}" for one in checks if one["severity"] == "unfit"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{path} is no check-up of doctor ({error}); remove it, or check the host again") from None


def _assert_told_apart(hosts: list[Host]) -> None:
    """Raises PlanError if two hosts have records of one run, because these would agree to the last digit."""
    seen: dict[tuple[object, object], str] = {}
    for host in hosts:
        for record in host.records:
            run = (record.json["seed"], record.json["started_at"])
            other = seen.setdefault(run, host.name)
            if other != host.name:
                raise PlanError(f"the records of {other} and {host.name} are of one run; remove one of them")
