"""Transfers: exports to S3 and imports from it, each of which fails for want of its bucket: there is no S3 here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.tables.beside.once import Once
from streamiter.testing.tables.creation import in_use, read_new_table
from streamiter.testing.tables.table import StoredTable

Body = Mapping[str, Any]
Answer = dict[str, Any]

_MOST_LISTED = 25
_NO_BUCKET = {"FailureCode": "S3NoSuchBucket", "FailureMessage": "The specified bucket does not exist"}


class Transfers:
    """The calls on exports and imports, by name; `find` gives the table of an ARN, or None; `arn_of` a new one's ARN."""

    def __init__(self, find: Callable[[str], StoredTable | None], arn_of: Callable[[str], str]) -> None:
        self._find = find
        self._arn_of = arn_of
        self._exports: dict[str, Answer] = {}
        self._imports: dict[str, Answer] = {}
        self._exported = Once("ExportConflictException")
        self._imported = Once("ImportConflictException")
        self.calls: dict[str, Callable[[Body, int], Answer]] = {
            "ExportTableToPointInTime": self._export,
            "DescribeExport": self._describe_export,
            "ListExports": self._list_exports,
            "ImportTable": self._import,
            "DescribeImport": self._describe_import,
            "ListImports": self._list_imports,
        }

    def _export(self, body: Body, now_us: int) -> Answer:
        table = self._find(body["TableArn"])
        if table is None:
            raise Refusal("TableNotFoundException", f"Table not found: {body['TableArn']}")
        recovery = table.recovery
        if not recovery.is_on:
            raise Refusal(
                "PointInTimeRecoveryUnavailableException",
                f"Point in time recovery is not enabled for table '{table.name}'",
            )
        begun = self._exported.begun(body, now_us)
        if begun is not None:
            return {"ExportDescription": self._exports[begun]}
        at = body.get("ExportTime", now_us / SECOND_US)
        if not recovery.earliest_us(now_us) <= at * SECOND_US <= now_us:
            raise Refusal("InvalidExportTimeException", "The export time is outside the window that can be restored")
        told = {
            "ExportFormat": "DYNAMODB_JSON",
            "ExportType": "FULL_EXPORT",
            "S3SseAlgorithm": "AES256",
            **body,
            "ExportArn": f"{table.truth.arn}/export/{_serial(now_us, self._exports)}",
            "ExportStatus": "IN_PROGRESS",
            "ExportTime": at,
            "StartTime": now_us / SECOND_US,
            "TableArn": table.truth.arn,
            "TableId": table.truth.id,
        }
        self._exports[told["ExportArn"]] = told
        self._exported.note(body, now_us, told["ExportArn"])
        return {"ExportDescription": told}

    def _describe_export(self, body: Body, now_us: int) -> Answer:
        told = self._exports.get(body["ExportArn"])
        if told is None:
            raise Refusal("ExportNotFoundException", f"Export not found: {body['ExportArn']}")
        return {"ExportDescription": _failed(told, "ExportStatus")}

    def _list_exports(self, body: Body, now_us: int) -> Answer:
        found = [
            {"ExportArn": arn, "ExportStatus": "FAILED", "ExportType": told["ExportType"]}
            for arn, told in self._exports.items()
            if body.get("TableArn") in (None, told["TableArn"])
        ]
        return _page("ExportSummaries", found, body.get("MaxResults"), body.get("NextToken"))

    def _import(self, body: Body, now_us: int) -> Answer:
        parameters = body["TableCreationParameters"]
        read_new_table(parameters)
        begun = self._imported.begun(body, now_us)
        if begun is not None:
            return {"ImportTableDescription": self._imports[begun]}
        name = parameters["TableName"]
        if self._find(name) is not None:
            raise in_use(name)
        arn = self._arn_of(name)
        told = {
            "InputCompressionType": "NONE",
            **body,
            "ImportArn": f"{arn}/import/{_serial(now_us, self._imports)}",
            "ImportStatus": "IN_PROGRESS",
            "StartTime": now_us / SECOND_US,
            "TableArn": arn,
        }
        self._imports[told["ImportArn"]] = told
        self._imported.note(body, now_us, told["ImportArn"])
        return {"ImportTableDescription": told}

    def _describe_import(self, body: Body, now_us: int) -> Answer:
        told = self._imports.get(body["ImportArn"])
        if told is None:
            raise Refusal("ImportNotFoundException", f"Import not found: {body['ImportArn']}")
        return {"ImportTableDescription": _failed(told, "ImportStatus")}

    def _list_imports(self, body: Body, now_us: int) -> Answer:
        names = ("ImportArn", "TableArn", "S3BucketSource", "InputFormat", "StartTime")
        found = [
            {name: told[name] for name in names} | {"ImportStatus": "FAILED", "EndTime": told["StartTime"]}
            for told in self._imports.values()
            if body.get("TableArn") in (None, told["TableArn"])
        ]
        return _page("ImportSummaryList", found, body.get("PageSize"), body.get("NextToken"))


def _failed(told: Answer, status: str) -> Answer:
    return told | {status: "FAILED", "EndTime": told["StartTime"], **_NO_BUCKET}


def _serial(now_us: int, others: Mapping[str, Any]) -> str:
    return f"{now_us // 1000:014d}-{len(others):08x}"


def _page(member: str, found: list[Answer], most: int | None, token: str | None) -> Answer:
    if token is not None and not (token.isascii() and token.isdecimal()):
        raise invalid("NextToken does not match request")
    start = int(token or 0)
    end = start + (most or _MOST_LISTED)
    return {member: found[start:end]} | ({"NextToken": str(end)} if end < len(found) else {})
