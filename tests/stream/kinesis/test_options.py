"""Options of a Kinesis source, and what is said of a wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter import InvalidOption, InvalidStream, KinesisStreams, Stream
from streamiter.testing import KinesisHandle, Simulator
from tests.stream.helpers import drain
from tests.stream.kinesis.history import assert_came, in_order, write


@pytest.mark.parametrize(
    "options, says",
    [
        ({"records": "rows"}, "records= takes 'payload' or 'dynamodb', not 'rows'"),
        ({"duplicates": "maybe"}, "duplicates= takes 'keep' or 'drop', not 'maybe'"),
        ({"duplicates": "drop"}, "it goes with records='dynamodb'"),
        ({"reads_per_second": 0}, "reads_per_second= takes a number above 0, or None, not 0"),
        ({"bytes_per_second": "all"}, "bytes_per_second= takes a number above 0, or None, not 'all'"),
        ({"region": 1}, "region= takes a str"),
        ({"session": "x"}, "session= takes a boto3 Session"),
    ],
)
def test_options_of_a_wrong_type_are_invalid_options(options: dict[str, Any], says: str):
    with pytest.raises(InvalidOption) as caught:
        KinesisStreams("orders", **options)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "orders/x", "x" * 129, "arn:aws:kinesis:us-east-1:1:table/orders"])
def test_a_malformed_name_says_what_one_is(name: str):
    with pytest.raises(InvalidStream, match="is not a stream's name|is not the ARN of a Kinesis stream"):
        KinesisStreams(name)


def test_the_arn_of_a_consumer_names_its_stream():
    stream = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
    with pytest.raises(InvalidStream, match=f"is the ARN of a consumer; what is read is its stream: '{stream}'"):
        KinesisStreams(f"{stream}/consumer/app:1700000000")


def test_an_arn_of_another_region_than_the_clients_says_so(sim: Simulator, orders: KinesisHandle):
    source = KinesisStreams(orders.arn.replace("us-east-1", "eu-west-1"), client=sim.client("kinesis"))
    with pytest.raises(
        InvalidStream, match="in us-east-1 at http[^;]*; the client calls us-east-1, the ARN is of eu-west-1"
    ):
        Stream(source, clock=sim.clock)


def test_a_client_of_another_service_is_told_apart(sim: Simulator):
    with pytest.raises(InvalidOption, match="takes a boto3 client of 'kinesis'"):
        KinesisStreams("orders", client=sim.client("dynamodb"))
    with pytest.raises(InvalidOption, match="takes a boto3 client of 'kinesis'"):
        KinesisStreams("orders", client=sim.client("dynamodbstreams"))


@pytest.mark.outdoors
def test_by_arn_and_by_url(sim: Simulator, orders: KinesisHandle, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    write(sim, orders, "S0", "S1")
    by_client = KinesisStreams(orders.arn, client=sim.client("kinesis"))
    assert repr(by_client) == f"KinesisStreams({orders.arn!r})"
    monkeypatch.setenv("AWS_ENDPOINT_URL", sim.endpoint_url)
    url = f"kinesis://orders?endpoint_url={sim.endpoint_url}&region=us-east-1"
    for source in (by_client, url, orders.arn, f"kinesis://{orders.arn}"):
        with Stream(source, clock=sim.clock) as stream:
            assert_came(drain(stream, sim.clock, quiet=5), in_order(orders))


def test_an_unknown_stream_with_names_near_it(sim: Simulator, orders: KinesisHandle):
    with pytest.raises(InvalidStream, match=r"there is no stream order in us-east-1 at \S+; did you mean orders\?"):
        Stream(KinesisStreams("order", client=sim.client("kinesis")), clock=sim.clock)
