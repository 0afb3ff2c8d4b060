"""Keyword arguments to the program's words, by the kind of each option."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from .errors import OptionError

#: How an option is written: alone, with a value, with a value or alone, with values parted by commas, again for each value;
#: and with a size, with sizes parted by commas.
Form: TypeAlias = Literal["flag", "value", "optional", "commas", "repeated", "size", "sizes"]

Path: TypeAlias = "str | os.PathLike[str]"
#: Text with its unit ("64KiB"), or a number of bytes.
Size: TypeAlias = "str | int"
#: Text with its unit ("30s"), or a time delta.
Time: TypeAlias = "str | datetime.timedelta"
#: Text such as "5%", or a fraction such as 0.05.
Percentage: TypeAlias = "str | float"


def words(forms: Mapping[str, Form], values: Mapping[str, object]) -> list[str]:
    """The words for those of the options that have a value. An underscore stands for each dash."""
    given = ((name, form, values.get(name)) for name, form in forms.items())
    return [word for name, form, value in given if is_given(value) for word in _option(name, form, value)]


def is_given(value: object) -> bool:
    """Whether an option has a value at all: nothing, false and an empty list are what the program does by itself."""
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
    """One value or several, as several."""
    return [value] if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable) else list(value)


def text(value: object) -> str:
    """A value as the command line has it."""
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(microseconds=1)}us"
    if isinstance(value, os.PathLike):
        return str(value)
    if isinstance(value, float) and 0 < value < 1:
        return f"{100 * value:.10g}%"
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise OptionError(f"{value!r} is not a text, a whole number, a fraction below 1, a path or a time delta", 2, ())


def size(value: object) -> object:
    """A whole number of bytes with its unit."""
    return f"{value}B" if isinstance(value, int) and not isinstance(value, bool) else value
