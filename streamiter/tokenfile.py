"""Token files: a token as JSON, written beside and renamed, so that there is always a whole one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from streamiter.errors import InvalidOption, InvalidToken, TokenFileError
from streamiter.token import load_token

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
ANEW = "take a copy that is whole, or move it away to begin anew"


class TokenFile:
    """Where a reader keeps its place between runs: a file with a token in it, as JSON.

    There is always a whole token in it, the old one or the new one, also after a crash or a power failure. One reader has
    one file: what another process wrote there since `load` is not overwritten.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not os.fspath(path):
            raise InvalidOption("the token file has an empty name: is a variable of your shell not set?")
        self.path = Path(os.path.realpath(path))  # a link stays one: what it leads to is replaced
        self._shown = os.fspath(path)
        self._known: str | None = None  # what stood in it when we looked or wrote last
        self._is_followed = False

    def __repr__(self) -> str:
        return f"TokenFile({self._shown!r})"

    def load(self) -> dict[str, Any] | None:
        """The token; None where there is no file yet. InvalidToken where it is damaged, TokenFileError where it cannot be read.

        `Stream(source, file.load() or "trim_horizon")` goes on, or begins.
        """
        text = self._read()
        self._is_followed = True
        if text is None:
            return None
        token = self._parse(text)
        try:
            load_token(token)
        except InvalidToken as error:
            raise self.misfit(error) from error
        return token

    def save(self, token: Mapping[str, Any]) -> None:
        """Puts the token there: all of it or nothing. TokenFileError where it cannot be written; then the old one is there."""
        text = json.dumps(token) + "\n"
        try:
            if self._is_followed and self._was_changed():
                raise TokenFileError(
                    f"another process has written to the token file {self._shown} meanwhile; it is left as that wrote it: "
                    "give each reader a file of its own"
                )
            replace_file(self.path, text.encode())
        except TokenFileError:
            raise
        except OSError as error:
            raise self._cannot_be_written(error) from error
        self._known = text

    def check_replaceable(self) -> None:
        """Says now, and not after all is read, that it is no file."""
        try:
            check_replaceable(self.path)
        except OSError as error:
            raise self._cannot_be_written(error) from error

    def misfit(self, error: InvalidToken) -> InvalidToken:
        """The error of a token that came from this file, with what to do about it."""
        remedy = error.hint if "upgrade" in error.hint else ANEW
        named = InvalidToken(error.what, where=error.where, hint=remedy)
        named.args = (f"the token {self._named} cannot be used: {error.what} (at {error.where}); {remedy}",)
        return named

    @property
    def _named(self) -> str:
        return f"file {self._shown}"

    def _read(self) -> str | None:
        try:
            text = self._known = self._text()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise TokenFileError(f"the token {self._named} cannot be read: {why}") from error
        return text

    def _text(self) -> str:
        return self.path.read_text("utf-8")

    def _parse(self, text: str) -> dict[str, Any]:
        if not text.strip():
            raise self._damaged("is empty")
        try:
            token = json.loads(text)
        except (ValueError, RecursionError) as error:
            place = (
                f" from line {error.lineno}, column {error.colno} on" if isinstance(error, json.JSONDecodeError) else ""
            )
            raise self._damaged(f"holds no JSON{place}") from error
        if not isinstance(token, dict):
            raise self._damaged("holds no token, but other JSON")
        return token

    def _damaged(self, what: str) -> InvalidToken:
        error = InvalidToken(what, hint=ANEW)
        error.args = (f"the token {self._named} {what}; {ANEW}",)
        return error

    def _was_changed(self) -> bool:
        try:
            return self.path.read_text("utf-8", errors="replace") != self._known
        except FileNotFoundError:
            return False

    def _cannot_be_written(self, error: OSError) -> TokenFileError:
        # Another file would begin anew: where a place is kept already, nobody is to be sent there.
        kept = ": it goes on from the place that is kept there" if self.path.is_file() else ""
        if error.errno in _FULL:
            remedy = "make room, and run it again"
        else:
            remedy = "see that it can be, or name a copy of it" if kept else "name another file"
        return TokenFileError(f"the token file {self._shown} cannot be written: {error.strerror}; {remedy}{kept}")


def replace_file(path: Path, content: bytes) -> None:
    """Puts a file in place, whole or not at all: written beside, forced to disk, renamed."""
    check_replaceable(path)
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
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk has no name of its own
        raise
    sync_folder(path.parent)


def check_replaceable(path: Path) -> None:
    """OSError where something else than a file is there, /dev/null, say: it must not become one."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is there already, and no file", str(path))


def sync_folder(folder: Path) -> None:
    """Forces the names in a folder to disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
