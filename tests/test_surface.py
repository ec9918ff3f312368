"""The public surface is small, and pinned here: whoever changes it does so on purpose."""

import ast
import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import streamiter

SURFACE = {
    "write": {"Topic"},
    "process": {"App", "Halt", "Ignore", "Quarantine", "Retry"},
    "iterate": {"Stream", "AsyncStream", "Batch", "TokenFile"},
    "what it tells": {
        "Event",
        "GapFound",
        "GapAccepted",
        "LateRecord",
        "RecordAhead",
        "CallFailed",
        "Progress",
        "Stats",
    },
    "sources": {"DynamoDBStreams", "KinesisStreams", "Source", "Page", "ShardPage", "ShardIterator"},
    "values": {"Clock", "Lineage", "Record", "ChangeRecord", "KinesisRecord", "KinesisChange", "LogRecord", "Shard"},
    "errors": {
        "AccessDenied",
        "CredentialsMissing",
        "InvalidOption",
        "InvalidPosition",
        "InvalidStream",
        "InvalidToken",
        "MissingExtra",
        "PoisonRecord",
        "RecordsExpired",
        "SendFailed",
        "SourceError",
        "StreamiterError",
        "Throttled",
        "TokenFileError",
        "TransientError",
        "UnreadableRecord",
        "ValueMisfit",
    },
}


def test_the_surface_is_what_is_written_here():
    rooms = {
        "clock",
        "errors",
        "lineage",
        "locate",
        "log",
        "merge",
        "position",
        "record",
        "shard",
        "source",
        "stream",
        "testing",
        "token",
        "tokenfile",
        "moments",
        "topic",
    }
    rooms |= {"aio", "app", "store", "lease", "cli", "demo", "images", "metrics", "spark"}
    public = {name for name in dir(streamiter) if not name.startswith("_")} - rooms
    assert public == set().union(*SURFACE.values())


def test_every_public_name_says_what_it_promises():
    for name in set().union(*SURFACE.values()):
        assert (getattr(streamiter, name).__doc__ or "").strip(), name


def test_every_error_is_one_of_ours():
    for name in SURFACE["errors"]:
        assert issubclass(getattr(streamiter, name), streamiter.StreamiterError)


def test_errors_that_python_has_a_name_for_are_these_too():
    assert issubclass(streamiter.InvalidPosition, ValueError)
    assert issubclass(streamiter.InvalidStream, ValueError)
    assert issubclass(streamiter.RecordsExpired, LookupError)
    assert issubclass(streamiter.MissingExtra, ImportError)


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh Python has loaded once it ran this."""
    told = f"import sys; {code}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=250)
    return set(done.stdout.split())


def test_the_names_are_loaded_when_somebody_asks_for_them():
    assert not {"boto3", "botocore", "arrow", "msgspec", "asyncio"} & loaded_by("import streamiter")
    assert not {"boto3", "arrow", "msgspec"} & loaded_by("from streamiter import InvalidToken, Clock")
    assert "boto3" in loaded_by("from streamiter import Stream")
    assert "asyncio" not in loaded_by("from streamiter import Stream; Stream")
    assert "asyncio" in loaded_by("from streamiter import App")


def test_what_checkers_read_is_what_is_loaded():
    tree = ast.parse(Path(streamiter.__file__).read_text("utf-8"))
    (listed,) = (node for node in tree.body if isinstance(node, ast.If))
    for told in listed.body:
        assert isinstance(told, ast.ImportFrom)
        (name,) = told.names
        assert name.asname == name.name
        assert getattr(streamiter, name.name).__name__ == name.name
        assert getattr(streamiter, name.name) is getattr(sys.modules[told.module], name.name)
    assert sorted(told.names[0].name for told in listed.body) == sorted(streamiter.__all__)


def test_a_star_brings_the_surface_and_no_more():
    names: dict[str, object] = {}
    exec("from streamiter import *", names)
    assert set(names) - {"__builtins__"} == set().union(*SURFACE.values())


def test_rooms_are_there_without_an_import_of_their_own():
    assert "streamiter.errors" in loaded_by("import streamiter; streamiter.errors.InvalidToken")
    assert "streamiter.stream" in loaded_by("import streamiter; streamiter.stream.Stream")


def test_a_name_that_there_is_not_is_said_as_python_says_it():
    with pytest.raises(AttributeError, match="module 'streamiter' has no attribute 'Streem'") as caught:
        streamiter.Streem  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("Streem", streamiter)
    with pytest.raises(ImportError):
        exec("from streamiter import Streem")


def test_values_are_pickled_by_where_they_live():
    shard = streamiter.Shard("S1", ("S0",))
    assert pickle.loads(pickle.dumps(shard)) == shard
    assert pickle.loads(pickle.dumps(streamiter.Stream)) is streamiter.Stream


@pytest.mark.parametrize(
    "error",
    [
        streamiter.InvalidToken("it is torn", where="$.lanes", hint="take another"),
        streamiter.RecordsExpired("S1", "record 7", reason="trimmed"),
        streamiter.PoisonRecord("S1", "7", "Order", ValueError()),
        streamiter.MissingExtra("pyspark", "spark"),
        streamiter.Throttled("slow down"),
        streamiter.SendFailed("orders", [(0, 1), None], [1], streamiter.Throttled("slow down")),
    ],
)
def test_errors_go_from_process_to_process(error: streamiter.StreamiterError):
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))
