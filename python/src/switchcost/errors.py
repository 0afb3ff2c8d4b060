"""Exceptions, each with a sentence that helps.

Every exception of this package is a `SwitchcostError`. Errors of the program keep the program's own words.
"""

from __future__ import annotations


class SwitchcostError(Exception):
    """Base class of all errors of this package."""


class ProgramError(SwitchcostError):
    """The program `switchcost` is missing, cannot be started here, or has another version."""


class CommandError(SwitchcostError):
    """The program ended with an error. `code` is its exit code, `command` its command line."""

    def __init__(self, message: str, code: int, command: tuple[str, ...]) -> None:
        super().__init__(message)
        self.code = code
        self.command = command

    def __reduce__(self) -> tuple[type[CommandError], tuple[str, int, tuple[str, ...]]]:
        return type(self), (str(self), self.code, self.command)


class OptionError(CommandError, ValueError):
    """An option has a value that the program refuses, or names something that does not exist here."""


class RecordError(CommandError):
    """A record or trace cannot be read, or is damaged."""


class FormatError(SwitchcostError):
    """The program's output has a form or version that this package does not read."""


class PythonError(SwitchcostError, ImportError):
    """This Python is too old."""


#: For an optional package, the extra of this package that installs it.
_EXTRAS = {"pyarrow": "arrow", "fsspec": "fsspec", "pandas": "pandas", "polars": "polars", "ray": "ray"}


class MissingPackageError(SwitchcostError, ImportError):
    """An optional package is needed for this."""

    def __init__(self, package: str) -> None:
        wanted = f"'switchcost[{_EXTRAS[package]}]'" if package in _EXTRAS else package
        super().__init__(f"this needs the package {package}: pip install {wanted}")
        self._package = package

    def __reduce__(self) -> tuple[type[MissingPackageError], tuple[str]]:
        return type(self), (self._package,)


class PlanError(SwitchcostError, ValueError):
    """A plan, or its store or folder, cannot be used: an unknown word, a wrong value, or a missing file."""


class ClusterError(SwitchcostError, ConnectionError):
    """The cluster cannot be reached, or a task failed on it."""


class StoreError(SwitchcostError, OSError):
    """A folder or object store is full, or cannot be read or written."""
