"""The show: what the demo does, scene by scene, each with the words that it is shown in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from streamiter import ChangeRecord, DynamoDBStreams, Lineage, Stream
from streamiter.demo.graph import Graph, tree
from streamiter.demo.law import Name, lawful_order
from streamiter.demo.orders import TABLE, Orders
from streamiter.demo.reader import Saved, load, reading
from streamiter.demo.screen import Line, Screen, Span
from streamiter.demo.words import listed, record_line, succession, token_lanes
from streamiter.testing import ManualClock, Simulator

NINE = 1_749_978_000.0  # 2025-06-15T09:00:00Z, when the reading begins
RECORD_PAUSE = 0.05  # seconds; these are the real ones, for whoever looks on
SCENE_PAUSE = 0.3
DOT_PAUSE = 0.012
MARGIN = Span("  ")
COLUMNS = 4  # shards open side by side, at most, while they are drawn


class Show:
    """One run. `play` gives whether the reader that was killed came out as the law says."""

    def __init__(self, screen: Screen, seed: int, folder: Path) -> None:
        self._screen = screen
        self._file = folder / "saved.json"
        self._sim = Simulator(table=TABLE, clock=ManualClock(NINE - 30))
        self._orders = Orders(self._sim, seed)
        self._read: list[Name] = []  # by the stream that nobody kills
        self._has_told_hold = False

    def play(self) -> bool:
        """All scenes, one after the other."""
        with self._sim, closing(self._sim.client()) as client:
            source = DynamoDBStreams(self._sim.stream_arn, client=client)
            self._open_shop()
            self._show_lineage(source)
            with Stream(source, clock=self._sim.clock) as stream:
                self._show_merge(stream, source)
                self._show_token(stream.token)
                saved = self._show_kill_and_resume()
                self._read += [_name(record) for record in self._due(stream)]
            return self._show_comparison(saved)

    # -- scenes

    def _open_shop(self) -> None:
        """What happened before anybody looked."""
        self._orders.begin("S1", "S2")
        self._orders.write(5)
        self._orders.split("S2", "S3", "S4")
        self._orders.write(5)
        self._sim.clock.advance(NINE - self._sim.clock.now())

    def _show_lineage(self, source: DynamoDBStreams) -> None:
        self._screen.line([Span("A table of orders, and the stream of its changes", "bold")])
        where = f"DynamoDB Streams, embedded in this process at {self._sim.endpoint_url}"
        self._screen.line([MARGIN, Span(where, "dim")])
        lineage = Lineage(source.list_shards(None).shards)
        self._screen.line([MARGIN, Span("its shards:  "), Span(repr(lineage), "bold")])
        for row in tree(lineage):
            self._screen.line([MARGIN, *row])
        self._rest()

    def _show_merge(self, stream: Stream, source: DynamoDBStreams) -> None:
        """Reads what is there, then on as the table goes on."""
        self._screen.line([Span("One order out of them all, as it happens", "bold")])
        graph = Graph(["S1", "S2"], COLUMNS)
        self._screen.line([MARGIN, *graph.head("S1", "S2")])
        self._show_due(stream, source, graph)
        self._sim.clock.advance(2)
        self._show_writing(4, stream, source, graph)
        self._sim.roll("S1", "S5")
        self._show_writing(4, stream, source, graph)
        self._rest()

    def _show_writing(self, count: int, stream: Stream, source: DynamoDBStreams, graph: Graph) -> None:
        for written in self._orders.writing(count):
            self._show_due(stream, source, graph)
            del written

    def _rest(self) -> None:
        self._screen.line(pause=SCENE_PAUSE)
