"""What pages of the docs may ask for with `<!-- fixture: NAME -->`: something running, and the names it goes by.

Each is a generator: it gets pytest's monkeypatch (for environment variables, say), starts what it needs on loopback,
yields the names for the page's namespace, and stops it again. For example:

    def local_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
        with Service() as service:
            yield {"endpoint_url": service.url}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

Names = dict[str, object]
Fixture = Callable[[pytest.MonkeyPatch], Iterator[Names]]

FIXTURES: dict[str, Fixture] = {}
