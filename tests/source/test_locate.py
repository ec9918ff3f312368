"""Where a stream is found: by object, table name, table ARN, stream ARN, URL."""

from __future__ import annotations

from urllib.parse import quote

import boto3
import pytest

from streamiter import DynamoDBStreams, InvalidOption, InvalidStream, Stream
from streamiter.locate import locate
from streamiter.testing import Simulator
from tests.stream.helpers import assert_all_came, drain, write


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    return sim


def read(sim: Simulator, source) -> None:
    with Stream(source, clock=sim.clock) as stream:
        assert_all_came(drain(stream, sim.clock, quiet=10), sim)
        assert stream.token["stream"] == sim.stream_arn


def options(sim: Simulator) -> dict:
    return {"endpoint_url": sim.endpoint_url, "region": "us-east-1"}


def test_by_stream_arn(users: Simulator):
    read(users, DynamoDBStreams(users.stream_arn, **options(users)))


def test_by_table_name(users: Simulator):
    read(users, DynamoDBStreams("users", **options(users)))


def test_by_table_arn(users: Simulator):
    read(users, DynamoDBStreams(users.table_arn, **options(users)))


def test_the_region_of_an_arn_serves_where_none_is_given(users: Simulator):
    read(users, DynamoDBStreams(users.table_arn, endpoint_url=users.endpoint_url))
    read(users, DynamoDBStreams(users.stream_arn, endpoint_url=users.endpoint_url))


@pytest.mark.parametrize("by", ["table name", "table ARN", "stream ARN"])
def test_by_a_client_of_the_callers_own(users: Simulator, by: str):
    """A streams client cannot describe a table: ListStreams finds the stream."""
    name = {"table name": "users", "table ARN": users.table_arn, "stream ARN": users.stream_arn}[by]
    read(users, DynamoDBStreams(name, client=users.client()))


def test_by_session(users: Simulator):
    session = boto3.session.Session(region_name="us-east-1")
    read(users, DynamoDBStreams("users", session=session, endpoint_url=users.endpoint_url))


@pytest.mark.parametrize("scheme", ["dynamodb", "DynamoDB"])
def test_by_url(users: Simulator, scheme: str):
    read(users, f"{scheme}://users?endpoint_url={users.endpoint_url}&region=us-east-1")
    read(users, f"{scheme}://users?endpoint_url={quote(users.endpoint_url, safe='')}&region=us-east-1")
    read(users, f"{scheme}://users/?region=us-east-1&endpoint_url={users.endpoint_url}")


def test_by_url_with_an_arn(users: Simulator):
    read(users, f"dynamodb://{users.table_arn}?endpoint_url={users.endpoint_url}")
    read(users, f"dynamodb://{users.stream_arn}?endpoint_url={users.endpoint_url}")
    read(users, f"dynamodb://{quote(users.stream_arn, safe='')}?endpoint_url={users.endpoint_url}")


def test_by_words_alone_with_the_environments_endpoint(users: Simulator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", users.endpoint_url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    read(users, "users")
    read(users, "dynamodb://users")
    read(users, users.table_arn)
    read(users, users.stream_arn)


def test_a_table_means_its_latest_stream(users: Simulator):
    old = users.stream_arn
    users.disable()
    users.clock.advance(60)
    users.enable("N1")
    assert DynamoDBStreams("users", **options(users)).name == users.stream_arn
    assert DynamoDBStreams(users.table_arn, **options(users)).name == users.stream_arn
    assert DynamoDBStreams("users", client=users.client()).name == users.stream_arn
    assert DynamoDBStreams(old, **options(users)).name == old


def test_the_latest_of_many_streams_is_found_by_a_streams_client(users: Simulator):
    for _ in range(3):
        users.disable()
        users.clock.advance(60)
        users.enable("N1")
    for number in range(120):  # more than a page of ListStreams
        users.create_table(f"other{number}", "S1")
    assert DynamoDBStreams("users", client=users.client()).name == users.stream_arn
    assert users.calls.total("ListStreams") >= 1


def test_a_table_whose_stream_is_disabled_is_readable_still(users: Simulator):
    users.disable()
    with Stream(DynamoDBStreams("users", **options(users)), clock=users.clock) as stream:
        assert_all_came(drain(stream, users.clock), users)
        assert stream.ended


def test_making_a_source_calls_nothing(users: Simulator):
    users.calls.clear()
    DynamoDBStreams("users", **options(users))
    DynamoDBStreams(users.stream_arn, **options(users))
    assert len(users.calls) == 0


def test_a_source_shows_what_it_is_of_and_no_more(users: Simulator):
    assert repr(DynamoDBStreams("users", **options(users))) == "DynamoDBStreams('users')"


# -- bad input


@pytest.mark.parametrize(
    "name",
    [
        "arn:aws:dynamodb",
        "arn:aws:dynamodb:us-east-1:123456789012:users",
        "arn:aws:kinesis:us-east-1:123456789012:table/users",
        "arn:aws:dynamodb:us-east-1:123456789012:table/",
        "arn:aws:dynamodb:us-east-1:123456789012:table/users/index/x",
        "arn:aws:dynamodb:us-east-1:123456789012:table/users/stream/",
    ],
)
def test_a_malformed_arn_says_what_one_looks_like(name: str):
    with pytest.raises(InvalidStream) as caught:
        DynamoDBStreams(name)
    assert name in str(caught.value)
    assert "arn:aws:dynamodb:REGION:ACCOUNT:table/NAME" in str(caught.value)
    assert "/stream/LABEL" in str(caught.value)
    with pytest.raises(InvalidStream):
        Stream(name)


@pytest.mark.parametrize("name", ["", "a b", "users;drop", "ü", "x" * 256, "users/stream", "users\n"], ids=repr)
def test_a_malformed_table_name_says_what_one_is(name: str):
    with pytest.raises(InvalidStream, match=r"is not a table's name: letters, digits, '_', '-' and '.', at most 255"):
        DynamoDBStreams(name)


@pytest.mark.parametrize(
    "url, says",
    [
        ("mysql://users", "'mysql' is not a source; the sources are dynamodb://TABLE, kinesis://STREAM"),
        ("http://127.0.0.1/users", "'http' is not a source"),
        ("://users", "is not a source; the sources are"),
        ("dynamodb://", "names no table: dynamodb://TABLE"),
        ("dynamodb:///", "names no table"),
        ("dynamodb://?region=x", "names no table"),
        ("dynamodb://users?regin=x", "no option 'regin'; its options are endpoint_url, region"),
        ("dynamodb://users?region", "options of a URL are written [?]name=value&name=value"),
        ("dynamodb://users?region=", "'region' is empty"),
        ("dynamodb://users?region=a&region=b", "'region' is given twice"),
        ("dynamodb://users?endpoint_url=127.0.0.1:8000", "endpoint_url is written http://HOST:PORT"),
        ("dynamodb://users?endpoint_url=ftp://x", "endpoint_url is written http://HOST:PORT"),
        ("dynamodb://us ers", "is not a table's name"),
        ("dynamodb://users/more", "is not a table's name"),
    ],
)
def test_a_malformed_url_says_what_is_wrong(url: str, says: str):
    with pytest.raises(InvalidStream, match=says):
        Stream(url)


@pytest.mark.parametrize(
    "url",
    [
        "dynamodb://ann:hunter2@users",
        "dynamodb://ann@users",
        "dynamodb://users?endpoint_url=http://ann:hunter2@127.0.0.1:8000",
        "dynamodb://users?endpoint_url=http://ann@127.0.0.1:8000",
    ],
)
def test_a_url_with_a_user_name_or_password_is_refused_and_not_repeated(url: str):
    with pytest.raises(
        InvalidStream, match="user name or password in it is refused: it would end up in logs"
    ) as caught:
        Stream(url)
    assert "hunter2" not in str(caught.value)


def test_an_endpoint_with_a_password_is_refused_as_an_argument_too():
    with pytest.raises((InvalidStream, InvalidOption), match="user name or password") as caught:
        DynamoDBStreams("users", endpoint_url="http://ann:hunter2@127.0.0.1:8000", region="us-east-1")
    assert "hunter2" not in str(caught.value)


def test_a_table_is_named_by_a_str():
    with pytest.raises(InvalidOption, match="a table is named by a str"):
        DynamoDBStreams(17)


@pytest.mark.parametrize(
    "more",
    [{"region": "us-east-1"}, {"endpoint_url": "http://127.0.0.1:1"}, {"session": boto3.session.Session()}],
    ids=lambda m: next(iter(m)),
)
def test_a_client_has_its_own_session_endpoint_and_region(users: Simulator, more: dict):
    with pytest.raises(InvalidOption, match="not both: a client has its own"):
        DynamoDBStreams("users", client=users.client(), **more)


def test_a_client_of_another_service_is_told_apart(users: Simulator):
    with pytest.raises(InvalidOption, match="client= takes a boto3 client of 'dynamodbstreams'"):
        DynamoDBStreams("users", client=users.client("dynamodb"))
    with pytest.raises(InvalidOption, match="client= takes a boto3 client of 'dynamodbstreams'"):
        DynamoDBStreams("users", client=object())


@pytest.mark.parametrize(
    "option", [{"region": 1}, {"endpoint_url": 1}, {"session": "default"}], ids=lambda o: next(iter(o))
)
def test_options_of_a_wrong_type_are_invalid_options(option: dict):
    with pytest.raises(InvalidOption, match=next(iter(option))):
        _ = DynamoDBStreams("users", **({"region": "us-east-1"} | option)).name


def test_an_endpoint_that_is_no_url_is_an_invalid_option(credentials):
    with pytest.raises((InvalidOption, InvalidStream), match="endpoint_url is written http://HOST:PORT"):
        _ = DynamoDBStreams("users", endpoint_url="nowhere", region="us-east-1").name


# -- what is not there


def test_an_unknown_table_with_names_near_it(users: Simulator):
    users.create_table("user_events", "S1")
    with pytest.raises(
        InvalidStream, match="there is no table userz in us-east-1 at http://127.0.0.1:[0-9]+; did you mean users"
    ) as caught:
        Stream(DynamoDBStreams("userz", **options(users)))
    assert isinstance(caught.value, ValueError)


def test_an_unknown_table_with_nothing_near_it(users: Simulator):
    with pytest.raises(
        InvalidStream, match="there is no table zzzzzzz in us-east-1 at http://[^;]+; the tables there are users"
    ):
        Stream(DynamoDBStreams("zzzzzzz", **options(users)))


def test_not_all_of_many_tables_are_named(users: Simulator):
    for number in range(5):
        users.create_table(f"orders{number}", "S1")
    told = (
        "there is no table zzzzzzz in [^;]+; the tables there are orders0, orders1, orders2, orders3, orders4 and more$"
    )
    with pytest.raises(InvalidStream, match=told):
        Stream(DynamoDBStreams("zzzzzzz", **options(users)))


def test_an_unknown_table_where_listing_is_not_permitted(users: Simulator):
    users.fault("ListTables", kind="access_denied", times=None)
    with pytest.raises(InvalidStream, match="there is no table userz in us-east-1 at [^;]*$"):
        Stream(DynamoDBStreams("userz", **options(users)))


def test_an_unknown_table_by_a_streams_client(users: Simulator):
    with pytest.raises(
        InvalidStream, match="there is no table userz in [^,]*, or it has no stream; enable one: aws dynamodb"
    ):
        Stream(DynamoDBStreams("userz", client=users.client()))


def test_a_table_without_a_stream_says_how_to_enable_one(users: Simulator):
    users.create_table("quiet", stream=False)
    for source in (DynamoDBStreams("quiet", **options(users)), DynamoDBStreams("quiet", client=users.client())):
        with pytest.raises(InvalidStream) as caught:
            Stream(source)
        assert "quiet" in str(caught.value)
        assert "aws dynamodb update-table" in str(caught.value)
        assert "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES" in str(caught.value)


def test_a_stream_arn_that_is_not_there(users: Simulator):
    arn = users.stream_arn.replace("2025", "2024")
    with (
        Stream(DynamoDBStreams(arn, **options(users)), clock=users.clock) as stream,
        pytest.raises(InvalidStream) as caught,
    ):
        drain(stream, users.clock)
    assert arn in str(caught.value)
    assert "not found" in str(caught.value)


def test_what_the_caller_says_goes_before_the_url():
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    session = boto3.session.Session(**keys, region_name="us-west-2")
    url = f"dynamodb://users?endpoint_url={quote('http://127.0.0.1:1')}&region=eu-west-1"
    with Simulator(ids="service") as sim:
        given = {"endpoint_url": sim.endpoint_url, "session": session}
        for name in (url, "users", sim.table_arn):
            assert locate(name, **given, region=None).name == sim.stream_arn
