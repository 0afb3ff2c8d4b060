"""What can go wrong, each with the sentence that helps.

Every exception of this package is a `SwitchcostError`; what the program itself refuses keeps the program's own words.
"""

from __future__ import annotations


class SwitchcostError(Exception):
    """Anything that this package could not do."""


class ProgramError(SwitchcostError):
    """The program `switchcost` is not there, cannot be started here, or is another version."""


class CommandError(SwitchcostError):
    """The program ended with an error; `code` is its exit code, `command` what was run."""

    def __init__(self, message: str, code: int, command: tuple[str, ...]) -> None:
        super().__init__(message)
        self.code = code
        self.command = command

    def __reduce__(self) -> tuple[type[CommandError], tuple[str, int, tuple[str, ...]]]:
        return type(self), (str(self), self.code, self.command)


class OptionError(CommandError, ValueError):
    """An option has a value that the program does not take, or asks for something that does not exist here."""


class RecordError(CommandError):
    """A record or trace cannot be read, or is damaged."""


class FormatError(SwitchcostError):
    """The program writes JSON of a version that this package does not read."""


class PythonError(SwitchcostError, ImportError):
    """This Python is too old."""


#: The extra of this package that installs another.
_EXTRAS = {"pyarrow": "arrow", "fsspec": "fsspec", "pandas": "pandas", "polars": "polars", "ray": "ray"}


class MissingPackageError(SwitchcostError, ImportError):
    """A package that is no dependency by default is needed for this."""

    def __init__(self, package: str) -> None:
        wanted = f"'switchcost[{_EXTRAS[package]}]'" if package in _EXTRAS else package
        super().__init__(f"this needs the package {package}: pip install {wanted}")
        self._package = package

    def __reduce__(self) -> tuple[type[MissingPackageError], tuple[str]]:
        return type(self), (self._package,)


class PlanError(SwitchcostError, ValueError):
    """The plan of a sweep has an unknown word, or a value of another kind than is needed."""


class ClusterError(SwitchcostError, ConnectionError):
    """The cluster cannot be reached."""


class StoreError(SwitchcostError, OSError):
    """The folder or object store of a sweep takes no more."""
