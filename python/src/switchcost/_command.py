"""Error messages and exit codes of the package's commands."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from .errors import SwitchcostError


def say(name: str, sentence: str) -> None:
    """Prints a line to standard error."""
    print(f"{name}: {sentence}", file=sys.stderr)


def end(name: str, do: Callable[[], int], kept: str) -> None:
    """Exits with the exit code of `do`, or with that of its error; `kept` says after Ctrl-C what is kept."""
    try:
        code = do()
        print(end="", flush=True)
        sys.exit(code)
    except SwitchcostError as error:
        say(name, str(error))
        sys.exit(2 if isinstance(error, ValueError) else 1)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC) or error.filename is not None:
            raise
        # At exit Python would write the rest of its buffer, and report an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            sys.exit(0)
        say(name, f"cannot print the result: {error.strerror}; free some space, or choose another place for it")
        sys.exit(1)
    except KeyboardInterrupt:
        say(name, f"stopped; {kept}: the same command goes on")
        sys.exit(130)
