"""A process that is forked off has none of its parent's threads: it refuses to read, by name, and tells how to go on."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

FORKING = """
import json, os, sys, threading
from itertools import islice
from streamiter.testing import ManualClock
from streamiter import StreamiterError
from tests.stream.family import family, numbers, read

TURNS = {
    "next": lambda stream: next(stream),
    "follow": lambda stream: next(stream.follow()),
    "batches": lambda stream: next(stream.batches(1)),
    "to_arrow": lambda stream: stream.to_arrow(),
    "move_to": lambda stream: stream.move_to("trim_horizon"),
    "skip": lambda stream: stream.skip(),
    "heartbeat": lambda stream: stream.heartbeat(),
}


def child(stream, following):
    told = {"left": numbers(following) if following else []}
    for name, turn in TURNS.items():
        try:
            turn(stream)
        except StreamiterError as error:
            told[name] = str(error)
    told["token"], told["records"], told["ended"] = stream.token, stream.stats.records, stream.ended
    stream.close()
    with read(family(), stream.token) as anew:
        told["anew"] = numbers(list(anew.follow()))
    return told


def forked(stream, following=None):
    receive, send = os.pipe()
    if os.fork() == 0:
        try:
            os.write(send, json.dumps(child(stream, following)).encode())
        except BaseException as error:
            os.write(send, json.dumps(repr(error)).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        told = json.loads(pipe.read())
    os.wait()
    return told


def between_records():
    with read(family()) as stream:
        following = stream.follow()
        came = numbers(islice(following, 6))
        told = forked(stream)
        return told, came, came + numbers(following)


def in_the_middle_of_a_run():
    with read(family()) as stream:
        following = stream.follow()
        came = numbers(islice(following, 2))
        told = forked(stream, following=map(lambda record: record, list_of(following)))
        return told, came, came + numbers(following)


def list_of(following):
    while True:
        try:
            yield next(following)
        except (StreamiterError, StopIteration):
            return


def while_it_rests():
    found = []

    class Hooked(ManualClock):
        def sleep(self, seconds):
            super().sleep(seconds)
            if not found:
                found.append(None)
                found[0] = (forked(stream), stream.token.get("clock", 0))

    with read(family(), clock=Hooked()) as stream:
        came = numbers(stream.follow())
        told, before = found[0]
        return told, came[:before], came


def while_another_thread_looks():
    looking, done = threading.Event(), threading.Event()

    def look():
        with stream._course.driver.lock:
            looking.set()
            done.wait(60)

    with read(family()) as stream:
        following = stream.follow()
        came = numbers(islice(following, 6))
        thread = threading.Thread(target=look)
        thread.start()
        looking.wait(60)
        told = forked(stream)
        done.set()
        thread.join()
        return told, came, came + numbers(following)


print(json.dumps(globals()[sys.argv[1]]()))
"""


@pytest.mark.outdoors
@pytest.mark.parametrize(
    "when", ["between_records", "in_the_middle_of_a_run", "while_it_rests", "while_another_thread_looks"]
)
def test_the_child_refuses_and_the_parent_goes_on(when: str):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, when], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    told, came, all_of_them = json.loads(done.stdout)
    assert all_of_them == list(range(1, 13)), "the parent goes on"
    assert isinstance(told, dict), told
    assert told["left"] == []
    for name in ("next", "follow", "batches", "to_arrow", "move_to", "skip", "heartbeat"):
        assert told[name].startswith(f"{name}() of shelf: this Stream was made in process")
        assert "Stream(source, token)" in told[name]
    assert (told["token"].get("clock", 0), told["records"], told["ended"]) == (len(came), len(came), False)
    assert told["anew"] == all_of_them[len(came) :]
