"""Finds the program, which is installed beside this package."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path

from ._version import VERSION
from .errors import ProgramError

NAME = "switchcost"
VARIABLE = "SWITCHCOST_PROGRAM"

# sysconfig fills its variables at the first call; a second thread would see them partly filled (Python 3.11).
_ASKING_SYSCONFIG = threading.Lock()


def find_program() -> str:
    """Returns the path of the program `switchcost`.

    The environment variable SWITCHCOST_PROGRAM comes first, then the places where installers put a package's programs, then PATH.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return _of_variable(named)
    with _ASKING_SYSCONFIG:
        places = list(_places())
    found = next((str(path) for path in places if _is_program(path)), None) or shutil.which(NAME)
    if found is None:
        raise ProgramError(
            f"the program {NAME} is not installed beside this package, nor in PATH; for {platform.machine()} with "
            f"{_libc()} install it with 'pip install --force-reinstall switchcost', or name it in {VARIABLE}"
        )
    return found


def _of_variable(path: str) -> str:
    if not _is_program(Path(path)):
        raise ProgramError(f"{VARIABLE} names {path}, which is no program; name the program {NAME}, or unset the variable")
    return path


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _places() -> Iterator[Path]:
    folders = (
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", vars={"base": sys.base_prefix}),
        _above_packages(Path(__file__).parent),
        str(Path(__file__).parent.parent / "bin"),  # pip install --target
        _user_scripts(),
    )
    return (Path(folder) / NAME for folder in folders if folder)


def _above_packages(package: Path) -> str | None:
    """Returns PREFIX/bin for PREFIX/lib/python3.X/site-packages/switchcost, as with `pip install --prefix`; otherwise None."""
    parents = package.parents
    is_installed = len(parents) > 3 and parents[0].name.endswith("-packages") and parents[2].name in ("lib", "lib64")
    return str(parents[3] / "bin") if is_installed else None


def _user_scripts() -> str:
    return sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))


def _libc() -> str:
    return " ".join(platform.libc_ver()).strip() or "another C library than glibc"


@functools.cache
def checked(path: str) -> str:
    """Returns the path, if the program there runs here, and has the package's version."""
    found = version_of(path)
    if found != VERSION:
        raise ProgramError(
            f"{path} is version {found}, this package is {VERSION}; install both together with "
            f"'pip install --upgrade switchcost', or name another program in {VARIABLE}"
        )
    return path


def version_of(path: str) -> str:
    """Returns the version that the program prints."""
    try:
        ran = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"{path} did not print its version within a minute; is it the program {NAME}?") from error
    except OSError as error:
        raise cannot_start(path, error) from None
    words = ran.stdout.split()
    if ran.returncode != 0 or len(words) != 2 or words[0] != NAME:
        raise ProgramError(f"{path} is not the program {NAME}; name that in {VARIABLE}, or unset the variable")
    return words[1]


def cannot_start(path: str, error: OSError) -> ProgramError:
    """Returns the error for a program that exists, but cannot be started: usually it is for another platform."""
    return ProgramError(
        f"{path} cannot be started here ({error.strerror or error}): it may be for another platform than {platform.machine()} with "
        f"{_libc()}; where there is no glibc take the static program of the tarball, and name it in {VARIABLE}"
    )
