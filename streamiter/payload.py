"""Payload records: records that carry bytes, which `model=` can turn into the caller's own class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

from streamiter.record import Converts, Record

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Payload = TypeVar("Payload", default=bytes)
else:
    from typing import TypeVar

    Payload = TypeVar("Payload")


class PayloadRecord(Record, Generic[Payload]):
    """A record that carries `payload`: bytes, or what `model=` made of them; None where it carries none."""

    _key_name: ClassVar[str] = "key"
    """What it calls the attribute that it was sent under."""

    raw_payload: bytes | None = b""
    _made: Any = None
    _is_made: bool = False

    @property
    def payload(self) -> Payload:
        """The bytes, or what `model=` made of them; None where there is none."""
        return self._made if self._is_made else cast("Payload", self.raw_payload)

    def use_model(self, model: Converts) -> None:
        """Turns the payload into the caller's own class; what the model raises comes through."""
        if self.raw_payload is not None:
            self._made = model.from_payload(self.raw_payload)
            self._is_made = True

    def forget_model(self) -> None:
        """Gives the bytes again."""
        self._made, self._is_made = None, False

    def __getitem__(self, name: str) -> Any:
        """The shape that changes have, too: its key, "payload", and all else in "meta"."""
        names = self.keys()
        if name == "meta":
            return {name: self._value(name) for name in self._told if name not in names}
        if name in names:
            return getattr(self, name)
        raise KeyError(name)

    def keys(self) -> tuple[str, ...]:
        """The names that `record[...]` takes: with it, `dict(record)` works."""
        return (self._key_name, "payload", "meta")

    @property
    def _told(self) -> tuple[str, ...]:
        names = (self._key_name, "payload")
        return (*names, *(name for name in super()._told if name not in (*names, "raw_payload")))

    @property
    def _what(self) -> str:
        told = "nothing" if self.raw_payload is None else f"{len(self.raw_payload)} bytes"
        return f"{told} under {getattr(self, self._key_name)!r}"
