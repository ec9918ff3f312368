"""The user agent: a short one of our own, unless the caller's settings say whose calls these are."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.session import get_session

from streamiter import DynamoDBStreams


def user_agent(session: boto3.Session | None = None) -> str:
    """What a source's calls say of themselves."""
    source = DynamoDBStreams("users", session=session, region="eu-west-1", endpoint_url="http://127.0.0.1:1")
    sent: list[str] = []

    def keep(request: Any, **_: Any) -> None:
        sent.append(request.headers["User-Agent"].decode())
        raise InterruptedError

    client = source.make_client("dynamodbstreams")
    client.meta.events.register("before-send", keep)
    with pytest.raises(InterruptedError):
        client.list_streams()
    source.close()
    return sent[0]


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SDK_UA_APP_ID", "AWS_EXECUTION_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


def test_it_names_us_and_each_library_once():
    told = user_agent()
    assert told.startswith("streamiter/")
    assert told.count("Boto3/") == told.count("Botocore/") == 1


@pytest.mark.parametrize(
    "setting, part", [("AWS_SDK_UA_APP_ID", "app/orders"), ("AWS_EXECUTION_ENV", "exec-env/orders")]
)
def test_what_the_environment_tells_is_told(setting: str, part: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(setting, "orders")
    assert part in user_agent()


def test_where_it_runs_is_told_in_a_short_one_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_EXECUTION_ENV", "AWS_Lambda_python3.12")
    assert user_agent().startswith("streamiter/")
    monkeypatch.setenv("AWS_EXECUTION_ENV", "not\nplain")
    assert "exec-env/not-plain" in user_agent(), "as botocore has it"


def test_what_the_callers_session_tells_is_told():
    core = get_session()
    core.user_agent_name, core.user_agent_version, core.user_agent_extra = "orders", "7", "more/1"
    told = user_agent(boto3.Session(botocore_session=core))
    assert told.startswith("orders/7") and "more/1" in told


@pytest.mark.parametrize("name", ["user_agent", "user_agent_appid"])
def test_so_is_what_its_usual_config_tells(name: str):
    core, told = get_session(), {name: "orders"}
    core.set_default_client_config(Config(**told))  # type: ignore[arg-type]  # its stubs lack one
    assert "orders" in user_agent(boto3.Session(botocore_session=core))
