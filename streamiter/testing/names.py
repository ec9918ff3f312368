"""Names: the error for a name that does not exist lists the names that do, and suggests the closest one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`there is no knob 'page_sise'; did you mean page_size? there are: retention, ...`."""
    names = list(known)
    near = get_close_matches(name, names, n=1) or [other for other in names if other.lower() == name.lower()]
    meant = f"; did you mean {near[0]}?" if near else ";"
    return f"there is no {what} {name!r}{meant} there are: {', '.join(names)}"
