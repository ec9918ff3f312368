"""Patterns: what the calls of one kind have in common, taken from one that botocore made.

A pattern is taken only where all of the call is understood: no header that is not known, no proxy, nobody's hooks, none of
botocore's functions replaced, and the same signature where it is worked out here.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit
from uuid import uuid4

import botocore
from botocore.hooks import EventAliaser, HierarchicalEmitter
from botocore.httpsession import URLLib3Session

from streamiter.source import wire
from streamiter.source.signature import Signer, scope_of, signer

STAMP = "%Y%m%dT%H%M%SZ"
_EACH_ITS_OWN = {"x-amz-date", "authorization", "content-length", "amz-sdk-invocation-id"}
_ALL_ALIKE = {"x-amz-target", "content-type", "user-agent", "x-amz-security-token", "amz-sdk-request"}
_EVENTS = (
    *(
        "provide-client-params",
        "before-parameter-build",
        "before-endpoint-resolution",
        "before-call",
        "request-created",
    ),
    *("choose-signer", "before-sign", "before-send", "before-parse", "response-received", "needs-retry"),
    *("after-call", "after-call-error"),
)
# Whose handlers do nothing but what the pattern shows. Others have their say in each call: botocore's own limit on the rate of
# calls (`mode="adaptive"`), its stubs for tests, and all that users and their tools have registered.
_KNOWN_HANDLERS = {
    *("botocore.handlers", "botocore.signers", "botocore.useragent", "botocore.retryhandler"),
    *("botocore.retries.standard", "botocore.retries.special", wire.__name__),
}
_PLACE = str(Path(botocore.__file__).parent)


class Pattern(NamedTuple):
    """What the calls of one kind have in common."""

    url: str
    head: str  # but for what each call has of its own
    signer: Signer
    credentials: Any  # those that it signs for
    pool: Any  # botocore's connections
    way: tuple[Any, ...]  # what botocore would do: while that stays the same, a call may be made without it

    def message(self, body: bytes, now: datetime) -> bytes:
        """A whole call as it goes over the wire."""
        stamp = now.strftime(STAMP)
        head = (
            f"{self.head}X-Amz-Date: {stamp}\r\nAuthorization: {self.signer.authorization(stamp, body)}\r\n"
            f"amz-sdk-invocation-id: {uuid4()}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body


def pattern_of(client: Any, event: str, method: str, asked: Mapping[str, Any], request: Any) -> Pattern | None:
    """The pattern of a request that botocore sent for `client.method(**asked)`; None where anything about it is unusual.

    `event` is the name of botocore's events for the operation. Raises whatever it likes for a client of another build.
    """
    way = way_of(client, method)
    if way is None or not _is_botocores(way) or not _is_unhooked(client, event) or request.method != "POST":
        return None
    body: bytes = request.body
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    parts, session = urlsplit(request.url), client._endpoint.http_session
    if not headers.keys() - _EACH_ITS_OWN <= _ALL_ALIKE or json.loads(body) != asked or parts.query or parts.fragment:
        return None
    if session._proxy_config.proxy_url_for(request.url) is not None or "@" in parts.netloc:
        return None
    if headers.get("amz-sdk-request", "attempt=1").partition(";")[0] != "attempt=1":
        return None  # a later attempt tells when it has to be over
    if (getattr(request, "context", None) or {}).get("read_timeout") is not None:
        return None
    host = _host(parts)
    credentials = credentials_of(client)
    sign = _signer(headers | {"host": host}, parts.path or "/", credentials, body)
    if sign is None:
        return None
    alike = "".join(f"{name}: {headers[name]}\r\n" for name in sorted(_ALL_ALIKE & headers.keys()))
    head = f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity\r\n{alike}"
    pool = session._manager.connection_from_url(request.url)
    return Pattern(request.url, head, sign, credentials, pool, way)


def _signer(headers: Mapping[str, str], path: str, credentials: Any, body: bytes) -> Signer | None:
    """Signs as the call with these headers was signed; None where its signature is another one."""
    scope = scope_of(headers.get("authorization", ""))
    if scope is None or scope.access_key != credentials.access_key:
        return None
    if headers.get("x-amz-security-token") != credentials.token:
        return None
    found = signer(scope, credentials.secret_key, path, headers)
    if found is None or found.authorization(headers["x-amz-date"], body) != headers["authorization"]:
        return None
    return found


def credentials_of(client: Any) -> Any:
    """The credentials that botocore would sign with now."""
    return client._request_signer._credentials.get_frozen_credentials()


def is_same(way: tuple[Any, ...], other: tuple[Any, ...] | None) -> bool:
    """Whether a call would go through the same."""
    return other is not None and all(map(operator.is_, way, other))


def way_of(client: Any, method: str) -> tuple[Any, ...] | None:
    """The functions that a call goes through, and the emitter's memory, which is a new one after each change of the handlers.

    None where they are no plain ones: another build of botocore, or wrapped ones.
    """
    endpoint, events = client._endpoint, client.meta.events
    session: Any = endpoint.http_session
    emitter: Any = events._emitter
    kinds = type(session), type(events), type(emitter)
    if kinds != (URLLib3Session, EventAliaser, HierarchicalEmitter):
        return None
    steps = (
        *(getattr(client, method), client._make_api_call, client._make_request, client._convert_to_request_dict),
        *(endpoint.make_request, endpoint.create_request, endpoint.prepare_request, endpoint._send_request),
        *(endpoint._send, session.send),
    )
    if not all(type(step) is MethodType and type(step.__func__) is FunctionType for step in steps):
        return None
    return (*(step.__func__ for step in steps), emitter._lookup_cache)


def _is_botocores(way: tuple[Any, ...]) -> bool:
    """Whether all of its functions are botocore's own: tools that trace calls put theirs in place."""
    return all(step.__code__.co_filename.startswith(_PLACE) for step in way if type(step) is FunctionType)


def _is_unhooked(client: Any, event: str) -> bool:
    """Whether no handler has a say in a call that the pattern would not show."""
    emitter = client.meta.events._emitter
    found = {name: emitter._handlers.prefix_search(f"{name}.{event}") for name in _EVENTS}
    return all(_module(handler) in _KNOWN_HANDLERS for handlers in found.values() for handler in handlers)


def _module(handler: Any) -> str:
    """The module of a function, a method, or an object that is called."""
    return str(handler.__module__ if isinstance(handler, FunctionType | MethodType) else type(handler).__module__)


def _host(parts: SplitResult) -> str:
    """The header of that name: with the port, where it is not the scheme's own."""
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return parts.netloc.removesuffix(usual) if usual else parts.netloc


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
