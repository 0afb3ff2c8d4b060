"""`python -m switchcost` runs the program."""

import os
import sys

from ._program import cannot_start, find_program
from .errors import ProgramError


def main() -> None:
    """Replaces this process by the program, with the same arguments."""
    try:
        path = find_program()
        try:
            os.execv(path, [path, *sys.argv[1:]])
        except OSError as error:
            raise cannot_start(path, error) from None
    except ProgramError as error:
        sys.exit(f"switchcost: {error}")


if __name__ == "__main__":
    main()
