"""A comparison of records, with a verdict for each number: slower, faster, or no difference shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ._figure import Bar, svg
from ._report import Report, number
from ._version import VERSION


@dataclass(frozen=True, slots=True)
class Pair:
    """A number that both sides have. `about` has the conditions of a case, or design, kind and name."""

    about: dict[str, Any]
    quantity: str
    unit: str
    outcome: str
    verdict: str | None
    ratio: float | None
    low: float | None
    high: float | None
    why: str | None


_NUMBERS = {"quantity", "unit", "outcome", "verdict", "ratio", "low", "high", "why", "base", "new"}
_NUMBERS |= {"is_suspect", "suspect_records"}


class Comparison(Report):
    """The report of `compare`. `path` is the path of the new side."""

    schemas: ClassVar = ("switchcost.compare/1",)

    def __init__(
        self, words: Sequence[str], path: str | os.PathLike[str], report: dict[str, Any] | None = None, *, exit_code: int = 0
    ) -> None:
        super().__init__(path, report, exit_code=exit_code)
        self._words = list(words)

    @property
    def program_version(self) -> str:
        """The version of the program that compares."""
        return VERSION

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The compared numbers, each with its ratio, interval and verdict."""
        return tuple(_pair(pair) for pair in self.json["pairs"])

    @property
    def slower_than_allowed(self) -> int | None:
        """The number of costs that grew by more than `fail_above`; None without this option."""
        found: int | None = self.json["slower_than_allowed"]
        return found

    def _again(self) -> list[str]:
        return self._words

    def _summary(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        names = ("of", "quantity", "ratio", "verdict")
        return f"Compared: {' '.join(self._words[1:])}", names, [_row(pair) for pair in self.pairs]

    def _figure(self) -> str:
        pairs = [(f"{_row(pair)[0]} {pair.quantity}", pair) for pair in self.pairs]
        bars = [
            Bar(name, pair.low, pair.high, pair.ratio) for name, pair in pairs if pair.low is not None and pair.high is not None
        ]
        return svg("of the base", bars, origin=1.0)


def _pair(pair: dict[str, Any]) -> Pair:
    fields = {name: pair.get(name) for name in ("verdict", "ratio", "low", "high", "why")}
    about = {name: value for name, value in pair.items() if name not in _NUMBERS}
    return Pair(about=about, quantity=pair["quantity"], unit=pair["unit"], outcome=pair["outcome"], **fields)


def _row(pair: Pair) -> list[str]:
    about = " ".join(str(value) for value in pair.about.values() if value not in (None, [], ""))
    ratio = f"{number(pair.ratio)} [{number(pair.low)}, {number(pair.high)}]"
    return [about, pair.quantity, ratio, pair.verdict or pair.outcome]
