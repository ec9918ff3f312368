"""Clients: the boto3 client that a source was given, or those that it makes for itself, and closes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.errors import InvalidOption
from streamiter.source import wire
from streamiter.source.aws import aws_errors, check_endpoint, client_config
from streamiter.source.repeat import Repeats
from streamiter.source.sessions import new_session

_CONNECTIONS = 64


class Clients:
    """The clients of one source: `reading` is the one that it reads with, hooked so that pages come as bytes."""

    def __init__(
        self, owner: object, service: str, event: str, *, client: Any, session: Any, endpoint_url: Any, region: Any
    ) -> None:
        """`service` as boto3 names it, `event` as botocore's events do."""
        self._owner = owner
        self._service = service
        self._event = event
        self.is_given = client is not None
        if self.is_given and (session is not None or endpoint_url is not None or region is not None):
            raise InvalidOption("pass client=, or session=, endpoint_url= and region=, not both: a client has its own")
        if self.is_given and (not hasattr(client, "get_shard_iterator") or _service(client) not in (None, service)):
            raise InvalidOption(f"client= takes a boto3 client of {service!r}, this one is not")
        check_endpoint(endpoint_url)
        if region is not None and not isinstance(region, str):
            raise InvalidOption(f"region= takes a str such as 'eu-west-1', not a {type(region).__name__}")
        if session is not None and not callable(getattr(session, "client", None)):
            raise InvalidOption(f"session= takes a boto3 Session, not a {type(session).__name__}")
        self._session = session
        self._options = {"endpoint_url": endpoint_url, "region_name": region}
        self._own: list[Any] = []
        self._reading: Any = client
        self._repeats: Repeats | None = None
        if self.is_given:
            wire.hook(client, event)

    @property
    def session(self) -> Any:
        """The boto3 session that clients are made from; None where a client was passed in."""
        if self._session is None and not self.is_given:
            with aws_errors("sts:*", repr(self._owner)):
                self._session = new_session()
        return self._session

    @property
    def connections(self) -> int:
        """How many calls at once the reading client has connections for."""
        if not self.is_given:
            return _CONNECTIONS
        # botocore makes any number, but keeps no more than these: each call beyond would shake hands anew.
        found = getattr(getattr(getattr(self._reading, "meta", None), "config", None), "max_pool_connections", None)
        return found if isinstance(found, int) and found > 0 else _CONNECTIONS

    @property
    def reading(self) -> Any:
        """The client that reads; made at first use. It tries once: Stream itself knows when to ask again."""
        if self._reading is None:
            self._reading = self.make(self._service, attempts=1)
            wire.hook(self._reading, self._event)
        return self._reading

    def call(self, method: str, **asked: Any) -> Mapping[str, Any]:
        """A call by the reading client; one like an earlier one takes a tenth of the work."""
        if self._repeats is None:
            self._repeats = Repeats(self.reading, self._event)
        return self._repeats.call(method, **asked)

    def make(self, service: str, *, attempts: int) -> Any:
        """One more client, of this service or another one."""
        with aws_errors(f"{service}:*", repr(self._owner)):
            try:
                session: Any = self.session or new_session()
                config = client_config(_CONNECTIONS, attempts=attempts, session=session)
                client = session.client(service, config=config, **self._options)
            except ValueError as error:
                raise InvalidOption(f"{self._owner!r}: {error}{_remedy(error)}") from error
        self._own.append(client)
        return client

    def close(self) -> None:
        """Closes the clients that were made here; one that was passed in is its owner's."""
        self._repeats = None  # its patterns hold connections; the next call begins anew
        for client in self._own:
            client.close()  # its connections; it may be used again


def _remedy(error: ValueError) -> str:
    if not str(error).startswith("Invalid endpoint"):
        return ""
    return "; one is written http://HOST:PORT or https://HOST: see AWS_ENDPOINT_URL and endpoint_url in the AWS configuration"


def _service(client: Any) -> str | None:
    """The service that a client is for, where it says so: others' clients may only look like boto3's."""
    return getattr(getattr(getattr(client, "meta", None), "service_model", None), "service_name", None)
