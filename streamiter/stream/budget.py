"""The budget: how many bytes may be fetched ahead, shared among the lanes; page sizes follow from it."""

from __future__ import annotations

from streamiter.source.base import Page

GUESSED_RECORD_BYTES = 2048.0  # until the first page tells


class Budget:
    """Knows about how many bytes a record takes, as pages told of late."""

    def __init__(self, prefetch_bytes: int) -> None:
        self._prefetch_bytes = prefetch_bytes
        self._record_bytes = GUESSED_RECORD_BYTES
        self._is_guessed = True

    def learn(self, page: Page) -> None:
        """A page came."""
        if page.records and page.size_bytes:  # a source need not tell how large a page is
            weight = 1.0 if self._is_guessed else 1 / 8
            self._record_bytes += (page.size_bytes / len(page.records) - self._record_bytes) * weight
            self._is_guessed = False

    def share_bytes(self, lanes: int) -> float:
        """How many bytes each of so many lanes may hold, so that all together stay within the budget."""
        return self._prefetch_bytes / max(1, lanes)

    def left_bytes(self, waiting_bytes: float, under_way_bytes: float) -> float:
        """How many bytes more may be fetched ahead."""
        return self._prefetch_bytes - waiting_bytes - under_way_bytes

    def limit(self, share_bytes: float, most: int) -> int:
        """How many records a page may bring, so that it does not exceed a lane's share."""
        return max(1, min(most, int(share_bytes / self._record_bytes)))

    def estimate_bytes(self, records: int) -> float:
        """About how many bytes so many records take."""
        return records * self._record_bytes
