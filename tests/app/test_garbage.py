"""What a worker's process has from its start is passed over by the garbage collector, for as long as the app runs."""

from __future__ import annotations

import gc

import pytest

from streamiter import App


def test_while_an_app_runs_the_collector_passes_over_what_was_there_before():
    app = App("shop", store="memory:")
    frozen = []

    @app.timer(0.01)
    async def look() -> None:
        frozen.append(gc.get_freeze_count())
        app.stop()

    before = gc.get_freeze_count()
    app.run()
    assert frozen[0] > 1000 + before
    assert gc.get_freeze_count() == 0


def test_it_is_as_before_where_the_app_cannot_run():
    with pytest.raises(ValueError, match="nothing to do"):
        App("shop", store="memory:").run()
    assert gc.get_freeze_count() == 0
