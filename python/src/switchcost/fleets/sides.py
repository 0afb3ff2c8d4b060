"""Compares hosts with the program's `compare`, whose two sides are folders of records."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import _runs
from ..comparison import Comparison
from ..errors import OptionError
from .hosts import Host

#: Maximum number of hosts on a side, which are enough to show what the hosts have in common.
_MOST = 50
#: Highest confidence that the program accepts.
_MOST_CONFIDENCE = 0.999_999


@contextlib.contextmanager
def sides(base: Sequence[Host], new: Sequence[Host]) -> Iterator[tuple[Path, Path]]:
    """Yields a path for each side: a folder with records of at most 50 hosts, or the record if there is only one."""
    with tempfile.TemporaryDirectory(prefix="switchcost-fleet-") as folder:
        yield _side(base, Path(folder) / "base"), _side(new, Path(folder) / "new")


def compared(base: Sequence[Host], new: Sequence[Host], confidence: float) -> Comparison:
    """Returns the program's comparison of two sides."""
    if confidence > _MOST_CONFIDENCE:
        raise OptionError("found more comparisons than a confidence can be shared out to; gather fewer hosts at a time", 2, ())
    with sides(base, new) as (old_side, new_side):
        return _runs.compare(old_side, new_side, [f"--confidence={confidence * 100:.6f}%"], progress=False)


def _side(hosts: Sequence[Host], folder: Path) -> Path:
    step = -(-len(hosts) // _MOST)
    records = [record.path.resolve() for host in hosts[::step] for record in host.records]
    if len(records) == 1:
        return records[0]
    folder.mkdir()
    for number, record in enumerate(records):
        (folder / f"{number:06}.jsonl").symlink_to(record)
    return folder
