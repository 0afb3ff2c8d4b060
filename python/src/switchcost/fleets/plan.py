"""The plan of a fleet's measurement: a TOML file with the words of `measure`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._options import words
from .._plan import check_words, table_of, text, within
from .._verbs import _MEASURE
from ..errors import OptionError, PlanError

#: Options of `measure` that a plan cannot have: places of records, which would mix up hosts, and what would disturb.
_LEFT_OUT = ("record", "redact", "noise", "confidence")
MEASURED = {name: form for name, form in _MEASURE.items() if name not in _LEFT_OUT}
_WORDS = ("records", "confidence", *(name.replace("_", "-") for name in MEASURED))


@dataclass(frozen=True)
class Plan:
    """The measurement for each host, and the folder for the records."""

    records: str
    measure: tuple[str, ...]
    #: Confidence in all comparisons together.
    confidence: float = 0.9

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Reads a TOML file. Its folder of records is relative to the folder of the file."""
        return cls.of(*table_of(path))

    @classmethod
    def of(cls, table: Mapping[str, Any], origin: str, folder: Path | None = None) -> Plan:
        """Returns the plan with the words of a table. `origin` names the table in errors."""
        check_words(table, _WORDS, origin)
        values = {word.replace("-", "_"): _checked(value, word, origin) for word, value in table.items()}
        try:
            measured = words(MEASURED, values)
        except OptionError as error:
            raise PlanError(f"{error} in {origin}") from None
        return cls(
            records=within(text(table, "records", origin), folder),
            measure=tuple(measured),
            confidence=confidence(table.get("confidence", "90%")),
        )


def _checked(value: object, word: str, origin: str) -> object:
    form = MEASURED.get(word.replace("-", "_"))
    if form is not None and (form == "flag") != isinstance(value, bool):
        raise PlanError(f"{value!r} for {word} in {origin} is not {'true or false' if form == 'flag' else 'a value'}")
    return value


def confidence(said: object) -> float:
    """Returns a percentage from 50% to 99.9% as a fraction."""
    try:
        share = float(str(said).strip().removesuffix("%")) / 100 if str(said).strip().endswith("%") else 0.0
    except ValueError:
        share = 0.0
    if not 0.5 <= share <= 0.999:
        raise PlanError(f"{said!r} for confidence is not a number from 50 to 99.9 with a % sign; write a percentage such as 90%")
    return share
