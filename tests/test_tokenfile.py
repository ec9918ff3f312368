"""`TokenFile`: where a reader keeps its place, and what it says of a file that is none of its own."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from streamiter import InvalidOption, InvalidToken, Stream, StreamiterError, TokenFile, TokenFileError
from tests.stream.family import family, numbers, read

TOKEN = {"streamiter": 1, "stream": "shelf", "clock": 7}


def test_a_reader_goes_on_where_it_stopped(tmp_path: Path):
    came = []
    for _ in range(4):
        file = TokenFile(tmp_path / "shelf.token")
        with read(family(), file.load() or "trim_horizon") as stream:
            for batch in stream.batches(3, until="caught_up"):
                came += numbers(batch)
                file.save(batch.token)
                break
    assert came == list(range(1, 13))
    assert [path.name for path in tmp_path.iterdir()] == ["shelf.token"]


def test_there_is_none_before_the_first_save(tmp_path: Path):
    file = TokenFile(tmp_path / "shelf.token")
    assert file.load() is None
    file.save(TOKEN)
    assert TokenFile(str(tmp_path / "shelf.token")).load() == TOKEN == json.loads(file.path.read_text())


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_breaks_off_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    file = TokenFile(tmp_path / "shelf.token")
    file.save(TOKEN)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(TokenFileError, match=r"cannot be written: No space left on device; make room") as caught:
            file.save({**TOKEN, "clock": 8})
    assert isinstance(caught.value, OSError) and isinstance(caught.value, StreamiterError)
    assert TokenFile(file.path).load() == TOKEN
    assert [path.name for path in tmp_path.iterdir()] == ["shelf.token"]


def test_the_file_is_forced_to_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, name=name, do=original: (steps.append(name), do(*args))[1])
    TokenFile(tmp_path / "shelf.token").save(TOKEN)
    assert steps[:2] == ["fsync", "replace"]


@pytest.mark.parametrize(
    "text, what",
    [
        ("", "is empty"),
        ("{", "holds no JSON from line 1, column 2 on"),
        ("[]", "holds no token, but other JSON"),
        ('{"streamiter": 1}', r"cannot be used: `stream` is missing \(at \$\); take a copy that is whole"),
        ('{"streamiter": 99, "stream": "x"}', "cannot be used: it was written by a newer streamiter .*; upgrade"),
    ],
)
def test_what_is_damaged_is_named(tmp_path: Path, text: str, what: str):
    path = tmp_path / "shelf.token"
    path.write_text(text)
    with pytest.raises(InvalidToken, match=rf"the token file .*shelf\.token {what}"):
        TokenFile(path).load()
    assert path.read_text() == text


def test_what_another_process_wrote_is_left_alone(tmp_path: Path):
    one, other = TokenFile(tmp_path / "shelf.token"), TokenFile(tmp_path / "shelf.token")
    assert (one.load(), other.load()) == (None, None)
    one.save(TOKEN)
    with pytest.raises(TokenFileError, match="another process has written to the token file"):
        other.save({**TOKEN, "clock": 1})
    assert TokenFile(one.path).load() == TOKEN


def test_what_is_no_file_is_left_alone(tmp_path: Path):
    with pytest.raises(TokenFileError, match="cannot be written"):
        TokenFile(tmp_path).save(TOKEN)
    with pytest.raises(TokenFileError, match="cannot be read"):
        TokenFile(tmp_path).load()
    with pytest.raises(InvalidOption, match="empty name"):
        TokenFile("")


def test_a_link_stays_one(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "true")
    TokenFile(tmp_path / "link").save(TOKEN)
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "true").read_text()) == TOKEN


def test_a_stream_takes_what_it_loads(tmp_path: Path):
    file = TokenFile(tmp_path / "shelf.token")
    with read(family()) as stream:
        list(stream.batches(100))
        file.save(stream.token)
    with Stream(family(), file.load() or "trim_horizon") as again:
        assert again.token["clock"] == 12
