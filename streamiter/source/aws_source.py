"""AWS sources: what a source over boto3 has whichever of AWS's services it reads: its clients, and what follows from them."""

from __future__ import annotations

from typing import Any, Generic

from streamiter.source.base import R_co, Source
from streamiter.source.clients import Clients


class AwsSource(Source[R_co], Generic[R_co]):
    """A source that calls by boto3 clients: by one that was passed in, or by those that it makes."""

    _clients: Clients

    @property
    def connections(self) -> int:
        """How many calls at once the client has connections for; a boto3 client has 10, unless its Config says otherwise."""
        return self._clients.connections

    @property
    def session(self) -> Any:
        """The boto3 session that clients are made from; None where a client was passed in."""
        return self._clients.session

    @property
    def client(self) -> Any:
        """The boto3 client that reads; one that was made here makes each call once."""
        return self._clients.reading

    def make_client(self, service: str) -> Any:
        """A boto3 client of another service ("dynamodb"), reached as this one is; it is closed with the source."""
        return self._clients.make(service, attempts=6)

    def close(self) -> None:
        """Closes the clients that were made here; one that was passed in is its owner's."""
        self._clients.close()
