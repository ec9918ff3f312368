"""HTTP/2 with prior knowledge, on the port of HTTP/1.1: the default of Kinesis' clients in JavaScript and Java.

One thread reads a connection, answers what can be answered at once, and sends on what the client's windows let through. A
call that hangs, comes late or goes on (SubscribeToShard) has a thread of its own, so that it holds up no other.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes

from streamiter.testing.http.answer import LOOK_SECONDS, Answer
from streamiter.testing.http.frames import LongFrame, take_frames
from streamiter.testing.http.incoming import Incoming
from streamiter.testing.http.request import MAX_BODY, MAX_HEAD, Request

PREFACE_SIZE = 24  # of what an HTTP/2 connection begins with
WINDOW = 1 << 20  # bytes of a request that may be under way
MOST_WAITING = 4 << 20  # bytes of an answer that goes on, before it has to wait for its client
MOST_WORKERS = (
    200  # answers that hang or come late: a client has at most 100 under way, but may give up as many as it likes
)
MOST_UNSENT = 8 * MAX_BODY  # bytes of all answers of a connection that its client does not take
MOST_UNREAD = 4 * MAX_BODY  # bytes of all requests of a connection that have not ended

_log = logging.getLogger("streamiter.testing")


@dataclass
class _Asking:
    """A request that is coming in."""

    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)


@dataclass
class _Answering:
    """An answer that is going out: what the client's window has not let through yet."""

    waiting: bytearray = field(default_factory=bytearray)
    is_whole: bool = False
    is_reset: bool = False


class Conversation:
    """One connection."""

    def __init__(self, incoming: Incoming, answer: Callable[[Request], Answer], closing: threading.Event) -> None:
        self._incoming = incoming
        self._answer = answer
        self._closing = closing
        self._left = threading.Event()  # the connection is over
        self._lock = threading.Lock()  # over all that follows, and over sending
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self._asking: dict[int, _Asking] = {}
        self._answering: dict[int, _Answering] = {}
        self._is_leaving = False  # the client wants the answers under way, and no more
        self._workers: set[threading.Thread] = set()

    def run(self) -> None:
        """Until either side ends it."""
        settings: dict[SettingCodes | int, int] = {
            SettingCodes.INITIAL_WINDOW_SIZE: WINDOW,
            SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEAD,
        }
        with self._lock:
            self._h2.receive_data(bytes(self._incoming.unread[:PREFACE_SIZE]))
            del self._incoming.unread[:PREFACE_SIZE]
            self._h2.initiate_connection()
            self._h2.update_settings(settings)
            self._h2.increment_flow_control_window(16 * WINDOW)
            self._send_out()
        try:
            while not self._closing.is_set() and self._take():
                if not self._incoming.receive(is_within=bool(self._asking)) and not self._is_waited_for():
                    return
        finally:
            self._left.set()
            for worker in list(self._workers):
                worker.join()

    def _is_waited_for(self) -> bool:
        """Whether the client is silent because it waits for us: an answer may go on for minutes without a word from it."""
        return bool(self._answering) and not self._incoming.has_ended

    def _take(self) -> bool:
        """Everything that came in; whether the connection goes on."""
        try:
            received, says_goodbye = take_frames(self._incoming.unread)
        except LongFrame:
            with self._lock:
                self._h2.close_connection(ErrorCodes.FRAME_SIZE_ERROR)
                self._send_out()
            return False
        self._is_leaving = self._is_leaving or says_goodbye
        with self._lock:
            try:
                events = self._h2.receive_data(received)
            except H2Error as error:
                _log.warning("an HTTP/2 connection ends, since its client broke the protocol: %r", error)
                self._send_out()  # it says what was wrong
                return False
            requests = [whole for event in events if (whole := self._heard(event)) is not None]
            goes_on = not any(isinstance(event, ConnectionTerminated) for event in events)
            goes_on = goes_on and sum(len(asking.body) for asking in self._asking.values()) <= MOST_UNREAD
            self._send_out()
        for whole in requests:
            self._serve(*whole)
        if not self._asking:
            self._incoming.completed()
        with self._lock:  # What is taken out of `_answering` is sent before the lock is free again.
            if self._is_leaving and not self._asking and not self._answering:
                # No close yet: it would break what is still on its way to the client.
                self._incoming.connection.shutdown(socket.SHUT_WR)
        return goes_on

    def _heard(self, event: Event) -> tuple[int, Request] | None:
        """Takes one event in; gives the request that is whole with it."""
        if isinstance(event, RequestReceived):
            self._asking[event.stream_id] = _Asking(_fields(event.headers))  # type: ignore[arg-type]  # of text, by the configuration
        elif isinstance(event, DataReceived):
            self._received(event)
        elif isinstance(event, StreamEnded):
            asking = self._asking.pop(event.stream_id, None)
            if asking is not None:
                request = Request(asking.headers.get(":method", ""), asking.headers, bytes(asking.body))
                self._answering[event.stream_id] = _Answering()
                return event.stream_id, request
        elif isinstance(event, StreamReset):
            self._asking.pop(event.stream_id, None)
            gone = self._answering.pop(event.stream_id, None)
            if gone is not None:
                gone.is_reset = True
        elif isinstance(event, WindowUpdated | RemoteSettingsChanged):
            for stream in list(self._answering):
                self._flush(stream)
        return None

    def _received(self, event: DataReceived) -> None:
        asking = self._asking.get(event.stream_id)
        if asking is not None:
            asking.body += event.data
            if len(asking.body) > MAX_BODY:
                del self._asking[event.stream_id]
                self._h2.reset_stream(event.stream_id, ErrorCodes.ENHANCE_YOUR_CALM)
        self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    # -- answering

    def _serve(self, stream: int, request: Request) -> None:
        answer = self._answer(request)
        if answer.is_at_once:
            self._send(stream, answer)
            return
        if len(self._workers) >= MOST_WORKERS:
            with self._lock:
                self._reset(stream, ErrorCodes.REFUSED_STREAM)
            return
        worker = threading.Thread(target=self._work, args=(stream, answer), daemon=True)
        worker.name = f"{threading.current_thread().name}:{stream}"
        self._workers.add(worker)
        try:
            worker.start()
        except RuntimeError:  # There is no thread to be had: the others of this connection have to wait.
            self._work(stream, answer, worker)

    def _work(self, stream: int, answer: Answer, worker: threading.Thread | None = None) -> None:
        try:
            answer.wait(self._left)
            self._send(stream, answer)
        except OSError:
            self._left.set()
        finally:
            self._workers.discard(worker or threading.current_thread())

    def _send(self, stream: int, answer: Answer) -> None:
        with self._lock:
            answering = self._answering.get(stream)
            if answering is None:
                return  # The client does not want it any more.
            if answer.is_lost:
                self._reset(stream)
                return
            if sum(len(other.waiting) for other in self._answering.values()) > MOST_UNSENT:
                self._reset(stream, ErrorCodes.ENHANCE_YOUR_CALM)
                return
            headers = [(name.lower(), value) for name, value in answer.headers.items()]
            with_length = [] if answer.following or answer.is_cut else [("content-length", str(len(answer.body)))]
            self._h2.send_headers(stream, [(":status", str(answer.status)), *headers, *with_length])
            answering.waiting += answer.body[: len(answer.body) // 2] if answer.is_cut else answer.body
            answering.is_whole = answer.following is None and not answer.is_cut
            self._flush(stream)
            if answer.is_cut:
                self._reset(stream)
            self._send_out()
        if answer.following is not None and not answer.is_cut:
            self._follow(stream, answering, answer.following)

    def _follow(self, stream: int, answering: _Answering, following: Callable[[], bytes | None]) -> None:
        while not self._left.is_set() and not answering.is_reset:
            more = b"" if len(answering.waiting) > MOST_WAITING else following()
            if more == b"":
                self._left.wait(LOOK_SECONDS)
                continue
            with self._lock:
                if answering.is_reset:
                    return
                answering.waiting += more or b""
                answering.is_whole = more is None
                self._flush(stream)
                self._send_out()
            if more is None:
                return

    def _flush(self, stream: int) -> None:
        """Sends what the client's window lets through."""
        answering = self._answering[stream]
        with contextlib.suppress(H2Error):  # the stream was closed in the meantime
            while answering.waiting or answering.is_whole:
                room = min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
                if room <= 0 and answering.waiting:
                    return
                part = bytes(answering.waiting[:room])
                del answering.waiting[: len(part)]
                is_last = answering.is_whole and not answering.waiting
                self._h2.send_data(stream, part, end_stream=is_last)
                if is_last:
                    break
            else:
                return
        self._answering.pop(stream, None)

    def _reset(self, stream: int, why: ErrorCodes = ErrorCodes.INTERNAL_ERROR) -> None:
        self._answering.pop(stream, None)
        with contextlib.suppress(H2Error):
            self._h2.reset_stream(stream, why)
        self._send_out()

    def _send_out(self) -> None:
        self._incoming.connection.sendall(self._h2.data_to_send())


def _fields(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    fields = dict(headers)
    return {"host": fields.get(":authority", "")} | fields
