"""Runs a verb of the program, and returns its report and records as an object."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import _progress, _running
from ._options import Path, listed, path_argument, text
from .comparison import Comparison
from .errors import FormatError, OptionError
from .measurement import Measurement
from .observation import Observation
from .simulation import Simulation
from .traces import Trace

_JSON = "--format=json"


def measure(options: list[str], progress: bool) -> Measurement:
    """Runs `measure`."""
    ran = _running.finished(_ended(["measure", *options, _JSON], progress))
    return Measurement(_record(ran), ran.json(*Measurement.schemas), exit_code=ran.code)


def observe(command: Sequence[str], options: list[str], progress: bool) -> Observation:
    """Runs `observe` on a command, or on the processes that the options name."""
    ran = _reported(_ended(["observe", *options, _JSON, *_behind(command)], progress, passes_on=True))
    return Observation(_record(ran), ran.json(*Observation.schemas), exit_code=ran.code)


def simulate(traces: Path | Sequence[Path], command: Sequence[str], options: list[str], progress: bool) -> Simulation:
    """Runs `simulate` on traces, or on a running command."""
    files = [path_argument(text(trace)) for trace in listed(traces)]
    words = ["simulate", *options, *files, *_behind(command)]
    ran = _reported(_ended([*words[:1], _JSON, *words[1:]], progress, passes_on=bool(command)))
    report = ran.json(*Simulation.schemas)
    if report["schema"] in Simulation.without_record:
        return Simulation(files[0], report, words=words, exit_code=ran.code)
    return Simulation(_record(ran), report, ran.records, exit_code=ran.code)


def compare(base: Path, new: Path, options: list[str], progress: bool) -> Comparison:
    """Runs `compare`."""
    words = ["compare", *options, path_argument(base), path_argument(new)]
    ran = _running.finished(_ended([*words, _JSON], progress))
    return Comparison(words, new, ran.json(*Comparison.schemas), exit_code=ran.code)


def trace(command: Sequence[str], output: Path, options: list[str], progress: bool) -> Trace:
    """Runs `trace`, and returns the trace that it wrote."""
    was_there = os.path.lexists(output)
    ran = _ended(["trace", *options, f"--output={os.fspath(output)}", *_behind(command)], progress, passes_on=True)
    if was_there or not os.path.exists(output):  # noqa: PTH110
        _running.finished(ran)
    return Trace(output, exit_code=ran.code)


def _ended(words: list[str], progress: bool, *, passes_on: bool = False) -> _running.Finished:
    with _progress.shown(words[0], progress) as watch:
        return _running.ended(words, passes_on=passes_on, watch=watch)


def _reported(ran: _running.Finished) -> _running.Finished:
    """Returns a run that has a record and a report: its exit code is that of the observed command. Otherwise checks the code."""
    return ran if ran.records and ran.output else _running.finished(ran)


def _behind(command: Sequence[str]) -> list[str]:
    if isinstance(command, str):
        raise OptionError(f"the command {command!r} is not a list; write its words as a list, such as ['ls', '-l']", 2, ())
    return ["--", *command] if command else []


def _record(ran: _running.Finished) -> str:
    if not ran.records:
        raise FormatError(f"{' '.join(ran.command)} did not say where its record is; upgrade program and package together")
    return ran.records[-1]
