"""Reads plans: TOML files with words of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import PlanError


def table_of(path: str | Path) -> tuple[dict[str, Any], str, Path]:
    """Returns the table of a file, the file's name, and the folder to which its paths are relative."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{path} cannot be read ({error.strerror}); name a plan in TOML") from None
    except ValueError as error:
        raise PlanError(f"{path} is no TOML: {error}") from None
    return table, str(path), Path(path).resolve().parent


def check_words(found: Iterable[str], known: Sequence[str], origin: str) -> None:
    """Raises PlanError for a word that is not known, and suggests a similar word."""
    for word in found:
        if word not in known:
            import difflib  # noqa: PLC0415

            near = difflib.get_close_matches(word, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise PlanError(f"unknown {word!r} in {origin}; use one of {', '.join(known)}{hint}")


def text(table: Mapping[str, Any], word: str, origin: str) -> str:
    """Returns the text of a word. Raises PlanError if there is none."""
    value = table.get(word)
    if not isinstance(value, str) or not value:
        raise PlanError(f"{value!r} for {word} in {origin} is not a text" if word in table else f"there is no {word} in {origin}")
    return value


def within(path: str, folder: Path | None) -> str:
    """Returns a path of a plan, joined to the plan's folder. Addresses with a scheme are returned unchanged."""
    return path if "://" in path or folder is None else str(folder / path)
