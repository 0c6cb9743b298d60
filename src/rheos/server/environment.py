"""Settings from the environment: `RHEOS_LIMITS__QUERIES=20` comes in, `{"limits": {"queries": 20}}` goes out.

Two underscores separate a table from a key in it. A value is a text where its key takes a text, and TOML
otherwise.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Struct

PREFIX = "RHEOS_"
# Variables that are no settings: other modules and the tests read them.
OTHERS = {"TRACEBACK", "KAFKA_JARS", "W3C", "RML"}


def settings(environment: Mapping[str, str], model: type[Struct]) -> dict[str, Any]:
    """The settings in the environment, as nested tables like those of the file. ValueError if a variable is
    no setting."""
    found: dict[str, Any] = {}
    for name in sorted(environment):
        key = name.removeprefix(PREFIX)
        if key != name and key not in OTHERS:
            _put(found, key.lower().split("__"), environment[name], model, name)
    return found


def _put(table: dict[str, Any], keys: list[str], text: str, model: Any, name: str) -> None:
    for key in keys[:-1]:
        model = _model_of(model, key)
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise ValueError(f"{name}: another variable gives {key} as a whole")
    kind = _model_of(model, keys[-1])
    if kind is None:
        raise ValueError(f"{name}: there is no key {'.'.join(keys)}")
    table[keys[-1]] = _value(kind, text)


def _model_of(model: Any, key: str) -> Any:
    """The type of a key in a table; None if the table has no such key."""
    if get_origin(model) is dict:
        return get_args(model)[1]
    if isinstance(model, type) and issubclass(model, Struct):
        return next((item.type for item in msgspec.structs.fields(model) if item.name == key), None)
    return None


def _value(kind: Any, text: str) -> Any:
    """The value of a variable: the text itself if the key takes a text; otherwise TOML, which has lists,
    tables, numbers and truth values."""
    try:
        if not text.startswith(("[", "{")):
            msgspec.convert(text, kind)
            return text
    except (msgspec.ValidationError, TypeError):
        pass  # the key takes another type
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # the check of the settings says what is wrong with this text


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables as one, in which the values of `above` replace those of `below`. Keys are compared without
    regard to case, because variables are often written in capitals."""
    found = dict(below)
    for key, value in above.items():
        same = next((known for known in found if known.lower() == key.lower()), key)
        before = found.get(same)
        if isinstance(value, dict) and isinstance(before, dict):
            value = merged(before, value)
        found[same] = value
    return found
