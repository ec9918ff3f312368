"""Operations on what hangs on a resource: tags and policies of streams and of their consumers."""

from __future__ import annotations

from typing import Any

import msgspec

from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.asked import wrong
from streamiter.testing.kinesis.consumers import Consumer
from streamiter.testing.kinesis.operations import Asked, Operation, Operations
from streamiter.testing.kinesis.settings import Settings, check_tags, tagged

MOST_LISTED = 50
MOST_POLICY = 20 * 1024  # bytes


class TagOperations(Operations):
    """See operations.Operations."""

    @property
    def all(self) -> dict[str, Operation]:
        return {
            "AddTagsToStream": self._add_to_stream,
            "RemoveTagsFromStream": self._remove_from_stream,
            "ListTagsForStream": self._list_for_stream,
            "TagResource": self._add,
            "UntagResource": self._remove,
            "ListTagsForResource": self._list,
            "PutResourcePolicy": self._put_policy,
            "GetResourcePolicy": self._get_policy,
            "DeleteResourcePolicy": self._delete_policy,
        }

    def _add_to_stream(self, asked: Asked, now_us: int) -> None:
        stream = self._stream(asked, now_us)
        stream.settings.tags = tagged(stream.settings.tags, asked["Tags"], self._owner(stream.name))

    def _remove_from_stream(self, asked: Asked, now_us: int) -> None:
        stream = self._stream(asked, now_us)
        check_tags(asked["TagKeys"], f"remove tags from {self._owner(stream.name)}")
        _remove(stream.settings, asked["TagKeys"])

    def _list_for_stream(self, asked: Asked, now_us: int) -> dict[str, Any]:
        tags = self._stream(asked, now_us).settings.tags
        after = asked.get("ExclusiveStartTagKey") or ""
        keys = sorted(key for key in tags if key > after)
        page = keys[: asked.get("Limit") or MOST_LISTED]
        return {"Tags": _told({key: tags[key] for key in page}), "HasMoreTags": len(page) < len(keys)}

    def _add(self, asked: Asked, now_us: int) -> None:
        resource = self._resource(asked, now_us)
        resource.tags = tagged(resource.tags, asked["Tags"], f"resource {asked['ResourceARN']}")

    def _remove(self, asked: Asked, now_us: int) -> None:
        _remove(self._resource(asked, now_us), asked["TagKeys"])

    def _list(self, asked: Asked, now_us: int) -> dict[str, Any]:
        return {"Tags": _told(self._resource(asked, now_us).tags)}

    # -- policies

    def _put_policy(self, asked: Asked, now_us: int) -> None:
        self._resource(asked, now_us)
        try:
            policy = msgspec.json.decode(asked["Policy"])
        except msgspec.DecodeError:
            policy = None
        if not isinstance(policy, dict) or len(asked["Policy"].encode()) > MOST_POLICY:
            raise wrong("The policy is no policy: it has to be a JSON document of at most 20 KB")
        self._service.policies[asked["ResourceARN"]] = asked["Policy"]

    def _get_policy(self, asked: Asked, now_us: int) -> dict[str, Any]:
        self._resource(asked, now_us)
        return {"Policy": self._policies(asked)[asked["ResourceARN"]]}

    def _delete_policy(self, asked: Asked, now_us: int) -> None:
        self._resource(asked, now_us)
        del self._policies(asked)[asked["ResourceARN"]]

    def _policies(self, asked: Asked) -> dict[str, str]:
        arn = asked["ResourceARN"]
        if arn not in self._service.policies:
            raise Refusal("ResourceNotFoundException", f"There is no policy on the resource {arn}")
        return self._service.policies

    def _resource(self, asked: Asked, now_us: int) -> Settings | Consumer:
        """The stream's settings, or the consumer, that the ARN names: both have tags."""
        arn = asked["ResourceARN"]
        return (
            self._service.consumer(arn, now_us) if "/consumer/" in arn else self._service.by_arn(arn, now_us).settings
        )


def _told(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]


def _remove(resource: Settings | Consumer, keys: list[str]) -> None:
    resource.tags = {key: value for key, value in resource.tags.items() if key not in keys}
