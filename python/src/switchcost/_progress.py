"""Shows the time of a run, if tqdm is installed, and stderr is a terminal or a notebook."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def shown(verb: str, is_wanted: bool) -> Iterator[Callable[[int], None] | None]:
    """Shows the time since the start. Yields a function that updates it; None if it is not shown."""
    bar = _bar(verb) if is_wanted and _has_reader() else None
    if bar is None:
        yield None
        return
    start = time.monotonic()
    with bar:
        yield lambda _pid: bar.update(round(time.monotonic() - start, 1) - bar.n)


def _has_reader() -> bool:
    """Whether stderr is a terminal, or this is a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def _bar(verb: str) -> Any:
    try:
        from tqdm.auto import tqdm  # noqa: PLC0415
    except ImportError:
        return None
    return tqdm(desc=f"switchcost {verb}", unit=" s", bar_format="{desc}: {elapsed}", leave=False)
