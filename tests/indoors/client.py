"""The client: what a boto3 client of the simulator gives, without boto3's way there and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ResponseStreamingError
from botocore.hooks import HierarchicalEmitter

from streamiter.testing.http.request import Request

if TYPE_CHECKING:
    from streamiter.testing.http.answer import Answer
    from streamiter.testing.http.reception import Reception

TARGETS = {
    "dynamodbstreams": "DynamoDBStreams_20120810",
    "dynamodb": "DynamoDB_20120810",
    "kinesis": "Kinesis_20131202",
}
EVENTS = {"dynamodbstreams": "dynamodb-streams"}  # what botocore's events call a service, where that is not its name
ENDPOINT = "http://indoors"
REGION = "us-east-1"
SIGNED = f"AWS4-HMAC-SHA256 Credential=any/20260101/{REGION}/any/aws4_request"


class IndoorClient:
    """A client of one service. `meta` has what a source looks at; each answer passes the hooks of `before-parse`."""

    def __init__(self, service: str, reception: Reception, *, config: Config | None = None) -> None:
        self._reception = reception
        self._target = TARGETS[service]
        self._event = f"before-parse.{EVENTS.get(service, service)}"
        self.meta = SimpleNamespace(
            events=HierarchicalEmitter(),
            service_model=SimpleNamespace(service_name=service),
            config=config or Config(),
            endpoint_url=ENDPOINT,
            region_name=REGION,
        )

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._call, "".join(word.capitalize() for word in name.split("_")))

    def close(self) -> None:
        pass

    def _call(self, operation: str, **asked: Any) -> dict[str, Any]:
        body = json.dumps({name: spelled(value) for name, value in asked.items()}).encode()
        headers = {"x-amz-target": f"{self._target}.{operation}", "authorization": SIGNED}
        answer = self._reception.answer(Request("POST", headers, body))
        check_arrives(answer)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        response = {"status_code": answer.status, "headers": headers, "body": answer.body}
        self.meta.events.emit(
            f"{self._event}.{operation}", response_dict=response, operation_model=SimpleNamespace(name=operation)
        )
        told = {"HTTPStatusCode": answer.status, "HTTPHeaders": response["headers"]}
        if answer.status >= 300:
            raise ClientError(refused(answer.status, response["body"]) | {"ResponseMetadata": told}, operation)
        parsed: dict[str, Any] = json.loads(response["body"] or b"{}", object_hook=parsed_members)
        return parsed | {"ResponseMetadata": told}


def check_arrives(answer: Answer) -> None:
    """Raises what botocore raises for an answer that is lost on its way. That it takes its time is not felt indoors."""
    if answer.hangs_on is not None:
        raise NotImplementedError("no call can hang indoors: mark this test `outdoors`")
    if answer.is_lost:
        raise ConnectionClosedError(endpoint_url=ENDPOINT)
    if answer.is_cut:
        raise ResponseStreamingError(error="it ended early")


def refused(status: int, body: bytes) -> dict[str, Any]:
    """An error as botocore tells it."""
    try:
        told = json.loads(body)
    except ValueError:
        told = {"message": HTTPStatus(status).phrase}
    code = told.get("__type", str(status)).rpartition("#")[2]
    return {"Error": {"Code": code, "Message": told.get("message", "")}}


def spelled(value: Any) -> Any:
    """A parameter as it goes over the wire."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: spelled(part) for name, part in value.items()}
    return [spelled(part) for part in value] if isinstance(value, list | tuple) else value


def parsed_members(members: dict[str, Any]) -> dict[str, Any]:
    """The times and the payloads in an answer as botocore gives them."""
    for name, value in members.items():
        if name == "Data":
            members[name] = base64.b64decode(value)
        if name.endswith(("DateTime", "Timestamp")) and isinstance(value, int | float):
            members[name] = datetime.fromtimestamp(value, UTC)
    return members
