"""Runs one task. A task may be killed, or run several times, even at once: published files are complete and the same."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .. import _running, _tables
from ..errors import CommandError, StoreError
from .store import Store
from .task import Task

TRIES = 3
#: What the program says then, with either C library.
_NO_SPACE = ("No space left on device", "Disk quota exceeded", "Quota exceeded")
METADATA = b"switchcost.sweep"


@dataclass(frozen=True)
class Outcome:
    """The result of a task."""

    key: str
    state: Literal["done", "was-done", "failed"]
    command: str
    seconds: float = 0.0
    message: str = ""


def costs(task: Task) -> str:
    """Returns the name of a task's costs in the store. If this file exists, the task is done."""
    return f"costs/{task.part}/{task.key}.parquet"


def record(task: Task) -> str:
    """Returns the name of a task's record in the store."""
    return f"records/{task.part}/{task.key}.parquet"


def perform(task: Task, store: Store, watch: Callable[[int], None] | None = None) -> Outcome:
    """Runs a task that is not done. A failure in each of three attempts is returned; a full store raises StoreError."""
    if store.has(costs(task)):
        return Outcome(task.key, "was-done", task.command)
    message = ""
    for _ in range(TRIES):
        try:
            return Outcome(task.key, "done", task.command, _simulate(task, store, watch))
        except CommandError as error:
            message = str(error)
            if any(sign in message for sign in _NO_SPACE):
                raise StoreError(f"{store.address} takes no more ({message}); free some space: what is done is kept") from None
    return Outcome(task.key, "failed", task.command, message=message)


def _simulate(task: Task, store: Store, watch: Callable[[int], None] | None) -> float:
    start = time.monotonic()
    with store.workplace() as folder:
        kept, table = folder / "record.parquet", folder / "costs.csv"
        trace = store.local(task.trace, folder)
        _running.run(
            ["simulate", *task.words, f"--record={kept}", "--format=csv", f"--output={table}", trace],
            watch=watch,
            dies_with_us=True,
        )
        seconds = time.monotonic() - start
        with store.errors():
            _to_parquet(table, folder / "costs.parquet", {"command": task.command, "seconds": seconds, "designs": task.designs})
        store.publish(kept, record(task))
        store.publish(folder / "costs.parquet", costs(task))
    return seconds


def _to_parquet(source: Path, target: Path, about: dict[str, object]) -> None:
    """Writes the rows of totals as Parquet. The rows of curves are left out, because the record has more detail."""
    with source.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
        totals = "".join(_line(row) for row in [head, *(row for row in rows if row and row[0] == "total")])
    table = _tables.from_csv(totals.encode()).drop_columns(["row", "survivors", "interval", "since_switch_instructions"])
    table = table.replace_schema_metadata({METADATA: json.dumps(about).encode()})
    # Python writes the file, because Arrow's own writer would end the process on a full disk.
    content = _tables.package("pyarrow").BufferOutputStream()
    _tables.package("pyarrow.parquet").write_table(table, content)
    target.write_bytes(content.getvalue())


def _line(row: list[str]) -> str:
    return ",".join('"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in ',"\n') else cell for cell in row) + "\n"
