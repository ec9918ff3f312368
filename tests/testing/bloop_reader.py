"""Reads a table with Bloop, in Bloop's own environment: `python bloop_reader.py URL`; prints what it read as JSON."""

from __future__ import annotations

import json
import sys


def main(url: str) -> None:
    import boto3
    from bloop import BaseModel, Column, Engine, Integer, String  # type: ignore[import-not-found]

    class User(BaseModel):  # type: ignore[misc]
        class Meta:
            table_name = "users"
            stream = {"include": {"new", "old"}}  # noqa: RUF012  # Bloop wants it so

        id = Column(String, hash_key=True)
        n = Column(Integer)

    place = {"endpoint_url": url, "region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    engine = Engine(
        dynamodb=boto3.client("dynamodb", **place), dynamodbstreams=boto3.client("dynamodbstreams", **place)
    )
    engine.bind(User)  # makes the table, and its stream
    for number in range(5):
        engine.save(User(id=str(number), n=number))
    engine.delete(User(id="3"))
    stream = engine.stream(User, "trim_horizon")
    found = []
    for _ in range(200):
        record = next(stream)
        if record is not None:
            new, old = record["new"], record["old"]
            found.append([record["meta"]["event"]["type"], (new or old).id, new and new.n, old and old.n])
    token = json.loads(json.dumps(stream.token))
    engine.save(User(id="later", n=7))
    stream.move_to(token)
    later = [record["new"].id for record in (next(stream) for _ in range(50)) if record]
    print(json.dumps({"found": found, "later": later}))


if __name__ == "__main__":
    main(sys.argv[1])
