"""Reads a file into the object for its kind of record."""

from __future__ import annotations

import os
from typing import TypeAlias

from . import _running
from ._options import path_argument
from .errors import RecordError
from .measurement import Measurement
from .observation import Observation
from .simulation import Simulation
from .traces import Trace

Record: TypeAlias = "Measurement | Simulation | Observation | Trace"

_PARQUET = b"PAR1"
_TRACE = b"\x89SCT"
_KINDS: tuple[type[Measurement | Observation], ...] = (Measurement, Observation)


def read(path: str | os.PathLike[str]) -> Record:
    """Reads a record of `measure`, `simulate` or `observe`, or the summary of a trace.

    A record of a simulation is opened at its first use; the other records are read and checked at once.
    """
    start, end = _ends(os.fspath(path))
    if start == end == _PARQUET:
        return Simulation(path)
    if start == _TRACE:
        return _summarized(path)
    return _reported(path)


def _summarized(path: str | os.PathLike[str]) -> Trace:
    ran = _running.ended(["trace", "info", path_argument(path), "--format=json"])
    if not ran.output:
        _running.finished(ran)
    summary = ran.json(*Trace.schemas)
    if summary["loss"] is not None:
        raise RecordError(f"{os.fspath(path)}: {summary['loss']}", ran.code, ran.command)
    return Trace(path, summary)


def _reported(path: str | os.PathLike[str]) -> Measurement | Observation:
    schemas = tuple(schema for kind in _KINDS for schema in kind.schemas)
    # If the file is damaged or no record, this raises the program's own message.
    report = _running.run(["report", path_argument(path), "--format=json"]).json(*schemas)
    kind = next(kind for kind in _KINDS if report["schema"] in kind.schemas)
    return kind(path, report)


def _ends(path: str) -> tuple[bytes, bytes]:
    """Returns the first and the last four bytes of a file."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            start = file.read(4)
            file.seek(max(4, file.seek(0, os.SEEK_END) - 4))
            return start, file.read(4)
    except OSError as error:
        sentence = f"{path} cannot be read ({error.strerror}); name a record of measure, simulate or observe, or a trace"
        raise RecordError(sentence, 5, ("read", path)) from None
