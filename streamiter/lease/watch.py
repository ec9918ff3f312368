"""The watch: since when, by this worker's own clock, each row's version stands still."""

from __future__ import annotations

from collections.abc import Container


class Watch:
    """Versions, and when each was first seen. The moment is that of the *answer*.

    When the question was sent, the version may not have been written yet: counted from there, a lease would be taken while
    its owner still delivers (law 9).
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self._moved: set[str] = set()

    def see(self, key: str, version: int, answered_us: int) -> None:
        """An answer that came at this moment shows this version."""
        seen = self._seen.get(key)
        if seen is None or seen[0] != version:
            self._seen[key] = (version, answered_us)
            if seen is not None:
                self._moved.add(key)

    def has_moved(self, key: str) -> bool:
        """Whether its version was seen to change."""
        return key in self._moved

    def still_us(self, key: str, now_us: int) -> int:
        """For how long it stood still."""
        return now_us - self._seen[key][1]

    def keep(self, keys: Container[str]) -> None:
        """Forgets all others."""
        for key in [key for key in self._seen if key not in keys]:
            del self._seen[key]
            self._moved.discard(key)
