"""Updates: an UpdateItem's request as one expression, because moto's own handling of AttributeUpdates loses types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from streamiter.testing.http.refusal import invalid, wrong_value

_MAKES = re.compile(r"(?<![\w#:.])(SET|ADD)\b", re.IGNORECASE)  # reserved words: no attribute is called so without a #
_EXPRESSIONS = ("UpdateExpression", "ConditionExpression")


def as_expression(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same request without AttributeUpdates, the older way to say what is to change."""
    updates = body.get("AttributeUpdates")
    if updates is None:
        return {**body} if "UpdateExpression" in body else {**body, "AttributeUpdates": {}}
    mixed = [name for name in _EXPRESSIONS if name in body]
    if mixed:
        raise invalid(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{AttributeUpdates}} Expression parameters: {{{', '.join(mixed)}}}"
        )
    if not updates:
        return {**body}
    clauses: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for place, update in enumerate(updates.values()):
        keyword, change = _change(update, f"#a{place}", f":a{place}")
        clauses.setdefault(keyword, []).append(change)
        if "Value" in update:
            values[f":a{place}"] = update["Value"]
    return {name: value for name, value in body.items() if name != "AttributeUpdates"} | {
        "UpdateExpression": " ".join(f"{keyword} {', '.join(changes)}" for keyword, changes in clauses.items()),
        "ExpressionAttributeNames": {f"#a{place}": name for place, name in enumerate(updates)},
        **({"ExpressionAttributeValues": values} if values else {}),
    }


def takes_away(update: Mapping[str, Any]) -> bool:
    """Whether an update only removes or deletes, so that it makes no item where there is none."""
    expression = update.get("UpdateExpression")
    return expression is not None and not _MAKES.search(expression)


def _change(update: Mapping[str, Any], name: str, value: str) -> tuple[str, str]:
    action = update.get("Action", "PUT")
    if "Value" not in update:
        if action != "DELETE":
            raise wrong_value("Only DELETE action is allowed when no attribute value is specified")
        return "REMOVE", name
    if action == "PUT":
        return "SET", f"{name} = {value}"
    return action, f"{name} {value}"
