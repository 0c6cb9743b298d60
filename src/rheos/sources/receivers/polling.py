"""Polling: a URL is asked again and again, and the new elements of each answer are taken.

    poll+http://host/readings.nq?every=10s

Servers that know ETag or Last-Modified are only asked whether the answer has changed. New elements are those
that were not in the answer before, so a document that grows, or that shows the last hour, brings no element
twice. A blank node counts as the same one if it has the same label. The format of records is that of the
Content-Type or of the end of the URL; where neither says it, the content shows it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from rheos import durations
from rheos.addresses import Address, Allowed
from rheos.errors import LoadError
from rheos.sources.chunks import ELEMENTS, Chunk
from rheos.sources.decoding import RdfDecoder
from rheos.sources.graphs import some
from rheos.sources.receivers import http
from rheos.sources.receivers.base import Message, Receiver
from rheos.sources.record_files import EXTENSIONS, MEDIA_TYPES
from rheos.store.cutting import split_lines

SCHEMES = ("poll+http", "poll+https")
_EVERY = 60_000_000  # microseconds
_LEAST = 100_000
_LARGEST = 256 << 20  # bytes of an answer
_KNOWN = "known"  # a file with the elements of the last answer

Digests = npt.NDArray[np.uint64]


class Poll(Receiver):
    """The new elements of a URL that is asked again and again."""

    TIMED = True  # Last-Modified

    @classmethod
    def known_options(cls) -> Collection[str]:
        return http.OPTIONS

    def parsed(self, allowed: Allowed) -> Address:
        url = self.url.removeprefix("poll+").removeprefix("POLL+")
        address = allowed.check(url)
        given = parse_qsl(address.query, keep_blank_values=True)
        self.every = _EVERY
        for name, value in given:
            if name == "every":
                try:
                    self.every = durations.microseconds(value)
                except ValueError as error:
                    raise LoadError(f"the parameter every: {error}", self.url) from None
                if self.every < _LEAST:
                    raise LoadError(f"the parameter every is at least 100ms, not {value}", self.url)
        # All other parameters are sent to the server.
        rest = [(name, value) for name, value in given if name != "every"]
        self.target = url.partition("#")[0].partition("?")[0]
        if len(rest) == len(given):
            self.target = url.partition("#")[0]
        elif rest:
            self.target += f"?{urlencode(rest)}"
        return address

    def receive(self) -> None:
        while not self.stopping:
            began = time.monotonic()
            self._ask()
            self.up()
            self.pause(max(0.0, self.every / 1e6 - (time.monotonic() - began)))

    def _ask(self) -> None:
        self.wait_for_room()
        note = self.log.note or {}
        headers = {"Accept": "application/n-quads, application/trig, application/ld+json, */*;q=0.5"}
        for header, key in (("If-None-Match", "etag"), ("If-Modified-Since", "modified")):
            if note.get(key):
                headers[header] = note[key]
        exchange = http.get(self.target, headers, self.options, self.allowed)
        try:
            response = exchange.response
            if response.status == 304:
                return
            if response.status != 200:
                raise ConnectionError(f"the server says {response.status} {response.reason}")
            body = response.read(_LARGEST + 1)
        finally:
            exchange.close()
        if len(body) > _LARGEST:
            raise ConnectionError(f"the answer has more than {_LARGEST >> 20} MiB")
        modified = response.headers.get("Last-Modified")
        format = self._format(response.headers.get_content_type(), exchange.url)
        chunk = self._read(body, format, _moment(modified))
        self._new(chunk, note, response.headers.get("ETag"), modified)

    def _format(self, media: str, url: str) -> str | None:
        """The format of records, as the server or else the end of the URL says it."""
        if isinstance(self.decoder, RdfDecoder):
            return None
        name = PurePosixPath(urlsplit(url).path.lower())
        return MEDIA_TYPES.get(media) or EXTENSIONS.get(name.suffix)

    def _read(self, body: bytes, format: str | None, moment: int | None) -> Chunk:
        decoder = self.decoder if format is None else self.decoder.reading(format)
        bodies = split_lines(body).cast(pa.binary()).to_pylist() if format == "ndjson" else [body]
        return self.decoded([Message(part, time=moment) for part in bodies], self.prefix, decoder)

    def _new(self, chunk: Chunk, note: Mapping[str, Any], etag: str | None, modified: str | None) -> None:
        """Take the elements that were not in the answer before."""
        columns = ["s", "p", "o"] if self.decoder_is_outside else ["s", "p", "o", "start", "time"]
        found = digests(chunk.elements, columns)
        before = self._known(note.get("answer"))
        new = ~np.isin(found, before)
        answer = int(note.get("answer", 0)) + 1
        self._keep(answer, found)
        bad = [item for item in chunk.bad if item.reason not in note.get("bad", ())]
        now = {"answer": answer, "etag": etag, "modified": modified, "bad": [b.reason for b in chunk.bad]}
        self.log.append(some(chunk.elements, new), bad=bad, note=now)
        for path in self.log.folder.glob(f"{_KNOWN}-*"):
            if path.name != f"{_KNOWN}-{answer}":
                path.unlink(missing_ok=True)

    @property
    def decoder_is_outside(self) -> bool:
        """True if the time of an element does not come from its content: then the same element has another
        time in each answer."""
        clock = getattr(self.decoder, "clock", None)
        return clock is not None and bool(clock.is_outside)

    def _known(self, answer: int | None) -> Digests:
        path = self.log.folder / f"{_KNOWN}-{answer}"
        if answer is None or not path.exists():
            return np.empty(0, np.uint64)
        return np.frombuffer(path.read_bytes(), np.uint64)

    def _keep(self, answer: int, found: Digests) -> None:
        """Store the digests of an answer on the disk, before the note of the log names this answer."""
        path: Path = self.log.folder / f"{_KNOWN}-{answer}"
        with path.open("wb") as file:
            file.write(found.tobytes())
            file.flush()
            os.fsync(file.fileno())


def digests(elements: pa.RecordBatch, columns: Collection[str]) -> Digests:
    """A number for each element, by which it is recognised in a later answer."""
    table = pa.Table.from_batches([elements], ELEMENTS).select(list(columns)).to_pandas()
    found: Digests = pd.util.hash_pandas_object(table, index=False).to_numpy(np.uint64)
    return found


def _moment(header: str | None) -> int | None:
    """The time of a Last-Modified header, in microseconds."""
    try:
        return None if header is None else int(parsedate_to_datetime(header).timestamp() * 1_000_000)
    except (ValueError, TypeError):
        return None
