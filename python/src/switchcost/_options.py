"""Converts keyword arguments to arguments of the program, by the form of each option."""

from __future__ import annotations

import datetime
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from .errors import OptionError

#: How an option is written: without a value, with a value, with or without one, with values separated by commas, or once
#: for each value; and with a size, or with sizes separated by commas.
Form: TypeAlias = Literal["flag", "value", "optional", "commas", "repeated", "size", "sizes"]

Path: TypeAlias = "str | os.PathLike[str]"
#: Text with its unit ("64KiB"), or a number of bytes.
Size: TypeAlias = "str | int"
#: Text with its unit ("30s"), or a time delta.
Time: TypeAlias = "str | datetime.timedelta"
#: Text such as "5%", or a fraction such as 0.05.
Percentage: TypeAlias = "str | float"


def words(forms: Mapping[str, Form], values: Mapping[str, object]) -> list[str]:
    """Returns the arguments for all options that have a value. Underscores in names become dashes."""
    given = ((name, form, values.get(name)) for name, form in forms.items())
    return [word for name, form, value in given if is_given(value) for word in _option(name, form, value)]


def is_given(value: object) -> bool:
    """Whether an option has a value: None, False, an empty text and an empty list mean the program's default."""
    return value is not None and value is not False and value != "" and not (isinstance(value, (list, tuple)) and not value)


def _option(name: str, form: Form, value: object) -> list[str]:
    flag = "--" + name.rstrip("_").replace("_", "-")
    if form == "flag" or (form == "optional" and value is True):
        return [flag]
    if form in ("size", "sizes"):
        value = [size(one) for one in listed(value)]
    if form in ("commas", "sizes"):
        return [f"{flag}={_with_commas(flag, value)}"]
    several = listed(value) if form in ("repeated", "size") else [value]
    return [f"{flag}={text(one)}" for one in several]


def _with_commas(flag: str, value: object) -> str:
    texts = [text(one) for one in listed(value)]
    if len(texts) > 1 and any("," in one for one in texts):
        raise OptionError(f"a value of {flag} has a comma, which parts values: {', '.join(map(repr, texts))}", 2, ())
    return ",".join(texts)


def listed(value: object) -> Sequence[object]:
    """Returns a sequence: the values, or the only value."""
    return [value] if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable) else list(value)


def text(value: object) -> str:
    """Returns a value as text for the command line."""
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(microseconds=1)}us"
    if isinstance(value, os.PathLike):
        return str(value)
    if isinstance(value, float) and 0 < value < 1:
        return f"{100 * value:.10g}%"
    if isinstance(value, (str, numbers.Integral)) and not isinstance(value, bool):
        return str(value)
    raise OptionError(f"{value!r} is not a text, a whole number, a fraction below 1, a path or a time delta", 2, ())


def path_argument(path: Path) -> str:
    """Returns a path for the command line, where a name that begins with a dash would be an option."""
    name = os.fspath(path)
    return f"./{name}" if name.startswith("-") else name


def size(value: object) -> object:
    """Adds the unit B to a whole number of bytes. Returns other values unchanged."""
    return f"{value}B" if isinstance(value, numbers.Integral) and not isinstance(value, bool) else value
