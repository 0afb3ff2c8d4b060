"""What is done on each host: a check-up, and a measurement."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _running
from ..errors import StoreError

#: An unfit machine is a result, too.
_UNFIT = 4


@dataclass(frozen=True)
class Found:
    """What a host gave: its check-up as JSON, and its record."""

    check_up: bytes
    record: bytes


def look(measure: Sequence[str], watch: Callable[[int], None] | None = None) -> Found:
    """Checks this host, and then measures it."""
    check_up = _running.ended(["doctor", "--format=json"], dies_with_us=True)
    if check_up.code != _UNFIT:
        _running.finished(check_up)
    with tempfile.TemporaryDirectory(prefix="switchcost-") as folder:
        record = Path(folder) / "record.jsonl"
        _running.run(["measure", *measure, f"--record={record}", "--format=json"], watch=watch, dies_with_us=True)
        return Found(check_up.output, record.read_bytes())


def keep(found: Found, name: str, folder: Path) -> Path:
    """Puts both into the folder of records, the record last: where it is, the host is done."""
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
    """The same as lines for a shell on each host, for whatever runs commands on many."""
    import shlex  # noqa: PLC0415

    place = f'{shlex.quote(str(folder))}/"$(uname -n)"'
    return [
        f"switchcost doctor --format=json --output={place}.doctor.json",
        f"{shlex.join(['switchcost', 'measure', *measure])} --record={place}.jsonl --output=/dev/null",
    ]
