"""Token files: a token as JSON, written beside and renamed, so that there is always a whole one."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click


class TokenFile:
    """Where a reader keeps its place between runs."""

    def __init__(self, path: str | Path) -> None:
        if not str(path):
            raise click.ClickException("the token file has an empty name: is a variable of your shell not set?")
        self.path = Path(os.path.realpath(path))  # a link stays one: what it leads to is replaced
        self.shown = str(path)

    def load(self) -> dict[str, Any] | None:
        """The token; None where there is no file yet."""
        try:
            text = sys.stdin.read() if self.shown == "-" else self.path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise click.ClickException(f"the token file {self.shown} cannot be read: {why}") from error
        if not text.strip():
            raise click.ClickException(f"the token file {self.shown} is empty; move it away to begin anew")
        try:
            token = json.loads(text)
        except ValueError as error:
            raise click.ClickException(
                f"the token file {self.shown} holds no JSON ({error}); move it away to begin anew"
            ) from error
        if not isinstance(token, dict):
            raise click.ClickException(f"the token file {self.shown} holds no token; move it away to begin anew")
        return token

    def save(self, token: dict[str, Any]) -> None:
        """All of it or nothing, also when the power fails."""
        try:
            replace_file(self.path, (json.dumps(token) + "\n").encode())
        except OSError as error:
            raise click.ClickException(
                f"the token file {self.shown} cannot be written: {error.strerror}; name another: --token-file FILE"
            ) from error


def replace_file(path: Path, content: bytes) -> None:
    """Puts a file in place, whole or not at all: written beside, forced to disk, renamed."""
    beside = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        os.unlink(beside)  # a kill left it there; or somebody's link, which must not be followed
    try:
        with open(beside, "xb") as file:
            with suppress(OSError, AttributeError):
                os.fchmod(file.fileno(), os.stat(path).st_mode & 0o777)  # who may read it stays as it is
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Forces the names in a folder to disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
