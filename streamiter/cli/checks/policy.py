"""Policies: the least that IAM has to allow for a stream to be read; pure."""

from __future__ import annotations

from typing import Any

STREAM_ACTIONS = ("dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords")
KINESIS_ACTIONS = (
    *("kinesis:DescribeStreamSummary", "kinesis:ListShards"),
    *("kinesis:GetShardIterator", "kinesis:GetRecords"),
)
TABLE_ACTIONS = ("dynamodb:DescribeTable",)


def least_policy(table_arn: str, *, by_stream_arn: bool) -> dict[str, Any]:
    """What reading the stream of a table needs, and nothing more. A stream that is named by its ARN is not looked up."""
    statements = [{"Effect": "Allow", "Action": list(STREAM_ACTIONS), "Resource": f"{table_arn}/stream/*"}]
    if not by_stream_arn:
        statements.append({"Effect": "Allow", "Action": list(TABLE_ACTIONS), "Resource": table_arn})
    return {"Version": "2012-10-17", "Statement": statements}


def kinesis_policy(stream_arn: str) -> dict[str, Any]:
    """What reading a Kinesis stream needs, and nothing more."""
    statement = {"Effect": "Allow", "Action": list(KINESIS_ACTIONS), "Resource": stream_arn}
    return {"Version": "2012-10-17", "Statement": [statement]}


def table_arn_of(stream_or_table: str, region: str | None) -> str:
    """The table's ARN, as far as it is known."""
    if stream_or_table.startswith("arn:"):
        return stream_or_table.partition("/stream/")[0]
    return f"arn:aws:dynamodb:{region or 'REGION'}:ACCOUNT:table/{stream_or_table}"


def kinesis_arn_of(stream: str, region: str | None) -> str:
    """The stream's ARN, as far as it is known."""
    return stream if stream.startswith("arn:") else f"arn:aws:kinesis:{region or 'REGION'}:ACCOUNT:stream/{stream}"
