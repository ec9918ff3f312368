"""Options: each checked, with a message that says what would do."""

from __future__ import annotations

import json
import pickle

import pytest

from streamiter import InvalidOption
from streamiter.spark.columns.columns import standard_schema
from streamiter.spark.options import parse_options
from streamiter.spark.streaming import StreamReader


def parse(**told):
    return parse_options("dynamodb_streams", ("table", "streamArn"), {"table": "users", **told})


def test_what_is_told_is_kept_and_travels():
    options = parse(
        startingPosition="latest",
        endingposition="2026-01-15T12:00:00.7+01:00",
        MAXRECORDSPERTRIGGER="100",
        maxBytesPerTrigger="64 MB",
        maxPartitions="4",
        lateness="none",
        shardDiscoveryInterval="30 seconds",
        failOnDataLoss="False",
        endpointUrl="http://127.0.0.1:8000",
        region="eu-west-1",
        roleArn="arn:aws:iam::123456789012:role/reader",
    )
    assert (options.starting_position, options.ending_position) == ("latest", "1768474800000000")
    assert (options.max_records, options.max_bytes, options.max_partitions) == (100, 64 << 20, 4)
    assert (options.lateness, options.listing_seconds, options.fails_on_data_loss) == (None, 30.0, False)
    assert pickle.loads(pickle.dumps(options)) == options
    assert hash(options) == hash(pickle.loads(pickle.dumps(options)))


def test_naive_times_are_utc():
    assert parse(startingPosition="1970-01-02").starting_position == "86400000000"


def test_times_before_1970_are_times_too():
    for time in ("1960-01-01", "0001-01-02T00:00:00+14:00"):
        options = parse(startingPosition=time, endingPosition=time)
        assert (options.starting_position, options.ending_position) == ("0", "0")


def test_a_token_is_checked_at_once():
    token = {"streamiter": 1, "stream": "arn"}
    assert json.loads(parse(startingPosition=json.dumps(token)).starting_position) == token
    with pytest.raises(InvalidOption, match="startingPosition: .*newer streamiter"):
        parse(startingPosition=json.dumps({**token, "streamiter": 9}))
    with pytest.raises(InvalidOption, match="is no JSON"):
        parse(startingPosition="{'streamiter': 1}")


@pytest.mark.parametrize(
    "told, message",
    [
        ({"lateness": "-1"}, "lateness: takes a number of seconds"),
        ({"lateness": "soon"}, "lateness: takes a number of seconds"),
        ({"shardDiscoveryInterval": "0"}, "from 0.1 up"),
        ({"maxRecordsPerTrigger": "1e3"}, "whole number from 1 up, not '1e3'"),
        ({"maxBytesPerTrigger": "many"}, "such as 1048576 or 64m"),
        ({"failOnDataLoss": "no"}, "takes true or false"),
        ({"roleArn": "reader"}, "takes the ARN of a role"),
        ({"region": " "}, "region: is empty"),
        ({"startingPositions": "LATEST"}, "did you mean startingPosition?"),
        ({"streamArn": "arn"}, r"option('table', ...) or option('streamArn', ...), not both"),
        ({"table": ""}, "option table is empty"),
    ],
)
def test_what_cannot_be_is_told(told, message):
    with pytest.raises(InvalidOption) as raised:
        parse(**told)
    assert message in str(raised.value)


def test_a_stream_must_be_named():
    with pytest.raises(InvalidOption, match="say which stream is meant"):
        parse_options("dynamodb_streams", ("table", "streamArn"), {})


def test_a_stream_has_no_ending_position():
    options = parse(endingPosition="2026-01-15T12:00:00Z")
    with pytest.raises(InvalidOption, match="endingPosition is for batches"):
        StreamReader(options, standard_schema())
    StreamReader(parse(endingPosition="LATEST"), standard_schema())
