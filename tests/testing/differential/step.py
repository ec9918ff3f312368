"""A step: something to do at each service; what comes of it is plain JSON, so that it can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from streamiter.testing.truth.images import plain_image
from tests.testing.differential.world import World

Image = dict[str, dict[str, Any]]
Run = Callable[[World], Any]


class Step(NamedTuple):
    """Something to do at each service; `run` gives what is compared."""

    label: str
    run: Run


def outcome(run: Run, world: World) -> Any:
    """What came of a step: its result, or the status and the name of the error."""
    try:
        return run(world)
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return {"status": status, "error": error.response["Error"]["Code"]}


def told(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what no two services say alike: ids, numbers, moments."""
    change = record["dynamodb"]
    images = {name: _plain(change[name]) for name in ("Keys", "NewImage", "OldImage") if name in change}
    names = ("eventName", "eventSource", "eventVersion", "userIdentity")
    return {name: record[name] for name in names if name in record} | images | {"view": change["StreamViewType"]}


def _plain(image: Image) -> dict[str, Any]:
    return {
        name: sorted(value, key=str) if isinstance(value, set) else value for name, value in plain_image(image).items()
    }


def done(_: Any) -> str:
    """What is told of an answer of which only that it came is compared."""
    return "done"
