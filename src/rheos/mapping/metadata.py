"""Metadata: what is known of a message beside its payload, as fields. Names come in, columns of terms go out.

    ?_topic  ?_topic1 ?_topic2 …  ?_key  ?_time  ?_arrival  ?_line

These are the topic and its levels (between slashes), the key as text, the timestamp of the message, the time
at which it arrived, and its number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rheos.sources.decoding import Messages
from rheos.sources.times import Microseconds
from rheos.terms import XSD

_NAME = re.compile(r"_(?:topic([1-9][0-9]?)?|key|time|arrival|line)")


def is_metadata(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def metadata(messages: Messages, lines: Microseconds, names: Sequence[str]) -> pa.Table:
    """The columns m1, m2, … for the names; `lines` are the numbers of the records."""
    columns = [_column(messages, lines, name) for name in names]
    return pa.table(columns, [f"m{at}" for at in range(1, len(names) + 1)])


def _column(messages: Messages, lines: Microseconds, name: str) -> pa.Array:
    batch = messages.batch
    match name:
        case "_topic":
            return _literal(batch.column("topic"))
        case "_key":
            return _literal(_text(batch.column("key")))
        case "_time" | "_arrival":
            text = pc.strftime(batch.column(name[1:]).cast(pa.timestamp("us")), "%Y-%m-%dT%H:%M:%S")
            text = pc.replace_substring_regex(text, r"\.0+$", "")
            text = pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+$", r"\1")
            return _literal(pc.binary_join_element_wise(text, "Z", ""), "dateTime")
        case "_line":
            return _literal(pa.array(lines).cast(pa.string()), "integer")
    # There are few different topics, even for many messages.
    topics = pc.dictionary_encode(batch.column("topic"))
    level = int(name.removeprefix("_topic"))
    levels = [
        dict(enumerate(topic.split("/"), start=1)).get(level) for topic in topics.dictionary.to_pylist()
    ]
    return _literal(pa.array(levels, pa.string()).take(topics.indices))


def _literal(texts: pa.Array, datatype: str | None = None) -> pa.Array:
    suffix = '"' if datatype is None else f'"^^<{XSD}{datatype}>'
    return pc.binary_join_element_wise('"', texts, suffix, "")


def _text(keys: pa.Array) -> pa.Array:
    """Keys as text; NULL for a key that is not UTF-8."""
    try:
        texts = keys.cast(pa.string())
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([_decoded(key) for key in keys.to_pylist()], pa.string())
    return texts


def _decoded(key: bytes | None) -> str | None:
    try:
        return None if key is None else key.decode()
    except UnicodeDecodeError:
        return None
