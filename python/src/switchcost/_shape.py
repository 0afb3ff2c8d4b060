"""Converts JSON objects of the program to dataclasses. A missing field is an error; an unknown field is ignored."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from .errors import FormatError

T = TypeVar("T")


def shaped(shape: type[T], value: Mapping[str, Any]) -> T:
    """Returns an object of a dataclass with the fields of the mapping."""
    kinds = _fields(typing.cast("Any", shape))
    return shape(**{name: _value(kind, _field(shape, value, name)) for name, kind in kinds.items()})


def several(shape: type[T], values: list[Mapping[str, Any]]) -> tuple[T, ...]:
    """Returns an object of a dataclass for each mapping."""
    return tuple(shaped(shape, value) for value in values)


@functools.cache
def _fields(shape: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(shape)
    return {field.name: hints[field.name] for field in dataclasses.fields(shape)}


def _field(shape: type, value: Mapping[str, Any], name: str) -> object:
    try:
        return value[name]
    except (KeyError, TypeError):
        raise FormatError(f"the program's JSON has no {name} where a {shape.__name__} is expected; upgrade both together") from None


def _value(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if value is None:
        return None
    if origin in (typing.Union, types.UnionType):
        return _value(arguments[0], value)
    if origin is tuple and arguments[-1] is Ellipsis:
        return tuple(_value(arguments[0], one) for one in value)
    if origin is tuple:
        return tuple(value)
    return shaped(kind, value) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else value
