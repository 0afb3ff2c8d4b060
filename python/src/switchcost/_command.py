"""How the commands of the package end."""

from __future__ import annotations

import sys
from collections.abc import Callable

from .errors import SwitchcostError


def say(name: str, sentence: str) -> None:
    """A line on standard error."""
    print(f"{name}: {sentence}", file=sys.stderr)


def end(name: str, do: Callable[[], int], kept: str) -> None:
    """Ends with the exit code of `do`; `kept` is what an interrupt leaves."""
    try:
        sys.exit(do())
    except SwitchcostError as error:
        say(name, str(error))
        sys.exit(2 if isinstance(error, ValueError) else 1)
    except KeyboardInterrupt:
        say(name, f"stopped; {kept}: the same command goes on")
        sys.exit(130)
