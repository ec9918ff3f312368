"""The conversation: takes one action of the daemon after the other, and answers each once its work is done, never before."""

from __future__ import annotations

import json
from collections.abc import Callable

from streamiter.clock import Clock
from streamiter.errors import UnknownMessage
from streamiter.multilang import wire
from streamiter.multilang.processor.checkpointer import Checkpointer
from streamiter.multilang.processor.forms import Hooks
from streamiter.multilang.processor.pipe import Pipe
from streamiter.multilang.processor.work import Checkpoints, Stage, Work


class Conversation:
    """A child's side of the protocol, for one shard, or for several that share it (our daemon's `--children`).

    `hooks` gives a shard its processor. What that raises comes out of `hold`, and its action is not answered: the daemon gives
    the records again.
    """

    def __init__(
        self, pipe: Pipe, hooks: Callable[[], Hooks], *, checkpoint: Checkpoints, patience: float, clock: Clock
    ) -> None:
        self._pipe = pipe
        self._new_hooks = hooks
        self._checkpoint = checkpoint
        self._patience = patience
        self._clock = clock
        self._works: dict[str, Work] = {}  # by shard
        self._only: str | None = None  # the shard of messages that name none
        self._ready: Hooks | None = hooks()  # made early, to refuse a bad processor before the first message
        self._record_type = self._ready.record_type
        self._form = wire.Form.NEWER

    def hold(self, form: wire.Form | None = None) -> None:
        """Talks until the daemon ends it. `form` is the daemon's; None: its messages tell."""
        self._form = form or wire.Form.NEWER
        while (told := self._read()) is not None:
            action, shard = told
            if isinstance(action, wire.Answer):
                continue  # to a question that was given up
            if isinstance(action, wire.Initialize):
                if form is None and action.form is not None:
                    self._form = action.form
                self._begin(action.shard_id)
            shard = shard or self._only
            work = self._works.get(shard or "")
            if work is None:
                raise UnknownMessage(f"the daemon sent {wire.NAMES[type(action)]} before initialize; the child ends")
            work.do(action)
            if work.stage is Stage.OVER and told.shard is not None:
                del self._works[told.shard]  # it may come again
            self._pipe.write(wire.to_daemon(wire.Status(wire.NAMES[type(action)])))

    def _begin(self, shard: str) -> None:
        if shard not in self._works:
            hooks, self._ready = self._ready or self._new_hooks(), None
            checkpointer = Checkpointer(self._pipe, self._answer, self._clock, self._patience)
            checkpointer.form = self._form
            self._works[shard] = Work(hooks, checkpointer, self._checkpoint, self._clock)
        self._only = shard

    def _answer(self) -> wire.ToChild | None:
        told = self._read()
        return None if told is None else told.message

    def _read(self) -> wire.Told | None:
        """The next message; None at the end of input. Skips empty lines."""
        while (line := self._pipe.read()) is not None:
            if not line.isspace():
                told = wire.from_daemon(line, self._record_type)
                if told is None:
                    raise UnknownMessage(
                        f"the daemon sent {len(line)} bytes that are no message of the MultiLang protocol{_action_in(line)}; "
                        "the child ends: is there a MultiLang daemon at the other end of standard input?"
                    )
                return told
        return None


def _action_in(line: bytes) -> str:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return f" (its action is {str(fields.get('action'))[:50]!r})" if isinstance(fields, dict) else ""
