"""Topics over real logs: what is sent comes out, in the order of each key, also when it was sent by several at once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamiter import Stream, Topic
from streamiter.cli.sending.marks import ends_of, lines_behind, mark_of
from streamiter.topic.routing import partition_of
from tests.store import servers


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/orders.db?topic=orders"
    return f"redis://127.0.0.1:{request.getfixturevalue('port')}/orders?app={tmp_path.name}"


@pytest.fixture
def topic(url: str) -> Iterator[Topic]:
    made = Topic(url, partition_by="key", partitions=4)
    yield made
    made.close()


def read(topic: Topic) -> dict[str, list[int]]:
    found = defaultdict(list)
    with Stream(topic) as stream:
        for record in stream.follow(until="caught_up"):
            assert record.shard_id == str(partition_of(record.payload["key"], 4))
            found[record.payload["key"]].append(record.payload["n"])
    return found


def test_many_come_out_in_the_order_of_each_key(topic: Topic):
    topic.sendmany({"key": f"k{number % 7}", "n": number} for number in range(5000))
    found = read(topic)
    assert sorted(number for numbers in found.values() for number in numbers) == list(range(5000))
    assert all(numbers == sorted(numbers) for numbers in found.values())


def test_threads_and_tasks_send_at_once(topic: Topic):
    def send(name: str) -> None:
        for number in range(50):
            topic.send({"key": name, "n": number})

    async def send_all() -> None:
        await asyncio.gather(*[topic.send({"key": "tasks", "n": number}) for number in range(200)])

    threads = [threading.Thread(target=send, args=(f"thread {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    asyncio.run(send_all())
    for thread in threads:
        thread.join()
    found = read(topic)
    assert found.pop("tasks") == list(range(200))
    assert all(numbers == list(range(50)) for numbers in found.values())
    assert len(found) == 4


def test_a_topic_is_closed_by_its_readers_and_goes_on(topic: Topic):
    for number in range(10):
        topic.send({"key": "a", "n": number})
        assert read(topic)["a"] == list(range(number + 1))  # the Stream closes its source in the end
    topic.close(), topic.close()
    topic.send({"key": "a", "n": 10})


def test_a_token_of_the_topic_is_one_of_its_log(topic: Topic, url: str):
    topic.sendmany([{"key": "a", "n": number} for number in range(10)])
    with Stream(topic) as stream:
        first = [next(stream).payload["n"] for _ in range(4)]
        token = stream.token
    with Stream(url, token) as stream:
        rest = [record.raw_payload for record in stream.follow(until="caught_up")]
    assert len(first) + len(rest) == 10


def test_a_process_that_was_forked_off_sends_by_itself(topic: Topic):
    topic.send({"key": "a", "n": 0})
    child = os.fork()
    if child == 0:
        os._exit(0 if topic.send({"key": "a", "n": 1}).number else 1)
    assert os.waitpid(child, 0)[1] == 0
    topic.send({"key": "a", "n": 2})
    assert read(topic)["a"] == [0, 1, 2]


def test_another_process_sends_to_the_same_partitions(topic: Topic, url: str):
    topic.send({"key": "a", "n": 0})
    code = f"from streamiter import Topic; t = Topic({url!r}, partition_by='key'); t.send({{'key': 'a', 'n': 1}}); t.close()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert read(topic)["a"] == [0, 1]


def test_what_an_import_wrote_is_found_behind_where_the_topic_ended(topic: Topic):
    empty = ends_of(topic)
    feed = topic.feed()
    for number in range(1, 2501):
        if number == 1001:
            assert feed.finish(60)
            middle = ends_of(topic)
        feed.put_json(b'{"key": %d, "n": 0}' % number, headers=mark_of("run", number))
    feed.put_json(b'{"key": 1, "n": 1}', headers=mark_of("other", 1))
    topic.send({"key": 1, "n": 2})
    assert feed.finish(60)
    assert lines_behind(topic, "run", empty) == set(range(1, 2501))
    assert lines_behind(topic, "run", middle) == set(range(1001, 2501))
    assert lines_behind(topic, "run", ends_of(topic)) == set()
