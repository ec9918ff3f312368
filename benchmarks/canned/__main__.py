"""The canned server's process: makes a backlog, says where it listens, and serves until its parent lets go of it."""

from __future__ import annotations

import argparse
import sys
import threading

from benchmarks.canned.backlog import Backlog
from benchmarks.canned.kinesis import KinesisService
from benchmarks.canned.service import Service
from benchmarks.canned.wire import Server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.canned", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=10_000, help="of the backlog")
    parser.add_argument("--record-bytes", type=int, default=575)
    parser.add_argument("--shards", type=int, action="append", help="a stream of so many shards; may be repeated")
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS", help="before each answer leaves")
    parser.add_argument("--rolls", action="store_true", help="the shards will roll: see Service.control")
    parser.add_argument("--rolled", action="store_true", help="the shards have rolled: their children have nothing yet")
    parser.add_argument("--closed", action="store_true", help="the shards take no more records")
    parser.add_argument("--kinesis", action="store_true", help="speaks Kinesis; records are payloads of so many bytes")
    options = parser.parse_args()

    server = Server(_service(options))
    print(server.port, flush=True)
    threading.Thread(target=server.serve, daemon=True).start()
    sys.stdin.read()  # It ends with its parent, however that ends.


def _service(options: argparse.Namespace) -> Service | KinesisService:
    shards = options.shards or [1]
    if options.kinesis:
        return KinesisService(options.records, options.record_bytes, shards[0])
    backlog = Backlog(options.records, options.record_bytes)
    service = Service(backlog, shards, rolls=options.rolls, rolled=options.rolled, closed=options.closed)
    service.latency = options.latency
    return service


if __name__ == "__main__":
    main()
