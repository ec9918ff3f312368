"""Bulk operations: items that are to be read from S3 into a table, which fails for want of a bucket: there is no S3 here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.tables.beside.once import Once
from streamiter.testing.tables.table import StoredTable

Body = Mapping[str, Any]
Answer = dict[str, Any]

_MOST_LISTED = 10
_LISTED_US = 90 * 86400 * SECOND_US
_NO_BUCKET = {"FailureCode": "S3NoSuchBucket", "FailureMessage": "The specified bucket does not exist"}
_COUNTS = ("ProcessedItemCount", "ProcessedInputBytes", "TotalInputBytes", "FailedItemCount")
_TOLD = ("ClientToken", "InputS3Configuration", "OutputS3Configuration", "MaxWriteRequestUnits")


class BulkOperations:
    """The calls on them, by name; `named` gives the table of a request, or refuses."""

    def __init__(self, named: Callable[[Body], StoredTable]) -> None:
        self._named = named
        self._operations: dict[str, Answer] = {}  # by ARN, the oldest first
        self._once = Once("IdempotentParameterMismatchException")
        self.calls: dict[str, Callable[[Body, int], Answer]] = {
            "StartBulkPutItems": self._start,
            "DescribeBulkOperation": lambda body, _: {"BulkOperationDescription": _failed(self._operation(body))},
            "ListBulkOperations": self._list,
            "CancelBulkOperation": self._cancel,
        }

    def _start(self, body: Body, now_us: int) -> Answer:
        table = self._named(body)
        arn = self._once.begun(body, now_us)
        if arn is None:
            arn = f"{table.truth.arn}/bulk-operation/{now_us // 1000:014d}-{len(self._operations):08x}"
            self._operations[arn] = {
                "BulkOperationArn": arn,
                "BulkOperationStatus": "IN_PROGRESS",
                "TableDetails": [{"TableName": table.name, "TableId": table.truth.id}],
                **{name: body[name] for name in _TOLD if name in body},
                "PerformanceTier": body.get("PerformanceTier", "STANDARD"),
                "StartTime": now_us / SECOND_US,
                **dict.fromkeys(_COUNTS, 0),
            }
            self._once.note(body, now_us, arn)
        return {"BulkOperationDescription": self._operations[arn]}

    def _cancel(self, body: Body, now_us: int) -> Answer:
        arn = self._operation(body)["BulkOperationArn"]
        return {"BulkOperationArn": arn, "BulkOperationStatus": "CANCELLING"}

    def _list(self, body: Body, now_us: int) -> Answer:
        found = [
            {name: told[name] for name in ("BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime")}
            for told in map(_failed, reversed(self._operations.values()))
            if now_us - told["StartTime"] * SECOND_US < _LISTED_US
        ]
        start = _read_token(body.get("NextToken"))
        end = start + body.get("MaxResults", _MOST_LISTED)
        more = {"NextToken": f"{end:016x}"} if end < len(found) else {}
        return {"BulkOperationsSummaryList": found[start:end], **more}

    def _operation(self, body: Body) -> Answer:
        arn = body["BulkOperationArn"]
        if arn not in self._operations:
            raise Refusal("ResourceNotFoundException", f"Requested resource not found: BulkOperation: {arn} not found")
        return self._operations[arn]


def _failed(told: Answer) -> Answer:
    return told | {"BulkOperationStatus": "FAILED", "EndTime": told["StartTime"], **_NO_BUCKET}


def _read_token(token: str | None) -> int:
    if token is not None and len(token) != 16:
        raise invalid("NextToken does not match request")
    return int(token or "0", 16)  # the description's pattern has only such digits
