"""Evaluates the records of a fleet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _tables
from .hosts import Host, Lost, hosts_in
from .judged import Finding, judged

if TYPE_CHECKING:
    import pyarrow as pa


class Fleet:
    """The hosts of a fleet, and how they differ. Each verdict comes from the program's `compare`."""

    def __init__(self, hosts: Sequence[Host], lost: Sequence[Lost], confidence: float) -> None:
        #: Hosts with costs.
        self.hosts = tuple(host for host in hosts if host.disturbed is None)
        #: Hosts whose measurement was disturbed. They are in no comparison.
        self.disturbed = tuple(host for host in hosts if host.disturbed is not None)
        #: Hosts without a record.
        self.lost = tuple(lost)
        self.confidence = confidence
        #: All comparisons. Those that show a difference are first.
        self.findings = tuple(sorted(judged(self.hosts, confidence), key=lambda finding: not finding.different))

    @property
    def different(self) -> tuple[str, ...]:
        """Names of the hosts that differ. If only two hosts were compared with each other, both are named."""
        return tuple(
            dict.fromkeys(host.name for finding in self.findings if finding.different for host in finding.question.concerns)
        )

    def to_arrow(self) -> pa.Table:
        """Returns a table with a row for each cost of each comparison."""
        arrow = _tables.package("pyarrow")
        rows = [_row(finding, pair.about, pair) for finding in self.findings for pair in finding.pairs]
        table: pa.Table = arrow.Table.from_pylist(rows, schema=arrow.schema(_columns(arrow)))
        return table

    def save_page(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page, and a folder beside it with the program's page for each difference."""
        from .page import save  # noqa: PLC0415

        return save(self, Path(path))

    def __str__(self) -> str:
        from .prose import text  # noqa: PLC0415

        return text(self)

    def __repr__(self) -> str:
        return f"Fleet({len(self.hosts)} hosts, {len(self.different)} different, {len(self.disturbed)} disturbed)"


def gather(folder: str | os.PathLike[str], *, confidence: float = 0.9, lost: Sequence[Lost] = ()) -> Fleet:
    """Compares the hosts whose records are in a folder: HOST.jsonl, or several records of a host in HOST/.

    Args:
        folder: The folder. A check-up of `doctor --format json` may be beside a record, as HOST.doctor.json.
        confidence: The confidence in all comparisons together.
        lost: Hosts that are known to have no record.
    """
    hosts, unread = hosts_in(Path(folder))
    return Fleet(hosts, [*unread, *lost], confidence)


def _columns(arrow: Any) -> list[tuple[str, Any]]:
    texts = ("hosts", "others", "mechanism", "between", "quantity", "unit", "verdict", "facts")
    numbers = ("ratio", "low", "high")
    whole = ("tasks", "size_bytes")
    return [
        *((name, arrow.string()) for name in texts),
        *((name, arrow.int64()) for name in whole),
        *((name, arrow.float64()) for name in numbers),
    ]


def _row(finding: Finding, about: dict[str, Any], pair: Any) -> dict[str, Any]:
    question = finding.question
    return {
        "hosts": " ".join(host.name for host in question.hosts),
        "others": " ".join(host.name for host in question.others),
        **{name: about.get(name) for name in ("mechanism", "between", "tasks", "size_bytes")},
        "quantity": pair.quantity,
        "unit": pair.unit,
        "verdict": pair.verdict or pair.outcome,
        "facts": "; ".join(f"{fact.what}: {' or '.join(fact.theirs)}" for fact in finding.facts),
        "ratio": pair.ratio,
        "low": pair.low,
        "high": pair.high,
    }
