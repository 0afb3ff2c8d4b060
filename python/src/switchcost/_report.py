"""Base class of all records: a report that the program makes, and tables."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from . import _running, _tables
from ._options import path_argument

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Report:
    """A record, and the program's report on it. All numbers are computed by the program."""

    schemas: ClassVar[tuple[str, ...]] = ()

    def __init__(self, path: str | os.PathLike[str], report: dict[str, Any] | None = None, *, exit_code: int = 0) -> None:
        self.path = Path(path)
        #: Exit code of the run that made the record: 3 means done with reservations. If that run executed a command, the
        #: command's exit code. 0 if the record was only read.
        self.exit_code = exit_code
        self._report = report

    @property
    def json(self) -> dict[str, Any]:
        """The whole report as the program writes it with `--format json`; its `schema` names the format."""
        if self._report is None:
            self._report = _running.run([*self._again(), "--format=json"]).json(*self.schemas)
        return self._report

    @property
    def schema(self) -> str:
        """The schema of `json`, with its version."""
        return str(self.json["schema"])

    @property
    def program_version(self) -> str:
        """The version of the program that made the record."""
        return str(self.json["program_version"])

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Returns the rows of the program's CSV, with all columns or only these.

        Names of columns include the unit. A value that is not known is null.
        """
        table = _tables.from_csv(_running.run([*self._again(), "--format=csv"]).output)
        if columns is None:
            return table
        _tables.assert_known(columns, table.column_names)
        return table.select(list(columns))

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Returns the table of `to_arrow` as a frame of pandas with types of Arrow: an unknown number stays unknown."""
        pandas = _tables.package("pandas")
        frame: pd.DataFrame = self.to_arrow(columns).to_pandas(types_mapper=pandas.ArrowDtype)
        return frame

    def to_polars(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Returns the table of `to_arrow` as a frame of Polars."""
        frame: pl.DataFrame = _tables.package("polars").from_arrow(self.to_arrow(columns))
        return frame

    def save_page(self, path: str | os.PathLike[str]) -> Path:
        """Writes the report as one page of HTML with its figures, for any browser, without a network."""
        _running.run([*self._again(), "--format=html", f"--output={os.fspath(path)}"])
        return Path(path)

    def _again(self) -> list[str]:
        """Returns the program's arguments that make the report again."""
        return ["report", path_argument(self.path)]

    def _summary(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        """Returns a title, names of columns, and rows of text with the main numbers."""
        return str(self.path), (), ()

    def _figure(self) -> str:
        """Returns the intervals of the main numbers as SVG; empty without intervals."""
        return ""

    def __str__(self) -> str:
        """Returns the main numbers as a table of text."""
        title, names, rows = self._summary()
        return "\n".join([title, *_aligned([names, *rows])])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _repr_html_(self) -> str:
        """Returns the main numbers as a table and as a figure, for notebooks. The page of `save_page` has all numbers."""
        return _table(*self._summary()) + self._figure()


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<p>{html.escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns a line for each row, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def number(value: float | None) -> str:
    """Returns a number with three digits, as the program shows it; "not known" for None."""
    return "not known" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
