"""Sessions: models are loaded once in a process, credentials with each session."""

from __future__ import annotations

import pytest
from botocore.loaders import JSONFileLoader

from streamiter.source.sessions import new_session


@pytest.fixture
def loads(monkeypatch) -> list[str]:
    found: list[str] = []
    load = JSONFileLoader.load_file

    def noted(self: JSONFileLoader, path: str) -> object:
        found.append(path)
        return load(self, path)

    monkeypatch.setattr(JSONFileLoader, "load_file", noted)
    return found


def client_of(session) -> object:
    return session.client("dynamodbstreams", region_name="eu-west-1", endpoint_url="http://127.0.0.1:1")


def test_models_are_loaded_once(loads):
    client_of(new_session())
    loads.clear()
    for _ in range(3):
        client_of(new_session())
    assert loads == []


def test_each_session_has_the_credentials_of_its_moment(monkeypatch):
    for key in ("first", "second"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        assert new_session().get_credentials().access_key == key


def test_sessions_do_not_add_to_where_models_are_looked_for():
    first = new_session()
    count = len(first._session.get_component("data_loader").search_paths)
    for _ in range(3):
        last = new_session()
    assert len(last._session.get_component("data_loader").search_paths) == count


def test_another_folder_of_models_is_another_matter(monkeypatch, tmp_path):
    usual = new_session()._session.get_component("data_loader")
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    other = new_session()._session.get_component("data_loader")
    assert str(tmp_path) in other.search_paths
    assert str(tmp_path) not in usual.search_paths
