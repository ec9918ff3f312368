"""What streamiter logs: one logger a room that acts, the levels that docs/operating.md names, never images or keys."""

from __future__ import annotations

import ast
import logging
import re
from functools import cache
from pathlib import Path

import pytest

import streamiter
from streamiter import DynamoDBStreams, Stream, TransientError
from streamiter.stream.starting import look_up
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import drain, drain_over_gaps, take, write

PACKAGE = Path(streamiter.__file__).parent
PURE = {"lineage", "merge", "record", "shard", "position", "token", "images", "errors", "clock"}
SECRETS = ("ann-the-key", "old-secret", "new-secret", "attribute-name")


@cache
def loggers() -> dict[str, set[str]]:
    """The names that getLogger is called with, by room."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "getLogger" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("logging.getLogger", "getLogger"):
                room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
                found.setdefault(room, set()).update(ast.literal_eval(argument) for argument in node.args)
    return found


def test_a_room_has_one_logger_of_its_name_and_pure_ones_have_none():
    assert {"source", "stream"} <= loggers().keys()
    assert not loggers().keys() & PURE
    for room, names in loggers().items():
        # The command line sets levels, too: for all of them. The sources ask whether anybody reads botocore's own log.
        others = {"cli": {"streamiter"}, "source": {"botocore"}}.get(room, set())
        assert names - others <= {f"streamiter.{room}"}


def test_nothing_that_records_hold_is_ever_logged(sim: Simulator, open_stream: Open, caplog):
    caplog.set_level(logging.DEBUG, logger="streamiter")
    sim.shape("S0 => {S1, S2}")
    image = {"id": SECRETS[0], SECRETS[3]: SECRETS[2]}
    for shard in ("S0", "S1", "S2") * 3:
        sim.put(shard, key=SECRETS[0], new=image, old={"id": SECRETS[0], "it": SECRETS[1]})
    sim.fault("GetRecords", kind="throttle", times=2)
    sim.fault("GetRecords", kind="bad_json", after=3, times=2)
    sim.fault("GetRecords", kind="bad_crc", after=5, times=1)
    sim.fault("GetRecords", kind="cut", after=6, times=1)
    stream = open_stream(on_gap="skip", model=lambda image: 1 / 0, on_event=lambda event: 1 / 0)
    with pytest.raises(streamiter.PoisonRecord):
        take(stream, sim.clock, 1)
    plain = open_stream(on_gap="skip")
    drain(plain, sim.clock)
    sim.trim("S1")
    sim.put("S1", key=SECRETS[0], new=image)
    drain(open_stream(stream.token, on_gap="skip"), sim.clock)
    text = caplog.text
    assert len(text.splitlines()) > 20
    for secret in SECRETS:
        assert secret not in text


def test_a_row_of_failures_is_told_at_info_once_and_when_it_is_over(sim: Simulator, open_stream: Open, caplog):
    caplog.set_level(logging.DEBUG, logger="streamiter")
    sim.shape("S1")
    write(sim, "S1")
    sim.fault("GetRecords", "S1", kind="throttle", times=3)
    drain(open_stream(), sim.clock)
    lines = [line for line in caplog.records if line.getMessage().startswith("shard S1: ")]
    told = [(line.levelname, line.getMessage()) for line in lines if "asked again" in line.getMessage()]
    assert [level for level, _ in told] == ["INFO", "DEBUG", "DEBUG"]
    (over,) = [line for line in lines if "answers again" in line.getMessage()]
    assert over.levelname == "INFO"
    assert "after 3 calls" in over.getMessage()


def test_a_gap_accepted_by_an_option_is_a_warning_one_accepted_by_hand_is_not(
    sim: Simulator, open_stream: Open, caplog
):
    caplog.set_level(logging.INFO, logger="streamiter.stream")
    sim.shape("S1")
    write(sim, "S1", rounds=5)
    stream = open_stream()
    take(stream, sim.clock, 1)
    token = stream.token
    sim.trim("S1")
    drain(open_stream(token, on_gap="skip"), sim.clock)
    drain_over_gaps(open_stream(token), sim.clock)
    told = [(line.levelname, line.getMessage()[:13]) for line in caplog.records if "gap" in line.getMessage()]
    by_option, by_hand = told[:2], told[2:]
    assert by_option == [("INFO", "gap found: re"), ("WARNING", "gap accepted:")]
    assert by_hand == [("INFO", "gap found: re"), ("INFO", "gap accepted:")]


def test_a_row_of_failures_is_a_warning_once_when_it_lasts(sim: Simulator, open_stream: Open, caplog):
    sim.shape("S1 ~ S2 ~ S3")
    sim.fault("GetRecords", kind="500", times=None)
    stream = open_stream(patience=20)
    with pytest.raises(TransientError):
        drain(stream, sim.clock)
    lines = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert len(lines) == 1, "three shards fail alike: one warning a minute is enough"
    assert re.match("shard S[123]: nothing but errors for [5-9] s; an error is raised after 20 s of them", lines[0])


def test_a_warning_counts_only_for_how_long_a_shard_was_tried(sim: Simulator, open_stream: Open, caplog):
    """Between two calls that failed the caller was away for an hour."""
    sim.shape("S1")
    sim.fault("GetRecords", kind="500", times=None)
    stream = open_stream(patience=600)
    drain(stream, sim.clock, quiet=2)
    sim.clock.advance(3600)
    drain(stream, sim.clock, quiet=30)
    (line,) = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert re.match("shard S1: nothing but errors for [1-4]?[0-9] s;", line)


def test_a_constructor_that_waits_for_the_listing_says_so(sim: Simulator, caplog):
    sim.shape("S1")
    sim.fault("DescribeStream", kind="500", times=None)
    source = DynamoDBStreams(sim.stream_arn, client=sim.client())
    with pytest.raises(
        TransientError, match="listing the shards gave nothing but errors for 60 s .* the same call goes on"
    ):
        Stream(source, "latest", clock=sim.clock)
    (line,) = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert re.match("listing the shards: nothing but errors for [5-9] s; an error is raised after 60 s of them", line)


def test_late_records_are_told_at_info(sim: Simulator, open_stream: Open, caplog):
    caplog.set_level(logging.INFO, logger="streamiter.stream")
    sim.shape("S1 ~ S2")
    sim.put("S1", created=sim.clock.now())
    stream = open_stream()
    take(stream, sim.clock, 1)
    late = [sim.put("S2", created=sim.clock.now() - 100) for _ in range(3)]
    assert len(drain(stream, sim.clock, quiet=10)) == 3
    told = [line.getMessage() for line in caplog.records if line.getMessage().startswith("late")]
    assert len(told) == 3
    assert all(record.sequence_number in line for record, line in zip(late, told, strict=False))


def test_which_stream_a_table_has_is_told_by_the_source(served: Simulator, caplog):
    caplog.set_level(logging.INFO, logger="streamiter.source")
    with Stream(DynamoDBStreams("users", endpoint_url=served.endpoint_url, region="us-east-1"), clock=served.clock):
        pass
    (line,) = caplog.records
    assert served.stream_arn in line.getMessage()


def test_a_lookup_that_fails_at_first_is_told(served: Simulator, caplog):
    caplog.set_level(logging.INFO, logger="streamiter.stream")
    served.fault("DescribeTable", kind="500", times=None)
    source = DynamoDBStreams("users", endpoint_url=served.endpoint_url, region="us-east-1")
    with pytest.raises(TransientError):
        Stream(source, clock=served.clock, patience=3)
    assert [line for line in caplog.records if "looked up" in line.getMessage()]


def test_a_constructor_that_waits_for_the_lookup_says_so(sim: Simulator, caplog):
    class Unreachable:
        name = property(lambda _: (_ for _ in ()).throw(TransientError("nothing answers")))

    with pytest.raises(TransientError):
        look_up(Unreachable(), sim.clock, 20)
    (line,) = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert re.match(
        r"the stream cannot be looked up for [5-7] s now; an error is raised after 20 s; .*: nothing answers", line
    )
