"""docs/app.md explains every option, and its recipes do what it says of them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import streamiter.app
from streamiter import App, Record
from streamiter.app.events import AppEvent
from streamiter.testing import Simulator

PAGE = (Path(__file__).parent.parent.parent / "docs/app.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def options(text: str) -> list[str]:
    table = text.partition("\n| Option ")[2].partition("\n\n")[0]
    return [
        name
        for line in table.splitlines()
        for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    ]


def parameters(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}


def test_every_option_is_explained():
    assert set(options(section("The app"))) == parameters(App)
    assert set(options(section("Processors"))) == parameters(App.processor)


def test_every_event_is_explained():
    events = {
        name
        for name, value in vars(streamiter.app).items()
        if inspect.isclass(value) and issubclass(value, AppEvent) and value is not AppEvent
    }
    assert set(re.findall(r"`(\w+)`", section("Events").partition("All are in")[0])) & events == events


def recipe(start: str) -> dict[str, Any]:
    """The names that the block which begins like this defines."""
    (code,) = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if code.startswith(start)]
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def test_a_table_that_compares_fences_refuses_a_former_owner():
    save_total = recipe("def save_total")["save_total"]
    boto3 = pytest.importorskip("boto3")
    with Simulator(table=None) as sim:
        credentials = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
        resource = boto3.resource("dynamodb", endpoint_url=sim.endpoint_url, **credentials)
        table = resource.create_table(
            TableName="totals",
            KeySchema=[{"AttributeName": "customer", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "customer", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

        def save(total: int, fence: int, number: str) -> int:
            save_total(table, "ann", total, SimpleNamespace(fence=fence), Record("S1", number, None))
            return int(table.get_item(Key={"customer": "ann"})["Item"]["total"])

        assert save(1, fence=3, number="99") == 1
        assert save(2, fence=3, number="100") == 2
        assert save(1, fence=3, number="99") == 2, "an earlier record"
        assert save(3, fence=10, number="101") == 3
        assert save(9, fence=9, number="200") == 3, "a former owner"


def test_an_idempotent_key_takes_a_record_once():
    names = recipe("payments = {}")
    for number in ("1", "2", "1"):
        record = SimpleNamespace(order_key=f"S1 {number}", new={"total": number})
        names["pay"](record)
    assert names["payments"] == {"S1 1": "1", "S1 2": "2"}
