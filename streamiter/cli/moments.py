"""Moments: what a person writes for a time: `2 hours ago`, `2025-06-15 14:00`, `now`; pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

import click

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
    try:
        moment = _relative(words, now, sign) or _calendar(words, now, sign)
        if moment is None and _SINCE_1970.fullmatch(words):
            moment = datetime.fromtimestamp(float(words) / (1000 if len(words.partition(".")[0]) > 11 else 1), UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise ValueError(f"{text!r} is not a time: write {HOW}")
    return moment


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


def check_order(start: object, until: object, now: float) -> None:
    """An end that is before the begin is a mistake: nothing would ever lie between them."""
    if start == "latest" and isinstance(until, datetime) and until.timestamp() <= now:
        raise click.UsageError(
            f"--until ({shown(until)}) has passed, and --from is latest: nothing lies between them; say where to begin, "
            "such as --from '2 hours ago'"
        )
    if isinstance(start, datetime) and isinstance(until, datetime) and until <= start:
        raise click.UsageError(
            f"--until ({shown(until)}) is not after --from ({shown(start)}): nothing lies between them"
        )


def shown(moment: datetime) -> str:
    """A moment as messages name it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """An option that takes a moment, or one of a few words."""

    name = "when"

    def __init__(self, *words: str, sign: int = -1) -> None:
        self._words = words
        self._sign = sign

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        from streamiter.cli.setting import setting

        if not isinstance(value, str):
            return value
        word = value.strip().lower().replace("-", "_").replace(" ", "_")
        if word in self._words:
            return word
        try:
            return parse_moment(value, setting().clock.now(), sign=self._sign)
        except ValueError as error:
            words = f"; or {' or '.join(self._words)}" if self._words else ""
            return self.fail(f"{error}{words}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        words = (*self._words, "1 hour ago", "2 hours ago", "today", "yesterday")
        return [click.shell_completion.CompletionItem(word) for word in words if word.startswith(incomplete)]


def age(seconds: float) -> str:
    """So long, in two words at most: `4 h 10 m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    for unit, size, rest in (("m", 60, "s"), ("h", 3600, "m"), ("d", 86400, "h")):
        next_size = size * (24 if unit == "h" else 60)
        if whole < next_size or unit == "d":
            more = whole % size // (size // (24 if unit == "d" else 60))
            return f"{whole // size} {unit}" + (f" {more} {rest}" if more else "")
    raise AssertionError(whole)
