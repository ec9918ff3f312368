"""Words: a record, a shard's succession and a token, each in a line that a person reads; pure."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streamiter import ChangeRecord
from streamiter.demo.screen import Line
from streamiter.terminal import Span
from streamiter.token import load_token


def record_line(record: ChangeRecord) -> Line:
    """When, where, what: the line of a record, to the right of its node."""
    when = "" if record.created_at is None else record.created_at.format("HH:mm:ss")
    return [
        Span(f"{when:8}  ", "dim"),
        Span(f"{record.shard_id}  ", shard=record.shard_id),
        Span(f"{record.event_name:6}  "),
        Span(f"{record.key['id']}  ", "bold"),
        Span(change(record)),
    ]


def change(record: ChangeRecord) -> str:
    """What changed: the order that is new, the attributes that are different, or how the order went."""
    old, new = record.old, record.new
    if new is None:
        return "deleted by its time to live" if record.user_identity else "deleted"
    if old is None:
        return f"{new['customer']}: {new['count']} × {new['item']}, {new['total']}"
    return ", ".join(f"{name} {old.get(name)} → {new[name]}" for name in new if new[name] != old.get(name))


def succession(parent: str, children: Sequence[str]) -> Line:
    """What became of a shard."""
    line = [Span(parent, shard=parent)]
    if len(children) == 1:
        return [*line, Span(" rolled over into ", "dim"), Span(children[0], shard=children[0])]
    return [*line, Span(" was split into ", "dim"), *listed(children, " and ")]


def listed(shards: Sequence[str], between: str = "  ") -> Line:
    """Shards side by side."""
    spans = [span for shard in shards for span in (Span(between, "dim"), Span(shard, shard=shard))]
    return spans[1:]


def token_lanes(token: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The shards that a token reads on in, and those that it only keeps as finished."""
    lanes = load_token(token).lanes
    return [lane.shard for lane in lanes if lane.ended is None], [
        lane.shard for lane in lanes if lane.ended is not None
    ]


def command(arguments: str) -> str:
    """How the reader calls our command where the demo runs: by its name if a shell finds it, else by its path."""
    beside = Path(sys.executable).with_name("streamiter")
    on_path = any(Path(folder or ".") == beside.parent for folder in os.get_exec_path())
    if on_path or not beside.exists():
        return f"streamiter {arguments}"
    here = Path.cwd()
    return f"{beside.relative_to(here) if beside.is_relative_to(here) else beside} {arguments}"
