"""A child that notes what it gets, and misbehaves as it is told: `odd_child.py NOTES [WHAT [TIMES]]`. Standard library alone.

It does WHAT in so many of its processes (by the notes that these leave), and behaves in those after them.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time

NOTES = sys.argv[1]
WHAT, TIMES = sys.argv[2] if len(sys.argv) > 2 else "", sys.argv[3] if len(sys.argv) > 3 else "1"


def is_odd():
    """Whether this process misbehaves: its own place counts, because two may begin at the same moment."""
    mark = os.path.join(NOTES, "odd")
    with open(mark, "a") as file:
        file.write(f"{os.getpid()}\n")
    with open(mark) as file:
        return file.read().split().index(str(os.getpid())) < int(TIMES)


ODD = bool(WHAT) and is_odd()


def note(**told):
    with open(os.path.join(NOTES, f"{os.getpid()}.jsonl"), "a") as file:
        file.write(json.dumps({"pid": os.getpid(), "time": time.time(), **told}) + "\n")


def raw(line):
    sys.stdout.buffer.write(line if isinstance(line, bytes) else line.encode())
    sys.stdout.buffer.flush()


def say(**fields):
    raw("\n" + json.dumps(fields) + "\n")


def checkpoint(number=None, sub=None):
    say(action="checkpoint", sequenceNumber=number, subSequenceNumber=sub)
    answer = json.loads(sys.stdin.buffer.readline())
    note(action="answer", **{name: answer.get(name) for name in ("sequenceNumber", "subSequenceNumber", "error")})
    return answer["error"]


def misbehave(action, shard):
    """Does what it is for; True if the action was answered with it."""
    if f"exit:{action}" == WHAT:
        print("ERROR: cannot go on", file=sys.stderr, flush=True)
        os._exit(3)
    elif f"killed:{action}" == WHAT:
        os.kill(os.getpid(), signal.SIGKILL)
    elif f"forks:{action}" == WHAT:
        forked = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])  # it holds our pipes open
        note(action="fork", forked=forked.pid)
        os._exit(4)
    elif f"hides:{action}" == WHAT:
        subprocess.Popen(
            ["sleep", "60"], start_new_session=True
        )  # and so does this, where no signal of the daemon's comes
        os._exit(4)
    elif f"silent:{action}" == WHAT:
        time.sleep(1000)
    elif WHAT in (f"waits:{action}", f"waits:{action}:{shard}"):
        while not os.path.exists(os.path.join(NOTES, "go")):
            time.sleep(0.01)
    elif f"deaf:{action}" == WHAT:
        checkpoint()
        os.close(0)
        say(action="status", responseFor=action)
        time.sleep(1000)
    elif f"closes:{action}" == WHAT:
        os.close(1)
        time.sleep(1000)
    elif f"wrong:{action}" == WHAT:
        say(action="status", responseFor="shardEnded" if action != "shardEnded" else "initialize")
        return True
    elif f"null:{action}" == WHAT:
        say(action="status", responseFor=None)
        return True
    elif f"none:{action}" == WHAT:
        say(action="status")
        return True
    elif f"twice:{action}" == WHAT:
        checkpoint()
        raw(2 * (json.dumps({"action": "status", "responseFor": action}) + "\n"))
        return True
    elif f"garbage:{action}" == WHAT:
        raw(
            'a debugger\'s line\n\n\r\n[1]\n{}\nnull\n"text"\n{broken\n'
            + '{"action": "initialize"}\n{"action": "dance"}\n'
        )
        raw(b"\xff\xfe\n" + b"x" * 5_000_000 + b"\n" + "\u2028\u0085\n".encode())
        print("partial", end="", file=sys.stderr, flush=True)
    elif f"fields:{action}" == WHAT:
        say(action="status", responseFor=action, more={"of": [1]})
        return True
    return False


def main():
    shard = None
    for line in sys.stdin.buffer:
        told = json.loads(line)
        action = told["action"]
        records = [
            [
                base64.b64decode(record["data"]).decode("utf-8", "replace"),
                record["sequenceNumber"],
                record["subSequenceNumber"],
            ]
            for record in told.get("records", ())
        ]
        note(**{**told, "records": records})
        shard = told.get("shardId", shard)
        if ODD and misbehave(action, shard):
            continue
        if action == "shardEnded" and ODD and WHAT == "unmarked":
            say(action="status", responseFor=action)
            continue
        if (action == "processRecords" and WHAT != "late") or action in ("shardEnded", "shutdownRequested"):
            checkpoint()
        say(action="status", responseFor=action)
    note(action="end")
    if ODD and WHAT == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)


main()
