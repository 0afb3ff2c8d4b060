"""A summary of a trace. Only the program reads the trace itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from . import _tables
from ._options import path_argument
from ._report import Report
from .errors import SwitchcostError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


class Trace(Report):
    """A trace, with the summary of `trace info`."""

    schemas: ClassVar = ("switchcost.trace-info/1",)

    @property
    def program_version(self) -> str:
        """The version of the program that made the trace."""
        return str(self.json["header"]["program_version"])

    @property
    def instructions(self) -> int:
        """The number of instructions."""
        return int(self.json["instructions"])

    @property
    def loads(self) -> int:
        """The number of data references that read."""
        return int(self.json["loads"])

    @property
    def stores(self) -> int:
        """The number of data references that write."""
        return int(self.json["stores"])

    @property
    def size_bytes(self) -> int:
        """The size of the file in bytes."""
        return int(self.json["bytes"])

    @property
    def switches(self) -> tuple[dict[str, Any], ...]:
        """Numbers of switches by cause: `cause`, `is_voluntary`, `switches`."""
        return tuple(self.json["switches"])

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Returns a row for each process: `process`, `name`, `tasks`, `instructions`, `references`."""
        table: pa.Table = _tables.package("pyarrow").Table.from_pylist(self.json["processes"])
        return table if columns is None else table.select(list(columns))

    def save_page(self, path: str | os.PathLike[str]) -> Path:
        """Always raises SwitchcostError, because only a simulation of a trace has a page."""
        raise SwitchcostError(f"{self.path} is a trace, which has no page ({path}); simulate it, or use trace info")

    def _again(self) -> list[str]:
        return ["trace", "info", path_argument(self.path)]

    def _summary(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        rows = [[row["name"], str(row["instructions"]), str(row["references"])] for row in self.json["processes"]]
        return f"Trace {self.path.name}: {self.instructions} instructions", ("name", "instructions", "references"), rows
