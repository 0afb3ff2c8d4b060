"""A simulation: the cost of each switch on simulated memory systems."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from . import _running, _tables
from ._figure import Bar, svg
from ._options import path_argument
from ._report import Report, number
from ._shape import several
from .errors import FormatError, SwitchcostError

if TYPE_CHECKING:
    import pyarrow as pa

_ONE = "switchcost.simulate/1"


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost with its interval. If `estimate` or the interval is None, `why` has the reason."""

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float | None
    n: int | None
    method: str | None
    why: str | None

    def __str__(self) -> str:
        return f"{number(self.estimate)} [{number(self.low)}, {number(self.high)}]"


@dataclass(frozen=True, slots=True)
class Switches:
    """Numbers of switches by kind."""

    voluntary: int
    involuntary: int


@dataclass(frozen=True, slots=True)
class Group:
    """The segments of a kind: `all`, of a `class` of switches, or of a `cause`."""

    kind: str
    name: str
    segments: int
    cost_cycles: Cost
    lost_cycles: Cost
    gained_cycles: Cost
    state_cycles: Cost
    excess_cycles: float | None


@dataclass(frozen=True, slots=True)
class Design:
    """The costs of switches on one memory system."""

    name: str
    depth: str
    cycle_ns: tuple[float, float] | None
    instructions: int
    data_refs: int
    switches: Switches
    average_cost_cycles: Cost
    lost_cycles: Cost
    gained_cycles: Cost
    state_cycles: Cost
    first_touch_cycles: float | None
    lost_percent: float | None
    overhead_percent: float | None
    excess_cycles: float | None
    excess_cycles_per_switch: float | None
    flushed_cycles_per_switch: float | None
    reload_bound_cycles: int
    groups: tuple[Group, ...]


class Simulation(Report):
    """One or several records of `simulate`. `records` has their paths; it is empty with at_once. `json` has all data."""

    #: Schemas of reports without a record.
    without_record: ClassVar = ("switchcost.simulate-at-once/1",)
    schemas: ClassVar = (_ONE, "switchcost.simulate-trials/1", "switchcost.simulate-orders/1", *without_record)

    def __init__(
        self,
        path: str | os.PathLike[str],
        report: dict[str, Any] | None = None,
        records: Sequence[str | os.PathLike[str]] = (),
        *,
        words: Sequence[str] = (),
        exit_code: int = 0,
    ) -> None:
        super().__init__(path, report, exit_code=exit_code)
        #: The program's arguments that make the report again, if there is no record (at_once).
        self._words = list(words)
        self.records = () if words else tuple(os.fspath(record) for record in records) or (os.fspath(path),)

    @property
    def designs(self) -> tuple[Design, ...]:
        """The designs. Raises SwitchcostError for several records (several traces or orders)."""
        if self.schema != _ONE:
            raise SwitchcostError(f"this is a report of several records ({self.schema}): see json, or read each of records")
        return several(Design, self.json["designs"])

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Returns the rows of the records: for each design, segment and interval, the cycles of each hierarchy.

        Files are read as Parquet, without the checks that the program makes. All columns of ten million rows take more than a
        gigabyte, so `columns` should name those that are needed.
        """
        if not self.records:
            return super().to_arrow(columns)
        tables = [_mapped(path, columns) for path in self.records]
        arrow = _tables.package("pyarrow")
        together: pa.Table = arrow.concat_tables(tables)
        return together.unify_dictionaries(memory_pool=_small_pages(arrow))

    def costs_to_arrow(self) -> pa.Table:
        """Returns the rows of the program's CSV: for each design and group of switches the costs, and the curves."""
        if len(self.records) > 1:
            raise SwitchcostError("this is a report of several records: read each of records")
        return super().to_arrow()

    def _again(self) -> list[str]:
        return self._words or ["report", *map(path_argument, self.records)]

    def _summary(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        if self.schema != _ONE:
            return f"{self.schema}: {len(self.records)} records", (), ()
        names = ("design", "switches", "average_cost_cycles", "lost_cycles", "overhead_percent")
        return f"Simulated switches, by {self.path.name}", names, [_row(design) for design in self.designs]

    def _figure(self) -> str:
        costs = [(design.name, design.average_cost_cycles) for design in self.designs] if self.schema == _ONE else []
        bars = [
            Bar(name, cost.low, cost.high, cost.estimate) for name, cost in costs if cost.low is not None and cost.high is not None
        ]
        return svg("cycles a switch", bars)


def _row(design: Design) -> list[str]:
    switches = design.switches.voluntary + design.switches.involuntary
    costs = [str(design.average_cost_cycles), str(design.lost_cycles), number(design.overhead_percent)]
    return [design.name, str(switches), *costs]


def _mapped(path: str, columns: Sequence[str] | None) -> pa.Table:
    arrow, dataset, files = (_tables.package(f"pyarrow{name}") for name in ("", ".dataset", ".fs"))
    place, system = str(Path(path).absolute()), files.LocalFileSystem(use_mmap=True)
    try:
        schema = dataset.ParquetFileFormat().inspect(place, system)
        _tables.assert_known(columns or (), schema.names)
        # Texts repeat. As dictionaries they take a twentieth of the time.
        texts = [column.name for column in schema if arrow.types.is_string(column.type)]
        file = dataset.dataset(place, format=dataset.ParquetFileFormat(dictionary_columns=texts), filesystem=system)
        table: pa.Table = file.to_table(columns=None if columns is None else list(columns), memory_pool=_small_pages(arrow))
    except (arrow.ArrowInvalid, OSError) as error:
        # If the record is damaged, this raises the program's own message.
        _running.run(["report", path_argument(path), "--format=json"])
        raise FormatError(f"pyarrow cannot read {path} ({error}); upgrade pyarrow") from None
    return table


def _small_pages(arrow: Any) -> pa.MemoryPool:
    """Returns a pool without huge pages, whose first touch takes several ms each in a virtual machine.

    jemalloc, if Arrow has it, reuses memory from decoding: a tenth fewer page faults than with the C library's pool.
    """
    pool: pa.MemoryPool = (
        arrow.jemalloc_memory_pool() if "jemalloc" in arrow.supported_memory_backends() else arrow.system_memory_pool()
    )
    return pool
