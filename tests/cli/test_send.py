"""`streamiter send` and `sendmany`: values from the command line and from files, and where an import goes on."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from streamiter import App
from streamiter.cli.catalogue import streamiter
from streamiter.cli.sending import importing
from streamiter.cli.setting import Setting
from streamiter.errors import AccessDenied, TransientError
from streamiter.testing import ManualClock
from streamiter.topic import Topic
from streamiter.topic.routing import partition_of
from tests.topic.faults import FaultyLog


class Order(msgspec.Struct):
    order_id: int
    total: float = 0
    note: str = ""


class Shop:
    """An app in a module `shop`, as a command finds it, and its log."""

    def __init__(self) -> None:
        self.log = FaultyLog()
        self.app = App("shop", store="memory:")
        self.orders: Topic[Order] = self.app.topic(self.log, name="orders", record=Order, partition_by="order_id")

    def written(self) -> list[int]:
        return [json.loads(payload)["order_id"] for payload in self.log.all_payloads()]


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shop:
    made = Shop()
    module = ModuleType("shop")
    module.app = made.app  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop", module)
    monkeypatch.chdir(tmp_path)
    return made


def call(*words: object, given: str | bytes | None = None) -> Result:
    setting = Setting(clock=ManualClock())
    return CliRunner().invoke(streamiter, [str(word) for word in words], input=given, obj=setting)


def send(*words: object, given: str | None = None) -> Result:
    return call("send", "shop:app", "orders", *words, given=given)


def sendmany(*words: object, given: str | bytes | None = None) -> Result:
    return call("sendmany", "shop:app", "orders", *words, given=given)


def lines(*numbers: int) -> str:
    return "".join(f'{{"order_id": {number}}}\n' for number in numbers)


# -- send


def test_send_says_where_the_value_was_written(shop):
    done = send('{"order_id": 7, "total": 1.10}')
    assert done.exit_code == 0, done.output
    partition = partition_of(7, 4)
    assert done.stdout == f"orders: partition {partition}, number 1\n"
    assert shop.log.payloads(partition) == [b'{"order_id": 7, "total": 1.10}']  # with all its digits


def test_send_takes_a_key_and_a_pipe(shop):
    assert send("-", "--key", "ann", given='  {"order_id": 7}\n').exit_code == 0
    assert shop.log.payloads(partition_of("ann", 4)) == [b'{"order_id": 7}']


@pytest.mark.parametrize(
    "words, says",
    [
        (("shop:app", "orders", '{"order_id": "x"}'), "Expected `int`, got `str` at order_id"),
        (("shop:app", "orders", '{"order_id": 1,, }'), "(column "),
        (("shop:app", "orders", "{}"), "missing required field `order_id`"),
        (("shop:app", "order", "{}"), "shop has no topic 'order'; its topics: orders"),
        (("shop:app", "{}"), "say MODULE:APP TOPIC VALUE"),
        (("shop:nothing", "orders", "{}"), "shop has no 'nothing'; its apps: app"),
        (("sqlite:///orders.db?topic=orders", "orders", "{}"), "say URL VALUE"),
        (("shop:app", "orders", '{"order_id": 1}', "--partition-by", "x"), "go with a URL"),
    ],
)
def test_send_says_what_is_wrong_and_writes_nothing(shop, words, says):
    done = call("send", *words)
    assert done.exit_code != 0
    assert says in done.output
    assert shop.written() == []


# -- sendmany


def test_lines_of_json_are_sent_in_order_by_key(shop):
    Path("orders.jsonl").write_text("\ufeff" + lines(*range(50)) + "\n\n" + lines(*range(50, 100)), "utf-8")
    done = sendmany("orders.jsonl")
    assert done.exit_code == 0, done.output
    assert done.stdout == "100 values written to orders\n"
    for partition in range(4):
        numbers = [json.loads(payload)["order_id"] for payload in shop.log.payloads(partition)]
        assert numbers == sorted(numbers)
    assert sorted(shop.written()) == list(range(100))


def test_rows_of_csv_become_what_the_record_says(shop):
    rows = 'order_id,total,note\n1,2.5,"two\nlines"\n2,,\n'
    done = sendmany("-", "--format", "csv", given=rows)
    assert done.exit_code == 0, done.output
    found = sorted((json.loads(payload) for payload in shop.log.all_payloads()), key=lambda row: row["order_id"])
    assert found == [
        {"order_id": 1, "total": 2.5, "note": "two\nlines"},
        {"order_id": 2, "total": 0.0, "note": ""},
    ]


def test_a_bad_line_ends_it_with_its_number_and_where_to_go_on(shop):
    Path("orders.jsonl").write_text(lines(1, 2) + '{"order_id": }\n' + lines(4))
    done = sendmany("orders.jsonl")
    assert done.exit_code == 1
    assert "line 3, column 14: JSON is malformed" in done.output
    assert "all before line 3 is written; go on with --from-line 3" in done.output
    assert sorted(shop.written()) == [1, 2]
    Path("orders.jsonl").write_text(lines(1, 2, 3, 4))
    assert sendmany("orders.jsonl", "--from-line", 3).exit_code == 0
    assert sorted(shop.written()) == [1, 2, 3, 4]


def test_bad_lines_are_told_and_counted_by_choice(shop):
    rows = b"order_id,total\n1,1\nx,2\n3\n4,\xff\n5,5\n"
    done = sendmany("-", "--format", "csv", "--skip-bad", given=rows)
    assert done.exit_code == 0, done.output
    assert "line 3: Expected `int`, got `str` at order_id" in done.stderr
    assert "line 4: it has 1 cells, and the first line has 2" in done.stderr
    assert "line 5: it is not UTF-8" in done.stderr
    assert done.stdout == "2 values written to orders; 3 bad lines skipped\n"


@pytest.mark.parametrize("rows, says", [("a,a\n1,2\n", "'a' stands there twice"), ("a,\n1,2\n", "a name is empty")])
def test_a_csv_file_without_proper_names_is_refused(shop, rows, says):
    done = sendmany("-", "--format", "csv", given=rows)
    assert done.exit_code == 1
    assert says in done.output


def test_it_goes_on_where_it_stood_and_nothing_comes_twice(shop):
    Path("orders.jsonl").write_text(lines(*range(100)))
    shop.log.fault = lambda partition, entries: AccessDenied("no") if partition == 2 else None
    done = sendmany("orders.jsonl", "--state", "orders.state")
    assert done.exit_code == 1
    assert "run it again to go on" in done.output
    first = shop.written()
    state = json.loads(Path("orders.state").read_text())
    assert state["sent"] == len(first)
    assert state["ahead"] == 0
    shop.log.fault = lambda *_: None
    done = sendmany("orders.jsonl", "--state", "orders.state")
    assert done.exit_code == 0, done.output
    assert f"going on with line {state['line']}" in done.stderr
    assert sorted(shop.written()) == list(range(100))
    assert sendmany("orders.jsonl", "--state", "orders.state").stdout == "0 values written to orders\n"


def test_what_may_have_been_written_is_looked_for_and_does_not_come_again(shop):
    Path("orders.jsonl").write_text(lines(1, 2))
    shop.log.fault, shop.log.loses_answers = (lambda *_: TransientError("the answer is lost")), True
    assert "1 more may have been" in sendmany("orders.jsonl", "--state", "orders.state").output
    shop.log.fault = lambda *_: None
    done = sendmany("orders.jsonl", "--state", "orders.state")
    assert "that the run before had sent are found, and not sent again" in done.stderr
    assert sorted(shop.written()) == [1, 2]


def test_after_a_kill_what_was_written_is_found(shop):
    Path("orders.jsonl").write_text(lines(*range(10)))
    assert sendmany("orders.jsonl", "--state", "orders.state").exit_code == 0
    state = json.loads(Path("orders.state").read_text())
    Path("orders.state").write_text(json.dumps(state | {"line": 4, "beyond": [6], "ahead": 2004, "sent": 4}))
    Path("orders.jsonl").write_text(lines(*range(12)))
    done = sendmany("orders.jsonl", "--state", "orders.state")
    assert "6 lines that the run before had sent are found, and not sent again" in done.stderr
    assert done.stdout == "2 values written to orders\n"
    assert sorted(shop.written()) == list(range(12))
    assert json.loads(Path("orders.state").read_text())["sent"] == 12


def test_what_another_import_wrote_is_not_taken_for_it(shop):
    Path("orders.jsonl").write_text(lines(1))
    assert sendmany("orders.jsonl", "--state", "orders.state").exit_code == 0
    state = json.loads(Path("orders.state").read_text())
    Path("orders.state").write_text(json.dumps(state | {"line": 1, "ahead": 2004, "sent": 0, "run": "another"}))
    assert sendmany("orders.jsonl", "--state", "orders.state").stdout == "1 value written to orders\n"
    assert shop.written() == [1, 1]


def test_where_that_cannot_be_told_it_says_which_lines_may_come_twice(shop):
    Path("orders.jsonl").write_text(lines(*range(10)))
    assert sendmany("orders.jsonl", "--state", "orders.state").exit_code == 0
    state = json.loads(Path("orders.state").read_text())
    Path("orders.state").write_text(json.dumps(state | {"line": 4, "beyond": [6], "ahead": 2004}))
    for partition in range(4):
        shop.log.trim(partition, before=1 << 40)
    done = sendmany("orders.jsonl", "--state", "orders.state")
    assert "lines 4 to 2004 may have been sent then, and are sent again" in done.stderr
    assert done.stdout == "6 values written to orders\n"  # 4, 5, 7, 8, 9, 10


def interrupting(count: int, code: str) -> Callable[..., Any]:
    """A trace function: Ctrl-C comes before the so many-th line of this file that is carried out."""
    left = count

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != code:
            return None
        left -= event == "line"
        if left == 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    return trace


def test_wherever_ctrl_c_comes_nothing_is_written_twice_or_left_out(shop):
    """One that came just behind a line that was sent had the next run send that line again."""
    given, count, was_stopped = lines(1, 2, 3), 0, True
    while was_stopped:
        count += 1
        before = Counter(shop.written())
        tracing = sys.gettrace()
        sys.settrace(interrupting(count, importing.__file__))
        try:
            first = sendmany("-", "--state", f"{count}.state", given=given)
        finally:
            sys.settrace(tracing)
        was_stopped = first.exit_code != 0
        then = sendmany("-", "--state", f"{count}.state", given=given)
        assert then.exit_code == 0
        assert Counter(shop.written()) - before == Counter([1, 2, 3]), (count, first.stderr, then.stderr)
    assert count > 60


@pytest.mark.parametrize(
    "change, says",
    [
        ({"file": "other.jsonl"}, "is of the file other.jsonl"),
        ({"topic": "memory:other"}, "is of the topic memory:other"),
        ({"streamiter_import": 2}, "is no state file"),
        ({"more": 1}, "is damaged"),
    ],
)
def test_a_state_file_of_something_else_is_refused(shop, change, says):
    Path("orders.jsonl").write_text(lines(1))
    assert sendmany("orders.jsonl", "--state", "orders.state").exit_code == 0
    Path("orders.state").write_text(json.dumps(json.loads(Path("orders.state").read_text()) | change))
    done = sendmany("orders.jsonl", "--state", "orders.state")
    assert done.exit_code == 1
    assert says in done.output


def test_two_words_about_the_place_are_refused(shop):
    Path("orders.jsonl").write_text(lines(1, 2))
    assert sendmany("orders.jsonl", "--state", "orders.state").exit_code == 0
    assert "leave out --from-line" in sendmany("orders.jsonl", "--state", "orders.state", "--from-line", 1).output


def test_a_file_that_there_is_not(shop):
    done = sendmany("nothing.jsonl")
    assert done.exit_code == 1
    assert "nothing.jsonl: No such file" in done.output
