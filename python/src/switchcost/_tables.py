"""Reads the program's CSV as tables. Arrow is loaded at the first use."""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import FormatError, MissingPackageError, OptionError

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS = ("_bytes", "_n", "_samples", "_switches", "_instructions", "_refs")
_INTEGER_NAMES = {
    "tasks",
    "n",
    "segments",
    "interval",
    "process",
    "process_inside",
    "switches",
    "involuntary",
    "instructions",
    "line",
}
_TEXTS = {
    "status", "why", "flags", "sanity_source", "name", "control_group", "row", "design", "kind", "cause", "cost_why", "quantity",
    "unit", "outcome", "verdict", "across", "base_design", "new_design", "order", "level", "indirect_unknown_because",
}  # fmt: skip
_BOOLEANS = ("is_",)


def package(name: str) -> Any:
    """Imports an optional package. Raises MissingPackageError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and not name.startswith(error.name):
            raise
        raise MissingPackageError(name.partition(".")[0]) from None


def from_csv(text: bytes) -> pa.Table:
    """Returns the program's CSV as a table. The type of a column depends on its name only; an unknown value is null."""
    arrow, csv = package("pyarrow"), package("pyarrow.csv")
    head, _, _ = text.partition(b"\n")
    names = head.decode().rstrip("\r").split(",")
    conditions = _conditions(names)
    types = {name: _type(arrow, name, name in conditions) for name in names}
    options = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    # Texts in cells may have line breaks.
    parsing = csv.ParseOptions(newlines_in_values=True)
    try:
        table: pa.Table = csv.read_csv(io.BytesIO(text), parse_options=parsing, convert_options=options)
    except arrow.ArrowInvalid as error:
        raise FormatError(f"the program's CSV is not as expected ({error}); upgrade program and package together") from None
    return table


def assert_known(columns: Sequence[str], names: Sequence[str]) -> None:
    """Raises OptionError for a column that does not exist."""
    for column in columns:
        if column not in names:
            raise OptionError(f"there is no column {column!r}; use one of {', '.join(names)}", 2, ())


def _conditions(names: Sequence[str]) -> Sequence[str]:
    """Returns the columns with the conditions of a case, which are first in CSV of `measure`; otherwise none."""
    end = next((place for place, name in enumerate(names) if name in ("status", "quantity")), 0)
    return names[:end] if names[0] == "mechanism" else ()


def _type(arrow: Any, name: str, is_condition: bool) -> Any:
    if name in _TEXTS:
        return arrow.string()
    if name.startswith(_BOOLEANS):
        return arrow.bool_()
    if name in _INTEGER_NAMES or (name.endswith(_INTEGERS) and not name.endswith("median_instructions")):
        return arrow.int64()
    return arrow.string() if is_condition else arrow.float64()
