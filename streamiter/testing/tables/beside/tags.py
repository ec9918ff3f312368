"""Tags: those of tables, by three calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streamiter.testing.http.refusal import Refusal, invalid, wrong_value
from streamiter.testing.tables.table import StoredTable

Body = Mapping[str, Any]

MOST_TAGS = 50
_ARN = "arn:"


class Tags:
    """The calls on tags, by name; `find` gives the table of an ARN, or None."""

    def __init__(self, find: Callable[[str], StoredTable | None]) -> None:
        self._find = find
        self.calls: dict[str, Callable[[Body, int], dict[str, Any]]] = {
            "ListTagsOfResource": self._list,
            "TagResource": self._tag,
            "UntagResource": self._untag,
        }

    def _list(self, body: Body, now_us: int) -> dict[str, Any]:
        tags = self._table(body).tags
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}

    def _tag(self, body: Body, now_us: int) -> dict[str, Any]:
        table = self._table(body)
        if not body["Tags"]:
            raise invalid("Atleast one Tag needs to be provided as Input.")
        table.tags.update(read_tags(body["Tags"], table.tags))
        return {}

    def _untag(self, body: Body, now_us: int) -> dict[str, Any]:
        table = self._table(body)
        if not body["TagKeys"]:
            raise invalid("Atleast one Tag Key needs to be provided as Input.")
        for key in body["TagKeys"]:
            table.tags.pop(key, None)
        return {}

    def _table(self, body: Body) -> StoredTable:
        arn = body["ResourceArn"]
        if not arn.startswith(_ARN) or ":table/" not in arn:
            raise invalid(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
        table = self._find(arn)
        if table is None:
            raise Refusal("ResourceNotFoundException", f"Requested resource not found: ResourcArn: {arn} not found")
        return table


def read_tags(asked: Sequence[Body], present: Mapping[str, str]) -> dict[str, str]:
    """The tags to add to those that are there; a refusal of twice the same, of reserved ones and of too many."""
    tags: dict[str, str] = {}
    for tag in asked:
        if tag["Key"] in tags:
            raise wrong_value(f"Duplicate tag keys found: {tag['Key']}")
        if tag["Key"].lower().startswith("aws:"):
            raise wrong_value("Tag keys that begin with aws: are reserved")
        tags[tag["Key"]] = tag["Value"]
    if len({**present, **tags}) > MOST_TAGS:
        raise wrong_value(f"Too many tags: a table has {MOST_TAGS} tags at most")
    return tags
