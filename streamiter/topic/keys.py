"""Keys: finds a value's key, by `partition_by`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from streamiter.errors import InvalidOption
from streamiter.topic.codec import Misfit, fields_of
from streamiter.topic.routing import Key

PartitionBy = str | Iterable[str] | Callable[[Any], Key] | None


def key_getter(partition_by: PartitionBy, record: Any) -> Callable[[Any], Key] | None:
    """The function that gives a value's key; it raises Misfit for a value that has none."""
    if partition_by is None:
        return None
    if callable(partition_by):
        return _calls(partition_by)
    names = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidOption(
            "partition_by= takes the name of an attribute, a tuple of names, or a function of the value"
        )
    known = fields_of(record)
    for name in names:
        if (known is not None and name not in known) or record is bytes:
            told = f"its fields are {', '.join(sorted(known))}" if known else "say a function of the value"
            raise InvalidOption(
                f"partition_by={name!r}: {getattr(record, '__name__', record)} has no such field; {told}"
            )
    if isinstance(partition_by, str):
        return _Attribute(partition_by)
    getters = [_Attribute(name) for name in names]
    return lambda value: tuple(get(value) for get in getters)


class _Attribute:
    """One attribute of an object, or one entry of a mapping."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._of_mapping = itemgetter(name)
        self._of_object = attrgetter(name)

    def __call__(self, value: Any) -> Key:
        try:
            return self._of_mapping(value) if isinstance(value, Mapping) else self._of_object(value)
        except (KeyError, AttributeError):
            raise Misfit(f"it has no {self._name}, which partition_by= names", self._name) from None


def _calls(function: Callable[[Any], Key]) -> Callable[[Any], Key]:
    def key_of(value: Any) -> Key:
        try:
            return function(value)
        except Exception as error:
            raise Misfit(f"partition_by= raised {type(error).__name__}") from error

    return key_of
