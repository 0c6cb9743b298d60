"""The outbox of a sink: the answers that the sink has not taken yet, one file of the
state store for each batch.

    sinks/NAME/BATCH-ROWS-BYTES.arrow    the answers of a batch, written before the batch is done
    sinks/NAME/notes.json                notes of the sink, and how many answers of the first batch it has
    taken

A file is deleted when its sink has taken all its answers. So after a crash there are only files that the sink
may not have. Files of a batch that was not done are deleted, because the batch is evaluated again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from rheos.answers.continuous import QueryInfo
from rheos.runtime.state.store import Store

FOLDER = "sinks"
_QUERY = b"rheos.query"
_TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch that waits for the sink, `since` a time (seconds since 1970)."""

    number: int
    rows: int
    bytes: int
    since: float

    def name(self, folder: str) -> str:
        return f"{folder}/{self.number:012}-{self.rows}-{self.bytes}.arrow"


class Outbox:
    """The files of one sink. The class is not thread-safe: its owner must hold a lock."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self._folder = f"{FOLDER}/{name}"
        content = store.read(self._notes)
        self.notes: dict[str, Any] = {} if content is None else json.loads(content)

    @property
    def _notes(self) -> str:
        return f"{self._folder}/notes.json"

    def entries(self) -> Iterator[Entry]:
        """The batches that wait, in order."""
        for name, since in sorted(self.store.names(self._folder).items()):
            path = PurePosixPath(name)
            if path.suffix == ".arrow":
                number, rows, size = map(int, path.stem.split("-"))
                yield Entry(number, rows, size, since)

    def write(self, number: int, query: QueryInfo, rows: pa.Table) -> Entry:
        entry = Entry(number, rows.num_rows, rows.nbytes, time.time())
        described = json.dumps({**asdict(query), "prefixes": dict(query.prefixes)}).encode()
        table = rows.replace_schema_metadata({_QUERY: described})
        self.store.write_table(entry.name(self._folder), table)
        return entry

    def read(self, entry: Entry) -> tuple[QueryInfo, pa.Table]:
        table = self.store.table(entry.name(self._folder))
        described = json.loads(table.schema.metadata[_QUERY])
        lists = {name: tuple(described[name]) for name in ("variables", "errors")}
        return QueryInfo(**{**described, **lists}), table

    def delete(self, entry: Entry) -> None:
        self.store.delete([entry.name(self._folder)])

    def taken(self, number: int) -> int:
        """How many answers of a batch the sink has taken."""
        batch, count = self.notes.get(_TAKEN, (None, 0))
        return int(count) if batch == number else 0

    def take(self, number: int, count: int) -> None:
        """Note that the sink has taken so many answers of a batch."""
        self.note({**self.notes, _TAKEN: [number, count]})

    def note(self, content: dict[str, Any]) -> None:
        self.notes = content
        self.store.write(self._notes, json.dumps(content).encode())

    def remove(self) -> None:
        self.store.delete(self.store.names(self._folder))
