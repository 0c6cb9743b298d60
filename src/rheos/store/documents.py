"""Documents: the files, globs and texts that RDF is loaded from, which can be opened as bytes."""

from __future__ import annotations

import glob
import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

from rheos.errors import LoadError
from rheos.store import formats

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# How many times larger a compressed file becomes, about. RDF repeats much, so ten times is common.
_GZIP_RATIO = 10


@dataclass(frozen=True, slots=True)
class Document:
    """One file or text of RDF: its name for messages, its format, its base IRI, and its bytes or its path."""

    name: str
    format: ox.RdfFormat
    base: str | None
    path: Path | None = None
    data: bytes | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the document with its media type, because formats of pyoxigraph cannot be pickled."""
        return _remade, (self.name, self.format.media_type, self.base, self.path, self.data)

    @property
    def bytes_about(self) -> int:
        """The approximate size of the unpacked text; 0 if it is not known."""
        try:
            return self.bytes_stored * (_GZIP_RATIO if self.is_gzip else 1)
        except OSError:
            return 0

    @property
    def bytes_stored(self) -> int:
        return len(self.data or b"") if self.path is None else self.path.stat().st_size

    @property
    def is_gzip(self) -> bool:
        if self.path is None:
            return (self.data or b"").startswith(_GZIP_MAGIC)
        with self.path.open("rb") as stream:
            return stream.read(2) == _GZIP_MAGIC

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The unpacked bytes, without a byte order mark; errors of the system become a LoadError."""
        try:
            raw: IO[bytes] = self.path.open("rb") if self.path else io.BytesIO(self.data or b"")
            with raw:
                magic = raw.read(2)
                raw.seek(0)
                packed = magic == _GZIP_MAGIC
                if not packed and magic and self.path and self.path.name.endswith(formats.GZIP_EXTENSION):
                    raise LoadError("its name ends in .gz, but it is not gzip data", self.name)
                text = io.BufferedReader(gzip.GzipFile(fileobj=raw), 1 << 20) if packed else raw
                if text.read(3) != _BYTE_ORDER_MARK:
                    text.seek(0)
                yield text
        except EOFError:
            raise LoadError("the gzip data ends too early: the file is cut off", self.name) from None
        except (gzip.BadGzipFile, OSError) as error:
            raise LoadError(_system_reason(error), self.name) from None
        except Exception as error:
            if type(error).__module__ == "zlib":
                raise LoadError("the gzip data is damaged", self.name) from None
            raise


def documents(
    source: str | os.PathLike[str] | None = None,
    *,
    data: str | bytes | None = None,
    format: str | None = None,
    base: str | None = None,
) -> list[Document]:
    """The documents of a path, a glob, or a text with its format; there is at least one."""
    if (source is None) == (data is None):
        raise LoadError("give either a path or a text (data=) with its format", str(source or "load"))
    if data is not None:
        if format is None:
            raise LoadError("a text needs its format, such as format='turtle'", "text")
        raw = _encoded(data) if isinstance(data, str) else data
        return [Document("text", formats.by_name(format, "text"), _checked(base, "text"), data=raw)]
    assert source is not None
    return [
        Document(
            str(path),
            formats.by_name(format, str(path)) if format else formats.by_path(str(path)),
            _checked(base, str(path)) or path.resolve().as_uri(),
            path,
        )
        for path in _files(os.fspath(source))
    ]


def _remade(name: str, media_type: str, base: str | None, path: Path | None, data: bytes | None) -> Document:
    format = ox.RdfFormat.from_media_type(media_type)
    assert format is not None
    return Document(name, format, base, path, data)


def _files(source: str) -> list[Path]:
    try:
        return _matching(unquote(urlsplit(source).path) if source.startswith("file:") else source)
    except OSError as error:
        # Often the "path" is a text that should have been given as data=…
        shown = source if len(source) < 200 else source[:60] + "…"
        raise LoadError(_system_reason(error), shown) from None


def _matching(source: str) -> list[Path]:
    path = Path(source).expanduser()
    if path.is_dir():
        raise LoadError(f"it is a directory; name its files with a glob such as {path / '*.ttl'}", source)
    if path.exists():
        return [path]
    if glob.has_magic(source):
        found = sorted(Path(name) for name in glob.iglob(str(path), recursive=True))
        if files := [name for name in found if name.is_file()]:
            return files
        raise LoadError("no file matches", source)
    if "://" in source:
        raise LoadError("only files are read; fetch it first", source)
    raise LoadError("no such file", source)


def shown(text: str) -> str:
    """The text with lone surrogates as escapes, so that it can be printed."""
    return text.encode(errors="backslashreplace").decode()


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise LoadError(f"U+{half:04X} is only half of a character", "text") from None


def _checked(base: str | None, source: str) -> str | None:
    if base is not None:
        try:
            ox.NamedNode(base)
        except ValueError:
            raise LoadError(f"the base is not an absolute IRI: {shown(base)}", source) from None
    return base


def _system_reason(error: OSError) -> str:
    match error:
        case PermissionError():
            return "no permission to read it"
        case FileNotFoundError():
            return "no such file"
        case IsADirectoryError():
            return "it is a directory"
        case gzip.BadGzipFile():
            return "the gzip data is damaged"
    return error.strerror or " ".join(str(error).split())
