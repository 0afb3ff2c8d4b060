"""The plan of a sweep: a TOML file with the words of the command line."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._options import Form
from .._plan import check_words, table_of, text, within
from ..errors import PlanError
from .store import open_file_system

#: Options of `simulate` that a plan may have, with the form of each.
SIMULATED: dict[str, Form] = {
    "interval": "value",
    "in_full": "value",
    "kernel_touches": "flag",
    "user_only": "flag",
    "threads": "value",
}
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_LISTS = ("traces", "design", "vary")
_OWN = (*_LISTS, "store", "designs-a-task", "memory")
_WORDS = (*_OWN, *(name.replace("_", "-") for name in SIMULATED))


@dataclass(frozen=True)
class Plan:
    """The simulations of a sweep, and the store for the results."""

    traces: tuple[str, ...]
    design: tuple[str, ...]
    store: str
    vary: tuple[str, ...] = ()
    designs_a_task: int = 64
    memory_bytes: int = 2 << 30
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """The number of CPUs that a task uses."""
        return int(str(self.options["threads"]))

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Reads a TOML file. Paths in the file are relative to its folder."""
        return cls.of(*table_of(path))

    @classmethod
    def of(cls, table: Mapping[str, Any], origin: str, folder: Path | None = None) -> Plan:
        """Returns the plan with the words of a table. `origin` names the table in errors."""
        check_words(table, _WORDS, origin)
        texts = {word: _texts(table, word, origin) for word in _LISTS}
        for word in ("traces", "design"):
            _needed(texts[word], word, origin)
        traces = [found for pattern in texts["traces"] for found in _files(pattern, folder, origin)]
        return cls(
            traces=tuple(dict.fromkeys(traces)),
            design=tuple(_design(name, folder, origin) for name in texts["design"]),
            store=within(text(table, "store", origin), folder),
            vary=tuple(texts["vary"]),
            designs_a_task=_positive(table.get("designs-a-task", 64), "designs-a-task", origin),
            memory_bytes=_bytes(table.get("memory", "2GiB"), origin),
            options=_options(table, origin),
        )


def _needed(values: list[str], word: str, origin: str) -> None:
    if not values:
        raise PlanError(f"there is no {word} in {origin}; name one or more")


def _texts(table: Mapping[str, Any], word: str, origin: str) -> list[str]:
    value = table.get(word, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) and one for one in values):
        raise PlanError(f"{value!r} for {word} in {origin} is not a text or a list of texts")
    return list(values)


def _positive(value: object, word: str, origin: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PlanError(f"{value!r} for {word} in {origin} is not a whole number from 1 on")
    return value


def _bytes(value: object, origin: str) -> int:
    found = re.fullmatch(r"(\d+) ?([KMGT]iB|B)", value) if isinstance(value, str) else None
    return int(found[1]) * _UNITS[found[2]] if found else _positive(value, "memory", origin)


def _options(table: Mapping[str, Any], origin: str) -> dict[str, object]:
    options: dict[str, object] = {"threads": 1}
    for name, form in SIMULATED.items():
        word = name.replace("_", "-")
        if word in table:
            check = _interval if word == "interval" else _flag if form == "flag" else _positive
            options[name] = check(table[word], word, origin)
    return options


def _interval(value: object, word: str, origin: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]*(x[1-9][0-9]*)?", str(value)):
        raise PlanError(f"{value!r} for {word} in {origin} is not instructions, or instructions by intervals such as 10000x100")
    return str(value)


def _flag(value: object, word: str, origin: str) -> bool:
    if not isinstance(value, bool):
        raise PlanError(f"{value!r} for {word} in {origin} is not true or false")
    return value


def _files(pattern: str, folder: Path | None, origin: str) -> list[str]:
    path = within(pattern, folder)
    if "://" in path:
        return _remote_files(path, origin) if glob.has_magic(path) else [path]
    found = sorted(glob.glob(path)) if glob.has_magic(path) else [path]  # noqa: PTH207
    if not found or not Path(found[0]).is_file():
        raise PlanError(f"no file for the trace {pattern} of {origin}")
    return [str(Path(one).resolve()) for one in found]


def _remote_files(pattern: str, origin: str) -> list[str]:
    file_system = open_file_system(pattern)
    found = sorted(file_system.unstrip_protocol(path) for path in file_system.glob(pattern))
    if not found:
        raise PlanError(f"no file for the trace {pattern} of {origin}")
    return found


def _design(name: str, folder: Path | None, origin: str) -> str:
    if name == "host":
        raise PlanError(f"found the design host in {origin}, which is another on each machine; write it into a TOML file")
    return str(Path(within(name, folder)).resolve()) if name.endswith(".toml") else name
