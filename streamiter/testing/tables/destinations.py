"""Destinations: the Kinesis stream that a table's changes are written to as well, as four calls of the table API say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.kinesis.change import Precision, typed_change_payload
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.tables.changes import Change
from streamiter.testing.truth.service import Service
from streamiter.testing.truth.simulated_table import SimulatedTable

Body = dict[str, Any]

_STATE = "Table is not in a valid state to enable Kinesis Streaming Destination: "
_NO_STREAM = "User does not have a permission to use kinesis stream"  # so the service says of one that is not there
_PRECISION = "ApproximateCreationDateTimePrecision"


@dataclass
class Destination:
    """A Kinesis stream that a table's changes go, or went, to. What changes is done at once, though answers say it begins."""

    status: str  # ACTIVE, DISABLED or ENABLE_FAILED
    precision: Precision = None  # of creation times; None: as the service likes, which is milliseconds


class Destinations:
    """Those of all tables. A table has one at a time; what was disabled, or never worked, stays described."""

    def __init__(self, service: Service, kinesis: KinesisService) -> None:
        self._service = service
        self._kinesis = kinesis
        self._of: dict[str, dict[str, Destination]] = {}  # by the table's name, and the stream's ARN
        self._written = 0
        self.calls: dict[str, Callable[[Body, int], Body]] = {
            "DescribeKinesisStreamingDestination": self._describe,
            "DisableKinesisStreamingDestination": self._disable,
            "EnableKinesisStreamingDestination": self._enable,
            "UpdateKinesisStreamingDestination": self._update,
        }

    def forget(self, table: SimulatedTable) -> None:
        """The table is gone."""
        self._of.pop(table.name, None)

    def write(self, table: SimulatedTable, change: Change, now_us: int, identity: dict[str, str] | None) -> None:
        """An item changed: its record goes to the stream that the table has now, both images of it, by its partition key."""
        for arn, destination in self._of.get(table.name, {}).items():
            if destination.status != "ACTIVE":
                continue
            try:
                stream = self._kinesis.stream(None, arn, now_us)
            except Refusal:  # It was deleted meanwhile; the table does not care.
                continue
            self._written += 1
            images = {"Keys": change.key, "NewImage": change.new, "OldImage": change.old}
            payload = typed_change_payload(
                {name: image for name, image in images.items() if image is not None},
                event=change.event,
                created_us=now_us,
                event_id=(table.serial << 64) + self._written,
                table=table.name,
                region=table.region,
                precision=destination.precision or "MILLISECOND",
                user_identity=identity and {"type": identity["Type"], "principalId": identity["PrincipalId"]},
            )
            [key] = change.key[table.hash_key].values()
            text = key.hex() if isinstance(key, bytes) else str(key)[:256]
            stream.add(stream.owner(text, None), text, payload, now_us, now_us)

    # -- the calls

    def _describe(self, body: Body, now_us: int) -> Body:
        table = self._service.table(body["TableName"])
        return {"TableName": table.name, "KinesisDataStreamDestinations": self._told(table)}

    def _told(self, table: SimulatedTable) -> list[Body]:
        told: list[Body] = []
        for arn, destination in self._of.get(table.name, {}).items():
            told.append({"StreamArn": arn, "DestinationStatus": destination.status})
            if destination.status == "ENABLE_FAILED":
                told[-1]["DestinationStatusDescription"] = _NO_STREAM
            if destination.precision is not None:
                told[-1][_PRECISION] = destination.precision
        return told

    def _enable(self, body: Body, now_us: int) -> Body:
        table, arn = self._service.table(body["TableName"]), body["StreamArn"]
        of = self._of.setdefault(table.name, {})
        if any(destination.status == "ACTIVE" for destination in of.values()):
            raise invalid(
                f"{_STATE}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
            )
        is_there = any(stream.arn == arn for stream in self._kinesis.streams.values())
        asked = body.get("EnableKinesisStreamingConfiguration", {})
        of[arn] = Destination("ACTIVE" if is_there else "ENABLE_FAILED", asked.get(_PRECISION))
        return _answer(table, arn, "ENABLING", EnableKinesisStreamingConfiguration=asked)

    def _disable(self, body: Body, now_us: int) -> Body:
        table, arn = self._service.table(body["TableName"]), body["StreamArn"]
        destination = self._active(table, arn)
        if destination is None:
            raise invalid(f"{_STATE}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.")
        destination.status = "DISABLED"
        asked = body.get("EnableKinesisStreamingConfiguration", {})
        return _answer(table, arn, "DISABLING", EnableKinesisStreamingConfiguration=asked)

    def _update(self, body: Body, now_us: int) -> Body:
        table, arn = self._service.table(body["TableName"]), body["StreamArn"]
        asked = body.get("UpdateKinesisStreamingConfiguration", {})
        if _PRECISION not in asked:
            raise invalid(
                "Streaming destination cannot be updated with given parameters: "
                "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
            )
        destination = self._active(table, arn)
        if destination is None:
            raise invalid(
                f"{_STATE}Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
                f"TableName: {table.name}, kdsArn: {arn}"
            )
        if asked[_PRECISION] == (destination.precision or "MILLISECOND"):
            raise invalid(
                f"Invalid Request: Precision is already set to the desired value of {asked[_PRECISION]} "
                f"for tableId: {table.id}, kdsArn: {arn}"
            )
        destination.precision = asked[_PRECISION]
        return _answer(table, arn, "UPDATING", UpdateKinesisStreamingConfiguration=asked)

    def _active(self, table: SimulatedTable, arn: str) -> Destination | None:
        destination = self._of.get(table.name, {}).get(arn)
        return destination if destination is not None and destination.status == "ACTIVE" else None


def _answer(table: SimulatedTable, arn: str, status: str, **asked: Body) -> Body:
    return {"TableName": table.name, "StreamArn": arn, "DestinationStatus": status, **asked}
