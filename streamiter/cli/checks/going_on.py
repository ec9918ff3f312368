"""Going on: the commands, ready to paste, that read the rest of a stream that was disabled and enabled again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from streamiter.errors import InvalidToken

_ANOTHER = re.compile(r"it is of (arn:\S+/stream/\S+), but the table's stream is now (arn:\S+/stream/\S+):")


def reenabled(error: InvalidToken) -> tuple[str, str] | None:
    """The old stream that the token is of, and the new one; None where something else is wrong."""
    found = _ANOTHER.match(error.what)
    return (found[1], found[2]) if found else None


def how_to_go_on(old: str, new: str, params: Mapping[str, Any]) -> str:
    """First what the old stream still holds, then the new one; `params` are those of the command that was typed."""
    file = params.get("token_file") or "FILE"
    table = new.partition(":table/")[2].partition("/")[0]
    rest = command("tail", old, params, "--token-file", file)
    then = command("tail", table, params, "--from", "trim_horizon", "--token-file", f"{file}.new")
    return (
        f"what the old one holds is readable for 24 hours after it was disabled; to read it to its end: {rest}; "
        f"then go on with the new one: {then}"
    )


def export_to_the_end(old: str, folder: object, params: Mapping[str, Any]) -> str:
    """The command that finishes an export of a stream that was disabled meanwhile."""
    return command("export", old, params, "--to", str(folder), "--format", str(params.get("format_name") or "parquet"))


def command(name: str, url: str, params: Mapping[str, Any], *words: str) -> str:
    """A command line, reached as the one that was typed."""
    reached: list[str] = []
    for option in ("endpoint_url", "profile"):  # an ARN names its region, a table's name is looked for where it was
        if params.get(option):
            reached += [f"--{option.replace('_', '-')}", str(params[option])]
    if not url.startswith("arn:") and params.get("region"):
        reached += ["--region", str(params["region"])]
    return shlex.join(["streamiter", name, url, *words, *reached])
