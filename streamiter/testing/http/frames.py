"""Frames: HTTP/2's bytes, cut where one frame ends and the next begins, before h2 reads them.

A client that wants no further answers says GOAWAY at once, and still takes in those under way: JavaScript's does so with each
answer. h2 takes a GOAWAY for the end of everything, so it does not get to see one without an error.
"""

from __future__ import annotations

_HEAD = 9  # bytes: three of length, one of type, one of flags, four of the stream's number
_GOAWAY = 7
_LONGEST = 1 << 14  # what we allow: as much as every peer may send that was not told otherwise


class LongFrame(Exception):
    """A frame that is longer than it may be. h2 would wait for all of it."""


def take_frames(unread: bytearray) -> tuple[bytes, bool]:
    """The whole frames, which are taken out of `unread`; and whether the client said goodbye among them."""
    taken = bytearray()
    place, says_goodbye = 0, False
    while len(unread) - place >= _HEAD:
        length = int.from_bytes(unread[place : place + 3], "big")
        end = place + _HEAD + length
        if length > _LONGEST:
            raise LongFrame
        if len(unread) < end:
            break
        frame = unread[place:end]
        if frame[3] == _GOAWAY and not any(frame[_HEAD + 4 : _HEAD + 8]):
            says_goodbye = True
        else:
            taken += frame
        place = end
    del unread[:place]
    return bytes(taken), says_goodbye
