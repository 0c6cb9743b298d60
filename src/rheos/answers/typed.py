"""Typed columns: columns of terms come in, columns of numbers, times, booleans and strings go out.

| all values of a column | type |
|---|---|
| `xsd:integer` and the types derived from it, within 64 bits | `bigint` |
| numbers of any kind | `double` |
| `xsd:boolean` | `boolean` |
| `xsd:dateTime` (in UTC if it has no zone), from year 1 to 9999 | `timestamp` |
| `xsd:date` without a zone | `date` |
| anything else, mixed kinds, and literals that are ill-formed | `string` |

A string is the lexical form of a literal, an IRI, or a blank node as `_:label`. From batch to batch, the type
of a column never gets narrower: `bigint` and `double` become `double`, and any two other types become
`string`. The triples of CONSTRUCT and DESCRIBE are strings of N-Triples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from rheos.answers.cells import concatenated, mapped
from rheos.answers.continuous import QueryInfo, ntriples_term
from rheos.terms import RDF_LANG_STRING, XSD, XSD_STRING

TYPES: Mapping[str, pa.DataType] = {
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
    "string": pa.string(),
}
TERM = pa.struct([(name, pa.string()) for name in ("type", "value", "datatype", "lang")])

_INTEGERS = (
    *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger"),
    *("nonPositiveInteger", "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort"),
    "unsignedByte",
)
_BY_DATATYPE = {
    **{XSD + name: "bigint" for name in _INTEGERS},
    **{XSD + name: "double" for name in ("decimal", "float", "double")},
    XSD + "boolean": "boolean",
    XSD + "dateTime": "timestamp",
    XSD + "date": "date",
}
_LITERAL = r'(?s)^"(?P<lexical>.*)"(?:\^\^<(?P<datatype>[^"]*)>|@(?P<lang>[^"]*))?$'
_FORMS = {
    "bigint": r"^[+-]?[0-9]+$",
    "double": r"^(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)$",
    "boolean": "^(?:true|false|0|1)$",
    # Arrow has neither the hour 24 nor the second 60; such times become strings.
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"(?:Z|[+-][0-9]{2}:[0-9]{2})?$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}


@dataclass
class Columns:
    """Makes typed columns of a query's answers.

    `types` has the type of each variable so far. A variable that was never bound is not in it, and its column
    has strings.
    """

    types: dict[str, str] = field(default_factory=dict)
    terms: bool = False  # whether each value is a struct: type, value, datatype, lang
    doubles: bool = False  # whether integers become doubles, too
    taken: tuple[str, ...] = ()  # column names that are in use elsewhere

    def table(self, query: QueryInfo, answers: pa.Table) -> pa.Table:
        """The answers to a batch: `at`, for EP-SPARQL `start` and `end`, and a column for each variable."""
        times = {"at": 1}
        if query.occurs:
            times |= zip(("start", "end"), query.interval, strict=True)
        columns = [answers.column(place).cast(TYPES["timestamp"]) for place in times.values()]
        named = [*times, *query.columns]
        found = [*columns, *self.values(query, answers.columns[query.times :])]
        names = unlike([*self.taken, *named])[len(self.taken) :]
        return pa.table(found, names=names)

    def values(self, query: QueryInfo, columns: Iterable[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
        """A typed column for each variable, without the columns of times."""
        if query.kind == "ask":
            return [column.cast(pa.bool_()) for column in columns]
        if self.terms:
            return [by_value(column, structs) for column in columns]
        if query.is_graph:
            return [pa.chunked_array([mapped(column, ntriples_term).cast(pa.string())]) for column in columns]
        return [
            by_value(column, partial(self._typed, name))
            for name, column in zip(query.variables, columns, strict=True)
        ]

    def _typed(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        parts = Parts.of(column)
        kind = wider(self.types.get(name), self._chosen(parts.kind()))
        found = None
        if kind is not None and kind != "string":
            found = parts.converted(kind)
        if kind is not None:
            self.types[name] = kind if found is not None else "string"
        return (parts.texts().cast(pa.string()) if found is None else found).cast(
            TYPES[self.types.get(name, "string")]
        )

    def _chosen(self, kind: str | None) -> str | None:
        return "double" if self.doubles and kind == "bigint" else kind


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a column of terms: `lexical`, `datatype` and `lang` are NULL for terms without them."""

    column: pa.ChunkedArray
    lexical: pa.ChunkedArray
    datatype: pa.ChunkedArray
    lang: pa.ChunkedArray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Parts:
        found = pc.extract_regex(column, _LITERAL)
        lexical, datatype, lang = (pc.struct_field(found, name) for name in ("lexical", "datatype", "lang"))
        # A group of the expression that did not match is an empty string.
        empty = pa.scalar(None, pa.large_string())
        return cls(
            column,
            lexical,
            pc.if_else(pc.equal(datatype, ""), empty, datatype),
            pc.if_else(pc.equal(lang, ""), empty, lang),
        )

    def kind(self) -> str | None:
        """The type that all values have; None if no value is bound."""
        bound = pc.is_valid(self.column)
        if not pc.any(bound).as_py():
            return None
        if pc.any(pc.and_(bound, pc.is_null(self.datatype))).as_py():
            return "string"  # there is an IRI, a blank node, or a string with or without a language
        kinds = {
            _BY_DATATYPE.get(name, "string") for name in pc.unique(self.datatype.drop_null()).to_pylist()
        }
        found: str | None = None
        for kind in sorted(kinds):
            found = wider(found, kind)
        return found

    def converted(self, kind: str) -> pa.ChunkedArray | None:
        """All values converted to one type; None if one of them cannot be converted."""
        texts = pc.utf8_trim_whitespace(self.lexical)
        fit = pc.match_substring_regex(texts, _FORMS[kind])
        if not pc.all(fit, skip_nulls=True).as_py() and len(texts) != texts.null_count:
            return None
        if kind in ("bigint", "double"):
            texts = pc.replace_substring_regex(texts, r"^\+", "")
        if kind == "timestamp":
            texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
            zoned = pc.match_substring_regex(texts, r"(?:Z|[+-][0-9]{2}:[0-9]{2})$")
            texts = pc.if_else(zoned, texts, concatenated(texts, "Z"))
        try:
            return texts.cast(TYPES[kind])
        except pa.ArrowInvalid:  # more than 64 bits, or the 30th of February
            return None

    def texts(self) -> pa.ChunkedArray:
        """Each value as a string: lexical forms, IRIs, labels."""
        iri = pc.starts_with(self.column, "<")
        plain = pc.if_else(iri, pc.utf8_slice_codeunits(self.column, 1, -1), self.column)
        return pc.coalesce(self.lexical, plain)


def structs(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Each term as a struct, with the parts that it has in SPARQL 1.1 JSON results."""
    parts = Parts.of(column)
    kinds = pc.if_else(
        pc.starts_with(column, '"'), "literal", pc.if_else(pc.starts_with(column, "<"), "uri", "bnode")
    )
    bound = pc.is_valid(column)
    values = pc.if_else(pc.equal(kinds, "bnode"), pc.utf8_slice_codeunits(column, 2), parts.texts())
    plain = pc.if_else(pc.is_valid(parts.lang), RDF_LANG_STRING, XSD_STRING)
    datatypes = pc.if_else(
        pc.equal(kinds, "literal"), pc.coalesce(parts.datatype, plain), pa.scalar(None, pa.large_string())
    )
    arrays = [item.cast(pa.string()).combine_chunks() for item in (kinds, values, datatypes, parts.lang)]
    arrays = [item.combine_chunks() if isinstance(item, pa.ChunkedArray) else item for item in arrays]
    missing = pc.invert(bound).combine_chunks()
    missing = missing.combine_chunks() if isinstance(missing, pa.ChunkedArray) else missing
    return pa.chunked_array([pa.StructArray.from_arrays(arrays, fields=list(TERM), mask=missing)])


def by_value(
    column: pa.ChunkedArray, converted: Callable[[pa.ChunkedArray], pa.ChunkedArray]
) -> pa.ChunkedArray:
    """A column converted by a function that sees each distinct value only once."""
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return converted(pa.chunked_array([encoded.dictionary])).take(encoded.indices)


def wider(one: str | None, other: str | None) -> str | None:
    """The type for values of both types."""
    if one is None or other is None or one == other:
        return one or other
    return "double" if {one, other} == {"bigint", "double"} else "string"


def unlike(names: Iterable[str]) -> list[str]:
    """The names of columns made unique: the second `at` becomes `at_2`.

    Names that differ only in case are not unique, because Spark ignores case.
    """
    found: list[str] = []
    seen: set[str] = set()
    for name in names:
        number, chosen = 2, name
        while chosen.lower() in seen:
            chosen, number = f"{name}_{number}", number + 1
        seen.add(chosen.lower())
        found.append(chosen)
    return found
