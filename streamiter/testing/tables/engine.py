"""The engine: moto's table API, apart from everybody else's moto, telling which items a request changed.

This file and copies.py alone know moto's inside: that a table calls `stream_shard.add(old, new)` for each item that it
writes, and how its handler is called without HTTP. tests/testing/test_engine.py holds both; pyproject.toml pins what was tried.
"""

from __future__ import annotations

import copy
import functools
import json
import threading
from collections.abc import Iterator, Mapping
from decimal import localcontext
from typing import Any, NamedTuple

from streamiter.errors import MissingExtra
from streamiter.testing.http.refusal import Refusal, internal, invalid
from streamiter.testing.tables.answers import tidy, words
from streamiter.testing.tables.changes import Change, ChangeLog
from streamiter.testing.tables.copies import values_copied
from streamiter.testing.tables.keys import TableKeys
from streamiter.testing.tables.results import NUMBER_DIGITS, check_result
from streamiter.testing.tables.targets import targets
from streamiter.testing.tables.updates import as_expression, takes_away
from streamiter.testing.tables.values import read_values
from streamiter.testing.truth.images import TypedImage

# moto keeps some state for the whole process, whichever of its backends is asked.
_moto = threading.RLock()

_REGION = "us-east-1"


class Held(NamedTuple):
    """An item as it was before a request, to be put back if that fails half way."""

    table: str
    key: TypedImage
    hash_key: Any
    range_key: Any
    item: Any
    takes_away: bool = False  # the request only takes attributes away from it


class Hook:
    """Stands where moto keeps a table's one shard, and notes at once what moto is about to change in place later."""

    def __init__(self, table: str, key_names: list[str], log: ChangeLog) -> None:
        self._table = table
        self._key_names = key_names
        self._log = log

    def add(self, old: Any, new: Any) -> None:
        """moto's own call, after each item that it wrote."""
        before, after = _image(old), _image(new)
        image = before if after is None else after
        assert image is not None
        self._log.note(self._table, {name: image[name] for name in self._key_names}, before, after)

    def __deepcopy__(self, memo: dict[int, Any]) -> Hook:
        return self  # moto copies whole tables before a transaction, and goes on with the copy when that fails


class Engine:
    """Tables and items, by the names and bodies of DynamoDB's own operations."""

    def __init__(self, account: str) -> None:
        self._parts = _load()
        self._backend = self._parts.backend(_REGION, account)
        self._account = account
        self._log = ChangeLog()

    def has(self, table: str) -> bool:
        """Whether it has a table of this name."""
        return table in self._backend.tables

    def arn(self, table: str) -> str:
        """What it calls a table; there is one region to it."""
        return f"arn:aws:dynamodb:{_REGION}:{self._account}:table/{table}"

    def call(self, operation: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], list[Change]]:
        """The answer and the changes; a refusal leaves no trace."""
        if operation == "UpdateItem":
            body = as_expression(body)
        with _moto:
            held = list(self._hold(operation, body))
            tracked = [(kind, len(kind.instances_tracked)) for kind in self._parts.tracked]
            try:
                with localcontext(prec=NUMBER_DIGITS), values_copied():
                    answer = self._answer(operation, read_values(body))
                for image in self._log.results:
                    check_result(image, operation)
            except Refusal:
                self._put_back(held)
                self._log.take()
                raise
            finally:
                for kind, length in tracked:  # moto would keep every item for good
                    del kind.instances_tracked[length:]
            if operation == "CreateTable":
                self._watch(body["TableName"])
            # Nothing can be taken away from an item that is not there; moto would make one.
            unmade = [place for place in held if place.takes_away and place.item is None]
            self._put_back(unmade)
            for place in unmade:
                self._log.forget(place.table, place.key)
                answer.pop("Attributes", None)
            return answer, self._log.take()

    def check_conditions(self, unit: Mapping[str, Any]) -> None:
        """Refuses conditions that moto cannot read."""
        for member in ("ConditionExpression", "FilterExpression"):
            if member in unit:
                names, values = (unit.get(f"ExpressionAttribute{kind}", {}) for kind in ("Names", "Values"))
                try:
                    self._parts.condition(unit[member], names, read_values(values))
                except Exception as error:
                    raise invalid(f"Invalid {member}: Syntax error; near: {unit[member][:40]!r}") from error

    def keys(self, table: str) -> TableKeys:
        """The keys of a table, and of its indexes."""
        truth = self._backend.tables[table]
        kinds = {attribute["AttributeName"]: attribute["AttributeType"] for attribute in truth.attr}
        indexes = {
            index.name: {key["AttributeName"]: kinds[key["AttributeName"]] for key in index.schema}
            for index in truth.all_indexes()
        }
        return TableKeys({name: kinds[name] for name in truth.table_key_attrs}, indexes)

    def items(self, table: str) -> list[TypedImage]:
        """All items of a table."""
        with _moto:
            return [_image(item) or {} for item in self._backend.tables[table].all_items()]

    def item(self, table: str, key: TypedImage) -> TypedImage | None:
        """The item of this key."""
        with _moto:
            return _image(self._find(table, key).item)

    def delete(self, table: str, key: TypedImage) -> list[Change]:
        """Deletes an item, as time to live does."""
        with _moto:
            place = self._find(table, key)
            self._backend.tables[table].delete_item(place.hash_key, place.range_key)
            return self._log.take()

    # -- inside

    def _answer(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        handler = self._parts.handler(self._backend)
        handler.body = handler.params = body
        handler.region, handler.current_account = _REGION, self._account
        try:
            result = getattr(handler, self._parts.method_name(operation))().result
        except self._parts.json_error as error:
            told = json.loads(error.get_body())
            name = str(told.pop("__type", "")).rpartition("#")[2]
            message = told.pop("message", None) or told.pop("Message", "")
            raise Refusal(name, words(str(message)), int(error.code or 400), **told) from None
        except self._parts.service_error as error:
            raise Refusal(error.code, error.message) from None
        except Exception as error:
            # A request that moto stumbles over; the service would have found words for it.
            raise internal(f"{operation}: {type(error).__name__}") from error
        answer: dict[str, Any] = tidy(result or {})
        return answer

    def _watch(self, name: str) -> None:
        table = self._backend.tables[name]
        table.stream_shard = Hook(name, table.table_key_attrs, self._log)

    def _hold(self, operation: str, body: Mapping[str, Any]) -> Iterator[Held]:
        for table, request in targets(operation, body):
            try:
                found = self._find(table, request.get("Item", request.get("Key")))
            except (KeyError, TypeError, AttributeError, IndexError):
                continue  # There is no such table, or the key is not whole: it will be refused.
            yield found._replace(item=copy.deepcopy(found.item), takes_away=takes_away(request))

    def _find(self, table: str, image: Mapping[str, Any]) -> Held:
        truth = self._backend.tables[table]
        image = read_values(image)
        hash_key = self._parts.value(image[truth.hash_key_attr])
        range_key = self._parts.value(image[truth.range_key_attr]) if truth.range_key_attr else None
        key = {name: image[name] for name in truth.table_key_attrs}
        return Held(table, key, hash_key, range_key, truth.get_item(hash_key, range_key))

    def _put_back(self, held: list[Held]) -> None:
        for before in held:
            items = self._backend.tables[before.table].items
            is_flat = before.range_key is None
            place, key = (items, before.hash_key) if is_flat else (items[before.hash_key], before.range_key)
            if before.item is None:
                place.pop(key, None)
            else:
                place[key] = before.item


class _Parts(NamedTuple):
    """What is used of moto."""

    handler: Any
    backend: Any
    value: Any
    json_error: Any
    service_error: Any
    method_name: Any
    condition: Any
    tracked: tuple[Any, ...]


@functools.cache
def _load() -> _Parts:
    try:
        from moto.core.exceptions import JsonRESTError, ServiceException
        from moto.core.utils import camelcase_to_underscores
        from moto.dynamodb.comparisons import get_filter_expression
        from moto.dynamodb.models import DynamoDBBackend
        from moto.dynamodb.models.dynamo_type import DynamoType, Item
        from moto.dynamodb.models.table import Table
        from moto.dynamodb.responses import DynamoHandler
    except ImportError as error:
        raise MissingExtra("moto", "testing") from error

    class Handler(DynamoHandler):
        """moto's handler, on a backend of our own: the shared one is everybody's, and reset by each mock_aws."""

        dynamodb_backend = None  # type: ignore[assignment]  # a property there

        def __init__(self, backend: Any) -> None:
            super().__init__()
            self.dynamodb_backend = backend

    return _Parts(
        *(
            Handler,
            DynamoDBBackend,
            DynamoType,
            JsonRESTError,
            ServiceException,
            camelcase_to_underscores,
            get_filter_expression,
            (Item, Table),
        )
    )


def _image(item: Any) -> TypedImage | None:
    return None if item is None else item.to_json()["Attributes"]
