"""Models: images as the caller's own class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from decimal import Decimal
from typing import Any, Final

import msgspec

from streamiter.errors import InvalidOption

RAW: Final = object()  # as `model=`: records stay as the service sent them, whatever their source would make of them


class Model:
    """The caller's own class: a dataclass, a msgspec Struct, a pydantic model, or any callable.

    Payloads are read as JSON for a class; a function gets them as bytes.
    """

    def __init__(self, model: Any) -> None:
        self.name: str = getattr(model, "__name__", None) or type(model).__name__  # what to call it in a message
        self.from_image: Callable[[dict[str, Any]], Any]
        self.from_payload: Callable[[bytes], Any]
        if callable(getattr(model, "model_validate", None)):
            self.from_image, self.from_payload = model.model_validate, model.model_validate_json
        elif isinstance(model, type) and (is_dataclass(model) or issubclass(model, msgspec.Struct)):
            self.from_image, self.from_payload = _Converter(model), msgspec.json.Decoder(model).decode
        elif callable(model):
            self.from_image = self.from_payload = model
        else:
            raise InvalidOption(
                f"model= takes a class or a function that an image can be given to, not a {type(model).__name__}"
            )


class _Converter:
    """An image to a dataclass or Struct, by its type hints. Whole numbers fit int; a Decimal becomes a float only where
    the class asks for one."""

    def __init__(self, model: type) -> None:
        self._model = model
        self._floats: set[str] = set()  # attributes in which the class was found to want floats

    def __call__(self, image: dict[str, Any]) -> Any:
        while True:
            attributes = {name: _numbers(value, name in self._floats) for name, value in image.items()}
            try:
                return msgspec.convert(attributes, self._model, strict=False)
            except msgspec.ValidationError as error:
                name = _wants_float(str(error))
                if name is None or name in self._floats or name not in image:
                    raise
                self._floats.add(name)


def _wants_float(message: str) -> str | None:
    """The attribute in which a float was expected where a Decimal stood."""
    what, _, where = message.partition(" - at `$.")
    if "float" not in what or "decimal" not in what:
        return None
    return where.rstrip("`").split(".")[0].split("[")[0]


def _numbers(value: Any, as_float: bool) -> Any:
    if isinstance(value, Decimal):
        if value == value.to_integral_value():
            return int(value)
        return float(value) if as_float else value
    if isinstance(value, dict):
        return {name: _numbers(part, as_float) for name, part in value.items()}
    if isinstance(value, list):
        return [_numbers(part, as_float) for part in value]
    if isinstance(value, set):
        return {_numbers(part, as_float) for part in value}
    return value
