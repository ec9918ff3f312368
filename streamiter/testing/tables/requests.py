"""Requests: the expressions of one, or the older members in their place, as terms that are bound to its names and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from streamiter.testing.expressions import legacy
from streamiter.testing.expressions.binding import Bindings
from streamiter.testing.expressions.grammar import parse_condition, parse_projection, parse_update
from streamiter.testing.expressions.terms import Condition, Path, Update
from streamiter.testing.expressions.values import Value
from streamiter.testing.expressions.words import Malformed
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value
from streamiter.testing.tables.values import check_name, read_value

Body = Mapping[str, Any]
_Bound = TypeVar("_Bound")

MOST_BYTES = 4096
MOST_PLACEHOLDER = 255
_NAME = re.compile(r"#[\w#-]+", re.ASCII)
_VALUE = re.compile(r":\w+", re.ASCII)


_FOR_EXPRESSIONS = ("ExpressionAttributeNames", "ExpressionAttributeValues")


class Members(NamedTuple):
    """Which members of a request are expressions, and which are the older way to say the same."""

    expressions: tuple[str, ...]
    older: tuple[str, ...]
    with_values: tuple[str, ...] = ()  # the expressions that may use values

    def are_in(self, body: Body) -> bool:
        """Whether a request has any of them, or what is for them."""
        return not body.keys().isdisjoint((*self.expressions, *self.older, *_FOR_EXPRESSIONS))


GET = Members(("ProjectionExpression",), ("AttributesToGet",))
WRITE = Members(("ConditionExpression",), ("Expected", "ConditionalOperator"), ("ConditionExpression",))
UPDATE = Members(
    ("UpdateExpression", "ConditionExpression"),
    ("AttributeUpdates", "Expected", "ConditionalOperator"),
    ("UpdateExpression", "ConditionExpression"),
)
QUERY = Members(
    ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
    ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    ("FilterExpression", "KeyConditionExpression"),
)
SCAN = Members(
    ("ProjectionExpression", "FilterExpression"),
    ("AttributesToGet", "ScanFilter", "ConditionalOperator"),
    ("FilterExpression",),
)


class Asked:
    """The expressions of one request; `finish` refuses names and values that none of them uses."""

    def __init__(self, body: Body, members: Members) -> None:
        self._body = body
        self._members = members
        given = [name for name in members.expressions if name in body]
        older = [name for name in members.older if name in body]
        if given and older:
            raise invalid(
                "Can not use both expression and non-expression parameters in the same request: "
                f"Non-expression parameters: {{{', '.join(older)}}} Expression parameters: {{{', '.join(given)}}}"
            )
        self._names = _names(body, is_used=bool(given))
        self._values = _values(body, members.with_values)
        self._bindings = Bindings(self._names, self._values)

    def finish(self) -> None:
        """Every name and value was used."""
        for member, given, used in (
            ("ExpressionAttributeNames", self._names, self._bindings.names_used),
            ("ExpressionAttributeValues", self._values, self._bindings.values_used),
        ):
            if given.keys() - used:
                left_over = ", ".join(sorted(given.keys() - used))
                raise invalid(f"Value provided in {member} unused in expressions: keys: {{{left_over}}}")

    # -- expressions

    def condition(self) -> Condition | None:
        """What a write depends on."""
        if "ConditionExpression" in self._body:
            return self._bound("ConditionExpression", lambda text: self._bindings.condition(parse_condition(text)))
        return self._older_condition("Expected", legacy.expected)

    def filter(self, member: str) -> Condition | None:
        """What a Query or Scan keeps; `member` is the older way to say it."""
        if "FilterExpression" in self._body:
            return self._bound("FilterExpression", lambda text: self._bindings.condition(parse_condition(text)))
        return self._older_condition(member, legacy.filtered)

    def key_condition(self) -> Condition | None:
        """KeyConditionExpression."""
        if "KeyConditionExpression" not in self._body:
            return None
        return self._bound("KeyConditionExpression", lambda text: self._bindings.condition(parse_condition(text)))

    def key_conditions(self) -> list[Condition]:
        """KeyConditions, the older way."""
        return legacy.filtered(_with_values(self._body.get("KeyConditions") or {}))

    def update(self) -> Update:
        """What an update changes."""
        if "UpdateExpression" in self._body:
            return self._bound("UpdateExpression", lambda text: self._bindings.update(parse_update(text)))
        return legacy.updates(_with_values(self._body.get("AttributeUpdates") or {}))

    def projection(self) -> tuple[Path, ...] | None:
        """The places that are asked for; None: all."""
        if "ProjectionExpression" in self._body:
            return self._bound("ProjectionExpression", lambda text: self._bindings.projection(parse_projection(text)))
        if "AttributesToGet" not in self._body:
            return None
        names = self._body["AttributesToGet"]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise wrong_value(f"Duplicate value in attribute name: {name}")
        return tuple(Path((name,)) for name in names)

    # -- inside

    def _bound(self, member: str, read: Callable[[str], _Bound]) -> _Bound:
        text = self._body[member]
        try:
            if not text.strip():
                raise Malformed("The expression can not be empty;")
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > MOST_BYTES:
                raise Malformed(f"Expression size has exceeded the maximum allowed size; expression size: {size}")
            return read(text)
        except Malformed as error:
            raise invalid(f"Invalid {member}: {error}") from None

    def _older_condition(self, member: str, read: Callable[[Any], list[Condition]]) -> Condition | None:
        operator = self._body.get("ConditionalOperator")
        conditions = self._body.get(member)
        if not conditions:
            if operator is not None:
                raise invalid("ConditionalOperator cannot be used without Filter or Expected")
            return None
        return legacy.all_or_any(read(_with_values(conditions)), operator)


def _with_values(conditions: Body) -> dict[str, dict[str, Any]]:
    """Older conditions or updates, their values checked."""
    found = {}
    for name, one in conditions.items():
        found[name] = dict(one)
        if "Value" in one:
            found[name]["Value"] = read_value(one["Value"])
        if "AttributeValueList" in one:
            found[name]["AttributeValueList"] = list(map(read_value, one["AttributeValueList"]))
    return found


def _names(body: Body, *, is_used: bool) -> dict[str, str]:
    names = body.get("ExpressionAttributeNames")
    if names is None:
        return {}
    if not is_used:
        raise invalid("ExpressionAttributeNames can only be specified when using expressions")
    if not names:
        raise invalid("ExpressionAttributeNames must not be empty")
    for name, attribute in names.items():
        _check_placeholder("ExpressionAttributeNames", name, _NAME)
        check_name(attribute)
    return dict(names)


def _values(body: Body, members: tuple[str, ...]) -> dict[str, Value]:
    values = body.get("ExpressionAttributeValues")
    if values is None:
        return {}
    if not any(member in body for member in members):
        verb = "is" if len(members) == 1 else "are"
        raise invalid(
            "ExpressionAttributeValues can only be specified when using expressions: "
            f"{' and '.join(members)} {verb} null"
        )
    if not values:
        raise invalid("ExpressionAttributeValues must not be empty")
    found = {}
    for name, value in values.items():
        _check_placeholder("ExpressionAttributeValues", name, _VALUE)
        try:
            found[name] = read_value(value)
        except Refusal as refusal:
            if refusal.name != "ValidationException":
                raise
            raise invalid(
                f"ExpressionAttributeValues contains invalid value: {refusal.message} for key {name}"
            ) from None
    return found


def _check_placeholder(member: str, name: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(name):
        raise invalid(f'{member} contains invalid key: Syntax error; key: "{name}"')
    if len(name) > MOST_PLACEHOLDER:
        raise invalid(f"{member} contains invalid key: The key is too long; key length: {len(name)}")
