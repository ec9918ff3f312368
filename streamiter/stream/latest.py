"""Latest: the token of this moment, for a stream that is to give what is written from now on."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from streamiter.driving.list_now import listing
from streamiter.reading.listing import Pace
from streamiter.reading.patience import Patience, retried
from streamiter.reading.resume import token_at_latest
from streamiter.source.base import Source
from streamiter.steps import Steps
from streamiter.stream.listener import Listener
from streamiter.stream.options import Settings
from streamiter.stream.tally import Tally
from streamiter.token import Token


class Latest:
    """Lists the shards, before there is a reading of them, or beside one. Its pace is that of all listings of the stream."""

    def __init__(self, source: Source, settings: Settings, listener: Listener, tally: Tally) -> None:
        self.name = source.name
        self.pace = Pace(source.listings_per_second)
        self.listener = listener
        self.tally = tally
        self._source = source
        self._settings = settings

    def token(self) -> Steps[Token]:
        """The token from which everything is read that is written after this returned."""
        source, settings = self._source, self._settings
        patience = self.patience()
        try:
            listed = yield from listing(source, settings.clock, self.pace, patience)
        finally:
            self.tally.retries += patience.retries
            self.tally.throttles += patience.throttles
        self.tally.listings += listed.calls
        precision = source.precision(settings.lateness)
        token = token_at_latest(source.name, listed.shards, listed.service_us, precision, source.retention_us)
        return (yield from self._anchored(token, patience)) if source.is_counted else token

    def _anchored(self, token: Token, patience: Patience) -> Steps[Token]:
        """The token with the places that its time stands for: from now on, what is lost behind them is told."""
        lanes = []
        for lane in token.lanes:
            call = partial(self._source.open_iterator, lane.shard, lane.position)
            behind = self._source.place_behind((yield from retried(call, self._settings.clock, patience)))
            if behind is not None:
                lane = replace(lane, place=(behind.text, behind.since), time=None, opened=None)
            lanes.append(lane)
        return replace(token, lanes=tuple(lanes))

    def patience(self) -> Patience:
        """The patience that a stream has with its calls; the listener is told of those that fail."""
        return Patience(self._settings.patience_us, self.listener.retry)
