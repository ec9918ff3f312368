"""The show: what the demo does, scene by scene."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from streamiter import DynamoDBStreams, Lineage, Stream
from streamiter.demo.frame import has_spark, show_frame
from streamiter.demo.graph import tree
from streamiter.demo.law import Name, lawful_order
from streamiter.demo.rerun import Rerun
from streamiter.demo.screen import MARGIN, Screen
from streamiter.demo.verdict import Verdict
from streamiter.demo.watch import Watch
from streamiter.demo.words import command, listed, succession, token_lanes
from streamiter.terminal import Span
from streamiter.testing import ManualClock, Simulator
from streamiter.testing.shop.orders import TABLE, Orders

NINE = 1_749_978_000.0  # 2025-06-15T09:00:00Z, when the reading begins


class Show:
    """One run. `play` gives whether what the killed and resumed reader read is what it should be."""

    def __init__(self, screen: Screen, seed: int, folder: Path, *, with_spark: bool = True) -> None:
        self._screen = screen
        self._folder = folder
        self._with_spark = with_spark
        self._sim = Simulator(table=TABLE, clock=ManualClock(NINE - 30))
        self._orders = Orders(self._sim, seed)
        self._rerun = Rerun(screen, self._sim, folder / "saved.json")

    def play(self) -> bool:
        """All scenes, one after the other; each fits a terminal of 80 by 24."""
        self._screen.begin()
        with self._sim, closing(self._sim.client()) as client:
            source = DynamoDBStreams(self._sim.stream_arn, client=client)
            self._open_shop()
            self._show_table(source)
            with Stream(source, clock=self._sim.clock) as stream:
                watch = Watch(self._screen, source, stream)
                self._show_backlog(watch, source)
                self._show_life(watch, source)
                self._show_token(stream.token)
                self._show_kill(watch)
                watch.read_held()
                is_good = self._show_comparison(watch.read, _listed(source))
                self._screen.turn()
                if self._with_spark and has_spark():
                    stream.move_to("trim_horizon")
                    show_frame(self._screen, stream, self._folder)
                    self._screen.turn()
            self._show_what_next()
            return is_good

    # -- scenes

    def _open_shop(self) -> None:
        """What happened before anybody looked."""
        self._orders.begin("S1", "S2")
        self._orders.write(5)
        self._orders.split("S2", "S3", "S4")
        self._orders.write(5)
        self._sim.clock.advance(NINE - self._sim.clock.now())

    def _show_table(self, source: DynamoDBStreams) -> None:
        self._title("A table of orders, and the stream of its changes")
        self._say(Span(f"The service is simulated, in this process, at {self._sim.endpoint_url}.", "dim"))
        self._screen.line()
        self._say(Span("DynamoDB cuts the stream into shards. Each shard has an order of its own, and"))
        self._say(Span("ends after some hours; its children go on where it ended. The shards so far:"))
        self._screen.line()
        lineage = _listed(source)
        for row in tree(lineage):
            self._say(MARGIN, *row)
        self._screen.line()
        self._say(Span("in short: "), Span(repr(lineage), "bold"))
        self._screen.line()
        self._say(Span("streamiter reads all of them, and gives one ordered iterator."))
        self._screen.turn()

    def _show_backlog(self, watch: Watch, source: DynamoDBStreams) -> None:
        """What the service holds when the reading begins."""
        self._title("next(stream): all shards in one order, parents before their children")
        self._screen.line()
        watch.show_roots(_listed(source).roots())
        watch.show_held()
        self._screen.line()
        self._say(Span("That is all the service holds. A dot is a change, in the column of its shard.", "dim"))
        self._screen.turn()

    def _show_life(self, watch: Watch, source: DynamoDBStreams) -> None:
        """Reads on, while the table goes on and its shards roll over and split."""
        self._title("It goes on: shards roll over and split, and reading follows them")
        self._sim.clock.advance(1)
        watch.show_open()
        self._show_writing(watch, 4)
        self._orders.split("S1", "S5")
        self._show_writing(watch, 3)
        self._orders.split("S4", "S6", "S7")
        self._show_writing(watch, 5)
        self._sim.clock.advance(3)
        watch.show_held()
        self._say(Span("the shards now: "), Span(repr(_listed(source)), "bold"))
        self._screen.turn()

    def _show_writing(self, watch: Watch, count: int) -> None:
        for written in self._orders.writing(count):
            watch.show_due(written)

    def _show_token(self, token: dict[str, Any]) -> None:
        going, finished = token_lanes(token)
        self._title(
            f"stream.token: where reading stands after record {token['clock']}, {len(json.dumps(token))} bytes of JSON"
        )
        self._say(Span("reads on in   "), *listed(going), Span("   each after the last record that it gave", "dim"))
        self._say(Span("has finished  "), *listed(finished), Span("   kept as their parents", "dim"))
        self._say(Span("It holds no iterator, no credential, and nothing of the records.", "dim"))
        self._screen.line()

    def _show_kill(self, watch: Watch) -> None:
        """A reader in its own process reads all this anew, is killed, and goes on after more has happened."""
        self._title("Killed, and resumed from its token")
        self._say(Span("Another process reads it all anew, and saves its token with each record.", "dim"))
        self._say(Span("A digit is a record: the number of its shard.", "dim"))
        self._screen.line()
        last_of_s4 = max(place for place, (shard, _) in enumerate(watch.read) if shard == "S4")
        self._rerun.run_and_kill(last_of_s4 + 1, hanging="S7")
        before = len(self._sim.history)
        self._orders.write(4)
        self._orders.split("S3", "S8", "S9")
        self._orders.write(7)
        self._sim.clock.advance(10)
        more = len(self._sim.history) - before
        self._say(Span(f"while it is dead: {more} more changes; ", "dim"), *succession("S3", ["S8", "S9"]))
        self._rerun.resume()

    def _show_comparison(self, unkilled: list[Name], lineage: Lineage) -> bool:
        """What the killed reader saved, against what was written, in the order that the law gives it."""
        due = lawful_order(self._sim.history, {shard: next(iter(lineage[shard].parents), None) for shard in lineage})
        read = self._rerun.saved
        self._rerun.show("unkilled", unkilled)
        self._screen.line()
        verdict = Verdict.of(read, due, unkilled)
        self._screen.piece(verdict.line)  # whole, also where the screen is narrow
        self._screen.line()
        return verdict.is_good

    def _show_what_next(self) -> None:
        self._title("What to try next")
        for what, why in (
            (command("simulate --orders"), "serves this table to your programs"),
            (command("tail TABLE"), "reads a table of yours"),
            ("docs/first.md", "the first five minutes"),
            ("docs/spark.md", "the changes as a Spark DataFrame"),
            (command("demo --seed 2"), "other changes"),
        ):
            self._say(Span(f"{what:41} ", "bold"), Span(why, "dim"))

    # -- lines

    def _title(self, text: str) -> None:
        self._screen.line([Span(text, "bold")])

    def _say(self, *spans: Span) -> None:
        self._screen.line([MARGIN, *spans])


def _listed(source: DynamoDBStreams) -> Lineage:
    return Lineage(source.list_shards(None).shards)
