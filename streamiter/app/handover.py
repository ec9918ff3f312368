"""Hand-overs: a processor's leases as a Stream's token, and a token as its leases (law 17)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamiter.clock import microseconds
from streamiter.errors import InvalidToken
from streamiter.lease import Lease, operator, tokens
from streamiter.locate import locate
from streamiter.store import Table
from streamiter.store.locate import open_store

if TYPE_CHECKING:
    from streamiter.app.app import App
    from streamiter.app.processor import Processor


def token_of(app: App, processor: Processor) -> dict[str, Any]:
    """The places of the leases in the store, as a token of the processor's stream."""
    with open_store(app.store) as store:
        leases = [Lease.of(row) for row in store.scan(_table(app, processor))]
    if not leases:
        raise InvalidToken(
            f"{processor.name} has no leases yet", hint="run the app once, or start a Stream where it would"
        )
    return tokens.to_token(locate(processor.source).name, leases, microseconds(app.clock.now()))


def seed(app: App, processor: Processor, token: dict[str, Any]) -> None:
    """Writes leases that go on from the token's places. The store must have none for this processor."""
    if processor.order == "total":
        stream, lease = tokens.total_lease(token)
        leases = [lease]
    else:
        stream, leases = tokens.from_token(token)
    name = locate(processor.source).name
    if stream != name:
        raise InvalidToken(f"it is of {stream}, and {processor.name} reads {name}", where="$.stream")
    with open_store(app.store) as store:
        operator.seed(store, _table(app, processor), leases)


def _table(app: App, processor: Processor) -> Table:
    return Table("leases", app.name, processor.name)
