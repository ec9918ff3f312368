"""`close()` and the context manager: no thread, socket or file is left, and the token stays readable."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest
from botocore.config import Config

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_came, drain, in_order, soon, take, write

pytestmark = pytest.mark.outdoors

LONG = 60  # seconds


def descriptors() -> set[tuple[str, str]]:
    """What this process has open, sockets and files."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            continue  # the listing's own
    return {(number, target) for number, target in found if "/proc/" not in target}


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def new_since(before: tuple[set[threading.Thread], set[tuple[str, str]]]) -> set[object]:
    """What is there now and was not then. What other tests left behind may go at any moment."""
    return (threads() - before[0]) | (descriptors() - before[1])


def own_stream(sim: Simulator, **options) -> Stream:
    source = DynamoDBStreams(sim.stream_arn, endpoint_url=sim.endpoint_url, region="us-east-1")
    return Stream(source, clock=sim.clock, **options)


def test_nothing_is_left_after_close(served: Simulator):
    served.shape("S1 ~ S2 ~ S3")
    write(served, "S1", "S2", "S3")
    before = threads(), descriptors()
    stream = own_stream(served)
    drain(stream, served.clock)
    own = [thread for thread in threads() - before[0] if not thread.name.startswith("simulator")]
    assert own
    stream.close()
    assert not [thread for thread in own if thread.is_alive()]
    soon(lambda: not new_since(before))


def test_nothing_is_left_after_a_with_block_that_raises(served: Simulator):
    served.shape("S1")
    write(served, "S1")
    before = threads(), descriptors()
    with pytest.raises(ZeroDivisionError), own_stream(served) as stream:  # noqa: PT012
        take(stream, served.clock, 1)
        raise ZeroDivisionError
    soon(lambda: not new_since(before))


def test_nothing_is_left_of_a_call_that_hung_once_it_is_answered(served: Simulator):
    served.shape("S1 ~ S2")
    write(served, "S1", "S2")
    before = threads(), descriptors()
    fault = served.fault("GetRecords", "S1", kind="hang", times=None)
    stream = own_stream(served)
    thread = threading.Thread(target=lambda: list(stream.follow()), daemon=True)
    thread.start()
    soon(lambda: fault.served > 0)
    stream.close()
    thread.join(60)
    assert not thread.is_alive()
    fault.release()
    soon(lambda: not new_since(before))


def test_close_does_not_wait_for_a_call_that_hangs(sim: Simulator):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    client = sim.client(config=Config(read_timeout=10 * LONG))
    stream = Stream(DynamoDBStreams(sim.stream_arn, client=client), clock=sim.clock)
    take(stream, sim.clock, 2)
    fault = sim.fault("GetRecords", kind="hang", times=None)
    sim.clock.advance(10)
    thread = threading.Thread(target=lambda: list(stream.follow()), daemon=True)
    thread.start()
    soon(lambda: fault.served > 0)
    closing = threading.Thread(target=stream.close, daemon=True)
    closing.start()
    closing.join(LONG)
    assert not closing.is_alive(), "it waits for a call that is given up much later"
    fault.release()
    thread.join(LONG)


def test_close_may_be_called_again(open_stream: Open):
    stream = open_stream()
    stream.close()
    stream.close()


def test_a_stream_never_used_leaves_nothing(served: Simulator):
    before = threads(), descriptors()
    own_stream(served).close()
    assert not new_since(before)


def test_the_token_stays_readable(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    stream = open_stream()
    take(stream, sim.clock, 3)
    before = stream.token
    stream.close()
    assert stream.token == before
    assert stream.stats.records == 3
    assert_came(drain(open_stream(stream.token), sim.clock), in_order(sim)[3:], clock=3)


def test_a_client_that_was_passed_in_is_its_owners(sim: Simulator):
    sim.shape("S1")
    client = sim.client()
    with Stream(DynamoDBStreams(sim.stream_arn, client=client), clock=sim.clock) as stream:
        next(stream)
    assert client.describe_stream(StreamArn=sim.stream_arn)["StreamDescription"]["StreamArn"] == sim.stream_arn


def test_the_context_manager_gives_the_stream_itself(open_stream: Open):
    stream = open_stream()
    with stream as inside:
        assert inside is stream


def test_a_closed_stream_is_not_kept_alive(served: Simulator):
    served.shape("S1")
    write(served, "S1")
    stream = own_stream(served)
    drain(stream, served.clock, quiet=5)
    stream.close()
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None


def test_a_constructor_that_fails_leaves_nothing(served: Simulator):
    served.shape("S1")
    before = threads(), descriptors()
    served.fault("DescribeStream", kind="access_denied", times=None)
    with pytest.raises(Exception, match="DescribeStream"):
        Stream(
            DynamoDBStreams(served.stream_arn, endpoint_url=served.endpoint_url, region="us-east-1"),
            "latest",
            clock=served.clock,
        )
    soon(lambda: gc.collect() >= 0 and not new_since(before))


def test_a_constructor_that_cannot_find_the_table_leaves_nothing(served: Simulator):
    before = threads(), descriptors()
    with pytest.raises(Exception, match="there is no table nowhere"):
        Stream(DynamoDBStreams("nowhere", endpoint_url=served.endpoint_url, region="us-east-1"), clock=served.clock)
    soon(lambda: gc.collect() >= 0 and not new_since(before))
