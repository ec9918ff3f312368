"""A role: taken on by the process that reads, and renewed before its credentials end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from streamiter import AccessDenied
from streamiter.spark.batch import BatchReader
from streamiter.spark.columns.columns import standard_schema
from streamiter.spark.formats import make_source
from streamiter.spark.machine.credentials import role_session
from streamiter.spark.options import Options
from streamiter.spark.tasks import worker
from streamiter.testing import Simulator
from tests.spark.conftest import CREDENTIALS

ROLE = "arn:aws:iam::123456789012:role/reader"
ANSWER = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIAROLE{number}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken>
<Expiration>{until}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""
REFUSAL = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Code>AccessDenied</Code>
<Message>not you</Message></Error></ErrorResponse>"""


class Sts:
    """A token service that counts, and says how long its credentials live."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.minutes = 60.0
        self.refuses = False
        outer = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.asked.append(self.rfile.read(int(self.headers["Content-Length"])))
                until = (datetime.now(UTC) + timedelta(minutes=outer.minutes)).isoformat()
                body = REFUSAL if outer.refuses else ANSWER.format(number=len(outer.asked), until=until)
                self.send_response(403 if outer.refuses else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)


@pytest.fixture
def sts(monkeypatch) -> Iterator[Sts]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    service = Sts()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{service.server.server_port}")
    thread = threading.Thread(target=service.server.serve_forever, args=(0.01,))
    thread.start()
    yield service
    service.server.shutdown()
    thread.join()
    service.server.server_close()


def test_calls_are_made_by_the_role_and_nobody_asks_before_the_first(sts):
    with Simulator("S0", ids="service") as sim:
        options = Options("dynamodb_streams", "users", endpoint_url=sim.endpoint_url, region="us-east-1", role_arn=ROLE)
        source = make_source(options)
        assert sts.asked == []
        assert source.name == sim.stream_arn
        [shard] = source.list_shards(None).shards
        assert shard.id == sim.shard_id("S0")
        source.close()
    assert len(sts.asked) == 1
    assert b"RoleSessionName=streamiter-spark" in sts.asked[0]


@pytest.mark.parametrize("role", [None, ROLE])
@pytest.mark.parametrize("format_name, subject", [("dynamodb_streams", "users"), ("kinesis_streams", "clicks")])
def test_executors_need_no_region_in_their_environment(sts, monkeypatch, format_name, subject, role):
    """The planner has found the stream's ARN, which tells it."""
    with Simulator("S0", ids="service") as sim:
        sim.create_stream("clicks", "S0")
        options = Options(format_name, subject, endpoint_url=sim.endpoint_url, role_arn=role)
        name = make_source(options).name
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        source = make_source(options, name)
        assert len(source.list_shards(None).shards) == 1
        source.close()


def test_credentials_are_renewed_before_they_end(sts):
    session = role_session(ROLE, "us-east-1")
    assert session.get_credentials().get_frozen_credentials().access_key == "ASIAROLE1"
    assert session.get_credentials().get_frozen_credentials().access_key == "ASIAROLE1"
    sts.minutes = 5
    session = role_session(ROLE, "us-east-1")
    session.get_credentials().get_frozen_credentials()
    sts.minutes = 60
    assert session.get_credentials().get_frozen_credentials().access_key == "ASIAROLE3", "five minutes are few"


def test_a_role_that_is_refused_names_the_action(sts):
    sts.refuses = True
    with Simulator("S0", ids="service") as sim:
        options = Options("dynamodb_streams", "users", endpoint_url=sim.endpoint_url, region="us-east-1", role_arn=ROLE)
        with pytest.raises(AccessDenied, match="sts:AssumeRole: AccessDenied: not you"):
            _ = make_source(options).name


def test_a_worker_whose_credentials_are_refused_asks_for_those_of_the_moment(monkeypatch):
    """They may have been written anew in the meantime; a worker serves many tasks."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with Simulator("S0 => S1", ids="service") as sim:
        sim.put("S0")
        options = Options("dynamodb_streams", sim.stream_arn, endpoint_url=sim.endpoint_url)
        reader = BatchReader(options, standard_schema())
        [partition] = reader.partitions()
        assert sum(batch.num_rows for batch in reader.read(partition)) == 1
        kept, _ = worker._source_of(options, sim.stream_arn)
        assert sum(batch.num_rows for batch in reader.read(partition)) == 1
        assert worker._source_of(options, sim.stream_arn)[0] is kept
        sim.fault("GetShardIterator", kind="expired_token")
        with pytest.raises(AccessDenied):
            list(reader.read(partition))
        assert sum(batch.num_rows for batch in reader.read(partition)) == 1
        assert worker._source_of(options, sim.stream_arn)[0] is not kept
