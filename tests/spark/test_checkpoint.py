"""Checkpoints: how their paths are written, and what is said of those that hold no token."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import fs

from streamiter import InvalidPosition
from streamiter.spark import checkpoint
from streamiter.spark.checkpoint import token_from_checkpoint

TOKEN = {"streamiter": 1, "stream": "arn"}


def write(folder: Path, offsets: str) -> None:
    for name, text in (("commits", "v1\n{}"), ("offsets", offsets)):
        (folder / name).mkdir()
        (folder / name / "0").write_text(text)


def test_a_path_may_be_written_as_python_and_as_spark_do(tmp_path):
    write(tmp_path, f"v1\n{{}}\n{json.dumps(TOKEN)}")
    for path in (tmp_path, str(tmp_path), f"{tmp_path}/", f"file:{tmp_path}", f"file://{tmp_path}"):
        assert token_from_checkpoint(path) == TOKEN


def test_hadoops_names_of_s3_are_s3():
    for scheme in ("s3", "s3a", "s3n"):
        files, base = checkpoint._open(f"{scheme}://bucket/users/?region=eu-west-1")
        assert (type(files), base) == (fs.S3FileSystem, "bucket/users")


@pytest.mark.parametrize(
    "offsets, told",
    [
        ("", "is empty"),
        ("v9\n{}\n{}", "in format v9"),
        ("v1\n{}", "has 0 sources"),
        ("v1\n{}\n7", "is not a token"),
        ('v1\n{}\n{"position": "latest"}', "is not a token"),
    ],
)
def test_what_holds_no_token_is_told(tmp_path, offsets, told):
    write(tmp_path, offsets)
    with pytest.raises(InvalidPosition, match=told):
        token_from_checkpoint(tmp_path)


def test_where_nothing_is_it_is_told(tmp_path):
    with pytest.raises(InvalidPosition, match="no micro-batch was committed there yet"):
        token_from_checkpoint(tmp_path)
    with pytest.raises(InvalidPosition, match="other://place: "):
        token_from_checkpoint("other://place")
