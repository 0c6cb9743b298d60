"""File systems by their URIs: file:, s3:, gs:, abfss:, hdfs: and others."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs

from rheos.errors import EnvironmentFault

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# Spark's names for schemes that Arrow knows under another one.
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "viewfs": "hdfs"}
_ARROW_SCHEMES = frozenset({"file", "s3", "gs", "hdfs", "abfs", "abfss"})
# The schemes of URIs from which files can be read as streams.
SCHEMES = frozenset({*_ALIASES, *_ARROW_SCHEMES, "webhdfs"})


def is_uri(text: str) -> bool:
    return _URI.match(text) is not None


def uri_of(given: str | os.PathLike[str]) -> str:
    """A folder, given as a path or as a URI, as a URI."""
    text = os.fspath(given)
    return text.rstrip("/") if is_uri(text) else Path(text).resolve().as_uri()


@lru_cache(maxsize=64)
def file_system(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it. The file system is Arrow's or, where Arrow has none, that
    of fsspec."""
    scheme, _, rest = uri.partition(":")
    scheme = _ALIASES.get(scheme.lower(), scheme.lower())
    try:
        if scheme in _ARROW_SCHEMES:
            system, path = fs.FileSystem.from_uri(f"{scheme}:{rest}")
        else:
            system, path = _by_fsspec(f"{scheme}:{rest}")
    except (ValueError, OSError, pa.ArrowException) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise EnvironmentFault(f"{uri} cannot be opened: {first}") from None
    return system, str(path).rstrip("/")


def _by_fsspec(uri: str) -> tuple[fs.FileSystem, str]:
    try:
        import fsspec  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise EnvironmentFault(
            f"{uri.partition(':')[0]}: needs the package fsspec, which is not installed"
        ) from None
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(uri)
    except ImportError as error:
        raise EnvironmentFault(f"{uri} cannot be opened: {error}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(found[0])), found[1]
