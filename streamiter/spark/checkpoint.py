"""Checkpoints: the token in a query's checkpoint, for a Stream or another query to go on from."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pyarrow as pa
from pyarrow import fs

from streamiter.errors import InvalidPosition
from streamiter.spark.planning.offsets import AT_LATEST
from streamiter.token import load_token


def token_from_checkpoint(path: str | os.PathLike[str], *, source: int = 0) -> dict[str, Any]:
    """The token after the last micro-batch that a query committed: `Stream(..., token)` goes on from there.

    `path` is the query's checkpointLocation, a folder here or a URL that pyarrow opens (s3://..., also written s3a://...).
    `source`: which one, where the query reads several streams. The query must not run on meanwhile.
    """
    files, base = _open(os.fspath(path))
    committed = _newest(files, f"{base}/commits")
    if committed is None:
        raise InvalidPosition(f"{path}: no micro-batch was committed there yet, so there is no token in it")
    lines = _read(files, f"{base}/offsets/{committed}").splitlines() or ["(none: the file is empty)"]
    offsets = lines[2:]  # after the version of the format, and what Spark notes of the batch
    if lines[0] != "v1" or source >= len(offsets):
        raise InvalidPosition(
            f"{path}: batch {committed} has {len(offsets)} sources in format {lines[0]}, none is {source}"
        )
    try:
        offset = json.loads(offsets[source])
    except ValueError:
        offset = None
    if not isinstance(offset, dict) or offset == AT_LATEST:
        raise InvalidPosition(
            f"{path}: the offset of source {source} in batch {committed} is not a token of streamiter"
        )
    load_token(offset)
    return offset


def _open(path: str) -> tuple[fs.FileSystem, str]:
    if "://" in path:
        try:
            files, base = fs.FileSystem.from_uri(re.sub("^s3[an]://", "s3://", path))  # Hadoop's names of S3
        except pa.ArrowInvalid as error:
            raise InvalidPosition(f"{path}: {error}") from None
    else:
        files, base = fs.LocalFileSystem(), path.removeprefix("file:")
    return files, base.rstrip("/")


def _newest(files: fs.FileSystem, folder: str) -> int | None:
    """The greatest batch id of a log; files beside it are unfinished, or checksums."""
    found = files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return max((int(file.base_name) for file in found if file.base_name.isdigit()), default=None)


def _read(files: fs.FileSystem, path: str) -> str:
    try:
        with files.open_input_stream(path) as stream:
            return bytes(stream.read()).decode()
    except FileNotFoundError:
        raise InvalidPosition(f"{path} is missing: the checkpoint is damaged") from None
