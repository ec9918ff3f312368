"""Properties: Java's syntax, the KCL's names, what is refused and what is told."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime

import pytest

from streamiter.errors import InvalidOption
from streamiter.multilang.daemon import name_of, plan_of
from streamiter.multilang.properties import parse, read_properties
from streamiter.store.kcl import KCLStore

LEAST = f"executableName = {sys.executable} child.py\napplicationName = shop-app\nstreamName = clicks\n"


def test_the_syntax_is_javas():
    text = (
        "# a comment\n! another\n\n  a = 1\nb:2\r\nc 3\nd\ne=one \\\n   two\\\\\nf\\ g\\:h=\\u00e9\\t.\nlong=a\\\n#b\n"
        "last = 1\nlast = 2\n"
    )
    assert parse(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "",
        "e": "one two\\",
        "f g:h": "\u00e9\t.",
        "long": "a#b",
        "last": "2",
    }


def test_a_file_becomes_a_plan():
    content = LEAST + (
        "regionName = eu-west-1\nkinesisEndpoint = http://127.0.0.1:1\ndynamoDBEndpoint = http://127.0.0.1:2\n"
        "initialPositionInStream = TRIM_HORIZON\nmaxRecords = 500\nidleTimeBetweenReadsInMillis = 200\n"
        "failoverTimeMillis = 2000\nshutdownGraceMillis = 5000\ntimeoutInSeconds = 60\nworkerId = w1\n"
        "AWSCredentialsProvider = DefaultAWSCredentialsProviderChain\nmetricsLevel = NONE\n"
        "callProcessRecordsEvenForEmptyRecordList = true\n"
    )
    plan = plan_of(read_properties(content.encode()))
    assert (plan.name, list(plan.sources), plan.start, plan.records) == ("shop-app", ["clicks"], "trim_horizon", 500)
    assert (plan.failover, plan.grace, plan.worker_id, plan.wants_empty) == (2.0, 5.0, "w1", True)
    assert plan.command.seconds == 60 and list(plan.command.words) == [sys.executable, "child.py"]
    assert plan.sources["clicks"].poll_interval == 0.2
    assert isinstance(plan.store, KCLStore) and "shop-app" in repr(plan.store)


def test_where_nothing_is_said_the_kcls_start_is_the_latest():
    plan = plan_of(read_properties(LEAST.encode()))
    assert plan.start == "latest" and plan.grace == 30 and plan.command.seconds is None
    at = plan_of(read_properties((LEAST + "initialPositionInStreamExtended = 1795077443\n").encode()))
    assert at.start == datetime.fromtimestamp(1795077443, UTC)


def test_unknown_names_are_told_and_needless_ones_say_why():
    found = read_properties((LEAST + "streamNme = x\nmetricsLevel = NONE\n").encode())
    assert found.notes[0] == "streamNme is no property that we know, and is ignored: streamName?"
    assert found.notes[1] == "metricsLevel is ignored: no metrics are sent to CloudWatch"


@pytest.mark.parametrize(
    "more, says",
    [
        ("maxRecords = many", "maxRecords = many: it takes a whole number, from 1 to 10000"),
        ("maxRecords = 10001", "from 1 to 10000"),
        ("maxRecords = \u0663", "from 1 to 10000"),
        ("timeoutInSeconds = 0", "timeoutInSeconds = 0: it takes a whole number, 1 or more"),
        ("initialPositionInStreamExtended = 1795077443237", "seconds since 1970, not milliseconds"),
        ("regionName = eu west 1", "it is a region, such as eu-west-1"),
        ("kinesisEndpoint = 127.0.0.1:4567", "it is a URL: http://HOST:PORT"),
        ("dynamoDBEndpoint = ftp://x", "it is a URL: http://HOST:PORT"),
        ("streamName = a/b", "it is a stream's name"),
        ("streamArn = clicks", "it is the ARN of a Kinesis stream"),
        ("streamArn = arn:aws:sqs:eu-west-1:123456789012:clicks", "it is the ARN of a Kinesis stream"),
        ("workerId = C:\\users", "behind \\u there are four hexadecimal digits"),
        ("maxRecords = 0", "maxRecords = 0"),
        ("failoverTimeMillis = 10", "1000 or more"),
        ("initialPositionInStream = NOW", "it is TRIM_HORIZON, LATEST, or AT_TIMESTAMP"),
        ("initialPositionInStream = AT_TIMESTAMP", "initialPositionInStreamExtended says when"),
        ("AwsCredentialsProvider = com.shop.Mine", "Write DefaultCredentialsProvider"),
        ("callProcessRecordsEvenForEmptyRecordList = yes", "it is true or false"),
        ("applicationName = a/b", "it names a DynamoDB table"),
        ("executableName =", "executableName is missing"),
        ("streamName =", "streamName or streamArn is missing"),
        ("retrievalMode = PUSH", "it is POLLING, FANOUT or DEFAULT"),
    ],
)
def test_a_wrong_one_is_refused(more: str, says: str):
    with pytest.raises(InvalidOption, match=re.escape(says)):
        read_properties((LEAST + more + "\n").encode())


def test_the_mark_that_editors_put_before_a_text_is_no_part_of_it():
    content = b"\xef\xbb\xbf" + LEAST.replace("\n", "\r\n").encode()
    assert read_properties(content) == read_properties(LEAST.encode())


def test_positions_are_known_in_any_case():
    found = read_properties((LEAST + "initialPositionInStream = trim_horizon\n").encode())
    assert plan_of(found).start == "trim_horizon"


def test_a_backslash_alone_on_its_line_begins_nothing():
    """As Java reads it (compared by hand over 40,000 texts)."""
    assert parse("\\\n\n# a comment\na = b") == {"a": "b"}


def test_a_program_that_is_not_there_is_told_before_anything_begins():
    with pytest.raises(InvalidOption, match="there is no program 'no-such-thing' that can be run"):
        plan_of(read_properties(LEAST.replace(sys.executable, "no-such-thing").encode()))


@pytest.mark.parametrize(
    "url, name",
    [
        ("kinesis://clicks?region=eu-west-1", "clicks"),
        ("dynamodb://users", "users"),
        ("arn:aws:kinesis:eu-west-1:1:stream/clicks", "clicks"),
        ("arn:aws:dynamodb:eu-west-1:1:table/users/stream/2026-01-01T00:00:00.000", "users"),
        ("sqlite:///orders.db?topic=orders", "orders"),
        ("redis://127.0.0.1:6379/orders", "orders"),
        ("users", "users"),
    ],
)
def test_leases_are_kept_under_the_streams_own_name(url: str, name: str):
    assert name_of(url) == name
