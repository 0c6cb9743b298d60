"""Files of records that are not RDF: texts of JSON, NDJSON, CSV or TSV come in, chunks go out.

A stream with a mapping has such files. A record of NDJSON, CSV or TSV is a line, so these files can be cut
and followed. A file of JSON is read as a whole: it is one record, or an array of records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

import pyarrow as pa

from rheos.errors import LoadError, RheosError
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Decoder, Decoding, Messages
from rheos.sources.lines import CHUNK_BYTES
from rheos.store.cutting import split_lines

EXTENSIONS = {".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".tsv": "tsv"}
MEDIA_TYPES = {
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
}
_TABLES = ("csv", "tsv")


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """Reads files of records with the decoder of a mapping."""

    decoder: Decoder

    def format_of(self, path: str, head: bytes = b"") -> str:
        """The format of a file, by its name. A file of JSON whose first line is a record is NDJSON."""
        name = PurePath(path.lower().removesuffix(".gz"))
        format = EXTENSIONS.get(name.suffix)
        if format is None:
            known = " ".join(EXTENSIONS)
            raise LoadError(f"a stream with a mapping reads {known}, each also with .gz", path)
        return "ndjson" if format == "json" and begins_with_record(head) else format

    def whole(self, data: bytes, blank_prefix: str, path: str) -> Chunk:
        """The elements of a file of JSON."""
        messages = Messages.of([data], line=pa.array([0]))
        chunk = self.decoder.reading("json").decode(messages, f"{blank_prefix}{_mark(path)}_", path)
        return replace(chunk, lines=0, first=True)

    def lines(
        self, text: bytes, format: str, head: bytes, blank_prefix: str, path: str, *, at: int
    ) -> Iterator[Chunk]:
        """The chunks of whole lines. `at` is the position of the first line in the file; `head` is the first
        line of the file, which names the columns of a table."""
        position, decoder = 0, self.decoder.reading(format)
        while position < len(text):
            end = text.find(b"\n", position + CHUNK_BYTES) + 1 or len(text)
            lines = split_lines(text[position:end])
            first = at + position == 0
            skipped = 1 if first and format in _TABLES else 0
            payload = lines.cast(pa.binary()).slice(skipped)
            numbers = pa.array(range(1 + skipped, len(lines) + 1), pa.int64())
            messages = Messages.of(payload, line=numbers)
            # Lines are counted from the beginning of the chunk, so its position is part of the prefix.
            prefix = f"{blank_prefix}{_mark(path)}_{at + position:x}_"
            if format in _TABLES:
                chunk = decoder.decode_lines(messages, head, prefix, path, first=first)
            else:
                chunk = decoder.decode(messages, prefix, path, first=first)
            yield replace(chunk, lines=len(lines))
            position = end


def record_files(decoding: Decoding, place: str) -> RecordFiles | None:
    """The reader of files of records; None if the files are RDF."""
    if decoding.clock.is_outside:
        raise RheosError(
            f"{place} has no time of {decoding.time}: its records say field:NAME or property:IRI"
        )
    return None if decoding.mapping is None else RecordFiles(decoding.decoder())


def begins_with_record(head: bytes) -> bool:
    """True if the first line is a JSON object, and there are more lines."""
    first, newline, rest = head.lstrip().partition(b"\n")
    if not newline or not rest.strip() or not first.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def table_format(head: bytes) -> str:
    """The format of lines that come without a file name, by the first line."""
    if head.lstrip()[:1] in (b"{", b"["):
        return "ndjson"
    return "tsv" if b"\t" in head and b"," not in head else "csv"


def _mark(path: str) -> str:
    return hashlib.blake2b(path.encode(), digest_size=4).hexdigest()
