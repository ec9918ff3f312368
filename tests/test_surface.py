"""The public surface is small, and pinned here: whoever changes it does so on purpose."""

import streamiter

SURFACE = {
    "iterate": {"Stream", "Batch"},
    "what it tells": {"Event", "GapFound", "GapAccepted", "LateRecord", "Retry", "Progress", "Stats"},
    "sources": {"DynamoDBStreams", "KinesisStreams", "Source", "Page", "ShardPage", "ShardIterator"},
    "values": {"Clock", "Lineage", "Record", "ChangeRecord", "KinesisRecord", "KinesisChange", "Shard"},
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
        "SourceError",
        "StreamiterError",
        "Throttled",
        "TransientError",
    },
}


def test_the_surface_is_what_is_written_here():
    rooms = {
        "clock",
        "errors",
        "lineage",
        "merge",
        "position",
        "record",
        "shard",
        "source",
        "stream",
        "testing",
        "token",
    }
    rooms |= {"cli", "demo", "images", "metrics", "spark"}
    public = {name for name in vars(streamiter) if not name.startswith("_")} - rooms
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
