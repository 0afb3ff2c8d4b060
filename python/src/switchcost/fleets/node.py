"""Checks and measures a host."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _running
from ..errors import StoreError

#: Exit code of `doctor` on an unfit machine, which is a result, not an error.
_UNFIT = 4


@dataclass(frozen=True)
class Found:
    """The results of a host: its check-up as JSON, and its record."""

    check_up: bytes
    record: bytes


def look(measure: Sequence[str], watch: Callable[[int], None] | None = None) -> Found:
    """Checks this host, then measures it, and returns both results."""
    check_up = _running.ended(["doctor", "--format=json"], dies_with_us=True)
    if check_up.code != _UNFIT:
        _running.finished(check_up)
    with tempfile.TemporaryDirectory(prefix="switchcost-") as folder:
        record = Path(folder) / "record.jsonl"
        _running.run(["measure", *measure, f"--record={record}", "--format=json"], watch=watch, dies_with_us=True)
        return Found(check_up.output, record.read_bytes())


def keep(found: Found, name: str, folder: Path) -> Path:
    """Writes both files into the folder of records. The record is last, because its presence means that the host is done."""
    record = folder / f"{name}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for content, path in ((found.check_up, folder / f"{name}.doctor.json"), (found.record, record)):
            being_written = path.with_name(f".{path.name}.part")
            being_written.write_bytes(content)
            being_written.replace(path)
    except OSError as error:
        raise StoreError(f"{folder} takes no records ({error.strerror}); free some space, or name another folder") from None
    return record


def commands(measure: Sequence[str], folder: Path) -> list[str]:
    """Returns the shell commands that check and measure a host, for tools that run commands on many hosts."""
    import shlex  # noqa: PLC0415

    place = f'{shlex.quote(str(folder))}/"$(uname -n)"'
    return [
        f"switchcost doctor --format=json --output={place}.doctor.json",
        f"{shlex.join(['switchcost', 'measure', *measure])} --record={place}.jsonl --output=/dev/null",
    ]
