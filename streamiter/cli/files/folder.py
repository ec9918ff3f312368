"""The folder of an export: parts, and one file that says how far it has come; each record is in it exactly once.

A part is committed by its renaming, and by nothing else:

    1. the part is written beside, as .part-000007.jsonl.new, and forced to disk
    2. the state names it as the next one, with the token after it
    3. the part is renamed to part-000007.jsonl
    4. the state takes that token as its own

After a kill, the next run looks for the next part. If it is there, step 3 was done, and the token after it counts. If not, the
token before it counts, and the run writes the part anew. So the folder never shows a part that is taken back later.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import click
import msgspec

from streamiter.cli.checks.going_on import export_to_the_end
from streamiter.cli.files.tokenfile import replace_file, sync_folder

STATE = ".streamiter-export.json"
LOCK = ".streamiter-export.lock"
VERSION = 1


class NextPart(msgspec.Struct, frozen=True):
    """A part that is about to be renamed, and the token after it."""

    name: str
    records: int
    token: dict[str, Any]


class State(msgspec.Struct, frozen=True):
    """How far an export has come."""

    streamiter_export: int
    stream: str
    format: str
    parts: int = 0
    records: int = 0
    token: dict[str, Any] | None = None
    next: NextPart | None = None

    def committed(self) -> State:
        """The state once its next part stands."""
        assert self.next is not None
        return msgspec.structs.replace(
            self, parts=self.parts + 1, records=self.records + self.next.records, token=self.next.token, next=None
        )


class Folder:
    """The folder while one export writes into it. A second one is refused."""

    def __init__(self, path: Path, stream: str, format: str, ending: str) -> None:
        self._path = path
        self._ending = ending
        self._lock = _take_lock(path)
        try:
            self.state = self._load(stream, format)
            self._tidy()
        except BaseException:
            self._lock.close()
            raise

    def commit(self, content: bytes, records: int, token: dict[str, Any]) -> None:
        """One more part, and the token after it: both or none."""
        name = f"part-{self.state.parts + 1:06d}.{self._ending}"
        part, beside = self._path / name, self._path / f".{name}.new"
        if part.exists():
            raise click.ClickException(f"{part} already exists, and no export wrote it; move it away")
        try:
            with open(beside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise _cannot_write(self._path, error) from error
        self._save(msgspec.structs.replace(self.state, next=NextPart(name, records, token)))
        os.replace(beside, part)
        sync_folder(self._path)
        self._save(self.state.committed())

    def move(self, token: dict[str, Any]) -> None:
        """The token went on without records: a quiet stream's does."""
        self._save(msgspec.structs.replace(self.state, token=token))

    def close(self) -> None:
        """Releases the lock, so that the next export can run."""
        self._lock.close()

    def _save(self, state: State) -> None:
        try:
            replace_file(self._path / STATE, msgspec.json.encode(state) + b"\n")
        except OSError as error:
            raise _cannot_write(self._path, error) from error
        self.state = state

    def _load(self, stream: str, format: str) -> State:
        path = self._path / STATE
        if not path.exists():
            there = sorted(part.name for part in self._path.glob("part-*"))
            if there:
                raise click.ClickException(
                    f"{self._path} holds {there[0]} but no {STATE}, so no export can continue there; name another folder"
                )
            return State(VERSION, stream, format)
        try:
            state = msgspec.convert(json.loads(path.read_text("utf-8")), State)
        except (ValueError, msgspec.ValidationError) as error:
            raise click.ClickException(f"{path} is damaged ({error}); name another folder") from error
        if state.streamiter_export != VERSION:
            raise click.ClickException(f"{path} is of another version of streamiter; name another folder")
        for was, now, what in ((state.stream, stream, "stream"), (state.format, format, "format")):
            if was != now:
                if what == "stream" and was.partition("/stream/")[0] == now.partition("/stream/")[0]:
                    raise self._reenabled(was)
                raise click.ClickException(f"{self._path} is an export of another {what}, {was}; name another folder")
        return state

    def _reenabled(self, old: str) -> click.ClickException:
        to_the_end = export_to_the_end(old, self._path, click.get_current_context().params)
        return click.ClickException(
            f"{self._path} is an export of {old}, and the table has another stream now: it was disabled and enabled again; "
            f"what the old one holds is readable for 24 hours after that; to write it to its end: {to_the_end}; then export "
            "the new one to another folder"
        )

    def _tidy(self) -> None:
        """What a kill left behind."""
        if self.state.next is not None:
            is_there = (self._path / self.state.next.name).exists()
            self._save(self.state.committed() if is_there else msgspec.structs.replace(self.state, next=None))
        for left in [*self._path.glob(".part-*.new"), *self._path.glob(f".{STATE}.new")]:
            left.unlink()


def _cannot_write(path: Path, error: OSError) -> click.ClickException:
    return click.ClickException(
        f"{path} cannot be written: {error.strerror}; its parts are whole: make room, and run it again to go on"
    )


def _take_lock(path: Path) -> IO[str]:
    """Takes a lock of the operating system, which releases it when this process ends, however it ends."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = open(path / LOCK, "a", encoding="utf-8")  # noqa: SIM115 - it is held until close()
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}; name another folder: --to") from error
    with suppress(ImportError):  # Windows has no such lock
        import fcntl

        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise click.ClickException(f"another export is writing to {path}") from error
    return lock
