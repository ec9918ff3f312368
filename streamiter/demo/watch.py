"""The watch: a stream's records drawn as they come out, each in the column of its shard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamiter import ChangeRecord, Lineage, Record, Source, Stream
from streamiter.demo.graph import Graph
from streamiter.demo.law import Name
from streamiter.demo.screen import MARGIN, Screen
from streamiter.demo.words import record_line, succession
from streamiter.terminal import Span
from streamiter.testing import WrittenRecord

PAUSE = 0.12  # seconds a line, so that a reader can follow
COLUMNS = 4  # shards side by side, at most


class Watch:
    """Reads a stream and draws it. It remembers what came out."""

    def __init__(self, screen: Screen, source: Source, stream: Stream) -> None:
        self.read: list[Name] = []
        self._screen = screen
        self._source = source
        self._stream = stream
        self._graph = Graph(COLUMNS)
        self._has_told_wait = False

    def show_roots(self, shards: Sequence[str]) -> None:
        """Shards without parents get their columns."""
        self._graph.open(shards)
        self._line(self._graph.head(shards), [])

    def show_open(self) -> None:
        """The shards that stand in a column by now."""
        self._line(self._graph.heads(), [])

    def show_held(self) -> None:
        """All that the service holds by now."""
        for batch in self._stream.batches(1, until="caught_up"):
            for record in batch:
                assert isinstance(record, ChangeRecord)
                self._show(record)

    def show_due(self, written: WrittenRecord) -> None:
        """What is due at this moment, right after a write; the first that is not, is told of."""
        while (record := next(self._stream)) is not None:
            self._show(record)
        stats = self._stream.stats
        if stats.waiting and stats.held_by and not self._has_told_wait:
            self._has_told_wait = True
            self._show_wait(written.shard_id, stats.held_by)

    def read_held(self) -> None:
        """All that the service holds by now, without drawing it."""
        for batch in self._stream.batches(100, until="caught_up"):
            self.read += map(name_of, batch)

    # -- lines

    def _show(self, record: ChangeRecord) -> None:
        if record.shard_id not in self._graph:
            self._show_arrival(record.shard_id, Lineage(self._source.list_shards(None).shards))
        self.read.append(name_of(record))
        self._line(self._graph.node(record.shard_id), record_line(record))

    def _show_arrival(self, shard: str, lineage: Lineage) -> None:
        """A shard's first record: its line of descent, as far as it is not drawn yet."""
        parents = lineage.parents(shard)
        if not parents:
            self.show_roots([shard])
            return
        if parents[0] not in self._graph:
            self._show_arrival(parents[0], lineage)
        children = lineage.children(parents[0])
        fork = self._graph.grow(parents[0], children)
        if fork is not None:
            self._line(fork, [])
        self._line(self._graph.head(children), succession(parents[0], children))

    def _show_wait(self, shard: str, held_by: str) -> None:
        why = [
            Span("just written, and held back: "),
            Span(held_by, shard=held_by),
            Span(" may still give an earlier one"),
        ]
        self._line(self._graph.node(shard, "○"), why)

    def _line(self, graph: Iterable[Span], words: Iterable[Span]) -> None:
        self._screen.line([MARGIN, *graph, Span(" "), *words], pause=PAUSE)


def name_of(record: Record) -> Name:
    """What a record goes by."""
    return record.shard_id, record.sequence_number
