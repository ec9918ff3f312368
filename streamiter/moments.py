"""Moments: what a person writes for a time: `2 hours ago`, `2025-06-15 14:00`, `now`; the one parser of all; pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

_UNITS = {
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("m", "min", "minute"), 60),
    **dict.fromkeys(("h", "hour"), 3600),
    **dict.fromkeys(("d", "day"), 86400),
    **dict.fromkeys(("w", "week"), 7 * 86400),
}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?(?=\s*[a-z])|\ban?(?=\s))\s*([a-z]+)")
_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
# A day, a time of it, a zone: each may be left out, but not the first two together.
_CALENDAR = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2}|today|yesterday|tomorrow)?"
    r"(?:(?:^|(?<=.)(?:\s+at\s+|\s+|t))(?P<clock>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?))?"
    r"\s*(?P<zone>z|utc|[+-][0-9]{2}:?[0-9]{2})?"
)
_SINCE_1970 = re.compile(r"[0-9]{9,11}(\.[0-9]+)?|[0-9]{12,14}")  # seconds; so many digits are milliseconds
FORMS = (
    *("'2 hours ago'", "90s", "now", "10:30", "today", "yesterday", "'yesterday 14:00'", "2026-11-18"),
    *("'2026-11-18 10:30'", "2026-11-18T10:30:00Z"),
)
HOW = f"{', '.join(FORMS)}, or seconds since 1970; it is UTC, unless it says +02:00"


def parse_moment(text: str, now: float, *, sign: int = -1) -> datetime:
    """The moment that was meant; what names no zone is UTC.

    Amounts alone count back from now, or, with `sign=1`, forward; `in 5m` always forward. A time without a day is today's,
    but never one to come where it counts back: then it is yesterday's.
    """
    words = " ".join(text.lower().split())
    for parse in (_relative, _calendar, _since_1970, _iso):
        try:
            moment = parse(words, now, sign)
        except (ValueError, OverflowError):
            continue
        if moment is not None:
            return moment
    raise ValueError(f"{_short(text)!r} is not a time: write {HOW}")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _relative(words: str, now: float, sign: int) -> datetime | None:
    """So much before or after now."""
    if words == "now":
        return datetime.fromtimestamp(now, UTC)
    if words.startswith("in "):
        words, sign = words.removeprefix("in "), 1
    elif words.endswith(" ago"):
        words, sign = words.removesuffix(" ago"), -1
    seconds = _seconds(words)
    return None if seconds is None else datetime.fromtimestamp(now, UTC) + sign * timedelta(seconds=seconds)


def _calendar(words: str, now: float, sign: int) -> datetime | None:
    """A day, a time, or both, as calendars and clocks have them."""
    found = _CALENDAR.fullmatch(words)
    if found is None or not (found["day"] or found["clock"]):
        return None
    zone = _zone(found["zone"])
    hours, _, rest = (found["clock"] or "00:00").partition(":")
    clock = time.fromisoformat(f"{hours:0>2}:{rest}")
    today = datetime.fromtimestamp(now, zone).date()
    if found["day"] is None:
        moment = datetime.combine(today, clock, zone).astimezone(UTC)
        return moment - timedelta(days=1) if sign < 0 and moment.timestamp() > now else moment
    named = _DAYS.get(found["day"])
    day = date.fromisoformat(found["day"]) if named is None else today + timedelta(days=named)
    return datetime.combine(day, clock, zone).astimezone(UTC)


def _since_1970(words: str, _now: float, _sign: int) -> datetime | None:
    """Seconds or milliseconds."""
    if not _SINCE_1970.fullmatch(words):
        return None
    return datetime.fromtimestamp(float(words) / (1000 if len(words.partition(".")[0]) > 11 else 1), UTC)


def _iso(words: str, _now: float, _sign: int) -> datetime | None:
    """What else the standard allows: 20261118T103000Z, 2026-W47-3."""
    moment = datetime.fromisoformat(words.upper())
    return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _zone(text: str | None) -> timezone:
    if text in (None, "z", "utc"):
        return UTC
    assert text is not None
    hours, minutes = int(text[1:3]), int(text[-2:])
    if minutes > 59:
        raise ValueError(text)
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))


def _seconds(words: str) -> float | None:
    """So many seconds: `2 hours`, `1h30m`; None where it is something else."""
    parts = _AMOUNT.findall(words)
    if not parts or _AMOUNT.sub("", words).strip(" ,") not in ("", "and"):
        return None
    total = 0.0
    for amount, unit in parts:
        name = unit if unit in _UNITS else unit.removesuffix("s")
        if name not in _UNITS:
            return None
        total += _UNITS[name] * (1.0 if amount.startswith("a") else float(amount))
    return total
